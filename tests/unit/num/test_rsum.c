/* rsum against the rule written as a recursion over an array. */
#include "num/num_support.h"

#define MOST 70000

/* One block: 16 accumulators, joined in halves. */
static double textbook_block(const double *x, int64_t n)
{
	double lane[16];
	for (int l = 0; l < 16; l++) {
		lane[l] = 0;
		for (int64_t i = l; i < n; i += 16)
			lane[l] += x[i];
	}
	double a[8], b[4];
	for (int l = 0; l < 8; l++)
		a[l] = lane[l] + lane[l + 8];
	for (int l = 0; l < 4; l++)
		b[l] = a[l] + a[l + 4];
	return (b[0] + b[2]) + (b[1] + b[3]);
}

static double textbook_column_block(const double *x, int64_t n)
{
	double acc = 0;
	for (int64_t i = 0; i < n; i++)
		acc += x[i];
	return acc;
}

typedef double (*block_fn)(const double *x, int64_t n);

/* Sums of the blocks of one run, appended to `sums`. */
static int64_t blocks_of(double *sums, const double *x, int64_t n, block_fn block)
{
	int64_t count = 0;
	for (int64_t i = 0; i < n; i += 256)
		sums[count++] = block(x + i, n - i < 256 ? n - i : 256);
	return count;
}

/* Block sums are summed by the same rule until one is left. */
static double until_one_is_left(const double *sums, int64_t count, block_fn block)
{
	if (count == 0)
		return 0;
	if (count == 1)
		return sums[0];
	double *next = ls_alloc((size_t)count, sizeof *next);
	assert_non_null(next);
	double result = until_one_is_left(next, blocks_of(next, sums, count, block), block);
	ls_free(next);
	return result;
}

static double textbook(const double *x, const int64_t *runs, int run_count, block_fn block)
{
	int64_t total = 0, count = 0;
	for (int i = 0; i < run_count; i++)
		total += runs[i];
	double *sums = ls_alloc((size_t)total + 1, sizeof *sums);
	assert_non_null(sums);
	for (int i = 0; i < run_count; i++) {
		count += blocks_of(sums + count, x, runs[i], block);
		x += runs[i];
	}
	double result = until_one_is_left(sums, count, block);
	ls_free(sums);
	return result;
}

typedef struct terms {
	float *f;
	double *d;
} terms;

/* Magnitudes far apart, so that every change of order shows in the bits. */
static terms make_terms(rng *r, int64_t n)
{
	terms t = {ls_alloc((size_t)n + 1, sizeof *t.f), ls_alloc((size_t)n + 1, sizeof *t.d)};
	assert_non_null(t.f);
	assert_non_null(t.d);
	for (int64_t i = 0; i < n; i++) {
		t.f[i] = rng_scaled(r, -30, 60);
		t.d[i] = t.f[i];
	}
	return t;
}

static void free_terms(terms t)
{
	ls_free(t.f);
	ls_free(t.d);
}

static double streamed(const double *x, const int64_t *runs, int run_count)
{
	ls_rsum sum;
	ls_rsum_init(&sum);
	for (int i = 0; i < run_count; i++) {
		for (int64_t k = 0; k < runs[i]; k++)
			ls_rsum_push(&sum, *x++);
		ls_rsum_end_run(&sum);
	}
	return ls_rsum_finish(&sum);
}

static double streamed_column(const double *x, int64_t n)
{
	ls_rsum_column sum;
	ls_rsum_column_init(&sum);
	for (int64_t i = 0; i < n; i++)
		ls_rsum_column_push(&sum, x[i]);
	return ls_rsum_column_finish(&sum);
}

static const int64_t sizes[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 271, 272, 511, 512, 513, 4096, 4097,
                                65279, 65280, 65281, 65535, 65536, 65537, 65792, 65793, MOST};

static void one_run(void **state)
{
	rng r = {1};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		int64_t n = sizes[i];
		terms t = make_terms(&r, n);
		uint64_t want = ls_bits_f64(textbook(t.d, &n, 1, textbook_block));
		assert_int_equal(ls_bits_f64(ls_rsum_f32(t.f, n)), want);
		assert_int_equal(ls_bits_f64(streamed(t.d, &n, 1)), want);
		free_terms(t);
	}
}

static void runs_start_blocks(void **state)
{
	rng r = {2};
	terms t = make_terms(&r, MOST);
	int differs = 0;
	for (int round = 0; round < 300; round++) {
		int64_t runs[64], total = 0;
		int count = 1 + rng_below(&r, 64);
		for (int i = 0; i < count; i++) {
			runs[i] = round % 3 == 0 ? rng_below(&r, 5) : rng_below(&r, 1000);
			total += runs[i];
		}
		uint64_t got = ls_bits_f64(streamed(t.d, runs, count));
		assert_int_equal(got, ls_bits_f64(textbook(t.d, runs, count, textbook_block)));
		differs += got != ls_bits_f64(ls_rsum_f32(t.f, total));
	}
	assert_true(differs > 100); /* the runs matter */
	free_terms(t);
}

static void many_short_runs_fill_the_second_level(void **state)
{
	enum { RUNS = 66000 };
	rng r = {3};
	terms t = make_terms(&r, RUNS);
	int64_t *runs = ls_alloc(RUNS, sizeof *runs);
	assert_non_null(runs);
	for (int i = 0; i < RUNS; i++)
		runs[i] = 1;
	uint64_t got = ls_bits_f64(streamed(t.d, runs, RUNS));
	assert_int_equal(got, ls_bits_f64(textbook(t.d, runs, RUNS, textbook_block)));
	ls_free(runs);
	free_terms(t);
}

static void the_sum_so_far_may_go_on(void **state)
{
	rng r = {4};
	terms t = make_terms(&r, 1000);
	ls_rsum sum;
	ls_rsum_column column;
	ls_rsum_init(&sum);
	ls_rsum_column_init(&column);
	for (int64_t i = 0; i < 1000; i++) {
		assert_int_equal(ls_bits_f64(ls_rsum_finish(&sum)), ls_bits_f64(ls_rsum_f32(t.f, i)));
		assert_int_equal(ls_bits_f64(ls_rsum_column_finish(&column)), ls_bits_f64(ls_rsum_strided_f32(t.f, i, 1)));
		ls_rsum_push(&sum, t.d[i]);
		ls_rsum_column_push(&column, t.d[i]);
	}
	free_terms(t);
}

static void strided(void **state)
{
	rng r = {5};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		int64_t n = sizes[i];
		terms t = make_terms(&r, 3 * n);
		for (int64_t column = 0; column < 3 && n > 0; column++) {
			for (int64_t k = 0; k < n; k++)
				t.d[k] = t.f[column + 3 * k];
			uint64_t want = ls_bits_f64(textbook(t.d, &n, 1, textbook_column_block));
			assert_int_equal(ls_bits_f64(ls_rsum_strided_f32(t.f + column, n, 3)), want);
			assert_int_equal(ls_bits_f64(streamed_column(t.d, n)), want);
		}
		free_terms(t);
	}
	assert_int_equal(ls_bits_f64(ls_rsum_strided_f32(NULL, 0, 1)), 0);
}

/* 2^53, then ones: from left to right each 1 is lost, sixteen accumulators lose only those of the first. */
static void other_orders_differ(void **state)
{
	float x[272];
	double left_to_right = 0;
	for (int i = 0; i < 272; i++) {
		x[i] = i ? 1.0f : 0x1p53f;
		left_to_right += (double)x[i];
	}
	assert_int_equal(ls_bits_f64(left_to_right), ls_bits_f64(0x1p53));
	/* 15 lanes of 16 ones, and the second block's 16 */
	assert_int_equal(ls_bits_f64(ls_rsum_f32(x, 272)), ls_bits_f64(0x1p53 + 240 + 16));
	/* One accumulator, and a second block that survives. */
	assert_int_equal(ls_bits_f64(ls_rsum_strided_f32(x, 272, 1)), ls_bits_f64(0x1p53 + 16));
}

static void no_negative_zero(void **state)
{
	const float zeros[] = {-0.0f, -0.0f};
	assert_int_equal(ls_bits_f64(ls_rsum_f32(zeros, 2)), 0);
	assert_int_equal(ls_bits_f64(ls_rsum_strided_f32(zeros, 2, 1)), 0);
	assert_int_equal(ls_bits_f64(ls_rsum_f32(NULL, 0)), 0);
	const float minus[] = {-0x1p-149f, -0.0f};
	assert_int_equal(ls_bits_f64(ls_rsum_f32(minus, 2)), ls_bits_f64(-0x1p-149));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_run),
		cmocka_unit_test(runs_start_blocks),
		cmocka_unit_test(many_short_runs_fill_the_second_level),
		cmocka_unit_test(the_sum_so_far_may_go_on),
		cmocka_unit_test(strided),
		cmocka_unit_test(other_orders_differ),
		cmocka_unit_test(no_negative_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
