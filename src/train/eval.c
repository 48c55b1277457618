#include <lockstep/train.h>

/* Parameters are found by name in the state of the training program; the optimizer's tensors stay behind. */
static void copy_state(ls_exec *to, ls_exec *from)
{
	const ls_program *eval = ls_exec_program(to), *step = ls_exec_program(from);
	for (int s = 0; s < ls_program_states(eval); s++) {
		const ls_value *v = ls_program_value(eval, s);
		memcpy(ls_exec_state(to, s), ls_exec_state(from, ls_program_find(step, v->name)), (size_t)ls_shape_count(&v->shape) * 4);
	}
}

static int64_t count_hits(const float *logits, const int32_t *labels, int64_t rows, int64_t classes)
{
	int64_t hits = 0;
	for (int64_t n = 0; n < rows; n++) {
		int64_t best = 0;
		for (int64_t c = 1; c < classes; c++)
			if (logits[n * classes + c] > logits[n * classes + best])
				best = c;
		hits += best == labels[n];
	}
	return hits;
}

ls_status ls_eval(const ls_job_plan *plan, ls_platform *platform, ls_exec *from, ls_eval_result *out, ls_error *err)
{
	ls_status status;
	const ls_program *program = ls_model_eval(ls_plan_model(plan));
	int keep[3] = {ls_program_find(program, LS_MODEL_LOSS), ls_program_find(program, LS_MODEL_LOGITS),
	               ls_program_find(program, LS_MODEL_LABELS)};
	int64_t batch = ls_plan_eval_batch(plan), hits = 0;
	ls_exec_options o = LS_EXEC_OPTIONS_INIT;
	ls_hasher *hasher = NULL;
	ls_exec *exec = NULL;
	ls_step_result result;
	*out = (ls_eval_result){.samples = ls_dataset_count(ls_plan_eval_data(plan))};
	LS_TRY(ls_hasher_open(&hasher, ls_pool_threads(ls_platform_pool(platform)), err));
	o.program = program;
	o.platform = platform;
	o.hasher = hasher;
	o.samples = ls_plan_eval_samples(plan);
	o.rounding = ls_plan_spec(plan)->arithmetic.mode == LS_JOB_PINNED ? LS_ROUNDING_PINNED : LS_ROUNDING_EXACT;
	o.keep = keep;
	o.keep_count = 3;
	LS_TRY(ls_exec_open(&exec, &o, err));
	copy_state(exec, from);
	for (int64_t step = 1; step <= out->samples / batch; step++) {
		LS_TRY(ls_exec_step(exec, (uint64_t)step, NULL, false, &result, err));
		out->loss += (double)*(const float *)ls_exec_value(exec, keep[0]);
		hits += count_hits(ls_exec_value(exec, keep[1]), ls_exec_value(exec, keep[2]), batch,
		                   ls_program_value(program, keep[1])->shape.dim[1]);
	}
	out->loss /= (double)(out->samples / batch);
	out->accuracy = (double)hits / (double)out->samples;
done:
	ls_exec_free(exec);
	ls_hasher_free(hasher);
	return status;
}
