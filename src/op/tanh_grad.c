/* tanh_grad: dx = R(dy·(1 − y·y)). Inputs dy and tanh's output y, of one shape. */
#include "op/op.h"

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	double dy = (double)ls_read_f32(r, 0, index), y = (double)ls_read_f32(r, 1, index);
	return ls_op__round(r, 0, dy * (1.0 - y * y));
}

const ls_op_def ls_op__tanh_grad = {
	.kind = "tanh_grad",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = ls_op__infer_map_of_two,
	.element = element,
};
