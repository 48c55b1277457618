/* attention_scores: S[b, h, t, s] = Σ_d q[b·T + t, h·D + d]·k[b·T + s, h·D + d] for s ≤ t, products; for s > t there are no terms,
 * and S is +0. Inputs q, k (B·T, C), C = H·D; ints {B, H}; output (B, H, T, T). Gradients, with G that of S, by attention_mix: of
 * q Σ_s G[t, s]·k[s], of k Σ_t G[t, s]·q[t]. It is also the gradient of attention_mix's first input. */
#include "op/attention.h"

enum { BATCH, HEADS, INTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	ls_heads h;
	ls_shape squares;
	if (!ls_op__arity(program, op, 2, 2, INTS, 0) ||
	    !ls_op__expect(program, op, ls_shape_equal(&ls_op__input(program, op, 0)->shape, &ls_op__input(program, op, 1)->shape),
	                   "two matrices of one shape") ||
	    !ls_op__heads_of_matrix(program, op, &ls_op__input(program, op, 0)->shape, op->ints[BATCH], op->ints[HEADS], &h))
		return false;
	squares = ls_op__squares_shape(&h);
	out[0] = ls_op__f32(program, &squares);
	op->output_count = 1;
	return true;
}

static void gradient(ls_op_grad *g)
{
	ls_op__emit_grad(g, 0, "attention_mix", (int[]){g->out_grad[0], g->op->inputs[1]}, 2, (int64_t[]){0}, 1);
	ls_op__emit_grad(g, 1, "attention_mix", (int[]){g->out_grad[0], g->op->inputs[0]}, 2, (int64_t[]){1}, 1);
}

static void product(const ls_program *program, const ls_op *op, ls_product *out)
{
	const ls_shape *q = &ls_op__input(program, op, 0)->shape;
	ls_heads h = {op->ints[BATCH], op->ints[HEADS], q->dim[0] / op->ints[BATCH], q->dim[1] / op->ints[HEADS]};
	ls_operand rows = {.kind = LS_OPERAND_STRIDED, .row_stride = q->dim[1], .inner = h.width, .inner_stride = 1,
	                   .slicing = ls_op__matrix_slices(&h, h.length)};
	*out = (ls_product){
		.rows = h.batch * h.heads * h.length, .columns = h.length, .terms = h.width,
		.a = rows, .b = rows,
		.row_stride = h.length, .inner = h.length, .inner_stride = 1,
		.slicing = ls_op__squares_slices(&h), .causal = true,
	};
	out->b.input = 1;
}

const ls_op_def ls_op__attention_scores = {
	.kind = "attention_scores",
	.class = LS_OP_PRODUCT,
	.by_sequence = true,
	.int_names = (const char *const[]){"batch", "heads", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.gradient = gradient,
	.product = product,
};
