// What decides B: thresholds fixed and adaptive, and the file of the latter.
#include "job/job_cases.h"

static const char good_file[] = "{\"lockstep_thresholds\": 1, \"grid\": 32, \"compute\": \"fp64\", \"trials\": 4,\n"
                                " \"platforms\": [\"a\", \"b\"], \"tau\": {\"matmul\": 0.4375, \"conv2d\": 0.3}}\n";

static const ls_product product = {.rows = 1, .columns = 1, .terms = 700};

static ls_job *job_with(const char *const *sets, size_t count)
{
	ls_job *job = NULL;
	ls_error err = LS_ERROR_INIT;
	ls_job_parse(&job, "j", good_job, strlen(good_job), sets, count, &err);
	assert_string_equal(err.text, "");
	return job;
}

static ls_job *adaptive_job(void)
{
	const char *const sets[] = {"arithmetic.threshold={adaptive: some/file.json}"};
	return job_with(sets, 1);
}

static void a_fixed_threshold_is_for_every_kind(void **state)
{
	const char *const sets[] = {"arithmetic.threshold={fixed: 0.4}", "arithmetic.threshold=certified"};
	ls_job *job = job_with(sets, 1), *certified = job_with(sets, 2), *again;
	ls_arithmetic a;
	assert_true(ls_job_uncertified(ls_job_spec_of(job)));
	assert_int_equal(ls_job_arithmetic(job, &a, NULL), LS_OK);
	ls_bound bound = ls_product_bound(&a, "conv2d", &product);
	assert_int_equal(bound.kind, LS_BOUND_WINDOW);
	assert_int_equal(ls_bits_f64(bound.tau), ls_bits_f64(0.4));
	assert_int_equal(ls_product_promise(&a, &product).depth, 514);
	char *yaml = emitted(job);
	assert_non_null(strstr(yaml, "threshold: {fixed: 0.4}\n"));
	again = parsed(yaml);
	assert_memory_equal(ls_job_spec_of(job), ls_job_spec_of(again), sizeof(ls_job_spec));
	assert_false(ls_job_uncertified(ls_job_spec_of(certified)));
	assert_int_equal(ls_job_arithmetic(certified, &a, NULL), LS_OK);
	assert_int_equal(ls_product_bound(&a, "conv2d", &product).kind, LS_BOUND_FP64);
	ls_job_free(job);
	ls_job_free(again);
	ls_job_free(certified);
	free(yaml);
}

static void fp32_compute_has_its_own_bound(void **state)
{
	const char *const sets[] = {"arithmetic={compute: fp32, grid: 16}"};
	ls_job *job = job_with(sets, 1);
	ls_arithmetic a;
	assert_int_equal(ls_job_arithmetic(job, &a, NULL), LS_OK);
	assert_true(a.fp32);
	assert_int_equal(ls_product_bound(&a, "matmul", &product).kind, LS_BOUND_FP32);
	assert_int_equal(ls_product_bound(&a, "matmul", &product).terms, 700);
	assert_false(ls_job_uncertified(ls_job_spec_of(job)));
	ls_job_free(job);
}

static void a_file_has_one_threshold_for_each_kind(void **state)
{
	ls_job *job = adaptive_job();
	ls_arithmetic a;
	ls_error err = LS_ERROR_INIT;
	size_t len;
	assert_int_equal(ls_job_arithmetic(job, &a, &err), LS_ERR_INPUT); // the file was not read
	assert_null(ls_job_thresholds_bytes(job, &len));
	assert_int_equal(ls_job_set_thresholds(job, "t.json", good_file, strlen(good_file), &err), LS_OK);
	assert_int_equal(ls_job_arithmetic(job, &a, NULL), LS_OK);
	assert_int_equal(ls_bits_f64(ls_product_bound(&a, "matmul", &product).tau), ls_bits_f64(0.4375));
	assert_int_equal(ls_bits_f64(ls_product_bound(&a, "conv2d", &product).tau), ls_bits_f64(0.3));
	assert_int_equal(ls_product_bound(&a, "conv2d_dinput", &product).kind, LS_BOUND_FP64);
	assert_memory_equal(ls_job_thresholds_bytes(job, &len), good_file, strlen(good_file));
	assert_int_equal(len, strlen(good_file));
	char *yaml = emitted(job);
	assert_non_null(strstr(yaml, "threshold: {adaptive: \"thresholds.json\"}\n"));
	free(yaml);
	ls_job_free(job);
}

/* Signed are τ and the digest of the file, not its path. */
static void the_signed_bytes_hold_the_thresholds(void **state)
{
	const char *const fixed[] = {"arithmetic.threshold={fixed: 0.4}", "arithmetic.threshold={fixed: 0.3}"};
	ls_job *job[4] = {job_with(fixed, 1), job_with(fixed + 1, 1), adaptive_job(), adaptive_job()};
	ls_job_binding b = {.samples = 1000, .steps = 100}, c;
	ls_buf out[4];
	ls_error err = LS_ERROR_INIT;
	char *other_file = replaced(good_file, "0.3", "0.4");
	ls_buf_init(&out[0], LS_JOB_BYTES_MAX);
	assert_int_equal(ls_job_encode(job[2], &b, &out[0], &err), LS_ERR_INPUT); // without its file
	assert_int_equal(ls_job_set_thresholds(job[2], "t", good_file, strlen(good_file), NULL), LS_OK);
	assert_int_equal(ls_job_set_thresholds(job[3], "t", other_file, strlen(other_file), NULL), LS_OK);
	for (int i = 0; i < 4; i++) {
		ls_job *again;
		ls_arithmetic a;
		ls_buf_init(&out[i], LS_JOB_BYTES_MAX);
		assert_int_equal(ls_job_encode(job[i], &b, &out[i], NULL), LS_OK);
		assert_int_equal(ls_job_decode(&again, &c, out[i].data, out[i].len, &err), LS_OK);
		assert_int_equal(ls_bits_f64(ls_job_spec_of(again)->arithmetic.tau), ls_bits_f64(ls_job_spec_of(job[i])->arithmetic.tau));
		assert_string_equal(ls_job_spec_of(again)->arithmetic.threshold_digest, ls_job_spec_of(job[i])->arithmetic.threshold_digest);
		assert_int_equal(ls_job_arithmetic(again, &a, NULL), i < 2 ? LS_OK : LS_ERR_INPUT);
		ls_job_free(again);
		for (int k = 0; k < i; k++)
			assert_false(out[i].len == out[k].len && !memcmp(out[i].data, out[k].data, out[i].len));
	}
	for (int i = 0; i < 4; i++) {
		ls_buf_free(&out[i]);
		ls_job_free(job[i]);
	}
	free(other_file);
}

static const struct bad_file {
	const char *from, *to, *message;
} bad_files[] = {
	{"0.4375", "0.5", "t.json:2:45: matmul: found 0.5, expected a number above 0 and below 0.5"},
	{"0.4375", "0", "t.json:2:45: matmul: found 0, expected a number above 0 and below 0.5"},
	{"0.4375", "-1e-3", "t.json:2:45: matmul: found -1e-3, expected a number above 0 and below 0.5"},
	{"0.4375", "nan", "t.json:2:45: matmul: found nan, expected a number above 0 and below 0.5"},
	{"0.4375", "\"0.4\"", "t.json:2:45: matmul: found the text \"0.4\", expected a number above 0 and below 0.5"},
	{"\"grid\": 32", "\"grid\": 19",
	 "t.json:1:36: arithmetic.grid: found 19, expected the value that the job has\n  hint: calibrate again with this job"},
	{"fp64", "fp32",
	 "t.json:1:51: arithmetic.compute: found the text \"fp32\", expected the value that the job has\n"
	 "  hint: calibrate again with this job"},
	{"thresholds\": 1", "thresholds\": 2", "t.json:1:25: lockstep_thresholds: found 2, expected 1"},
	{"\"grid\": 32, ", "",
	 "t.json:1:1: found a key too few, expected lockstep_thresholds, grid, compute and tau\n"
	 "  hint: lockstep calibrate writes such files"},
	{"trials", "trails",
	 "t.json:1:59: found the text \"trails\", expected lockstep_thresholds, grid, compute, platforms, trials or tau"},
	{"conv2d", "Conv", "t.json:2:53: tau: found the text \"Conv\", expected the kind of an op"},
	{"{\"matmul\": 0.4375, \"conv2d\": 0.3}", "[]",
	 "t.json:2:34: tau: found an empty list, expected a mapping of 1 to 16 op kinds to numbers"},
	{"{\"lockstep", "[{\"lockstep", NULL},
};

static void bad_files_are_named(void **state)
{
	for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
		char *text = replaced(good_file, bad_files[i].from, bad_files[i].to);
		ls_job *job = adaptive_job();
		ls_error err = LS_ERROR_INIT;
		assert_int_equal(ls_job_set_thresholds(job, "t.json", text, strlen(text), &err), LS_ERR_INPUT);
		if (bad_files[i].message)
			assert_string_equal(err.text, bad_files[i].message);
		assert_int_equal(strlen(ls_job_spec_of(job)->arithmetic.threshold_digest), 0);
		ls_job_free(job);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fixed_threshold_is_for_every_kind),
		cmocka_unit_test(fp32_compute_has_its_own_bound),
		cmocka_unit_test(a_file_has_one_threshold_for_each_kind),
		cmocka_unit_test(the_signed_bytes_hold_the_thresholds),
		cmocka_unit_test(bad_files_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
