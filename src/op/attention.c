#include "op/attention.h"

bool ls_op__heads_of_matrix(ls_program *program, const ls_op *op, const ls_shape *x, int64_t batch, int64_t heads, ls_heads *out)
{
	if (!ls_op__expect(program, op, x->rank == 2 && batch >= 1 && heads >= 1 && x->dim[0] % batch == 0 && x->dim[1] % heads == 0,
	                   "a matrix (B·T,C) of B sequences and H heads"))
		return false;
	*out = (ls_heads){batch, heads, x->dim[0] / batch, x->dim[1] / heads};
	return ls_op__expect(program, op, out->length < LS_TERMS_MAX && out->width < LS_TERMS_MAX, "fewer than 2^21 terms");
}

bool ls_op__heads_of_squares(ls_program *program, const ls_op *op, const ls_shape *squares, ls_heads *out)
{
	if (!ls_op__expect(program, op, squares->rank == 4 && squares->dim[2] == squares->dim[3], "squares (B,H,T,T)"))
		return false;
	*out = (ls_heads){squares->dim[0], squares->dim[1], squares->dim[2], 0};
	return true;
}

ls_shape ls_op__matrix_shape(const ls_heads *h)
{
	return (ls_shape){2, {h->batch * h->length, h->heads * h->width}};
}

ls_shape ls_op__squares_shape(const ls_heads *h)
{
	return (ls_shape){4, {h->batch, h->heads, h->length, h->length}};
}

ls_slicing ls_op__matrix_slices(const ls_heads *h, int64_t rows)
{
	return (ls_slicing){rows, h->heads, h->length * h->heads * h->width, h->width};
}

ls_slicing ls_op__squares_slices(const ls_heads *h)
{
	int64_t square = h->length * h->length;
	return (ls_slicing){h->length, h->heads, h->heads * square, square};
}
