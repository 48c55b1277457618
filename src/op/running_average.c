/* running_average: R((1 − m)·old + m·f·new), products from left to right. Inputs old (a tensor of the state), new, of one
 * shape; nums {momentum, factor}: f is 1 for a mean and n/(n−1) for a variance. The output is on the state's grid. */
#include "op/op.h"

enum { MOMENTUM, FACTOR, NUMS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *old;
	if (!ls_op__arity(program, op, 2, 2, 0, NUMS))
		return false;
	old = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, ls_shape_equal(old, &ls_op__input(program, op, 1)->shape), "two tensors of one shape") ||
	    !ls_op__expect(program, op, op->nums[MOMENTUM] >= 0 && op->nums[MOMENTUM] <= 1 && op->nums[FACTOR] >= 0 &&
	                                    op->nums[FACTOR] <= 2, "a momentum between 0 and 1 and a factor between 0 and 2"))
		return false;
	out[0] = (ls_value){.dtype = LS_F32, .bits = ls_program_state_bits(program), .shape = *old};
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const double *n = r->op->nums;
	return ls_op__round(r, 0, (1.0 - n[MOMENTUM]) * (double)ls_read_f32(r, 0, index) +
	                              n[MOMENTUM] * n[FACTOR] * (double)ls_read_f32(r, 1, index));
}

const ls_op_def ls_op__running_average = {
	.kind = "running_average",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){"momentum", "factor", NULL},
	.output_names = (const char *const[]){".next"},
	.infer = infer,
	.element = element,
};
