/* Fast loops for ops that are no products. Each returns the bits of the op's definition (ls_op_reference) for every
 * input, which is what allows it to stand in for it.
 */
#ifndef LS_KERNEL_ROWS_H
#define LS_KERNEL_ROWS_H

#include <lockstep/op.h>

/* Runs the op where there is a loop for it; false, with nothing written, where there is none. Uses call->pool. */
bool ls_kernel__rows_run(const ls_op_call *call);

#endif
