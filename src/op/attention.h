/* Internal to src/op: what the ops of attention share. Matrices (B·T, C) hold B sequences of T rows one behind the other, and in
 * their columns H heads of D = C/H side by side; tensors (B, H, T, T) hold a square for each, (query, key). Slice s is head
 * s mod H of sequence ⌊s/H⌋.
 */
#ifndef LS_OP_ATTENTION_H
#define LS_OP_ATTENTION_H

#include "op/op.h"

typedef struct ls_heads {
	int64_t batch, heads, length, width; /* B, H, T, D */
} ls_heads;

/* From a matrix and the op's B and H; false, with a complaint, where they do not divide it. */
bool ls_op__heads_of_matrix(ls_program *program, const ls_op *op, const ls_shape *x, int64_t batch, int64_t heads, ls_heads *out);
/* From squares (B, H, T, T). */
bool ls_op__heads_of_squares(ls_program *program, const ls_op *op, const ls_shape *squares, ls_heads *out);

ls_shape ls_op__matrix_shape(const ls_heads *h);
ls_shape ls_op__squares_shape(const ls_heads *h);

/* Slices of a matrix, `rows` rows of an operand each; slices of the squares. */
ls_slicing ls_op__matrix_slices(const ls_heads *h, int64_t rows);
ls_slicing ls_op__squares_slices(const ls_heads *h);

#endif
