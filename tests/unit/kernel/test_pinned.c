// Products in mode pinned: every instruction set and number of threads has the bits of the definition.
#include "kernel/gemm.h"
#include "kernel/cases.h"

static uint32_t word_of(void *context, int input, int64_t index)
{
	const product_case *c = context;
	return ls_bits_f32((input == 0 ? c->a : input == 1 ? c->b : c->bias)[index]);
}

// As definitions have them: the inputs in the order a, b, bias.
static ls_product numbered(const product_case *c)
{
	ls_product p = c->product;
	p.a.input = 0;
	p.b.input = 1;
	p.bias_input = 2;
	return p;
}

// Long enough for several blocks, and for tasks that do not fill up.
static product_case long_case(uint32_t seed)
{
	random_source r = random_from(seed);
	product_case c = {.kind = (values)draw(&r, 0, VALUE_KINDS - 1)};
	if (seed % 2)
		case_matmul(&c, &r, draw(&r, 1, 70), draw(&r, 1, 130), draw(&r, 250, 1300));
	else
		case_conv(&c, &r, (int)draw(&r, 0, 2), draw(&r, 1, 6), draw(&r, 20, 70), draw(&r, 20, 70));
	case_fill(&c, &r);
	return c;
}

static int64_t sample_of(uint32_t seed, const product_case *c)
{
	return seed % 3 ? (int64_t)(seed * 7919u) % c->out_count : -1;
}

// Elements without a flag have the definition's bits; flagged are the sample and sums that are not finite.
static void check(const product_case *c, const ls_product_call *call, const float *expected)
{
	size_t at = 0;
	bool sampled = call->sample < 0;
	for (int64_t k = 0; k < c->out_count; k++) {
		const ls_flag *flag = at < call->flags->count && call->flags->flag[at].index == k ? &call->flags->flag[at++] : NULL;
		bool finite = expected[k] - expected[k] == 0;
		sampled |= flag && k == call->sample;
		assert_true(finite || flag);
		if (flag && flag->c - flag->c == 0)
			assert_int_equal(k, call->sample);
		if (!flag || flag->c - flag->c == 0)
			assert_int_equal(ls_bits_f32(call->out[k]), ls_bits_f32(expected[k]));
	}
	assert_true(sampled);
	assert_int_equal(at, call->flags->count);
}

static void run_on(const char *isa, int threads, product_case *c, uint32_t seed, const float *expected, int bits, bool *here)
{
	ls_kernel_table table;
	ls_pool *pool;
	ls_gemm *gemm;
	ls_flag_list flags = {0};
	ls_product_call call = case_call(c, &flags);
	ls_error err = LS_ERROR_INIT;
	*here = ls_kernel__table_init(&table, isa, &err) == LS_OK;
	if (!*here)
		return;
	call.test = false;
	call.pinned = true;
	call.bits = bits;
	call.sample = sample_of(seed, c);
	assert_int_equal(ls_pool_open(&pool, threads, NULL), LS_OK);
	assert_int_equal(ls_kernel__gemm_open(&gemm, &table, &ls_kernel__native_engine, pool, NULL), LS_OK);
	for (int again = 0; again < 2; again++) { // the second time into used memory
		memset(c->out, 0x5a, (size_t)c->out_count * sizeof *c->out);
		assert_int_equal(ls_kernel__gemm_run(gemm, &call, &err), LS_OK);
		check(c, &call, expected);
	}
	ls_kernel__gemm_free(gemm);
	ls_pool_free(pool);
	ls_flag_list_free(&flags);
}

static void check_case(product_case *c, uint32_t seed, int *tried)
{
	static const struct { const char *isa; int threads; } on[] = {{"portable", 1}, {"avx2", 2}, {"avx512", 1}, {"avx512", 3}};
	int bits = (int[]){32, 32, 19, 16}[seed % 4];
	ls_product p = numbered(c);
	ls_reader reader = {.context = c, .word = word_of};
	float *expected = ls_alloc((size_t)c->out_count, sizeof *expected);
	assert_non_null(expected);
	for (int64_t i = 0; i < p.rows; i++)
		for (int64_t j = 0; j < p.columns; j++)
			expected[ls_product_out_index(&p, i, j)] = ls_product_pinned(&reader, &p, i, j, bits);
	for (size_t k = 0; k < sizeof on / sizeof *on; k++) {
		bool here;
		run_on(on[k].isa, on[k].threads, c, seed, expected, bits, &here);
		tried[k] += here;
	}
	ls_free(expected);
}

static void test_every_isa_and_thread_count_has_the_bits_of_the_definition(void **state)
{
	static const char *const name[] = {"portable", "avx2", "avx512", "avx512 on three threads"};
	int tried[4] = {0};
	for (uint32_t seed = 0; seed < 300; seed++) {
		product_case c = case_random(seed);
		check_case(&c, seed, tried);
		case_free(&c);
	}
	for (uint32_t seed = 0; seed < 14; seed++) {
		product_case c = long_case(seed);
		check_case(&c, seed, tried);
		case_free(&c);
	}
	assert_true(tried[0] > 0);
	for (int i = 1; i < 4; i++)
		if (!tried[i])
			print_message("*** NOT TESTED: %s is not here\n", name[i]);
}

// The twin: FP64 sums, rounded, are other numbers.
static void test_other_sums_differ(void **state)
{
	int64_t differ = 0;
	for (uint32_t seed = 1; seed < 14; seed += 2) {
		product_case c = long_case(seed);
		ls_product p = numbered(&c);
		ls_reader reader = {.context = &c, .word = word_of};
		for (int64_t j = 0; j < p.columns; j++) {
			ls_sum sum;
			ls_product_sum(&reader, &p, 0, j, &sum);
			differ += ls_bits_f32(ls_sum_round(&sum, 32)) != ls_bits_f32(ls_product_pinned(&reader, &p, 0, j, 32));
		}
		case_free(&c);
	}
	assert_true(differ > 50);
}

static void test_calls_that_are_refused(void **state)
{
	product_case c = case_random(0);
	ls_kernel_table table;
	ls_pool *pool;
	ls_gemm *gemm;
	ls_flag_list flags = {0};
	ls_product_call call = case_call(&c, &flags);
	call.pinned = true;
	assert_int_equal(ls_kernel__table_init(&table, "portable", NULL), LS_OK);
	assert_int_equal(ls_pool_open(&pool, 1, NULL), LS_OK);
	assert_int_equal(ls_kernel__gemm_open(&gemm, &table, &ls_kernel__native_engine, pool, NULL), LS_OK);
	assert_int_equal(ls_kernel__gemm_run(gemm, &call, NULL), LS_ERR_USAGE); // with the test of another mode
	call.test = false;
	call.fp32 = true;
	assert_int_equal(ls_kernel__gemm_run(gemm, &call, NULL), LS_ERR_USAGE);
	call.fp32 = false;
	call.flags = NULL;
	assert_int_equal(ls_kernel__gemm_run(gemm, &call, NULL), LS_ERR_USAGE);
	call.flags = &flags;
	assert_int_equal(ls_kernel__gemm_run(gemm, &call, NULL), LS_OK);
	ls_kernel__gemm_free(gemm);
	ls_pool_free(pool);
	ls_flag_list_free(&flags);
	case_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_isa_and_thread_count_has_the_bits_of_the_definition),
		cmocka_unit_test(test_other_sums_differ), cmocka_unit_test(test_calls_that_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
