/* lockstep-cheat: trains as `lockstep train` does and tells one lie on the way. For tests and demonstrations; never
 * installed.
 *
 *   lockstep-cheat train JOB --run DIR --lie NAME --at STEP [--key FILE] [--referee FILE] [--platform P] [--threads N] [--data DIR] [--set KEY=VALUE]
 *   lockstep-cheat audit RUN --keep DIR --lie NAME --at STEP       a replay that lies, for false accusations
 *   lockstep-cheat dispute RUN REPLAY -o FILE --side trainer|auditor --lie NAME --at STEP
 *                                                                  plays a dispute in which that side stays with its lie
 *   lockstep-cheat dispute RUN REPLAY -o FILE --court URL --auditor-key FILE --lie NAME --at STEP
 *   lockstep-cheat defend RUN --court URL --trainer-key FILE --book FILE --lie NAME --at STEP
 *                                                                  the same over a wire, for an auditor and a trainer
 *   lockstep-cheat --list
 */
#include "cheat/lies.h"
#include "cli/decision.h"
#include "cli/wire.h"

#include <lockstep/dispute.h>

#include <stdio.h>

static ls_status read_lie(const cheat_lie **lie, uint64_t *at, const ls_cli_args *args, ls_error *err)
{
	const char *name = ls_cli__value(args, "lie");
	if (!name)
		return ls_cli__usage(err, "train", "no --lie", "--lie NAME", "lockstep-cheat --list names them");
	*lie = cheat_lie_find(name);
	if (!*lie)
		return ls_cli__usage(err, "--lie", name, "the name of a lie", "lockstep-cheat --list names them");
	return ls_cli__number(args, "at", 0, LS_JOB_STEPS_MAX, 0, at, err);
}

static ls_status read_key(ls_key **out, const ls_cli_args *args, const char *option, ls_error *err)
{
	*out = NULL;
	return ls_cli__given(args, option) ? ls_key_read(out, ls_cli__value(args, option), err) : LS_OK;
}

static ls_status read_options(ls_train_options *out, uint8_t nonce[32], const ls_cli_args *args, ls_error *err)
{
	const char *hex = ls_cli__value(args, "nonce"), *policy = ls_cli__value(args, "snapshots");
	out->dir = ls_cli__value(args, "run");
	out->no_self_check = true;
	if (!out->dir)
		return ls_cli__usage(err, "train", "no --run", "--run DIR", NULL);
	if (!ls_snapshot_policy_parse(&out->snapshots, policy))
		return ls_cli__usage(err, "--snapshots", policy, "all, every:N or last:N with N ≥ 1", NULL);
	if (hex && !ls_unhex(nonce, 32, hex))
		return ls_cli__usage(err, "--nonce", hex, "64 hex digits", NULL);
	out->nonce = hex ? nonce : NULL;
	return LS_OK;
}

static void report(const ls_cli *cli, const cheat_liar *liar, const ls_train_result *r)
{
	char root[LS_HASH_HEX_SIZE];
	json_t *object;
	ls_hash_hex(root, &r->root);
	ls_cli__say(cli, "root        %s\nlie         %s in step %llu: %llu words or entries changed\n", root, liar->lie->name,
	            (unsigned long long)liar->at, (unsigned long long)liar->changed);
	if (!cli->json)
		return;
	object = json_object();
	ls_cli__put_hash(object, "root", &r->root);
	ls_cli__put_hash(object, "state_root", &r->state_root);
	ls_cli__put_uint(object, "steps", r->steps);
	ls_cli__put_uint(object, "log_bytes", r->log_bytes);
	ls_cli__put_uint(object, "log_entries", r->log_entries);
	ls_cli__put_uint(object, "elements", r->elements);
	ls_cli__put_text(object, "lie", liar->lie->name);
	ls_cli__put_uint(object, "at", liar->at);
	ls_cli__put_uint(object, "changed", liar->changed);
	ls_cli__emit(object);
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_train_options options = LS_TRAIN_OPTIONS_INIT;
	ls_cli_session s = {0};
	cheat_liar liar = {0};
	const cheat_lie *lie = NULL;
	ls_train_result result;
	uint8_t nonce[32], referee[LS_KEY_BYTES] = {0};
	ls_key *key = NULL;
	uint64_t at = 0;
	ls_status status;
	LS_TRY(read_lie(&lie, &at, args, err));
	LS_TRY(read_options(&options, nonce, args, err));
	LS_TRY(read_key(&key, args, "key", err));
	if (ls_cli__given(args, "referee"))
		LS_TRY(ls_public_key_read(referee, ls_cli__value(args, "referee"), err));
	options.key = key;
	LS_TRY(ls_cli__open_job(&s, args, err));
	LS_TRY(ls_cli__open_plan_keyed(&s, args, s.job, false, &(ls_cli_keys){NULL, referee}, err));
	LS_TRY(ls_cli__open_platform(&s, args, err));
	LS_TRY(cheat_open(&liar, lie, at, s.plan, s.platform, err));
	options.watch = &liar.watch;
	LS_TRY(ls_train(s.plan, s.platform, &options, &result, err));
	status = liar.status;
	if (status != LS_OK)
		ls_error_set(err, status, "the lie could not be told: %s", ls_status_text(status));
	else if (!liar.changed)
		status = ls_error_set(err, LS_ERR_INPUT, "--lie: %s changed nothing in step %llu of this run", lie->name,
		                      (unsigned long long)at);
	else
		report(cli, &liar, &result);
done:
	ls_key_free(key);
	cheat_close(&liar);
	ls_cli__close(&s);
	return status;
}

/* ---- a lying auditor, and players who stay with their lies ---- */

static ls_status open_liar(cheat_liar *liar, ls_cli_session *s, const ls_cli_args *args, ls_error *err)
{
	const cheat_lie *lie = NULL;
	ls_damage damage;
	uint64_t at = 0;
	ls_status status;
	LS_TRY(read_lie(&lie, &at, args, err));
	LS_TRY(ls_cli__open_run(s, args, 0, &damage, err));
	if (damage.found) {
		status = ls_error_set(err, LS_ERR_INPUT, "%s: %s", damage.file, damage.text);
		goto done;
	}
	LS_TRY(ls_cli__open_plan(s, args, ls_run_job(s->run), false, err));
	LS_TRY(ls_cli__open_platform(s, args, err));
	LS_TRY(cheat_open(liar, lie, at, s->plan, s->platform, err));
done:
	return status;
}

static ls_status run_audit(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_audit_options o = LS_AUDIT_OPTIONS_INIT;
	ls_cli_session s = {0};
	cheat_liar liar = {0};
	ls_audit_result result;
	ls_key *key = NULL;
	ls_status status;
	LS_TRY(read_key(&key, args, "key", err));
	LS_TRY(open_liar(&liar, &s, args, err));
	o.key = key;
	o.keep = ls_cli__value(args, "keep");
	o.watch = &liar.watch;
	LS_TRY(ls_audit(s.run, s.plan, s.platform, &o, &result, NULL, err));
	ls_cli__say(cli, "%s at step %llu, having lied\n", ls_verdict_text(result.verdict), (unsigned long long)result.first_bad_step);
	if (cli->json) {
		json_t *object = json_object();
		ls_cli__put_text(object, "verdict", ls_verdict_text(result.verdict));
		ls_cli__put_uint(object, "changed", liar.changed);
		ls_cli__emit(object);
	}
done:
	ls_key_free(key);
	cheat_close(&liar);
	ls_cli__close(&s);
	return status;
}

static bool never(void *context)
{
	return false;
}

static ls_player_options player_of(ls_role role, const ls_cli_session *s, const ls_run *own, const ls_key *key, const cheat_liar *liar)
{
	ls_player_options p = LS_PLAYER_OPTIONS_INIT;
	p.role = role;
	p.run = own;
	p.trainer = s->run;
	p.plan = s->plan;
	p.platform = s->platform;
	p.key = key;
	p.lie = &liar->watch;
	p.record = role == LS_ROLE_TRAINER;
	return p;
}

/* Until it is killed. */
static ls_status run_defend(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_cli_session s = {0};
	cheat_liar liar = {0};
	ls_cli_post post = {.party = LS_PARTY_OPTIONS_INIT, .court = ls_cli__value(args, "court"), .stop = never};
	ls_key *key = NULL;
	ls_status status;
	LS_TRY(read_key(&key, args, "trainer-key", err));
	LS_TRY(open_liar(&liar, &s, args, err));
	post.party.player = player_of(LS_ROLE_TRAINER, &s, s.run, key, &liar);
	post.party.book = ls_cli__value(args, "book");
	ls_cli__stand(&post);
	status = post.status == LS_OK ? LS_OK : ls_error_set(err, post.status, "%s", post.err.text);
done:
	ls_key_free(key);
	cheat_close(&liar);
	ls_cli__close(&s);
	return status;
}

static ls_status sue(ls_cli *cli, const ls_cli_args *args, const ls_cli_session *s, const ls_run *replay, const ls_key *key, const cheat_liar *liar,
                     int *code, ls_error *err)
{
	ls_cli_suit suit = {.party = LS_PARTY_OPTIONS_INIT, .court = ls_cli__value(args, "court"), .output = ls_cli__value(args, "output"), .timeout = 15, .patience = 60};
	suit.party.player = player_of(LS_ROLE_AUDITOR, s, replay, key, liar);
	return ls_cli__sue(cli, &suit, code, err);
}

static ls_status run_dispute(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_dispute_options o = LS_DISPUTE_OPTIONS_INIT;
	ls_cli_session s = {0}, replay = {0};
	cheat_liar liar = {0};
	ls_damage damage;
	ls_decision decision;
	ls_buf evidence;
	bool found = false, trainer = !strcmp(ls_cli__value(args, "side"), "trainer");
	double start = ls_clock_seconds();
	ls_key *trainer_key = NULL, *auditor_key = NULL, *referee_key = NULL;
	ls_status status;
	ls_buf_init(&evidence, LS_EVIDENCE_BYTES_MAX);
	LS_TRY(read_key(&trainer_key, args, "trainer-key", err));
	LS_TRY(read_key(&auditor_key, args, "auditor-key", err));
	LS_TRY(read_key(&referee_key, args, "referee-key", err));
	LS_TRY(open_liar(&liar, &s, args, err));
	LS_TRY(ls_cli__open_run(&replay, args, 1, &damage, err));
	if (ls_cli__given(args, "court")) {
		LS_TRY(sue(cli, args, &s, replay.run, auditor_key, &liar, code, err));
		goto done;
	}
	o.run = s.run;
	o.replay = replay.run;
	o.plan = s.plan;
	o.platform = s.platform;
	o.trainer_key = trainer_key;
	o.auditor_key = auditor_key;
	o.referee_key = referee_key;
	o.trainer_lie = trainer ? &liar.watch : NULL;
	o.auditor_lie = trainer ? NULL : &liar.watch;
	LS_TRY(ls_dispute(&o, &found, &evidence, &decision, err));
	if (!found) {
		status = ls_error_set(err, LS_ERR_INPUT, "the runs do not differ");
		goto done;
	}
	LS_TRY(ls_file_write(ls_cli__value(args, "output"), evidence.data, evidence.len, err));
	*code = LS_CLI__OTHER_VERDICT;
	ls_cli__report_decision(cli, &decision, ls_cli__value(args, "output"), evidence.len, ls_clock_seconds() - start);
done:
	ls_buf_free(&evidence);
	ls_key_free(trainer_key);
	ls_key_free(auditor_key);
	ls_key_free(referee_key);
	cheat_close(&liar);
	ls_cli__close(&replay);
	ls_cli__close(&s);
	return status;
}

#define OPTIONS_OF_LIARS                                                                                               \
	{.name = "lie", .argument = "NAME", .help = "which lie"}, {.name = "at", .argument = "STEP", .help = "the step in which it is told"}

static const ls_cli_option options_of_audit[] = {
	OPTIONS_OF_LIARS,
	{.name = "keep", .argument = "DIR", .help = "write the replay as a run of its own"},
	{.name = "key", .argument = "FILE", .help = "the auditor's private key"},
	LS_CLI__OPTION_PLATFORM,
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	{.name = NULL},
};

static const ls_cli_option options_of_dispute[] = {
	OPTIONS_OF_LIARS,
	{.name = "side", .argument = "WHO", .help = "who lies: trainer or auditor", .fallback = "trainer"},
	{.name = "output", .argument = "FILE", .help = "where the evidence goes", .brief = 'o', .fallback = "evidence.bin"},
	{.name = "trainer-key", .argument = "FILE", .help = "the trainer's private key"},
	{.name = "auditor-key", .argument = "FILE", .help = "the auditor's private key"},
	{.name = "referee-key", .argument = "FILE", .help = "the referee's private key"},
	{.name = "court", .argument = "URL", .help = "play over a wire, as the auditor"},
	LS_CLI__OPTION_PLATFORM,
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	{.name = NULL},
};

static const ls_cli_option options_of_defend[] = {
	OPTIONS_OF_LIARS,
	{.name = "court", .argument = "URL", .help = "where disputes are taken"},
	{.name = "trainer-key", .argument = "FILE", .help = "the trainer's private key"},
	{.name = "book", .argument = "FILE", .help = "where disputes are written down"},
	LS_CLI__OPTION_PLATFORM,
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	{.name = NULL},
};

static const ls_cli_option options_of_train[] = {
	{.name = "run", .argument = "DIR", .help = "folder of the run"},
	{.name = "lie", .argument = "NAME", .help = "which lie"},
	{.name = "at", .argument = "STEP", .help = "the step in which it is told"},
	{.name = "snapshots", .argument = "WHICH", .help = "states to keep", .fallback = "last:2"},
	{.name = "nonce", .argument = "HEX", .help = "64 hex digits that tell this run from others"},
	{.name = "key", .argument = "FILE", .help = "the trainer's private key"},
	{.name = "referee", .argument = "FILE", .help = "public key of the referee, whom the job names"},
	LS_CLI__OPTION_PLATFORM,
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	LS_CLI__OPTION_SET,
	{.name = NULL},
};

static const ls_cli_command train = {
	.name = "train",
	.operands = "JOB",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "train a job and tell one lie on the way",
	.options = options_of_train,
	.run = run,
};

static const ls_cli_command commands[] = {
	{.name = "audit", .operands = "RUN", .operands_min = 1, .operands_max = 1, .summary = "replay a run and tell one lie on the way",
	 .options = options_of_audit, .run = run_audit},
	{.name = "dispute", .operands = "RUN REPLAY", .operands_min = 2, .operands_max = 2, .summary = "play a dispute with a liar",
	 .options = options_of_dispute, .run = run_dispute},
	{.name = "defend", .operands = "RUN", .operands_min = 1, .operands_max = 1, .summary = "answer for a run in disputes, staying with a lie",
	 .options = options_of_defend, .run = run_defend},
};

static const ls_cli_command *command_named(const char *name)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return strcmp(name, "train") ? NULL : &train;
}

static int print_list(void)
{
	for (size_t i = 0; cheat_lie_at(i); i++)
		printf("%-20s %s\n", cheat_lie_at(i)->name, cheat_lie_at(i)->help);
	return LS_CLI__DONE;
}

static int print_usage(void)
{
	ls_cli__note("usage: lockstep-cheat train JOB --run DIR --lie NAME --at STEP [options of lockstep train]\n"
	             "       lockstep-cheat --list\n");
	return LS_CLI__USAGE;
}

static bool asks_for_json(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], "--json"))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	ls_cli cli = {.json = asks_for_json(argc, argv)};
	ls_error err = LS_ERROR_INIT;
	ls_cli_args args;
	const ls_cli_command *command;
	int code = LS_CLI__DONE;
	if (argc == 2 && !strcmp(argv[1], "--list"))
		return print_list();
	command = argc < 2 ? NULL : command_named(argv[1]);
	if (!command)
		return print_usage();
	err.status = ls_cli__parse(&args, command, argc - 2, argv + 2, &err);
	if (err.status == LS_OK && args.help)
		ls_cli__print_help(&cli, command);
	else if (err.status == LS_OK)
		err.status = command->run(&cli, &args, &code, &err);
	if (err.status != LS_OK)
		code = ls_cli__fail(&cli, &err);
	ls_cli__args_free(&args);
	return code;
}
