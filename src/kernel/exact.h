/* R(E) of single elements of a product, for those that an FP64 sum with its bound does not settle. The cost is in bringing
 * an element's factors together: rows that lie in one piece are read where they are, the others are copied, once for all
 * elements next to each other that need them.
 */
#ifndef LS_KERNEL_EXACT_H
#define LS_KERNEL_EXACT_H

#include "kernel/table.h"

#include <lockstep/kernel.h>

/* Room to work in. Start from {0}; memory grows as needed and is kept. */
typedef struct ls_exact {
	struct ls_exact_worker *worker;
	int workers;
	struct ls_exact_element *element; /* in the order of work */
	size_t elements, positions;       /* room */
	size_t *position;
} ls_exact;

/* LS_ERR_NOMEM where there is no room for two rows per thread, or for the list. */
ls_status ls_kernel__exact_run(ls_exact *space, const ls_kernel_table *table, const ls_exact_call *call, ls_pool *pool,
                               ls_error *err);
void ls_kernel__exact_free(ls_exact *space);

#endif
