/* maxpool: the largest element of each window; padding holds no elements. ints {kernel, stride, pad}.
 * x (N, C, H, W) → (N, C, OH, OW). */
#include "op/pool.h"

static void gradient(ls_op_grad *g)
{
	ls_op__emit_grad(g, 0, "maxpool_grad", (int[]){g->out_grad[0], g->op->inputs[0]}, 2, g->op->ints, LS_POOL_INTS);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *x = &ls_reader_input(r, 0)->shape, *y = &ls_reader_output(r, 0)->shape;
	int64_t pixels = y->dim[2] * y->dim[3], at = index % pixels;
	ls_window w = ls_op__window(r->op, x, at / y->dim[3], at % y->dim[3]);
	return ls_op__round(r, 0, ls_read_f32(r, 0, ls_op__argmax(r, 0, x, index / pixels, &w)));
}

const ls_op_def ls_op__maxpool = {
	.kind = "maxpool",
	.class = LS_OP_ELEMENTWISE,
	.int_names = (const char *const[]){"kernel", "stride", "pad", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = ls_op__pool_infer,
	.gradient = gradient,
	.element = element,
};
