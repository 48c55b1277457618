/* The end of a product: bounds from norms, rounding to the grid, the rounding test, flags. Every platform that has FP64
 * sums of a tile ends here.
 *
 * The bound. S = Σ|ab| + |bias| ≤ ‖a‖·‖b‖ + |bias| (Cauchy–Schwarz; |bias| because its factor is 1), and B is a factor
 * times S, plus a floor: t = ls_bound_t(‖a‖)·‖b‖ + ls_bound_t(|bias|) + ls_bound_floor(). A norm is the root of fewer than 2^21 exact squares summed in
 * FP64, so it is too small by less than 2^-31 of itself, and t's own few roundings lose less than 2^-50: ls_bound_t's factor
 * 1 + 2^-20 covers both.
 *
 * Non-terms are packed as zero factors: adding 0·w to a sum that began at +0 changes no bit while w is finite. Where
 * some factor is not finite, its product is infinite or NaN (also 0·inf), and no later addition makes that finite again: a
 * finite C proves that every factor was finite, and a C that is not finite is flagged, so that the caller decides it
 * from the definition, which skips non-terms.
 */
#ifndef LS_KERNEL_FINISH_H
#define LS_KERNEL_FINISH_H

#include "kernel/certificate.h"
#include "kernel/pack.h"

#include <lockstep/kernel.h>

/* Sparse factors (behind a ReLU or a pooling) often have no term in common with each other, and then C = 0 while t is not.
 * With no more terms than this, that is found out here, where an element costs a few operations, instead of by a flag. */
enum { LS_SUPPORT_TERMS_MAX = 1024 };

/* FP64 sums of rows i0 … i0+m−1, columns j0 … j0+n−1. */
typedef struct ls_sums {
	int64_t i0, j0, m, n;
	const double *c; /* element (i, j) at c[(i−i0)·ldc + j−j0] */
	int64_t ldc;
	const ls_findings *rows, *columns; /* Σa² of the m rows, Σb² of the n columns, and where their factors are not zero, or NULL;
	                                    * in mode plain unused */
} ls_sums;

/* Room to work in, and the flags that are found. */
typedef struct ls_finish_space {
	double *row, *row_bias;       /* at least m */
	double *column, *column_bias; /* these and the next at least n */
	float *value;
	uint32_t *hit;
	ls_flag_list flags;
	ls_certificate certificate;
} ls_finish_space;

/* What a finish space has grown by itself. */
void ls_kernel__finish_free(ls_finish_space *space);

/* Writes the tile's part of call->out and appends its flags. The sample, if it lies in the tile, is flagged once.
 * LS_ERR_NOMEM where the list of flags cannot grow. */
ls_status ls_kernel__finish(const ls_kernel_table *table, const ls_product_call *call, const ls_sums *sums,
                            ls_finish_space *space);

/* Appends to a list; LS_ERR_NOMEM where it cannot grow. */
ls_status ls_kernel__push_flag(ls_flag_list *list, const ls_flag *flag);

/* Moves all flags into `out`, ascending by index; the lists are left empty. */
ls_status ls_kernel__gather_flags(ls_flag_list *out, ls_finish_space *const *spaces, int count);

/* LS_OK where the call is sane and this depth of summation is allowed by its d. */
ls_status ls_kernel__check_call(const ls_product_call *call, int64_t depth, ls_error *err);

#endif
