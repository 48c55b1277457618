// channel_sum, channel_dot, channel_stats, row_stats, head_dot and square_sum, in the canonical order of rsum (num.h). All sum blocks of 256 terms here and leave the sums of
// blocks to the streaming form, for which a block's sum is a term one level up.
#include "kernel/rows.h"

enum { BLOCK = 256, COLUMNS = 64 };

static void add_row(double *sum, const float *a, const float *b, int64_t n)
{
	if (b)
		for (int64_t c = 0; c < n; c++)
			sum[c] += (double)a[c] * (double)b[c];
	else
		for (int64_t c = 0; c < n; c++)
			sum[c] += (double)a[c];
}

// (N, C): columns from `begin` to `end`, at most COLUMNS of them, side by side; of products where there are two inputs.
static void sum_columns(const ls_op_call *call, int64_t begin, int64_t end)
{
	const float *a = call->in[0], *b = call->op->input_count == 2 ? call->in[1] : NULL;
	const ls_shape *x = rows_input_shape(call, 0);
	ls_rsum_column blocks[COLUMNS];
	float *out = call->out[0];
	for (int64_t c = begin; c < end; c++)
		ls_rsum_column_init(&blocks[c - begin]);
	for (int64_t n = 0; n < x->dim[0]; n += BLOCK) {
		int64_t last = n + BLOCK < x->dim[0] ? n + BLOCK : x->dim[0];
		double sum[COLUMNS] = {0};
		for (int64_t row = n; row < last; row++)
			add_row(sum, a + row * x->dim[1] + begin, b ? b + row * x->dim[1] + begin : NULL, end - begin);
		// the last, shorter block too: adding it to what the level holds is how the definition ends
		for (int64_t c = begin; c < end; c++)
			ls_rsum_column_push(&blocks[c - begin], sum[c - begin]);
	}
	for (int64_t c = begin; c < end; c++)
		out[c] = rows_round(ls_rsum_column_finish(&blocks[c - begin]), rows_bits(call, 0));
}

// (N, C, H, W): each plane is a run.
typedef double (*block_fn)(const ls_op_call *call, int64_t at, int64_t n, double mean);

static double block_sum(const ls_op_call *call, int64_t at, int64_t n, double mean)
{
	return rows_loops(call)->sum((const float *)call->in[0] + at, n);
}

static double block_squares(const ls_op_call *call, int64_t at, int64_t n, double mean)
{
	return rows_loops(call)->squares((const float *)call->in[0] + at, n, mean);
}

static double block_dot(const ls_op_call *call, int64_t at, int64_t n, double mean)
{
	return rows_loops(call)->dot((const float *)call->in[0] + at, (const float *)call->in[1] + at, n);
}

static double over_channel(const ls_op_call *call, int64_t c, block_fn block, double mean)
{
	const ls_shape *x = rows_input_shape(call, 0);
	int64_t pixels = x->dim[2] * x->dim[3];
	ls_rsum blocks;
	ls_rsum_init(&blocks);
	for (int64_t n = 0; n < x->dim[0]; n++) {
		int64_t plane = (n * x->dim[1] + c) * pixels;
		for (int64_t i = 0; i < pixels; i += BLOCK)
			ls_rsum_push(&blocks, block(call, plane + i, pixels - i < BLOCK ? pixels - i : BLOCK, mean));
	}
	return ls_rsum_finish(&blocks);
}

static void sum_planes(const ls_op_call *call, int64_t begin, int64_t end)
{
	for (int64_t c = begin; c < end; c++)
		((float *)call->out[0])[c] = rows_round(over_channel(call, c, block_sum, 0), rows_bits(call, 0));
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

static void channel_dot(const ls_op_call *call, int64_t begin, int64_t end)
{
	for (int64_t c = begin; c < end; c++)
		((float *)call->out[0])[c] = rows_round(over_channel(call, c, block_dot, 0), rows_bits(call, 0));
}

bool ls_kernel__rows_channel_dot(const ls_op_call *call)
{
	const ls_shape *x = rows_input_shape(call, 0);
	if (x->rank == 2)
		ls_kernel__rows_ranges(call, x->dim[1], COLUMNS, sum_columns);
	else
		ls_kernel__rows_ranges(call, x->dim[1], 1, channel_dot);
	return true;
}

// The second pass finds what fits of a channel in the cache.
static void channel_stats(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *x = rows_input_shape(call, 0);
	float *mean = call->out[0], *variance = call->out[1];
	double n = (double)(x->dim[0] * x->dim[2] * x->dim[3]);
	for (int64_t c = begin; c < end; c++) {
		mean[c] = rows_round(over_channel(call, c, block_sum, 0) / n, rows_bits(call, 0));
		variance[c] = rows_round(over_channel(call, c, block_squares, (double)mean[c]) / n, rows_bits(call, 1));
	}
}

bool ls_kernel__rows_channel_stats(const ls_op_call *call)
{
	ls_kernel__rows_ranges(call, rows_input_shape(call, 0)->dim[1], 1, channel_stats);
	return true;
}

// One run that begins at `at`.
static double over_run(const ls_op_call *call, int64_t at, int64_t count, block_fn block, double mean)
{
	ls_rsum blocks;
	if (count <= BLOCK)
		return block(call, at, count, mean);
	ls_rsum_init(&blocks);
	for (int64_t i = 0; i < count; i += BLOCK)
		ls_rsum_push(&blocks, block(call, at + i, count - i < BLOCK ? count - i : BLOCK, mean));
	return ls_rsum_finish(&blocks);
}

static void row_stats(const ls_op_call *call, int64_t begin, int64_t end)
{
	int64_t columns = rows_input_shape(call, 0)->dim[1];
	float *mean = call->out[0], *variance = call->out[1];
	double n = (double)columns;
	for (int64_t row = begin; row < end; row++) {
		mean[row] = rows_round(over_run(call, row * columns, columns, block_sum, 0) / n, rows_bits(call, 0));
		variance[row] = rows_round(over_run(call, row * columns, columns, block_squares, (double)mean[row]) / n, rows_bits(call, 1));
	}
}

bool ls_kernel__rows_row_stats(const ls_op_call *call)
{
	ls_kernel__rows_ranges(call, rows_input_shape(call, 0)->dim[0], 16, row_stats);
	return true;
}

static void head_dot(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *y = rows_output_shape(call, 0); // (B, H, T)
	int64_t heads = y->dim[1], length = y->dim[2], columns = rows_input_shape(call, 0)->dim[1], width = columns / heads;
	for (int64_t i = begin; i < end; i++) {
		int64_t slice = i / length, row = slice / heads * length + i % length;
		double sum = over_run(call, row * columns + slice % heads * width, width, block_dot, 0);
		((float *)call->out[0])[i] = rows_round(sum, rows_bits(call, 0));
	}
}

bool ls_kernel__rows_head_dot(const ls_op_call *call)
{
	ls_kernel__rows_ranges(call, ls_shape_count(rows_output_shape(call, 0)), 64, head_dot);
	return true;
}

static double block_own_squares(const ls_op_call *call, int64_t at, int64_t n, double mean)
{
	const float *g = (const float *)call->in[0] + at;
	return rows_loops(call)->dot(g, g, n);
}

bool ls_kernel__rows_square_sum(const ls_op_call *call)
{
	double sum = over_run(call, 0, ls_shape_count(rows_input_shape(call, 0)), block_own_squares, 0);
	*(float *)call->out[0] = rows_round(sum, rows_bits(call, 0));
	return true;
}
