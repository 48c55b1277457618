/* relu_grad: dx = dy where y > 0, else +0. Inputs dy and relu's output y, of one shape. */
#include "op/op.h"

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	return ls_op__round(r, 0, ls_read_f32(r, 1, index) > 0 ? (double)ls_read_f32(r, 0, index) : 0.0);
}

const ls_op_def ls_op__relu_grad = {
	.kind = "relu_grad",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = ls_op__infer_map_of_two,
	.element = element,
};
