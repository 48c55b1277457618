/* adam: Adam (Kingma & Ba 2015), and with decoupled 1 AdamW (Loshchilov & Hutter 2019). Inputs w, g, m, v of one shape; outputs w',
 * m', v', all on the state's grid. ints {decoupled, schedule, every, warmup, steps}, nums {lr, beta1, beta2, epsilon,
 * weight_decay, gamma}; rate of step t by schedule.c, the powers β₁ᵗ and β₂ᵗ by ls_op__power.
 *     g' = decoupled ? g : R(g + λ·w)
 *     m' = R(β₁·m + (1 − β₁)·g')
 *     v' = R(β₂·v + (1 − β₂)·(g'·g'))
 *     u  = (m'/(1 − β₁ᵗ))/(√(v'/(1 − β₂ᵗ)) + ε)
 *     w' = R(w − rate·(decoupled ? u + λ·w : u)) */
#include "op/op.h"

enum { DECOUPLED, SCHEDULE, EVERY, WARMUP, STEPS, INTS };
enum { LR, BETA1, BETA2, EPSILON, WEIGHT_DECAY, GAMMA, NUMS };
enum { W, G, M, V, INPUTS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *w;
	const double *n = op->nums;
	if (!ls_op__arity(program, op, INPUTS, INPUTS, INTS, NUMS))
		return false;
	w = &ls_op__input(program, op, W)->shape;
	for (int i = 1; i < INPUTS; i++)
		if (!ls_op__expect(program, op, ls_shape_equal(w, &ls_op__input(program, op, i)->shape), "tensors of one shape"))
			return false;
	if (!ls_op__expect(program, op, n[BETA1] >= 0 && n[BETA1] < 1 && n[BETA2] >= 0 && n[BETA2] < 1 && n[EPSILON] > 0,
	                   "betas from 0 to below 1, and a positive epsilon") ||
	    !ls_op__schedule_fits(program, op, op->ints[SCHEDULE], op->ints[EVERY], op->ints[WARMUP], op->ints[STEPS]))
		return false;
	for (int o = 0; o < 3; o++)
		out[o] = (ls_value){.dtype = LS_F32, .bits = ls_program_state_bits(program), .shape = *w};
	op->output_count = 3;
	return true;
}

ls_adam ls_adam_of(const ls_op *op, uint64_t step)
{
	const int64_t *a = op->ints;
	const double *n = op->nums;
	ls_schedule schedule = {(ls_schedule_kind)a[SCHEDULE], n[LR], n[GAMMA], a[EVERY], a[WARMUP], a[STEPS]};
	return (ls_adam){.lr = ls_schedule_lr(&schedule, step), .beta1 = n[BETA1], .beta2 = n[BETA2], .epsilon = n[EPSILON],
	                 .decay = n[WEIGHT_DECAY], .decoupled = a[DECOUPLED] != 0, .unbias1 = 1.0 - ls_op__power(n[BETA1], step),
	                 .unbias2 = 1.0 - ls_op__power(n[BETA2], step)};
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	ls_adam a = ls_adam_of(r->op, r->step);
	int bits = ls_reader_output(r, 0)->bits;
	double w = ls_read_f32(r, W, index), g = ls_read_f32(r, G, index), m, v, u;
	if (!a.decoupled)
		g = ls_round_f64(g + a.decay * w, bits);
	m = ls_round_f64(a.beta1 * (double)ls_read_f32(r, M, index) + (1.0 - a.beta1) * g, bits);
	v = ls_round_f64(a.beta2 * (double)ls_read_f32(r, V, index) + (1.0 - a.beta2) * (g * g), bits);
	if (output == 1)
		return ls_bits_f32((float)m);
	if (output == 2)
		return ls_bits_f32((float)v);
	u = m / a.unbias1 / (ls_sqrt(v / a.unbias2) + a.epsilon);
	return ls_op__round(r, 0, w - a.lr * (a.decoupled ? u + a.decay * w : u));
}

const ls_op_def ls_op__adam = {
	.kind = "adam",
	.class = LS_OP_ELEMENTWISE,
	.shares = {W + 1, M + 1, V + 1},
	.int_names = (const char *const[]){"decoupled", "schedule", "every", "warmup", "steps", NULL},
	.num_names = (const char *const[]){"lr", "beta1", "beta2", "epsilon", "weight_decay", "gamma", NULL},
	.output_names = (const char *const[]){".next", ".moment1.next", ".moment2.next"},
	.infer = infer,
	.element = element,
};
