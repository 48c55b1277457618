/* init_const: R(value) everywhere. ints {seed, tensor, then the dimensions} (seed and tensor unused), nums {value}. The output
 * is on the state's grid. */
#include "op/init.h"

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	return ls_op__round(r, 0, r->op->nums[0]);
}

const ls_op_def ls_op__init_const = {
	.kind = "init_const",
	.class = LS_OP_ELEMENTWISE,
	.int_names = (const char *const[]){"seed", "tensor", "dimensions", NULL},
	.num_names = (const char *const[]){"value", NULL},
	.output_names = (const char *const[]){""},
	.infer = ls_op__init_infer,
	.element = element,
};
