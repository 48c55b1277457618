/* clip_scale: R(min(1, c/(√q + 1e-6))), q = rsum of the inputs, each (1), in their order, one run: what gradients are multiplied
 * by so that their global norm is at most c. NaN where q is NaN. nums {c}; output (1), on the state's grid. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__expect(program, op, op->input_count >= 1 && op->int_count == 0 && op->num_count == 1 && op->nums[0] > 0,
	                   "at least one part, and a positive norm"))
		return false;
	for (int i = 0; i < op->input_count; i++)
		if (!ls_op__expect(program, op, ls_shape_count(&ls_op__input(program, op, i)->shape) == 1, "parts of one element"))
			return false;
	out[0] = (ls_value){.dtype = LS_F32, .bits = ls_program_state_bits(program), .shape = {1, {1}}};
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	double scale;
	ls_rsum sum;
	ls_rsum_init(&sum);
	for (int i = 0; i < r->op->input_count; i++)
		ls_rsum_push(&sum, ls_read_f32(r, i, 0));
	scale = r->op->nums[0] / (ls_sqrt(ls_rsum_finish(&sum)) + 1e-6);
	return ls_op__round(r, 0, scale > 1.0 ? 1.0 : scale);
}

const ls_op_def ls_op__clip_scale = {
	.kind = "clip_scale",
	.class = LS_OP_SUM,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){"norm", NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
