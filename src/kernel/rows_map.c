// Ops whose output element reads the same element of every input. An output may lie over an input.
#include "kernel/rows.h"

enum { GRAIN = 16384 }; // elements of a range: enough to outweigh waking a thread

static bool run_map(const ls_op_call *call, rows_range_fn fn)
{
	ls_kernel__rows_ranges(call, ls_shape_count(rows_output_shape(call, 0)), GRAIN, fn);
	return true;
}

// A loop over one input, or over two.
typedef void (*loop_of_one)(float *out, const float *x, int64_t n, int bits);
typedef void (*loop_of_two)(float *out, const float *a, const float *b, int64_t n, int bits);

static void map_one(const ls_op_call *call, int64_t begin, int64_t end, loop_of_one loop)
{
	loop((float *)call->out[0] + begin, (const float *)call->in[0] + begin, end - begin, rows_bits(call, 0));
}

static void map_two(const ls_op_call *call, int64_t begin, int64_t end, loop_of_two loop)
{
	const float *a = call->in[0], *b = call->in[1];
	loop((float *)call->out[0] + begin, a + begin, b + begin, end - begin, rows_bits(call, 0));
}

static void add(const ls_op_call *call, int64_t begin, int64_t end)
{
	map_two(call, begin, end, rows_loops(call)->add);
}

bool ls_kernel__rows_add(const ls_op_call *call)
{
	return run_map(call, add);
}

static void relu(const ls_op_call *call, int64_t begin, int64_t end)
{
	map_one(call, begin, end, rows_loops(call)->relu);
}

bool ls_kernel__rows_relu(const ls_op_call *call)
{
	return run_map(call, relu);
}

static void relu_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	map_two(call, begin, end, rows_loops(call)->relu_grad);
}

bool ls_kernel__rows_relu_grad(const ls_op_call *call)
{
	return run_map(call, relu_grad);
}

static void tanh_range(const ls_op_call *call, int64_t begin, int64_t end)
{
	map_one(call, begin, end, rows_loops(call)->tanh);
}

bool ls_kernel__rows_tanh(const ls_op_call *call)
{
	return run_map(call, tanh_range);
}

static void tanh_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	map_two(call, begin, end, rows_loops(call)->tanh_grad);
}

bool ls_kernel__rows_tanh_grad(const ls_op_call *call)
{
	return run_map(call, tanh_grad);
}

static void sigmoid(const ls_op_call *call, int64_t begin, int64_t end)
{
	map_one(call, begin, end, rows_loops(call)->sigmoid);
}

bool ls_kernel__rows_sigmoid(const ls_op_call *call)
{
	return run_map(call, sigmoid);
}

static void sigmoid_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	map_two(call, begin, end, rows_loops(call)->sigmoid_grad);
}

bool ls_kernel__rows_sigmoid_grad(const ls_op_call *call)
{
	return run_map(call, sigmoid_grad);
}

static void gelu(const ls_op_call *call, int64_t begin, int64_t end)
{
	map_one(call, begin, end, rows_loops(call)->gelu);
}

bool ls_kernel__rows_gelu(const ls_op_call *call)
{
	return run_map(call, gelu);
}

static void gelu_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	map_two(call, begin, end, rows_loops(call)->gelu_grad);
}

bool ls_kernel__rows_gelu_grad(const ls_op_call *call)
{
	return run_map(call, gelu_grad);
}

static void reshape(const ls_op_call *call, int64_t begin, int64_t end)
{
	const uint32_t *in = call->in[0];
	uint32_t *out = call->out[0];
	if (out != in)
		memcpy(out + begin, in + begin, (size_t)(end - begin) * sizeof *out);
}

bool ls_kernel__rows_reshape(const ls_op_call *call)
{
	return run_map(call, reshape);
}

// The attributes of sgd, in its order.
enum { NESTEROV, SCHEDULE, EVERY, WARMUP, STEPS, SGD_INTS };
enum { LR, MOMENTUM, WEIGHT_DECAY, GAMMA, SGD_NUMS };

static double learning_rate(const ls_op_call *call)
{
	const int64_t *a = call->op->ints;
	const double *n = call->op->nums;
	ls_schedule schedule = {(ls_schedule_kind)a[SCHEDULE], n[LR], n[GAMMA], a[EVERY], a[WARMUP], a[STEPS]};
	return ls_schedule_lr(&schedule, call->step);
}

static void sgd(const ls_op_call *call, int64_t begin, int64_t end)
{
	const float *w = call->in[0], *g = call->in[1], *m = call->op->input_count == 3 ? call->in[2] : NULL;
	float *next = call->out[0], *next_m = m ? call->out[1] : NULL;
	ls_sgd_loop s = {learning_rate(call), call->op->nums[WEIGHT_DECAY], call->op->nums[MOMENTUM], call->op->ints[NESTEROV] != 0};
	rows_loops(call)->sgd(next + begin, m ? next_m + begin : NULL, w + begin, g + begin, m ? m + begin : NULL, end - begin, &s,
	                      rows_bits(call, 0));
}

bool ls_kernel__rows_sgd(const ls_op_call *call)
{
	if (call->op->int_count != SGD_INTS || call->op->num_count != SGD_NUMS)
		return false;
	return run_map(call, sgd);
}

static void scale(const ls_op_call *call, int64_t begin, int64_t end)
{
	rows_loops(call)->scale((float *)call->out[0] + begin, (const float *)call->in[0] + begin, end - begin, call->op->nums[0],
	                        rows_bits(call, 0));
}

bool ls_kernel__rows_scale(const ls_op_call *call)
{
	return run_map(call, scale);
}

static void scale_by(const ls_op_call *call, int64_t begin, int64_t end)
{
	rows_loops(call)->scale((float *)call->out[0] + begin, (const float *)call->in[0] + begin, end - begin,
	                        *(const float *)call->in[1], rows_bits(call, 0));
}

bool ls_kernel__rows_scale_by(const ls_op_call *call)
{
	return run_map(call, scale_by);
}

static void dropout(const ls_op_call *call, int64_t begin, int64_t end)
{
	ls_dropout d = ls_dropout_of(call->op, call->step);
	d.first += (uint64_t)(call->first + begin);
	rows_loops(call)->dropout((float *)call->out[0] + begin, (const float *)call->in[0] + begin, end - begin, &d,
	                          rows_bits(call, 0));
}

bool ls_kernel__rows_dropout(const ls_op_call *call)
{
	return run_map(call, dropout);
}

static void adam(const ls_op_call *call, int64_t begin, int64_t end)
{
	enum { W, G, M, V };
	ls_adam a = ls_adam_of(call->op, call->step);
	ls_adam_places p = {(float *)call->out[0] + begin, (float *)call->out[1] + begin, (float *)call->out[2] + begin,
	                    (const float *)call->in[W] + begin, (const float *)call->in[G] + begin,
	                    (const float *)call->in[M] + begin, (const float *)call->in[V] + begin};
	rows_loops(call)->adam(&p, end - begin, &a, rows_bits(call, 0));
}

bool ls_kernel__rows_adam(const ls_op_call *call)
{
	return run_map(call, adam);
}
