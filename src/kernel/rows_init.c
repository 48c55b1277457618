// Initial weights: one block of Philox gives four uniform or two normal numbers.
#include "kernel/rows.h"

enum { SEED, TENSOR }; // the attributes of the init ops, before the dimensions
enum { GRAIN = 16384 };

static void words(const ls_op_call *call, int64_t block, uint32_t out[4])
{
	uint64_t tensor = (uint64_t)call->op->ints[TENSOR];
	uint32_t counter[4] = {(uint32_t)block, (uint32_t)((uint64_t)block >> 32), (uint32_t)tensor, (uint32_t)(tensor >> 32)};
	uint32_t key[2] = {(uint32_t)call->op->ints[SEED], LS_PURPOSE_INIT};
	ls_philox(out, counter, key);
}

static double uniform(uint32_t word)
{
	return (word + 0.5) * 0x1p-32;
}

static void init_uniform(const ls_op_call *call, int64_t begin, int64_t end)
{
	float *out = call->out[0];
	double bound = call->op->nums[0];
	uint32_t word[4];
	for (int64_t i = begin; i < end; i++) {
		if (i == begin || i % 4 == 0)
			words(call, i / 4, word);
		out[i] = rows_round((2.0 * uniform(word[i % 4]) - 1.0) * bound, rows_bits(call, 0));
	}
}

bool ls_kernel__rows_init_uniform(const ls_op_call *call)
{
	ls_kernel__rows_ranges(call, ls_shape_count(rows_output_shape(call, 0)), GRAIN, init_uniform);
	return true;
}

static double normal(uint32_t first, uint32_t second)
{
	double radius = ls_sqrt(-2.0 * ls_log_f64((float)uniform(first)));
	return radius * ls_cospi(2.0 * uniform(second)) + 0.0;
}

static void init_normal(const ls_op_call *call, int64_t begin, int64_t end)
{
	float *out = call->out[0];
	double std = call->op->nums[0];
	uint32_t word[4];
	for (int64_t i = begin; i < end; i++) {
		if (i == begin || i % 2 == 0)
			words(call, i / 2, word);
		out[i] = rows_round(normal(word[i % 2 * 2], word[i % 2 * 2 + 1]) * std, rows_bits(call, 0));
	}
}

bool ls_kernel__rows_init_normal(const ls_op_call *call)
{
	ls_kernel__rows_ranges(call, ls_shape_count(rows_output_shape(call, 0)), GRAIN, init_normal);
	return true;
}
