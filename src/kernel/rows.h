/* Fast loops for ops that are no products. Each returns the bits of the op's definition (ls_op_reference) for every
 * input, which is what allows it to stand in for it.
 */
#ifndef LS_KERNEL_ROWS_H
#define LS_KERNEL_ROWS_H

#include <lockstep/op.h>

#include "kernel/loops.h"

/* Runs the op where there is a loop for it; false, with nothing written, where there is none. Uses call->pool. */
bool ls_kernel__rows_run(const ls_op_call *call);

/* One op's loop. May decline some attributes or shapes by returning false. */
bool ls_kernel__rows_adaptive_avgpool(const ls_op_call *call);
bool ls_kernel__rows_adaptive_avgpool_grad(const ls_op_call *call);
bool ls_kernel__rows_add(const ls_op_call *call);
bool ls_kernel__rows_avgpool(const ls_op_call *call);
bool ls_kernel__rows_avgpool_grad(const ls_op_call *call);
bool ls_kernel__rows_batch_norm(const ls_op_call *call);
bool ls_kernel__rows_batch_norm_dinput(const ls_op_call *call);
bool ls_kernel__rows_channel_dot(const ls_op_call *call);
bool ls_kernel__rows_channel_stats(const ls_op_call *call);
bool ls_kernel__rows_channel_sum(const ls_op_call *call);
bool ls_kernel__rows_cross_entropy(const ls_op_call *call);
bool ls_kernel__rows_cross_entropy_grad(const ls_op_call *call);
bool ls_kernel__rows_gelu(const ls_op_call *call);
bool ls_kernel__rows_gelu_grad(const ls_op_call *call);
bool ls_kernel__rows_init_normal(const ls_op_call *call);
bool ls_kernel__rows_init_uniform(const ls_op_call *call);
bool ls_kernel__rows_load(const ls_op_call *call);
bool ls_kernel__rows_maxpool(const ls_op_call *call);
bool ls_kernel__rows_maxpool_grad(const ls_op_call *call);
bool ls_kernel__rows_relu(const ls_op_call *call);
bool ls_kernel__rows_relu_grad(const ls_op_call *call);
bool ls_kernel__rows_reshape(const ls_op_call *call);
bool ls_kernel__rows_sgd(const ls_op_call *call);
bool ls_kernel__rows_sigmoid(const ls_op_call *call);
bool ls_kernel__rows_sigmoid_grad(const ls_op_call *call);
bool ls_kernel__rows_softmax(const ls_op_call *call);
bool ls_kernel__rows_tanh(const ls_op_call *call);
bool ls_kernel__rows_tanh_grad(const ls_op_call *call);

/* What the loops share. */

static inline const ls_shape *rows_input_shape(const ls_op_call *call, int input)
{
	return &ls_program_value(call->program, call->op->inputs[input])->shape;
}

static inline const ls_shape *rows_output_shape(const ls_op_call *call, int output)
{
	return &ls_program_value(call->program, call->op->outputs[output])->shape;
}

static inline const ls_loops *rows_loops(const ls_op_call *call)
{
	return call->loops ? call->loops : ls_kernel__loops_portable();
}

static inline int rows_bits(const ls_op_call *call, int output)
{
	return ls_program_value(call->program, call->op->outputs[output])->bits;
}

/* R(x) to FP32 by the processor's own conversion: to nearest even with gradual underflow, which the control word is
 * checked for. Adding +0 turns −0 into +0. */
static inline float rows_f32(double x)
{
	float v = (float)x + 0.0f;
	return v == v ? v : ls_f32_bits(LS_NAN_BITS);
}

static inline float rows_round(double x, int bits)
{
	return bits == 32 ? rows_f32(x) : ls_round_f64(x, bits);
}

/* Calls fn for ranges that cover 0 … count−1, `grain` at a time, over the pool. */
typedef void (*rows_range_fn)(const ls_op_call *call, int64_t begin, int64_t end);
void ls_kernel__rows_ranges(const ls_op_call *call, int64_t count, int64_t grain, rows_range_fn fn);

#endif
