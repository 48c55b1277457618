#include "op/pool.h"

#include "op/conv.h"

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

ls_window ls_op__window(const ls_op *op, const ls_shape *x, int64_t oy, int64_t ox)
{
	int64_t k = op->ints[LS_POOL_KERNEL], y = oy * op->ints[LS_POOL_STRIDE] - op->ints[LS_POOL_PAD];
	int64_t at = ox * op->ints[LS_POOL_STRIDE] - op->ints[LS_POOL_PAD];
	return (ls_window){clamp(y, 0, x->dim[2]), clamp(y + k, 0, x->dim[2]), clamp(at, 0, x->dim[3]), clamp(at + k, 0, x->dim[3])};
}

void ls_op__windows_over(const ls_op *op, int64_t y, int64_t count, int64_t *first, int64_t *last)
{
	int64_t k = op->ints[LS_POOL_KERNEL], stride = op->ints[LS_POOL_STRIDE], padded = y + op->ints[LS_POOL_PAD];
	// window o covers padded rows o·stride … o·stride + k − 1
	*first = padded < k ? 0 : (padded - k) / stride + 1;
	*last = clamp(padded / stride, -1, count - 1);
}

bool ls_op__pool_infer(ls_program *program, ls_op *op, ls_value *out)
{
	int64_t k = op->ints[LS_POOL_KERNEL], stride = op->ints[LS_POOL_STRIDE], pad = op->ints[LS_POOL_PAD];
	const ls_shape *x;
	if (!ls_op__arity(program, op, 1, 1, LS_POOL_INTS, 0))
		return false;
	x = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, x->rank == 4, "x (N,C,H,W)") ||
	    !ls_op__expect(program, op, k >= 1 && k <= 1024 && stride >= 1 && stride <= 1024 && pad >= 0 && pad <= 512 && 2 * pad <= k,
	                   "1 ≤ kernel, 1 ≤ stride, pad at most half the kernel") ||
	    !ls_op__expect(program, op, x->dim[2] + 2 * pad >= k && x->dim[3] + 2 * pad >= k, "an image no smaller than the window"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){4, {x->dim[0], x->dim[1], ls_op__extent(x->dim[2], k, stride, pad),
	                                             ls_op__extent(x->dim[3], k, stride, pad)}});
	op->output_count = 1;
	return true;
}

bool ls_op__pool_made(ls_program *program, const ls_op *op, const ls_shape *x, const ls_shape *dy)
{
	int64_t k = op->ints[LS_POOL_KERNEL], stride = op->ints[LS_POOL_STRIDE], pad = op->ints[LS_POOL_PAD];
	return ls_op__expect(program, op, x->rank == 4 && dy->rank == 4 && x->dim[0] == dy->dim[0] && x->dim[1] == dy->dim[1],
	                     "dy and x (N,C,·,·)") &&
	       ls_op__expect(program, op, k <= 1024 && pad >= 0 && pad <= 512 && 2 * pad <= k &&
	                                      ls_op__fits(x->dim[2], k, stride, pad, dy->dim[2]) &&
	                                      ls_op__fits(x->dim[3], k, stride, pad, dy->dim[3]),
	                     "the extent of the pool's output");
}

int64_t ls_op__argmax(const ls_reader *r, int input, const ls_shape *x, int64_t plane, const ls_window *w)
{
	int64_t best = -1;
	float most = 0;
	for (int64_t y = w->y0; y < w->y1; y++)
		for (int64_t at = w->x0; at < w->x1; at++) {
			int64_t i = (plane * x->dim[2] + y) * x->dim[3] + at;
			float v = ls_read_f32(r, input, i);
			if (best < 0 || v > most || (v != v && most == most)) {
				best = i;
				most = v;
			}
		}
	return best;
}

bool ls_op__adaptive_fits(const ls_shape *x)
{
	return x->dim[2] <= LS_POOL_EXTENT && x->dim[3] <= LS_POOL_EXTENT;
}

ls_window ls_op__adaptive_window(const ls_shape *x, const ls_shape *y, int64_t oy, int64_t ox)
{
	return (ls_window){oy * x->dim[2] / y->dim[2], ((oy + 1) * x->dim[2] + y->dim[2] - 1) / y->dim[2],
	                   ox * x->dim[3] / y->dim[3], ((ox + 1) * x->dim[3] + y->dim[3] - 1) / y->dim[3]};
}
