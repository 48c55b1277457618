/* channel_dot: R(rsum(a·b)) over each channel of two tensors (N, C, H, W), the planes of the images being its runs, or over each
 * column of two matrices (N, C), strided sums. Output (C). With dy and the normalised x it is the gradient of batch_norm's or
 * layer_norm's γ. */
#include "op/norm.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, 2, 2, 0, 0) ||
	    (ls_op__input(program, op, 0)->shape.rank != 2 && !ls_op__channels_fit(program, op, 0, 0, -1)) ||
	    !ls_op__expect(program, op, ls_shape_equal(&ls_op__input(program, op, 0)->shape, &ls_op__input(program, op, 1)->shape),
	                   "two tensors of one shape"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){1, {ls_op__input(program, op, 0)->shape.dim[1]}});
	op->output_count = 1;
	return true;
}

static double product(const ls_reader *r, float unused, int64_t index)
{
	return (double)ls_read_f32(r, 0, index) * (double)ls_read_f32(r, 1, index);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *x = &ls_reader_input(r, 0)->shape;
	if (x->rank == 2)
		return ls_op__round(r, 0, ls_op__column_sum(r, product, index, x->dim[0], x->dim[1]));
	return ls_op__round(r, 0, ls_op__channel_rsum(r, x, index, product, 0));
}

static int64_t parts(const ls_program *program, const ls_op *op, int output)
{
	const ls_shape *x = &ls_op__input(program, op, 0)->shape;
	return x->rank == 2 ? ls_op__blocks(x->dim[0]) : ls_op__channel_parts(x);
}

const ls_op_def ls_op__channel_dot = {
	.kind = "channel_dot",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
	.parts = parts,
};
