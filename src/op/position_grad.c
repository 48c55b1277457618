/* position_grad: dtable[t, c] = R(strided rsum of dy[i·T + t, c] over the sequences i), +0 for t ≥ T. Input dy (N, C); ints {T,
 * P}; output (P, C). See position_add.c. */
#include "op/op.h"

enum { LENGTH, ROWS, INTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *dy;
	const int64_t *a = op->ints;
	if (!ls_op__arity(program, op, 1, 1, INTS, 0))
		return false;
	dy = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, dy->rank == 2 && a[LENGTH] >= 1 && a[LENGTH] <= a[ROWS] && dy->dim[0] % a[LENGTH] == 0,
	                   "dy (N,C) of whole sequences, no longer than the table"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){2, {a[ROWS], dy->dim[1]}});
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *dy = &ls_reader_input(r, 0)->shape;
	int64_t period = r->op->ints[LENGTH] * dy->dim[1];
	ls_rsum_column sum;
	ls_rsum_column_init(&sum);
	for (int64_t at = index; index < period && at < dy->dim[0] * dy->dim[1]; at += period)
		ls_rsum_column_push(&sum, ls_read_f32(r, 0, at));
	return ls_op__round(r, 0, ls_rsum_column_finish(&sum));
}

const ls_op_def ls_op__position_grad = {
	.kind = "position_grad",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){"length", "rows", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
