/* add: y = R(a + b), two tensors of one shape. */
#include "op/op.h"

static void gradient(ls_op_grad *g)
{
	for (int i = 0; i < 2; i++)
		g->in_grad[i] = g->out_grad[0];
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	return ls_op__round(r, 0, (double)ls_read_f32(r, 0, index) + (double)ls_read_f32(r, 1, index));
}

const ls_op_def ls_op__add = {
	.kind = "add",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = ls_op__infer_map_of_two,
	.gradient = gradient,
	.element = element,
};
