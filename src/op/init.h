/* Internal to src/op: what the ops of step 0 share. */
#ifndef LS_OP_INIT_H
#define LS_OP_INIT_H

#include "op/op.h"

enum { LS_INIT_SEED, LS_INIT_TENSOR, LS_INIT_DIM0 };

/* The shape in the int attributes from `first` on, checked to have 1 to 4 dimensions. */
bool ls_op__shape_attributes(ls_program *program, const ls_op *op, int first, ls_shape *out);

/* Shape rule: no inputs, the dimensions from the attributes, the state's grid. */
bool ls_op__init_infer(ls_program *program, ls_op *op, ls_value *out);

#endif
