/* Internal to src/op: windows of the pooling ops. */
#ifndef LS_OP_POOL_H
#define LS_OP_POOL_H

#include "op/op.h"

enum { LS_POOL_KERNEL, LS_POOL_STRIDE, LS_POOL_PAD, LS_POOL_INTS };

/* The part of output position (oy, ox)'s window that lies in the image: rows y0 ≤ y < y1, columns x0 ≤ x < x1. */
typedef struct ls_window {
	int64_t y0, y1, x0, x1;
} ls_window;

ls_window ls_op__window(const ls_op *op, const ls_shape *x, int64_t oy, int64_t ox);
/* Output positions whose window may hold row (or column) y: first ≤ o ≤ last, clamped to 0 … count−1. */
void ls_op__windows_over(const ls_op *op, int64_t y, int64_t count, int64_t *first, int64_t *last);
/* Shape rule of both pools: x (N, C, H, W) → (N, C, OH, OW). */
bool ls_op__pool_infer(ls_program *program, ls_op *op, ls_value *out);
/* Shape rule of both gradients: that the pool, whose ints the op's begin with, makes `dy` of `x`, both (N, C, ·, ·). */
bool ls_op__pool_made(ls_program *program, const ls_op *op, const ls_shape *x, const ls_shape *dy);
/* Index of the first maximum of a window in plane `plane` (= n·C + c) of input `input`; a NaN counts as larger than all. */
int64_t ls_op__argmax(const ls_reader *r, int input, const ls_shape *x, int64_t plane, const ls_window *w);

/* ---- adaptive pools: any image to any number of windows ---- */

#define LS_POOL_EXTENT 32768 /* most rows or columns, so that no product of two overflows */

bool ls_op__adaptive_fits(const ls_shape *x);
/* Window (oy, ox) of the y->dim[2] × y->dim[3] over an image of x->dim[2] × x->dim[3]. */
ls_window ls_op__adaptive_window(const ls_shape *x, const ls_shape *y, int64_t oy, int64_t ox);

#endif
