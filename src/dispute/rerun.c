#include "dispute/rerun.h"

#include <stdio.h>

static const ls_program *program_of(const ls_rerun *r, uint64_t step)
{
	return r->program[step > 0];
}

/* ---- the watcher ---- */

static void hash_outputs(ls_rerun *r, ls_exec *exec, const ls_program *program, int op)
{
	const ls_op *o = ls_program_op(program, op);
	for (int i = 0; i < o->output_count && r->status == LS_OK; i++)
		r->status = ls_tensor_root(&r->root[op * LS_OP_OUTPUTS + i], ls_exec_value(exec, o->outputs[i]),
		                           ls_shape_count(&ls_program_value(program, o->outputs[i])->shape), ls_platform_pool(r->o->platform),
		                           r->hasher);
}

/* Outputs may be overwritten by the next op, so what is wanted is copied at once. */
static void copy_outputs(ls_rerun *r, ls_exec *exec, const ls_program *program, int op)
{
	const ls_op *o = ls_program_op(program, op);
	for (int i = 0; i < o->output_count && r->status == LS_OK; i++) {
		int value = o->outputs[i];
		size_t count = (size_t)ls_shape_count(&ls_program_value(program, value)->shape);
		if (!r->wanted[value])
			continue;
		if (!r->value[value])
			r->value[value] = ls_alloc(count, 4);
		if (r->value[value])
			memcpy(r->value[value], ls_exec_value(exec, value), 4 * count);
		else
			r->status = LS_ERR_NOMEM;
	}
}

static void after_op(void *context, ls_exec *exec, uint64_t step, int op, ls_step_log *log)
{
	ls_rerun *r = context;
	const ls_program *program = ls_exec_program(exec);
	if (r->o->lie)
		r->o->lie->after_op(r->o->lie->context, exec, step, op, log);
	if (!r->gathers || step != r->wanted_step)
		return;
	r->done = op + 1;
	if (r->root)
		hash_outputs(r, exec, program, op);
	if (r->wanted)
		copy_outputs(r, exec, program, op);
}

/* ---- opening ---- */

static ls_rounding rounding_of(const ls_rerun *r)
{
	return ls_replay_rounding(ls_plan_spec(r->o->plan), !(r->o->lie && r->o->record));
}

static ls_status open_exec(ls_rerun *r, int which, ls_error *err)
{
	ls_exec_options o = LS_EXEC_OPTIONS_INIT;
	ls_status status = ls_job_arithmetic(ls_plan_job(r->o->plan), &o.arithmetic, err);
	if (status != LS_OK)
		return status;
	o.program = r->program[which];
	o.platform = r->o->platform;
	o.hasher = r->hasher;
	o.samples = ls_plan_samples(r->o->plan);
	o.imports = ls_plan_imports(r->o->plan);
	o.rounding = which ? rounding_of(r) : LS_ROUNDING_EXACT;
	o.watch = &r->watch;
	if (which) {
		o.keep = &r->loss;
		o.keep_count = 1;
	}
	return ls_exec_open(&r->exec[which], &o, err);
}

ls_status ls_dispute__rerun_open(ls_rerun *r, const ls_player_options *o, ls_error *err)
{
	ls_status status;
	int values, states;
	*r = (ls_rerun){.o = o, .watch = {r, after_op}, .encoding = (ls_encoding)ls_plan_spec(o->plan)->arithmetic.encoding};
	r->program[0] = ls_model_init(ls_plan_model(o->plan));
	r->program[1] = ls_model_step(ls_plan_model(o->plan));
	r->loss = ls_program_find(r->program[1], LS_MODEL_LOSS);
	ls_plan_schedule(o->plan, &r->schedule);
	LS_TRY(ls_hasher_open(&r->hasher, ls_pool_threads(ls_platform_pool(o->platform)), err));
	LS_TRY(ls_step_log_open(&r->log, ls_program_ops(r->program[1]), err));
	LS_TRY(open_exec(r, 1, err));
	states = ls_program_states(r->program[1]);
	values = ls_program_values(r->program[1]) > ls_program_values(r->program[0]) ? ls_program_values(r->program[1])
	                                                                             : ls_program_values(r->program[0]);
	r->state = ls_alloc((size_t)states, sizeof *r->state);
	r->value = ls_alloc((size_t)values, sizeof *r->value);
	for (int s = 0; r->state && s < states; s++) {
		r->state[s] = ls_alloc((size_t)ls_shape_count(&ls_program_value(r->program[1], s)->shape), 4);
		if (!r->state[s])
			status = LS_ERR_NOMEM;
	}
	if (!r->state || !r->value || status != LS_OK)
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for a second copy of the state");
done:
	return status;
}

static void forget(ls_rerun *r)
{
	int values = ls_program_values(r->program[1]) > ls_program_values(r->program[0]) ? ls_program_values(r->program[1])
	                                                                                 : ls_program_values(r->program[0]);
	for (int v = 0; r->value && v < values; v++) {
		ls_free(r->value[v]);
		r->value[v] = NULL;
	}
	ls_free(r->root);
	ls_free(r->wanted);
	r->root = NULL;
	r->wanted = NULL;
	r->gathers = false;
	r->done = 0;
}

void ls_dispute__rerun_close(ls_rerun *r)
{
	if (!r->o)
		return;
	forget(r);
	for (int s = 0; r->state && s < ls_program_states(r->program[1]); s++)
		ls_free(r->state[s]);
	ls_free(r->state);
	ls_free(r->value);
	ls_exec_free(r->exec[0]);
	ls_exec_free(r->exec[1]);
	ls_step_log_free(&r->log);
	ls_hasher_free(r->hasher);
}

/* ---- states ---- */

static void copy_state(ls_rerun *r, bool save)
{
	for (int s = 0; s < ls_program_states(r->program[1]); s++) {
		size_t bytes = 4 * (size_t)ls_shape_count(&ls_program_value(r->program[1], s)->shape);
		void *now = ls_exec_state(r->exec[1], s);
		memcpy(save ? r->state[s] : now, save ? now : r->state[s], bytes);
	}
}

static void save_state(ls_rerun *r, uint64_t after)
{
	copy_state(r, true);
	r->known = true;
	r->at = after;
}

/* The newest snapshot before `leaf` that verifies and is also this player's state there. Step 0's is always among them. */
static ls_status load_snapshot(ls_rerun *r, uint64_t leaf, uint64_t *at, ls_error *err)
{
	ls_status status;
	const ls_run *from = r->o->trainer;
	uint64_t *steps = NULL;
	size_t count = 0;
	bool found = false;
	LS_TRY(ls_run_snapshots(from, &steps, &count, err));
	while (count && !found) {
		ls_damage damage = {0};
		uint64_t step = steps[--count], its = ls_run_leaf_of_step(from, step);
		ls_leaf ours, theirs;
		if (its >= leaf || its >= ls_run_leaves(r->o->run) || its >= ls_run_leaves(from))
			continue;
		LS_TRY(ls_run_read_leaf(r->o->run, its, &ours, err));
		LS_TRY(ls_run_read_leaf(from, its, &theirs, err));
		if (!ls_hash_equal(&ours.state, &theirs.state))
			continue;
		LS_TRY(ls_run_read_snapshot(from, step, r->exec[1], &damage, err));
		found = !damage.found;
		*at = step;
	}
	if (!found)
		status = ls_error_set(err, LS_ERR_INPUT, "%s/snapshots: found none before leaf %llu that verifies, expected at least step 0",
		                      ls_run_dir(from), (unsigned long long)leaf);
done:
	ls_free(steps);
	return status;
}

/* ---- steps ---- */

ls_status ls_dispute__read_block(const ls_rerun *r, uint64_t leaf, uint8_t **block, size_t *len, ls_error *err)
{
	ls_damage damage = {0};
	ls_status status = ls_run_read_log(r->o->trainer, leaf, r->program[1], r->encoding, block, len, &damage, err);
	if (status == LS_OK && damage.found)
		status = ls_error_set(err, LS_ERR_INPUT, "%s/%s: %s", ls_run_dir(r->o->trainer), damage.file, damage.text);
	return status;
}

/* Steps after + 1 … last, which all lie in one leaf, on the present state. Stops at a forged entry. */
static ls_status run_steps(ls_rerun *r, uint64_t after, uint64_t last, ls_dispute__record *out, uint64_t *count, ls_error *err)
{
	ls_status status;
	uint64_t leaf = ls_run_leaf_of_step(r->o->trainer, last), first, end;
	uint8_t *block = NULL;
	size_t len = 0;
	ls_cursor cursor;
	ls_tree tree;
	bool logged = ls_plan_spec(r->o->plan)->arithmetic.mode == LS_JOB_LOGGED;
	*count = 0;
	r->forgery = (ls_forgery){0};
	ls_run_leaf_steps(r->o->trainer, leaf, &first, &end);
	LS_TRY(ls_dispute__read_block(r, leaf, &block, &len, err));
	cursor = ls_cursor_over(block, len);
	ls_tree_init(&tree, r->hasher, 0);
	for (uint64_t step = first; step <= last && !r->forgery.found; step++) {
		ls_step_result result;
		if (logged)
			LS_TRY(ls_log_read_step(&cursor, &tree, r->program[1], step, &r->log, r->encoding));
		if (step <= after)
			continue;
		LS_TRY(ls_exec_step(r->exec[1], step, logged ? &r->log : NULL, true, &result, err));
		r->forgery = result.forgery;
		if (result.forgery.found)
			break;
		if (out)
			out[*count] = (ls_dispute__record){result.state_root, ls_bits_f32(*(const float *)ls_exec_value(r->exec[1], r->loss)),
			                                   ls_bits_f64(ls_schedule_lr(&r->schedule, step))};
		++*count;
	}
	status = r->status;
	if (status != LS_OK)
		ls_error_set(err, status, "no memory for the values of step %llu", (unsigned long long)last);
done:
	ls_free(block);
	return status;
}

/* Brings the executor to the state after `step`, which must lie before `leaf` or within it. */
static ls_status go_to(ls_rerun *r, uint64_t leaf, uint64_t step, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t at = r->at, count;
	if (r->known && r->at <= step) {
		copy_state(r, false);
	} else {
		LS_TRY(load_snapshot(r, leaf, &at, err));
	}
	while (at < step) {
		uint64_t first, last;
		ls_run_leaf_steps(r->o->trainer, ls_run_leaf_of_step(r->o->trainer, at + 1), &first, &last);
		last = last < step ? last : step;
		LS_TRY(run_steps(r, at, last, NULL, &count, err));
		if (r->forgery.found) {
			status = ls_error_set(err, LS_ERR_INPUT, "step %llu: found a forged entry before the step in question", (unsigned long long)last);
			goto done;
		}
		at = last;
	}
	save_state(r, step);
done:
	return status;
}

ls_status ls_dispute__rerun_leaf(ls_rerun *r, uint64_t leaf, uint64_t last, ls_dispute__record *out, uint64_t *count, ls_error *err)
{
	uint64_t first, end;
	ls_status status;
	ls_run_leaf_steps(r->o->trainer, leaf, &first, &end);
	forget(r);
	LS_TRY(go_to(r, leaf, first - 1, err));
	LS_TRY(run_steps(r, first - 1, last, out, count, err));
done:
	return status;
}

static ls_status run_init(ls_rerun *r, ls_error *err)
{
	ls_step_result result;
	ls_status status = r->exec[0] ? LS_OK : open_exec(r, 0, err);
	if (status == LS_OK)
		status = ls_exec_step(r->exec[0], 0, NULL, true, &result, err);
	return status;
}

static ls_status run_again(ls_rerun *r, uint64_t leaf, uint64_t step, ls_error *err)
{
	uint64_t count;
	ls_status status = LS_OK;
	r->wanted_step = step;
	if (!step) {
		r->gathers = true;
		return run_init(r, err);
	}
	LS_TRY(go_to(r, leaf, step - 1, err));
	r->gathers = true;
	LS_TRY(run_steps(r, step - 1, step, NULL, &count, err));
done:
	r->gathers = false;
	return status;
}

ls_status ls_dispute__rerun_roots(ls_rerun *r, uint64_t leaf, uint64_t step, ls_error *err)
{
	forget(r);
	r->root = ls_alloc((size_t)ls_program_ops(program_of(r, step)) * LS_OP_OUTPUTS, sizeof *r->root);
	if (!r->root)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for the roots of a step");
	return run_again(r, leaf, step, err);
}

ls_status ls_dispute__rerun_values(ls_rerun *r, uint64_t leaf, uint64_t step, int op, ls_error *err)
{
	const ls_program *program = program_of(r, step);
	const ls_op *o = ls_program_op(program, op);
	ls_hash *root = r->root; // stays: roots of all ops are needed to the end
	int done = r->done;
	ls_status status;
	r->root = NULL;
	forget(r);
	r->wanted = ls_alloc((size_t)ls_program_values(program), sizeof *r->wanted);
	if (!r->wanted) {
		r->root = root;
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for the values of an op");
	}
	for (int i = 0; i < o->input_count; i++)
		r->wanted[o->inputs[i]] = true;
	for (int i = 0; i < o->output_count; i++)
		r->wanted[o->outputs[i]] = true;
	status = run_again(r, leaf, step, err);
	r->root = root;
	r->done = done;
	return status;
}

const uint32_t *ls_dispute__rerun_words(const ls_rerun *r, uint64_t step, int value)
{
	if (ls_program_value(program_of(r, step), value)->op < 0)
		return r->state[value];
	return r->value[value];
}
