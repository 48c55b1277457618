/* maxpool_grad: each dy goes to the first maximum of its window, in row-major order; an element that is the maximum of
 * several windows takes R(rsum) of theirs, in row-major order of the windows. Inputs dy and the pool's input x. */
#include "op/pool.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, 2, 2, LS_POOL_INTS, 0) ||
	    !ls_op__pool_made(program, op, &ls_op__input(program, op, 1)->shape, &ls_op__input(program, op, 0)->shape))
		return false;
	out[0] = ls_op__f32(program, &ls_op__input(program, op, 1)->shape);
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *x = &ls_reader_input(r, 1)->shape, *dy = &ls_reader_input(r, 0)->shape;
	int64_t pixels = x->dim[2] * x->dim[3], plane = index / pixels, at = index % pixels, y0, y1, x0, x1;
	ls_rsum sum;
	ls_rsum_init(&sum);
	ls_op__windows_over(r->op, at / x->dim[3], dy->dim[2], &y0, &y1);
	ls_op__windows_over(r->op, at % x->dim[3], dy->dim[3], &x0, &x1);
	for (int64_t oy = y0; oy <= y1; oy++)
		for (int64_t ox = x0; ox <= x1; ox++) {
			ls_window w = ls_op__window(r->op, x, oy, ox);
			if (ls_op__argmax(r, 1, x, plane, &w) == index)
				ls_rsum_push(&sum, ls_read_f32(r, 0, (plane * dy->dim[2] + oy) * dy->dim[3] + ox));
		}
	return ls_op__round(r, 0, ls_rsum_finish(&sum));
}

const ls_op_def ls_op__maxpool_grad = {
	.kind = "maxpool_grad",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){"kernel", "stride", "pad", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
