// ctest: labels=quick timeout=120 libs=mpfr
/* The functions of one argument on samples (test_function_exhaustive.c covers every input of those that are correctly
 * rounded), and cospi, sqrt and fma. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "num/function_core.h"
#include "num/function_oracle.h"

#define SAMPLES 2097152 /* one stratum of 2^11 inputs each */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* The i-th sampled input: a random one of the i-th run of 2^11 bit patterns. */
static float sample(uint64_t *state, uint32_t i)
{
	return ls_f32_bits(i << 11 | (uint32_t)(next_random(state) >> 53));
}

static const uint32_t hard_inputs[] = {
	0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x807fffff, 0x80800000, 0x3f800000,
	0xbf800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000,
	0x7f800001, 0x7fffffff, 0xffffffff, 0xff800001,
	0x42b17217, 0x42b17218, 0x42b17219,             /* around 128 ln 2: exp overflows */
	0xc2aeac4f, 0xc2aeac50, 0xc2aeac51,             /* around -126 ln 2: subnormal results */
	0xc2cff1b4, 0xc2cff1b5, 0xc2cff1b6,             /* around -150 ln 2: the last non-zero result */
	0x33000000, 0x33800000, 0x33800001, 0xb3000000, 0xb3000001, 0xb2ffffff, /* around the first result beside 1 */
	0x3c413d3a, 0x41178feb, 0x4c5d65a5, 0x65d890d3, 0x6f31a8ec, /* ln x within 2^-53 of an FP32 midpoint */
	0x3dffffff, 0x3e000000, 0xbe000000, 0x39ffffff, 0x3a000000, /* around 1/8, where tanh changes its formula */
	0x41102cb3, 0x41102cb4, 0x41102cb5, 0xc1102cb4, 0x41200000, 0x41200001, /* tanh around its first 1; where it is cut */
	0xbf40a14f, 0xbf40a150, 0xbf40a151,             /* around the zero of GELU's derivative */
	0x41300000, 0x41300001, 0x412fffff, 0xc1300000, 0xc1300001, 0xc12ccccd, 0xc12a0000, 0x40c00000, 0x40c00001,
	0x00000002, 0x00000003, 0x80000003, 0x00800001, 0x81000001, 0x01000001, /* half of them is a midpoint */
	0x42dc0001, 0xc2dc0001,
	0x40051592, 0x402df854, 0x3ebc5ab2, 0x4d000000, 0x42b20000, 0xc2ae0000, 0xc2d00000, 0xc2dc0000, 0x42b40000,
};
#define HARD_INPUTS (sizeof hard_inputs / sizeof *hard_inputs)

static int64_t count_wrong(float (*function)(float), uint32_t (*expected)(oracle *, float))
{
	uint64_t state = 1;
	int64_t wrong = 0;
	oracle o;
	oracle_open(&o);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		float x = sample(&state, i);
		wrong += ls_bits_f32(function(x)) != expected(&o, x);
	}
	for (size_t i = 0; i < HARD_INPUTS; i++) {
		float x = ls_f32_bits(hard_inputs[i]);
		wrong += ls_bits_f32(function(x)) != expected(&o, x);
	}
	oracle_close(&o);
	return wrong;
}

/* The same computation with each step rounded to FP32, as a careless library would do it. */
static float naive_exp(float x)
{
	float sum = 1.0f, n = (x * 1.44269504f + 0x1.8p23f) - 0x1.8p23f;
	float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
	if (!(x > -80.0f && x < 80.0f))
		return ls_exp(x);
	for (int i = 8; i > 0; i--)
		sum = 1.0f + sum * r / (float)i;
	return sum * ls_f32_bits((uint32_t)((int32_t)n + 127) << 23);
}

/* Right except that a result ending in 12 zero bits is one unit too high. */
static float perturbed_log(float x)
{
	uint32_t bits = ls_bits_f32(ls_log(x));
	return ls_f32_bits((bits & 0xfff) == 0 && (bits & 0x7f800000) != 0x7f800000 ? bits + 1 : bits);
}

static void test_exp(void **unused)
{
	assert_int_equal(count_wrong(ls_exp, oracle_exp), 0);
	assert_true(count_wrong(naive_exp, oracle_exp) > 1000);
}

static void test_log(void **unused)
{
	assert_int_equal(count_wrong(ls_log, oracle_log), 0);
	assert_true(count_wrong(perturbed_log, oracle_log) > 100);
}

/* The reciprocal of an FP32 root, as a careless library would have it. */
static float naive_rsqrt(float x)
{
	return ls_f32(1.0 / (double)(float)ls_sqrt((double)x + 0.0));
}

static void test_rsqrt(void **unused)
{
	assert_int_equal(count_wrong(ls_rsqrt, oracle_rsqrt), 0);
	assert_true(count_wrong(naive_rsqrt, oracle_rsqrt) > 1000);
	assert_int_equal(ls_bits_f32(ls_rsqrt(-0.0f)), 0x7f800000);
	assert_int_equal(ls_bits_f32(ls_rsqrt(4.0f)), ls_bits_f32(0.5f));
	assert_int_equal(ls_bits_f32(ls_rsqrt(-1.0f)), LS_NAN_BITS);
	assert_int_equal(ls_bits_f32(ls_rsqrt(ls_f32_bits(0x7f800000))), 0);
}

/* The textbook's quotient in FP64, which loses the digits of small arguments. */
static float fp64_tanh(float x)
{
	double e, s;
	if (!(x > -9.0f && x < 9.0f))
		return ls_tanh(x);
	e = oracle_exp_series(2.0 * (double)x);
	s = (e - 1.0) / (e + 1.0);
	return ls_f32(s);
}

static float fp32_sigmoid(float x)
{
	return ls_f32(1.0 / (1.0 + (double)ls_exp(-x)));
}

/* With √(2/π) and 0.044715 rounded to FP32, as they stand in many programs. */
static float fp32_gelu(float x)
{
	double u = (double)0.79788456f * ((double)x + (double)0.044715f * (double)x * (double)x * (double)x);
	return x < -10.0f ? ls_gelu(x) : ls_f32((double)x / (1.0 + oracle_exp_series(-2.0 * u > 100.0 ? 100.0 : -2.0 * u < -100.0 ? -100.0 : -2.0 * u)));
}

/* The derivative from two correctly rounded terms: their difference has no digits left around its zero. */
static float fp32_slope(float x)
{
	double term[2];
	if (!(x > -11.0f && x < 11.0f))
		return ls_gelu_slope(x);
	oracle_slope_terms((double)x, term);
	return ls_f32((double)ls_f32(term[0]) + (double)ls_f32(term[1]));
}

static void test_tanh(void **state)
{
	assert_int_equal(count_wrong(ls_tanh, oracle_tanh), 0);
	assert_true(count_wrong(fp64_tanh, oracle_tanh) > 1000); // all small arguments
	assert_int_equal(ls_bits_f32(ls_tanh(-0.0f)), 0);
	assert_int_equal(ls_bits_f32(ls_tanh(ls_f32_bits(0xff800000))), 0xbf800000);
}

static void test_sigmoid(void **state)
{
	assert_int_equal(count_wrong(ls_sigmoid, oracle_sigmoid), 0);
	assert_true(count_wrong(fp32_sigmoid, oracle_sigmoid) > 1000);
	assert_int_equal(ls_bits_f32(ls_sigmoid(-0.0f)), 0x3f000000);
	assert_int_equal(ls_bits_f32(ls_sigmoid(-103.0f)), 1); // e^-103 is 1.4 of the smallest
	assert_int_equal(ls_bits_f32(ls_sigmoid(ls_f32_bits(0xff800000))), 0);
}

static void test_gelu(void **state)
{
	assert_int_equal(count_wrong(ls_gelu, oracle_gelu), 0);
	assert_true(count_wrong(fp32_gelu, oracle_gelu) > 1000);
	assert_int_equal(ls_bits_f32(ls_gelu(ls_f32_bits(0x7f800000))), 0x7f800000);
	assert_int_equal(ls_bits_f32(ls_gelu(ls_f32_bits(0xff800000))), 0);
	assert_int_equal(ls_bits_f32(ls_gelu(-0.0f)), 0);
}

/* Every argument near the zero of the derivative, where the sweep over samples has few. */
static void test_gelu_slope(void **state)
{
	int64_t wrong = 0, wrong_terms = 0;
	oracle o;
	oracle_open(&o);
	for (uint32_t bits = 0xbf40a150 - 20000; bits < 0xbf40a150 + 20000; bits++) {
		float x = ls_f32_bits(bits);
		uint32_t expected = oracle_slope(&o, x);
		wrong += ls_bits_f32(ls_gelu_slope(x)) != expected;
		wrong_terms += ls_bits_f32(fp32_slope(x)) != expected;
	}
	oracle_close(&o);
	assert_int_equal(wrong, 0);
	assert_true(wrong_terms > 1000);
	assert_int_equal(count_wrong(ls_gelu_slope, oracle_slope), 0);
	assert_int_equal(ls_bits_f32(ls_gelu_slope(ls_f32_bits(0x7f800000))), 0x3f800000);
	assert_int_equal(ls_bits_f32(ls_gelu_slope(ls_f32_bits(0xff800000))), 0);
}

/* The oracle's short cut against MPFR: it must hold its bound, and a bound 2^11 times tighter must fail. */
static int64_t count_beyond(oracle_fn fn, double (*series)(double), float low, float high, double bound)
{
	uint64_t state = 2;
	int64_t beyond = 0;
	mpfr_t error;
	oracle o;
	oracle_open(&o);
	mpfr_init2(error, 160);
	for (int i = 0; i < 100000; i++) {
		float x = ls_f32_bits((uint32_t)next_random(&state));
		if (!(x > low && x < high))
			continue;
		oracle_mpfr(&o, fn, x);
		mpfr_sub_d(error, o.y, series(x), MPFR_RNDN);
		mpfr_div(error, error, o.y, MPFR_RNDN);
		mpfr_abs(error, error, MPFR_RNDN);
		beyond += mpfr_cmp_d(error, bound) > 0;
	}
	mpfr_clear(error);
	oracle_close(&o);
	return beyond;
}

static void test_oracle(void **unused)
{
	assert_int_equal(count_beyond(mpfr_exp, oracle_exp_series, -104.0f, 89.0f, ORACLE_BOUND * 0.125), 0);
	assert_int_equal(count_beyond(mpfr_log, oracle_log_series, 0.0f, 0x1p127f, ORACLE_BOUND * 0.125), 0);
	assert_int_equal(count_beyond(mpfr_rec_sqrt, oracle_rsqrt_series, 0.0f, 0x1p127f, ORACLE_BOUND * 0.125), 0);
	assert_int_equal(count_beyond(mpfr_tanh, oracle_tanh_series, -10.0f, 10.0f, ORACLE_BOUND * 0.125), 0);
	assert_int_equal(count_beyond(oracle_mpfr_sigmoid, oracle_sigmoid_series, -104.0f, 89.0f, ORACLE_BOUND * 0.125), 0);
	assert_int_equal(count_beyond(oracle_mpfr_gelu, oracle_gelu_series, -10.8f, 6.0f, ORACLE_GELU_BOUND * 0.25), 0);
	assert_int_equal(count_beyond(oracle_mpfr_slope, oracle_slope_series, 0.0f, 8.0f, ORACLE_GELU_BOUND * 0.25), 0);
	assert_int_equal(count_beyond(oracle_mpfr_slope, oracle_slope_series, -11.0f, -2.0f, ORACLE_GELU_BOUND * 0.25), 0);
	assert_true(count_beyond(mpfr_tanh, oracle_tanh_series, -10.0f, 10.0f, 0x1p-55) > 0);
	assert_true(count_beyond(oracle_mpfr_sigmoid, oracle_sigmoid_series, -104.0f, 89.0f, 0x1p-55) > 0);
	assert_true(count_beyond(oracle_mpfr_gelu, oracle_gelu_series, -10.8f, 6.0f, 0x1p-52) > 0);
	assert_true(count_beyond(oracle_mpfr_slope, oracle_slope_series, -11.0f, -2.0f, 0x1p-52) > 0);
	assert_true(count_beyond(mpfr_rec_sqrt, oracle_rsqrt_series, 0.0f, 0x1p127f, 0x1p-55) > 0);
	assert_true(count_beyond(mpfr_exp, oracle_exp_series, -104.0f, 89.0f, 0x1p-55) > 0);
	assert_true(count_beyond(mpfr_log, oracle_log_series, 0.0f, 0x1p127f, 0x1p-55) > 0);
}

/* The value before rounding is an FP64 number within 1 unit of the logarithm, and odd where inexact. */
static void test_log_f64(void **unused)
{
	uint64_t state = 3;
	oracle o;
	oracle_open(&o);
	for (int i = 0; i < 100000; i++) {
		float x = ls_f32_bits((uint32_t)next_random(&state) & 0x7fffffff);
		double y = ls_log_f64(x), low, high;
		if (!(x > 0.0f && x < 0x1p127f) || ls_bits_f32(x) == 0x3f800000)
			continue;
		oracle_mpfr(&o, mpfr_log, x);
		low = mpfr_get_d(o.y, MPFR_RNDD);
		high = mpfr_get_d(o.y, MPFR_RNDU);
		assert_true(ls_bits_f64(y) & 1);
		assert_true(ls_bits_f64(y) == ls_bits_f64(low) || ls_bits_f64(y) == ls_bits_f64(high));
	}
	oracle_close(&o);
	assert_int_equal(ls_bits_f64(ls_log_f64(1.0f)), 0);
	assert_int_equal(ls_bits_f64(ls_log_f64(-1.0f)), UINT64_C(0x7ff8000000000000));
	assert_int_equal(ls_bits_f64(ls_log_f64(0.0f)), UINT64_C(0xfff0000000000000));
}

/* Whatever the compiler makes of the cores in a loop has the bits of single calls. */
static void test_core_in_a_loop(void **unused)
{
	static float x[4096], e[4096];
	static double l[4096];
	uint64_t state = 4;
	int differ = 0;
	for (int i = 0; i < 4096; i++)
		x[i] = ls_f32_bits((uint32_t)(i < 2048 ? next_random(&state) : 0x42000000 | next_random(&state) % 0x1000000));
	for (int i = 0; i < 4096; i++)
		e[i] = ls_num__exp(x[i]);
	for (int i = 2048; i < 4096; i++)
		l[i] = ls_num__log_positive(x[i]);
	for (int i = 0; i < 4096; i++)
		assert_int_equal(ls_bits_f32(e[i]), ls_bits_f32(ls_exp(x[i])));
	for (int i = 2048; i < 4096; i++)
		assert_int_equal(ls_bits_f64(l[i]), ls_bits_f64(ls_log_f64(x[i])));
	for (int i = 1; i < 4096; i++)
		differ += ls_bits_f32(e[i]) != ls_bits_f32(ls_exp(x[i - 1]));
	assert_true(differ > 1000);
}

static double cospi_error(double x, mpfr_t t)
{
	mpfr_t p;
	double error;
	mpfr_init2(p, 200);
	mpfr_const_pi(p, MPFR_RNDN);
	mpfr_mul_d(t, p, x, MPFR_RNDN);
	mpfr_cos(t, t, MPFR_RNDN);
	mpfr_sub_d(t, t, ls_cospi(x), MPFR_RNDN);
	error = mpfr_get_d(t, MPFR_RNDN);
	mpfr_clear(p);
	return error < 0.0 ? -error : error;
}

static void test_cospi(void **unused)
{
	uint64_t state = 5;
	double worst = 0.0;
	mpfr_t t;
	mpfr_init2(t, 200);
	for (int i = 0; i < 40000; i++) {
		double x = (double)(next_random(&state) >> 11) * 0x1p-53 * (i % 4 ? 2.0 : 0x1p20), error = cospi_error(x, t);
		worst = error > worst ? error : worst;
		assert_int_equal(ls_bits_f64(ls_cospi(x)), ls_bits_f64(ls_cospi(-x)));
	}
	printf("cospi: largest error %.2f * 2^-53\n", worst * 0x1p53);
	assert_true(worst < 0x1p-50);
	assert_true(worst > 0x1p-56); /* the measurement measures something */
	mpfr_clear(t);
	for (int n = -64; n < 64; n++) {
		static const double quarter[4] = {1.0, 0.0, -1.0, 0.0};
		assert_int_equal(ls_bits_f64(ls_cospi(n * 0.5)), ls_bits_f64(quarter[n & 3]));
	}
	assert_int_equal(ls_bits_f64(ls_cospi(0x1p20)), ls_bits_f64(1.0));
	assert_int_equal(ls_bits_f64(ls_cospi(0x1.8p20)), UINT64_C(0x7ff8000000000000));
	assert_int_not_equal(ls_bits_f64(ls_cospi(0.25)), ls_bits_f64(ls_cospi(0.75)));
}

/* A finite double of any exponent, often with few bits set so that ties and cancellation happen. */
static double any_double(uint64_t *state)
{
	uint64_t bits = next_random(state), kind = next_random(state);
	if (kind & 1)
		bits &= ~UINT64_C(0) << (kind >> 8) % 53;
	if (kind & 2)
		bits = (bits & ~UINT64_C(0x7ff0000000000000)) | (1023 - 30 + (kind >> 16) % 60) << 52;
	if (kind & 4)
		bits &= UINT64_C(0x800fffffffffffff); /* subnormal */
	return (bits >> 52 & 0x7ff) == 0x7ff ? 1.5 : ls_f64_bits(bits);
}

/* The exact value rounded once. 4,400 bits hold any a·b + c. */
static double fma_oracle(mpfr_t x, mpfr_t y, double a, double b, double c)
{
	double rounded;
	mpfr_set_d(x, a, MPFR_RNDN);
	mpfr_mul_d(x, x, b, MPFR_RNDN);
	mpfr_add_d(y, x, c, MPFR_RNDN);
	rounded = mpfr_get_d(y, MPFR_RNDN);
	return mpfr_zero_p(y) ? a * b + c : rounded; /* only IEEE knows the sign of an exact zero */
}

static void test_fma(void **unused)
{
	uint64_t state = 6;
	int differs = 0;
	mpfr_t x, y;
	mpfr_init2(x, 106);
	mpfr_init2(y, 4400);
	for (int i = 0; i < 200000; i++) {
		double a = any_double(&state), b = any_double(&state), c = any_double(&state), want;
		if (i % 4 == 1)
			c = -(a * b) + (i % 8 == 1 ? 0.0 : c * 0x1p-60);
		if (i % 4 == 2) /* near the bottom of the range */
			b = ls_f64_bits((ls_bits_f64(b) & ~UINT64_C(0x7ff0000000000000)) | (uint64_t)(i % 100 + 1) << 52);
		if (!(c - c == 0.0))
			c = 1.0;
		want = fma_oracle(x, y, a, b, c);
		assert_int_equal(ls_bits_f64(ls_fma(a, b, c)), ls_bits_f64(want));
		differs += ls_bits_f64(a * b + c) != ls_bits_f64(want);
	}
	mpfr_clear(x);
	mpfr_clear(y);
	assert_true(differs > 1000);
}

static void test_fma_special(void **unused)
{
	const double inf = ls_f64_bits(UINT64_C(0x7ff0000000000000)), big = 0x1p1000, tiny = 0x1p-1000;
	const uint64_t nan = UINT64_C(0x7ff8000000000000);
	assert_int_equal(ls_bits_f64(ls_fma(big, big, -inf)), ls_bits_f64(-inf));
	assert_int_equal(ls_bits_f64(ls_fma(big, big, 1.0)), ls_bits_f64(inf));
	assert_int_equal(ls_bits_f64(ls_fma(inf, 1.0, -inf)), nan);
	assert_int_equal(ls_bits_f64(ls_fma(inf, 0.0, 1.0)), nan);
	assert_int_equal(ls_bits_f64(ls_fma(1.0, 1.0, ls_f64_bits(UINT64_C(0xfff8000000000123)))), nan);
	assert_int_equal(ls_bits_f64(ls_fma(-tiny, tiny, 0.0)), ls_bits_f64(-0.0));
	assert_int_equal(ls_bits_f64(ls_fma(-tiny, tiny, 0x1p-1074)), 1);
	assert_int_equal(ls_bits_f64(ls_fma(tiny, tiny, -0x1p-1074)), UINT64_C(0x8000000000000001));
	assert_int_equal(ls_bits_f64(ls_fma(2.0, 3.0, -6.0)), 0);
	assert_int_equal(ls_bits_f64(ls_fma(0.0, -1.0, 0.0)), 0);
	assert_int_equal(ls_bits_f64(ls_fma(0.0, -1.0, -0.0)), ls_bits_f64(-0.0));
	assert_int_equal(ls_bits_f64(ls_fma(0x1p-537, 0x1p-538, 0.0)), 0); /* half of the smallest: tie to even */
	assert_int_equal(ls_bits_f64(ls_fma(0x1p-537, 0x1.8p-538, 0.0)), 1);
	assert_int_equal(ls_bits_f64(ls_fma(0x1.fffffffffffffp1023, 1.0, 0x1p969)), UINT64_C(0x7fefffffffffffff));
	assert_int_equal(ls_bits_f64(ls_fma(0x1.fffffffffffffp1023, 1.0, 0x1p970)), ls_bits_f64(inf));
}

static void test_sqrt(void **unused)
{
	uint64_t state = 7;
	int inexact = 0;
	mpfr_t x;
	mpfr_init2(x, 53);
	for (int i = 0; i < 200000; i++) {
		double v = any_double(&state), root;
		v = v < 0.0 ? -v : v;
		mpfr_set_d(x, v, MPFR_RNDN);
		inexact += mpfr_sqrt(x, x, MPFR_RNDN) != 0;
		root = ls_sqrt(v);
		if (v > 0.0)
			assert_int_equal(ls_bits_f64(root), ls_bits_f64(mpfr_get_d(x, MPFR_RNDN)));
	}
	mpfr_clear(x);
	assert_true(inexact > 100000);
	assert_int_equal(ls_bits_f64(ls_sqrt(-0.0)), ls_bits_f64(-0.0));
	assert_int_equal(ls_bits_f64(ls_sqrt(0.0)), 0);
	assert_int_equal(ls_bits_f64(ls_sqrt(-1.0)), UINT64_C(0x7ff8000000000000));
	assert_int_not_equal(ls_bits_f64(ls_sqrt(2.0)), ls_bits_f64((double)1.41421356f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exp),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_rsqrt),
		cmocka_unit_test(test_tanh),
		cmocka_unit_test(test_sigmoid),
		cmocka_unit_test(test_gelu),
		cmocka_unit_test(test_gelu_slope),
		cmocka_unit_test(test_oracle),
		cmocka_unit_test(test_log_f64),
		cmocka_unit_test(test_core_in_a_loop),
		cmocka_unit_test(test_cospi),
		cmocka_unit_test(test_fma),
		cmocka_unit_test(test_fma_special),
		cmocka_unit_test(test_sqrt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
