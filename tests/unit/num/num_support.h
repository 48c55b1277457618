/* What the tests of grids and sums share: cmocka with its headers, a random source that owes nothing to src/num, and a
 * slow rounding to a grid, straight from its definition. */
#ifndef LS_TEST_NUM_SUPPORT_H
#define LS_TEST_NUM_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <lockstep/num.h>

typedef struct rng {
	uint64_t state;
} rng;

/* SplitMix64 (Steele, Lea, Flood, 2014). */
static inline uint64_t rng_next(rng *r)
{
	uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline int rng_below(rng *r, int n)
{
	return (int)(rng_next(r) % (uint64_t)n);
}

/* Uniform in [−1, 1]. */
static inline double rng_unit(rng *r)
{
	return (double)(int64_t)(rng_next(r) >> 10) * 0x1p-53 - 1.0;
}

/* 2^e, −1022 ≤ e ≤ 1023. */
static inline double two_to(int e)
{
	return ls_f64_bits((uint64_t)(e + 1023) << 52);
}

/* x·2^e, the result normal or zero. */
static inline float scaled(double x, int e)
{
	return (float)(x * two_to(e));
}

/* Uniform in [−1, 1] times 2^low … 2^(low+count−1); in statements, as C leaves the order of arguments open. */
static inline float rng_scaled(rng *r, int low, int count)
{
	double x = rng_unit(r);
	int e = low + rng_below(r, count);
	return scaled(x, e);
}

/* R(x) from its definition: how many steps, what is left over, nearest, even. */
static inline float reference_round(double x, int bits)
{
	uint64_t u = ls_bits_f64(x);
	int field = (int)(u >> 52 & 0x7ff);
	uint64_t m = u & UINT64_C(0xfffffffffffff);
	uint32_t sign = (uint32_t)(u >> 63) << 31;
	if (field == 0x7ff)
		return ls_f32_bits(m ? LS_NAN_BITS : sign | UINT32_C(0x7f800000));
	if (field)
		m |= UINT64_C(1) << 52;
	int lowest = (field ? field : 1) - 1075; /* |x| = m·2^lowest */
	int step = lowest + 61 - bits;           /* 2^step: leaves bits−8 of 53 bits */
	if (step < -149 + 32 - bits || !field)
		step = -149 + 32 - bits;
	int drop = step - lowest;
	uint64_t steps = 0;
	if (drop < 64) {
		uint64_t rest = m & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
		steps = m >> drop;
		if (rest > half || (rest == half && steps % 2 == 1))
			steps++;
	}
	if (steps == 0)
		return 0.0f;
	int exponent = step + 63 - __builtin_clzll(steps);
	if (exponent > 127)
		return ls_f32_bits(sign | UINT32_C(0x7f800000));
	/* steps·2^step in FP64 is exact and so is its conversion. */
	float v = (float)((double)steps * two_to(step));
	return ls_f32_bits(ls_bits_f32(v) | sign);
}

#endif
