#include "op/op.h"

static const ls_op_def *const table[] = {
	&ls_op__adaptive_avgpool,
	&ls_op__adaptive_avgpool_grad,
	&ls_op__add,
	&ls_op__avgpool,
	&ls_op__avgpool_grad,
	&ls_op__batch_norm,
	&ls_op__batch_norm_dinput,
	&ls_op__channel_dot,
	&ls_op__channel_stats,
	&ls_op__channel_sum,
	&ls_op__commit,
	&ls_op__conv2d,
	&ls_op__conv2d_dinput,
	&ls_op__conv2d_dweight,
	&ls_op__cross_entropy,
	&ls_op__cross_entropy_grad,
	&ls_op__gelu,
	&ls_op__gelu_grad,
	&ls_op__import,
	&ls_op__init_const,
	&ls_op__init_normal,
	&ls_op__init_uniform,
	&ls_op__load,
	&ls_op__matmul,
	&ls_op__maxpool,
	&ls_op__maxpool_grad,
	&ls_op__relu,
	&ls_op__relu_grad,
	&ls_op__reshape,
	&ls_op__rsqrt_eps,
	&ls_op__running_average,
	&ls_op__sgd,
	&ls_op__sigmoid,
	&ls_op__sigmoid_grad,
	&ls_op__softmax,
	&ls_op__tanh,
	&ls_op__tanh_grad,
};

const ls_op_def *const *ls_op_table(size_t *count)
{
	*count = sizeof table / sizeof *table;
	return table;
}

const ls_op_def *ls_op_find(const char *kind)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i]->kind, kind))
			return table[i];
	return NULL;
}
