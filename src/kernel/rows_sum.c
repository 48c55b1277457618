// channel_sum, in the canonical order of rsum (num.h). Both forms sum blocks of 256 terms here and leave the sums of
// blocks to the streaming form, for which a block's sum is a term one level up.
#include "kernel/rows.h"

enum { BLOCK = 256, COLUMNS = 64 };

// (N, C): columns from `begin` to `end`, at most COLUMNS of them, side by side.
static void sum_columns(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *x = rows_input_shape(call, 0);
	ls_rsum_column blocks[COLUMNS];
	float *out = call->out[0];
	for (int64_t c = begin; c < end; c++)
		ls_rsum_column_init(&blocks[c - begin]);
	for (int64_t n = 0; n < x->dim[0]; n += BLOCK) {
		int64_t last = n + BLOCK < x->dim[0] ? n + BLOCK : x->dim[0];
		double sum[COLUMNS] = {0};
		for (int64_t row = n; row < last; row++) {
			const float *in = (const float *)call->in[0] + row * x->dim[1];
			for (int64_t c = begin; c < end; c++)
				sum[c - begin] += (double)in[c];
		}
		// the last, shorter block too: adding it to what the level holds is how the definition ends
		for (int64_t c = begin; c < end; c++)
			ls_rsum_column_push(&blocks[c - begin], sum[c - begin]);
	}
	for (int64_t c = begin; c < end; c++)
		out[c] = rows_round(ls_rsum_column_finish(&blocks[c - begin]), rows_bits(call, 0));
}

// (N, C, H, W): each plane is a run.
static void sum_planes(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *x = rows_input_shape(call, 0);
	int64_t pixels = x->dim[2] * x->dim[3];
	float *out = call->out[0];
	for (int64_t c = begin; c < end; c++) {
		ls_rsum blocks;
		ls_rsum_init(&blocks);
		for (int64_t n = 0; n < x->dim[0]; n++) {
			const float *plane = (const float *)call->in[0] + (n * x->dim[1] + c) * pixels;
			for (int64_t i = 0; i < pixels; i += BLOCK)
				ls_rsum_push(&blocks, ls_rsum_f32(plane + i, pixels - i < BLOCK ? pixels - i : BLOCK));
		}
		out[c] = rows_round(ls_rsum_finish(&blocks), rows_bits(call, 0));
	}
}

bool ls_kernel__rows_channel_sum(const ls_op_call *call)
{
	const ls_shape *x = rows_input_shape(call, 0);
	if (x->rank == 2)
		ls_kernel__rows_ranges(call, x->dim[1], COLUMNS, sum_columns);
	else
		ls_kernel__rows_ranges(call, x->dim[1], 1, sum_planes);
	return true;
}
