/* embedding_grad: dtable[v, c] = R(strided rsum of dy[n, c] over the n with token[n] = v, ascending). Inputs dy (N, C), tokens (N
 * in all), int32; ints {V}; output (V, C). A row without tokens is +0. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *dy;
	if (!ls_op__arity(program, op, 2, 2, 1, 0))
		return false;
	dy = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, dy->rank == 2 && ls_shape_count(&ls_op__input(program, op, 1)->shape) == dy->dim[0],
	                   "dy (N,C) and N tokens") ||
	    !ls_op__expect(program, op, op->ints[0] >= 1 && op->ints[0] <= INT32_MAX, "a table of 1 to 2^31-1 rows"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){2, {op->ints[0], dy->dim[1]}});
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *dy = &ls_reader_input(r, 0)->shape;
	int64_t row = index / dy->dim[1], column = index % dy->dim[1];
	ls_rsum_column sum;
	ls_rsum_column_init(&sum);
	for (int64_t n = 0; n < dy->dim[0]; n++)
		if (ls_read_i32(r, 1, n) == row)
			ls_rsum_column_push(&sum, ls_read_f32(r, 0, n * dy->dim[1] + column));
	return ls_op__round(r, 0, ls_rsum_column_finish(&sum));
}

const ls_op_def ls_op__embedding_grad = {
	.kind = "embedding_grad",
	.class = LS_OP_SUM,
	.integers = 1u << 1,
	.int_names = (const char *const[]){"rows", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
