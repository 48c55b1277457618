/* import: a tensor of a state that the job commits to. ints {root (32 bytes as four 64-bit words, little-endian), tensor, then
 * the dimensions}: `root` is the state root over all imported tensors, `tensor` the number of this one in order of name, which
 * is the number of its leaf. The output bears the tensor's name, has its shape and is on the state's grid.
 *
 * Every import op carries the one root, and not a root of its own tensor, so that the program of step 0 follows from the job's
 * fields and binding alone. */
#include "op/init.h"

enum { ROOT, TENSOR = ROOT + 4, DIM0 };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	ls_shape shape;
	if (!ls_op__expect(program, op, op->input_count == 0 && op->num_count == 0, "neither input nor number") ||
	    !ls_op__shape_attributes(program, op, DIM0, &shape) ||
	    !ls_op__expect(program, op, op->ints[TENSOR] >= 0 && op->ints[TENSOR] <= INT32_MAX, "the number of a tensor"))
		return false;
	out[0] = (ls_value){.dtype = LS_F32, .bits = ls_program_state_bits(program), .shape = shape};
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	return r->imports->word(r->imports->context, r->op->ints[TENSOR], index);
}

const ls_op_def ls_op__import = {
	.kind = "import",
	.class = LS_OP_LOAD,
	.int_names = (const char *const[]){"root", "root", "root", "root", "tensor", "dimensions", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
