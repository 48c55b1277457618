#include "cli/statement.h"

static const ls_cli_option options[] = {
	{.name = "output", .argument = "FILE", .help = "the safetensors file to write", .brief = 'o'},
	{.name = "key", .argument = "FILE", .help = "the trainer's private key, to sign a statement about FILE"},
	{.name = "attest", .argument = "FILE", .help = "write that statement here: an in-toto statement in a DSSE envelope"},
	{.name = "force", .help = "overwrite FILE where it is there"},
	{.name = NULL},
};

static void print_result(const ls_cli *cli, const ls_cli_args *args, const ls_cli_exported *e)
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

/* The trainer's word for what it wrote. */
static ls_status attest(const ls_cli_args *args, const ls_cli_session *s, const ls_cli_exported *e, ls_error *err)
{
	const char *path = ls_cli__value(args, "attest"), *file = ls_cli__value(args, "output");
	ls_attestation a;
	ls_key *key = NULL;
	ls_status status;
	if (!path)
		return LS_OK;
	LS_TRY(ls_key_read(&key, ls_cli__value(args, "key"), err));
	LS_TRY(ls_cli__begin_statement(&a, s->run, file, file, err));
	memcpy(a.role, "trainer", sizeof "trainer");
	a.log_bytes = e->log.bytes;
	a.log_entries = e->log.entries;
	a.elements = e->log.elements;
	LS_TRY(ls_cli__write_statement(&a, key, path, err));
done:
	ls_key_free(key);
	return status;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_cli_session s = {0};
	ls_cli_exported e = {0};
	ls_damage damage;
	ls_status status;
	if (!ls_cli__value(args, "output"))
		return ls_cli__usage(err, "export", "no -o", "-o FILE", "for example -o model.safetensors");
	if (ls_cli__given(args, "attest") != ls_cli__given(args, "key"))
		return ls_cli__usage(err, "export", "only one of --attest and --key", "both or neither", "a statement is signed");
	LS_TRY(ls_cli__open_run(&s, args, 0, &damage, err));
	if (!damage.found)
		LS_TRY(ls_cli__export_run(&e, &s, ls_cli__value(args, "output"), ls_cli__given(args, "force"), &damage, err));
	if (!damage.found)
		LS_TRY(attest(args, &s, &e, err));
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
