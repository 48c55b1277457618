// load: a byte has 256 values, so a channel is a table.
#include "kernel/rows.h"

enum { SAMPLES, BATCH, SEED, SHUFFLE, C, H, W, INTS }; // the attributes of load, in its order

static int64_t sample_at(const ls_op_call *call, int64_t in_batch)
{
	const int64_t *a = call->op->ints;
	uint64_t per_epoch = (uint64_t)(a[SAMPLES] / a[BATCH]), step = call->step - 1;
	uint64_t position = step % per_epoch * (uint64_t)a[BATCH] + (uint64_t)in_batch;
	if (!a[SHUFFLE])
		return (int64_t)position;
	return (int64_t)ls_shuffle((uint32_t)a[SEED], step / per_epoch, position, (uint64_t)a[SAMPLES]);
}

static void load(const ls_op_call *call, int64_t begin, int64_t end)
{
	const int64_t *a = call->op->ints;
	const double *mean = call->op->nums, *std = call->op->nums + a[C];
	int64_t pixels = a[H] * a[W];
	int bits = rows_bits(call, 0);
	for (int64_t i = begin; i < end; i++) {
		const uint8_t *sample = call->samples->sample(call->samples->context, sample_at(call, i));
		float *out = (float *)call->out[0] + i * a[C] * pixels;
		for (int64_t c = 0; c < a[C]; c++) {
			float value[256];
			for (int byte = 0; byte < 256; byte++)
				value[byte] = rows_round(((double)byte - mean[c]) / std[c], bits);
			for (int64_t k = 0; k < pixels; k++)
				*out++ = value[*sample++];
		}
	}
}

bool ls_kernel__rows_load(const ls_op_call *call)
{
	const int64_t *a = call->op->ints;
	int32_t *label = call->out[1];
	if (call->op->int_count != INTS || call->op->num_count != 2 * a[C])
		return false;
	for (int64_t i = 0; i < a[BATCH]; i++)
		label[i] = call->samples->label(call->samples->context, sample_at(call, i));
	ls_kernel__rows_ranges(call, a[BATCH], 4, load);
	return true;
}
