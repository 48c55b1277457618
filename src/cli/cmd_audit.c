#include "cli/audit_follow.h"
#include "cli/audit_parts.h"
#include "cli/statement.h"

#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

static const ls_cli_option options[] = {
	{.name = "steps", .argument = "A:B", .help = "compare steps A to B, or with A: to the end, replaying from the nearest snapshot before", .fallback_text = "all"},
	{.name = "job", .argument = "FILE", .help = "what was ordered, as lockstep plan -o wrote it: the run must be of this job",
	 .fallback_text = "the run's own"},
	{.name = "keep", .argument = "DIR", .help = "write the replay as a run of its own, for lockstep diff"},
	{.name = "key", .argument = "FILE", .help = "the auditor's private key: signs --keep's heads and the statement"},
	{.name = "output", .argument = "FILE", .help = "write a signed statement about the run's weights: DSSE, in-toto", .brief = 'o'},
	LS_CLI__OPTION_PLATFORM,
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	{.name = "init-from", .argument = "FILE", .help = "where the weights lie that the run starts from",
	 .fallback_text = "model.init_from of the job"},
	{.name = "sample", .argument = "N", .help = "replay N parts between snapshots, drawn by a seed that nobody knows before the verdict"},
	{.name = "seed", .argument = "HEX", .help = "64 hex digits to draw the sample with", .fallback_text = "drawn at random"},
	{.name = "parallel", .argument = "N", .help = "processes that share the parts between snapshots", .fallback = "1"},
	{.name = "plan", .help = "only list the parts that can be audited by themselves, for --steps"},
	{.name = "parts", .argument = "N", .help = "with --plan: at most N parts, of nearly as many steps each", .fallback_text = "all"},
	{.name = "guard", .help = "check in each step that memory holds what was written, and stop where it does not"},
	{.name = "merge", .argument = "DIR", .help = "replay nothing: join the verdicts of --steps and --json that lie in DIR/*.json"},
	{.name = "follow", .help = "go along with a run that is being trained, until it ends"},
	LS_CLI__OPTIONS_REMOTE,
	{.name = NULL},
};

static ls_status read_steps(ls_audit_options *out, const ls_cli_args *args, ls_error *err)
{
	const char *text = ls_cli__value(args, "steps"), *colon = text ? strchr(text, ':') : NULL;
	if (!text)
		return LS_OK;
	if (!colon || !ls_cli__parse_number(text, (size_t)(colon - text), LS_JOB_STEPS_MAX, &out->first) || out->first < 1 ||
	    (colon[1] && (!ls_cli__parse_number(colon + 1, strlen(colon + 1), LS_JOB_STEPS_MAX, &out->last) || out->first > out->last)))
		return ls_cli__usage(err, "--steps", text[0] ? text : "nothing", "A:B with 1 ≤ A ≤ B, or A:",
		                     "for example --steps 1:100; both ends are included");
	return LS_OK;
}

/* The run must reach as far as the question. */
static ls_status check_steps(const ls_audit_options *o, const ls_cli_args *args, const ls_run *run, ls_error *err)
{
	uint64_t last = ls_run_last_step(run);
	char expected[96];
	if (o->last <= last && o->first <= last)
		return LS_OK;
	ls_error_set(err, LS_OK, "at most step %llu, the last of this run", (unsigned long long)last);
	memcpy(expected, err->text, sizeof expected - 1);
	expected[sizeof expected - 1] = 0;
	return ls_cli__usage(err, "--steps", ls_cli__value(args, "steps"), expected, NULL);
}

/* What the audit says, gathered while it runs; the one context of all its callbacks. */
struct report {
	ls_cli_progress progress;
	ls_audit_result result;
	bool uncertified, plain, logged, other_job;
	bool diverged;  /* the run ends before the ordered steps, and no step could follow */
	uint64_t steps; /* that the run has */
	bool opened; /* false: damage kept the run from being read, so there are no roots */
	const char *platform;
	ls_hash job; /* the run's */
	json_t *ops;
	/* What is replayed, and of how much; part.count is 0 where the audit is of one piece. */
	ls_cli_parts parts, all;
	bool sampled;
	uint8_t seed[32];
	uint64_t workers;
	uint64_t asked_first, asked_last; /* --steps; `asked_last` 0: to the end */
	bool merged, followed;
	ls_cli_follow follow;
	const ls_cli *cli;
};

static void add(json_t *row, const char *key, uint64_t more)
{
	json_object_set_new(row, key, json_integer(json_integer_value(json_object_get(row, key)) + (json_int_t)more));
}

static void add_to_row(json_t *row, const ls_op_stats *stats)
{
	add(row, "elements", stats->elements);
	add(row, "ambiguous", stats->ambiguous);
	add(row, "entries", stats->entries);
	add(row, "corrections", stats->corrections);
	add(row, "exact", stats->exact);
}

static void add_op(void *context, const char *op, const char *kind, const ls_op_stats *stats)
{
	struct report *r = context;
	json_t *row;
	if (!stats->elements)
		return;
	for (size_t i = 0; i < json_array_size(r->ops); i++) // a part before may have had it
		if (!strcmp(json_string_value(json_object_get(json_array_get(r->ops, i), "op")), op)) {
			add_to_row(json_array_get(r->ops, i), stats);
			return;
		}
	row = json_object();
	ls_cli__put_text(row, "op", op);
	ls_cli__put_text(row, "kind", kind);
	ls_cli__put_uint(row, "elements", stats->elements);
	ls_cli__put_uint(row, "ambiguous", stats->ambiguous);
	ls_cli__put_uint(row, "entries", stats->entries);
	ls_cli__put_uint(row, "corrections", stats->corrections);
	ls_cli__put_uint(row, "exact", stats->exact);
	json_array_append_new(r->ops, row);
}

static void on_step(void *context, const ls_metrics *metrics)
{
	struct report *r = context;
	ls_cli__progress_step(&r->progress, metrics);
	if (r->followed)
		ls_cli__follow_look(&r->follow, metrics->step, NULL);
}

static ls_status on_more(void *context, bool *grown, ls_damage *damage, ls_error *err)
{
	struct report *r = context;
	return ls_cli__follow_wait(&r->follow, r->cli, grown, damage, err);
}

static bool on_stop(void *context)
{
	return ls_cli__progress_stop(&((struct report *)context)->progress);
}

/* A trainer could train another job than was ordered and be honest about that one. */
static ls_status check_ordered(struct report *r, const ls_run *run, const char *path, ls_error *err)
{
	ls_status status = LS_OK;
	uint8_t *bytes = NULL;
	size_t len;
	ls_hash ordered;
	char found[LS_HASH_HEX_SIZE], expected[LS_HASH_HEX_SIZE];
	if (!path)
		return LS_OK;
	LS_TRY(ls_file_read(&bytes, &len, path, LS_JOB_BYTES_MAX, err));
	LS_TRY(ls_hash_tagged(&ordered, LS_TAG_JOB, bytes, len));
	if (ls_hash_equal(&ordered, ls_run_job_id(run)))
		goto done;
	ls_hash_hex(found, ls_run_job_id(run));
	ls_hash_hex(expected, &ordered);
	r->other_job = true;
	r->result.verdict = LS_VERDICT_MISMATCH;
	snprintf(r->result.file, sizeof r->result.file, "job.bin");
	snprintf(r->result.text, sizeof r->result.text, "job id: found %s, ordered %s", found, expected);
done:
	ls_free(bytes);
	return status;
}

static void take_damage(struct report *r, const ls_damage *damage)
{
	r->result.verdict = damage->withheld ? LS_VERDICT_WITHHELD : LS_VERDICT_DAMAGED;
	r->result.has_bad_step = damage->has_step;
	r->result.first_bad_step = damage->step;
	memcpy(r->result.file, damage->file, sizeof r->result.file);
	memcpy(r->result.text, damage->text, sizeof r->result.text);
}

/* Damage found before the first step leaves no replayed root. */
static bool has_replayed(const struct report *r)
{
	return r->opened && r->result.first > 0;
}

#define MISSED 3
static const uint64_t missed_steps[MISSED] = {1, 10, 100};

static json_t *sample_json(const struct report *r)
{
	json_t *object = json_object(), *missed = json_object();
	ls_hash seed;
	memcpy(seed.byte, r->seed, 32);
	ls_cli__put_uint(object, "parts", r->all.count);
	ls_cli__put_uint(object, "drawn", r->parts.count);
	ls_cli__put_uint(object, "steps", ls_cli__parts_steps(&r->parts));
	ls_cli__put_hash(object, "seed", &seed);
	for (int i = 0; i < MISSED; i++) {
		char name[24];
		snprintf(name, sizeof name, "%llu", (unsigned long long)missed_steps[i]);
		ls_cli__put_real(missed, name, ls_cli__parts_missed(&r->all, r->parts.count, missed_steps[i]));
	}
	json_object_set_new(object, "missed", missed);
	return object;
}

/* What a part was asked for: `last` is null where it reaches to the end. A sample is no such part. */
static json_t *asked_json(const struct report *r)
{
	json_t *object = json_object();
	if (r->sampled) {
		json_decref(object);
		return json_null();
	}
	ls_cli__put_uint(object, "first", r->asked_first ? r->asked_first : 1);
	json_object_set_new(object, "last", r->asked_last ? json_integer((json_int_t)r->asked_last) : json_null());
	return object;
}

static json_t *follow_json(const struct report *r)
{
	json_t *object = json_object();
	ls_cli__put_uint(object, "heads", r->follow.heads);
	ls_cli__put_uint(object, "behind", r->follow.behind);
	ls_cli__put_uint(object, "most_behind", r->follow.most_behind);
	return object;
}

static void print_json(struct report *r)
{
	const ls_audit_result *a = &r->result;
	json_t *object = json_object();
	ls_cli__put_text(object, "verdict", ls_verdict_text(a->verdict));
	ls_cli__put_hash(object, "root", r->opened ? &a->root : NULL);
	ls_cli__put_hash(object, "job", r->opened ? &r->job : NULL);
	ls_cli__put_hash(object, "replayed_root", has_replayed(r) ? &a->replayed_root : NULL);
	ls_cli__put_step(object, "first_bad_step", a->has_bad_step, a->first_bad_step);
	ls_cli__put_step(object, "step", a->has_bad_step, a->first_bad_step);
	ls_cli__put_text(object, "file", a->file[0] ? a->file : NULL);
	ls_cli__put_text(object, "text", a->text);
	ls_cli__put_uint(object, "corrections", a->corrections);
	ls_cli__put_uint(object, "entries", a->entries);
	ls_cli__put_uint(object, "elements", a->elements);
	ls_cli__put_uint(object, "exact", a->exact);
	ls_cli__put_uint(object, "first", a->first);
	ls_cli__put_uint(object, "last", a->last);
	ls_cli__put_bool(object, "uncertified", r->uncertified);
	ls_cli__put_text(object, "platform", r->platform);
	ls_cli__put_real(object, "seconds", a->seconds);
	ls_cli__put_bool(object, "stopped", a->stopped);
	if (r->sampled)
		json_object_set_new(object, "sample", sample_json(r));
	json_object_set_new(object, "asked", asked_json(r));
	if (r->followed)
		json_object_set_new(object, "follow", follow_json(r));
	json_object_set(object, "ops", r->ops);
	ls_cli__emit(object);
}

/* The auditor's data has another root than the job: that is no fault of the run's files. */
static bool is_about_data(const ls_audit_result *a)
{
	return a->verdict == LS_VERDICT_DAMAGED && !strcmp(a->file, LS_RUN_FILE_DATA);
}

static bool is_about_weights(const ls_audit_result *a)
{
	return a->verdict == LS_VERDICT_DAMAGED && !strcmp(a->file, LS_RUN_FILE_WEIGHTS);
}

static bool is_about_program(const ls_audit_result *a)
{
	return !strcmp(a->file, LS_RUN_FILE_PROGRAM);
}

/* Only some of the ordered steps were replayed; the leaves of the others were taken as they are. */
static bool is_partial(const struct report *r)
{
	return r->result.stopped || r->result.first > 1 || r->result.last < r->steps || r->parts.count < r->all.count;
}

static const char *words_of(const struct report *r)
{
	const ls_audit_result *a = &r->result;
	if (r->other_job)
		return "the run is of another job than was ordered";
	if (is_about_data(a))
		return "the data here is not the data of the job";
	if (is_about_weights(a))
		return "the weights given here are not those that the job starts from";
	if (is_about_program(a))
		return "this build makes another program of the same job, so it cannot replay it";
	if (a->verdict == LS_VERDICT_MISMATCH && a->first_bad_step > r->steps)
		return "the run is shorter than was ordered";
	switch (a->verdict) {
	case LS_VERDICT_MATCH:
		return is_partial(r) ? "the steps that were replayed give the trainer's bits; the others were not looked at"
		                     : "the replay gives the trainer's bits";
	case LS_VERDICT_MISMATCH: return "the replay gives other bits than the trainer committed to";
	case LS_VERDICT_FORGED_LOG: return "the rounding log names a value that no honest platform can reach";
	case LS_VERDICT_DAMAGED: return "the run is not what its own root says";
	case LS_VERDICT_NOT_REPRODUCIBLE: return "a plain run came out differently, and nobody can be blamed";
	case LS_VERDICT_WITHHELD: return strcmp(a->file, "leaves") ? "the run's head promises what is not given" : "leaves that a head promises are not there";
	}
	return "";
}

static const char *next_of(const struct report *r)
{
	const ls_audit_result *a = &r->result;
	if (is_about_weights(a))
		return "find the weights that the job was signed for and give them with --init-from";
	if (r->other_job)
		return "ask for a run of the job that was ordered";
	if (is_about_program(a))
		return "audit with the version that the run was made with";
	if (a->verdict == LS_VERDICT_MISMATCH && a->first_bad_step > r->steps)
		return "ask the trainer to finish it with lockstep train --resume";
	if (a->verdict == LS_VERDICT_MATCH && r->plain)
		return "nothing that protects you: in mode plain an honest platform may differ, so a mismatch would blame nobody";
	if (a->verdict == LS_VERDICT_MATCH && is_partial(r))
		return "lockstep audit without --steps and --sample looks at every step";
	if (r->uncertified && (a->verdict == LS_VERDICT_MISMATCH || a->verdict == LS_VERDICT_FORGED_LOG))
		return "blame nobody yet: an honest platform may exceed empirical thresholds; certified ones hold for every platform";
	if (is_about_data(a))
		return "find the data that the job was signed for and give it with --data";
	switch (a->verdict) {
	case LS_VERDICT_MATCH: return "see that the job is the one you ordered (lockstep plan, or --job here); keep the root, it is what was verified";
	case LS_VERDICT_MISMATCH: return "audit again on another platform; if it stays, reject the run and keep both folders (--keep)";
	case LS_VERDICT_FORGED_LOG: return "reject the run and keep its folder as evidence";
	case LS_VERDICT_DAMAGED: return "fetch the run again; if it stays so, the trainer's copy is bad: lockstep verify names each file";
	case LS_VERDICT_NOT_REPRODUCIBLE: return "order the job with arithmetic.mode logged, which can be audited";
	case LS_VERDICT_WITHHELD: return "ask the trainer for what is missing";
	}
	return "";
}

static void print_roots(const ls_cli *cli, const struct report *r)
{
	char root[LS_HASH_HEX_SIZE], replayed[LS_HASH_HEX_SIZE], job[LS_HASH_HEX_SIZE];
	ls_hash_hex(job, &r->job);
	ls_hash_hex(root, &r->result.root);
	ls_hash_hex(replayed, &r->result.replayed_root);
	ls_cli__say(cli, "  job             %s\n", job);
	ls_cli__say(cli, "  trainer's root  %s\n  replayed root   %s\n", root, has_replayed(r) ? replayed : "none");
}

static void print_counts(const ls_cli *cli, const struct report *r)
{
	const ls_audit_result *a = &r->result;
	char seconds[LS_CLI__AMOUNT_SIZE];
	if (a->last < a->first)
		ls_cli__say(cli, "  replayed        step 0 on %s\n", r->platform);
	else
		ls_cli__say(cli, "  replayed        steps %llu to %llu of %llu on %s in %s\n", (unsigned long long)a->first,
		            (unsigned long long)a->last, (unsigned long long)r->steps, r->platform,
		            ls_cli__seconds_text(seconds, a->seconds));
	if (!r->logged) {
		ls_cli__say(cli, "  rounding log    none; of %llu elements of products %llu were computed from their definition\n",
		            (unsigned long long)a->elements, (unsigned long long)a->exact);
		return;
	}
	ls_cli__say(cli, "  rounding log    %llu entries for %llu elements, %llu corrections, %llu computed exactly\n",
	            (unsigned long long)a->entries, (unsigned long long)a->elements, (unsigned long long)a->corrections,
	            (unsigned long long)a->exact);
}

static void print_sample(const ls_cli *cli, const struct report *r)
{
	char seed[65];
	ls_hex(seed, r->seed, 32);
	ls_cli__say(cli, "  sample          %zu of %zu parts, %llu of %llu steps, drawn by the seed %s\n", r->parts.count, r->all.count,
	            (unsigned long long)ls_cli__parts_steps(&r->parts), (unsigned long long)r->steps, seed);
	ls_cli__say(cli, "  would miss      1 bad step with probability %.3g, 10 with %.3g, 100 with %.3g, put where that is likeliest\n",
	            ls_cli__parts_missed(&r->all, r->parts.count, missed_steps[0]),
	            ls_cli__parts_missed(&r->all, r->parts.count, missed_steps[1]),
	            ls_cli__parts_missed(&r->all, r->parts.count, missed_steps[2]));
}

static void print_text(const ls_cli *cli, const struct report *r)
{
	const ls_audit_result *a = &r->result;
	ls_cli__say(cli, "%s: %s\n", ls_verdict_text(a->verdict), words_of(r));
	if (a->has_bad_step)
		ls_cli__say(cli, "  first bad step  %llu\n", (unsigned long long)a->first_bad_step);
	if (a->file[0])
		ls_cli__say(cli, "  file            %s\n", a->file);
	if (a->text[0])
		ls_cli__say(cli, "  found           %s\n", a->text);
	if (r->opened)
		print_roots(cli, r);
	if (has_replayed(r))
		print_counts(cli, r);
	if (r->sampled)
		print_sample(cli, r);
	if (r->followed)
		ls_cli__say(cli, "  followed        %llu heads; at most %llu steps behind the trainer\n", (unsigned long long)r->follow.heads,
		            (unsigned long long)r->follow.most_behind);
	if (r->uncertified)
		ls_cli__say(cli, "  uncertified     the job's thresholds are empirical: honest platforms may differ by more than they allow\n");
	if (r->diverged)
		ls_cli__say(cli, "  diverged        the state after step %llu is not finite, and the run ends there\n", (unsigned long long)r->steps);
	if (a->stopped)
		ls_cli__say(cli, "stopped as asked\nnext: run the audit again; it begins anew\n");
	else
		ls_cli__say(cli, "next: %s\n", next_of(r));
}

/* What a part is audited with; a worker opens its own platform. */
struct part_work {
	ls_cli_session *session;
	const ls_cli_args *args;
	const ls_audit_options *options;
	struct report *report;
};

static ls_status audit_part(void *context, const ls_cli_part *part, ls_audit_result *out, ls_error *err)
{
	struct part_work *w = context;
	ls_audit_options o = *w->options;
	ls_status status = LS_OK;
	o.first = part->first;
	o.last = part->last < w->report->steps || w->report->sampled ? part->last : 0; // all parts together are the whole run
	if (!w->session->platform)
		status = ls_cli__open_platform(w->session, w->args, err);
	if (status != LS_OK)
		return status;
	w->report->platform = ls_platform_describe(w->session->platform);
	return ls_audit(w->session->run, w->session->plan, w->session->platform, &o, out, w->report->workers > 1 ? NULL : add_op, err);
}

static ls_status audit_parts(struct part_work *w, ls_error *err)
{
	struct report *r = w->report;
	ls_status status;
	double start = ls_clock_seconds();
	ls_cli_outcome *outcome = ls_alloc(r->parts.count, sizeof *outcome);
	if (!outcome)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for the outcomes of %zu parts", r->parts.count);
	if (r->workers > 1)
		LS_TRY(ls_cli__audit_in_processes(&r->parts, (int)r->workers, audit_part, w, outcome, err));
	else
		LS_TRY(ls_cli__audit_in_turn(&r->parts, audit_part, w, outcome, err));
	LS_TRY(ls_cli__audit_join(&r->result, outcome, r->parts.count, err));
	r->result.seconds = ls_clock_seconds() - start;
done:
	ls_free(outcome);
	return status;
}

/* --sample and --parallel cut the run into parts. */
static ls_status choose_parts(struct report *r, const ls_cli_args *args, const ls_run *run, ls_error *err)
{
	const char *seed = ls_cli__value(args, "seed");
	uint64_t sample;
	ls_status status;
	LS_TRY(ls_cli__number(args, "parallel", 1, LS_CLI__WORKERS_MAX, 1, &r->workers, err));
	LS_TRY(ls_cli__number(args, "sample", 1, LS_JOB_STEPS_MAX, 0, &sample, err));
	r->sampled = sample > 0;
	if (r->workers == 1 && !r->sampled)
		goto done;
	if (ls_cli__value(args, "steps") || ls_cli__value(args, "keep")) {
		status = ls_cli__usage(err, r->sampled ? "--sample" : "--parallel", "also --steps or --keep", "one of them", NULL);
		goto done;
	}
	if (seed && !ls_unhex(r->seed, 32, seed)) {
		status = ls_cli__usage(err, "--seed", seed, "64 hex digits", NULL);
		goto done;
	}
	if (!seed && getrandom(r->seed, 32, 0) != 32) {
		status = ls_error_set(err, LS_ERR_IO, "the system gave no random numbers");
		goto done;
	}
	LS_TRY(ls_cli__parts_of(&r->all, run, err));
	LS_TRY(ls_cli__parts_of(&r->parts, run, err));
	if (r->sampled)
		LS_TRY(ls_cli__parts_sample(&r->parts, sample, r->seed, err));
	if (r->workers > r->parts.count)
		r->workers = r->parts.count > 1 ? r->parts.count : 1;
done:
	return status;
}

static ls_status print_plan(const ls_cli *cli, const ls_cli_args *args, const ls_run *run, ls_error *err)
{
	ls_cli_parts parts = {0};
	json_t *list = json_array();
	uint64_t most;
	ls_status status;
	LS_TRY(ls_cli__number(args, "parts", 1, LS_JOB_STEPS_MAX, LS_JOB_STEPS_MAX, &most, err));
	LS_TRY(ls_cli__parts_of(&parts, run, err));
	if (parts.count > most)
		ls_cli__parts_join(&parts, most);
	for (size_t i = 0; i < parts.count; i++) {
		char text[64];
		snprintf(text, sizeof text, "%llu:%llu", (unsigned long long)parts.part[i].first, (unsigned long long)parts.part[i].last);
		ls_cli__say(cli, "%s\n", text);
		json_array_append_new(list, json_string(text));
	}
	if (cli->json)
		ls_cli__emit(json_pack("{s:O}", "parts", list));
done:
	json_decref(list);
	ls_cli__parts_free(&parts);
	return status;
}

/* What the report says of the run itself. */
static void describe_run(struct report *r, const ls_run *run)
{
	const ls_job_spec *spec = ls_job_spec_of(ls_run_job(run));
	r->opened = true;
	r->job = *ls_run_job_id(run);
	r->steps = ls_run_last_step(run);
	r->plain = spec->arithmetic.mode == LS_JOB_PLAIN;
	r->logged = ls_job_keeps_log(spec);
	r->uncertified = ls_job_uncertified(spec);
}

static ls_status merge(const ls_cli_args *args, const ls_run *run, struct report *r, ls_error *err)
{
	ls_damage damage = {0};
	ls_status status;
	r->merged = true;
	describe_run(r, run);
	r->platform = "several machines";
	LS_TRY(ls_run_check_heads(run, &damage, err));
	if (damage.found)
		take_damage(r, &damage);
	else
		LS_TRY(ls_cli__audit_merge(&r->result, run, ls_cli__value(args, "merge"), err));
	r->diverged = r->result.verdict == LS_VERDICT_MATCH && !ls_run_complete(run);
done:
	return status;
}

static ls_status replay(ls_cli *cli, const ls_cli_args *args, ls_cli_session *s, ls_audit_options *o, struct report *r,
                        ls_error *err)
{
	ls_status status;
	struct part_work work = {.session = s, .args = args, .options = o, .report = r};
	LS_TRY(check_steps(o, args, s->run, err));
	LS_TRY(choose_parts(r, args, s->run, err));
	LS_TRY(ls_cli__open_plan(s, args, ls_run_job(s->run), false, err));
	if (r->workers == 1) // workers open theirs
		LS_TRY(ls_cli__open_platform(s, args, err));
	ls_cli__progress_start(&r->progress, cli, "audit", o->last ? o->last : ls_run_last_step(s->run));
	o->on_step = on_step;
	o->stop = on_stop;
	o->context = r;
	if (r->followed) {
		r->follow = (ls_cli_follow){.run = s->run, .said = ls_clock_seconds()};
		r->progress.total = ls_run_binding(s->run)->steps;
		o->more = on_more;
	}
	describe_run(r, s->run);
	r->platform = s->platform ? ls_platform_describe(s->platform) : ls_cli__value(args, "platform");
	if (r->parts.count)
		status = audit_parts(&work, err);
	else
		status = ls_audit(s->run, s->plan, s->platform, o, &r->result, r->ops ? add_op : NULL, err);
	ls_cli__progress_end(&r->progress);
	r->steps = ls_run_last_step(s->run);
	r->diverged = r->result.verdict == LS_VERDICT_MATCH && !ls_run_complete(s->run) && !is_partial(r);
done:
	return status;
}

/* The auditor's word for the weights that a match has shown to be the run's. Only a whole replay can stand behind them. */
static ls_status attest(const ls_cli_args *args, ls_cli_session *s, const struct report *r, const ls_key *key, ls_error *err)
{
	const char *path = ls_cli__value(args, "output");
	char weights[LS_PATH_MAX];
	ls_cli_exported exported;
	ls_damage damage = {0};
	ls_attestation a;
	ls_status status;
	if (!path)
		return LS_OK;
	if (r->result.verdict != LS_VERDICT_MATCH || is_partial(r)) {
		ls_cli__note("no statement was written: the replay was not whole, or did not match\n");
		return LS_OK;
	}
	if (snprintf(weights, sizeof weights, "%s.weights", path) >= (int)sizeof weights)
		return ls_error_set(err, LS_ERR_LIMIT, "%s: path is too long", path);
	LS_TRY(ls_cli__export_run(&exported, s, weights, true, &damage, err));
	LS_TRY(ls_cli__begin_statement(&a, s->run, weights, "model.safetensors", err));
	snprintf(a.role, sizeof a.role, "auditor");
	snprintf(a.verdict, sizeof a.verdict, "%s", ls_verdict_text(r->result.verdict));
	snprintf(a.platform, sizeof a.platform, "%s", r->platform);
	a.first = r->result.first;
	a.last = r->result.last;
	a.log_bytes = exported.log.bytes;
	a.log_entries = exported.log.entries;
	a.elements = exported.log.elements;
	a.corrections = r->result.corrections;
	LS_TRY(ls_cli__write_statement(&a, key, path, err));
done:
	unlink(weights); // only their digest is published
	return status;
}

/* A match over part of what was asked for is no match: a script must not take it for one. */
static int code_of(const ls_audit_result *a)
{
	if (a->verdict != LS_VERDICT_MATCH)
		return LS_CLI__OTHER_VERDICT;
	return a->stopped ? LS_CLI__UNFINISHED : LS_CLI__DONE;
}

/* Ways of auditing that exclude each other. */
static ls_status check_ways(const ls_cli_args *args, ls_error *err)
{
	static const char *const others[] = {"steps", "sample", "parallel", "keep", "plan", "follow"};
	static const char *const ways[] = {"merge", "follow"};
	for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
		for (size_t i = 0; ls_cli__given(args, ways[w]) && i < sizeof others / sizeof *others; i++)
			if (strcmp(ways[w], others[i]) && ls_cli__given(args, others[i]) && !(w && !strcmp(others[i], "keep"))) {
				char found[48];
				snprintf(found, sizeof found, "also --%s", others[i]);
				return ls_cli__usage(err, w ? "--follow" : "--merge", found, "one of them", NULL);
			}
	return LS_OK;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_audit_options o = LS_AUDIT_OPTIONS_INIT;
	ls_cli_session s = {0};
	struct report r = {.ops = json_array(), .cli = cli, .followed = ls_cli__given(args, "follow")};
	ls_damage damage;
	ls_key *key = NULL;
	ls_status status;
	if (ls_cli__given(args, "output") && !ls_cli__given(args, "key"))
		return ls_cli__usage(err, "audit", "-o without --key", "--key FILE", "a statement is signed");
	o.keep = ls_cli__value(args, "keep");
	if (ls_cli__given(args, "key"))
		LS_TRY(ls_key_read(&key, ls_cli__value(args, "key"), err));
	o.key = key;
	LS_TRY(read_steps(&o, args, err));
	LS_TRY(check_ways(args, err));
	o.guard = ls_cli__given(args, "guard");
	r.asked_first = o.first;
	r.asked_last = o.last;
	if (r.followed)
		LS_TRY(ls_cli__follow_open(&s, args, cli, &damage, err));
	else
		LS_TRY(ls_cli__open_run_anywhere(&s, args, 0, false, &damage, err));
	if (damage.found)
		take_damage(&r, &damage);
	else if (ls_cli__given(args, "plan"))
		status = print_plan(cli, args, s.run, err);
	else
		LS_TRY(check_ordered(&r, s.run, ls_cli__value(args, "job"), err));
	if (!damage.found && ls_cli__given(args, "plan"))
		goto done;
	if (!damage.found && !r.other_job && ls_cli__given(args, "merge"))
		LS_TRY(merge(args, s.run, &r, err));
	else if (!damage.found && !r.other_job)
		LS_TRY(replay(cli, args, &s, &o, &r, err));
	LS_TRY(attest(args, &s, &r, key, err));
	*code = code_of(&r.result);
	if (cli->json)
		print_json(&r);
	else
		print_text(cli, &r);
done:
	ls_key_free(key);
	json_decref(r.ops);
	ls_cli__parts_free(&r.parts);
	ls_cli__parts_free(&r.all);
	ls_cli__close(&s);
	return status;
}

const ls_cli_command ls_cli__audit = {
	.name = "audit",
	.operands = "RUN|URL",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "replay a run here and compare it, bit by bit",
	.details = "Exits with 0 where everything replayed matches, with 1 at any other verdict.",
	.options = options,
	.run = run,
};
