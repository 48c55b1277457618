/* gelu_grad: dx = R(dy·g′), g′ the derivative at gelu's input x, correctly rounded to FP32. Inputs dy and x, of one shape. */
#include "op/op.h"

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	return ls_op__round(r, 0, (double)ls_read_f32(r, 0, index) * (double)ls_gelu_slope(ls_read_f32(r, 1, index)));
}

const ls_op_def ls_op__gelu_grad = {
	.kind = "gelu_grad",
	.class = LS_OP_FUNCTION,
	.shares = {1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = ls_op__infer_map_of_two,
	.element = element,
};
