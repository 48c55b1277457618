// Platforms: different sums, the same rounded values wherever they say a value is settled.
#include <lockstep/platform.h>

#include "kernel/cases.h"

#include <stdlib.h>

static ls_platform *platform_open(const char *name, int threads, const char *isa)
{
	ls_platform_options options = LS_PLATFORM_OPTIONS_INIT;
	ls_platform *p;
	ls_error err = LS_ERROR_INIT;
	ls_status status;
	options.threads = threads;
	options.isa = isa;
	status = ls_platform_open(&p, name, &options, &err);
	if (status == LS_ERR_UNSUPPORTED) {
		print_message("%s\n", err.text);
		return NULL;
	}
	assert_int_equal(status, LS_OK);
	return p;
}

static void report(void *context, const char *check, bool passed, const char *detail)
{
	if (!passed)
		print_message("%s: %s: %s\n", (const char *)context, check, detail);
}

static void test_selftest_passes_everywhere(void **state)
{
	for (int i = 0; ls_platform_at(i); i++) {
		ls_platform *p = platform_open(ls_platform_at(i), 2, NULL);
		bool passed = false;
		if (!p)
			continue;
		assert_string_equal(ls_platform_name(p), ls_platform_at(i));
		assert_int_equal(strncmp(ls_platform_describe(p), ls_platform_at(i), strlen(ls_platform_at(i))), 0);
		assert_int_equal(ls_platform_selftest(p, &passed, report, (void *)ls_platform_describe(p), NULL), LS_OK);
		assert_true(passed);
		ls_platform_free(p);
	}
	for (int i = 0; i < 3; i++) {
		ls_platform *p = platform_open("native", 1, (const char *[]){"portable", "avx2", "avx512"}[i]);
		bool passed = false;
		if (!p)
			continue;
		assert_int_equal(ls_platform_selftest(p, &passed, report, (void *)ls_platform_describe(p), NULL), LS_OK);
		assert_true(passed);
		ls_platform_free(p);
	}
}

static void test_selftest_notices_flush_to_zero(void **state)
{
#if defined(__x86_64__)
	ls_platform *p = platform_open("native", 1, NULL);
	bool passed = true;
	unsigned before = __builtin_ia32_stmxcsr();
	assert_true(ls_platform_control_ok());
	__builtin_ia32_ldmxcsr(before | 1u << 15); // flush to zero
	assert_false(ls_platform_control_ok());
	assert_int_equal(ls_platform_selftest(p, &passed, NULL, NULL, NULL), LS_OK);
	__builtin_ia32_ldmxcsr(before | 1u << 6); // denormals are zero
	assert_false(ls_platform_control_ok());
	__builtin_ia32_ldmxcsr(before | 1u << 13); // round down
	assert_false(ls_platform_control_ok());
	__builtin_ia32_ldmxcsr(before);
	assert_true(ls_platform_control_ok());
	assert_false(passed);
	ls_platform_free(p);
#else
	skip();
#endif
}

static void test_selftest_notices_another_rounding_mode(void **state)
{
#if defined(__x86_64__)
	ls_platform *p = platform_open("naive", 1, NULL);
	bool passed = true;
	unsigned before = __builtin_ia32_stmxcsr();
	__builtin_ia32_ldmxcsr(before | 3u << 13);
	assert_int_equal(ls_platform_selftest(p, &passed, NULL, NULL, NULL), LS_OK);
	__builtin_ia32_ldmxcsr(before);
	assert_false(passed);
	ls_platform_free(p);
#else
	skip();
#endif
}

static const ls_flag *find_flag(const ls_flag_list *flags, int64_t index)
{
	size_t low = 0, high = flags->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (flags->flag[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low < flags->count && flags->flag[low].index == index ? &flags->flag[low] : NULL;
}

#define PLATFORMS 4

static void test_platforms_agree_where_nothing_is_flagged(void **state)
{
	ls_platform *p[PLATFORMS];
	int64_t settled = 0;
	for (int i = 0; i < PLATFORMS; i++)
		p[i] = platform_open(ls_platform_at(i), 1 + i % 2, NULL);
	for (uint32_t seed = 3000; seed < 3150; seed++) {
		product_case c = case_random(seed);
		float *out[PLATFORMS] = {0};
		ls_flag_list flags[PLATFORMS] = {{0}};
		for (int i = 0; i < PLATFORMS; i++) {
			ls_product_call call = case_call(&c, &flags[i]);
			call.bits = seed % 4 ? 32 : 19;
			if (seed % 3 == 0)
				call = case_call_fp32(&c, &flags[i], seed % 2 ? 19 : 16);
			out[i] = call.out = ls_alloc((size_t)c.out_count, sizeof(float));
			if (p[i]) {
				assert_int_equal(ls_platform_product(p[i], &call, NULL), LS_OK);
				case_check_exact(&c, &call);
			}
		}
		for (int i = 1; i < PLATFORMS; i++)
			for (int64_t k = 0; p[i] && k < c.out_count; k++) {
				if (find_flag(&flags[0], k) || find_flag(&flags[i], k))
					continue;
				assert_int_equal(ls_bits_f32(out[0][k]), ls_bits_f32(out[i][k]));
				settled++;
			}
		for (int i = 0; i < PLATFORMS; i++) {
			ls_free(out[i]);
			ls_flag_list_free(&flags[i]);
		}
		case_free(&c);
	}
	assert_true(settled > 10000);
	for (int i = 0; i < PLATFORMS; i++)
		ls_platform_free(p[i]);
}

// Mode pinned has one order, whatever a library may think of it.
static void test_platforms_agree_on_the_pinned_order(void **state)
{
	ls_platform *p[PLATFORMS];
	int64_t compared = 0;
	for (int i = 0; i < PLATFORMS; i++)
		p[i] = platform_open(ls_platform_at(i), 1 + i % 2, NULL);
	for (uint32_t seed = 5000; seed < 5100; seed++) {
		product_case c = case_random(seed);
		ls_flag_list flags[PLATFORMS] = {{0}};
		float *first = ls_alloc((size_t)c.out_count, sizeof *first);
		for (int i = 0; i < PLATFORMS; i++) {
			ls_product_call call = case_call(&c, &flags[i]);
			call.test = false;
			call.pinned = true;
			call.out = i ? c.out : first;
			if (!p[i])
				continue;
			assert_int_equal(ls_platform_product(p[i], &call, NULL), LS_OK);
			for (int64_t k = 0; k < c.out_count; k++)
				if (!find_flag(&flags[0], k) && !find_flag(&flags[i], k)) { // else not finite: the definition decides
					assert_int_equal(ls_bits_f32(call.out[k]), ls_bits_f32(first[k]));
					compared++;
				}
		}
		ls_free(first);
		for (int i = 0; i < PLATFORMS; i++)
			ls_flag_list_free(&flags[i]);
		case_free(&c);
	}
	assert_true(compared > 10000);
	for (int i = 0; i < PLATFORMS; i++)
		ls_platform_free(p[i]);
}

// The twin: without the test, platforms do differ where sums cancel.
static void test_plain_results_differ_between_platforms(void **state)
{
	ls_platform *native = platform_open("native", 1, NULL), *naive = platform_open("naive", 1, NULL);
	int64_t different = 0;
	for (uint32_t seed = 0; seed < 10; seed++) {
		random_source r = random_from(4000 + seed);
		product_case c = {.kind = CANCELLING};
		case_matmul(&c, &r, 20, 20, 600);
		case_fill(&c, &r);
		ls_product_call call = case_call(&c, NULL);
		float *other = ls_alloc((size_t)c.out_count, sizeof *other);
		call.test = false;
		assert_int_equal(ls_platform_product(native, &call, NULL), LS_OK);
		call.out = other;
		assert_int_equal(ls_platform_product(naive, &call, NULL), LS_OK);
		for (int64_t k = 0; k < c.out_count; k++)
			different += ls_bits_f32(c.out[k]) != ls_bits_f32(other[k]);
		ls_free(other);
		case_free(&c);
	}
	assert_true(different > 0);
	ls_platform_free(native);
	ls_platform_free(naive);
}

// Ops that are no products are the same everywhere, with kernels or without.
static void test_run_gives_the_same_bits_on_every_platform(void **state)
{
	ls_program *program;
	ls_shape shape = {2, {37, 11}};
	ls_op_spec softmax = {.kind = "softmax", .name = "p", .input_count = 1};
	ls_op_spec product = {.kind = "matmul", .name = "y", .input_count = 2, .ints = {0, 1}, .int_count = 2};
	float x[37 * 11], out[2][37 * 11], max[2][37], sum[2][37];
	random_source r = random_from(9);
	ls_error err = LS_ERROR_INIT;
	assert_int_equal(ls_program_open(&program, 32, 32, NULL), LS_OK);
	softmax.inputs[0] = product.inputs[0] = product.inputs[1] = ls_program_add_state(program, "x", &shape);
	assert_true(ls_op_append(program, &softmax) >= 0);
	assert_true(ls_op_append(program, &product) >= 0);
	for (int i = 0; i < 37 * 11; i++)
		x[i] = draw_value(&r, NORMAL);
	for (int i = 0; i < 2; i++) {
		ls_platform *p = platform_open(i ? "naive" : "native", 2, NULL);
		const ls_op *op = ls_program_op(program, 0);
		const void *in[] = {x, x};
		void *outs[] = {out[i], max[i], sum[i]};
		ls_op_call call = {.program = program, .op = op, .def = ls_op_find(op->kind), .step = 1, .in = in, .out = outs};
		assert_int_equal(ls_platform_run(p, &call, &err), LS_OK);
		call.op = ls_program_op(program, 1);
		call.def = ls_op_find(call.op->kind);
		assert_int_equal(ls_platform_run(p, &call, &err), LS_ERR_USAGE);
		ls_platform_free(p);
	}
	assert_memory_equal(out[0], out[1], sizeof out[0]);
	assert_memory_equal(max[0], max[1], sizeof max[0]);
	assert_memory_equal(sum[0], sum[1], sizeof sum[0]);
	assert_int_not_equal(ls_bits_f32(out[0][0]), ls_bits_f32(out[0][1]));
	ls_program_free(program);
}

static void test_names_and_refusals(void **state)
{
	ls_platform *p;
	ls_error err = LS_ERROR_INIT;
	ls_platform_options options = LS_PLATFORM_OPTIONS_INIT;
	assert_string_equal(ls_platform_at(0), "native");
	assert_null(ls_platform_at(PLATFORMS));
	assert_null(ls_platform_at(-1));
	assert_int_equal(ls_platform_open(&p, "abacus", NULL, &err), LS_ERR_NOT_FOUND);
	assert_null(p);
	assert_non_null(strstr(err.text, "abacus"));
	options.isa = "neon";
	assert_int_equal(ls_platform_open(&p, "native", &options, &err), LS_ERR_UNSUPPORTED);
	options.isa = NULL;
	options.threads = 0;
	assert_int_equal(ls_platform_open(&p, "native", &options, &err), LS_ERR_USAGE);
	options.threads = 1;
	options.version = 2;
	assert_int_equal(ls_platform_open(&p, "native", &options, &err), LS_ERR_USAGE);
	assert_int_equal(ls_platform_open(&p, "native", NULL, &err), LS_OK);
	assert_int_equal(ls_pool_threads(ls_platform_pool(p)), 1);
	ls_platform_free(p);
	ls_platform_free(NULL);
}

static void test_isa_follows_the_environment(void **state)
{
	const char *old = getenv("LOCKSTEP_ISA");
	char *kept = old ? ls_strdup(old) : NULL;
	ls_platform *p;
	setenv("LOCKSTEP_ISA", "portable", 1);
	assert_int_equal(ls_platform_open(&p, "native", NULL, NULL), LS_OK);
	assert_string_equal(ls_platform_describe(p), "native portable");
	ls_platform_free(p);
	setenv("LOCKSTEP_ISA", "sse9", 1);
	assert_int_equal(ls_platform_open(&p, "native", NULL, NULL), LS_ERR_USAGE);
	if (kept)
		setenv("LOCKSTEP_ISA", kept, 1);
	else
		unsetenv("LOCKSTEP_ISA");
	ls_free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_selftest_passes_everywhere),
		cmocka_unit_test(test_selftest_notices_flush_to_zero),
		cmocka_unit_test(test_selftest_notices_another_rounding_mode),
		cmocka_unit_test(test_platforms_agree_where_nothing_is_flagged),
		cmocka_unit_test(test_platforms_agree_on_the_pinned_order),
		cmocka_unit_test(test_plain_results_differ_between_platforms),
		cmocka_unit_test(test_run_gives_the_same_bits_on_every_platform),
		cmocka_unit_test(test_names_and_refusals),
		cmocka_unit_test(test_isa_follows_the_environment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
