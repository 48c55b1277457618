/* adaptive_avgpool_grad: dx = R(rsum of dy/size over the windows that hold the element, in row-major order); windows as in
 * adaptive_avgpool.c. ints {height, width}. dy (N, C, OH, OW) → (N, C, H, W). */
#include "op/pool.h"

enum { HEIGHT, WIDTH, INTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *dy;
	if (!ls_op__arity(program, op, 1, 1, INTS, 0))
		return false;
	dy = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, dy->rank == 4 && ls_op__adaptive_fits(dy) && op->ints[HEIGHT] >= 1 &&
	                                    op->ints[HEIGHT] <= LS_POOL_EXTENT && op->ints[WIDTH] >= 1 &&
	                                    op->ints[WIDTH] <= LS_POOL_EXTENT, "dy (N,C,OH,OW) and an image, 1 to 32768 each way"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){4, {dy->dim[0], dy->dim[1], op->ints[HEIGHT], op->ints[WIDTH]}});
	op->output_count = 1;
	return true;
}

/* Outputs first ≤ o ≤ last hold row y: those with ⌊o·extent/count⌋ ≤ y < ⌈(o+1)·extent/count⌉. */
static void windows_over(int64_t y, int64_t extent, int64_t count, int64_t *first, int64_t *last)
{
	*first = y * count / extent;
	*last = ((y + 1) * count + extent - 1) / extent - 1;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *x = &ls_reader_output(r, 0)->shape, *dy = &ls_reader_input(r, 0)->shape;
	int64_t pixels = x->dim[2] * x->dim[3], plane = index / pixels, at = index % pixels, y0, y1, x0, x1;
	ls_rsum sum;
	ls_rsum_init(&sum);
	windows_over(at / x->dim[3], x->dim[2], dy->dim[2], &y0, &y1);
	windows_over(at % x->dim[3], x->dim[3], dy->dim[3], &x0, &x1);
	for (int64_t oy = y0; oy <= y1; oy++)
		for (int64_t ox = x0; ox <= x1; ox++) {
			ls_window w = ls_op__adaptive_window(x, dy, oy, ox);
			double size = (double)((w.y1 - w.y0) * (w.x1 - w.x0));
			ls_rsum_push(&sum, (double)ls_read_f32(r, 0, (plane * dy->dim[2] + oy) * dy->dim[3] + ox) / size);
		}
	return ls_op__round(r, 0, ls_rsum_finish(&sum));
}

const ls_op_def ls_op__adaptive_avgpool_grad = {
	.kind = "adaptive_avgpool_grad",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){"height", "width", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
