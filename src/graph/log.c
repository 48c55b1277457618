#include <lockstep/graph.h>

ls_status ls_step_log_open(ls_step_log *log, int ops, ls_error *err)
{
	log->ops = 0;
	log->op = ls_alloc((size_t)ops, sizeof *log->op);
	log->frame = ls_alloc(LS_FRAME_ELEMENTS, sizeof *log->frame);
	if (!log->op || !log->frame)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a rounding log of %d ops", ops);
	log->ops = ops;
	return LS_OK;
}

void ls_step_log_free(ls_step_log *log)
{
	for (int i = 0; i < log->ops; i++)
		ls_free(log->op[i].entry);
	ls_free(log->op);
	ls_free(log->frame);
	*log = (ls_step_log){0};
}

void ls_step_log_clear(ls_step_log *log)
{
	for (int i = 0; i < log->ops; i++)
		log->op[i].count = 0;
}

ls_status ls_op_log_push(ls_op_log *log, ls_entry entry)
{
	if (log->count == log->capacity) {
		size_t capacity = log->capacity ? 2 * log->capacity : 256;
		ls_entry *bigger = ls_alloc(capacity, sizeof *bigger);
		if (!bigger)
			return LS_ERR_NOMEM;
		if (log->count)
			memcpy(bigger, log->entry, log->count * sizeof *bigger);
		ls_free(log->entry);
		log->entry = bigger;
		log->capacity = capacity;
	}
	log->entry[log->count++] = entry;
	return LS_OK;
}
