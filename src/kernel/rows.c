#include "kernel/rows.h"

static const struct row_kernel {
	const char *kind;
	bool (*run)(const ls_op_call *call);
} row_kernels[] = {
	{"adaptive_avgpool", ls_kernel__rows_adaptive_avgpool},
	{"adaptive_avgpool_grad", ls_kernel__rows_adaptive_avgpool_grad},
	{"add", ls_kernel__rows_add},
	{"avgpool", ls_kernel__rows_avgpool},
	{"avgpool_grad", ls_kernel__rows_avgpool_grad},
	{"batch_norm", ls_kernel__rows_batch_norm},
	{"batch_norm_dinput", ls_kernel__rows_batch_norm_dinput},
	{"channel_dot", ls_kernel__rows_channel_dot},
	{"channel_stats", ls_kernel__rows_channel_stats},
	{"channel_sum", ls_kernel__rows_channel_sum},
	{"cross_entropy", ls_kernel__rows_cross_entropy},
	{"cross_entropy_grad", ls_kernel__rows_cross_entropy_grad},
	{"gelu", ls_kernel__rows_gelu},
	{"gelu_grad", ls_kernel__rows_gelu_grad},
	{"init_normal", ls_kernel__rows_init_normal},
	{"init_uniform", ls_kernel__rows_init_uniform},
	{"load", ls_kernel__rows_load},
	{"maxpool", ls_kernel__rows_maxpool},
	{"maxpool_grad", ls_kernel__rows_maxpool_grad},
	{"relu", ls_kernel__rows_relu},
	{"relu_grad", ls_kernel__rows_relu_grad},
	{"reshape", ls_kernel__rows_reshape},
	{"sgd", ls_kernel__rows_sgd},
	{"sigmoid", ls_kernel__rows_sigmoid},
	{"sigmoid_grad", ls_kernel__rows_sigmoid_grad},
	{"softmax", ls_kernel__rows_softmax},
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
