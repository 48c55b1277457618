/* channel_sum: the gradient of a bias. x (N, C): strided sums over rows; x (N, C, H, W): rsum over each channel, the planes
 * of the images being its runs. Output (C). */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *x;
	if (!ls_op__arity(program, op, 1, 1, 0, 0))
		return false;
	x = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, x->rank == 2 || x->rank == 4, "(N,C) or (N,C,H,W)"))
		return false;
	out[0] = ls_op__f32(program, &(ls_shape){1, {x->dim[1]}});
	op->output_count = 1;
	return true;
}

static double column(const ls_reader *r, const ls_shape *x, int64_t channel)
{
	ls_rsum_column sum;
	ls_rsum_column_init(&sum);
	for (int64_t n = 0; n < x->dim[0]; n++)
		ls_rsum_column_push(&sum, ls_read_f32(r, 0, n * x->dim[1] + channel));
	return ls_rsum_column_finish(&sum);
}

static double planes(const ls_reader *r, const ls_shape *x, int64_t channel)
{
	int64_t pixels = x->dim[2] * x->dim[3];
	ls_rsum sum;
	ls_rsum_init(&sum);
	for (int64_t n = 0; n < x->dim[0]; n++) {
		for (int64_t i = 0; i < pixels; i++)
			ls_rsum_push(&sum, ls_read_f32(r, 0, (n * x->dim[1] + channel) * pixels + i));
		ls_rsum_end_run(&sum);
	}
	return ls_rsum_finish(&sum);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *x = &ls_reader_input(r, 0)->shape;
	return ls_op__round(r, 0, x->rank == 2 ? column(r, x, index) : planes(r, x, index));
}

const ls_op_def ls_op__channel_sum = {
	.kind = "channel_sum",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
