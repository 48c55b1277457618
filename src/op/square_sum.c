/* square_sum: q = R(rsum(g·g)) over all elements of a tensor, in row-major order, one run. Output (1), on the state's grid: one
 * tensor's part of a global norm. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, 1, 1, 0, 0))
		return false;
	out[0] = (ls_value){.dtype = LS_F32, .bits = ls_program_state_bits(program), .shape = {1, {1}}};
	op->output_count = 1;
	return true;
}

static double square(const ls_reader *r, float unused, int64_t index)
{
	double g = ls_read_f32(r, 0, index);
	return g * g;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	ls_rsum sum;
	ls_rsum_init(&sum);
	ls_op__add_run(&sum, r, square, 0, 0, ls_shape_count(&ls_reader_input(r, 0)->shape));
	return ls_op__round(r, 0, ls_rsum_finish(&sum));
}

static int64_t parts(const ls_program *program, const ls_op *op, int output)
{
	return ls_op__blocks(ls_shape_count(&ls_op__input(program, op, 0)->shape));
}

const ls_op_def ls_op__square_sum = {
	.kind = "square_sum",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
	.parts = parts,
};
