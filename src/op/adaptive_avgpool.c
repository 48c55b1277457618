/* adaptive_avgpool: averages over out_height × out_width windows that cover the image: window (i, j) holds the rows
 * ⌊i·H/OH⌋ … ⌈(i+1)·H/OH⌉ − 1 and columns likewise, so that windows may overlap, or repeat where the output is the larger.
 * R(rsum(window)/size), the window being one run in row-major order. ints {out_height, out_width}.
 * x (N, C, H, W) → (N, C, OH, OW). */
#include "op/pool.h"

enum { OUT_HEIGHT, OUT_WIDTH, INTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *x;
	if (!ls_op__arity(program, op, 1, 1, INTS, 0))
		return false;
	x = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, x->rank == 4 && ls_op__adaptive_fits(x) && op->ints[OUT_HEIGHT] >= 1 &&
	                                    op->ints[OUT_HEIGHT] <= LS_POOL_EXTENT && op->ints[OUT_WIDTH] >= 1 &&
	                                    op->ints[OUT_WIDTH] <= LS_POOL_EXTENT, "x (N,C,H,W) and windows, 1 to 32768 each way"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){4, {x->dim[0], x->dim[1], op->ints[OUT_HEIGHT], op->ints[OUT_WIDTH]}});
	op->output_count = 1;
	return true;
}

static void gradient(ls_op_grad *g)
{
	const ls_shape *x = &ls_op__input(g->program, g->op, 0)->shape;
	ls_op__emit_grad(g, 0, "adaptive_avgpool_grad", g->out_grad, 1, &x->dim[2], 2);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *x = &ls_reader_input(r, 0)->shape, *y = &ls_reader_output(r, 0)->shape;
	int64_t pixels = y->dim[2] * y->dim[3], plane = index / pixels, at = index % pixels;
	ls_window w = ls_op__adaptive_window(x, y, at / y->dim[3], at % y->dim[3]);
	ls_rsum sum;
	ls_rsum_init(&sum);
	for (int64_t row = w.y0; row < w.y1; row++)
		for (int64_t column = w.x0; column < w.x1; column++)
			ls_rsum_push(&sum, ls_read_f32(r, 0, (plane * x->dim[2] + row) * x->dim[3] + column));
	return ls_op__round(r, 0, ls_rsum_finish(&sum) / (double)((w.y1 - w.y0) * (w.x1 - w.x0)));
}

const ls_op_def ls_op__adaptive_avgpool = {
	.kind = "adaptive_avgpool",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){"out_height", "out_width", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.gradient = gradient,
	.element = element,
};
