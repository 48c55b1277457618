#include "op/op.h"

double ls_op__power(double base, uint64_t n)
{
	double result = 1.0;
	for (int bit = 63; bit >= 0; bit--) {
		result = result * result;
		if (n >> bit & 1)
			result = result * base;
	}
	return result;
}

/* t = 1…T. While t ≤ warmup: lr·(t/warmup). Then, with n = t − 1 − warmup:
 *   constant  lr
 *   step      lr·gamma^⌊n/every⌋
 *   cosine    lr·(0.5·(1 + cospi(n/(T − warmup))))
 *   linear    lr·((T − warmup − n)/(T − warmup)) */
double ls_schedule_lr(const ls_schedule *s, uint64_t step)
{
	int64_t t = (int64_t)step, n = t - 1 - s->warmup;
	if (t <= s->warmup)
		return s->lr * ((double)t / (double)s->warmup);
	switch (s->kind) {
	case LS_SCHEDULE_CONSTANT: return s->lr;
	case LS_SCHEDULE_STEP: return s->lr * ls_op__power(s->gamma, (uint64_t)(n / s->every));
	case LS_SCHEDULE_COSINE: return s->lr * (0.5 * (1.0 + ls_cospi((double)n / (double)(s->steps - s->warmup))));
	case LS_SCHEDULE_LINEAR: return s->lr * ((double)(s->steps - s->warmup - n) / (double)(s->steps - s->warmup));
	}
	return s->lr;
}

bool ls_op__schedule_fits(ls_program *program, const ls_op *op, int64_t kind, int64_t every, int64_t warmup, int64_t steps)
{
	return ls_op__expect(program, op, kind >= LS_SCHEDULE_CONSTANT && kind <= LS_SCHEDULE_LINEAR && every >= 1 && warmup >= 0 &&
	                                      warmup < steps, "a schedule whose warm-up is shorter than the run");
}
