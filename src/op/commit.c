/* commit: the state root over its inputs, which are the state after the step in ascending order of name. The names are those
 * of the state, not of the values that replace it. The executor computes it through the commit module. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__expect(program, op, op->input_count >= 1 && op->int_count == 0 && op->num_count == 0, "the whole state"))
		return false;
	for (int i = 0; i < ls_program_states(program); i++)
		if (!ls_op__expect(program, op, op->input_count == ls_program_states(program) &&
		                                    ls_shape_equal(&ls_op__input(program, op, i)->shape, &ls_program_value(program, i)->shape),
		                   "one input per tensor of the state, of its shape") ||
		    !ls_op__expect(program, op, op->inputs[i] >= ls_program_states(program) || op->inputs[i] == i,
		                   "a tensor of the old state at its own place only")) // an executor moves them one after the other
			return false;
	out[0] = (ls_value){.dtype = LS_ROOT, .bits = 32, .shape = {1, {8}}};
	op->output_count = 1;
	return true;
}

const ls_op_def ls_op__commit = {
	.kind = "commit",
	.class = LS_OP_COMMIT,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
};
