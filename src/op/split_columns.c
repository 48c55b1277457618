/* split_columns: x (N, P·C) → P matrices (N, C), columns 0 … C−1, C … 2C−1, …. ints {P}, 2 to 4. Gradient: join_columns. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *x;
	int64_t parts = op->ints[0];
	if (!ls_op__arity(program, op, 1, 1, 1, 0))
		return false;
	x = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, parts >= 2 && parts <= LS_OP_OUTPUTS && x->rank == 2 && x->dim[1] % parts == 0,
	                   "a matrix whose columns fall into 2 to 4 equal parts"))
		return false;
	for (int i = 0; i < parts; i++)
		out[i] = ls_op__f32(program, &(ls_shape){2, {x->dim[0], x->dim[1] / parts}});
	op->output_count = (int)parts;
	return true;
}

static void gradient(ls_op_grad *g)
{
	for (int i = 0; i < g->op->output_count; i++)
		if (g->out_grad[i] < 0) {
			ls_program_fail(g->program, LS_ERR_UNSUPPORTED, "split_columns: every part must have a gradient");
			return;
		}
	ls_op__emit_grad(g, 0, "join_columns", g->out_grad, g->op->output_count, NULL, 0);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	int64_t columns = ls_reader_output(r, 0)->shape.dim[1], parts = r->op->output_count;
	return ls_op__round(r, output, ls_read_f32(r, 0, (index / columns * parts + output) * columns + index % columns));
}

const ls_op_def ls_op__split_columns = {
	.kind = "split_columns",
	.class = LS_OP_ELEMENTWISE,
	.int_names = (const char *const[]){"parts", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){"", ".second", ".third", ".fourth"},
	.infer = infer,
	.gradient = gradient,
	.element = element,
};
