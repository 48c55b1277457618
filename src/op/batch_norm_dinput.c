/* batch_norm_dinput: dx = R((γ·r)·((dy − s₁/n) − x̂·(s₂/n))), n = N·H·W. Inputs dy, x̂ (N, C, H, W), γ, r, s₁, s₂ (C). See
 * batch_norm.c. */
#include "op/norm.h"

enum { DY, NORMAL, GAMMA, R, S1, S2, INPUTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, INPUTS, INPUTS, 0, 0) || !ls_op__channels_fit(program, op, DY, GAMMA, S2) ||
	    !ls_op__expect(program, op, ls_shape_equal(&ls_op__input(program, op, DY)->shape, &ls_op__input(program, op, NORMAL)->shape),
	                   "dy and the normalised x of one shape"))
		return false;
	out[0] = ls_op__f32(program, &ls_op__input(program, op, DY)->shape);
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *x = &ls_reader_input(r, DY)->shape;
	int64_t c = ls_op__channel_of(x, index);
	double n = (double)ls_op__channel_size(x), scale = (double)ls_read_f32(r, GAMMA, c) * (double)ls_read_f32(r, R, c);
	double even = (double)ls_read_f32(r, DY, index) - (double)ls_read_f32(r, S1, c) / n;
	return ls_op__round(r, 0, scale * (even - (double)ls_read_f32(r, NORMAL, index) * ((double)ls_read_f32(r, S2, c) / n)));
}

const ls_op_def ls_op__batch_norm_dinput = {
	.kind = "batch_norm_dinput",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
