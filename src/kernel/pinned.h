/* Products in mode pinned: FP32, one order of fused multiply-adds per element (ls_product_pinned). No engine has a say in
 * that order, so all platforms but naive compute it here.
 *
 * Places that are no terms are packed as zero factors. fma(0, w, acc) is acc while w is finite, except that it may turn an
 * acc of −0 into +0. The sign of a zero decides nothing but the sign of later zeros, and R has one zero, so the element
 * keeps its bits. Where some factor is not finite its term is infinite or NaN (also 0·inf), and no later operation makes
 * the sum finite again: such sums are flagged, and the definition decides them.
 */
#ifndef LS_KERNEL_PINNED_H
#define LS_KERNEL_PINNED_H

#include "kernel/finish.h"
#include "kernel/spread.h"

/* Room to work in. Start from {0}; memory grows as needed and is kept. */
typedef struct ls_pinned {
	struct ls_pinned_worker *worker;
	int workers;
} ls_pinned;

/* The call has passed ls_kernel__check_call. a, b: its product's operands, perhaps in another form. `kept`: the product is a
 * part of another, and blocks are cut where that one has them; else NULL. */
ls_status ls_kernel__pinned_run(ls_pinned *space, const ls_kernel_table *table, const ls_product_call *call,
                                const ls_source *a, const ls_source *b, const ls_kept *kept, ls_pool *pool, ls_error *err);
void ls_kernel__pinned_free(ls_pinned *space);

#endif
