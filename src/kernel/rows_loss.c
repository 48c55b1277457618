// Softmax and cross-entropy: rows of a matrix, each by one thread.
#include "kernel/rows.h"

enum { GRAIN = 4096 }; // elements of a range, in whole rows

static int64_t row_grain(int64_t width)
{
	return width >= GRAIN ? 1 : GRAIN / width;
}

// rsum of a run, block by block.
static double row_sum(const ls_loops *loops, const float *x, int64_t count)
{
	ls_rsum blocks;
	if (count <= LS_RSUM_BLOCK)
		return loops->sum(x, count);
	ls_rsum_init(&blocks);
	for (int64_t i = 0; i < count; i += LS_RSUM_BLOCK)
		ls_rsum_push(&blocks, loops->sum(x + i, count - i < LS_RSUM_BLOCK ? count - i : LS_RSUM_BLOCK));
	return ls_rsum_finish(&blocks);
}

// One row of `count` elements.
static void softmax_row(const ls_op_call *call, int64_t row, const float *x, float *p, int64_t count)
{
	const ls_loops *loops = rows_loops(call);
	float m = loops->largest(x, count), *max = call->out[1], *sum = call->out[2];
	loops->exp_below(p, x, count, m);
	max[row] = rows_round(m, rows_bits(call, 1));
	sum[row] = rows_round(row_sum(loops, p, count), rows_bits(call, 2));
	loops->divide(p, p, count, sum[row], rows_bits(call, 0));
}

static void softmax(const ls_op_call *call, int64_t begin, int64_t end)
{
	int64_t width = rows_input_shape(call, 0)->dim[1];
	for (int64_t row = begin; row < end; row++)
		softmax_row(call, row, (const float *)call->in[0] + row * width, (float *)call->out[0] + row * width, width);
}

bool ls_kernel__rows_softmax(const ls_op_call *call)
{
	const ls_shape *x = rows_input_shape(call, 0);
	ls_kernel__rows_ranges(call, x->dim[0], row_grain(x->dim[1]), softmax);
	return true;
}

static void causal_softmax(const ls_op_call *call, int64_t begin, int64_t end)
{
	int64_t length = rows_input_shape(call, 0)->dim[3];
	for (int64_t row = begin; row < end; row++) {
		int64_t count = row % length + 1;
		float *p = (float *)call->out[0] + row * length;
		softmax_row(call, row, (const float *)call->in[0] + row * length, p, count);
		memset(p + count, 0, (size_t)(length - count) * sizeof *p);
	}
}

static int64_t rows_of_squares(const ls_op_call *call)
{
	const ls_shape *z = rows_input_shape(call, 0);
	return z->dim[0] * z->dim[1] * z->dim[2];
}

bool ls_kernel__rows_causal_softmax(const ls_op_call *call)
{
	ls_kernel__rows_ranges(call, rows_of_squares(call), row_grain(rows_input_shape(call, 0)->dim[3]), causal_softmax);
	return true;
}

static void causal_softmax_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	int64_t length = rows_input_shape(call, 0)->dim[3];
	int bits = rows_bits(call, 0);
	for (int64_t row = begin; row < end; row++) {
		const float *dp = (const float *)call->in[0] + row * length, *p = (const float *)call->in[1] + row * length;
		float *dz = (float *)call->out[0] + row * length;
		int64_t count = row % length + 1;
		rows_loops(call)->softmax_grad(dz, dp, p, count, ((const float *)call->in[2])[row], bits);
		memset(dz + count, 0, (size_t)(length - count) * sizeof *dz);
	}
}

bool ls_kernel__rows_causal_softmax_grad(const ls_op_call *call)
{
	ls_kernel__rows_ranges(call, rows_of_squares(call), row_grain(rows_input_shape(call, 0)->dim[3]), causal_softmax_grad);
	return true;
}

enum { X, P, M, S, LABELS }; // inputs of cross_entropy

bool ls_kernel__rows_cross_entropy(const ls_op_call *call)
{
	const float *x = call->in[X], *m = call->in[M], *s = call->in[S];
	const int32_t *label = call->in[LABELS];
	int64_t rows = rows_input_shape(call, X)->dim[0], width = rows_input_shape(call, X)->dim[1];
	float *loss = call->out[0], *term = call->out[1];
	int bits = rows_bits(call, 1);
	for (int64_t i = 0; i < rows; i++) {
		if (label[i] == LS_LABEL_IGNORED)
			term[i] = 0;
		else if (label[i] < 0 || label[i] >= width)
			term[i] = ls_f32_bits(LS_NAN_BITS);
		else
			term[i] = rows_round(((double)m[i] - (double)x[i * width + label[i]]) + (double)ls_log(s[i]), bits);
	}
	*loss = rows_round(ls_rsum_f32(term, rows) / ls_loss_divisor(call->op, (double)ls_labels_counted(label, rows)), rows_bits(call, 0));
	return true;
}

static void cross_entropy_grad(const ls_op_call *call, int64_t begin, int64_t end)
{
	const ls_shape *shape = rows_input_shape(call, 0);
	int64_t width = shape->dim[1];
	const int32_t *label = call->in[1];
	double n = ls_loss_divisor(call->op, (double)ls_labels_counted(label, shape->dim[0]));
	int bits = rows_bits(call, 0);
	for (int64_t row = begin; row < end; row++) {
		const float *p = (const float *)call->in[0] + row * width;
		float *out = (float *)call->out[0] + row * width;
		if (label[row] == LS_LABEL_IGNORED) {
			memset(out, 0, (size_t)width * sizeof *out);
			continue;
		}
		float own = label[row] >= 0 && label[row] < width ? p[label[row]] : 0; // out may lie over p
		rows_loops(call)->divide(out, p, width, n, bits);
		if (label[row] >= 0 && label[row] < width)
			out[label[row]] = rows_round(((double)own - 1.0) / n, bits);
	}
}

bool ls_kernel__rows_cross_entropy_grad(const ls_op_call *call)
{
	const ls_shape *p = rows_input_shape(call, 0);
	ls_kernel__rows_ranges(call, p->dim[0], row_grain(p->dim[1]), cross_entropy_grad);
	return true;
}
