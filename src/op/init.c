#include "op/init.h"

bool ls_op__init_infer(ls_program *program, ls_op *op, ls_value *out)
{
	ls_shape shape = {.rank = op->int_count - LS_INIT_DIM0};
	if (!ls_op__expect(program, op, op->input_count == 0 && op->num_count == 1 && shape.rank >= 1 && shape.rank <= LS_RANK_MAX,
	                   "no input, one number, 1 to 4 dimensions") ||
	    !ls_op__expect(program, op, op->ints[LS_INIT_SEED] >= 0 && op->ints[LS_INIT_SEED] <= UINT32_MAX, "a seed of 32 bits"))
		return false;
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] = op->ints[LS_INIT_DIM0 + i];
	out[0] = (ls_value){.dtype = LS_F32, .bits = ls_program_state_bits(program), .shape = shape};
	op->output_count = 1;
	return true;
}
