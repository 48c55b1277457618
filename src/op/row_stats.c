/* row_stats: mean and variance of each row of x (N, C): μ = R(rsum(x)/C); c = RNE32(x − μ); v = R(rsum(c·c)/C). Outputs μ (N), v
 * (N). No gradient: layer_norm's rule gives x the whole of it. */
#include "op/row.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, 1, 1, 0, 0) || !ls_op__rows_fit(program, op, 1, 1))
		return false;
	out[0] = out[1] = ls_op__f32(program, &(ls_shape){1, {ls_op__input(program, op, 0)->shape.dim[0]}});
	op->output_count = 2;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	double n = (double)ls_reader_input(r, 0)->shape.dim[1];
	uint32_t mean = ls_op__round(r, 0, ls_op__row_rsum(r, index, ls_op__value, 0) / n);
	if (output == 0)
		return mean;
	return ls_op__round(r, 1, ls_op__row_rsum(r, index, ls_op__centred_square, ls_f32_bits(mean)) / n);
}

const ls_op_def ls_op__row_stats = {
	.kind = "row_stats",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){".mean", ".var"},
	.infer = infer,
	.element = element,
};
