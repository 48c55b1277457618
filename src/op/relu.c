/* relu: y = x where x > 0 or x is NaN, else +0. Any shape, no attributes. */
#include "op/op.h"

static void gradient(ls_op_grad *g)
{
	ls_op__emit_grad(g, 0, "relu_grad", (int[]){g->out_grad[0], g->op->outputs[0]}, 2, NULL, 0);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	float x = ls_read_f32(r, 0, index);
	return ls_op__round(r, 0, x <= 0 ? 0.0 : (double)x);
}

const ls_op_def ls_op__relu = {
	.kind = "relu",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = ls_op__infer_map,
	.gradient = gradient,
	.element = element,
};
