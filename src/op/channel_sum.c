/* channel_sum: the gradient of a bias. x (N, C): strided sums over rows; x (N, C, H, W): rsum over each channel, the planes
 * of the images being its runs. Output (C). */
#include "op/norm.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *x;
	if (!ls_op__arity(program, op, 1, 1, 0, 0))
		return false;
	x = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, x->rank == 2 || x->rank == 4, "(N,C) or (N,C,H,W)"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){1, {x->dim[1]}});
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *x = &ls_reader_input(r, 0)->shape;
	if (x->rank == 2)
		return ls_op__round(r, 0, ls_op__column_sum(r, ls_op__value, index, x->dim[0], x->dim[1]));
	return ls_op__round(r, 0, ls_op__channel_rsum(r, x, index, ls_op__value, 0));
}

static int64_t parts(const ls_program *program, const ls_op *op, int output)
{
	const ls_shape *x = &ls_op__input(program, op, 0)->shape;
	return x->rank == 2 ? ls_op__blocks(x->dim[0]) : ls_op__channel_parts(x);
}

const ls_op_def ls_op__channel_sum = {
	.kind = "channel_sum",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
	.parts = parts,
};
