// Ops whose output element reads the same element of every input. An output may lie over an input.
#include "kernel/rows.h"

enum { GRAIN = 16384 }; // elements of a range: enough to outweigh waking a thread

static bool run_map(const ls_op_call *call, rows_range_fn fn)
{
	ls_kernel__rows_ranges(call, ls_shape_count(rows_output_shape(call, 0)), GRAIN, fn);
	return true;
}

static void add(const ls_op_call *call, int64_t begin, int64_t end)
{
	const float *a = call->in[0], *b = call->in[1];
	float *out = call->out[0];
	int bits = rows_bits(call, 0);
	if (bits == 32)
		for (int64_t i = begin; i < end; i++)
			out[i] = rows_f32((double)a[i] + (double)b[i]);
	else
		for (int64_t i = begin; i < end; i++)
			out[i] = ls_round_f64((double)a[i] + (double)b[i], bits);
}

bool ls_kernel__rows_add(const ls_op_call *call)
{
	return run_map(call, add);
}

static void relu(const ls_op_call *call, int64_t begin, int64_t end)
{
	const float *x = call->in[0];
	float *out = call->out[0];
	int bits = rows_bits(call, 0);
	if (bits == 32)
		for (int64_t i = begin; i < end; i++) {
			float v = x[i] <= 0 ? 0 : x[i];
			out[i] = v == v ? v : ls_f32_bits(LS_NAN_BITS);
		}
	else
		for (int64_t i = begin; i < end; i++)
			out[i] = ls_round_f64(x[i] <= 0 ? 0.0 : (double)x[i], bits);
}

bool ls_kernel__rows_relu(const ls_op_call *call)
{
	return run_map(call, relu);
}

static void relu_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	const float *dy = call->in[0], *y = call->in[1];
	float *out = call->out[0];
	int bits = rows_bits(call, 0);
	if (bits == 32)
		for (int64_t i = begin; i < end; i++) {
			float v = (y[i] > 0 ? dy[i] : 0) + 0.0f;
			out[i] = v == v ? v : ls_f32_bits(LS_NAN_BITS);
		}
	else
		for (int64_t i = begin; i < end; i++)
			out[i] = ls_round_f64(y[i] > 0 ? (double)dy[i] : 0.0, bits);
}

bool ls_kernel__rows_relu_grad(const ls_op_call *call)
{
	return run_map(call, relu_grad);
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

static void sgd_plain(const ls_op_call *call, int64_t begin, int64_t end)
{
	const float *w = call->in[0], *g = call->in[1];
	float *out = call->out[0];
	double lr = learning_rate(call), decay = call->op->nums[WEIGHT_DECAY];
	int bits = rows_bits(call, 0);
	if (bits == 32)
		for (int64_t i = begin; i < end; i++) {
			double v = rows_f32((double)g[i] + decay * (double)w[i]);
			out[i] = rows_f32((double)w[i] - lr * v);
		}
	else
		for (int64_t i = begin; i < end; i++) {
			double v = ls_round_f64((double)g[i] + decay * (double)w[i], bits);
			out[i] = ls_round_f64((double)w[i] - lr * v, bits);
		}
}

static void sgd_momentum(const ls_op_call *call, int64_t begin, int64_t end)
{
	const float *w = call->in[0], *g = call->in[1], *m = call->in[2];
	float *out = call->out[0], *out_m = call->out[1];
	double lr = learning_rate(call), decay = call->op->nums[WEIGHT_DECAY], momentum = call->op->nums[MOMENTUM];
	bool nesterov = call->op->ints[NESTEROV] != 0;
	int bits = rows_bits(call, 0);
	for (int64_t i = begin; i < end; i++) {
		double weight = w[i], gradient = rows_round((double)g[i] + decay * weight, bits);
		float moved = rows_round(momentum * (double)m[i] + gradient, bits);
		double v = nesterov ? gradient + momentum * (double)moved : (double)moved;
		out[i] = rows_round(weight - lr * v, bits);
		out_m[i] = moved;
	}
}

bool ls_kernel__rows_sgd(const ls_op_call *call)
{
	if (call->op->int_count != SGD_INTS || call->op->num_count != SGD_NUMS)
		return false;
	return run_map(call, call->op->input_count == 3 ? sgd_momentum : sgd_plain);
}
