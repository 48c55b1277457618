// Products of sparse factors: sums without a term other than zero are settled without a flag, others are not.
#include "kernel/cases.h"

#include "kernel/gemm.h"

enum { M = 40, N = 150, K_MAX = LS_SUPPORT_TERMS_MAX + 1 };

struct engine {
	ls_kernel_table table;
	ls_pool *pool;
	ls_gemm *gemm;
};

static void engine_open(struct engine *e, int threads)
{
	assert_int_equal(ls_kernel__table_init(&e->table, NULL, NULL), LS_OK);
	assert_int_equal(ls_pool_open(&e->pool, threads, NULL), LS_OK);
	assert_int_equal(ls_kernel__gemm_open(&e->gemm, &e->table, &ls_kernel__native_engine, e->pool, NULL), LS_OK);
}

static void engine_close(struct engine *e)
{
	ls_kernel__gemm_free(e->gemm);
	ls_pool_free(e->pool);
}

struct factors {
	float a[M][K_MAX], b[N][K_MAX], out[M][N];
};

// So many factors are 1 or −1 that two rows share about one and a half terms: some none, and some two that cancel.
static struct factors *draw_factors(uint32_t seed, int64_t terms)
{
	struct factors *f = ls_alloc(1, sizeof *f);
	random_source r = random_from(seed);
	int64_t rare = 1;
	while (3 * rare * rare < 2 * terms)
		rare++;
	for (int64_t row = 0; row < M + N; row++)
		for (int64_t k = 0; k < terms; k++) {
			float v = draw(&r, 1, rare) > 1 ? 0.0f : draw(&r, 0, 1) ? 1.0f : -1.0f;
			*(row < M ? &f->a[row][k] : &f->b[row - M][k]) = v;
		}
	return f;
}

static bool share_a_term(const struct factors *f, int64_t i, int64_t j, int64_t terms)
{
	for (int64_t k = 0; k < terms; k++)
		if (f->a[i][k] != 0 && f->b[j][k] != 0)
			return true;
	return false;
}

static float sum(const struct factors *f, int64_t i, int64_t j, int64_t terms)
{
	float s = 0;
	for (int64_t k = 0; k < terms; k++)
		s += f->a[i][k] * f->b[j][k]; // small integers
	return s;
}

static void run(struct factors *f, int64_t terms, int threads, int64_t sample, ls_flag_list *flags)
{
	struct engine e;
	ls_product p = {.rows = M, .columns = N, .terms = terms, .row_stride = N, .inner = N, .inner_stride = 1,
	                .a = {.kind = LS_OPERAND_STRIDED, .row_stride = K_MAX, .inner = K_MAX, .inner_stride = 1},
	                .b = {.kind = LS_OPERAND_STRIDED, .input = 1, .row_stride = K_MAX, .inner = K_MAX, .inner_stride = 1}};
	ls_product_call call = {.product = &p, .a = f->a[0], .b = f->b[0], .out = f->out[0], .bits = 32, .test = true, .sample = sample,
	                        .bound = ls_bound_fp64(512 + (terms + 511) / 512), .flags = flags};
	engine_open(&e, threads);
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
	engine_close(&e);
}

// Number of empty sums, all of which are flagged or none of which is; of sums that cancel, all are flagged.
static int64_t check(const struct factors *f, int64_t terms, const ls_flag_list *flags, bool empty_ones)
{
	int64_t empty = 0, cancelled = 0;
	size_t at = 0;
	for (int64_t index = 0; index < M * N; index++) {
		int64_t i = index / N, j = index % N;
		bool shared = share_a_term(f, i, j, terms), flagged = at < flags->count && flags->flag[at].index == index;
		float s = sum(f, i, j, terms);
		at += flagged;
		assert_int_equal(ls_bits_f32(f->out[i][j]), ls_bits_f32(s + 0.0f));
		empty += !shared;
		cancelled += shared && s == 0;
		if (shared)
			assert_int_equal(flagged, s == 0);
		else if (!empty_ones)
			assert_false(flagged);
	}
	assert_int_equal(at, flags->count); // ascending and each once
	assert_true(cancelled > 50);
	return empty;
}

static void test_empty_sums_are_settled_and_cancelled_ones_are_not(void **state)
{
	static const int64_t sizes[] = {63, 64, 65, 300, LS_SUPPORT_TERMS_MAX};
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
		for (int threads = 1; threads <= 3; threads++) {
			struct factors *f = draw_factors(70 + (uint32_t)n, sizes[n]);
			ls_flag_list flags = {0};
			run(f, sizes[n], threads, -1, &flags);
			assert_true(check(f, sizes[n], &flags, false) > 50);
			ls_flag_list_free(&flags);
			ls_free(f);
		}
}

// Beyond the limit nobody looks: an empty sum is flagged unless one of its rows is zero altogether.
static void test_longer_sums_are_flagged(void **state)
{
	struct factors *f = draw_factors(90, K_MAX);
	ls_flag_list flags = {0}, shorter = {0};
	int64_t empty;
	run(f, K_MAX, 2, -1, &flags);
	empty = check(f, K_MAX, &flags, true);
	run(f, LS_SUPPORT_TERMS_MAX, 2, -1, &shorter);
	assert_true(flags.count > shorter.count + (size_t)empty / 2);
	ls_flag_list_free(&flags);
	ls_flag_list_free(&shorter);
	ls_free(f);
}

static void test_the_sample_is_flagged_though_empty(void **state)
{
	struct factors *f = draw_factors(71, 64);
	ls_flag_list flags = {0}, with = {0};
	int64_t sample = 0;
	while (share_a_term(f, sample / N, sample % N, 64))
		sample++;
	run(f, 64, 1, -1, &flags);
	run(f, 64, 1, sample, &with);
	assert_int_equal(with.count, flags.count + 1);
	for (size_t i = 0, found = 0; i < with.count; i++) {
		found += with.flag[i].index == sample;
		assert_int_equal(i == with.count - 1 ? found : 1, 1);
	}
	ls_flag_list_free(&flags);
	ls_flag_list_free(&with);
	ls_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_sums_are_settled_and_cancelled_ones_are_not),
		cmocka_unit_test(test_longer_sums_are_flagged),
		cmocka_unit_test(test_the_sample_is_flagged_though_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
