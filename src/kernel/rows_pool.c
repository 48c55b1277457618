// Pooling, one plane (one channel of one image) after another.
#include "kernel/rows.h"

#include "op/pool.h"

enum { WINDOW_MOST = 1024 }; // elements of a window that are gathered on the stack

static int64_t plane_grain(int64_t pixels)
{
	return pixels >= 16384 ? 1 : 16384 / pixels;
}

static bool run_planes(const ls_op_call *call, const ls_shape *x, rows_range_fn fn)
{
	ls_kernel__rows_ranges(call, x->dim[0] * x->dim[1], plane_grain(x->dim[2] * x->dim[3]), fn);
	return true;
}

// No element lies in two windows.
static bool windows_are_apart(const ls_op *op)
{
	return op->ints[LS_POOL_STRIDE] >= op->ints[LS_POOL_KERNEL];
}

// The first maximum of a window, a NaN counting as larger than all, as the op's definition has it.
static int64_t argmax(const float *x, int64_t width, const ls_window *w)
{
	int64_t best = w->y0 * width + w->x0;
	float most = x[best];
	for (int64_t row = w->y0; row < w->y1; row++)
		for (int64_t i = row * width + w->x0, end = row * width + w->x1; i < end; i++)
			if (x[i] > most || (x[i] != x[i] && most == most)) {
				best = i;
				most = x[i];
			}
	return best;
}

static void maxpool(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *x = rows_input_shape(call, 0), *y = rows_output_shape(call, 0);
	int bits = rows_bits(call, 0);
	for (int64_t plane = begin; plane < end; plane++) {
		const float *in = (const float *)call->in[0] + plane * x->dim[2] * x->dim[3];
		float *out = (float *)call->out[0] + plane * y->dim[2] * y->dim[3];
		for (int64_t oy = 0; oy < y->dim[2]; oy++)
			for (int64_t ox = 0; ox < y->dim[3]; ox++) {
				ls_window w = ls_op__window(call->op, x, oy, ox);
				*out++ = rows_round(in[argmax(in, x->dim[3], &w)], bits);
			}
	}
}

bool ls_kernel__rows_maxpool(const ls_op_call *call)
{
	return run_planes(call, rows_input_shape(call, 0), maxpool);
}

static void maxpool_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *x = rows_input_shape(call, 1), *y = rows_input_shape(call, 0);
	int64_t pixels = x->dim[2] * x->dim[3];
	int bits = rows_bits(call, 0);
	for (int64_t plane = begin; plane < end; plane++) {
		const float *in = (const float *)call->in[1] + plane * pixels;
		const float *dy = (const float *)call->in[0] + plane * y->dim[2] * y->dim[3];
		float *dx = (float *)call->out[0] + plane * pixels;
		memset(dx, 0, (size_t)pixels * sizeof *dx);
		for (int64_t oy = 0; oy < y->dim[2]; oy++)
			for (int64_t ox = 0; ox < y->dim[3]; ox++) {
				ls_window w = ls_op__window(call->op, x, oy, ox);
				dx[argmax(in, x->dim[3], &w)] = rows_round(*dy++, bits); // rsum of one term
			}
	}
}

bool ls_kernel__rows_maxpool_grad(const ls_op_call *call)
{
	if (!windows_are_apart(call->op))
		return false;
	return run_planes(call, rows_input_shape(call, 1), maxpool_grad);
}

static int64_t window_size(const ls_window *w)
{
	return (w->y1 - w->y0) * (w->x1 - w->x0);
}

static double window_mean(const float *x, int64_t width, const ls_window *w)
{
	float term[WINDOW_MOST];
	int64_t n = 0;
	for (int64_t row = w->y0; row < w->y1; row++)
		for (int64_t i = w->x0; i < w->x1; i++)
			term[n++] = x[row * width + i];
	return ls_rsum_f32(term, n) / (double)n;
}

static void avgpool(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *x = rows_input_shape(call, 0), *y = rows_output_shape(call, 0);
	int bits = rows_bits(call, 0);
	for (int64_t plane = begin; plane < end; plane++) {
		const float *in = (const float *)call->in[0] + plane * x->dim[2] * x->dim[3];
		float *out = (float *)call->out[0] + plane * y->dim[2] * y->dim[3];
		for (int64_t oy = 0; oy < y->dim[2]; oy++)
			for (int64_t ox = 0; ox < y->dim[3]; ox++) {
				ls_window w = ls_op__window(call->op, x, oy, ox);
				*out++ = rows_round(window_mean(in, x->dim[3], &w), bits);
			}
	}
}

bool ls_kernel__rows_avgpool(const ls_op_call *call)
{
	int64_t k = call->op->ints[LS_POOL_KERNEL];
	if (k * k > WINDOW_MOST)
		return false;
	return run_planes(call, rows_input_shape(call, 0), avgpool);
}

static void avgpool_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *x = rows_output_shape(call, 0), *y = rows_input_shape(call, 0);
	int64_t pixels = x->dim[2] * x->dim[3];
	int bits = rows_bits(call, 0);
	for (int64_t plane = begin; plane < end; plane++) {
		const float *dy = (const float *)call->in[0] + plane * y->dim[2] * y->dim[3];
		float *dx = (float *)call->out[0] + plane * pixels;
		memset(dx, 0, (size_t)pixels * sizeof *dx);
		for (int64_t oy = 0; oy < y->dim[2]; oy++)
			for (int64_t ox = 0; ox < y->dim[3]; ox++) {
				ls_window w = ls_op__window(call->op, x, oy, ox);
				float share = rows_round((double)*dy++ / (double)window_size(&w), bits);
				for (int64_t row = w.y0; row < w.y1; row++)
					for (int64_t i = w.x0; i < w.x1; i++)
						dx[row * x->dim[3] + i] = share;
			}
	}
}

bool ls_kernel__rows_avgpool_grad(const ls_op_call *call)
{
	if (!windows_are_apart(call->op))
		return false;
	return run_planes(call, rows_output_shape(call, 0), avgpool_grad);
}
