/* join_columns: 2 to 4 matrices (N, C) side by side, (N, P·C). */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *x;
	if (!ls_op__arity(program, op, 2, LS_OP_OUTPUTS, 0, 0))
		return false;
	x = &ls_op__input(program, op, 0)->shape;
	for (int i = 0; i < op->input_count; i++)
		if (!ls_op__expect(program, op, x->rank == 2 && ls_shape_equal(&ls_op__input(program, op, i)->shape, x),
		                   "matrices of one shape"))
			return false;
	out[0] = ls_op__f32(program, &(ls_shape){2, {x->dim[0], x->dim[1] * op->input_count}});
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	int64_t columns = ls_reader_input(r, 0)->shape.dim[1], parts = r->op->input_count, block = index / columns;
	return ls_op__round(r, 0, ls_read_f32(r, (int)(block % parts), block / parts * columns + index % columns));
}

const ls_op_def ls_op__join_columns = {
	.kind = "join_columns",
	.class = LS_OP_ELEMENTWISE,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
