/* cross_entropy_grad: dx = R((p − [j = y])/n). Inputs p (N, D), labels (N); n = N. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *p;
	if (!ls_op__arity(program, op, 2, 2, 0, 0))
		return false;
	p = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__expect(program, op, p->rank == 2 && ls_shape_count(&ls_op__input(program, op, 1)->shape) == p->dim[0],
	                   "p (N,D) and one label per row") ||
	    !ls_op__expect(program, op, ls_op__input(program, op, 1)->dtype == LS_I32, "integer labels"))
		return false;
	out[0] = ls_op__f32(program, p);
	op->output_count = 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const ls_shape *p = &ls_reader_input(r, 0)->shape;
	double hit = ls_read_i32(r, 1, index / p->dim[1]) == index % p->dim[1] ? 1.0 : 0.0;
	return ls_op__round(r, 0, ((double)ls_read_f32(r, 0, index) - hit) / (double)p->dim[0]);
}

const ls_op_def ls_op__cross_entropy_grad = {
	.kind = "cross_entropy_grad",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
