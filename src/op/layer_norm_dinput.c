/* layer_norm_dinput: dx = R(r·((dy·γ − s₁/C) − x̂·(s₂/C))). Inputs dy, x̂ (N, C), γ (C), r, s₁, s₂ (N). See layer_norm.c. */
#include "op/row.h"

enum { DY, NORMAL, GAMMA, R, S1, S2, INPUTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, INPUTS, INPUTS, 0, 0) || !ls_op__rows_fit(program, op, GAMMA, R))
		return false;
	out[0] = ls_op__f32(program, &ls_op__input(program, op, DY)->shape);
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	int64_t columns = ls_reader_input(r, DY)->shape.dim[1], row = index / columns;
	double n = (double)columns, scaled = (double)ls_read_f32(r, DY, index) * (double)ls_read_f32(r, GAMMA, index % columns);
	double even = scaled - (double)ls_read_f32(r, S1, row) / n;
	return ls_op__round(r, 0, (double)ls_read_f32(r, R, row) *
	                              (even - (double)ls_read_f32(r, NORMAL, index) * ((double)ls_read_f32(r, S2, row) / n)));
}

const ls_op_def ls_op__layer_norm_dinput = {
	.kind = "layer_norm_dinput",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
