/* avgpool: R(rsum(window)/n), n the number of elements of the window that lie in the image. ints {kernel, stride, pad}.
 * x (N, C, H, W) → (N, C, OH, OW); the window is one run, in row-major order. */
#include "op/pool.h"

static void gradient(ls_op_grad *g)
{
	const ls_shape *x = &ls_op__input(g->program, g->op, 0)->shape;
	int64_t ints[] = {g->op->ints[LS_POOL_KERNEL], g->op->ints[LS_POOL_STRIDE], g->op->ints[LS_POOL_PAD], x->dim[2], x->dim[3]};
	ls_op__emit_grad(g, 0, "avgpool_grad", g->out_grad, 1, ints, 5);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *x = &ls_reader_input(r, 0)->shape, *y = &ls_reader_output(r, 0)->shape;
	int64_t pixels = y->dim[2] * y->dim[3], plane = index / pixels, at = index % pixels;
	ls_window w = ls_op__window(r->op, x, at / y->dim[3], at % y->dim[3]);
	ls_rsum sum;
	ls_rsum_init(&sum);
	for (int64_t row = w.y0; row < w.y1; row++)
		for (int64_t column = w.x0; column < w.x1; column++)
			ls_rsum_push(&sum, ls_read_f32(r, 0, (plane * x->dim[2] + row) * x->dim[3] + column));
	return ls_op__round(r, 0, ls_rsum_finish(&sum) / (double)((w.y1 - w.y0) * (w.x1 - w.x0)));
}

const ls_op_def ls_op__avgpool = {
	.kind = "avgpool",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){"kernel", "stride", "pad", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = ls_op__pool_infer,
	.gradient = gradient,
	.element = element,
};
