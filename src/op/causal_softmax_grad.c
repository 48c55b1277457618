/* causal_softmax_grad: dz = R(p·(dp − D_t)) for s ≤ t, else +0. Inputs dp, p (B, H, T, T), D (B, H, T); see causal_softmax.c. */
#include "op/attention.h"

enum { DP, P, DOT, INPUTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *dp, *dot;
	ls_heads h;
	if (!ls_op__arity(program, op, INPUTS, INPUTS, 0, 0))
		return false;
	dp = &ls_op__input(program, op, DP)->shape;
	dot = &ls_op__input(program, op, DOT)->shape;
	if (!ls_op__heads_of_squares(program, op, dp, &h) ||
	    !ls_op__expect(program, op, ls_shape_equal(dp, &ls_op__input(program, op, P)->shape) && dot->rank == 3 &&
	                                    dot->dim[0] == h.batch && dot->dim[1] == h.heads && dot->dim[2] == h.length,
	                   "squares of one shape and one number per row"))
		return false;
	out[0] = ls_op__f32(program, dp);
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	int64_t length = ls_reader_input(r, DP)->shape.dim[3], row = index / length;
	if (index % length > row % length)
		return 0;
	return ls_op__round(r, 0, (double)ls_read_f32(r, P, index) *
	                              ((double)ls_read_f32(r, DP, index) - (double)ls_read_f32(r, DOT, row)));
}

const ls_op_def ls_op__causal_softmax_grad = {
	.kind = "causal_softmax_grad",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.by_sequence = true,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
