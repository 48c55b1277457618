#include "cli/decision.h"

#include <lockstep/dispute.h>

static const ls_cli_option options[] = {
	{.name = "output", .argument = "FILE", .help = "where the evidence goes", .brief = 'o'},
	{.name = "trainer-key", .argument = "FILE", .help = "the trainer's private key, where RUN is signed"},
	{.name = "auditor-key", .argument = "FILE", .help = "the auditor's private key, where REPLAY is signed"},
	{.name = "referee-key", .argument = "FILE", .help = "the referee's private key, where the job names a referee"},
	LS_CLI__OPTION_PLATFORM,
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	{.name = "init-from", .argument = "FILE", .help = "where the weights lie that the run starts from",
	 .fallback_text = "model.init_from of the job"},
	{.name = NULL},
};

static ls_status read_key(ls_key **out, const ls_cli_args *args, const char *option, ls_error *err)
{
	*out = NULL;
	return ls_cli__given(args, option) ? ls_key_read(out, ls_cli__value(args, option), err) : LS_OK;
}

static ls_status open_both(ls_cli_session *s, ls_cli_session *replay, const ls_cli_args *args, ls_damage *damage, ls_error *err)
{
	ls_status status;
	LS_TRY(ls_cli__open_run(s, args, 0, damage, err));
	if (!damage->found)
		LS_TRY(ls_cli__open_run(replay, args, 1, damage, err));
	if (damage->found)
		goto done;
	LS_TRY(ls_run_check_heads(s->run, damage, err));
	if (!damage->found)
		LS_TRY(ls_run_check_heads(replay->run, damage, err));
	if (damage->found)
		goto done;
	LS_TRY(ls_cli__open_plan(s, args, ls_run_job(s->run), false, err));
	ls_run_compare_plan(s->run, s->plan, damage);
	if (!damage->found)
		LS_TRY(ls_cli__open_platform(s, args, err));
done:
	return status;
}

static void say_match(const ls_cli *cli)
{
	json_t *object;
	ls_cli__say(cli, "match: there is nothing to dispute\n");
	if (!cli->json)
		return;
	object = json_object();
	ls_cli__put_text(object, "verdict", "match");
	ls_cli__emit(object);
}

static ls_status dispute(ls_cli *cli, const ls_cli_args *args, const ls_dispute_options *o, int *code, ls_error *err)
{
	double start = ls_clock_seconds();
	const char *path = ls_cli__value(args, "output");
	ls_decision decision;
	ls_buf evidence;
	bool found = false;
	ls_status status;
	ls_buf_init(&evidence, LS_EVIDENCE_BYTES_MAX);
	LS_TRY(ls_dispute(o, &found, &evidence, &decision, err));
	*code = found ? LS_CLI__OTHER_VERDICT : LS_CLI__DONE;
	if (!found) {
		say_match(cli);
		goto done;
	}
	LS_TRY(ls_file_write(path, evidence.data, evidence.len, err));
	ls_cli__report_decision(cli, &decision, path, evidence.len, ls_clock_seconds() - start);
done:
	ls_buf_free(&evidence);
	return status;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_dispute_options o = LS_DISPUTE_OPTIONS_INIT;
	ls_cli_session s = {0}, replay = {0};
	ls_key *trainer = NULL, *auditor = NULL, *referee = NULL;
	ls_damage damage = {0};
	ls_status status;
	if (!ls_cli__given(args, "output"))
		return ls_cli__usage(err, "dispute", "no -o", "-o FILE", "for example -o evidence.bin");
	LS_TRY(read_key(&trainer, args, "trainer-key", err));
	LS_TRY(read_key(&auditor, args, "auditor-key", err));
	LS_TRY(read_key(&referee, args, "referee-key", err));
	LS_TRY(open_both(&s, &replay, args, &damage, err));
	if (damage.found) {
		*code = LS_CLI__OTHER_VERDICT;
		ls_cli__report_damage(cli, &damage);
		goto done;
	}
	o.run = s.run;
	o.replay = replay.run;
	o.plan = s.plan;
	o.platform = s.platform;
	o.trainer_key = trainer;
	o.auditor_key = auditor;
	o.referee_key = referee;
	LS_TRY(dispute(cli, args, &o, code, err));
done:
	ls_key_free(trainer);
	ls_key_free(auditor);
	ls_key_free(referee);
	ls_cli__close(&replay);
	ls_cli__close(&s);
	return status;
}

const ls_cli_command ls_cli__dispute = {
	.name = "dispute",
	.operands = "RUN REPLAY",
	.operands_min = 2,
	.operands_max = 2,
	.summary = "find the one element that a run and its replay differ in, and write the evidence",
	.details = "REPLAY is what lockstep audit --keep wrote. The step in question is executed again, from the nearest snapshot.",
	.options = options,
	.run = run,
};
