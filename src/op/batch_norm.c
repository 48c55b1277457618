/* batch_norm: x̂ = R((x − μ)·r); y = R(x̂·γ + β), the last four per channel. Inputs x (N, C, H, W), μ, r, γ, β (C); outputs y, x̂.
 *
 * Both outputs come from one op because the backward pass of batch normalisation is one expression. With the statistics
 * taken from x itself (channel_stats, rsqrt_eps), what reaches x through μ and r folds into
 *     s₁ = R(rsum(dy)), s₂ = R(rsum(dy·x̂)), dx = R((γ·r)·((dy − s₁/n) − x̂·(s₂/n))),
 * where s₁ and s₂ are also the gradients of β and γ. So the rule gives x everything and μ and r nothing, and neither a
 * gradient of x̂ nor those of the statistics exist as values. Where μ and r are running statistics (evaluation) that would
 * be wrong, and the rule refuses. x̂ may lie over x: nobody else reads a convolution's output. */
#include "op/norm.h"

enum { X, MEAN, R, GAMMA, BETA, INPUTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	if (!ls_op__arity(program, op, INPUTS, INPUTS, 0, 0) || !ls_op__channels_fit(program, op, X, MEAN, BETA))
		return false;
	out[0] = out[1] = ls_op__f32(program, &ls_op__input(program, op, X)->shape);
	op->output_count = 2;
	return true;
}

/* r = rsqrt_eps(v), and μ and v the statistics of x. */
static bool statistics_of_x(const ls_program *program, const ls_op *op)
{
	const ls_value *mean = ls_op__input(program, op, MEAN), *r = ls_op__input(program, op, R);
	const ls_op *stats = mean->op < 0 ? NULL : ls_program_op(program, mean->op);
	const ls_op *root = r->op < 0 ? NULL : ls_program_op(program, r->op);
	return stats && root && !strcmp(stats->kind, "channel_stats") && !strcmp(root->kind, "rsqrt_eps") &&
	       stats->inputs[0] == op->inputs[X] && stats->outputs[0] == op->inputs[MEAN] && root->inputs[0] == stats->outputs[1];
}

/* A sum that batch_norm_dinput reads, whether or not the parameter's own gradient is wanted. */
static int sum(ls_op_grad *g, int input, const char *kind, int dy, int other)
{
	char name[LS_NAME_MAX];
	ls_op_spec spec = {.kind = kind, .name = name, .inputs = {dy, other}, .input_count = other >= 0 ? 2 : 1};
	ls_op_grad_name(g, input, name);
	g->in_grad[input] = ls_op_append(g->program, &spec);
	return g->in_grad[input];
}

static void gradient(ls_op_grad *g)
{
	int dy = g->out_grad[0], normal = g->op->outputs[1], s1, s2;
	if (!statistics_of_x(g->program, g->op) || g->out_grad[1] >= 0 || dy < 0) {
		ls_program_fail(g->program, LS_ERR_INTERNAL, "batch_norm: a gradient needs the statistics of its own input, and y");
		return;
	}
	s1 = sum(g, BETA, "channel_sum", dy, -1);
	s2 = sum(g, GAMMA, "channel_dot", dy, normal);
	ls_op__emit_grad(g, X, "batch_norm_dinput", (int[]){dy, normal, g->op->inputs[GAMMA], g->op->inputs[R], s1, s2}, 6, NULL, 0);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	int64_t c = ls_op__channel_of(&ls_reader_input(r, X)->shape, index);
	uint32_t normal = ls_op__round(r, 1, ((double)ls_read_f32(r, X, index) - (double)ls_read_f32(r, MEAN, c)) *
	                                         (double)ls_read_f32(r, R, c));
	if (output == 1)
		return normal;
	return ls_op__round(r, 0, (double)ls_f32_bits(normal) * (double)ls_read_f32(r, GAMMA, c) + (double)ls_read_f32(r, BETA, c));
}

const ls_op_def ls_op__batch_norm = {
	.kind = "batch_norm",
	.class = LS_OP_ELEMENTWISE,
	.shares = {0, 1},
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){"", ".normal"},
	.infer = infer,
	.gradient = gradient,
	.element = element,
};
