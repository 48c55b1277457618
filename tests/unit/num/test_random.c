/* Philox against the published vectors, the derived numbers, and the sample order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include <lockstep/num.h>

/* kat_vectors of the Random123 distribution, philox4x32 with 10 rounds. */
static void test_philox_vectors(void **unused)
{
	static const uint32_t vectors[3][10] = {
		{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
		 0x6d5451fd},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
		 0x24126ea1},
	};
	for (int v = 0; v < 3; v++) {
		uint32_t out[4], other[4], counter[4];
		ls_philox(out, vectors[v], vectors[v] + 4);
		assert_memory_equal(out, vectors[v] + 6, sizeof out);
		memcpy(counter, vectors[v], sizeof counter);
		counter[3] ^= 1;
		ls_philox(other, counter, vectors[v] + 4);
		assert_memory_not_equal(other, out, sizeof out);
	}
}

/* Each field of a stream and each half of index and step is part of the counter or key, in its place. */
static void test_stream_layout(void **unused)
{
	static const uint32_t zero_vector[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
	ls_stream zero = {0}, stream = {0xa4093822, 0x299f31d0, UINT64_C(0x0370734413198a2e)};
	uint64_t block = UINT64_C(0x05a308d3243f6a88); /* an index reaches blocks below 2^62 */
	for (uint32_t w = 0; w < 4; w++) {
		uint32_t counter[4] = {0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344};
		uint32_t key[2] = {0xa4093822, 0x299f31d0}, out[4];
		ls_philox(out, counter, key);
		assert_int_equal(ls_random_u32(&zero, w), zero_vector[w]);
		assert_int_equal(ls_random_u32(&stream, block * 4 + w), out[w]);
		assert_int_not_equal(ls_random_u32(&stream, block * 4 + w), out[(w + 1) % 4]);
	}
}

static void test_streams_differ(void **unused)
{
	ls_stream base = {7, LS_PURPOSE_TEST, 3}, others[4] = {base, base, base, base};
	others[0].seed = 8;
	others[1].purpose = LS_PURPOSE_INIT;
	others[2].step = 4;
	others[3].step = 3 | UINT64_C(1) << 32;
	for (int o = 0; o < 4; o++) {
		int equal = 0;
		for (uint64_t i = 0; i < 1000; i++)
			equal += ls_random_u32(&base, i) == ls_random_u32(&others[o], i);
		assert_true(equal < 3);
	}
}

static void test_below(void **unused)
{
	static const uint32_t limits[] = {1, 2, 3, 10, 1000, 0x80000001u, UINT32_MAX};
	ls_stream stream = {1, LS_PURPOSE_TEST, 0};
	int counts[10] = {0};
	for (size_t l = 0; l < sizeof limits / sizeof *limits; l++)
		for (uint64_t i = 0; i < 2000; i++)
			assert_true(ls_random_below(&stream, i, limits[l]) < limits[l]);
	for (uint64_t i = 0; i < 100000; i++)
		counts[ls_random_below(&stream, i, 10)]++;
	for (int d = 0; d < 10; d++) /* standard deviation 95 */
		assert_in_range(counts[d], 9500, 10500);
}

static void test_uniform(void **unused)
{
	ls_stream stream = {2, LS_PURPOSE_TEST, 0};
	double sum = 0.0, low = 1.0, high = 0.0;
	for (uint64_t i = 0; i < 100000; i++) {
		double u = ls_random_uniform(&stream, i);
		assert_int_equal(ls_bits_f64(u * 0x1p32 - 0.5), ls_bits_f64(ls_random_u32(&stream, i)));
		sum += u;
		low = u < low ? u : low;
		high = u > high ? u : high;
	}
	assert_true(low > 0.0 && low < 1e-3 && high < 1.0 && high > 0.999);
	assert_true(sum / 100000 > 0.495 && sum / 100000 < 0.505);
}

static void test_normal_moments(void **unused)
{
	ls_stream stream = {3, LS_PURPOSE_TEST, 1};
	const int n = 200000;
	double moment[5] = {0}, last = 0.0, product = 0.0;
	for (int i = 0; i < n; i++) {
		double z = ls_random_normal(&stream, (uint64_t)i), power = z;
		assert_true(z > -6.8 && z < 6.8); /* sqrt(2·33·ln 2) = 6.76 */
		for (int m = 1; m < 5; m++, power *= z)
			moment[m] += power / n;
		product += z * last / n;
		last = z;
	}
	assert_true(moment[1] > -0.01 && moment[1] < 0.01);
	assert_true(moment[2] > 0.98 && moment[2] < 1.02);
	assert_true(moment[3] > -0.05 && moment[3] < 0.05);
	assert_true(moment[4] > 2.85 && moment[4] < 3.15);
	assert_true(product > -0.01 && product < 0.01);
}

/* The normal of an index is the written formula over numbers 2·index and 2·index+1. */
static void test_normal_formula(void **unused)
{
	ls_stream stream = {3, LS_PURPOSE_TEST, 1};
	int differ = 0;
	for (uint64_t i = 0; i < 1000; i++) {
		double u1 = ls_random_uniform(&stream, 2 * i), u2 = ls_random_uniform(&stream, 2 * i + 1);
		double z = ls_sqrt(-2.0 * ls_log_f64((float)u1)) * ls_cospi(2.0 * u2);
		assert_int_equal(ls_bits_f64(ls_random_normal(&stream, i)), ls_bits_f64(z + 0.0));
		differ += ls_bits_f64(ls_random_normal(&stream, i + 1)) != ls_bits_f64(z + 0.0);
	}
	assert_int_equal(differ, 1000);
}

static bool is_bijection(uint32_t seed, uint64_t epoch, uint32_t n)
{
	uint8_t *seen = calloc(n, 1);
	uint32_t distinct = 0;
	assert_non_null(seen);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t x = ls_shuffle(seed, epoch, i, n);
		if (x < n && !seen[x]) {
			seen[x] = 1;
			distinct++;
		}
	}
	free(seen);
	return distinct == n;
}

static void test_shuffle_is_a_bijection(void **unused)
{
	static const uint32_t sizes[] = {997, 1000, 1023, 1024, 1025, 4096, 4099, 50000, 60000, 65536, 65537};
	for (uint32_t n = 1; n <= 130; n++)
		for (uint64_t epoch = 0; epoch < 3; epoch++)
			assert_true(is_bijection(5, epoch, n));
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		assert_true(is_bijection(1, UINT64_C(0x100000001), sizes[i]));
	assert_int_equal(ls_shuffle(1, 1, 5, 0), 0);
	assert_int_equal(ls_shuffle(9, 2, 1003, 1000), ls_shuffle(9, 2, 3, 1000));
}

/* Large n cannot be enumerated: bounds only, and that neighbours go to different places. */
static void test_shuffle_large(void **unused)
{
	static const uint64_t sizes[] = {UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, UINT64_C(1) << 40, UINT64_MAX};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (uint64_t i = 0; i < 1000; i++) {
			uint64_t x = ls_shuffle(1, 0, i, sizes[s]), y = ls_shuffle(1, 0, sizes[s] - 1 - i, sizes[s]);
			assert_true(x < sizes[s] && y < sizes[s] && x != y);
		}
}

static void test_shuffle_depends_on_all(void **unused)
{
	const uint32_t n = 10000;
	int fixed = 0, same_seed = 0, same_epoch = 0, same_high = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t x = ls_shuffle(1, 1, i, n);
		assert_int_equal(x, ls_shuffle(1, 1, i, n));
		fixed += x == i;
		same_seed += x == ls_shuffle(2, 1, i, n);
		same_epoch += x == ls_shuffle(1, 2, i, n);
		same_high += x == ls_shuffle(1, 1 | UINT64_C(1) << 32, i, n);
	}
	/* each expected about once in a random pair of orders */
	assert_true(fixed < 10 && same_seed < 10 && same_epoch < 10 && same_high < 10);
}

/* Over many epochs every sample comes to every place equally often: chi-square over 20 × 20 cells, 361 degrees of
 * freedom, standard deviation 27. The counter example, an unshuffled order, is far outside. */
static double chi_square(bool shuffled)
{
	const int epochs = 4000, n = 20;
	int cells[20][20] = {{0}};
	double sum = 0.0, expected = (double)epochs / n;
	for (int e = 0; e < epochs; e++)
		for (int i = 0; i < n; i++)
			cells[i][shuffled ? ls_shuffle(11, (uint64_t)e, (uint64_t)i, (uint64_t)n) : (uint64_t)i]++;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			sum += (cells[i][j] - expected) * (cells[i][j] - expected) / expected;
	return sum;
}

static void test_shuffle_is_uniform(void **unused)
{
	double x = chi_square(true);
	assert_true(x > 361 - 5 * 27 && x < 361 + 5 * 27);
	assert_true(chi_square(false) > 10000);
}

/* All six orders of three samples, each about a sixth of the epochs (standard deviation 29). */
static void test_shuffle_of_three(void **unused)
{
	int counts[27] = {0};
	for (uint64_t e = 0; e < 6000; e++)
		counts[ls_shuffle(4, e, 0, 3) * 9 + ls_shuffle(4, e, 1, 3) * 3 + ls_shuffle(4, e, 2, 3)]++;
	static const int orders[6] = {5, 7, 11, 15, 19, 21};
	for (int i = 0; i < 6; i++)
		assert_in_range(counts[orders[i]], 850, 1150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_philox_vectors),
		cmocka_unit_test(test_stream_layout),
		cmocka_unit_test(test_streams_differ),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_uniform),
		cmocka_unit_test(test_normal_moments),
		cmocka_unit_test(test_normal_formula),
		cmocka_unit_test(test_shuffle_is_a_bijection),
		cmocka_unit_test(test_shuffle_large),
		cmocka_unit_test(test_shuffle_depends_on_all),
		cmocka_unit_test(test_shuffle_is_uniform),
		cmocka_unit_test(test_shuffle_of_three),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
