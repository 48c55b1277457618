/* tanh: y = R(tanh x), tanh correctly rounded to FP32. Any shape, no attributes. */
#include "op/op.h"

static void gradient(ls_op_grad *g)
{
	ls_op__emit_grad(g, 0, "tanh_grad", (int[]){g->out_grad[0], g->op->outputs[0]}, 2, NULL, 0);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	return ls_op__round(r, 0, (double)ls_tanh(ls_read_f32(r, 0, index)));
}

const ls_op_def ls_op__tanh = {
	.kind = "tanh",
	.class = LS_OP_FUNCTION,
	.shares = {1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = ls_op__infer_map,
	.gradient = gradient,
	.element = element,
};
