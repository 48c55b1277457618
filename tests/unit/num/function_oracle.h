/* What e^x, ln x and 1/√x are, to FP32, by means that share nothing with src/num: FP64 series with a loose bound settle
 * nearly all inputs, MPFR the rest. Used by test_function.c and test_function_exhaustive.c only.
 */
#ifndef LS_TEST_FUNCTION_ORACLE_H
#define LS_TEST_FUNCTION_ORACLE_H

#include <lockstep/base.h>
#include <lockstep/num.h>
#include <mpfr.h>

/* Relative error of the series; the true ones are near 2^-50. test_function.c checks it. */
#define ORACLE_BOUND 0x1p-44

/* x = k·ln 2 + r, |r| ≤ 0.36; Taylor to r^16 (0.36^17/17! < 2^-70). −104 ≤ x ≤ 89. */
static inline double oracle_exp_series(double x)
{
	double k = (x * 0x1.71547652b82fep+0 + 0x1.8p52) - 0x1.8p52, sum = 1.0;
	double r = (x - k * 0x1.62e42fefp-1) - k * 0x1.473de6af278edp-34;
	for (int i = 16; i > 0; i--)
		sum = 1.0 + sum * r / i;
	return sum * ls_f64_bits((uint64_t)((int64_t)k + 1023) << 52);
}

/* x = 2^e·m, 0.75 ≤ m < 1.5; ln m = 2 artanh((m−1)/(m+1)), artanh by its Taylor sum to s^27 (0.2^28/29 < 2^-69). */
static inline double oracle_log_series(double x)
{
	uint64_t bits = ls_bits_f64(x);
	int half = (bits >> 51 & 1) != 0;
	double e = (double)((int)(bits >> 52) - 1023 + half);
	double m = ls_f64_bits((bits & UINT64_C(0x000fffffffffffff)) | (uint64_t)(1023 - half) << 52);
	double s = (m - 1.0) / (m + 1.0), q = s * s, sum = 0.0;
	for (int i = 27; i > 0; i -= 2)
		sum = sum * q + 1.0 / i;
	return e * 0x1.62e42fefa39efp-1 + 2.0 * s * sum;
}

/* Newton's iteration y·(3 − x·y²)/2 from a guess within 4 %: after four steps what is left is rounding. 0 < x < inf. */
static inline double oracle_rsqrt_series(double x)
{
	double y = ls_f64_bits(UINT64_C(0x5fe6eb50c7b537a9) - (ls_bits_f64(x) >> 1));
	for (int i = 0; i < 4; i++)
		y = y * (1.5 - 0.5 * x * y * y);
	return y;
}

/* One thread's MPFR variables and a count of how often they were asked. */
typedef struct oracle {
	mpfr_t x, y;
	int64_t asked;
} oracle;

static inline void oracle_open(oracle *o)
{
	mpfr_init2(o->x, 24);
	mpfr_init2(o->y, 160);
	o->asked = 0;
}

static inline void oracle_close(oracle *o)
{
	mpfr_clear(o->x);
	mpfr_clear(o->y);
}

typedef int (*oracle_fn)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

/* Leaves the function's value in o->y (160 bits: over twice what the hardest FP32 cases need). */
static inline void oracle_mpfr(oracle *o, oracle_fn fn, float x)
{
	o->asked++;
	mpfr_set_flt(o->x, x, MPFR_RNDN);
	fn(o->y, o->x, MPFR_RNDN);
}

static inline float oracle_settle(oracle *o, oracle_fn fn, float x, double estimate)
{
	double slack = (estimate < 0.0 ? -estimate : estimate) * ORACLE_BOUND;
	float low = (float)(estimate - slack), high = (float)(estimate + slack);
	if (ls_bits_f32(low) == ls_bits_f32(high))
		return low;
	oracle_mpfr(o, fn, x);
	return mpfr_get_flt(o->y, MPFR_RNDN) + 0.0f;
}

static inline uint32_t oracle_exp(oracle *o, float x)
{
	if (x != x)
		return LS_NAN_BITS;
	if (x > 89.0f)
		return UINT32_C(0x7f800000); /* e^89 > 2^128 */
	if (x < -104.0f)
		return 0; /* e^-104 < 2^-150 */
	if (x >= -0x1p-25f && x <= 0x1p-25f)
		return UINT32_C(0x3f800000); /* between the midpoints 1 − 2^-25 and 1 + 2^-24 */
	return ls_bits_f32(oracle_settle(o, mpfr_exp, x, oracle_exp_series(x)));
}

static inline uint32_t oracle_log(oracle *o, float x)
{
	uint32_t bits = ls_bits_f32(x);
	if ((bits & UINT32_C(0x7fffffff)) == 0)
		return UINT32_C(0xff800000);
	if (bits == UINT32_C(0x7f800000))
		return bits;
	if (bits > UINT32_C(0x7f800000))
		return LS_NAN_BITS;
	if (bits == UINT32_C(0x3f800000))
		return 0;
	return ls_bits_f32(oracle_settle(o, mpfr_log, x, oracle_log_series(x)));
}

static inline uint32_t oracle_rsqrt(oracle *o, float x)
{
	uint32_t bits = ls_bits_f32(x);
	if ((bits & UINT32_C(0x7fffffff)) == 0)
		return UINT32_C(0x7f800000);
	if (bits == UINT32_C(0x7f800000))
		return 0;
	if (bits > UINT32_C(0x7f800000))
		return LS_NAN_BITS;
	return ls_bits_f32(oracle_settle(o, mpfr_rec_sqrt, x, oracle_rsqrt_series(x)));
}

#endif
