// Input gradients of strided convolutions, cut into parts: every element against its exact sum, and flags at their places.
#include "kernel/gemm.h"
#include "kernel/cases.h"

struct engine {
	ls_kernel_table table;
	ls_pool *pool;
	ls_gemm *gemm;
};

static void engine_open(struct engine *e)
{
	assert_int_equal(ls_kernel__table_init(&e->table, NULL, NULL), LS_OK);
	assert_int_equal(ls_pool_open(&e->pool, 2, NULL), LS_OK);
	assert_int_equal(ls_kernel__gemm_open(&e->gemm, &e->table, &ls_kernel__native_engine, e->pool, NULL), LS_OK);
}

static void engine_close(struct engine *e)
{
	ls_kernel__gemm_free(e->gemm);
	ls_pool_free(e->pool);
}

static product_case strided_case(uint32_t seed)
{
	random_source r = random_from(7000 + seed);
	product_case c = {.kind = (values)(seed % VALUE_KINDS)};
	do
		case_conv(&c, &r, 1, draw(&r, 1, 3), draw(&r, 1, 6), draw(&r, 1, 9));
	while (c.product.b.patches.divisor < 2);
	case_fill(&c, &r);
	return c;
}

static void test_elements(void **state)
{
	struct engine e;
	engine_open(&e);
	for (uint32_t seed = 0; seed < 120; seed++) {
		product_case c = strided_case(seed);
		ls_flag_list flags = {0};
		ls_product_call call = case_call(&c, &flags);
		call.bits = seed % 3 ? 32 : 16;
		assert_true(ls_kernel__is_spread(call.product));
		memset(c.out, 0xa5, (size_t)c.out_count * sizeof *c.out);
		assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
		case_check_exact(&c, &call);
		ls_flag_list_free(&flags);
		case_free(&c);
	}
	engine_close(&e);
}

static bool flagged(const ls_flag_list *flags, int64_t index)
{
	for (size_t i = 0; i < flags->count; i++)
		if (flags->flag[i].index == index)
			return true;
	return false;
}

// The element asked for is flagged once, also where it has no terms at all; another one is not for that reason.
static void test_sample(void **state)
{
	struct engine e;
	int alone = 0, termless = 0;
	engine_open(&e);
	for (uint32_t seed = 0; seed < 60; seed++) {
		product_case c = strided_case(seed);
		ls_flag_list flags = {0}, without = {0};
		ls_product_call call = case_call(&c, &flags), plain = case_call(&c, &without);
		assert_int_equal(ls_kernel__gemm_run(e.gemm, &plain, NULL), LS_OK);
		for (call.sample = 0; call.sample < c.out_count; call.sample += 1 + c.out_count / 40) {
			bool before = flagged(&without, call.sample);
			int64_t i, j;
			ls_sum sum;
			assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
			assert_true(flagged(&flags, call.sample));
			assert_int_equal(flags.count, without.count + !before);
			for (size_t f = 1; f < flags.count; f++)
				assert_true(flags.flag[f - 1].index < flags.flag[f].index);
			ls_product_locate(&c.product, call.sample, &i, &j);
			case_sum(&c, i, j, &sum);
			alone += !before;
			termless += sum.terms == 0;
		}
		ls_flag_list_free(&flags);
		ls_flag_list_free(&without);
		case_free(&c);
	}
	assert_true(alone > 100);
	assert_true(termless > 10);
	engine_close(&e);
}

// With the first weight changed some element changes; a convolution of stride 1 is not cut.
static void test_twin(void **state)
{
	struct engine e;
	random_source r = random_from(1);
	product_case c = strided_case(3), whole = {.kind = NORMAL};
	ls_flag_list flags = {0};
	ls_product_call call = case_call(&c, &flags);
	float *before = ls_alloc((size_t)c.out_count, sizeof *before);
	engine_open(&e);
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
	memcpy(before, c.out, (size_t)c.out_count * sizeof *before);
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
	assert_memory_equal(before, c.out, (size_t)c.out_count * sizeof *before);
	for (int64_t i = 0; i < c.a_count; i++)
		c.a[i] = 1 + (float)i;
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
	assert_memory_not_equal(before, c.out, (size_t)c.out_count * sizeof *before);
	do
		case_conv(&whole, &r, 1, 1, 2, 2);
	while (whole.product.b.patches.divisor != 1);
	assert_false(ls_kernel__is_spread(&whole.product));
	ls_free(before);
	ls_flag_list_free(&flags);
	case_free(&c);
	engine_close(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_twin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
