/* softmax over rows of x (N, D): m = max; s = R(rsum(exp(RNE32(x − m)))); p = R(exp(RNE32(x − m))/s).
 * Outputs p (N, D), m (N), s (N). Where a row holds a NaN, m is NaN and with it s and p. Its gradient passes through
 * cross_entropy's rule. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *x;
	if (!ls_op__arity(program, op, 1, 1, 0, 0))
		return false;
	x = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, x->rank == 2, "a matrix"))
		return false;
	out[0] = ls_op__f32(program, x);
	out[1] = out[2] = ls_op__f32(program, &(ls_shape){1, {x->dim[0]}});
	op->output_count = 3;
	return true;
}

static float largest(const ls_reader *r, int64_t first, int64_t count)
{
	float m = ls_read_f32(r, 0, first);
	for (int64_t i = 1; i < count; i++) {
		float x = ls_read_f32(r, 0, first + i);
		if (x > m || (x != x && m == m))
			m = x;
	}
	return m;
}

static float exp_of(const ls_reader *r, int64_t index, float m)
{
	return ls_exp(ls_f32((double)ls_read_f32(r, 0, index) - (double)m));
}

uint32_t ls_op__softmax_of(const ls_reader *r, int output, int64_t first, int64_t count, int64_t index)
{
	float m = largest(r, first, count);
	uint32_t s;
	ls_rsum sum;
	if (output == 1)
		return ls_op__round(r, 1, m);
	ls_rsum_init(&sum);
	for (int64_t i = 0; i < count; i++)
		ls_rsum_push(&sum, exp_of(r, first + i, m));
	s = ls_op__round(r, 2, ls_rsum_finish(&sum));
	if (output == 2)
		return s;
	return ls_op__round(r, 0, (double)exp_of(r, index, m) / (double)ls_f32_bits(s));
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	int64_t width = ls_reader_input(r, 0)->shape.dim[1], row = output == 0 ? index / width : index;
	return ls_op__softmax_of(r, output, row * width, width, index);
}

const ls_op_def ls_op__softmax = {
	.kind = "softmax",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){"", ".max", ".sum"},
	.infer = infer,
	.element = element,
};
