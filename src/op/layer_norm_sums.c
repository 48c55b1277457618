/* layer_norm_sums: s₁ = R(rsum(dy·γ)), s₂ = R(rsum((dy·γ)·x̂)) over each row. Inputs dy, x̂ (N, C), γ (C); outputs s₁, s₂ (N). See
 * layer_norm.c. */
#include "op/row.h"

enum { DY, NORMAL, GAMMA, INPUTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, INPUTS, INPUTS, 0, 0) || !ls_op__rows_fit(program, op, GAMMA, INPUTS))
		return false;
	out[0] = out[1] = ls_op__f32(program, &(ls_shape){1, {ls_op__input(program, op, DY)->shape.dim[0]}});
	op->output_count = 2;
	return true;
}

static double scaled(const ls_reader *r, float unused, int64_t index)
{
	return (double)ls_read_f32(r, DY, index) * (double)ls_read_f32(r, GAMMA, index % ls_reader_input(r, DY)->shape.dim[1]);
}

static double sloped(const ls_reader *r, float unused, int64_t index)
{
	return scaled(r, unused, index) * (double)ls_read_f32(r, NORMAL, index);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	return ls_op__round(r, output, ls_op__row_rsum(r, index, output == 0 ? scaled : sloped, 0));
}

const ls_op_def ls_op__layer_norm_sums = {
	.kind = "layer_norm_sums",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){".even", ".slope"},
	.infer = infer,
	.element = element,
};
