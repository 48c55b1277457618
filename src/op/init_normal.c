/* init_normal: R(Z·std), Z the index-th normal number of stream (seed, init, tensor). ints {seed, tensor, then the
 * dimensions}, nums {std}. The output is on the state's grid. */
#include "op/init.h"

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	ls_stream stream = {(uint32_t)r->op->ints[LS_INIT_SEED], LS_PURPOSE_INIT, (uint64_t)r->op->ints[LS_INIT_TENSOR]};
	return ls_op__round(r, 0, ls_random_normal(&stream, (uint64_t)index) * r->op->nums[0]);
}

const ls_op_def ls_op__init_normal = {
	.kind = "init_normal",
	.class = LS_OP_ELEMENTWISE,
	.int_names = (const char *const[]){"seed", "tensor", "dimensions", NULL},
	.num_names = (const char *const[]){"std", NULL},
	.output_names = (const char *const[]){""},
	.infer = ls_op__init_infer,
	.element = element,
};
