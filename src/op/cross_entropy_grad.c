/* cross_entropy_grad: dx = R((p − [j = y])/n), or, with parts, R((p − [j = y])/(n·parts)); +0 in rows with label −1. Inputs p (N, D),
 * labels (N in all); ints {} or {parts}; n the labels other than −1. See cross_entropy.c. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *p;
	if (!ls_op__arity(program, op, 2, 2, op->int_count == 1, 0) || !ls_op__parts_fit(program, op))
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
	int32_t label = ls_read_i32(r, 1, index / p->dim[1]);
	double hit = label == index % p->dim[1] ? 1.0 : 0.0;
	if (label == LS_LABEL_IGNORED)
		return 0;
	return ls_op__round(r, 0, ((double)ls_read_f32(r, 0, index) - hit) / ls_loss_divisor(r->op, (double)ls_op__labels_counted(r, 1)));
}

const ls_op_def ls_op__cross_entropy_grad = {
	.kind = "cross_entropy_grad",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.integers = 1u << 1,
	.int_names = (const char *const[]){"parts", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.element = element,
};
