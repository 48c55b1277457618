// Batch normalisation, plane by plane: within one (one channel of one image) the channel's numbers are constants.
#include "kernel/rows.h"

enum { GRAIN = 16384 }; // elements of a range, in whole planes

static void run_planes(const ls_op_call *call, rows_range_fn fn)
{
	const ls_shape *x = rows_input_shape(call, 0);
	int64_t pixels = x->dim[2] * x->dim[3];
	ls_kernel__rows_ranges(call, x->dim[0] * x->dim[1], pixels >= GRAIN ? 1 : GRAIN / pixels, fn);
}

static double number(const ls_op_call *call, int input, int64_t channel)
{
	return ((const float *)call->in[input])[channel];
}

static void batch_norm(const ls_op_call *call, int64_t begin, int64_t end)
{
	enum { X, MEAN, R, GAMMA, BETA };
	const ls_shape *shape = rows_input_shape(call, X);
	const float *x = call->in[X];
	float *y = call->out[0], *normal = call->out[1];
	int64_t pixels = shape->dim[2] * shape->dim[3];
	for (int64_t plane = begin; plane < end; plane++) {
		int64_t c = plane % shape->dim[1], at = plane * pixels;
		ls_norm_loop loop = {.mean = number(call, MEAN, c), .r = number(call, R, c), .gamma = number(call, GAMMA, c),
		                     .beta = number(call, BETA, c)};
		rows_loops(call)->batch_norm(y + at, normal + at, x + at, pixels, &loop, rows_bits(call, 0));
	}
}

bool ls_kernel__rows_batch_norm(const ls_op_call *call)
{
	run_planes(call, batch_norm);
	return true;
}

static void dinput(const ls_op_call *call, int64_t begin, int64_t end)
{
	enum { DY, NORMAL, GAMMA, R, S1, S2 };
	const ls_shape *shape = rows_input_shape(call, DY);
	const float *dy = call->in[DY], *normal = call->in[NORMAL];
	float *dx = call->out[0];
	int64_t pixels = shape->dim[2] * shape->dim[3];
	double n = (double)(shape->dim[0] * pixels);
	for (int64_t plane = begin; plane < end; plane++) {
		int64_t c = plane % shape->dim[1], at = plane * pixels;
		ls_norm_loop loop = {.scale = number(call, GAMMA, c) * number(call, R, c), .even = number(call, S1, c) / n,
		                     .slope = number(call, S2, c) / n};
		rows_loops(call)->batch_norm_dinput(dx + at, dy + at, normal + at, pixels, &loop, rows_bits(call, 0));
	}
}

bool ls_kernel__rows_batch_norm_dinput(const ls_op_call *call)
{
	run_planes(call, dinput);
	return true;
}
