#include "cli/cli.h"

#include <stdio.h>

static const ls_cli_option options[] = {
	{.name = "split", .argument = "S", .help = "held-out data to measure on", .fallback = "test"},
	LS_CLI__OPTION_PLATFORM,
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	{.name = NULL},
};

static ls_status measure(ls_cli_session *s, ls_eval_result *out, uint64_t *step, ls_damage *damage, ls_error *err)
{
	ls_replay_options options_of_replay = LS_REPLAY_OPTIONS_INIT;
	ls_replay *replay = NULL;
	ls_status status;
	options_of_replay.plan = s->plan;
	options_of_replay.platform = s->platform;
	LS_TRY(ls_replay_open(&replay, &options_of_replay, err));
	LS_TRY(ls_cli__load_last(s->run, ls_replay_exec(replay), step, damage, err));
	if (!damage->found)
		LS_TRY(ls_eval(s->plan, s->platform, ls_replay_exec(replay), out, err));
done:
	ls_replay_free(replay);
	return status;
}

/* e to the loss: among how many equally likely tokens the model would be as uncertain. */
static double perplexity(const ls_eval_result *r)
{
	return (double)ls_exp((float)r->loss);
}

static void print_result(const ls_cli *cli, const ls_cli_args *args, const ls_eval_result *r, bool text, uint64_t step)
{
	json_t *object;
	if (text)
		ls_cli__say(cli, "perplexity %.4f\n", perplexity(r));
	ls_cli__say(cli, "accuracy  %.2f %%\nloss      %.6f\nsamples   %lld of split %s, after step %llu\n", 100 * r->accuracy,
	            r->loss, (long long)r->samples, ls_cli__value(args, "split"), (unsigned long long)step);
	if (!cli->json)
		return;
	object = json_object();
	ls_cli__put_real(object, "loss", r->loss);
	ls_cli__put_real(object, "accuracy", r->accuracy);
	ls_cli__put_real(object, "perplexity", text ? perplexity(r) : (double)ls_f32_bits(LS_NAN_BITS));
	ls_cli__put_uint(object, "samples", (uint64_t)r->samples);
	ls_cli__put_text(object, "split", ls_cli__value(args, "split"));
	ls_cli__put_uint(object, "step", step);
	ls_cli__emit(object);
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_cli_session s = {0};
	ls_damage damage;
	ls_eval_result result = {0};
	uint64_t step = 0;
	ls_status status;
	if (strcmp(ls_cli__value(args, "split"), "test"))
		return ls_cli__usage(err, "--split", ls_cli__value(args, "split"), "test", "this version measures on the test split");
	LS_TRY(ls_cli__open_run(&s, args, 0, &damage, err));
	if (!damage.found) {
		LS_TRY(ls_cli__open_plan(&s, args, ls_run_job(s.run), true, err));
		LS_TRY(ls_run_check_heads(s.run, &damage, err));
	}
	if (!damage.found)
		ls_run_compare_plan(s.run, s.plan, &damage);
	if (!damage.found) {
		LS_TRY(ls_cli__open_platform(&s, args, err));
		LS_TRY(measure(&s, &result, &step, &damage, err));
	}
	*code = damage.found ? LS_CLI__OTHER_VERDICT : LS_CLI__DONE;
	if (damage.found)
		ls_cli__report_damage(cli, &damage);
	else
		print_result(cli, args, &result, ls_dataset_is_tokens(ls_plan_eval_data(s.plan)), step);
done:
	ls_cli__close(&s);
	return status;
}

const ls_cli_command ls_cli__eval = {
	.name = "eval",
	.operands = "RUN",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "loss and accuracy of a run's last snapshot on held-out data",
	.options = options,
	.run = run,
};
