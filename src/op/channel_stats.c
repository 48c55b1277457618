/* channel_stats: mean and variance of each channel of x (N, C, H, W), n = N·H·W elements:
 * μ = R(rsum(x)/n); c = RNE32(x − μ); v = R(rsum(c·c)/n). Outputs μ (C), v (C); the variance is the biased one.
 * No gradient: batch_norm's rule gives x the whole of it. */
#include "op/norm.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, 1, 1, 0, 0) || !ls_op__channels_fit(program, op, 0, 0, -1))
		return false;
	out[0] = out[1] = ls_op__f32(program, &(ls_shape){1, {ls_op__input(program, op, 0)->shape.dim[1]}});
	op->output_count = 2;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *x = &ls_reader_input(r, 0)->shape;
	double n = (double)ls_op__channel_size(x);
	uint32_t mean = ls_op__round(r, 0, ls_op__channel_rsum(r, x, index, ls_op__value, 0) / n);
	if (output == 0)
		return mean;
	return ls_op__round(r, 1, ls_op__channel_rsum(r, x, index, ls_op__centred_square, ls_f32_bits(mean)) / n);
}

static int64_t parts(const ls_program *program, const ls_op *op, int output)
{
	return (output + 1) * ls_op__channel_parts(&ls_op__input(program, op, 0)->shape) /* the variance reads the mean's sum first */;
}

const ls_op_def ls_op__channel_stats = {
	.kind = "channel_stats",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){".mean", ".var"},
	.infer = infer,
	.element = element,
	.parts = parts,
};
