#include "op/row.h"

bool ls_op__rows_fit(ls_program *program, const ls_op *op, int matrices, int first_row)
{
	const ls_shape *x = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, x->rank == 2, "a matrix (N,C)"))
		return false;
	for (int i = 1; i < op->input_count; i++) {
		const ls_shape *s = &ls_op__input(program, op, i)->shape;
		bool fits = i < matrices ? ls_shape_equal(s, x) : s->rank == 1 && s->dim[0] == x->dim[i < first_row];
		if (!ls_op__expect(program, op, fits, "matrices of one shape, then one number per column, then one per row"))
			return false;
	}
	return true;
}

double ls_op__row_rsum(const ls_reader *r, int64_t row, ls_op__term term, float context)
{
	int64_t columns = ls_reader_input(r, 0)->shape.dim[1];
	ls_rsum sum;
	ls_rsum_init(&sum);
	ls_op__add_run(&sum, r, term, context, row * columns, columns);
	return ls_rsum_finish(&sum);
}
