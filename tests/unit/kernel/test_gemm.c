// Products: the same FP64 bits on every instruction set and number of threads, and within the bound of the exact sum.
#include "kernel/engine.h"

// What one engine says of a case, and its twin with one changed input.
struct answer {
	float *out;
	ls_flag_list flags;
};

#define FP32 (-1) // in place of a depth

static struct answer answer_of(struct engine *e, const product_case *c, int64_t depth, int bits)
{
	struct answer a = {.out = ls_alloc((size_t)c->out_count, sizeof(float))};
	ls_product_call call = depth == FP32 ? case_call_fp32(c, &a.flags, bits) : case_call(c, &a.flags);
	ls_error err = LS_ERROR_INIT;
	call.out = a.out;
	call.bits = bits;
	if (depth > 0)
		call.bound = ls_bound_fp64(depth);
	assert_int_equal(ls_kernel__gemm_run(e->gemm, &call, &err), LS_OK);
	return a;
}

static bool same_answer(const struct answer *a, const struct answer *b, int64_t count)
{
	return !memcmp(a->out, b->out, (size_t)count * sizeof(float)) && same_flags(&a->flags, &b->flags);
}

static void answer_free(struct answer *a)
{
	ls_free(a->out);
	ls_flag_list_free(&a->flags);
}

static void test_every_isa_and_thread_count_gives_the_same_bits(void **state)
{
	struct engine reference, other[4];
	const char *name[4] = {"portable", "avx2", "avx512", "avx512"};
	int threads[4] = {2, 1, 1, 2}, bits[] = {32, 32, 32, 19, 16};
	bool have[4];
	assert_true(engine_open(&reference, "portable", 1));
	for (int i = 0; i < 4; i++)
		have[i] = engine_open(&other[i], name[i], threads[i]);
	for (uint32_t seed = 0; seed < 600; seed++) {
		product_case c = case_random(seed);
		int64_t depth = seed % 3 == 2 ? FP32 : seed % 3 ? DEPTH_FLAGS_ALL : 0;
		struct answer expected = answer_of(&reference, &c, depth, bits[seed % 5]);
		for (int i = 0; i < 4; i++) {
			if (!have[i])
				continue;
			struct answer got = answer_of(&other[i], &c, depth, bits[seed % 5]);
			if (!same_answer(&expected, &got, c.out_count))
				fail_msg("%s with %d threads differs from portable in case %u", name[i], threads[i], seed);
			answer_free(&got);
		}
		answer_free(&expected);
		case_free(&c);
	}
	for (int i = 0; i < 4; i++)
		if (have[i])
			engine_close(&other[i]);
	engine_close(&reference);
}

static void test_a_changed_input_changes_the_answer(void **state)
{
	struct engine e;
	int changed = 0;
	assert_true(engine_open(&e, "portable", 1));
	for (uint32_t seed = 1; seed < 41; seed += 2) {
		product_case c = case_random(seed);
		struct answer before = answer_of(&e, &c, DEPTH_FLAGS_ALL, 32), after;
		c.a[0] = ls_f32_bits(ls_bits_f32(c.a[0]) ^ 2);
		after = answer_of(&e, &c, DEPTH_FLAGS_ALL, 32);
		changed += !same_answer(&before, &after, c.out_count);
		answer_free(&before);
		answer_free(&after);
		case_free(&c);
	}
	assert_true(changed >= 10); // not all: the element may meet zeros, NaN or padding only
	engine_close(&e);
}

static void test_unflagged_elements_are_exact_and_all_sums_within_the_bound(void **state)
{
	struct engine e;
	size_t flagged = 0, elements = 0;
	int bits[] = {32, 32, 26, 19};
	assert_true(engine_open(&e, NULL, 2));
	for (uint32_t seed = 1000; seed < 1200; seed++) {
		product_case c = case_random(seed);
		ls_flag_list flags = {0};
		ls_product_call call = case_call(&c, &flags);
		call.bits = bits[seed % 4];
		assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
		case_check_exact(&c, &call);
		flagged += flags.count;
		elements += (size_t)c.out_count;
		call.bound = ls_bound_fp64(DEPTH_FLAGS_ALL);
		assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
		case_check_exact(&c, &call);
		ls_flag_list_free(&flags);
		case_free(&c);
	}
	assert_true(flagged > 0 && flagged < elements / 2);
	engine_close(&e);
}

static void test_fp32_sums_are_within_their_bound(void **state)
{
	struct engine e;
	size_t flagged = 0, elements = 0;
	int64_t apart = 0;
	assert_true(engine_open(&e, NULL, 2));
	for (uint32_t seed = 7000; seed < 7150; seed++) {
		product_case c = case_random(seed);
		ls_flag_list flags = {0};
		ls_product_call call = case_call_fp32(&c, &flags, 16 + (int)(seed % 4));
		struct answer other = answer_of(&e, &c, 0, call.bits); // the twin: FP64 sums are others
		assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
		case_check_exact(&c, &call);
		flagged += flags.count;
		elements += (size_t)c.out_count;
		for (int64_t i = 0; i < c.out_count; i++)
			apart += ls_bits_f32(other.out[i]) != ls_bits_f32(call.out[i]);
		call.bits = 32;
		assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
		case_check_exact(&c, &call);
		answer_free(&other);
		ls_flag_list_free(&flags);
		case_free(&c);
	}
	assert_true(flagged > 0 && flagged < elements / 2 && apart > 0);
	engine_close(&e);
}

// A window flags the share of elements that it covers, on any scale.
static void test_a_window_flags_its_share(void **state)
{
	struct engine e;
	assert_true(engine_open(&e, NULL, 1));
	for (uint32_t i = 0; i < 4; i++) {
		random_source r = random_from(8000 + i);
		product_case c = {.kind = NORMAL};
		ls_flag_list flags = {0};
		case_matmul(&c, &r, 100, 100, 64);
		case_fill(&c, &r);
		ls_product_call call = case_call(&c, &flags);
		call.bits = i % 2 ? 32 : 19;
		call.bound = ls_bound_window(i < 2 ? 0.4 : 0.4999);
		assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
		size_t expected = i < 2 ? 2000 : 2; // of 10,000
		assert_in_range(flags.count, expected / 2, 2 * expected + 10);
		for (size_t k = 0; k < flags.count; k++)
			assert_int_equal(ls_bits_f64(flags.flag[k].t),
			                 ls_bits_f64(ls_bound_window_t(call.bound, flags.flag[k].c, call.bits)));
		ls_flag_list_free(&flags);
		case_free(&c);
	}
	engine_close(&e);
}

// More than one group of blocks, and columns and rows over several tiles.
static void test_large_sizes(void **state)
{
	static const int64_t size[][3] = {{2, 3, 40000}, {1, 1, 16384},  {3, 2, 16385},
	                                  {2, 2, 33000}, {230, 1100, 5}, {500, 3, 300}};
	struct engine portable, best;
	assert_true(engine_open(&portable, "portable", 1));
	assert_true(engine_open(&best, NULL, 2));
	for (uint32_t i = 0; i < sizeof size / sizeof *size; i++) {
		random_source r = random_from(5000 + i);
		product_case c = {.kind = NORMAL};
		ls_flag_list flags = {0};
		ls_product_call call;
		case_matmul(&c, &r, size[i][0], size[i][1], size[i][2]);
		case_fill(&c, &r);
		call = case_call(&c, &flags);
		assert_int_equal(ls_kernel__gemm_run(best.gemm, &call, NULL), LS_OK);
		case_check_exact(&c, &call);
		for (int fp32 = 0; fp32 < 2; fp32++) {
			int64_t depth = fp32 ? FP32 : DEPTH_FLAGS_ALL;
			struct answer a = answer_of(&portable, &c, depth, 32), b = answer_of(&best, &c, depth, 32);
			assert_true(same_answer(&a, &b, c.out_count));
			answer_free(&a);
			answer_free(&b);
		}
		call = case_call_fp32(&c, &flags, 32);
		assert_int_equal(ls_kernel__gemm_run(best.gemm, &call, NULL), LS_OK);
		case_check_exact(&c, &call);
		ls_flag_list_free(&flags);
		case_free(&c);
	}
	engine_close(&portable);
	engine_close(&best);
}

static void test_the_sample_is_flagged_once(void **state)
{
	struct engine e;
	random_source r = random_from(77);
	product_case c = {.kind = NORMAL};
	ls_flag_list flags = {0};
	size_t without;
	assert_true(engine_open(&e, NULL, 2));
	case_conv(&c, &r, 0, 3, 5, 9);
	case_fill(&c, &r);
	ls_product_call call = case_call(&c, &flags);
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
	without = flags.count;
	for (call.sample = 0; call.sample < c.out_count; call.sample++) {
		size_t found = 0;
		assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
		for (size_t i = 0; i < flags.count; i++) {
			found += flags.flag[i].index == call.sample;
			assert_true(i == 0 || flags.flag[i - 1].index < flags.flag[i].index);
		}
		assert_int_equal(found, 1);
		assert_true(flags.count <= without + 1);
	}
	ls_flag_list_free(&flags);
	case_free(&c);
	engine_close(&e);
}

static void test_plain_rounds_and_does_not_flag(void **state)
{
	for (int i = 0; i < ISAS; i++) {
		struct engine e;
		if (!engine_open(&e, isa_names[i], 1))
			continue;
		for (uint32_t seed = 2000; seed < 2060; seed++) {
			product_case c = case_random(seed);
			struct answer tested = answer_of(&e, &c, 0, seed % 3 ? 32 : 19);
			ls_product_call call = case_call(&c, NULL);
			call.test = false;
			call.bits = seed % 3 ? 32 : 19;
			assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, NULL), LS_OK);
			assert_memory_equal(call.out, tested.out, (size_t)c.out_count * sizeof(float)); // R(C) either way
			answer_free(&tested);
			case_free(&c);
		}
		engine_close(&e);
	}
}

static void test_calls_that_are_refused(void **state)
{
	struct engine e;
	random_source r = random_from(3);
	product_case c = {.kind = NORMAL};
	ls_flag_list flags = {0};
	ls_error err = LS_ERROR_INIT;
	ls_product_call call;
	assert_true(engine_open(&e, "portable", 1));
	case_matmul(&c, &r, 2, 2, 300);
	case_fill(&c, &r);
	call = case_call(&c, &flags);
	call.bound = ls_bound_fp64(256);
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, &err), LS_ERR_USAGE);
	assert_non_null(strstr(err.text, "depth"));
	call.bound = ls_bound_fp64(259);
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, &err), LS_OK);
	call.fp32 = true;
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, &err), LS_ERR_USAGE);
	call.bound = ls_bound_fp32(ls_product_all_terms(call.product) - 1);
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, &err), LS_ERR_USAGE);
	call.bound = ls_bound_fp32(ls_product_all_terms(call.product));
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, &err), LS_OK);
	call.fp32 = false;
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, &err), LS_ERR_USAGE);
	call.bound = ls_bound_fp64(259);
	call.bits = 33;
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, &err), LS_ERR_USAGE);
	call.bits = 32;
	c.product.terms = LS_TERMS_MAX;
	assert_int_equal(ls_kernel__gemm_run(e.gemm, &call, &err), LS_ERR_LIMIT);
	assert_int_equal(ls_kernel__table_init(&e.table, "neon", &err), LS_ERR_UNSUPPORTED);
	assert_int_equal(ls_kernel__table_init(&e.table, "sse9", &err), LS_ERR_USAGE);
	ls_flag_list_free(&flags);
	case_free(&c);
	engine_close(&e);
}

static void test_depth_leaves_room_for_every_size(void **state)
{
	const ls_engine chunks = {.block = 512, .group = INT64_C(1) << 40};
	for (int64_t k = 1; k < LS_TERMS_MAX - 1; k += k < 20000 ? 1 : 511)
		for (int bias = 0; bias < 2; bias++) {
			int64_t allowed = ls_depth_default(k + bias) - 2;
			assert_true(ls_kernel__engine_depth(&ls_kernel__native_engine, k, bias) <= allowed);
			assert_true(ls_kernel__engine_depth(&chunks, k, bias) <= allowed);
		}
	assert_int_equal(ls_kernel__engine_depth(&chunks, 1024, false), 512);
	assert_int_equal(ls_kernel__engine_depth(&ls_kernel__native_engine, 600, true), 257);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_isa_and_thread_count_gives_the_same_bits),
		cmocka_unit_test(test_a_changed_input_changes_the_answer),
		cmocka_unit_test(test_unflagged_elements_are_exact_and_all_sums_within_the_bound),
		cmocka_unit_test(test_fp32_sums_are_within_their_bound),
		cmocka_unit_test(test_a_window_flags_its_share),
		cmocka_unit_test(test_large_sizes),
		cmocka_unit_test(test_the_sample_is_flagged_once),
		cmocka_unit_test(test_plain_rounds_and_does_not_flag),
		cmocka_unit_test(test_calls_that_are_refused),
		cmocka_unit_test(test_depth_leaves_room_for_every_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
