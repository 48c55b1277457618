#include "cli/decision.h"
#include "cli/wire.h"

#include <lockstep/dispute.h>

#include <stdio.h>

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
	{.name = "court", .argument = "URL", .help = "play over a wire before this court, where the trainer has a process of its own", .fallback_text = "where RUN is served, if it is"},
	{.name = "patience", .argument = "SECONDS", .help = "with a court: give up, for now, after so long without an answer", .fallback = "600"},
	LS_CLI__OPTIONS_REMOTE,
	{.name = NULL},
};

static ls_status read_key(ls_key **out, const ls_cli_args *args, const char *option, ls_error *err)
{
	*out = NULL;
	return ls_cli__given(args, option) ? ls_key_read(out, ls_cli__value(args, option), err) : LS_OK;
}

static bool is_url(const char *operand)
{
	return strstr(operand, "://") != NULL;
}

/* RUN REPLAY, or REPLAY URL. */
static ls_status open_both(ls_cli_session *s, ls_cli_session *replay, const ls_cli_args *args, ls_damage *damage, ls_error *err)
{
	ls_status status;
	int run = is_url(args->operand[1]);
	LS_TRY(ls_cli__open_run_anywhere(s, args, run, false, damage, err));
	if (!damage->found)
		LS_TRY(ls_cli__open_run(replay, args, !run, damage, err));
	if (damage->found)
		goto done;
	LS_TRY(ls_run_check_heads(s->run, damage, err));
	if (!damage->found)
		LS_TRY(ls_run_check_heads(replay->run, damage, err));
	if (!damage->found)
		LS_TRY(ls_cli__open_player(s, args, s->run, damage, err));
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

/* Where the service begins that serves a run under this address. */
static ls_status court_of(char out[LS_PATH_MAX], const ls_cli_args *args, ls_error *err)
{
	const char *court = ls_cli__value(args, "court"), *end;
	if (!court)
		court = args->operand[is_url(args->operand[1])];
	end = strstr(court, "/v1/");
	if (snprintf(out, LS_PATH_MAX, "%.*s", end ? (int)(end - court) : (int)strlen(court), court) >= LS_PATH_MAX)
		return ls_error_set(err, LS_ERR_LIMIT, "%.100s…: the address is too long", court);
	return LS_OK;
}

/* The trainer has a process of its own, and so has the referee. */
static ls_status sue(ls_cli *cli, const ls_cli_args *args, const ls_cli_session *s, const ls_run *replay, const ls_key *key, int *code, ls_error *err)
{
	char court[LS_PATH_MAX];
	ls_cli_suit suit = {.party = LS_PARTY_OPTIONS_INIT, .court = court, .ca = ls_cli__value(args, "ca"), .output = ls_cli__value(args, "output")};
	ls_player_options *p = &suit.party.player;
	uint64_t patience, timeout;
	ls_status status;
	if (ls_cli__given(args, "trainer-key") || ls_cli__given(args, "referee-key"))
		return ls_cli__usage(err, "dispute", "keys of the trainer or the referee", "the auditor's alone", "over a wire each signs for itself");
	if (!key)
		return ls_cli__usage(err, "dispute", "no --auditor-key", "--auditor-key FILE", "over a wire every turn is signed");
	LS_TRY(court_of(court, args, err));
	LS_TRY(ls_cli__number(args, "patience", 0, 365 * 24 * 3600, 600, &patience, err));
	LS_TRY(ls_cli__number(args, "timeout", 1, 3600, 15, &timeout, err));
	suit.patience = (double)patience;
	suit.timeout = (unsigned)timeout;
	p->role = LS_ROLE_AUDITOR;
	p->run = replay;
	p->trainer = s->run;
	p->plan = s->plan;
	p->platform = s->platform;
	p->key = key;
	LS_TRY(ls_cli__sue(cli, &suit, code, err));
done:
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
	if (ls_cli__given(args, "court") || s.remote) {
		LS_TRY(sue(cli, args, &s, replay.run, auditor, code, err));
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
	.operands = "RUN REPLAY | REPLAY URL",
	.operands_min = 2,
	.operands_max = 2,
	.summary = "find the one element that a run and its replay differ in, and write the evidence",
	.details = "REPLAY is what lockstep audit --keep wrote. The step in question is executed again, from the nearest snapshot.\n"
	           "Between two folders all is done here. With a court, or where the run is served at URL, the trainer and the referee are\n"
	           "other processes (lockstep serve --court, --referee). What was said is kept in FILE.book: the same command goes on after\n"
	           "it was stopped.",
	.options = options,
	.run = run,
};
