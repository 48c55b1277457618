/* reshape: the same elements in the same row-major order under another shape. ints: the dimensions, 1 to 4 of them. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	ls_shape shape = {.rank = op->int_count};
	int64_t left; // elements that the dimensions so far do not account for
	if (!ls_op__expect(program, op, op->input_count == 1 && op->num_count == 0, "one input") ||
	    !ls_op__expect(program, op, op->int_count >= 1 && op->int_count <= LS_RANK_MAX, "1 to 4 dimensions"))
		return false;
	left = ls_shape_count(&ls_op__input(program, op, 0)->shape);
	for (int i = 0; i < shape.rank; i++) {
		if (!ls_op__expect(program, op, op->ints[i] >= 1 && left % op->ints[i] == 0, "as many elements as before"))
			return false;
		shape.dim[i] = op->ints[i];
		left /= op->ints[i];
	}
	out[0] = ls_op__f32(program, &shape);
	out[0].bits = ls_op__input(program, op, 0)->bits; // the words are passed on as they are
	op->output_count = 1;
	return ls_op__expect(program, op, left == 1, "as many elements as before");
}

static void gradient(ls_op_grad *g)
{
	const ls_shape *shape = &ls_op__input(g->program, g->op, 0)->shape;
	ls_op__emit_grad(g, 0, "reshape", &g->out_grad[0], 1, shape->dim, shape->rank);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	return r->word(r->context, 0, index);
}

const ls_op_def ls_op__reshape = {
	.kind = "reshape",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.int_names = (const char *const[]){"dimensions", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.gradient = gradient,
	.element = element,
};
