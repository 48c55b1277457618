#include "op/op.h"

/* base^n by square and multiply from the top bit, each product RNE64. */
static double power(double base, uint64_t n)
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
 *   cosine    lr·(0.5·(1 + cospi(n/(T − warmup)))) */
double ls_schedule_lr(const ls_schedule *s, uint64_t step)
{
	int64_t t = (int64_t)step, n = t - 1 - s->warmup;
	if (t <= s->warmup)
		return s->lr * ((double)t / (double)s->warmup);
	switch (s->kind) {
	case LS_SCHEDULE_CONSTANT: return s->lr;
	case LS_SCHEDULE_STEP: return s->lr * power(s->gamma, (uint64_t)(n / s->every));
	case LS_SCHEDULE_COSINE: return s->lr * (0.5 * (1.0 + ls_cospi((double)n / (double)(s->steps - s->warmup))));
	}
	return s->lr;
}
