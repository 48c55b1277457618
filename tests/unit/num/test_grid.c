// ctest: libs=mpfr
/* Rounding to grids against the definition in integer arithmetic, on every boundary class and on random patterns. */
#include "num/num_support.h"
#include "num/odd.h"

#include <mpfr.h>

static void check_f64(double x, int bits)
{
	uint32_t got = ls_bits_f32(ls_round_f64(x, bits)), want = ls_bits_f32(reference_round(x, bits));
	if (got != want)
		fail_msg("grid %d: R(%a) is %08x, expected %08x", bits, x, got, want);
}

static void check_f32(float x, int bits)
{
	uint32_t got = ls_bits_f32(ls_round_f32(x, bits)), want = ls_bits_f32(reference_round((double)x, bits));
	if (got != want)
		fail_msg("grid %d: R(%a) is %08x, expected %08x", bits, (double)x, got, want);
}

static double next_up(double x)
{
	return ls_f64_bits(ls_bits_f64(x) + 1);
}

static double next_down(double x)
{
	return ls_f64_bits(ls_bits_f64(x) - 1);
}

static void check_around(double x, int bits)
{
	check_f64(x, bits);
	check_f64(-x, bits);
	check_f64(next_up(x), bits);
	check_f64(-next_up(x), bits);
	if (ls_bits_f64(x) != 0) {
		check_f64(next_down(x), bits);
		check_f64(-next_down(x), bits);
	}
}

/* v, the middle to its upper neighbour, and that neighbour, each with its FP64 neighbours. */
static void check_interval(float v, int bits)
{
	uint32_t one = UINT32_C(1) << (32 - bits), low = ls_bits_f32(v) & ~(one - 1);
	uint32_t high = low + one;
	double a = (double)ls_f32_bits(low);
	double b = high == UINT32_C(0x7f800000) ? 0x1p128 : (double)ls_f32_bits(high);
	check_around(a, bits);
	check_around(a + (b - a) * 0.5, bits);
	check_around(b, bits);
	check_around(a + (b - a) * 0.25, bits);
}

static void rounds_as_defined_at_boundaries(void **state)
{
	for (int bits = LS_GRID_MIN; bits <= LS_GRID_MAX; bits++) {
		uint32_t one = UINT32_C(1) << (32 - bits);
		for (uint32_t field = 0; field < 255; field++) {
			uint32_t base = field << 23;
			check_interval(ls_f32_bits(base), bits);
			check_interval(ls_f32_bits(base + one), bits);
			check_interval(ls_f32_bits(base + UINT32_C(0x400000)), bits);
			check_interval(ls_f32_bits(base + UINT32_C(0x800000) - one), bits);
			if (base)
				check_interval(ls_f32_bits(base - one), bits);
		}
		check_around(0x1p-1074, bits);
		check_around(0x1p-1022, bits);
		check_around(0x1p128, bits);
		check_around(0x1.fffffffffffffp1022, bits);
		check_f64(0.0, bits);
		check_f64(-0.0, bits);
		check_f64(ls_f64_bits(UINT64_C(0x7ff0000000000000)), bits);
		check_f64(ls_f64_bits(UINT64_C(0xfff0000000000000)), bits);
		check_f64(ls_f64_bits(UINT64_C(0x7ff0000000000001)), bits);
		check_f64(ls_f64_bits(UINT64_C(0xfff8000000000000)), bits);
	}
}

static void rounds_as_defined_on_random_patterns(void **state)
{
	rng r = {1};
	for (int bits = LS_GRID_MIN; bits <= LS_GRID_MAX; bits++) {
		for (int i = 0; i < 60000; i++) {
			check_f64(ls_f64_bits(rng_next(&r)), bits);
			/* exponents of FP32, random or sparse significands */
			uint64_t exponent = 1023 - 152 + (uint64_t)rng_below(&r, 282);
			uint64_t fraction = rng_next(&r) >> 12;
			if (i % 2)
				fraction &= ~UINT64_C(0) << rng_below(&r, 52);
			fraction &= UINT64_C(0xfffffffffffff);
			check_f64(ls_f64_bits((rng_next(&r) >> 63) << 63 | exponent << 52 | fraction), bits);
			check_interval(ls_f32_bits((uint32_t)(rng_next(&r) % UINT32_C(0x7f800000))), bits);
		}
	}
}

static void rounds_f32_on_every_edge(void **state)
{
	for (int bits = LS_GRID_MIN; bits <= LS_GRID_MAX; bits++) {
		uint32_t one = bits == 32 ? 1 : UINT32_C(1) << (32 - bits), half = one >> 1;
		const uint32_t edges[] = {0, 1, half ? half - 1 : 0, half, half + 1, one - 1, one, one + half, one + half + 1};
		for (uint32_t top = 0; top < 0x10000; top++) {
			for (size_t k = 0; k < sizeof edges / sizeof edges[0]; k++)
				check_f32(ls_f32_bits((top << 16) + edges[k]), bits);
		}
	}
}

static void what_the_rules_say(void **state)
{
	/* largest numbers and the overflow boundary: half a step beyond rounds to inf, anything less does not */
	assert_int_equal(ls_bits_f32(ls_round_f64(0x1.ffffffp127, 32)), 0x7f800000);
	assert_int_equal(ls_bits_f32(ls_round_f64(next_down(0x1.ffffffp127), 32)), 0x7f7fffff);
	assert_int_equal(ls_bits_f32(ls_round_f64(0x1.ffp127, 16)), 0x7f800000);
	assert_int_equal(ls_bits_f32(ls_round_f64(next_down(0x1.ffp127), 16)), 0x7f7f0000);
	assert_int_equal(ls_bits_f32(ls_round_f32(-0x1.ffp127f, 16)), 0xff800000);
	/* one zero, one NaN */
	assert_int_equal(ls_bits_f32(ls_f32(-0.0)), 0);
	assert_int_equal(ls_bits_f32(ls_f32(-0x1p-200)), 0);
	assert_int_equal(ls_bits_f32(ls_round_f64(-0x1p-200, 19)), 0);
	assert_int_equal(ls_bits_f32(ls_round_f32(ls_f32_bits(0xffc12345), 16)), LS_NAN_BITS);
	assert_int_equal(ls_bits_f32(ls_f32(ls_f64_bits(UINT64_C(0xfff8000000000001)))), LS_NAN_BITS);
	/* ties to even, gradual underflow */
	assert_int_equal(ls_bits_f32(ls_round_f64(0x1p-150, 32)), 0);
	assert_int_equal(ls_bits_f32(ls_round_f64(0x1.8p-149, 32)), 2);
	assert_int_equal(ls_bits_f32(ls_round_f64(0x1p-134, 16)), 0);
	assert_int_equal(ls_bits_f32(ls_round_f64(next_up(0x1p-134), 16)), 0x10000);
}

/* Rounding through FP32 rounds twice, and a test that cannot tell would be worth nothing. */
static void rounding_twice_differs(void **state)
{
	double x = next_up(0x1.01p0); /* just above the middle of 1 and 1+2^-7 on grid 16 */
	assert_int_equal(ls_bits_f32(ls_round_f64(x, 16)), ls_bits_f32(0x1.02p0f));
	assert_int_not_equal(ls_bits_f32(ls_round_f64(x, 16)), ls_bits_f32(ls_round_f32((float)x, 16)));
}

static void knows_its_members(void **state)
{
	rng r = {2};
	for (int bits = LS_GRID_MIN; bits <= LS_GRID_MAX; bits++) {
		uint32_t below = bits == 32 ? 0 : (UINT32_C(1) << (32 - bits)) - 1;
		for (int i = 0; i < 20000; i++) {
			uint32_t u = (uint32_t)rng_next(&r);
			bool nan = (u & 0x7fffffff) > 0x7f800000;
			assert_int_equal(ls_on_grid(ls_f32_bits(u), bits), !nan && !(u & below) && u != 0x80000000);
			assert_true(ls_on_grid(ls_round_f32(ls_f32_bits(u), bits), bits));
			assert_true(ls_on_grid(ls_round_f64(ls_f64_bits(rng_next(&r)), bits), bits));
		}
		assert_true(ls_on_grid(ls_f32_bits(LS_NAN_BITS), bits));
		assert_true(ls_on_grid(ls_f32_bits(0xff800000), bits));
		assert_false(ls_on_grid(ls_f32_bits(0x7fc00001), bits));
		assert_false(ls_on_grid(ls_f32_bits(0xffc00000), bits));
		assert_false(ls_on_grid(-0.0f, bits));
	}
}

static void steps_are_the_distance_of_neighbours(void **state)
{
	rng r = {3};
	for (int bits = LS_GRID_MIN; bits <= LS_GRID_MAX; bits++) {
		uint32_t one = UINT32_C(1) << (32 - bits);
		for (int i = 0; i < 20000; i++) {
			uint32_t low = (uint32_t)(rng_next(&r) % (UINT32_C(0x7f800000) - one)) & ~(one - 1);
			double a = ls_f32_bits(low), b = ls_f32_bits(low + one);
			double inside = a + (b - a) * (double)(rng_next(&r) >> 11) * 0x1p-53;
			if (ls_bits_f64(inside) == ls_bits_f64(b))
				inside = a;
			assert_int_equal(ls_bits_f64(ls_grid_step(inside, bits)), ls_bits_f64(b - a));
			assert_int_equal(ls_bits_f64(ls_grid_step(-inside, bits)), ls_bits_f64(b - a));
		}
		assert_int_equal(ls_bits_f64(ls_grid_step(0.0, bits)), ls_bits_f64(two_to(-117 - bits)));
		assert_int_equal(ls_bits_f64(ls_grid_step(0x1p-1074, bits)), ls_bits_f64(two_to(-117 - bits)));
		assert_int_equal(ls_bits_f64(ls_grid_step(1.0, bits)), ls_bits_f64(two_to(9 - bits)));
		assert_int_equal(ls_bits_f64(ls_grid_step(next_down(1.0), bits)), ls_bits_f64(two_to(8 - bits)));
	}
}

static void last_bits(void **state)
{
	assert_int_equal(ls_grid_last_bit(ls_f32_bits(0x3f800001), 32), 1);
	assert_int_equal(ls_grid_last_bit(ls_f32_bits(0x3f800002), 32), 0);
	assert_int_equal(ls_grid_last_bit(ls_f32_bits(0xbf810000), 16), 1);
	assert_int_equal(ls_grid_last_bit(ls_f32_bits(0xbf820000), 16), 0);
	for (int bits = LS_GRID_MIN; bits <= LS_GRID_MAX; bits++) {
		assert_int_equal(ls_grid_last_bit(ls_f32_bits(0x7f800000), bits), 0);
		assert_int_equal(ls_grid_last_bit(ls_f32_bits(0xffffffff), bits), 0);
		assert_int_equal(ls_grid_last_bit(ls_f32_bits(0x7f800000 - (UINT32_C(1) << (32 - bits))), bits), 1);
	}
}

static float random_factor(rng *r)
{
	uint32_t u = (uint32_t)rng_next(r);
	switch (rng_below(r, 4)) {
	case 0:
		return ls_f32_bits(u);
	case 1:
		return ls_f32_bits((u & UINT32_C(0x807fffff)) | (uint32_t)(127 - 12 + rng_below(r, 24)) << 23);
	case 2:
		return ls_f32_bits((u & UINT32_C(0x80ff0000)) | UINT32_C(0x3f000000));
	default:
		return rng_scaled(r, -79, 20);
	}
}

/* Half of the addends lie within a few units of −a·b, where nearly everything cancels. */
static void fused_multiply_add_rounds_once(void **state)
{
	mpfr_t exact, x;
	mpfr_init2(exact, 700);
	mpfr_init2(x, 24);
	rng r = {4};
	int twice = 0;
	for (int i = 0; i < 400000; i++) {
		float a = random_factor(&r), b = random_factor(&r), c = random_factor(&r);
		if (i % 2)
			c = ls_f32_bits(ls_bits_f32(-(a * b)) + (uint32_t)rng_below(&r, 5) - 2);
		uint32_t got = ls_bits_f32(ls_fma_f32(a, b, c));
		assert_int_equal(got, ls_bits_f32(ls_num__fma_f32_portable(a, b, c)));
		mpfr_set_flt(exact, a, MPFR_RNDN);
		mpfr_set_flt(x, b, MPFR_RNDN);
		mpfr_mul(exact, exact, x, MPFR_RNDN);
		mpfr_set_flt(x, c, MPFR_RNDN);
		mpfr_add(exact, exact, x, MPFR_RNDN);
		float want = mpfr_get_flt(exact, MPFR_RNDN);
		if (mpfr_nan_p(exact))
			assert_int_equal(got, LS_NAN_BITS);
		else
			assert_int_equal(got, ls_bits_f32(want));
		volatile float product = a * b;
		volatile float sum = product + c;
		twice += ls_bits_f32(sum) != got;
	}
	assert_true(twice > 10000);
	mpfr_clear(exact);
	mpfr_clear(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_as_defined_at_boundaries),
		cmocka_unit_test(rounds_as_defined_on_random_patterns),
		cmocka_unit_test(rounds_f32_on_every_edge),
		cmocka_unit_test(what_the_rules_say),
		cmocka_unit_test(rounding_twice_differs),
		cmocka_unit_test(knows_its_members),
		cmocka_unit_test(steps_are_the_distance_of_neighbours),
		cmocka_unit_test(last_bits),
		cmocka_unit_test(fused_multiply_add_rounds_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
