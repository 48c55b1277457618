/* attention_mix: rows of a matrix mixed by squares p (B, H, T, T), products. ints {transpose}. Inputs p, v (B·T, C); output (B·T, C):
 *   transpose 0   o[b·T + t, h·D + d] = Σ_{s ≤ t} p[b, h, t, s]·v[b·T + s, h·D + d]
 *   transpose 1   o[b·T + s, h·D + d] = Σ_{t ≥ s} p[b, h, t, s]·v[b·T + t, h·D + d]
 * What p holds for s > t is not read. Gradients (of transpose 0), with G that of o: of p attention_scores(G, v), of v
 * attention_mix(p, G) {1}. */
#include "op/attention.h"

enum { TRANSPOSE, INTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *v;
	ls_heads h, of_v;
	if (!ls_op__arity(program, op, 2, 2, INTS, 0) || !ls_op__expect(program, op, op->ints[TRANSPOSE] >> 1 == 0, "transpose 0 or 1") ||
	    !ls_op__heads_of_squares(program, op, &ls_op__input(program, op, 0)->shape, &h))
		return false;
	v = &ls_op__input(program, op, 1)->shape;
	if (!ls_op__heads_of_matrix(program, op, v, h.batch, h.heads, &of_v) ||
	    !ls_op__expect(program, op, of_v.length == h.length, "a matrix of as many sequences, of the squares' length"))
		return false;
	out[0] = ls_op__f32(program, v);
	op->output_count = 1;
	return true;
}

static void gradient(ls_op_grad *g)
{
	const ls_shape *p = &ls_op__input(g->program, g->op, 0)->shape;
	if (g->op->ints[TRANSPOSE]) {
		ls_program_fail(g->program, LS_ERR_UNSUPPORTED, "attention_mix: a gradient has no gradient here");
		return;
	}
	ls_op__emit_grad(g, 0, "attention_scores", (int[]){g->out_grad[0], g->op->inputs[1]}, 2, p->dim, 2);
	ls_op__emit_grad(g, 1, "attention_mix", (int[]){g->op->inputs[0], g->out_grad[0]}, 2, (int64_t[]){1}, 1);
}

static void product(const ls_program *program, const ls_op *op, ls_product *out)
{
	const ls_shape *p = &ls_op__input(program, op, 0)->shape, *v = &ls_op__input(program, op, 1)->shape;
	ls_heads h = {p->dim[0], p->dim[1], p->dim[2], v->dim[1] / p->dim[1]};
	bool turned = op->ints[TRANSPOSE];
	*out = (ls_product){
		.rows = h.batch * h.heads * h.length, .columns = h.width, .terms = h.length,
		.a = {.kind = LS_OPERAND_STRIDED, .input = 0, .row_stride = turned ? 1 : h.length, .inner = h.length,
		      .inner_stride = turned ? h.length : 1, .slicing = ls_op__squares_slices(&h),
		      .mask = turned ? LS_MASK_FROM : LS_MASK_UPTO},
		.b = {.kind = LS_OPERAND_STRIDED, .input = 1, .row_stride = 1, .inner = h.length, .inner_stride = v->dim[1],
		      .slicing = ls_op__matrix_slices(&h, h.width)},
		.row_stride = v->dim[1], .inner = h.width, .inner_stride = 1,
		.slicing = ls_op__matrix_slices(&h, h.length),
	};
}

const ls_op_def ls_op__attention_mix = {
	.kind = "attention_mix",
	.class = LS_OP_PRODUCT,
	.by_sequence = true,
	.int_names = (const char *const[]){"transpose", NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){""},
	.infer = infer,
	.gradient = gradient,
	.product = product,
};
