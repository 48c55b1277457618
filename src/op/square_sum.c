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

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	int64_t count = ls_shape_count(&ls_reader_input(r, 0)->shape);
	ls_rsum sum;
	ls_rsum_init(&sum);
	for (int64_t i = 0; i < count; i++) {
		double g = ls_read_f32(r, 0, i);
		ls_rsum_push(&sum, g * g);
	}
	return ls_op__round(r, 0, ls_rsum_finish(&sum));
}

const ls_op_def ls_op__square_sum = {
	.kind = "square_sum",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
