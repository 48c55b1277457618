#include "op/init.h"

bool ls_op__shape_attributes(ls_program *program, const ls_op *op, int first, ls_shape *out)
{
	*out = (ls_shape){.rank = op->int_count - first};
	if (!ls_op__expect(program, op, out->rank >= 1 && out->rank <= LS_RANK_MAX, "1 to 4 dimensions"))
		return false;
	for (int i = 0; i < out->rank; i++)
		out->dim[i] = op->ints[first + i];
	return true;
}

bool ls_op__init_infer(ls_program *program, ls_op *op, ls_value *out)
{
	ls_shape shape;
	if (!ls_op__expect(program, op, op->input_count == 0 && op->num_count == 1, "no input, one number") ||
	    !ls_op__shape_attributes(program, op, LS_INIT_DIM0, &shape) ||
	    !ls_op__expect(program, op, op->ints[LS_INIT_SEED] >= 0 && op->ints[LS_INIT_SEED] <= UINT32_MAX, "a seed of 32 bits"))
		return false;
	out[0] = (ls_value){.dtype = LS_F32, .bits = ls_program_state_bits(program), .shape = shape};
	op->output_count = 1;
	return true;
}
