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

// The common kind has loops of its own.
static bool windows_are_2x2(const ls_op *op)
{
	return op->ints[LS_POOL_KERNEL] == 2 && op->ints[LS_POOL_STRIDE] == 2 && op->ints[LS_POOL_PAD] == 0;
}

static void max2x2(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *x = rows_input_shape(call, 0), *y = rows_output_shape(call, 0);
	int64_t width = x->dim[3], columns = y->dim[3];
	for (int64_t plane = begin; plane < end; plane++)
		for (int64_t oy = 0; oy < y->dim[2]; oy++) {
			const float *row = (const float *)call->in[0] + (plane * x->dim[2] + 2 * oy) * width;
			float *out = (float *)call->out[0] + (plane * y->dim[2] + oy) * columns;
			rows_loops(call)->max2x2(out, row, row + width, columns, rows_bits(call, 0));
		}
}

bool ls_kernel__rows_maxpool(const ls_op_call *call)
{
	return run_planes(call, rows_input_shape(call, 0), windows_are_2x2(call->op) ? max2x2 : maxpool);
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

static void max2x2_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *x = rows_input_shape(call, 1), *y = rows_input_shape(call, 0);
	int64_t width = x->dim[3], columns = y->dim[3], pixels = x->dim[2] * width;
	for (int64_t plane = begin; plane < end; plane++) {
		float *dx = (float *)call->out[0] + plane * pixels;
		const float *in = (const float *)call->in[1] + plane * pixels;
		if (x->dim[2] % 2 || width % 2)
			memset(dx, 0, (size_t)pixels * sizeof *dx); // the last row and column lie in no window
		for (int64_t oy = 0; oy < y->dim[2]; oy++) {
			const float *dy = (const float *)call->in[0] + (plane * y->dim[2] + oy) * columns, *row = in + 2 * oy * width;
			float *to = dx + 2 * oy * width;
			rows_loops(call)->max2x2_grad(to, to + width, dy, row, row + width, columns, rows_bits(call, 0));
		}
	}
}

bool ls_kernel__rows_maxpool_grad(const ls_op_call *call)
{
	if (!windows_are_apart(call->op))
		return false;
	return run_planes(call, rows_input_shape(call, 1), windows_are_2x2(call->op) ? max2x2_grad : maxpool_grad);
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

// Adaptive averages: over whole planes by the loops, over other windows term by term.
static double plane_sum(const ls_op_call *call, const float *x, int64_t n)
{
	ls_rsum blocks;
	if (n <= LS_RSUM_BLOCK)
		return rows_loops(call)->sum(x, n);
	ls_rsum_init(&blocks);
	for (int64_t i = 0; i < n; i += LS_RSUM_BLOCK)
		ls_rsum_push(&blocks, rows_loops(call)->sum(x + i, n - i < LS_RSUM_BLOCK ? n - i : LS_RSUM_BLOCK));
	return ls_rsum_finish(&blocks);
}

static double window_sum(const float *x, int64_t width, const ls_window *w)
{
	ls_rsum sum;
	ls_rsum_init(&sum);
	for (int64_t row = w->y0; row < w->y1; row++)
		for (int64_t i = w->x0; i < w->x1; i++)
			ls_rsum_push(&sum, x[row * width + i]);
	return ls_rsum_finish(&sum);
}

static void adaptive_avgpool(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *x = rows_input_shape(call, 0), *y = rows_output_shape(call, 0);
	int64_t pixels = x->dim[2] * x->dim[3], windows = y->dim[2] * y->dim[3];
	int bits = rows_bits(call, 0);
	for (int64_t plane = begin; plane < end; plane++) {
		const float *in = (const float *)call->in[0] + plane * pixels;
		float *out = (float *)call->out[0] + plane * windows;
		for (int64_t i = 0; i < windows; i++) {
			ls_window w = ls_op__adaptive_window(x, y, i / y->dim[3], i % y->dim[3]);
			double sum = windows == 1 ? plane_sum(call, in, pixels) : window_sum(in, x->dim[3], &w);
			out[i] = rows_round(sum / (double)window_size(&w), bits);
		}
	}
}

bool ls_kernel__rows_adaptive_avgpool(const ls_op_call *call)
{
	return run_planes(call, rows_input_shape(call, 0), adaptive_avgpool);
}

static void adaptive_avgpool_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *x = rows_output_shape(call, 0), *y = rows_input_shape(call, 0);
	int64_t high = x->dim[2] / y->dim[2], wide = x->dim[3] / y->dim[3], pixels = x->dim[2] * x->dim[3];
	int bits = rows_bits(call, 0);
	for (int64_t plane = begin; plane < end; plane++) {
		const float *dy = (const float *)call->in[0] + plane * y->dim[2] * y->dim[3];
		float *dx = (float *)call->out[0] + plane * pixels;
		for (int64_t row = 0; row < x->dim[2]; row++)
			for (int64_t ox = 0; ox < y->dim[3]; ox++) {
				float share = rows_round((double)dy[row / high * y->dim[3] + ox] / (double)(high * wide), bits);
				for (int64_t i = 0; i < wide; i++)
					*dx++ = share;
			}
	}
}

// Where windows are of one size, each element lies in one of them.
bool ls_kernel__rows_adaptive_avgpool_grad(const ls_op_call *call)
{
	const ls_shape *x = rows_output_shape(call, 0), *y = rows_input_shape(call, 0);
	if (x->dim[2] % y->dim[2] || x->dim[3] % y->dim[3])
		return false;
	return run_planes(call, x, adaptive_avgpool_grad);
}
