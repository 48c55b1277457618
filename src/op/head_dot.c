/* head_dot: D[b, h, t] = R(rsum over d of x[b·T + t, h·D + d]·y[b·T + t, h·D + d]), one run; the products are exact. Inputs x, y
 * (B·T, C); ints {B, H}; output (B, H, T). */
#include "op/attention.h"

enum { BATCH, HEADS, INTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *x;
	ls_heads h;
	if (!ls_op__arity(program, op, 2, 2, INTS, 0))
		return false;
	x = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, ls_shape_equal(x, &ls_op__input(program, op, 1)->shape), "two matrices of one shape") ||
	    !ls_op__heads_of_matrix(program, op, x, op->ints[BATCH], op->ints[HEADS], &h))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){3, {h.batch, h.heads, h.length}});
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *y = &ls_reader_output(r, 0)->shape;
	int64_t columns = ls_reader_input(r, 0)->shape.dim[1], heads = y->dim[1], length = y->dim[2], width = columns / heads;
	int64_t slice = index / length, at = (slice / heads * length + index % length) * columns + slice % heads * width;
	ls_rsum sum;
	ls_rsum_init(&sum);
	for (int64_t d = 0; d < width; d++)
		ls_rsum_push(&sum, (double)ls_read_f32(r, 0, at + d) * (double)ls_read_f32(r, 1, at + d));
	return ls_op__round(r, 0, ls_rsum_finish(&sum));
}

const ls_op_def ls_op__head_dot = {
	.kind = "head_dot",
	.class = LS_OP_SUM,
	.by_sequence = true,
	.int_names = (const char *const[]){"batch", "heads", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
