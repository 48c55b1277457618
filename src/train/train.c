#include <lockstep/train.h>

#include <stdarg.h>
#include <stdio.h>

/* LAST takes no more than one snapshot in this many seconds, so that short steps are not spent on the disk. */
#define SNAPSHOT_SECONDS 10.0
#define BLOCK_MAX (UINT64_C(1) << 36)

typedef struct trainer {
	const ls_job_plan *plan;
	const ls_train_options *options;
	ls_replay *replay;
	ls_run *run;
	ls_keeper *keeper; // opened with the first snapshot
	ls_buf block, lines;
	uint64_t kept[LS_SNAPSHOTS_LAST_MAX + 1]; // steps of snapshots under LAST, oldest first
	int kept_count;
	double last_snapshot;
	bool taken; // a snapshot, by this call; the last was of taken_step
	uint64_t taken_step;
	float loss;
} trainer;

static void on_step(void *context, const ls_metrics *m)
{
	trainer *t = context;
	t->loss = m->loss;
	ls_metrics_line(&t->lines, m);
	if (t->options->on_step)
		t->options->on_step(t->options->context, m);
}

/* Waits for the seal before. Snapshots that LAST no longer keeps go only when those after them are on the disk. */
static ls_status settle(trainer *t, ls_error *err)
{
	ls_status status;
	LS_TRY(ls_keeper_wait(t->keeper, err));
	if (t->options->snapshots.kind == LS_SNAPSHOTS_LAST && (uint64_t)t->kept_count > t->options->snapshots.n) {
		size_t old = (size_t)t->kept_count - (size_t)t->options->snapshots.n;
		LS_TRY(ls_run_drop_snapshots(t->run, t->kept, old, err));
		t->kept_count -= (int)old;
		memmove(t->kept, t->kept + old, (size_t)t->kept_count * sizeof *t->kept);
	}
done:
	return status;
}

static ls_status snapshot(trainer *t, uint64_t step, ls_error *err)
{
	ls_status status;
	if (t->taken && t->taken_step == step)
		return LS_OK; // a run that stops right after a snapshot
	if (!t->keeper)
		LS_TRY(ls_keeper_open(&t->keeper, t->run, err));
	LS_TRY(settle(t, err));
	LS_TRY(ls_keeper_seal(t->keeper, step, ls_replay_exec(t->replay), err));
	t->last_snapshot = ls_clock_seconds();
	t->taken = true;
	t->taken_step = step;
	if (t->options->snapshots.kind == LS_SNAPSHOTS_LAST)
		t->kept[t->kept_count++] = step; // settle() has made room
done:
	return status;
}

static bool snapshot_due(const trainer *t, uint64_t first, uint64_t last)
{
	const ls_snapshot_policy *p = &t->options->snapshots;
	if (p->kind == LS_SNAPSHOTS_LAST)
		return ls_clock_seconds() - t->last_snapshot >= SNAPSHOT_SECONDS && !(t->keeper && ls_keeper_busy(t->keeper));
	return last / p->n != (first - 1) / p->n;
}

static ls_status start(trainer *t, ls_error *err)
{
	ls_status status;
	ls_leaf leaf = {.kind = LS_LEAF_START};
	LS_TRY(ls_replay_init(t->replay, &leaf.state, err)); // takes time: a run without leaves should not lie there meanwhile
	LS_TRY(ls_run_create(&t->run, t->options->dir, t->plan, t->options->nonce, t->options->resume, t->options->key, err));
	ls_run_set_compress(t->run, t->options->compress);
	leaf.job = *ls_run_job_id(t->run);
	leaf.run = *ls_run_id_of(t->run);
	LS_TRY(ls_run_append_leaf(t->run, &leaf, err));
	LS_TRY(ls_run_seal(t->run, 0, ls_replay_exec(t->replay), err)); // before any step: until then it counts as unstarted
	t->last_snapshot = ls_clock_seconds();
done:
	return status;
}

__attribute__((format(printf, 2, 3))) static void note(const trainer *t, const char *format, ...)
{
	char text[LS_NOTE_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (t->options->on_note)
		t->options->on_note(t->options->context, text);
}

static ls_status refuse(const trainer *t, const ls_damage *damage, ls_error *err)
{
	return ls_error_set(err, LS_ERR_INPUT, "%s/%s: %s\n  hint: the run was changed, or belongs to another job", t->options->dir,
	                    damage->file, damage->text);
}

/* The newest snapshot that verifies, read into the executor: its place among `steps`. One that does not is passed over, and
 * said. */
static ls_status find_snapshot(trainer *t, const uint64_t *steps, size_t count, size_t *found, ls_error *err)
{
	ls_status status = LS_OK;
	while (count--) {
		ls_damage bad = {0};
		if (ls_run_leaf_of_step(t->run, steps[count]) >= ls_run_usable(t->run))
			continue;
		LS_TRY(ls_run_read_snapshot(t->run, steps[count], ls_replay_exec(t->replay), &bad, err));
		*found = count;
		if (!bad.found)
			goto done;
		note(t, "%s/%s: %s; the steps since the snapshot before are computed again", t->options->dir, bad.file, bad.text);
	}
	status = ls_error_set(err, LS_ERR_INPUT, "%s/snapshots: found no snapshot that verifies", t->options->dir);
done:
	return status;
}

/* Back to the snapshot after `step`; what is kept is checked first, and what is dropped is said. */
static ls_status go_back(trainer *t, uint64_t step, const ls_damage *tail, ls_error *err)
{
	ls_status status;
	ls_damage damage = {0};
	uint64_t leaves = ls_run_leaf_of_step(t->run, step) + 1;
	ls_encoding encoding = (ls_encoding)ls_plan_spec(t->plan)->arithmetic.encoding;
	LS_TRY(ls_run_check_kept(t->run, leaves, ls_model_step(ls_plan_model(t->plan)), encoding, &damage, err));
	if (damage.found) {
		status = refuse(t, &damage, err);
		goto done;
	}
	if (tail->found)
		note(t, "%s/%s: %s: an end as a crash leaves it, dropped", t->options->dir, tail->file, tail->text);
	if (leaves < ls_run_leaves(t->run))
		note(t, "%s: steps %llu to %llu are computed again, from the last snapshot on", t->options->dir, (unsigned long long)step + 1,
		     (unsigned long long)ls_run_last_step(t->run));
	LS_TRY(ls_run_cut(t->run, leaves, err));
	if (!ls_run_has_head(t->run))
		LS_TRY(ls_run_seal(t->run, step, NULL, err));
done:
	return status;
}

/* Goes back to the last snapshot that verifies; the steps after it are done again. */
static ls_status resume(trainer *t, ls_error *err)
{
	ls_status status;
	uint64_t *steps = NULL;
	size_t count = 0, found = 0;
	ls_damage damage, tail = {0};
	LS_TRY(ls_run_open_to_write(&t->run, t->options->dir, &damage, err));
	if (t->run)
		ls_run_set_compress(t->run, t->options->compress);
	if (damage.tail) {
		tail = damage;
		damage = (ls_damage){0};
	}
	if (!damage.found)
		ls_run_compare_plan(t->run, t->plan, &damage);
	if (damage.found) {
		status = refuse(t, &damage, err);
		goto done;
	}
	LS_TRY(ls_run_continue_with(t->run, t->options->key, err));
	LS_TRY(ls_run_snapshots(t->run, &steps, &count, err));
	LS_TRY(find_snapshot(t, steps, count, &found, err));
	LS_TRY(go_back(t, steps[found], &tail, err));
	t->last_snapshot = ls_clock_seconds();
	for (size_t i = found + 1 > LS_SNAPSHOTS_LAST_MAX ? found + 1 - LS_SNAPSHOTS_LAST_MAX : 0; i < found + 1; i++)
		if (steps[i])
			t->kept[t->kept_count++] = steps[i];
done:
	ls_free(steps);
	return status;
}

static ls_status one_leaf(trainer *t, uint64_t index, ls_train_result *out, ls_error *err)
{
	ls_status status;
	ls_leaf_result result;
	uint64_t first, last;
	ls_run_leaf_steps(t->run, index, &first, &last);
	ls_buf_reset(&t->block);
	ls_buf_reset(&t->lines);
	LS_TRY(ls_replay_leaf(t->replay, ls_run_id_of(t->run), first, last, &t->block, NULL, on_step, t, &result, err));
	if (t->block.status != LS_OK || t->lines.status != LS_OK) {
		status = ls_error_set(err, LS_ERR_NOMEM, "step %llu: no memory for rounding log or metrics", (unsigned long long)last);
		goto done;
	}
	LS_TRY(ls_run_append_log(t->run, index, t->block.data, t->block.len, err));
	LS_TRY(ls_run_append_metrics(t->run, t->lines.data, t->lines.len, err));
	LS_TRY(ls_run_append_leaf(t->run, &result.leaf, err));
	out->steps = last;
	out->state_root = result.leaf.state;
	out->diverged = result.diverged;
	if (snapshot_due(t, first, last) && !ls_run_complete(t->run))
		LS_TRY(snapshot(t, last, err));
done:
	return status;
}

static ls_status loop(trainer *t, ls_train_result *out, ls_error *err)
{
	ls_status status = LS_OK;
	ls_leaf leaf;
	uint64_t began = ls_run_leaves(t->run);
	LS_TRY(ls_run_read_leaf(t->run, began - 1, &leaf, err));
	out->steps = leaf.step;
	out->state_root = leaf.state;
	out->diverged = !ls_exec_state_finite(ls_replay_exec(t->replay)); // a run that ended so does not go on
	while (!ls_run_complete(t->run) && !out->diverged && !out->stopped) {
		if (t->keeper && !ls_keeper_busy(t->keeper))
			LS_TRY(ls_keeper_wait(t->keeper, err)); // a disk that is full is not trained for any longer
		LS_TRY(one_leaf(t, ls_run_leaves(t->run), out, err));
		out->stopped = t->options->stop && t->options->stop(t->options->context) && !ls_run_complete(t->run);
	}
	if (ls_run_leaves(t->run) > began)
		LS_TRY(snapshot(t, out->steps, err));
	if (t->keeper)
		LS_TRY(settle(t, err));
done:
	return status;
}

static void add_stages(void *context, const ls_metrics *m)
{
	ls_stages_add(context, &m->stages);
}

/* Statistics over the whole run, earlier calls included, are counted from its files. */
static ls_status count_log(trainer *t, ls_train_result *out, ls_error *err)
{
	ls_status status = LS_OK;
	ls_damage damage;
	ls_run *run = NULL;
	ls_log_statistics s;
	LS_TRY(ls_run_open(&run, t->options->dir, &damage, err));
	if (damage.found) {
		status = ls_error_set(err, LS_ERR_INTERNAL, "%s/%s: %s", t->options->dir, damage.file, damage.text);
		goto done;
	}
	LS_TRY(ls_run_log_statistics(run, ls_model_step(ls_plan_model(t->plan)), &s, err));
	out->stages = (ls_stages){0};
	LS_TRY(ls_run_read_metrics(run, add_stages, &out->stages, err));
	out->log_bytes = s.bytes;
	out->log_entries = s.entries;
	out->elements = s.elements;
done:
	ls_run_free(run);
	return status;
}

/* Whether a run lies there that has got past its start. */
static ls_status has_begun(bool *out, const char *dir, ls_error *err)
{
	char path[LS_PATH_MAX];
	bool unstarted = true;
	ls_status status;
	LS_TRY(ls_path_join(path, sizeof path, dir, "leaves", err));
	if (ls_file_exists(path))
		LS_TRY(ls_run_is_unstarted(&unstarted, dir, err));
	*out = !unstarted;
done:
	return status;
}

ls_status ls_train(const ls_job_plan *plan, ls_platform *platform, const ls_train_options *options, ls_train_result *out,
                   ls_error *err)
{
	ls_status status;
	trainer t = {.plan = plan, .options = options};
	ls_replay_options replay = LS_REPLAY_OPTIONS_INIT;
	bool begun = false;
	double start_time = ls_clock_seconds();
	*out = (ls_train_result){0};
	if (options->version != LS_TRAIN_OPTIONS_VERSION)
		return ls_error_set(err, LS_ERR_USAGE, "train options of version %d", options->version);
	ls_buf_init(&t.block, BLOCK_MAX);
	ls_buf_init(&t.lines, BLOCK_MAX);
	replay.plan = plan;
	replay.platform = platform;
	replay.self_check = !options->no_self_check;
	replay.guard = options->guard;
	replay.watch = options->watch;
	LS_TRY(ls_replay_open(&t.replay, &replay, err));
	if (options->resume)
		LS_TRY(has_begun(&begun, options->dir, err));
	if (begun)
		LS_TRY(resume(&t, err));
	else
		LS_TRY(start(&t, err));
	LS_TRY(loop(&t, out, err));
	LS_TRY(ls_run_root(t.run, ls_run_leaves(t.run), &out->root, err));
	out->run_id = *ls_run_id_of(t.run);
	out->complete = ls_run_complete(t.run);
	out->loss = t.loss;
	LS_TRY(count_log(&t, out, err));
	out->seconds = ls_clock_seconds() - start_time;
done:
	ls_keeper_free(t.keeper);
	ls_run_free(t.run);
	ls_replay_free(t.replay);
	ls_buf_free(&t.block);
	ls_buf_free(&t.lines);
	return status;
}
