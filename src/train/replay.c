#include <lockstep/train.h>

#define BLOCK_STEPS_MAX (UINT64_C(1) << 40)

struct ls_replay {
	ls_replay_options options;
	ls_hasher *hasher;
	ls_exec *exec;
	ls_step_log log;
	ls_schedule schedule;
	ls_encoding encoding;
	int loss; // value number
};

ls_rounding ls_replay_rounding(const ls_job_spec *spec, bool follow)
{
	switch ((ls_job_mode)spec->arithmetic.mode) {
	case LS_JOB_LOGGED: return follow ? LS_ROUNDING_FOLLOW : LS_ROUNDING_RECORD;
	case LS_JOB_EXACT: return LS_ROUNDING_EXACT;
	case LS_JOB_PINNED: return LS_ROUNDING_PINNED;
	case LS_JOB_PLAIN: break;
	}
	return LS_ROUNDING_PLAIN;
}

static ls_rounding rounding_of(const ls_replay *r)
{
	return ls_replay_rounding(ls_plan_spec(r->options.plan), r->options.follow);
}

static ls_status open_exec(ls_replay *r, const ls_program *program, ls_rounding rounding, const int *keep, int keep_count,
                           ls_exec **out, ls_error *err)
{
	ls_exec_options o = LS_EXEC_OPTIONS_INIT;
	ls_status status = ls_job_arithmetic(ls_plan_job(r->options.plan), &o.arithmetic, err);
	if (status != LS_OK)
		return status;
	o.program = program;
	o.platform = r->options.platform;
	o.hasher = r->hasher;
	o.samples = ls_plan_samples(r->options.plan);
	o.imports = ls_plan_imports(r->options.plan);
	o.rounding = rounding;
	o.self_check = r->options.self_check;
	o.guard = r->options.guard;
	o.keep = keep;
	o.keep_count = keep_count;
	o.watch = r->options.watch;
	return ls_exec_open(out, &o, err);
}

ls_status ls_replay_open(ls_replay **out, const ls_replay_options *options, ls_error *err)
{
	ls_status status;
	const ls_program *program;
	ls_replay *r = NULL;
	*out = NULL;
	if (options->version != LS_REPLAY_OPTIONS_VERSION || !options->plan || !options->platform)
		return ls_error_set(err, LS_ERR_USAGE, "replay options of version %d, or without plan or platform", options->version);
	program = ls_model_step(ls_plan_model(options->plan));
	r = ls_alloc(1, sizeof *r);
	if (!r)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a replay");
	r->options = *options;
	r->encoding = (ls_encoding)ls_plan_spec(options->plan)->arithmetic.encoding;
	ls_plan_schedule(options->plan, &r->schedule);
	r->loss = ls_program_find(program, LS_MODEL_LOSS);
	LS_TRY(ls_hasher_open(&r->hasher, ls_pool_threads(ls_platform_pool(options->platform)), err));
	LS_TRY(ls_step_log_open(&r->log, ls_program_ops(program), err));
	LS_TRY(open_exec(r, program, rounding_of(r), &r->loss, 1, &r->exec, err));
	*out = r;
	r = NULL;
done:
	ls_replay_free(r);
	return status;
}

void ls_replay_free(ls_replay *r)
{
	if (!r)
		return;
	ls_exec_free(r->exec);
	ls_step_log_free(&r->log);
	ls_hasher_free(r->hasher);
	ls_free(r);
}

ls_exec *ls_replay_exec(ls_replay *r)
{
	return r->exec;
}

/* Weights that somebody else's run started from have to be brought along, like its data. */
static ls_status require_imports(const ls_replay *r, ls_error *err)
{
	static const uint8_t none[32] = {0};
	const ls_job_plan *plan = r->options.plan;
	if (ls_plan_imports(plan) || !memcmp(ls_plan_binding(plan)->import, none, sizeof none))
		return LS_OK;
	return ls_error_input(err, ls_plan_spec(plan)->model.init_from, NULL, "no such file",
	                      "the weights that this run starts from", "say with --init-from where they lie");
}

/* The outputs of step 0 become the state, in the same order. */
ls_status ls_replay_init(ls_replay *r, ls_hash *state_root, ls_error *err)
{
	ls_status status;
	const ls_program *init = ls_model_init(ls_plan_model(r->options.plan));
	const ls_op *commit = ls_program_op(init, ls_program_ops(init) - 1);
	ls_exec *exec = NULL;
	ls_step_result result;
	LS_TRY(require_imports(r, err));
	LS_TRY(open_exec(r, init, LS_ROUNDING_EXACT, commit->inputs, commit->input_count, &exec, err));
	LS_TRY(ls_exec_step(exec, 0, NULL, true, &result, err));
	for (int s = 0; s < commit->input_count; s++) {
		int64_t count = ls_shape_count(&ls_program_value(init, commit->inputs[s])->shape);
		memcpy(ls_exec_state(r->exec, s), ls_exec_value(exec, commit->inputs[s]), (size_t)count * 4);
	}
	*state_root = result.state_root;
done:
	ls_exec_free(exec);
	return status;
}

typedef struct leaf_work {
	ls_buf *block_out;
	ls_cursor *block_in;
	ls_tree log_tree;
	ls_buf metrics;
} leaf_work;

/* What a step added to an executor's counts. */
static ls_stages stages_since(const ls_op_stats *before, const ls_op_stats *after)
{
	ls_stages s = {.certified = after->certified - before->certified,
	               .bin = after->stage[LS_EXACT_BIN] - before->stage[LS_EXACT_BIN],
	               .bins = after->stage[LS_EXACT_BINS] - before->stage[LS_EXACT_BINS],
	               .wide = after->stage[LS_EXACT_WIDE] + after->stage[LS_EXACT_PLAIN] - before->stage[LS_EXACT_WIDE] -
	                       before->stage[LS_EXACT_PLAIN]};
	s.tested = after->elements - before->elements - s.certified - s.bin - s.bins - s.wide;
	return s;
}

/* One step with its rounding log and metrics. */
static ls_status one_step(ls_replay *r, leaf_work *w, uint64_t step, bool commit, ls_metrics *m, ls_leaf_result *out,
                          ls_error *err)
{
	ls_status status = LS_OK;
	const ls_program *program = ls_exec_program(r->exec);
	ls_rounding rounding = rounding_of(r);
	ls_step_result result;
	ls_op_stats before, after;
	double start = ls_clock_seconds();
	ls_replay_totals(r, &before);
	if (rounding == LS_ROUNDING_FOLLOW) {
		status = ls_log_read_step(w->block_in, &w->log_tree, program, step, &r->log, r->encoding);
		out->malformed_log = status == LS_ERR_INPUT;
		if (out->malformed_log)
			return LS_OK;
		if (status != LS_OK)
			return ls_error_set(err, status, "step %llu: no memory to decode its rounding log", (unsigned long long)step);
	}
	LS_TRY(ls_exec_step(r->exec, step, &r->log, commit, &result, err));
	out->steps++;
	out->forgery = result.forgery;
	out->forged_step = result.forgery.found ? step : 0;
	out->diverged = result.diverged;
	if (result.forgery.found)
		goto done;
	if (rounding == LS_ROUNDING_RECORD) {
		status = ls_log_write_step(w->block_out, &w->log_tree, program, step, &r->log, r->encoding);
		if (status != LS_OK)
			return ls_error_set(err, status, "step %llu: no memory for its rounding log", (unsigned long long)step);
	}
	*m = (ls_metrics){.step = step, .loss = *(const float *)ls_exec_value(r->exec, r->loss),
	                  .lr = ls_schedule_lr(&r->schedule, step), .seconds = ls_clock_seconds() - start,
	                  .platform = ls_platform_describe(r->options.platform), .counted = rounding == LS_ROUNDING_EXACT};
	ls_replay_totals(r, &after);
	if (m->counted)
		m->stages = stages_since(&before, &after);
	ls_metrics_encode(&w->metrics, m);
	if (commit)
		out->leaf.state = result.state_root;
done:
	return status;
}

ls_status ls_replay_leaf(ls_replay *r, const ls_hash *run_id, uint64_t first, uint64_t last, ls_buf *block_out,
                         ls_cursor *block_in, ls_step_fn on_step, void *context, ls_leaf_result *out, ls_error *err)
{
	ls_status status = LS_OK;
	leaf_work w = {.block_out = block_out, .block_in = block_in};
	*out = (ls_leaf_result){.leaf = {.kind = LS_LEAF_STEP, .step = last, .run = *run_id}};
	ls_buf_init(&w.metrics, BLOCK_STEPS_MAX);
	ls_tree_init(&w.log_tree, r->hasher, 0);
	for (uint64_t step = first; step <= last; step++) {
		ls_metrics m;
		LS_TRY(one_step(r, &w, step, step == last, &m, out, err));
		if (out->malformed_log || out->forgery.found)
			goto done;
		if (on_step)
			on_step(context, &m);
	}
	out->malformed_log = block_in && !ls_cursor_done(block_in);
	status = w.metrics.status == LS_OK ? ls_tree_head(&w.log_tree, &out->leaf.log) : w.metrics.status;
	if (status == LS_OK)
		status = ls_hash_tagged(&out->leaf.metrics, "ls1/metrics", w.metrics.data, w.metrics.len);
	if (status != LS_OK)
		ls_error_set(err, status, "step %llu: could not hash its rounding log and metrics: %s", (unsigned long long)last,
		             ls_status_text(status));
done:
	ls_buf_free(&w.metrics);
	return status;
}

void ls_replay_totals(const ls_replay *r, ls_op_stats *out)
{
	*out = (ls_op_stats){0};
	for (int i = 0; i < ls_program_ops(ls_exec_program(r->exec)); i++) {
		const ls_op_stats *s = ls_exec_stats(r->exec, i);
		out->elements += s->elements;
		out->certified += s->certified;
		out->ambiguous += s->ambiguous;
		out->entries += s->entries;
		out->corrections += s->corrections;
		out->exact += s->exact;
		for (int stage = 0; stage < LS_EXACT_STAGES; stage++)
			out->stage[stage] += s->stage[stage];
		out->seconds += s->seconds;
	}
}
