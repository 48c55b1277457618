// ctest: libs=mpfr
/* The bound on a platform's sum and the rounding test built on it. */
#include "num/num_support.h"

#include <mpfr.h>

#define MOST 600

static void depths(void **state)
{
	assert_int_equal(ls_depth_default(0), 512);
	assert_int_equal(ls_depth_default(1), 513);
	assert_int_equal(ls_depth_default(512), 513);
	assert_int_equal(ls_depth_default(513), 514);
	assert_int_equal(ls_depth_default(200704), 512 + 392);
	assert_int_equal(ls_depth_default(LS_TERMS_MAX - 1), 512 + 4096);
}

/* t ≥ d·u·norm + u(|C|+t) for |C| = norm + B, the worst there is; and the rule's (d+3)·u·norm, up to a
 * thousandth part. */
static void covers_the_rounding_of_its_test(void **state)
{
	mpfr_t need, part;
	mpfr_init2(need, 300);
	mpfr_init2(part, 300);
	rng r = {1};
	for (int i = 0; i < 200000; i++) {
		int64_t depth = 1 + (int64_t)(rng_next(&r) >> (13 + rng_below(&r, 50)));
		double norm = (1.5 + 0.5 * rng_unit(&r)) * two_to(rng_below(&r, 570) - 298);
		double t = ls_bound_t(ls_bound_fp64(depth), norm);
		mpfr_set_d(need, norm, MPFR_RNDU); /* true norm, up to 2^-32 larger */
		mpfr_mul_d(need, need, 1.0 + 0x1p-32, MPFR_RNDU);
		mpfr_mul_d(part, need, (double)depth * 0x1p-53, MPFR_RNDU); /* B */
		mpfr_add(need, need, part, MPFR_RNDU);                       /* S + B */
		mpfr_add_d(need, need, t, MPFR_RNDU);
		mpfr_mul_d(need, need, 0x1p-53, MPFR_RNDU);
		mpfr_add(need, need, part, MPFR_RNDU);
		assert_true(mpfr_cmp_d(need, t) <= 0);
		double rule = ((double)depth + 3) * 0x1p-53 * norm;
		assert_true(t >= rule && t <= rule * 1.001);
	}
	assert_int_equal(ls_bits_f64(ls_bound_t(ls_bound_fp64(512), 0.0)), 0);
	mpfr_clear(need);
	mpfr_clear(part);
}

typedef struct vectors {
	float a[MOST], b[MOST];
	int n;
} vectors;

/* Half of the vectors cancel but for a few terms, so that sums disagree in many bits. */
static void make_vectors(vectors *v, rng *r)
{
	v->n = 2 + rng_below(r, rng_below(r, 20) ? 40 : MOST - 2);
	bool cancel = rng_below(r, 2);
	for (int i = 0; i < v->n; i++) {
		v->a[i] = rng_scaled(r, 0, 20);
		v->b[i] = rng_scaled(r, 0, 20);
		if (cancel && i % 2) {
			v->a[i] = v->a[i - 1];
			v->b[i] = -v->b[i - 1] * (rng_below(r, 8) ? 1.0f : 1.0f + 0x1p-23f);
		}
	}
}

/* Three ways to add, as three machines might. */
static double forwards(const vectors *v)
{
	double sum = 0;
	for (int i = 0; i < v->n; i++)
		sum += (double)v->a[i] * v->b[i];
	return sum;
}

static double backwards(const vectors *v)
{
	double sum = 0;
	for (int i = v->n - 1; i >= 0; i--)
		sum += (double)v->a[i] * v->b[i];
	return sum;
}

static double four_lanes(const vectors *v)
{
	double lane[4] = {0};
	for (int i = 0; i < v->n; i++)
		lane[i % 4] += (double)v->a[i] * v->b[i];
	return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

static double norms(const vectors *v)
{
	double a = 0, b = 0;
	for (int i = 0; i < v->n; i++) {
		a += (double)v->a[i] * v->a[i];
		b += (double)v->b[i] * v->b[i];
	}
	return ls_sqrt(a) * ls_sqrt(b);
}

/* Within the bound always; where the test says C settles it, R(C) = R(E). Without t that is false. */
static void what_is_not_ambiguous_is_right(void **state)
{
	static const int grids[] = {16, 19, 26, 32};
	vectors *v = ls_alloc(1, sizeof *v);
	assert_non_null(v);
	rng r = {2};
	int64_t settled = 0, wrong_without = 0, apart = 0;
	for (int i = 0; i < 60000; i++) {
		make_vectors(v, &r);
		ls_sum sum;
		ls_sum_init(&sum);
		for (int k = 0; k < v->n; k++)
			ls_sum_add(&sum, v->a[k], v->b[k]);
		int64_t depth = v->n + 2;
		const double c[] = {forwards(v), backwards(v), four_lanes(v)};
		double t = ls_bound_t(ls_bound_fp64(depth), norms(v));
		apart += ls_bits_f64(c[0]) != ls_bits_f64(c[1]) && ls_bits_f64(c[1]) != ls_bits_f64(c[2]);
		for (int k = 0; k < 12; k++) {
			double x = c[k % 3];
			int bits = grids[k / 3];
			bool right = ls_bits_f32(ls_round_f64(x, bits)) == ls_bits_f32(ls_sum_round(&sum, bits));
			assert_true(ls_sum_within(&sum, x, ls_bound_fp64(depth), 32));
			assert_true(right || ls_ambiguous(x, t, bits));
			settled += !ls_ambiguous(x, t, bits);
			wrong_without += !right && !ls_ambiguous(x, 0.0, bits);
		}
	}
	ls_free(v);
	print_message("%lld of 720000 settled; %lld are wrong where the bound is left out; %lld sums with three values\n",
	              (long long)settled, (long long)wrong_without, (long long)apart);
	assert_true(settled > 300000 && wrong_without > 1000 && apart > 10000);
}

/* ---- FP32 compute ---- */

/* One chunk, and chunks added in FP64; products rounded, or fused with their addition. */
static double chunks_forwards(const vectors *v, bool fused)
{
	double sum = 0;
	for (int at = 0; at < v->n; at += LS_CHUNK_TERMS) {
		float acc = 0;
		for (int k = at; k < v->n && k < at + LS_CHUNK_TERMS; k++) {
			float product = v->a[k] * v->b[k];
			acc = fused ? ls_fma_f32(v->a[k], v->b[k], acc) : acc + product;
		}
		sum += (double)acc;
	}
	return sum;
}

static float halves(const float *a, const float *b, int n)
{
	if (n == 1)
		return a[0] * b[0];
	return halves(a, b, n / 2) + halves(a + n / 2, b + n / 2, n - n / 2);
}

static double chunks_by_halves(const vectors *v)
{
	double sum = 0;
	for (int at = 0; at < v->n; at += LS_CHUNK_TERMS)
		sum += (double)halves(v->a + at, v->b + at, v->n - at < LS_CHUNK_TERMS ? v->n - at : LS_CHUNK_TERMS);
	return sum;
}

/* As above, for sums in FP32 of numbers with all their mantissa bits. A sum that overflowed is left to others. */
static void fp32_sums_are_within_their_bound(void **state)
{
	static const int grids[] = {16, 17, 18, 19};
	vectors *v = ls_alloc(1, sizeof *v);
	assert_non_null(v);
	rng r = {3};
	int64_t settled = 0, wrong_without = 0, beyond_fp64 = 0;
	for (int i = 0; i < 40000; i++) {
		make_vectors(v, &r);
		ls_sum sum;
		ls_sum_init(&sum);
		for (int k = 0; k < v->n; k++)
			ls_sum_add(&sum, v->a[k], v->b[k]);
		ls_bound bound = ls_bound_fp32(v->n);
		const double c[] = {chunks_forwards(v, false), chunks_forwards(v, true), chunks_by_halves(v)};
		double t = ls_bound_t(bound, norms(v)) + ls_bound_floor(bound);
		for (int k = 0; k < 12; k++) {
			double x = c[k % 3];
			int bits = grids[k / 3];
			if ((ls_bits_f64(x) >> 52 & 0x7ff) == 0x7ff)
				continue;
			bool right = ls_bits_f32(ls_round_f64(x, bits)) == ls_bits_f32(ls_sum_round(&sum, bits));
			assert_true(ls_sum_within(&sum, x, bound, bits));
			assert_true(right || ls_ambiguous(x, t, bits));
			settled += !ls_ambiguous(x, t, bits);
			wrong_without += !right && !ls_ambiguous(x, 0.0, bits);
			beyond_fp64 += !ls_sum_within(&sum, x, ls_bound_fp64(512), bits);
		}
	}
	ls_free(v);
	print_message("%lld of 480000 settled; %lld are wrong where the bound is left out; %lld beyond the bound of FP64\n",
	              (long long)settled, (long long)wrong_without, (long long)beyond_fp64);
	assert_true(settled > 100000 && wrong_without > 1000 && beyond_fp64 > 10000);
}

/* 32 roundings that all go up by almost 2^-24: a bound of 31, which exact products would allow, does not hold. */
static void fp32_takes_32_roundings(void **state)
{
	vectors *v = ls_alloc(1, sizeof *v);
	assert_non_null(v);
	v->n = LS_CHUNK_TERMS;
	v->a[0] = 1 + 0x1p-12f;
	v->b[0] = 1 - 0x1p-12f + 0x1p-23f; /* the product is 1 + 2^-24 + 2^-35 */
	for (int k = 1; k < v->n; k++) {
		v->a[k] = 0x1p-24f;
		v->b[k] = 1 + 0x1p-20f;
	}
	ls_sum sum;
	ls_sum_init(&sum);
	double exact = 0, size = 0;
	for (int k = 0; k < v->n; k++) {
		ls_sum_add(&sum, v->a[k], v->b[k]);
		exact += (double)v->a[k] * v->b[k]; /* 48 bits hold it */
		size += (double)v->a[k] * v->b[k];
	}
	double c = chunks_forwards(v, false);
	assert_true(c - exact > 31 * 0x1p-24 * (1 + 0x1p-10) * size + 0x1p-53);
	assert_true(ls_sum_within(&sum, c, ls_bound_fp32(v->n), 19));
	ls_free(v);
}

/* Products that underflow: S is nothing, and the bound's floor is what covers them. */
static void fp32_products_underflow(void **state)
{
	ls_sum sum;
	ls_sum_init(&sum);
	for (int k = 0; k < 20; k++)
		ls_sum_add(&sum, 0x1.8p-75f, 0x1p-75f); /* 0.75·2^-149 each, rounded up to 2^-149 */
	assert_true(ls_sum_within(&sum, 20 * 0x1p-149, ls_bound_fp32(20), 19));
	assert_true(ls_sum_within(&sum, 0, ls_bound_fp32(20), 19));
	assert_false(ls_sum_within(&sum, 0, ls_bound_fp32(14), 19));
	assert_false(ls_sum_within(&sum, 0, ls_bound_fp64(512), 19));
}

/* ---- |C − E| ≤ t ---- */

#define F64_INF ls_f64_bits(UINT64_C(0x7ff0000000000000))

static void near_is_decided_exactly(void **state)
{
	ls_sum sum;
	ls_sum_init(&sum);
	ls_sum_add(&sum, 3, 1);
	ls_sum_add(&sum, 0x1p-149f, -0x1p-149f); /* E = 3 − 2^-298 */
	assert_true(ls_sum_near(&sum, 3, 0x1p-298));
	assert_false(ls_sum_near(&sum, 3, 0x1p-298 - 0x1p-351));
	assert_true(ls_sum_near(&sum, -3, 6));
	assert_false(ls_sum_near(&sum, -3, 6 - 0x1p-50));
	assert_false(ls_sum_near(&sum, 3, 0));
	assert_false(ls_sum_near(&sum, 0x1p330, 0x1p329));
	assert_true(ls_sum_near(&sum, 0x1p329, 0x1p330));
	assert_false(ls_sum_near(&sum, F64_INF, 1));
	assert_true(ls_sum_near(&sum, 7, F64_INF - F64_INF)); /* a t that says nothing */
	ls_sum_add(&sum, ls_f32_bits(UINT32_C(0x7f800000)), 1);
	assert_false(ls_sum_near(&sum, 3, 1));
	assert_true(ls_sum_near(&sum, F64_INF, 1));
}

/* ---- the paper's window ---- */

/* Its width is τ's share of the step, and steps double at powers of two, not of ten. */
static void a_window_follows_binary_exponents(void **state)
{
	static const double at[] = {1, 1.75, 2, 3.5, 7.9375, 8, 9.9375, 10, 10.0625, 15.9375, 16, 99.5, 100, 100.5, 1000, 0.1, 0.01};
	static const double shares[] = {0.25, 0.3, 0.4, 0.4375, 0.499};
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
		for (size_t k = 0; k < 2 * sizeof shares / sizeof shares[0]; k++) {
			double tau = shares[k / 2], width = 0.5 - tau, step = ls_grid_step(at[i], 16);
			bool inside = k % 2;
			float base = ls_round_f64(at[i], 16);
			double offset = step * (0.5 - (inside ? 0.99 : 1.01) * width);
			ls_sum sum;
			ls_sum_init(&sum);
			ls_sum_add(&sum, base, 1);
			ls_sum_add(&sum, (float)offset, 1);
			assert_int_equal(ls_sum_two_valued(&sum, ls_bound_window(tau), 16), inside && tau > 0.25);
			double t = ls_bound_window_t(ls_bound_window(tau), base, 16);
			assert_true(t >= width * step && t < (width + 0x1p-27) * step);
		}
}

static void windows_outside_the_range_are_empty(void **state)
{
	static const double taus[] = {0.5, 0.75, -0.1, 0.0, 1e300, -1e300};
	ls_sum middle;
	ls_sum_init(&middle);
	ls_sum_add(&middle, 1, 1);
	ls_sum_add(&middle, 0x1p-8f, 1);
	assert_true(ls_sum_two_valued(&middle, ls_bound_window(0.4), 16));
	for (size_t i = 0; i < sizeof taus / sizeof taus[0]; i++) {
		assert_true(ls_sum_within(&middle, 1 + 0x1p-8, ls_bound_window(taus[i]), 16));
		assert_false(ls_sum_within(&middle, 1 + 0x1.00001p-8, ls_bound_window(taus[i]), 16));
	}
}

static void ambiguous_at_boundaries(void **state)
{
	assert_false(ls_ambiguous(1.0, 0x1p-25, 32));
	assert_true(ls_ambiguous(1.0 + 0x1p-24, 0x1p-52, 32));
	assert_false(ls_ambiguous(1.0 + 0x1p-24 + 0x1p-50, 0x1p-51, 32));
	assert_true(ls_ambiguous(1.0 + 0x1p-24 + 0x1p-50, 0x1p-50 + 0x1p-52, 32));
	assert_false(ls_ambiguous(0.0, 0x1p-151, 32)); /* either sign of zero is +0 */
	assert_true(ls_ambiguous(0.0, 0x1p-148, 32));
	assert_true(ls_ambiguous(0x1.ffp127, 0x1p75, 16)); /* the overflow boundary */
	assert_false(ls_ambiguous(0x1p200, 0x1p140, 16));
	double inf = ls_f64_bits(UINT64_C(0x7ff0000000000000)), nan = ls_f64_bits(UINT64_C(0x7ff8000000000000));
	assert_true(ls_ambiguous(inf, 1.0, 32));
	assert_true(ls_ambiguous(-inf, 1.0, 32));
	assert_true(ls_ambiguous(nan, 1.0, 32));
	assert_true(ls_ambiguous(1.0, inf, 32));
	assert_true(ls_ambiguous(1.0, nan, 32));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(depths),
		cmocka_unit_test(covers_the_rounding_of_its_test),
		cmocka_unit_test(what_is_not_ambiguous_is_right),
		cmocka_unit_test(fp32_sums_are_within_their_bound),
		cmocka_unit_test(fp32_takes_32_roundings),
		cmocka_unit_test(fp32_products_underflow),
		cmocka_unit_test(near_is_decided_exactly),
		cmocka_unit_test(a_window_follows_binary_exponents),
		cmocka_unit_test(windows_outside_the_range_are_empty),
		cmocka_unit_test(ambiguous_at_boundaries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
