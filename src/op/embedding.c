/* embedding: y[n] = row token[n] of a table, n counting all tokens in row-major order. Inputs table (V, C), tokens (any shape,
 * N in all), int32; output (N, C). A token outside 0 … V−1 gives a row of NaN. The gradient of the table: embedding_grad. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *table;
	if (!ls_op__arity(program, op, 2, 2, 0, 0))
		return false;
	table = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, table->rank == 2, "a table (V,C)"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){2, {ls_shape_count(&ls_op__input(program, op, 1)->shape), table->dim[1]}});
	op->output_count = 1;
	return true;
}

static void gradient(ls_op_grad *g)
{
	ls_op__emit_grad(g, 0, "embedding_grad", (int[]){g->out_grad[0], g->op->inputs[1]}, 2,
	                 &ls_op__input(g->program, g->op, 0)->shape.dim[0], 1);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *table = &ls_reader_input(r, 0)->shape;
	int32_t token = ls_read_i32(r, 1, index / table->dim[1]);
	if (token < 0 || token >= table->dim[0])
		return LS_NAN_BITS;
	return ls_op__round(r, 0, ls_read_f32(r, 0, token * table->dim[1] + index % table->dim[1]));
}

const ls_op_def ls_op__embedding = {
	.kind = "embedding",
	.class = LS_OP_ELEMENTWISE,
	.integers = 1u << 1,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.gradient = gradient,
	.element = element,
};
