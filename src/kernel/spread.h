/* Products whose taps mostly fall between the elements: the input gradient of a convolution of stride s, where an output
 * position meets only every s-th tap each way. They are cut into s² products, one for each residue of the position modulo
 * s, none of which has such a tap: a quarter of the work for s = 2.
 *
 * An element has the same terms as before, in the same order, so E and S are what they were; only the blocks in which FP64
 * sums them differ, which a platform may choose. Where blocks are part of the definition, as in mode pinned, they are cut
 * where the whole product's terms have them: ls_kernel__kept_below says how many of a part's terms lie before such a place.
 */
#ifndef LS_KERNEL_SPREAD_H
#define LS_KERNEL_SPREAD_H

#include <lockstep/kernel.h>

#include "kernel/finish.h"

/* Start from {0}. Memory grows as needed and is kept. */
typedef struct ls_spread {
	float *weight, *out; /* operand a and output of one part */
	int64_t weight_room, out_room;
	ls_flag_list part;     /* flags of one part */
	ls_finish_space found; /* and of all so far */
} ls_spread;

/* The terms that a part has of the whole product's, which number channels × height × width of the kernel. */
typedef struct ls_kept {
	int64_t stride, height, width;
	int64_t first_y, taps_y, first_x, taps_x; /* kept: first, first + stride, …, `taps` of them, each way */
} ls_kept;

/* How many of the part's terms are among the first k of the whole product. */
int64_t ls_kernel__kept_below(const ls_kept *kept, int64_t k);

typedef ls_status (*ls_spread_run)(void *engine, const ls_product_call *part, const ls_kept *kept, ls_error *err);

bool ls_kernel__is_spread(const ls_product *product);
/* Has `run` compute the parts, and puts together what they answer. Parts are not spread. */
ls_status ls_kernel__spread_run(ls_spread *s, const ls_product_call *call, ls_pool *pool, ls_spread_run run, void *engine,
                                ls_error *err);
void ls_kernel__spread_free(ls_spread *s);

#endif
