/* Steps executed in memory, to be timed. */
#include "cli/cli.h"

#include <stdlib.h>

#define LOG_MAX (UINT64_C(1) << 32)

ls_status ls_cli__lane_open(ls_cli_lane *out, const ls_job_plan *plan, ls_platform *platform, ls_rounding rounding, ls_error *err)
{
	ls_exec_options o = LS_EXEC_OPTIONS_INIT;
	ls_status status;
	*out = (ls_cli_lane){.plan = plan};
	ls_buf_init(&out->coded, LOG_MAX);
	LS_TRY(ls_hasher_open(&out->hasher, ls_pool_threads(ls_platform_pool(platform)), err));
	if (rounding != LS_ROUNDING_EXACT && rounding != LS_ROUNDING_PINNED) // which read none of it
		LS_TRY(ls_job_arithmetic(ls_plan_job(plan), &o.arithmetic, err));
	o.program = ls_model_step(ls_plan_model(plan));
	o.platform = platform;
	o.hasher = out->hasher;
	o.samples = ls_plan_samples(plan);
	o.imports = ls_plan_imports(plan);
	o.rounding = rounding;
	o.self_check = rounding != LS_ROUNDING_FOLLOW; // as the trainer has it
	LS_TRY(ls_step_log_open(&out->log, ls_program_ops(o.program), err));
	LS_TRY(ls_exec_open(&out->exec, &o, err));
done:
	if (status != LS_OK)
		ls_cli__lane_close(out);
	return status;
}

void ls_cli__lane_close(ls_cli_lane *lane)
{
	ls_exec_free(lane->exec);
	ls_step_log_free(&lane->log);
	ls_buf_free(&lane->coded);
	ls_hasher_free(lane->hasher);
	*lane = (ls_cli_lane){0};
}

static void copy_state(ls_exec *to, ls_exec *from)
{
	const ls_program *program = ls_exec_program(to);
	for (int i = 0; i < ls_program_states(program); i++)
		memcpy(ls_exec_state(to, i), ls_exec_state(from, i), 4 * (size_t)ls_shape_count(&ls_program_value(program, i)->shape));
}

ls_status ls_cli__lanes_init(ls_cli_lane *const *lanes, int count, const ls_job_plan *plan, ls_platform *platform, ls_error *err)
{
	ls_replay_options o = LS_REPLAY_OPTIONS_INIT;
	ls_replay *replay = NULL;
	ls_hash root;
	ls_status status;
	o.plan = plan;
	o.platform = platform;
	LS_TRY(ls_replay_open(&replay, &o, err));
	LS_TRY(ls_replay_init(replay, &root, err));
	for (int i = 0; i < count; i++)
		copy_state(lanes[i]->exec, ls_replay_exec(replay));
done:
	ls_replay_free(replay);
	return status;
}

ls_status ls_cli__lane_step(ls_cli_lane *lane, uint64_t step, ls_step_log *log, double (*clock)(void), double *seconds,
                            ls_error *err)
{
	double start = clock();
	ls_step_result result;
	ls_status status = ls_exec_step(lane->exec, step, log, false, &result, err);
	*seconds = clock() - start;
	if (status == LS_OK && result.forgery.found)
		status = ls_error_set(err, LS_ERR_INTERNAL, "step %llu: an honest rounding log was refused", (unsigned long long)step);
	if (status == LS_OK && result.diverged)
		status = ls_error_set(err, LS_ERR_INPUT, "step %llu: found a state that is not finite, expected a job that trains\n"
		                      "  hint: lower optimizer.lr", (unsigned long long)step);
	return status;
}

ls_status ls_cli__lane_log_bytes(ls_cli_lane *lane, uint64_t step, uint64_t *bytes, ls_error *err)
{
	ls_encoding encoding = (ls_encoding)ls_plan_spec(lane->plan)->arithmetic.encoding;
	ls_tree tree;
	ls_status status;
	ls_buf_reset(&lane->coded);
	ls_tree_init(&tree, lane->hasher, 0);
	status = ls_log_write_step(&lane->coded, &tree, ls_exec_program(lane->exec), step, &lane->log, encoding);
	*bytes = lane->coded.len;
	return status == LS_OK ? LS_OK : ls_error_set(err, status, "no memory for the rounding log of a step");
}

ls_status ls_cli__lane_op_bytes(ls_cli_lane *lane, int op, uint64_t *bytes, ls_error *err)
{
	ls_encoding encoding = (ls_encoding)ls_plan_spec(lane->plan)->arithmetic.encoding;
	const ls_op_log *log = &lane->log.op[op];
	ls_status status = LS_OK;
	ls_buf_reset(&lane->coded);
	for (size_t e = 0; e < log->count && status == LS_OK;) {
		uint32_t frame = log->entry[e].index / LS_FRAME_ELEMENTS;
		size_t count = 0;
		for (; e < log->count && log->entry[e].index / LS_FRAME_ELEMENTS == frame; e++)
			lane->log.frame[count++] = (ls_entry){log->entry[e].index % LS_FRAME_ELEMENTS, log->entry[e].bit};
		status = ls_entries_encode(&lane->coded, lane->log.frame, count, LS_FRAME_ELEMENTS, encoding);
	}
	*bytes = lane->coded.len;
	return status == LS_OK ? LS_OK : ls_error_set(err, status, "no memory for the rounding log of an op");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double ls_cli__median(double *value, size_t count)
{
	qsort(value, count, sizeof *value, by_value);
	return value[(count - 1) / 2];
}
