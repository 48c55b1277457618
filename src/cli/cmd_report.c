#include "cli/cli.h"

#include <lockstep/report.h>

#include <stdio.h>

enum { EVALS_MAX = 32, LEAVES_SHOWN = 5, AUDIT_FILE_MAX = 1 << 24, CELL = 128, POINTS_MAX = 1 << 22 };

static const ls_cli_option options[] = {
	{.name = "output", .argument = "FILE", .help = "the HTML file to write", .brief = 'o'},
	{.name = "audit", .argument = "FILE", .help = "what `lockstep audit --json` printed about this run; repeatable", .repeats = true},
	{.name = "eval", .help = "measure loss and accuracy on held-out data after each snapshot"},
	{.name = "force", .help = "overwrite FILE where it is there"},
	LS_CLI__OPTION_PLATFORM,
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	{.name = NULL},
};

// One audit's result, as somebody sent it: claims, of which job and root can be compared here.
struct claim {
	const char *file;
	char verdict[CELL], platform[CELL], root[LS_HASH_HEX_SIZE], job[LS_HASH_HEX_SIZE];
	uint64_t first, last, first_bad_step, corrections;
	double seconds;
	bool about_this; // same job, same root
};

struct curves {
	ls_chart_point *loss, *rate, *seconds;
	size_t count, capacity;
	double total_seconds;
	char platform[CELL];
	ls_status status;
};

struct report {
	ls_cli_session session;
	ls_page *page;
	struct claim *claim;
	size_t claims;
	struct curves curves;
	ls_chart_point accuracy[EVALS_MAX], eval_loss[EVALS_MAX];
	ls_eval_result last_eval;
	size_t evals;
	uint64_t *snapshots;
	size_t snapshot_count;
	ls_hash root;
	ls_log_statistics log;
};

/* ---- audits ---- */

static void copy_text(char *out, size_t size, const json_t *value)
{
	snprintf(out, size, "%s", json_is_string(value) ? json_string_value(value) : "");
}

static uint64_t whole(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
}

// The last line that is not empty.
static const char *last_line(const uint8_t *text, size_t len, size_t *line_len)
{
	size_t start;
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	for (start = len; start > 0 && text[start - 1] != '\n';)
		start--;
	*line_len = len - start;
	return (const char *)text + start;
}

static ls_status read_claim(struct claim *c, const struct report *r, const char *path, ls_error *err)
{
	uint8_t *text = NULL;
	size_t len, line_len;
	const char *line;
	char root[LS_HASH_HEX_SIZE], job[LS_HASH_HEX_SIZE];
	json_t *object = NULL;
	json_error_t why;
	ls_status status;
	LS_TRY(ls_file_read(&text, &len, path, AUDIT_FILE_MAX, err));
	line = last_line(text, len, &line_len);
	object = json_loadb(line, line_len, JSON_REJECT_DUPLICATES, &why);
	if (!json_is_string(json_object_get(object, "verdict"))) {
		status = ls_error_input(err, path, "last line", "no verdict", "the JSON result of an audit", "lockstep audit RUN --json >FILE writes one");
		goto done;
	}
	c->file = path;
	copy_text(c->verdict, sizeof c->verdict, json_object_get(object, "verdict"));
	copy_text(c->platform, sizeof c->platform, json_object_get(object, "platform"));
	copy_text(c->root, sizeof c->root, json_object_get(object, "root"));
	copy_text(c->job, sizeof c->job, json_object_get(object, "job"));
	c->first = whole(json_object_get(object, "first"));
	c->last = whole(json_object_get(object, "last"));
	c->first_bad_step = whole(json_object_get(object, "first_bad_step"));
	c->corrections = whole(json_object_get(object, "corrections"));
	c->seconds = json_number_value(json_object_get(object, "seconds"));
	ls_hash_hex(root, &r->root);
	ls_hash_hex(job, ls_run_job_id(r->session.run));
	c->about_this = !strcmp(c->root, root) && !strcmp(c->job, job);
done:
	json_decref(object);
	ls_free(text);
	return status;
}

static ls_status read_claims(struct report *r, const ls_cli_args *args, ls_error *err)
{
	ls_status status = LS_OK;
	r->claim = ls_alloc(args->repeats, sizeof *r->claim);
	if (!r->claim)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	for (; r->claims < args->repeats; r->claims++)
		LS_TRY(read_claim(&r->claim[r->claims], r, args->repeated[r->claims], err));
done:
	return status;
}

// Whether matching audits of this very run cover all its steps between them.
static bool covered(const struct report *r, uint64_t steps)
{
	uint64_t until = 0;
	for (size_t round = 0; round < r->claims; round++)
		for (size_t i = 0; i < r->claims; i++) {
			const struct claim *c = &r->claim[i];
			if (c->about_this && !strcmp(c->verdict, "match") && c->first <= until + 1 && c->last > until)
				until = c->last;
		}
	return steps > 0 && until >= steps;
}

static bool contradicted(const struct report *r)
{
	for (size_t i = 0; i < r->claims; i++)
		if (r->claim[i].about_this && strcmp(r->claim[i].verdict, "match"))
			return true;
	return false;
}

/* ---- curves ---- */

static bool grow(ls_chart_point **points, size_t count, size_t capacity)
{
	ls_chart_point *bigger = ls_alloc(capacity, sizeof *bigger);
	if (!bigger)
		return false;
	if (count)
		memcpy(bigger, *points, count * sizeof *bigger);
	ls_free(*points);
	*points = bigger;
	return true;
}

static void add_step(void *context, const ls_metrics *m)
{
	struct curves *c = context;
	c->total_seconds += m->seconds;
	snprintf(c->platform, sizeof c->platform, "%s", m->platform);
	if (c->count == POINTS_MAX || c->status != LS_OK)
		return;
	if (c->count == c->capacity) {
		size_t capacity = c->capacity ? 2 * c->capacity : 1024;
		if (!grow(&c->loss, c->count, capacity) || !grow(&c->rate, c->count, capacity) || !grow(&c->seconds, c->count, capacity)) {
			c->status = LS_ERR_NOMEM;
			return;
		}
		c->capacity = capacity;
	}
	c->loss[c->count] = (ls_chart_point){m->step, (double)m->loss};
	c->rate[c->count] = (ls_chart_point){m->step, m->lr};
	c->seconds[c->count++] = (ls_chart_point){m->step, m->seconds};
}

static ls_status evaluate(struct report *r, ls_damage *damage, ls_error *err)
{
	ls_replay_options o = LS_REPLAY_OPTIONS_INIT;
	ls_replay *replay = NULL;
	size_t stride = (r->snapshot_count + EVALS_MAX - 1) / EVALS_MAX;
	ls_status status;
	o.plan = r->session.plan;
	o.platform = r->session.platform;
	LS_TRY(ls_replay_open(&replay, &o, err));
	for (size_t i = r->snapshot_count ? (r->snapshot_count - 1) % stride : 0; i < r->snapshot_count; i += stride) {
		ls_eval_result found;
		LS_TRY(ls_run_read_snapshot(r->session.run, r->snapshots[i], ls_replay_exec(replay), damage, err));
		if (damage->found)
			break;
		LS_TRY(ls_eval(r->session.plan, r->session.platform, ls_replay_exec(replay), &found, err));
		r->accuracy[r->evals] = (ls_chart_point){r->snapshots[i], 100 * found.accuracy};
		r->eval_loss[r->evals++] = (ls_chart_point){r->snapshots[i], found.loss};
		r->last_eval = found;
	}
done:
	ls_replay_free(replay);
	return status;
}

/* ---- gathering ---- */

static ls_status gather(struct report *r, const ls_cli_args *args, ls_damage *damage, ls_error *err)
{
	const ls_run *run = r->session.run;
	bool eval = ls_cli__given(args, "eval");
	ls_status status;
	LS_TRY(ls_run_root(run, ls_run_leaves(run), &r->root, err));
	LS_TRY(ls_run_check_heads(run, damage, err));
	if (!damage->found)
		LS_TRY(ls_run_check_metrics(run, damage, err));
	if (damage->found)
		goto done;
	LS_TRY(read_claims(r, args, err));
	LS_TRY(ls_run_read_metrics(run, add_step, &r->curves, err));
	LS_TRY(r->curves.status);
	LS_TRY(ls_run_snapshots(run, &r->snapshots, &r->snapshot_count, err));
	if (eval) {
		LS_TRY(ls_cli__open_plan(&r->session, args, ls_run_job(run), true, err));
		ls_run_compare_plan(run, r->session.plan, damage);
	} else {
		LS_TRY(ls_plan_open_offline(&r->session.plan, ls_run_job(run), ls_run_binding(run), err));
	}
	if (damage->found)
		goto done;
	LS_TRY(ls_run_log_statistics(run, ls_model_step(ls_plan_model(r->session.plan)), &r->log, err));
	if (eval) {
		LS_TRY(ls_cli__open_platform(&r->session, args, err));
		LS_TRY(evaluate(r, damage, err));
	}
done:
	return status;
}

/* ---- the page ---- */

static void fact(ls_page *page, const char *what, const char *value)
{
	ls_page_table_row(page, (const char *const[]){what, value}, 2);
}

static void hash_fact(ls_page *page, const char *what, const ls_hash *hash)
{
	char text[LS_HASH_HEX_SIZE];
	ls_hash_hex(text, hash);
	fact(page, what, text);
}

static void write_verdict(struct report *r)
{
	const ls_run *run = r->session.run;
	uint64_t steps = ls_run_last_step(run);
	if (contradicted(r))
		ls_page_banner(r->page, LS_PAGE_BAD, "An audit of this run did not match. See below what it found; `lockstep judge` decides "
		               "who is right.");
	else if (!ls_run_complete(run))
		ls_page_banner(r->page, LS_PAGE_OPEN, "The run is not complete: %llu of %llu steps.", (unsigned long long)steps,
		               (unsigned long long)ls_run_binding(run)->steps);
	else if (covered(r, steps))
		ls_page_banner(r->page, LS_PAGE_GOOD, "By the audits below, every step was replayed and came to the same root.");
	else
		ls_page_banner(r->page, LS_PAGE_OPEN, "The run is complete. No audits that cover all its steps were given for this page.");
}

static ls_status write_order(struct report *r)
{
	ls_status status;
	const ls_run *run = r->session.run;
	const ls_job_spec *spec = ls_job_spec_of(ls_run_job(run));
	ls_hash data;
	ls_buf yaml;
	char text[CELL];
	ls_page_heading(r->page, "What was ordered");
	ls_page_table_begin(r->page, NULL, 2);
	fact(r->page, "Model", spec->model.arch);
	snprintf(text, sizeof text, "%llu of %llu samples each", (unsigned long long)ls_run_binding(run)->steps, (unsigned long long)spec->train.batch);
	fact(r->page, "Steps", text);
	snprintf(text, sizeof text, "%s%s", ls_cli__mode_text(spec), ls_cli__uncertified_text(spec));
	fact(r->page, "Mode", text);
	hash_fact(r->page, "Job", ls_run_job_id(run));
	memcpy(data.byte, ls_run_binding(run)->data, sizeof data.byte);
	hash_fact(r->page, "Data root", &data);
	ls_page_table_end(r->page);
	ls_buf_init(&yaml, LS_JOB_BYTES_MAX);
	status = ls_job_emit_yaml(ls_run_job(run), &yaml);
	if (status == LS_OK)
		ls_page_block(r->page, (const char *)yaml.data, yaml.len);
	ls_buf_free(&yaml);
	return status;
}

static void write_log(struct report *r)
{
	char text[CELL], bytes[LS_CLI__AMOUNT_SIZE];
	if (!r->log.elements)
		return;
	snprintf(text, sizeof text, "%s, %llu entries for %llu elements", ls_cli__bytes_text(bytes, (double)r->log.bytes),
	         (unsigned long long)r->log.entries, (unsigned long long)r->log.elements);
	fact(r->page, "Rounding log", text);
}

static ls_status write_result(struct report *r, ls_error *err)
{
	ls_status status;
	const ls_run *run = r->session.run;
	ls_leaf last;
	char text[CELL];
	LS_TRY(ls_run_read_leaf(run, ls_run_leaves(run) - 1, &last, err));
	ls_page_heading(r->page, "What was done");
	ls_page_table_begin(r->page, NULL, 2);
	hash_fact(r->page, "Root", &r->root);
	hash_fact(r->page, "State root", &last.state);
	hash_fact(r->page, "Run", ls_run_id_of(run));
	snprintf(text, sizeof text, "%llu", (unsigned long long)last.step);
	fact(r->page, "Steps", text);
	fact(r->page, "Platform (as the trainer says)", r->curves.platform);
	fact(r->page, "Time in steps (as the trainer says)", ls_cli__seconds_text(text, r->curves.total_seconds));
	write_log(r);
	if (r->evals) {
		snprintf(text, sizeof text, "%.2f %% of %lld held-out samples, loss %.4f", 100 * r->last_eval.accuracy,
		         (long long)r->last_eval.samples, r->last_eval.loss);
		fact(r->page, "Accuracy", text);
	}
	ls_page_table_end(r->page);
done:
	return status;
}

static void write_curves(struct report *r)
{
	const struct curves *c = &r->curves;
	ls_page_heading(r->page, "How it went");
	ls_page_chart(r->page, &(ls_chart){.title = "Loss of each step's batch", .x_label = "step", .point = c->loss, .count = c->count});
	ls_page_chart(r->page, &(ls_chart){.title = "Accuracy on held-out data, in percent", .x_label = "step", .point = r->accuracy,
	                                   .count = r->evals, .marks = true});
	ls_page_chart(r->page, &(ls_chart){.title = "Loss on held-out data", .x_label = "step", .point = r->eval_loss, .count = r->evals,
	                                   .marks = true});
	ls_page_chart(r->page, &(ls_chart){.title = "Learning rate", .x_label = "step", .point = c->rate, .count = c->count, .from_zero = true});
	ls_page_chart(r->page, &(ls_chart){.title = "Seconds a step, as the trainer says", .x_label = "step", .point = c->seconds,
	                                   .count = c->count, .from_zero = true});
}

static ls_status write_leaf(struct report *r, uint64_t i, ls_error *err)
{
	ls_leaf leaf;
	char number[CELL], step[CELL], state[LS_HASH_HEX_SIZE];
	ls_status status = ls_run_read_leaf(r->session.run, i, &leaf, err);
	if (status != LS_OK)
		return status;
	snprintf(number, sizeof number, "%llu", (unsigned long long)i);
	snprintf(step, sizeof step, "%llu", (unsigned long long)leaf.step);
	ls_hash_hex(state, &leaf.state);
	ls_page_table_row(r->page, (const char *const[]){number, step, state}, 3);
	return LS_OK;
}

static ls_status write_tree(struct report *r, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t leaves = ls_run_leaves(r->session.run);
	ls_page_heading(r->page, "The tree");
	ls_page_paragraph(r->page, "The root is the head of a Merkle tree (RFC 9162, SHA-256) over %llu leaves. Leaf 0 ties it to job and run, "
	                  "each of the others to the state after its step. Snapshots on disk: %zu.", (unsigned long long)leaves, r->snapshot_count);
	ls_page_table_begin(r->page, (const char *const[]){"leaf", "after step", "state root"}, 3);
	for (uint64_t i = 0; i < leaves; i++) {
		if (i == LEAVES_SHOWN && leaves > 2 * LEAVES_SHOWN) {
			ls_page_table_row(r->page, (const char *const[]){"…", "…", "…"}, 3);
			i = leaves - LEAVES_SHOWN;
		}
		LS_TRY(write_leaf(r, i, err));
	}
	ls_page_table_end(r->page);
done:
	return status;
}

static void write_claim(struct report *r, const struct claim *c)
{
	char steps[CELL], seconds[LS_CLI__AMOUNT_SIZE], verdict[2 * CELL], corrections[CELL];
	snprintf(steps, sizeof steps, "%llu to %llu", (unsigned long long)c->first, (unsigned long long)c->last);
	snprintf(corrections, sizeof corrections, "%llu", (unsigned long long)c->corrections);
	if (!c->about_this)
		snprintf(verdict, sizeof verdict, "%s, but about another job or root", c->verdict);
	else if (c->first_bad_step)
		snprintf(verdict, sizeof verdict, "%s, first bad step %llu", c->verdict, (unsigned long long)c->first_bad_step);
	else
		snprintf(verdict, sizeof verdict, "%s", c->verdict);
	ls_page_table_row(r->page, (const char *const[]){c->file, c->platform, steps, verdict, corrections, ls_cli__seconds_text(seconds, c->seconds)}, 6);
}

static void write_audits(struct report *r)
{
	static const char *const heads[] = {"file", "platform", "steps", "verdict", "corrections", "time"};
	ls_page_heading(r->page, "Who audited it");
	if (!r->claims) {
		ls_page_paragraph(r->page, "No results of audits were given (--audit FILE).");
		return;
	}
	ls_page_table_begin(r->page, heads, 6);
	for (size_t i = 0; i < r->claims; i++)
		write_claim(r, &r->claim[i]);
	ls_page_table_end(r->page);
	ls_page_paragraph(r->page, "These are the auditors' own statements. This page compared their job and root with the run's.");
}

static void write_check(struct report *r)
{
	static const char text[] = "lockstep verify RUN                  every byte against the root; nothing is computed again\n"
	                           "lockstep audit RUN                   all steps again, on this machine\n"
	                           "lockstep audit RUN --steps A:B       some of them\n";
	ls_page_heading(r->page, "Check it yourself");
	ls_page_block(r->page, text, sizeof text - 1);
}

static ls_status write_page(struct report *r, const char *path, ls_error *err)
{
	char title[CELL * 2];
	const char *text;
	size_t len;
	ls_status status;
	snprintf(title, sizeof title, "Training report: %s", ls_job_spec_of(ls_run_job(r->session.run))->name);
	LS_TRY(ls_page_open(&r->page, title, err));
	write_verdict(r);
	LS_TRY(write_order(r));
	LS_TRY(write_result(r, err));
	write_curves(r);
	LS_TRY(write_tree(r, err));
	write_audits(r);
	write_check(r);
	LS_TRY(ls_page_finish(r->page, &text, &len, err));
	LS_TRY(ls_file_write(path, text, len, err));
done:
	return status;
}

/* ---- command ---- */

static void print_result(const ls_cli *cli, const struct report *r, const char *path)
{
	uint64_t steps = ls_run_last_step(r->session.run);
	json_t *object;
	ls_cli__say(cli, "wrote %s: %llu steps, %zu audits, %zu evaluations\n", path, (unsigned long long)steps, r->claims, r->evals);
	if (!cli->json)
		return;
	object = json_object();
	ls_cli__put_text(object, "file", path);
	ls_cli__put_hash(object, "root", &r->root);
	ls_cli__put_uint(object, "steps", steps);
	ls_cli__put_uint(object, "audits", r->claims);
	ls_cli__put_bool(object, "covered", covered(r, steps) && !contradicted(r));
	ls_cli__emit(object);
}

static void close_report(struct report *r)
{
	ls_page_free(r->page);
	ls_free(r->claim);
	ls_free(r->snapshots);
	ls_free(r->curves.loss);
	ls_free(r->curves.rate);
	ls_free(r->curves.seconds);
	ls_cli__close(&r->session);
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	struct report r = {0};
	const char *path = ls_cli__value(args, "output");
	ls_damage damage;
	ls_status status;
	if (!path)
		return ls_cli__usage(err, "report", "no -o", "-o FILE", "for example -o report.html");
	if (ls_file_exists(path) && !ls_cli__given(args, "force"))
		return ls_error_set(err, LS_ERR_EXISTS, "%s: found a file, expected none\n  hint: choose another name, or --force to overwrite it", path);
	LS_TRY(ls_cli__open_run(&r.session, args, 0, &damage, err));
	if (!damage.found)
		LS_TRY(gather(&r, args, &damage, err));
	*code = damage.found ? LS_CLI__OTHER_VERDICT : LS_CLI__DONE;
	if (damage.found) {
		ls_cli__report_damage(cli, &damage);
		goto done;
	}
	LS_TRY(write_page(&r, path, err));
	print_result(cli, &r, path);
done:
	close_report(&r);
	return status;
}

const ls_cli_command ls_cli__report = {
	.name = "report",
	.operands = "RUN",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "one page for the client: what was ordered, done and audited",
	.details = "The page holds everything in one file. Heads and metrics are checked against the run's leaves first.",
	.options = options,
	.run = run,
};
