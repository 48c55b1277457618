/* position_add: y[n] = R(x[n] + table[n mod T]), n = 0 … N−1. Inputs x (N, C), sequences of T rows one behind the other, table
 * (P, C), P ≥ T; ints {T}. Gradients: of x that of y, of the table position_grad. */
#include "op/op.h"

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *x, *table;
	if (!ls_op__arity(program, op, 2, 2, 1, 0))
		return false;
	x = &ls_op__input(program, op, 0)->shape;
	table = &ls_op__input(program, op, 1)->shape;
	if (!ls_op__expect(program, op, x->rank == 2 && table->rank == 2 && x->dim[1] == table->dim[1], "x (N,C) and a table (P,C)") ||
	    !ls_op__expect(program, op, op->ints[0] >= 1 && op->ints[0] <= table->dim[0] && x->dim[0] % op->ints[0] == 0,
	                   "whole sequences, no longer than the table"))
		return false;
	out[0] = ls_op__f32(program, x);
	op->output_count = 1;
	return true;
}

static void gradient(ls_op_grad *g)
{
	g->in_grad[0] = g->out_grad[0];
	ls_op__emit_grad(g, 1, "position_grad", g->out_grad, 1,
	                 (int64_t[]){g->op->ints[0], ls_op__input(g->program, g->op, 1)->shape.dim[0]}, 2);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	int64_t columns = ls_reader_input(r, 0)->shape.dim[1], at = index % (r->op->ints[0] * columns);
	return ls_op__round(r, 0, (double)ls_read_f32(r, 0, index) + (double)ls_read_f32(r, 1, at));
}

const ls_op_def ls_op__position_add = {
	.kind = "position_add",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1},
	.int_names = (const char *const[]){"length", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.gradient = gradient,
	.element = element,
};
