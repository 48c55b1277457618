#include "cli/cli.h"

static const ls_cli_option options[] = {
	{.name = "output", .argument = "FILE", .help = "the safetensors file to write", .brief = 'o'},
	{.name = "force", .help = "overwrite FILE where it is there"},
	{.name = NULL},
};

struct exported {
	uint64_t step;
	ls_hash state_root;
	ls_export_result result;
};

/* The snapshot is read into the state of an executor that cannot execute, so neither data nor weights to start from are
 * needed. */
static ls_status export(struct exported *out, ls_cli_session *s, const ls_cli_args *args, ls_damage *damage, ls_error *err)
{
	ls_platform_options platform = LS_PLATFORM_OPTIONS_INIT;
	ls_exec_options options_of_exec = LS_EXEC_OPTIONS_INIT;
	ls_hasher *hasher = NULL;
	ls_exec *exec = NULL;
	ls_status status;
	LS_TRY(ls_plan_open_offline(&s->plan, ls_run_job(s->run), ls_run_binding(s->run), err));
	LS_TRY(ls_platform_open(&s->platform, "native", &platform, err));
	LS_TRY(ls_hasher_open(&hasher, 1, err));
	options_of_exec.program = ls_model_step(ls_plan_model(s->plan));
	options_of_exec.platform = s->platform;
	options_of_exec.hasher = hasher;
	options_of_exec.state_only = true;
	LS_TRY(ls_exec_open(&exec, &options_of_exec, err));
	LS_TRY(ls_cli__load_last(s->run, exec, &out->step, damage, err));
	if (damage->found)
		goto done;
	LS_TRY(ls_exec_state_root(exec, &out->state_root, err));
	LS_TRY(ls_export(s->plan, exec, ls_cli__value(args, "output"), ls_cli__given(args, "force"), &out->result, err));
done:
	ls_exec_free(exec);
	ls_hasher_free(hasher);
	return status;
}

static void print_result(const ls_cli *cli, const ls_cli_args *args, const struct exported *e)
{
	json_t *object;
	ls_cli__say(cli, "wrote %s: %llu tensors, %llu numbers, after step %llu\nnext: model.init_from in a job starts from it\n",
	            ls_cli__value(args, "output"), (unsigned long long)e->result.tensors, (unsigned long long)e->result.elements,
	            (unsigned long long)e->step);
	if (!cli->json)
		return;
	object = json_object();
	ls_cli__put_text(object, "file", ls_cli__value(args, "output"));
	ls_cli__put_uint(object, "step", e->step);
	ls_cli__put_uint(object, "tensors", e->result.tensors);
	ls_cli__put_uint(object, "elements", e->result.elements);
	ls_cli__put_hash(object, "state_root", &e->state_root);
	ls_cli__emit(object);
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_cli_session s = {0};
	struct exported e = {0};
	ls_damage damage;
	ls_status status;
	if (!ls_cli__value(args, "output"))
		return ls_cli__usage(err, "export", "no -o", "-o FILE", "for example -o model.safetensors");
	LS_TRY(ls_cli__open_run(&s, args, 0, &damage, err));
	if (!damage.found)
		LS_TRY(export(&e, &s, args, &damage, err));
	*code = damage.found ? LS_CLI__OTHER_VERDICT : LS_CLI__DONE;
	if (damage.found)
		ls_cli__report_damage(cli, &damage);
	else
		print_result(cli, args, &e);
done:
	if (status == LS_ERR_EXISTS && err)
		ls_error_set(err, status, "%s: found a file, expected none\n  hint: choose another name, or --force to overwrite it",
		             ls_cli__value(args, "output"));
	ls_cli__close(&s);
	return status;
}

const ls_cli_command ls_cli__export = {
	.name = "export",
	.operands = "RUN",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "write the weights of a run's last snapshot as a safetensors file",
	.details = "The snapshot is checked against the run's leaf. What the optimizer keeps is not written.",
	.options = options,
	.run = run,
};
