// ctest: libs=mpfr
/* Exact sums of products and the staged dot product against MPFR, on inputs made to be nasty. */
#include "num/dot.h"
#include "num/num_support.h"

#include <mpfr.h>
#include <stdlib.h>

#define MOST 70000
#define CASES 1000000 /* or as many as the command line asks for */

typedef struct vectors {
	float a[MOST], b[MOST];
	int n;
} vectors;

/* ---- what MPFR says ---- */

static void mpfr_exact(mpfr_t sum, const vectors *v)
{
	mpfr_set_zero(sum, 1);
	for (int i = 0; i < v->n; i++)
		mpfr_add_d(sum, sum, (double)v->a[i] * v->b[i], MPFR_RNDN); /* 48 bits: the product is exact */
}

/* A grid is a binary format of bits−8 bits of precision; MPFR rounds to it with its underflow and overflow. */
static uint32_t mpfr_to_grid(mpfr_t rounded, const mpfr_t sum, int bits)
{
	mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
	mpfr_set_prec(rounded, bits - 8);
	int inexact = mpfr_set(rounded, sum, MPFR_RNDN);
	mpfr_set_emin(-148 + 32 - bits);
	mpfr_set_emax(128);
	inexact = mpfr_check_range(rounded, inexact, MPFR_RNDN);
	mpfr_subnormalize(rounded, inexact, MPFR_RNDN);
	mpfr_set_emin(emin);
	mpfr_set_emax(emax);
	if (mpfr_nan_p(rounded))
		return LS_NAN_BITS;
	return mpfr_zero_p(rounded) ? 0 : ls_bits_f32((float)mpfr_get_d(rounded, MPFR_RNDN));
}

/* ---- the cases ---- */

static double roughly_normal(rng *r)
{
	double x = rng_unit(r);
	x += rng_unit(r);
	return x + rng_unit(r);
}

/* In statements, so that every compiler draws the same numbers. */
static float normal_scaled(rng *r, int low, int count)
{
	double x = roughly_normal(r);
	int e = low + rng_below(r, count);
	return scaled(x, e);
}

static float sign(rng *r)
{
	return rng_below(r, 2) ? 1.0f : -1.0f;
}

static void fill_normal(vectors *v, rng *r)
{
	for (int i = 0; i < v->n; i++) {
		v->a[i] = (float)roughly_normal(r);
		v->b[i] = (float)roughly_normal(r);
	}
}

static float finite_pattern(rng *r)
{
	uint32_t u = (uint32_t)rng_next(r);
	return ls_f32_bits((u >> 23 & 255) == 255 ? u ^ (1u << 23) : u);
}

static void fill_patterns(vectors *v, rng *r)
{
	for (int i = 0; i < v->n; i++) {
		v->a[i] = finite_pattern(r);
		v->b[i] = finite_pattern(r);
	}
}

/* Small integers around one of 2^24: half of the sums are ties. */
static void fill_integers(vectors *v, rng *r)
{
	for (int i = 0; i < v->n; i++) {
		v->a[i] = (float)(rng_below(r, 33) - 16);
		v->b[i] = (float)(rng_below(r, 33) - 16);
	}
	v->b[0] = 16777216.0f;
}

/* Products around 2^-149, and far below. */
static void fill_tiny(vectors *v, rng *r)
{
	for (int i = 0; i < v->n; i++) {
		v->a[i] = normal_scaled(r, -99, 40);
		v->b[i] = normal_scaled(r, -89, 30);
	}
}

/* Pairs that cancel; an odd last term remains. */
static void fill_cancelling(vectors *v, rng *r)
{
	fill_normal(v, r);
	for (int i = 1; i < v->n; i += 2) {
		v->a[i] = v->a[i - 1];
		v->b[i] = -v->b[i - 1];
	}
}

/* Pairs that cancel and a crumb that remains, far below. */
static void fill_crumb(vectors *v, rng *r)
{
	fill_cancelling(v, r);
	v->a[v->n - 1] = normal_scaled(r, -119, 120);
	v->b[v->n - 1] = normal_scaled(r, -119, 120);
}

/* A number of grid `bits`, half a step, and crumbs that decide: from none to 200 binary places below. */
static void fill_near_tie(vectors *v, rng *r, int bits)
{
	int reach = 1 + rng_below(r, 200), base = rng_below(r, 2) ? 0 : -110;
	float side = sign(r);
	v->a[0] = scaled((double)((UINT32_C(1) << (bits - 9)) + (uint32_t)rng_below(r, 1 << (bits - 9))), base / 2);
	v->b[0] = scaled(side, base - base / 2);
	for (int i = 1; i < v->n; i++) {
		int down = rng_below(r, reach);
		v->a[i] = scaled((double)(rng_below(r, 5) - 2), base / 2 - down / 2);
		v->b[i] = scaled(0.25 * sign(r), base - base / 2 - (down - down / 2));
	}
	if (v->n > 1) {
		v->a[1] = scaled(0.5, base / 2);
		v->b[1] = scaled(sign(r), base - base / 2);
	}
	/* the same crumb with both signs leaves an exact tie behind a full accumulator */
	if (v->n > 3 && rng_below(r, 2)) {
		v->a[3] = v->a[2];
		v->b[3] = -v->b[2];
	}
}

/* Around the overflow boundary: products near 2^127 and beyond. */
static void fill_huge(vectors *v, rng *r)
{
	for (int i = 0; i < v->n; i++) {
		v->a[i] = normal_scaled(r, 62, 3);
		v->b[i] = normal_scaled(r, 62, 3);
	}
}

/* The largest grid number, half a step more, and crumbs. */
static void fill_overflow_boundary(vectors *v, rng *r, int bits)
{
	float side = sign(r);
	fill_tiny(v, r);
	v->a[0] = ls_f32_bits(UINT32_C(0x7f800000) - (UINT32_C(1) << (32 - bits)));
	v->b[0] = side;
	if (v->n > 1) {
		v->a[1] = scaled(1.0, 127 - (bits - 8));
		v->b[1] = side;
	}
}

/* Subnormal factors times small integers, and sums around half of the smallest number. */
static void fill_subnormal(vectors *v, rng *r)
{
	for (int i = 0; i < v->n; i++) {
		bool fine = rng_below(r, 2);
		uint32_t pattern = (uint32_t)rng_next(r) >> (9 + rng_below(r, 22));
		v->a[i] = fine ? scaled((double)(rng_below(r, 9) - 4), -75) : ls_f32_bits(pattern);
		v->b[i] = fine ? scaled(1.0, -73 - rng_below(r, 6)) : (float)(rng_below(r, 7) - 3);
	}
}

/* The full width: 2^255 twice with opposite signs, 2^-298 and what lies between. */
static void fill_extremes(vectors *v, rng *r)
{
	for (int i = 0; i < v->n; i++) {
		int exponent = rng_below(r, 254) + 1;
		bool odd = i % 2;
		v->a[i] = odd ? -v->a[i - 1] : ls_f32_bits((uint32_t)(rng_below(r, 4) ? exponent : 254) << 23 | 0x7fffff);
		v->b[i] = odd ? v->b[i - 1] : ls_f32_bits((uint32_t)(rng_below(r, 4) ? exponent : 254) << 23 | 0x7fffff);
	}
	int last = v->n - 1;
	v->a[last] = ls_f32_bits(1u + (uint32_t)rng_below(r, 3));
	v->b[last] = ls_f32_bits(1u + (uint32_t)rng_below(r, rng_below(r, 2) ? 1 : 1 << 30));
	v->b[last] *= sign(r);
}

static void shuffle(vectors *v, rng *r)
{
	for (int i = v->n - 1; i > 0; i--) {
		int k = rng_below(r, i + 1);
		float a = v->a[i], b = v->b[i];
		v->a[i] = v->a[k];
		v->b[i] = v->b[k];
		v->a[k] = a;
		v->b[k] = b;
	}
}

#define CLASSES 12

static void make_case(vectors *v, rng *r, int class, int bits)
{
	switch (class) {
	case 0: fill_normal(v, r); break;
	case 1: fill_patterns(v, r); break;
	case 2: fill_integers(v, r); break;
	case 3: fill_tiny(v, r); break;
	case 4: fill_cancelling(v, r); break;
	case 5: fill_crumb(v, r); break;
	case 6:
	case 7: fill_near_tie(v, r, bits); break;
	case 8: fill_huge(v, r); break;
	case 9: fill_overflow_boundary(v, r, bits); break;
	case 10: fill_subnormal(v, r); break;
	default: fill_extremes(v, r); break;
	}
	shuffle(v, r);
}

/* ---- the comparison ---- */

typedef struct tally {
	int64_t settled[4], within[4], subnormal, inf, zero, plain_wrong, twice_wrong;
} tally;

static uint32_t plain_sum(const vectors *v, int bits)
{
	double sum = 0;
	for (int i = 0; i < v->n; i++)
		sum += (double)v->a[i] * v->b[i];
	return ls_bits_f32(ls_round_f64(sum, bits));
}

static void compare(const vectors *v, int bits, uint32_t want, ls_num__dot_stage from, int class, tally *n)
{
	ls_num__dot_stage settled;
	uint32_t got = ls_bits_f32(ls_num__dot(v->a, v->b, v->n, bits, from, &settled));
	if (got != want || (settled < from && settled != LS_NUM__DOT_PLAIN)) /* no terms but zeros: known at once */
		fail_msg("class %d, n %d, grid %d, from stage %d: stage %d says %08x, MPFR %08x", class, v->n, bits, (int)from,
		         (int)settled, got, want);
	n->settled[settled]++;
}

/* An upper limit of the magnitudes such as norms give: far too large at times, or as small as is allowed. */
static void compare_within(const vectors *v, int bits, uint32_t want, rng *r, int class, tally *n)
{
	double squares[2] = {0, 0}, magnitude = 0;
	ls_num__dot_stage settled;
	for (int i = 0; i < v->n; i++) {
		double p = (double)v->a[i] * v->b[i];
		magnitude += p < 0 ? -p : p;
		squares[0] += (double)v->a[i] * v->a[i];
		squares[1] += (double)v->b[i] * v->b[i];
	}
	if (rng_below(r, 2))
		magnitude = ls_sqrt(squares[0]) * ls_sqrt(squares[1]);
	magnitude *= 1.0 + 0x1p-20;
	uint32_t got = ls_bits_f32(ls_num__dot_within(v->a, v->b, v->n, magnitude, bits, ls_num__fill_portable, &settled));
	if (got != want || (magnitude > 0 && settled == LS_NUM__DOT_PLAIN))
		fail_msg("class %d, n %d, grid %d, magnitude %a: stage %d says %08x, MPFR %08x", class, v->n, bits, magnitude, (int)settled, got,
		         want);
	n->within[settled]++;
}

static int case_length(rng *r, int i)
{
	if (i % 20000 == 0)
		return 1 + rng_below(r, MOST);
	return 1 + rng_below(r, i % 100 == 0 ? 1500 : 20);
}

static void agrees_with_mpfr(void **state)
{
	vectors *v = ls_alloc(1, sizeof *v);
	assert_non_null(v);
	mpfr_t sum, rounded;
	mpfr_init2(sum, 704);
	mpfr_init2(rounded, 24);
	rng r = {1};
	tally n = {{0}, {0}, 0, 0, 0, 0, 0};
	int cases = *(const int *)*state;
	for (int i = 0; i < cases; i++) {
		int class = i % CLASSES, bits = i / CLASSES % 2 ? 32 : 16 + rng_below(&r, 16);
		v->n = case_length(&r, i);
		make_case(v, &r, class, bits);
		mpfr_exact(sum, v);
		uint32_t want = mpfr_to_grid(rounded, sum, bits), magnitude = want & 0x7fffffff;
		n.subnormal += magnitude > 0 && magnitude < 0x800000;
		n.inf += magnitude == 0x7f800000;
		n.zero += magnitude == 0;
		n.plain_wrong += plain_sum(v, bits) != want;
		n.twice_wrong += bits < 32 && ls_bits_f32(ls_round_f32(mpfr_get_flt(sum, MPFR_RNDN), bits)) != want;
		for (int from = 0; from < 4; from++)
			compare(v, bits, want, (ls_num__dot_stage)from, class, &n);
		compare_within(v, bits, want, &r, class, &n);
	}
	mpfr_clear(sum);
	mpfr_clear(rounded);
	ls_free(v);
	print_message("settled by stage: %lld %lld %lld %lld; results subnormal %lld, inf %lld, zero %lld; "
	              "plain FP64 misrounds %lld, rounding through FP32 %lld\n",
	              (long long)n.settled[0], (long long)n.settled[1], (long long)n.settled[2], (long long)n.settled[3],
	              (long long)n.subnormal, (long long)n.inf, (long long)n.zero, (long long)n.plain_wrong,
	              (long long)n.twice_wrong);
	for (int stage = 0; stage < 4; stage++)
		assert_true(n.settled[stage] > 50000);
	assert_true(n.within[LS_NUM__DOT_BIN] > 50000 && n.within[LS_NUM__DOT_BINS] > 1000 && n.within[LS_NUM__DOT_WIDE] > 1000);
	assert_true(n.settled[3] > cases + 1000); /* some need it even when all stages are tried */
	assert_true(n.subnormal > 10000 && n.inf > 10000 && n.zero > 10000);
	assert_true(n.plain_wrong > 10000 && n.twice_wrong > 1000);
}

static void not_finite(void **state)
{
	static const uint32_t odd[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001};
	float a[20], b[20];
	rng r = {2};
	for (int i = 0; i < 20000; i++) {
		int n = 1 + rng_below(&r, 20), at = rng_below(&r, n);
		for (int k = 0; k < n; k++) {
			a[k] = finite_pattern(&r);
			b[k] = finite_pattern(&r);
		}
		a[at] = ls_f32_bits(odd[rng_below(&r, 5)]);
		b[at] = rng_below(&r, 2) ? 0.0f : finite_pattern(&r);
		assert_int_equal(ls_bits_f32(ls_dot_exact(a, b, n, 32)), LS_NAN_BITS);
		assert_int_equal(ls_bits_f32(ls_dot_exact(b, a, n, 16)), LS_NAN_BITS);
		ls_sum sum;
		ls_sum_init(&sum);
		for (int k = 0; k < n; k++)
			ls_sum_add(&sum, b[k], a[k]);
		assert_true(sum.non_finite);
		assert_int_equal(sum.terms, n);
		assert_int_equal(ls_bits_f32(ls_sum_round(&sum, 32)), LS_NAN_BITS);
		assert_true(ls_sum_within(&sum, ls_f64_bits(UINT64_C(0x7ff8000000000000)), ls_bound_fp64(512), 32));
		assert_true(ls_sum_within(&sum, ls_f64_bits(UINT64_C(0xfff0000000000000)), ls_bound_fp64(512), 32));
		assert_false(ls_sum_within(&sum, 0.0, ls_bound_fp64(512), 32));
	}
}

/* Sums may pass beyond FP32's range and come back; the largest terms fill the accumulator without spilling. */
static void many_terms(void **state)
{
	int64_t n = LS_TERMS_MAX + 8;
	float *a = ls_alloc((size_t)n, sizeof *a), *b = ls_alloc((size_t)n, sizeof *b);
	assert_non_null(a);
	assert_non_null(b);
	for (int64_t i = 0; i < n; i++)
		a[i] = b[i] = 1.0f;
	assert_int_equal(ls_bits_f32(ls_dot_exact(a, b, n, 32)), ls_bits_f32(0x1p21f + 8.0f));
	assert_int_equal(ls_bits_f32(ls_dot_exact(a, b, LS_TERMS_MAX - 1, 32)), ls_bits_f32(0x1p21f - 1.0f));
	float most = ls_f32_bits(0x7f7fffff);
	for (int64_t i = 0; i < LS_TERMS_MAX - 2; i++) {
		a[i] = i % 2 ? -most : most;
		b[i] = most;
	}
	a[LS_TERMS_MAX - 2] = ls_f32_bits(1);
	b[LS_TERMS_MAX - 2] = 3.0f;
	assert_int_equal(ls_bits_f32(ls_dot_exact(a, b, LS_TERMS_MAX - 1, 32)), 3);
	for (int64_t i = 0; i < n; i++) {
		a[i] = -most;
		b[i] = most;
	}
	assert_int_equal(ls_bits_f32(ls_dot_exact(a, b, n, 32)), 0xff800000);
	assert_int_equal(ls_bits_f32(ls_dot_exact(a, b, LS_TERMS_MAX - 1, 32)), 0xff800000);
	assert_int_equal(ls_bits_f32(ls_dot_exact(a, b, 0, 32)), 0);
	assert_int_equal(ls_bits_f32(ls_dot_exact(NULL, NULL, 0, 16)), 0);
	ls_free(a);
	ls_free(b);
}

static ls_sum sum_of(const float *a, const float *b, int n)
{
	ls_sum sum;
	ls_sum_init(&sum);
	for (int i = 0; i < n; i++)
		ls_sum_add(&sum, a[i], b[i]);
	return sum;
}

/* The bound is decided to the last bit, also below 2^-298, where E and S have none. */
static void within_the_bound(void **state)
{
	const float ones[] = {1.0f, 1.0f, 1.0f, 1.0f}, signs[] = {1.0f, -1.0f, 1.0f, -1.0f};
	ls_sum zero = sum_of(ones, signs, 4); /* E = 0, S = 4 */
	assert_true(ls_sum_within(&zero, 0x1p-48, ls_bound_fp64(8), 32));
	assert_true(ls_sum_within(&zero, -0x1p-48, ls_bound_fp64(8), 32));
	assert_false(ls_sum_within(&zero, 0x1.0000000000001p-48, ls_bound_fp64(8), 32));
	assert_false(ls_sum_within(&zero, -0x1.0000000000001p-48, ls_bound_fp64(8), 32));
	assert_false(ls_sum_within(&zero, 0x1p-48, ls_bound_fp64(7), 32));
	assert_true(ls_sum_within(&zero, 0.0, ls_bound_fp64(0), 32));
	assert_true(ls_sum_within(&zero, -0.0, ls_bound_fp64(-5), 32));
	assert_false(ls_sum_within(&zero, 0x1p-1074, ls_bound_fp64(0), 32));
	assert_true(ls_sum_within(&zero, 0x1p-1074, ls_bound_fp64(1), 32));
	float least = ls_f32_bits(1), minus = -least;
	ls_sum tiny = sum_of(&least, &least, 1), negative = sum_of(&minus, &least, 1); /* E = ±2^-298, S = 2^-298 */
	assert_true(ls_sum_within(&tiny, 0x1p-298, ls_bound_fp64(0), 32));
	assert_true(ls_sum_within(&tiny, 0x1.fffffffffffffp-299, ls_bound_fp64(1), 32)); /* E − 2^-351 */
	assert_false(ls_sum_within(&tiny, 0x1.ffffffffffffep-299, ls_bound_fp64(1), 32)); /* E − 2^-350 */
	assert_true(ls_sum_within(&tiny, 0x1.ffffffffffffep-299, ls_bound_fp64(2), 32));
	assert_false(ls_sum_within(&tiny, 0x1.0000000000001p-298, ls_bound_fp64(1), 32)); /* E + 2^-350, B = 2^-351 */
	assert_true(ls_sum_within(&tiny, 0x1.0000000000001p-298, ls_bound_fp64(2), 32));
	assert_true(ls_sum_within(&negative, -0x1.0000000000001p-298, ls_bound_fp64(2), 32));
	assert_false(ls_sum_within(&negative, -0x1.0000000000001p-298, ls_bound_fp64(1), 32));
	assert_false(ls_sum_within(&negative, 0x1p-298, ls_bound_fp64(1000), 32));
	assert_true(ls_sum_within(&negative, 0x1p-298, ls_bound_fp64(INT64_MAX), 32));
	/* not finite, and beyond all sums */
	assert_false(ls_sum_within(&tiny, ls_f64_bits(UINT64_C(0x7ff0000000000000)), ls_bound_fp64(INT64_MAX), 32));
	assert_false(ls_sum_within(&tiny, ls_f64_bits(UINT64_C(0x7ff8000000000000)), ls_bound_fp64(INT64_MAX), 32));
	assert_false(ls_sum_within(&tiny, 0x1p1023, ls_bound_fp64(INT64_MAX), 32));
	float most = ls_f32_bits(0x7f7fffff);
	ls_sum large = sum_of(&most, &most, 1);
	assert_true(ls_sum_within(&large, (double)most * most, ls_bound_fp64(0), 32));
	assert_false(ls_sum_within(&large, -(double)most * most, ls_bound_fp64(1000), 32));
	assert_true(ls_sum_within(&large, -0x1p260, ls_bound_fp64(INT64_MAX), 32)); /* B is 2^10·S: absurd, and still decided */
	assert_false(ls_sum_within(&large, -0x1p267, ls_bound_fp64(INT64_MAX), 32));
}

int main(int argc, char **argv)
{
	int cases = argc > 1 ? (int)strtol(argv[1], NULL, 10) : CASES;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(agrees_with_mpfr, &cases),
		cmocka_unit_test(not_finite),
		cmocka_unit_test(many_terms),
		cmocka_unit_test(within_the_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
