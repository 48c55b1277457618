#include "cli/cli.h"

#include <lockstep/events.h>

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

static const ls_cli_option options[] = {
	{.name = "run", .argument = "DIR", .help = "folder of the run; must be new, empty, or given with --resume"},
	{.name = "resume", .help = "go on with the run in --run; start it where it is missing"},
	{.name = "snapshots", .argument = "WHICH", .help = "states to keep: all, every:N, last:N; first and last always", .fallback = "last:2"},
	{.name = "compress", .help = "compress what snapshots keep of large tensors, with zstd"},
	{.name = "tensorboard", .help = "write losses and rates to DIR/tensorboard of the run, as TensorBoard reads them"},
	{.name = "guard", .help = "check in each step that memory holds what was written, and stop where it does not"},
	{.name = "nonce", .argument = "HEX", .help = "64 hex digits that tell this run from others", .fallback_text = "drawn at random"},
	{.name = "key", .argument = "FILE", .help = "the trainer's private key: signs heads and is part of the run id"},
	{.name = "job", .argument = "FILE", .help = "what was ordered, as lockstep plan -o wrote it: JOB must come to this"},
	LS_CLI__OPTION_PLATFORM,
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	LS_CLI__OPTION_SET,
	{.name = NULL},
};

/* JOB planned under the keys that the order names; it must come to the order's job id. */
static ls_status plan_order(ls_cli_session *s, const ls_cli_args *args, ls_error *err)
{
	const char *path = ls_cli__value(args, "job");
	ls_cli_keys keys = {0};
	char found[LS_HASH_HEX_SIZE], expected[LS_HASH_HEX_SIZE];
	uint8_t *bytes = NULL;
	size_t len = 0;
	ls_job *ordered = NULL;
	ls_job_binding binding;
	ls_hash id;
	ls_status status;
	if (!path)
		return ls_cli__open_plan(s, args, s->job, false, err);
	LS_TRY(ls_file_read(&bytes, &len, path, LS_JOB_BYTES_MAX, err));
	LS_TRY(ls_job_decode(&ordered, &binding, bytes, len, err));
	LS_TRY(ls_hash_tagged(&id, LS_TAG_JOB, bytes, len));
	keys = (ls_cli_keys){binding.trainer, binding.referee};
	LS_TRY(ls_cli__open_plan_keyed(s, args, s->job, false, &keys, err));
	if (ls_hash_equal(&id, ls_plan_job_id(s->plan)))
		goto done;
	ls_hash_hex(found, ls_plan_job_id(s->plan));
	ls_hash_hex(expected, &id);
	status = ls_error_input(err, args->operand[0], "job id", found, expected, "train the job that was ordered, or order this one");
done:
	ls_job_free(ordered);
	ls_free(bytes);
	return status;
}

static ls_status read_options(ls_train_options *out, uint8_t nonce[32], const ls_cli_args *args, ls_error *err)
{
	const char *policy = ls_cli__value(args, "snapshots"), *hex = ls_cli__value(args, "nonce");
	out->dir = ls_cli__value(args, "run");
	out->resume = ls_cli__given(args, "resume");
	out->guard = ls_cli__given(args, "guard");
	out->compress = ls_cli__given(args, "compress");
	if (!out->dir)
		return ls_cli__usage(err, "train", "no --run", "--run DIR", "the folder is made; its parent must exist");
	if (!ls_snapshot_policy_parse(&out->snapshots, policy))
		return ls_cli__usage(err, "--snapshots", policy, "all, every:N or last:N with N ≥ 1", NULL);
	if (hex && !ls_unhex(nonce, 32, hex))
		return ls_cli__usage(err, "--nonce", hex, "64 hex digits", NULL);
	out->nonce = hex ? nonce : NULL;
	return LS_OK;
}

/* Said here, because to the maker of folders every such path is merely no folder. */
static ls_status check_folder(const char *dir, ls_error *err)
{
	struct stat st;
	if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode))
		return ls_error_set(err, LS_ERR_EXISTS, "%s: found a file, expected a folder or nothing\n  hint: choose another --run", dir);
	if (stat(dir, &st) != 0 && errno == ENOTDIR)
		return ls_error_set(err, LS_ERR_IO, "%s: found a path below a file, expected one below a folder\n  hint: choose another --run", dir);
	return LS_OK;
}

/* `steps` were made by this call; without any, the loss is not known. */
static json_t *to_json(const ls_cli_session *s, const ls_train_result *r, uint64_t steps)
{
	json_t *object = json_object();
	ls_cli__put_hash(object, "root", &r->root);
	ls_cli__put_uint(object, "steps", r->steps);
	ls_cli__put_hash(object, "job", ls_plan_job_id(s->plan));
	ls_cli__put_text(object, "name", ls_plan_spec(s->plan)->name);
	ls_cli__put_text(object, "mode", ls_cli__mode_text(ls_plan_spec(s->plan)));
	ls_cli__put_bool(object, "uncertified", ls_job_uncertified(ls_plan_spec(s->plan)));
	ls_cli__put_text(object, "platform", ls_platform_describe(s->platform));
	ls_cli__put_hash(object, "state_root", &r->state_root);
	ls_cli__put_hash(object, "run", &r->run_id);
	ls_cli__put_uint(object, "log_bytes", r->log_bytes);
	ls_cli__put_uint(object, "log_entries", r->log_entries);
	ls_cli__put_uint(object, "elements", r->elements);
	ls_cli__put_stages(object, ls_plan_spec(s->plan)->arithmetic.mode, &r->stages);
	json_object_set_new(object, "loss", json_null());
	if (steps)
		ls_cli__put_real(object, "loss", (double)r->loss);
	ls_cli__put_real(object, "seconds", r->seconds);
	ls_cli__put_uint(object, "steps_ordered", ls_plan_binding(s->plan)->steps);
	ls_cli__put_bool(object, "complete", r->complete);
	ls_cli__put_bool(object, "diverged", r->diverged);
	ls_cli__put_bool(object, "stopped", r->stopped);
	return object;
}

static void print_next(const ls_cli *cli, const ls_cli_args *args, const ls_train_result *r, bool plain)
{
	const char *dir = ls_cli__value(args, "run");
	if (r->diverged)
		ls_cli__say(cli, "diverged: step %llu made a value that is not finite; the run ends there\n"
		            "next: lower optimizer.lr or add schedule.warmup; the run up to here can be audited\n",
		            (unsigned long long)r->steps);
	else if (!r->complete)
		ls_cli__say(cli, "stopped after a whole step, as asked\nnext: the same command with --resume goes on\n");
	else if (plain)
		ls_cli__say(cli, "next: nothing: mode plain is for measuring; order arithmetic.mode logged for a run that can be audited\n");
	else
		ls_cli__say(cli, "next: lockstep audit %s\n", dir);
}

static void print_text(const ls_cli *cli, const ls_cli_args *args, const ls_cli_session *s, const ls_train_result *r,
                       uint64_t steps)
{
	char root[LS_HASH_HEX_SIZE], state[LS_HASH_HEX_SIZE], job[LS_HASH_HEX_SIZE];
	char bytes[LS_CLI__AMOUNT_SIZE], seconds[LS_CLI__AMOUNT_SIZE], stages[LS_CLI__STAGES_SIZE];
	ls_hash_hex(root, &r->root);
	ls_hash_hex(state, &r->state_root);
	ls_hash_hex(job, ls_plan_job_id(s->plan));
	ls_cli__say(cli, "run         %s\njob         %s\nroot        %s\nstate root  %s\n", ls_cli__value(args, "run"), job, root, state);
	ls_cli__say(cli, "steps       %llu of %llu", (unsigned long long)r->steps,
	            (unsigned long long)ls_plan_binding(s->plan)->steps);
	if (steps)
		ls_cli__say(cli, ", loss %.6f", (double)r->loss);
	ls_cli__say(cli, "\nmode        %s%s on %s\n", ls_cli__mode_text(ls_plan_spec(s->plan)),
	            ls_cli__uncertified_text(ls_plan_spec(s->plan)), ls_platform_describe(s->platform));
	if (ls_job_keeps_log(ls_plan_spec(s->plan)))
		ls_cli__say(cli, "log         %s, %llu entries for %llu elements\n", ls_cli__bytes_text(bytes, (double)r->log_bytes),
		            (unsigned long long)r->log_entries, (unsigned long long)r->elements);
	else
		ls_cli__say(cli, "log         none%s\n", ls_cli__stages_text(stages, ls_plan_spec(s->plan)->arithmetic.mode, &r->stages));
	ls_cli__say(cli, "time        %s\n", ls_cli__seconds_text(seconds, r->seconds));
	print_next(cli, args, r, ls_plan_spec(s->plan)->arithmetic.mode == LS_JOB_PLAIN);
}

/* The one context of all callbacks. */
struct watch {
	ls_cli_progress progress;
	ls_events *events;
	char events_dir[LS_PATH_MAX]; /* "" where none are wanted, or could not be written */
};

static double wall_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Events are notes: a run does not end because they cannot be written. */
static void write_event(struct watch *w, const ls_metrics *m)
{
	ls_error err = LS_ERROR_INIT;
	ls_status status = LS_OK;
	if (!w->events)
		status = ls_events_open(&w->events, w->events_dir, m->step, wall_seconds(), &err);
	if (status == LS_OK)
		status = ls_events_write(w->events, m, wall_seconds(), &err);
	if (status == LS_OK)
		return;
	ls_cli__progress_end(&w->progress);
	ls_cli__note("note: %s; no more events are written\n", err.text);
	w->events_dir[0] = 0;
}

static void on_step(void *context, const ls_metrics *m)
{
	struct watch *w = context;
	ls_cli__progress_step(&w->progress, m);
	if (w->events_dir[0])
		write_event(w, m);
}

static bool on_stop(void *context)
{
	return ls_cli__progress_stop(&((struct watch *)context)->progress);
}

static void on_note(void *context, const char *text)
{
	ls_cli__progress_end(&((struct watch *)context)->progress);
	ls_cli__note("note: %s\n", text);
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_train_options train = LS_TRAIN_OPTIONS_INIT;
	ls_cli_session s = {0};
	struct watch watch = {.events = NULL};
	ls_train_result result = {0};
	uint8_t nonce[32];
	ls_key *key = NULL;
	ls_status status;
	LS_TRY(read_options(&train, nonce, args, err));
	LS_TRY(check_folder(train.dir, err));
	if (ls_cli__given(args, "tensorboard"))
		LS_TRY(ls_path_join(watch.events_dir, sizeof watch.events_dir, train.dir, "tensorboard", err));
	LS_TRY(ls_cli__open_job(&s, args, err));
	LS_TRY(plan_order(&s, args, err));
	if (ls_cli__given(args, "key"))
		LS_TRY(ls_key_read(&key, ls_cli__value(args, "key"), err));
	train.key = key;
	LS_TRY(ls_cli__open_platform(&s, args, err));
	ls_cli__progress_start(&watch.progress, cli, "train", ls_plan_binding(s.plan)->steps);
	train.on_step = on_step;
	train.stop = on_stop;
	train.on_note = on_note;
	train.context = &watch;
	status = ls_train(s.plan, s.platform, &train, &result, err);
	ls_cli__progress_end(&watch.progress);
	if (status != LS_OK)
		goto done;
	*code = result.diverged ? LS_CLI__OTHER_VERDICT : LS_CLI__DONE;
	if (cli->json)
		ls_cli__emit(to_json(&s, &result, watch.progress.steps));
	else
		print_text(cli, args, &s, &result, watch.progress.steps);
done:
	ls_events_close(watch.events);
	ls_key_free(key);
	ls_cli__close(&s);
	return status;
}

const ls_cli_command ls_cli__train = {
	.name = "train",
	.operands = "JOB",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "train a job and write a run that others can audit",
	.details = "SIGINT or SIGTERM finishes the present leaf, keeps the state and ends; --resume goes on from there.",
	.options = options,
	.run = run,
};
