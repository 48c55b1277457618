/* scale_by: y = R(x·s), x of any shape, s (1): clipped gradients. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, 2, 2, 0, 0) ||
	    !ls_op__expect(program, op, ls_shape_count(&ls_op__input(program, op, 1)->shape) == 1, "a factor of one element"))
		return false;
	out[0] = ls_op__f32(program, &ls_op__input(program, op, 0)->shape);
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	return ls_op__round(r, 0, (double)ls_read_f32(r, 0, index) * (double)ls_read_f32(r, 1, 0));
}

const ls_op_def ls_op__scale_by = {
	.kind = "scale_by",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
