/* causal_softmax: softmax (softmax.c) over the first t+1 elements of row t of each square z (B, H, T, T); behind them p is +0.
 * Outputs p (B, H, T, T), m (B, H, T), s (B, H, T).
 *
 * Gradient. dz = p·(dp − Σ_s dp·p), and where p, or its dropout p', mixes rows, o = p'·v, that sum is Σ_d do·o: over the D
 * elements of a head and not over T positions, and with what is at hand anyway. So the rule looks for the mix that p goes to,
 * and emits head_dot(do, o) and causal_softmax_grad. */
#include "op/attention.h"

#include <stdio.h>

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *z;
	ls_heads h;
	if (!ls_op__arity(program, op, 1, 1, 0, 0))
		return false;
	z = &ls_op__input(program, op, 0)->shape;
	if (!ls_op__heads_of_squares(program, op, z, &h))
		return false;
	out[0] = ls_op__f32(program, z);
	out[1] = out[2] = ls_op__f32(program, &(ls_shape){3, {h.batch, h.heads, h.length}});
	op->output_count = 3;
	return true;
}

/* The one op that reads `value`, or NULL. */
static const ls_op *reader_of(const ls_program *program, int value, int ops)
{
	const ls_op *found = NULL;
	for (int i = 0; i < ops; i++) {
		const ls_op *op = ls_program_op(program, i);
		for (int j = 0; j < op->input_count; j++)
			if (op->inputs[j] == value) {
				if (found)
					return NULL;
				found = op;
			}
	}
	return found;
}

static void gradient(ls_op_grad *g)
{
	const ls_op *mix = reader_of(g->program, g->op->outputs[0], g->forward_ops);
	int dot, o, d_o;
	char name[LS_NAME_MAX];
	if (mix && !strcmp(mix->kind, "dropout"))
		mix = reader_of(g->program, mix->outputs[0], g->forward_ops);
	o = mix && !strcmp(mix->kind, "attention_mix") && !mix->ints[0] ? mix->outputs[0] : -1;
	d_o = o < 0 ? -1 : g->grads[o];
	if (d_o < 0 || g->out_grad[0] < 0 || g->out_grad[1] >= 0 || g->out_grad[2] >= 0) {
		ls_program_fail(g->program, LS_ERR_UNSUPPORTED, "causal_softmax: a gradient needs p to be read by one attention_mix");
		return;
	}
	if (!g->wanted[0])
		return;
	snprintf(name, sizeof name, "%.80s.dot", ls_program_value(g->program, d_o)->name);
	dot = ls_op_append(g->program, &(ls_op_spec){.kind = "head_dot", .name = name, .inputs = {d_o, o}, .input_count = 2,
	                                             .ints = {ls_op__input(g->program, g->op, 0)->shape.dim[0],
	                                                      ls_op__input(g->program, g->op, 0)->shape.dim[1]}, .int_count = 2});
	ls_op__emit_grad(g, 0, "causal_softmax_grad", (int[]){g->out_grad[0], g->op->outputs[0], dot}, 3, NULL, 0);
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	int64_t length = ls_reader_input(r, 0)->shape.dim[3], row = output == 0 ? index / length : index, count = row % length + 1;
	if (output == 0 && index % length >= count)
		return 0;
	return ls_op__softmax_of(r, output, row * length, count, index);
}

const ls_op_def ls_op__causal_softmax = {
	.kind = "causal_softmax",
	.class = LS_OP_SUM,
	.by_sequence = true,
	.int_names = (const char *const[]){NULL},
	.num_names = (const char *const[]){NULL},
	.output_names = (const char *const[]){"", ".max", ".sum"},
	.infer = infer,
	.gradient = gradient,
	.element = element,
};
