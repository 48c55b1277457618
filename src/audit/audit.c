#include <lockstep/audit.h>

#include <stdio.h>

const char *ls_verdict_text(ls_verdict verdict)
{
	static const char *const text[] = {
		[LS_VERDICT_MATCH] = "match",
		[LS_VERDICT_MISMATCH] = "mismatch",
		[LS_VERDICT_FORGED_LOG] = "forged-rounding-log",
		[LS_VERDICT_DAMAGED] = "damaged",
		[LS_VERDICT_NOT_REPRODUCIBLE] = "not-reproducible",
		[LS_VERDICT_WITHHELD] = "withheld",
	};
	return text[verdict];
}

typedef struct auditor {
	const ls_run *run;
	const ls_job_plan *plan;
	const ls_audit_options *options;
	ls_replay *replay;
	ls_run *kept; // the auditor's own run, where one is wanted
	ls_audit_result *out;
	ls_tree tree; // over adopted and replayed leaves
	ls_hasher *hasher;
	ls_buf leaf_bytes;
	ls_buf lines;
	ls_leaf_result suspect; // what this machine made of the leaf that does not match
	uint64_t suspect_leaf;  // 0: there is none
} auditor;

static void found_damage(auditor *a, const ls_damage *damage)
{
	bool other_build = !strcmp(damage->file, LS_RUN_FILE_PROGRAM);
	a->out->verdict = other_build ? LS_VERDICT_NOT_REPRODUCIBLE : damage->withheld ? LS_VERDICT_WITHHELD : LS_VERDICT_DAMAGED;
	a->out->has_bad_step = damage->has_step;
	a->out->first_bad_step = damage->step;
	memcpy(a->out->file, damage->file, sizeof a->out->file);
	memcpy(a->out->text, damage->text, sizeof a->out->text);
}

/* The whole run was asked for, all there is agrees, and it is less than was ordered. */
static void found_shortage(auditor *a, bool diverged)
{
	uint64_t done = ls_run_last_step(a->run), ordered = ls_plan_binding(a->plan)->steps;
	if (a->out->verdict != LS_VERDICT_MATCH || a->options->last || a->out->stopped || diverged || ls_run_complete(a->run))
		return;
	a->out->verdict = LS_VERDICT_MISMATCH;
	a->out->has_bad_step = true;
	a->out->first_bad_step = done + 1;
	snprintf(a->out->text, sizeof a->out->text, "the run ends after step %llu of the %llu that were ordered; so far it matches",
	         (unsigned long long)done, (unsigned long long)ordered);
}

static void push(auditor *a, const ls_leaf *leaf)
{
	ls_buf_reset(&a->leaf_bytes);
	if (ls_leaf_encode(&a->leaf_bytes, leaf) != LS_OK)
		a->tree.status = LS_ERR_INTERNAL;
	ls_tree_push(&a->tree, a->leaf_bytes.data, a->leaf_bytes.len);
}

/* Leaves that are not looked at. */
static ls_status adopt(auditor *a, uint64_t from, uint64_t end, ls_error *err)
{
	ls_status status = LS_OK;
	ls_leaf leaf;
	for (uint64_t i = from; i < end; i++) {
		LS_TRY(ls_run_read_leaf(a->run, i, &leaf, err));
		push(a, &leaf);
	}
done:
	return status;
}

/* Names the first field of two leaves that differs; false where none does. */
static bool difference(const ls_leaf *theirs, const ls_leaf *ours, char *text, size_t size)
{
	const struct {
		const char *what;
		const ls_hash *theirs, *ours;
	} field[] = {
		{"state root", &theirs->state, &ours->state},
		{"metrics digest", &theirs->metrics, &ours->metrics},
		{"root of the rounding log", &theirs->log, &ours->log},
	};
	for (size_t i = 0; i < sizeof field / sizeof *field; i++)
		if (!ls_hash_equal(field[i].theirs, field[i].ours)) {
			char a[LS_HASH_HEX_SIZE], b[LS_HASH_HEX_SIZE];
			ls_hash_hex(a, field[i].theirs);
			ls_hash_hex(b, field[i].ours);
			snprintf(text, size, "%s: found %s in the run, %s in the replay", field[i].what, a, b);
			return true;
		}
	return false;
}

static void found_mismatch(auditor *a, uint64_t step)
{
	bool plain = ls_plan_spec(a->plan)->arithmetic.mode == LS_JOB_PLAIN;
	a->out->verdict = plain ? LS_VERDICT_NOT_REPRODUCIBLE : LS_VERDICT_MISMATCH;
	a->out->has_bad_step = true;
	a->out->first_bad_step = step;
}

/* A step whose state is not finite is a run's last. */
static void found_overrun(auditor *a, uint64_t last)
{
	found_mismatch(a, last + 1);
	snprintf(a->out->text, sizeof a->out->text, "the run goes on, although the state after step %llu is not finite",
	         (unsigned long long)last);
}

static void found_forgery(auditor *a, const ls_leaf_result *result)
{
	const ls_program *program = ls_model_step(ls_plan_model(a->plan));
	const ls_op *op = ls_program_op(program, result->forgery.op);
	a->out->verdict = LS_VERDICT_FORGED_LOG;
	a->out->has_bad_step = true;
	a->out->first_bad_step = result->forged_step;
	snprintf(a->out->text, sizeof a->out->text,
	         "op %d (%s '%s'), element %lld: the rounding log says bit %d, the only admissible value is %a", result->forgery.op, op->kind,
	         ls_program_value(program, op->outputs[0])->name, (long long)result->forgery.element, result->forgery.entry_bit,
	         (double)result->forgery.admissible);
}

static void on_step(void *context, const ls_metrics *m)
{
	auditor *a = context;
	if (a->kept)
		ls_metrics_line(&a->lines, m);
	if (a->options->on_step)
		a->options->on_step(a->options->context, m);
}

static ls_status keep_leaf(auditor *a, uint64_t index, const ls_leaf *leaf, const uint8_t *block, size_t len, ls_error *err)
{
	ls_status status = LS_OK;
	if (!a->kept)
		return LS_OK;
	if (a->lines.status != LS_OK)
		return ls_error_set(err, a->lines.status, "no memory for the metrics of leaf %llu", (unsigned long long)index);
	LS_TRY(ls_run_append_log(a->kept, index, block, len, err));
	LS_TRY(ls_run_append_metrics(a->kept, a->lines.data, a->lines.len, err));
	LS_TRY(ls_run_append_leaf(a->kept, leaf, err));
done:
	return status;
}

static void suspect(auditor *a, uint64_t leaf, const ls_leaf_result *result)
{
	a->suspect = *result;
	a->suspect_leaf = leaf;
}

static ls_status one_leaf(auditor *a, uint64_t index, ls_error *err)
{
	ls_status status;
	const ls_program *program = ls_model_step(ls_plan_model(a->plan));
	ls_encoding encoding = (ls_encoding)ls_plan_spec(a->plan)->arithmetic.encoding;
	bool logged = ls_job_keeps_log(ls_plan_spec(a->plan));
	uint64_t first, last;
	uint8_t *block = NULL;
	size_t len;
	ls_damage damage = {0};
	ls_leaf theirs;
	ls_leaf_result result;
	ls_cursor cursor;
	ls_run_leaf_steps(a->run, index, &first, &last);
	ls_buf_reset(&a->lines);
	LS_TRY(ls_run_read_log(a->run, index, program, encoding, &block, &len, &damage, err));
	if (damage.found) {
		found_damage(a, &damage);
		goto done;
	}
	cursor = ls_cursor_over(block, len);
	LS_TRY(ls_replay_leaf(a->replay, ls_run_id_of(a->run), first, last, NULL, logged ? &cursor : NULL, on_step, a, &result, err));
	if (result.forgery.found) {
		found_forgery(a, &result);
		suspect(a, index, &result);
		goto done;
	}
	if (result.malformed_log) { // it hashed to the leaf's root just now, so this is not the trainer's fault
		status = ls_error_set(err, LS_ERR_NOMEM, "step %llu: could not decode its rounding log", (unsigned long long)first);
		goto done;
	}
	LS_TRY(ls_run_read_leaf(a->run, index, &theirs, err));
	push(a, &result.leaf);
	a->out->last = last;
	LS_TRY(keep_leaf(a, index, &result.leaf, block, len, err));
	if (difference(&theirs, &result.leaf, a->out->text, sizeof a->out->text)) {
		found_mismatch(a, first);
		suspect(a, index, &result);
	} else if (result.diverged && index + 1 < ls_run_leaves(a->run))
		found_overrun(a, last);
done:
	ls_free(block);
	return status;
}

/* The step of the newest snapshot before leaf `from`; 0 where there is none but that of step 0. */
static ls_status nearest(const auditor *a, uint64_t from, uint64_t *at, ls_error *err)
{
	uint64_t *steps = NULL;
	size_t count = 0;
	ls_status status = ls_run_snapshots(a->run, &steps, &count, err);
	*at = 0;
	for (size_t i = 0; i < count && status == LS_OK && from > 1; i++)
		if (ls_run_leaf_of_step(a->run, steps[i]) < from && ls_run_leaf_of_step(a->run, steps[i]) < ls_run_leaves(a->run))
			*at = steps[i];
	ls_free(steps);
	return status;
}

/* Step 0, or the nearest snapshot before leaf `from`; the leaves up to there are adopted. Sets the leaf to begin with. */
static ls_status begin(auditor *a, uint64_t from, uint64_t *index, ls_error *err)
{
	ls_status status;
	uint64_t at;
	ls_leaf theirs, leaf;
	ls_damage damage = {0};
	LS_TRY(ls_run_read_leaf(a->run, 0, &theirs, err));
	leaf = theirs;
	LS_TRY(nearest(a, from, &at, err));
	*index = at ? ls_run_leaf_of_step(a->run, at) + 1 : 1;
	if (!at) {
		LS_TRY(ls_replay_init(a->replay, &leaf.state, err));
		push(a, &leaf);
		if (a->kept) {
			LS_TRY(ls_run_append_leaf(a->kept, &leaf, err));
			LS_TRY(ls_run_write_snapshot(a->kept, 0, ls_replay_exec(a->replay), err));
		}
		if (difference(&theirs, &leaf, a->out->text, sizeof a->out->text))
			found_mismatch(a, 0);
	} else {
		LS_TRY(ls_run_read_snapshot(a->run, at, ls_replay_exec(a->replay), &damage, err));
		LS_TRY(adopt(a, 0, *index, err));
	}
	if (damage.found)
		found_damage(a, &damage);
	a->out->first = at + 1;
	a->out->last = at;
done:
	return status;
}

/* The weights that a client takes home are the end's snapshot: after a whole replay that agrees, they are checked, too. */
static ls_status check_end(auditor *a, ls_error *err)
{
	ls_damage damage = {0};
	ls_status status = LS_OK;
	if (a->out->verdict == LS_VERDICT_MATCH && !a->out->stopped && ls_run_complete(a->run) &&
	    a->out->last == ls_run_last_step(a->run))
		status = ls_run_read_snapshot(a->run, a->out->last, ls_replay_exec(a->replay), &damage, err);
	if (status == LS_OK && damage.found)
		found_damage(a, &damage);
	return status;
}

/* Where a run is followed, its next leaves; `*end` is the last one. A run that has diverged has no more. */
static ls_status wait_for_more(auditor *a, uint64_t *end, ls_error *err)
{
	ls_damage damage = {0};
	bool grown = false;
	ls_status status = LS_OK;
	if (!a->options->more || a->out->verdict != LS_VERDICT_MATCH || a->out->stopped || ls_run_complete(a->run) ||
	    !ls_exec_state_finite(ls_replay_exec(a->replay)))
		return LS_OK;
	LS_TRY(a->options->more(a->options->context, &grown, &damage, err));
	if (damage.found)
		found_damage(a, &damage);
	else if (grown)
		*end = ls_run_leaves(a->run) - 1;
	else
		a->out->stopped = a->options->stop && a->options->stop(a->options->context);
done:
	return status;
}

static ls_status replay(auditor *a, ls_error *err)
{
	ls_status status;
	uint64_t index, end = ls_run_leaves(a->run) - 1, from = 1;
	if (a->options->first)
		from = ls_run_leaf_of_step(a->run, a->options->first);
	if (a->options->last && ls_run_leaf_of_step(a->run, a->options->last) < end)
		end = ls_run_leaf_of_step(a->run, a->options->last);
	LS_TRY(begin(a, from, &index, err));
	do {
		for (; index <= end && a->out->verdict == LS_VERDICT_MATCH && !a->out->stopped; index++) {
			LS_TRY(one_leaf(a, index, err));
			a->out->stopped = a->options->stop && a->options->stop(a->options->context) && index < end;
		}
		LS_TRY(wait_for_more(a, &end, err));
	} while (index <= end && a->out->verdict == LS_VERDICT_MATCH && !a->out->stopped);
	LS_TRY(ls_run_root(a->run, ls_run_leaves(a->run), &a->out->root, err));
	if (a->out->verdict != LS_VERDICT_FORGED_LOG && a->out->verdict != LS_VERDICT_DAMAGED)
		LS_TRY(adopt(a, index, ls_run_leaves(a->run), err));
	LS_TRY(check_end(a, err));
	found_shortage(a, !ls_exec_state_finite(ls_replay_exec(a->replay)));
	status = ls_tree_head(&a->tree, &a->out->replayed_root);
	if (status != LS_OK)
		ls_error_set(err, status, "could not hash the replayed leaves: %s", ls_status_text(status));
done:
	return status;
}

static ls_status compare_before_replay(auditor *a, ls_error *err)
{
	ls_damage damage = {0};
	ls_status status = ls_run_check_heads(a->run, &damage, err);
	if (status != LS_OK)
		return status;
	if (!damage.found)
		ls_run_compare_plan(a->run, a->plan, &damage);
	if (damage.found)
		found_damage(a, &damage);
	return LS_OK;
}

static ls_status check_range(const auditor *a, ls_error *err)
{
	uint64_t steps = ls_run_last_step(a->run), first = a->options->first, last = a->options->last;
	if (!first && !last)
		return LS_OK;
	if (first >= 1 && first <= steps && (!last || (first <= last && last <= steps)))
		return LS_OK;
	return ls_error_set(err, LS_ERR_USAGE, "steps: found %llu:%llu, expected A:B with 1 <= A <= B <= %llu, the run's last step",
	                    (unsigned long long)first, (unsigned long long)last, (unsigned long long)steps);
}

static ls_status open_parts(auditor *a, ls_platform *platform, ls_error *err)
{
	ls_status status;
	ls_replay_options o = LS_REPLAY_OPTIONS_INIT;
	o.plan = a->plan;
	o.platform = platform;
	o.follow = true;
	o.guard = a->options->guard;
	o.watch = a->options->watch;
	LS_TRY(ls_hasher_open(&a->hasher, 1, err));
	ls_tree_init(&a->tree, a->hasher, 0);
	LS_TRY(ls_replay_open(&a->replay, &o, err));
	if (a->options->keep)
		LS_TRY(ls_run_create_copy(&a->kept, a->options->keep, a->plan, a->run, a->options->key, err));
done:
	return status;
}

static void report_ops(const auditor *a, ls_op_stats_fn on_op)
{
	const ls_program *program = ls_model_step(ls_plan_model(a->plan));
	ls_op_stats totals;
	ls_replay_totals(a->replay, &totals);
	a->out->corrections = totals.corrections;
	a->out->entries = totals.entries;
	a->out->elements = totals.elements;
	a->out->exact = totals.exact;
	for (int i = 0; on_op && i < ls_program_ops(program); i++) {
		const ls_op *op = ls_program_op(program, i);
		if (ls_op_find(op->kind)->class == LS_OP_PRODUCT)
			on_op(a->options->context, ls_program_value(program, op->outputs[0])->name, op->kind,
			      ls_exec_stats(ls_replay_exec(a->replay), i));
	}
}

/* The leaf, again, from what the run says lies before it. */
static ls_status replay_again(auditor *a, uint64_t leaf, ls_leaf_result *out, ls_error *err)
{
	ls_status status;
	const ls_program *program = ls_model_step(ls_plan_model(a->plan));
	bool logged = ls_job_keeps_log(ls_plan_spec(a->plan));
	uint64_t at, first, last;
	ls_damage damage = {0};
	ls_hash root;
	LS_TRY(nearest(a, leaf, &at, err));
	ls_exec_state_replaced(ls_replay_exec(a->replay));
	if (at)
		LS_TRY(ls_run_read_snapshot(a->run, at, ls_replay_exec(a->replay), &damage, err));
	else
		LS_TRY(ls_replay_init(a->replay, &root, err));
	for (uint64_t i = at ? ls_run_leaf_of_step(a->run, at) + 1 : 1; i <= leaf && !damage.found; i++) {
		uint8_t *block = NULL;
		size_t len = 0;
		ls_cursor cursor;
		LS_TRY(ls_run_read_log(a->run, i, program, (ls_encoding)ls_plan_spec(a->plan)->arithmetic.encoding, &block, &len, &damage, err));
		cursor = ls_cursor_over(block, len);
		ls_run_leaf_steps(a->run, i, &first, &last);
		if (!damage.found)
			status = ls_replay_leaf(a->replay, ls_run_id_of(a->run), first, last, NULL, logged ? &cursor : NULL, NULL, NULL, out, err);
		ls_free(block);
		if (status != LS_OK)
			goto done;
	}
	if (damage.found)
		status = ls_error_set(err, LS_ERR_IO, "%s: changed while it was audited: %s", damage.file, damage.text);
done:
	return status;
}

static bool is_same_result(const ls_leaf_result *x, const ls_leaf_result *y)
{
	char text[sizeof ((ls_audit_result *)NULL)->text];
	if (x->forgery.found || y->forgery.found)
		return x->forgery.found == y->forgery.found && x->forged_step == y->forged_step && x->forgery.op == y->forgery.op &&
		       x->forgery.element == y->forgery.element;
	return !difference(&x->leaf, &y->leaf, text, sizeof text);
}

/* Nobody is accused on the word of a machine that does not agree with itself: the leaf is computed a second time. */
static ls_status confirm(auditor *a, ls_error *err)
{
	ls_leaf theirs;
	ls_leaf_result again = {.steps = 0};
	ls_status status = replay_again(a, a->suspect_leaf, &again, err);
	char text[sizeof a->out->text];
	bool matches;
	if (status != LS_OK || is_same_result(&a->suspect, &again))
		return status;
	status = ls_run_read_leaf(a->run, a->suspect_leaf, &theirs, err);
	if (status != LS_OK)
		return status;
	matches = !again.forgery.found && !difference(&theirs, &again.leaf, text, sizeof text);
	return ls_error_set(err, LS_ERR_NONCONFORMING,
	                    "step %llu: this machine computed it twice, with two results; the second is %s\n"
	                    "  hint: no verdict: the memory or processor here is not to be trusted; audit on another machine, or with --guard",
	                    (unsigned long long)a->out->first_bad_step, matches ? "the run's" : "not the run's either");
}

ls_status ls_audit(const ls_run *run, const ls_job_plan *plan, ls_platform *platform, const ls_audit_options *options,
                   ls_audit_result *out, ls_op_stats_fn on_op, ls_error *err)
{
	ls_status status;
	auditor a = {.run = run, .plan = plan, .options = options, .out = out};
	double start = ls_clock_seconds();
	*out = (ls_audit_result){0};
	ls_buf_init(&a.leaf_bytes, LS_LEAF_BYTES_MAX);
	ls_buf_init(&a.lines, UINT32_MAX);
	if (options->version != LS_AUDIT_OPTIONS_VERSION)
		return ls_error_set(err, LS_ERR_USAGE, "audit options of version %d", options->version);
	if (options->keep && options->first > 1)
		return ls_error_set(err, LS_ERR_USAGE, "--keep: keeps whole runs, so it does not go with --steps beginning after 1");
	LS_TRY(check_range(&a, err));
	LS_TRY(ls_run_root(run, ls_run_leaves(run), &out->root, err));
	LS_TRY(compare_before_replay(&a, err));
	if (out->verdict != LS_VERDICT_MATCH)
		goto done;
	LS_TRY(open_parts(&a, platform, err));
	LS_TRY(replay(&a, err));
	if (a.kept) {
		bool between = out->verdict == LS_VERDICT_FORGED_LOG; // two leaves
		LS_TRY(ls_run_seal(a.kept, out->last, between ? NULL : ls_replay_exec(a.replay), err));
	}
	report_ops(&a, on_op);
	if (a.suspect_leaf)
		LS_TRY(confirm(&a, err));
done:
	out->seconds = ls_clock_seconds() - start;
	ls_run_free(a.kept);
	ls_replay_free(a.replay);
	ls_hasher_free(a.hasher);
	ls_buf_free(&a.leaf_bytes);
	ls_buf_free(&a.lines);
	return status;
}
