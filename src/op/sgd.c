/* sgd: g' = R(g + λ·w); m' = R(μ·m + g'); w' = R(w − lr·v), v = m', or R-free g' + μ·m' with Nesterov, or g' where there is
 * no momentum (two inputs). Inputs w, g [, m] of one shape; outputs w' [, m'], all on the state's grid.
 * ints {nesterov, schedule, every, warmup, steps}, nums {lr, momentum, weight_decay, gamma}; lr by schedule.c. */
#include "op/op.h"

enum { NESTEROV, SCHEDULE, EVERY, WARMUP, STEPS, INTS };
enum { LR, MOMENTUM, WEIGHT_DECAY, GAMMA, NUMS };

static bool infer(ls_program *program, ls_op *op, ls_value *out)
{
	const ls_shape *w;
	if (!ls_op__arity(program, op, 2, 3, INTS, NUMS))
		return false;
	w = &ls_op__input(program, op, 0)->shape;
	for (int i = 1; i < op->input_count; i++)
		if (!ls_op__expect(program, op, ls_shape_equal(w, &ls_op__input(program, op, i)->shape), "tensors of one shape"))
			return false;
	if (!ls_op__schedule_fits(program, op, op->ints[SCHEDULE], op->ints[EVERY], op->ints[WARMUP], op->ints[STEPS]))
		return false;
	out[0] = (ls_value){.dtype = LS_F32, .bits = ls_program_state_bits(program), .shape = *w};
	out[1] = out[0];
	op->output_count = op->input_count - 1;
	return true;
}

static uint32_t element(const ls_reader *r, int output, int64_t index)
{
	const int64_t *a = r->op->ints;
	const double *n = r->op->nums;
	ls_schedule schedule = {(ls_schedule_kind)a[SCHEDULE], n[LR], n[GAMMA], a[EVERY], a[WARMUP], a[STEPS]};
	int bits = ls_reader_output(r, 0)->bits;
	double w = ls_read_f32(r, 0, index), v, m;
	double g = ls_round_f64((double)ls_read_f32(r, 1, index) + n[WEIGHT_DECAY] * w, bits);
	v = g;
	if (r->op->input_count == 3) {
		m = ls_round_f64(n[MOMENTUM] * (double)ls_read_f32(r, 2, index) + g, bits);
		if (output == 1)
			return ls_bits_f32((float)m);
		v = a[NESTEROV] ? g + n[MOMENTUM] * m : m;
	}
	return ls_op__round(r, 0, w - ls_schedule_lr(&schedule, r->step) * v);
}

const ls_op_def ls_op__sgd = {
	.kind = "sgd",
	.class = LS_OP_ELEMENTWISE,
	.shares = {1, 3},
	.int_names = (const char *const[]){"nesterov", "schedule", "every", "warmup", "steps", NULL},
	.num_names = (const char *const[]){"lr", "momentum", "weight_decay", "gamma", NULL},
	.output_names = (const char *const[]){".next", ".momentum.next"},
	.infer = infer,
	.element = element,
};
