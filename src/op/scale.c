/* scale: y = R(x·c), any shape. nums {c}, finite. Gradient: the same of dy. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, 1, 1, 0, 1) || !ls_op__expect(program, op, op->nums[0] - op->nums[0] == 0, "a finite factor"))
		return false;
	out[0] = ls_op__f32(program, &ls_op__input(program, op, 0)->shape);
	op->output_count = 1;
	return true;
}

static void gradient(ls_op_grad *g)
{
	ls_op__emit_same(g, 0);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	return ls_op__round(r, 0, (double)ls_read_f32(r, 0, index) * r->op->nums[0]);
}

const ls_op_def ls_op__scale = {
	.kind = "scale",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.by_sequence = true,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){"factor", NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.gradient = gradient,
	.element = element,
};
