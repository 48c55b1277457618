/* rsqrt_eps: r = R(rsqrt(RNE32(v + ε))), rsqrt correctly rounded to FP32. Any shape; nums {epsilon}. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, 1, 1, 0, 1) ||
	    !ls_op__expect(program, op, op->nums[0] > 0 && op->nums[0] < 1, "an epsilon between 0 and 1"))
		return false;
	out[0] = ls_op__f32(program, &ls_op__input(program, op, 0)->shape);
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	return ls_op__round(r, 0, ls_rsqrt(ls_f32((double)ls_read_f32(r, 0, index) + r->op->nums[0])));
}

const ls_op_def ls_op__rsqrt_eps = {
	.kind = "rsqrt_eps",
	.class = LS_OP_FUNCTION,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){"epsilon", NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
