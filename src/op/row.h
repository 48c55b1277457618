/* Internal to src/op: what the ops of layer norm share. Each row of x (N, C) is one run of C terms.
 */
#ifndef LS_OP_ROW_H
#define LS_OP_ROW_H

#include "op/op.h"

/* Complains unless inputs 0 … matrices−1 are matrices (N, C) of one shape, inputs first_column … have C elements and inputs
 * first_row … N of them. Inputs come in this order; first_row = input_count where none are per row. */
bool ls_op__rows_fit(ls_program *program, const ls_op *op, int matrices, int first_row);

/* rsum over row n of term(r, context, flat index). */
double ls_op__row_rsum(const ls_reader *r, int64_t row, ls_op__term term, float context);

#endif
