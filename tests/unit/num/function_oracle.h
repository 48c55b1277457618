/* What e^x, ln x, 1/√x, tanh, sigmoid, GELU and its derivative are, to FP32, by means that share nothing with src/num: FP64 series with a loose bound settle
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

/* Lambert's continued fraction of tanh, x/(1 + x²/(3 + x²/(5 + …))), to the term 31; |x| ≤ 1. */
static inline double oracle_tanh_fraction(double x)
{
	double square = x * x, sum = 31.0;
	for (int i = 29; i > 0; i -= 2)
		sum = i + square / sum;
	return x / sum;
}

/* |x| ≤ 10 */
static inline double oracle_tanh_series(double x)
{
	double e;
	if (x > -1.0 && x < 1.0)
		return oracle_tanh_fraction(x);
	e = oracle_exp_series(2.0 * x);
	return (e - 1.0) / (e + 1.0);
}

static inline double oracle_sigmoid_series(double x)
{
	return 1.0 / (1.0 + oracle_exp_series(-x));
}

/* w with GELU = x·sigmoid(w); |w| < 113 and the error of e^w is that of w. */
static inline double oracle_gelu_inner(double x)
{
	return 0x1.9884533d43651p+0 * (x + 0.044715 * x * x * x);
}

static inline double oracle_gelu_series(double x)
{
	return x * oracle_sigmoid_series(oracle_gelu_inner(x));
}

/* The terms of the derivative, s + x·w'·s·(1 − s); they nearly cancel around −0.75. */
static inline void oracle_slope_terms(double x, double term[2])
{
	double w = oracle_gelu_inner(x), slope = 0x1.9884533d43651p+0 * (1.0 + 3.0 * 0.044715 * x * x);
	term[0] = oracle_sigmoid_series(w);
	term[1] = x * slope * term[0] * oracle_sigmoid_series(-w);
}

static inline double oracle_slope_series(double x)
{
	double term[2];
	oracle_slope_terms(x, term);
	return term[0] + term[1];
}

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

static inline float oracle_within(oracle *o, oracle_fn fn, float x, double estimate, double slack)
{
	float low = (float)(estimate - slack) + 0.0f, high = (float)(estimate + slack) + 0.0f;
	if (ls_bits_f32(low) == ls_bits_f32(high))
		return low;
	oracle_mpfr(o, fn, x);
	return mpfr_get_flt(o->y, MPFR_RNDN) + 0.0f;
}

static inline float oracle_settle(oracle *o, oracle_fn fn, float x, double estimate)
{
	return oracle_within(o, fn, x, estimate, (estimate < 0.0 ? -estimate : estimate) * ORACLE_BOUND);
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

/* ---- those made of exponentials, from MPFR's exp; 400 bits, since e^-100 meets 1 and the derivative's terms cancel ---- */

#define ORACLE_BITS 400
/* Relative error of the series where w has one of 2^-51 and is up to 113. */
#define ORACLE_GELU_BOUND 0x1p-42

static inline int oracle_mpfr_sigmoid(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t round)
{
	mpfr_t e;
	mpfr_init2(e, ORACLE_BITS);
	mpfr_neg(e, x, MPFR_RNDN);
	mpfr_exp(e, e, MPFR_RNDN);
	mpfr_add_ui(e, e, 1, MPFR_RNDN);
	mpfr_ui_div(y, 1, e, round);
	mpfr_clear(e);
	return 1;
}

/* ½(1 + tanh(√(2/π)·(x + 0.044715·x³))) into `half`, and √(2/π)·(1 + 3·0.044715·x²) into `slope`. */
static inline void oracle_mpfr_gelu_parts(mpfr_ptr half, mpfr_ptr slope, mpfr_srcptr x)
{
	mpfr_t root;
	mpfr_init2(root, ORACLE_BITS);
	mpfr_const_pi(root, MPFR_RNDN);
	mpfr_ui_div(root, 2, root, MPFR_RNDN);
	mpfr_sqrt(root, root, MPFR_RNDN);
	mpfr_sqr(slope, x, MPFR_RNDN);
	mpfr_mul_ui(slope, slope, 44715, MPFR_RNDN);
	mpfr_div_ui(slope, slope, 1000000, MPFR_RNDN);
	mpfr_add_ui(half, slope, 1, MPFR_RNDN);
	mpfr_mul(half, half, x, MPFR_RNDN);
	mpfr_mul(half, half, root, MPFR_RNDN);
	mpfr_tanh(half, half, MPFR_RNDN);
	mpfr_add_ui(half, half, 1, MPFR_RNDN);
	mpfr_div_ui(half, half, 2, MPFR_RNDN);
	mpfr_mul_ui(slope, slope, 3, MPFR_RNDN);
	mpfr_add_ui(slope, slope, 1, MPFR_RNDN);
	mpfr_mul(slope, slope, root, MPFR_RNDN);
	mpfr_clear(root);
}

static inline int oracle_mpfr_gelu(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t round)
{
	mpfr_t half, slope;
	mpfr_inits2(ORACLE_BITS, half, slope, (mpfr_ptr)0);
	oracle_mpfr_gelu_parts(half, slope, x);
	mpfr_mul(y, half, x, round);
	mpfr_clears(half, slope, (mpfr_ptr)0);
	return 1;
}

/* With t = tanh(…) and h = ½(1 + t): h + ½x·(1 − t²)·slope = h + 2x·h·(1 − h)·slope. */
static inline int oracle_mpfr_slope(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t round)
{
	mpfr_t half, slope, rest;
	mpfr_inits2(ORACLE_BITS, half, slope, rest, (mpfr_ptr)0);
	oracle_mpfr_gelu_parts(half, slope, x);
	mpfr_ui_sub(rest, 1, half, MPFR_RNDN);
	mpfr_mul(rest, rest, half, MPFR_RNDN);
	mpfr_mul(rest, rest, slope, MPFR_RNDN);
	mpfr_mul(rest, rest, x, MPFR_RNDN);
	mpfr_mul_ui(rest, rest, 2, MPFR_RNDN);
	mpfr_add(y, rest, half, round);
	mpfr_clears(half, slope, rest, (mpfr_ptr)0);
	return 1;
}

static inline uint32_t oracle_tanh(oracle *o, float x)
{
	if (x != x)
		return LS_NAN_BITS;
	if (x > 10.0f || x < -10.0f)
		return UINT32_C(0x3f800000) | (ls_bits_f32(x) & UINT32_C(0x80000000)); /* 1 − 2·e^-20 > 1 − 2^-25 */
	if (x > -0x1p-13f && x < 0x1p-13f)
		return ls_bits_f32(x + 0.0f); /* less than x²/3 of x away */
	return ls_bits_f32(oracle_settle(o, mpfr_tanh, x, oracle_tanh_series((double)x)));
}

static inline uint32_t oracle_sigmoid(oracle *o, float x)
{
	if (x != x)
		return LS_NAN_BITS;
	if (x > 89.0f)
		return UINT32_C(0x3f800000);
	if (x < -104.0f)
		return 0; /* e^-104 < 2^-150 */
	if (x > -0x1p-25f && x < 0x1p-25f)
		return UINT32_C(0x3f000000); /* ½ + x/4 */
	return ls_bits_f32(oracle_settle(o, oracle_mpfr_sigmoid, x, oracle_sigmoid_series((double)x)));
}

/* Above 6 GELU differs from x by less than x·e^-19, less than half a last place; below −10.8 it is above −11·e^-108. Around
 * 0 it is x/2 + 0.4·x² − …, by a trifle above x/2, which for a subnormal x may be a midpoint. */
static inline uint32_t oracle_gelu(oracle *o, float x)
{
	double estimate = (double)x;
	if (x > -0x1p-60f && x < 0x1p-60f)
		return ls_bits_f32((float)(0.5 * estimate + 0x1p-52 * __builtin_fabs(estimate)) + 0.0f);
	if (x != x)
		return LS_NAN_BITS;
	if (x > 6.0f)
		return ls_bits_f32(x);
	if (x < -10.8f)
		return 0;
	estimate = oracle_gelu_series(estimate);
	return ls_bits_f32(oracle_within(o, oracle_mpfr_gelu, x, estimate, __builtin_fabs(estimate) * ORACLE_GELU_BOUND));
}

/* From 8 on the derivative is 1 to 60·e^-35, at −11 it is above −303·e^-112 > −2^-150. */
static inline uint32_t oracle_slope(oracle *o, float x)
{
	double term[2];
	if (x != x)
		return LS_NAN_BITS;
	if (x > 8.0f)
		return UINT32_C(0x3f800000);
	if (x < -11.0f)
		return 0;
	if (x > -0x1p-26f && x < 0x1p-26f)
		return UINT32_C(0x3f000000); /* ½ + 0.8·x */
	oracle_slope_terms((double)x, term);
	return ls_bits_f32(oracle_within(o, oracle_mpfr_slope, x, term[0] + term[1],
	                                 (__builtin_fabs(term[0]) + __builtin_fabs(term[1])) * ORACLE_GELU_BOUND));
}

#endif
