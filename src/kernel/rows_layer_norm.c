// Layer normalisation, row by row.
#include "kernel/rows.h"

enum { GRAIN = 16384, BLOCK = 256 }; // GRAIN: elements of a range, in whole rows

static void run_rows(const ls_op_call *call, rows_range_fn fn)
{
	const ls_shape *x = rows_input_shape(call, 0);
	ls_kernel__rows_ranges(call, x->dim[0], x->dim[1] >= GRAIN ? 1 : GRAIN / x->dim[1], fn);
}

static double number(const ls_op_call *call, int input, int64_t row)
{
	return ((const float *)call->in[input])[row];
}

static void layer_norm(const ls_op_call *call, int64_t begin, int64_t end)
{
	enum { X, GAMMA, BETA, MEAN, R };
	int64_t columns = rows_input_shape(call, X)->dim[1];
	for (int64_t row = begin; row < end; row++) {
		ls_layer_norm_loop loop = {.mean = number(call, MEAN, row), .r = number(call, R, row), .gamma = call->in[GAMMA],
		                           .beta = call->in[BETA]};
		int64_t at = row * columns;
		rows_loops(call)->layer_norm((float *)call->out[0] + at, (float *)call->out[1] + at, (const float *)call->in[X] + at,
		                             columns, &loop, rows_bits(call, 0));
	}
}

bool ls_kernel__rows_layer_norm(const ls_op_call *call)
{
	run_rows(call, layer_norm);
	return true;
}

static void sums(const ls_op_call *call, int64_t begin, int64_t end)
{
	enum { DY, NORMAL, GAMMA };
	int64_t columns = rows_input_shape(call, DY)->dim[1];
	const ls_loops *loops = rows_loops(call);
	const float *gamma = call->in[GAMMA];
	for (int64_t row = begin; row < end; row++) {
		const float *dy = (const float *)call->in[DY] + row * columns, *normal = (const float *)call->in[NORMAL] + row * columns;
		ls_rsum even, slope;
		ls_rsum_init(&even);
		ls_rsum_init(&slope);
		for (int64_t c = 0; c < columns; c += BLOCK) { // a block's sum is a term one level up
			int64_t n = columns - c < BLOCK ? columns - c : BLOCK;
			ls_rsum_push(&even, loops->dot(dy + c, gamma + c, n));
			ls_rsum_push(&slope, loops->dot3(dy + c, gamma + c, normal + c, n));
		}
		((float *)call->out[0])[row] = rows_round(ls_rsum_finish(&even), rows_bits(call, 0));
		((float *)call->out[1])[row] = rows_round(ls_rsum_finish(&slope), rows_bits(call, 1));
	}
}

bool ls_kernel__rows_layer_norm_sums(const ls_op_call *call)
{
	run_rows(call, sums);
	return true;
}

static void dinput(const ls_op_call *call, int64_t begin, int64_t end)
{
	enum { DY, NORMAL, GAMMA, R, S1, S2 };
	int64_t columns = rows_input_shape(call, DY)->dim[1];
	double n = (double)columns;
	for (int64_t row = begin; row < end; row++) {
		ls_layer_norm_loop loop = {.r = number(call, R, row), .even = number(call, S1, row) / n,
		                           .slope = number(call, S2, row) / n, .gamma = call->in[GAMMA]};
		int64_t at = row * columns;
		rows_loops(call)->layer_norm_dinput((float *)call->out[0] + at, (const float *)call->in[DY] + at,
		                                    (const float *)call->in[NORMAL] + at, columns, &loop, rows_bits(call, 0));
	}
}

bool ls_kernel__rows_layer_norm_dinput(const ls_op_call *call)
{
	run_rows(call, dinput);
	return true;
}
