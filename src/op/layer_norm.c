/* layer_norm: x̂ = R((x − μ)·r); y = R(x̂·γ + β). Inputs x (N, C), γ, β (C), μ, r (N); outputs y, x̂ (N, C).
 *
 * As in batch_norm.c, what reaches x through μ and r, the statistics of its own row, folds into one expression:
 *     s₁ = R(rsum(dy·γ)), s₂ = R(rsum((dy·γ)·x̂)), dx = R(r·((dy·γ − s₁/C) − x̂·(s₂/C))),
 * so the rule gives x everything and μ and r nothing. Here γ differs along the row, and the sums are not the gradients of
 * β and γ, which are sums over the rows: channel_sum(dy) and channel_dot(dy, x̂). */
#include "op/row.h"

enum { X, GAMMA, BETA, MEAN, R, INPUTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, INPUTS, INPUTS, 0, 0) || !ls_op__rows_fit(program, op, 1, MEAN))
		return false;
	out[0] = out[1] = ls_op__f32(program, &ls_op__input(program, op, X)->shape);
	op->output_count = 2;
	return true;
}

/* r = rsqrt_eps(v), and μ and v the statistics of x's rows. */
static bool statistics_of_x(const ls_program *program, const ls_op *op)
{
	const ls_value *mean = ls_op__input(program, op, MEAN), *r = ls_op__input(program, op, R);
	const ls_op *stats = mean->op < 0 ? NULL : ls_program_op(program, mean->op);
	const ls_op *root = r->op < 0 ? NULL : ls_program_op(program, r->op);
	return stats && root && !strcmp(stats->kind, "row_stats") && !strcmp(root->kind, "rsqrt_eps") &&
	       stats->inputs[0] == op->inputs[X] && stats->outputs[0] == op->inputs[MEAN] && root->inputs[0] == stats->outputs[1];
}

static void gradient(ls_op_grad *g)
{
	const int *in = g->op->inputs;
	int dy = g->out_grad[0], normal = g->op->outputs[1], s1;
	char name[LS_NAME_MAX];
	if (!statistics_of_x(g->program, g->op) || g->out_grad[1] >= 0 || dy < 0) {
		ls_program_fail(g->program, LS_ERR_INTERNAL, "layer_norm: a gradient needs the statistics of its own input, and y");
		return;
	}
	ls_op__emit_grad(g, GAMMA, "channel_dot", (int[]){dy, normal}, 2, NULL, 0);
	ls_op__emit_grad(g, BETA, "channel_sum", &dy, 1, NULL, 0);
	if (!g->wanted[X])
		return;
	ls_op_grad_name(g, R, name);
	s1 = ls_op_append(g->program, &(ls_op_spec){.kind = "layer_norm_sums", .name = name, .inputs = {dy, normal, in[GAMMA]},
	                                            .input_count = 3});
	ls_op__emit_grad(g, X, "layer_norm_dinput", (int[]){dy, normal, in[GAMMA], in[R], s1, s1 + 1}, 6, NULL, 0);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	int64_t columns = ls_reader_input(r, X)->shape.dim[1], n = index / columns, c = index % columns;
	uint32_t normal = ls_op__round(r, 1, ((double)ls_read_f32(r, X, index) - (double)ls_read_f32(r, MEAN, n)) *
	                                         (double)ls_read_f32(r, R, n));
	if (output == 1)
		return normal;
	return ls_op__round(r, 0, (double)ls_f32_bits(normal) * (double)ls_read_f32(r, GAMMA, c) + (double)ls_read_f32(r, BETA, c));
}

const ls_op_def ls_op__layer_norm = {
	.kind = "layer_norm",
	.class = LS_OP_ELEMENTWISE,
	.shares = {0, 1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){"", ".normal"},
	.infer = infer,
	.gradient = gradient,
	.element = element,
};
