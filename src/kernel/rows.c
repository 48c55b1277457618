#include "kernel/rows.h"

static const struct row_kernel {
	const char *kind;
	bool (*run)(const ls_op_call *call);
} row_kernels[] = {
	{"adam", ls_kernel__rows_adam},
	{"adaptive_avgpool", ls_kernel__rows_adaptive_avgpool},
	{"adaptive_avgpool_grad", ls_kernel__rows_adaptive_avgpool_grad},
	{"add", ls_kernel__rows_add},
	{"avgpool", ls_kernel__rows_avgpool},
	{"avgpool_grad", ls_kernel__rows_avgpool_grad},
	{"batch_norm", ls_kernel__rows_batch_norm},
	{"batch_norm_dinput", ls_kernel__rows_batch_norm_dinput},
	{"causal_softmax", ls_kernel__rows_causal_softmax},
	{"causal_softmax_grad", ls_kernel__rows_causal_softmax_grad},
	{"channel_dot", ls_kernel__rows_channel_dot},
	{"channel_stats", ls_kernel__rows_channel_stats},
	{"channel_sum", ls_kernel__rows_channel_sum},
	{"cross_entropy", ls_kernel__rows_cross_entropy},
	{"cross_entropy_grad", ls_kernel__rows_cross_entropy_grad},
	{"dropout", ls_kernel__rows_dropout},
	{"embedding", ls_kernel__rows_embedding},
	{"embedding_grad", ls_kernel__rows_embedding_grad},
	{"gelu", ls_kernel__rows_gelu},
	{"gelu_grad", ls_kernel__rows_gelu_grad},
	{"head_dot", ls_kernel__rows_head_dot},
	{"init_normal", ls_kernel__rows_init_normal},
	{"init_uniform", ls_kernel__rows_init_uniform},
	{"join_columns", ls_kernel__rows_join_columns},
	{"layer_norm", ls_kernel__rows_layer_norm},
	{"layer_norm_dinput", ls_kernel__rows_layer_norm_dinput},
	{"layer_norm_sums", ls_kernel__rows_layer_norm_sums},
	{"load", ls_kernel__rows_load},
	{"load_tokens", ls_kernel__rows_load_tokens},
	{"maxpool", ls_kernel__rows_maxpool},
	{"maxpool_grad", ls_kernel__rows_maxpool_grad},
	{"position_add", ls_kernel__rows_position_add},
	{"position_grad", ls_kernel__rows_position_grad},
	{"relu", ls_kernel__rows_relu},
	{"relu_grad", ls_kernel__rows_relu_grad},
	{"reshape", ls_kernel__rows_reshape},
	{"row_stats", ls_kernel__rows_row_stats},
	{"scale", ls_kernel__rows_scale},
	{"scale_by", ls_kernel__rows_scale_by},
	{"sgd", ls_kernel__rows_sgd},
	{"sigmoid", ls_kernel__rows_sigmoid},
	{"sigmoid_grad", ls_kernel__rows_sigmoid_grad},
	{"softmax", ls_kernel__rows_softmax},
	{"split_columns", ls_kernel__rows_split_columns},
	{"square_sum", ls_kernel__rows_square_sum},
	{"tanh", ls_kernel__rows_tanh},
	{"tanh_grad", ls_kernel__rows_tanh_grad},
};

bool ls_kernel__rows_run(const ls_op_call *call)
{
	for (size_t i = 0; i < sizeof row_kernels / sizeof *row_kernels; i++)
		if (!strcmp(call->op->kind, row_kernels[i].kind))
			return row_kernels[i].run(call);
	return false;
}

struct ranges {
	const ls_op_call *call;
	int64_t count, grain;
	rows_range_fn fn;
};

static void run_range(void *context, int64_t index, int worker)
{
	const struct ranges *r = context;
	int64_t begin = index * r->grain, end = begin + r->grain < r->count ? begin + r->grain : r->count;
	r->fn(r->call, begin, end);
}

void ls_kernel__rows_ranges(const ls_op_call *call, int64_t count, int64_t grain, rows_range_fn fn)
{
	struct ranges r = {call, count, grain, fn};
	ls_pool_run(call->pool, (count + grain - 1) / grain, run_range, &r);
}
