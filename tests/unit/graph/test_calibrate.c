// Calibration: thresholds that cover every difference seen, and none to cover where there is no difference.
#include "graph/support.h"

static ls_program *products_of(int bits)
{
	static const ls_shape a = {2, {60, 200}}, b = {2, {200, 70}};
	ls_program *p;
	assert_int_equal(ls_program_open(&p, bits, 32, NULL), LS_OK);
	int x = ls_program_add_state(p, "a", &a), w = ls_program_add_state(p, "b", &b);
	assert_true(append(p, "matmul", "y", (int[]){x, w}, 2, (int64_t[]){0, 0}, 2) >= 0);
	return p;
}

static ls_calibration calibrated(int bits, bool fp32, const char *other, int trials)
{
	ls_program *program = products_of(bits);
	ls_platform *platform[2];
	ls_calibrate_options o = LS_CALIBRATE_OPTIONS_INIT;
	ls_calibration rows[LS_CALIBRATIONS_MAX];
	ls_error err = LS_ERROR_INIT;
	int count = 0;
	assert_int_equal(ls_platform_open(&platform[0], "native", NULL, NULL), LS_OK);
	assert_int_equal(ls_platform_open(&platform[1], other, NULL, NULL), LS_OK);
	o.program = program;
	o.platforms = platform;
	o.platform_count = 2;
	o.fp32 = fp32;
	o.trials = trials;
	ls_calibrate(rows, &count, &o, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(count, 1);
	assert_string_equal(rows[0].kind, "matmul");
	assert_int_equal(rows[0].elements, 4200 * trials);
	for (int i = 0; i < 2; i++)
		ls_platform_free(platform[i]);
	ls_program_free(program);
	return rows[0];
}

static void every_difference_seen_is_covered(void **state)
{
	int covered = 0;
	for (int bits = 16; bits <= 19; bits++) {
		ls_calibration r = calibrated(bits, true, "naive", 2);
		assert_true(r.differing > 0 && r.closest < 0.5);
		assert_true(r.tau > 0.25 && r.tau < 0.5);
		assert_int_equal(r.escaped > 0, r.closest < 0.25 + 2 * 0x1p-13); // to the width of a bin
		if (!r.escaped)
			assert_true(r.tau < r.closest && (r.closest - r.tau < 0x1p-11 || r.tau >= 0.5 - 0x1p-10));
		covered += !r.escaped;
	}
	print_message("%d of 4 grids covered\n", covered);
}

static void without_a_difference_the_window_is_the_least(void **state)
{
	ls_calibration same = calibrated(16, true, "native", 2), fine = calibrated(32, false, "naive", 1);
	assert_int_equal(same.differing, 0);
	assert_int_equal(ls_bits_f64(same.tau), ls_bits_f64(0.5 - 0x1p-10));
	assert_int_equal(ls_bits_f64(same.closest), ls_bits_f64(0.5));
	assert_true(fine.differing < calibrated(16, true, "naive", 1).differing); // FP64 sums hardly ever differ
	assert_true(calibrated(16, true, "naive", 4).differing > calibrated(16, true, "naive", 1).differing);
}

static void nonsense_is_refused(void **state)
{
	ls_calibrate_options o = LS_CALIBRATE_OPTIONS_INIT;
	ls_calibration rows[LS_CALIBRATIONS_MAX];
	ls_platform *one;
	int count;
	assert_int_equal(ls_platform_open(&one, "native", NULL, NULL), LS_OK);
	o.platforms = &one;
	o.platform_count = 1;
	assert_int_equal(ls_calibrate(rows, &count, &o, NULL), LS_ERR_USAGE);
	o.platform_count = 2;
	o.trials = 0;
	assert_int_equal(ls_calibrate(rows, &count, &o, NULL), LS_ERR_USAGE);
	ls_platform_free(one);
}

/* 2^28 sums would be lists of 12 GiB; nothing of that size is made. */
static void sums_too_many_to_keep_are_refused(void **state)
{
	static const ls_shape a = {2, {1 << 14, 8}}, b = {2, {8, 1 << 14}};
	ls_calibrate_options o = LS_CALIBRATE_OPTIONS_INIT;
	ls_calibration rows[LS_CALIBRATIONS_MAX];
	ls_platform *platform[2];
	ls_error err = LS_ERROR_INIT;
	ls_program *p;
	int count;
	assert_int_equal(ls_program_open(&p, 32, 32, NULL), LS_OK);
	int x = ls_program_add_state(p, "a", &a), w = ls_program_add_state(p, "b", &b);
	assert_true(append(p, "matmul", "y", (int[]){x, w}, 2, (int64_t[]){0, 0}, 2) >= 0);
	assert_int_equal(ls_platform_open(&platform[0], "native", NULL, NULL), LS_OK);
	assert_int_equal(ls_platform_open(&platform[1], "naive", NULL, NULL), LS_OK);
	o.program = p;
	o.platforms = platform;
	o.platform_count = 2;
	assert_int_equal(ls_calibrate(rows, &count, &o, &err), LS_ERR_LIMIT);
	assert_string_equal(err.text, "calibration: op 'y': found 268435456 elements, expected at most 44739242 with 2 platforms: the sums "
	                              "of an op are kept in at most 2048 MiB\n"
	                              "  hint: calibrate with a smaller train.batch (--set); thresholds are per kind of op, not per size");
	for (int i = 0; i < 2; i++)
		ls_platform_free(platform[i]);
	ls_program_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_difference_seen_is_covered),
		cmocka_unit_test(without_a_difference_the_window_is_the_least),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(sums_too_many_to_keep_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
