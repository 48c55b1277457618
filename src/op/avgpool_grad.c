/* avgpool_grad: dx = R(rsum of dy/n over the windows that hold the element, in row-major order); n as in avgpool.
 * ints {kernel, stride, pad, H, W}. dy (N, C, OH, OW) → (N, C, H, W). */
#include "op/pool.h"

enum { HEIGHT = LS_POOL_INTS, WIDTH, INTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *dy;
	ls_shape x;
	if (!ls_op__arity(program, op, 1, 1, INTS, 0))
		return false;
	dy = &ls_op__input(program, op, 0)->shape;
	x = (ls_shape){4, {dy->dim[0], dy->dim[1], op->ints[HEIGHT], op->ints[WIDTH]}};
	if (!ls_op__pool_made(program, op, &x, dy))
		return false;
	out[0] = ls_op__f32(program, &x);
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *x = &ls_reader_output(r, 0)->shape, *dy = &ls_reader_input(r, 0)->shape;
	int64_t pixels = x->dim[2] * x->dim[3], plane = index / pixels, at = index % pixels, y0, y1, x0, x1;
	ls_rsum sum;
	ls_rsum_init(&sum);
	ls_op__windows_over(r->op, at / x->dim[3], dy->dim[2], &y0, &y1);
	ls_op__windows_over(r->op, at % x->dim[3], dy->dim[3], &x0, &x1);
	for (int64_t oy = y0; oy <= y1; oy++)
		for (int64_t ox = x0; ox <= x1; ox++) {
			ls_window w = ls_op__window(r->op, x, oy, ox);
			double n = (double)((w.y1 - w.y0) * (w.x1 - w.x0));
			ls_rsum_push(&sum, (double)ls_read_f32(r, 0, (plane * dy->dim[2] + oy) * dy->dim[3] + ox) / n);
		}
	return ls_op__round(r, 0, ls_rsum_finish(&sum));
}

const ls_op_def ls_op__avgpool_grad = {
	.kind = "avgpool_grad",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){"kernel", "stride", "pad", "height", "width", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
