/* Products that are many small ones (ls_slicing), and those of causal attention: cut into plain products, slice by slice and
 * block of rows by block of rows, so that no platform needs to know of either. Of a block's masked part, what lies outside
 * the block's square is never computed.
 *
 * An element keeps its terms and their order. Blocks of rows begin at multiples of 256, and where the terms of a block begin
 * later than the first, they begin at such a multiple, so that sums that are made in blocks of 256 terms keep their blocks.
 * A part has no more terms than the whole, and so no greater depth than the call's bound allows.
 */
#ifndef LS_KERNEL_SLICES_H
#define LS_KERNEL_SLICES_H

#include "kernel/finish.h"

/* Start from {0}. Memory grows as needed and is kept. */
typedef struct ls_slices {
	float *a; /* a block of masked rows, zeros in place of what is no term */
	int64_t a_room;
	ls_flag_list part;     /* flags of one part */
	ls_finish_space found; /* and of all so far */
} ls_slices;

typedef ls_status (*ls_slices_run)(void *context, const ls_product_call *part, ls_error *err);

bool ls_kernel__is_sliced(const ls_product *product);
/* Has `run` compute the parts, and puts together what they answer. */
ls_status ls_kernel__slices_run(ls_slices *s, const ls_product_call *call, ls_slices_run run, void *context, ls_error *err);
void ls_kernel__slices_free(ls_slices *s);

#endif
