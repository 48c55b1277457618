// Programs: the bytes of a record, what a builder is refused, and that the first failure stays.
#include "base/support.h"

#include <lockstep/program.h>

static ls_program *opened(void)
{
	ls_error err = LS_ERROR_INIT;
	ls_program *p;
	assert_ok(ls_program_open(&p, 16, 32, &err));
	return p;
}

static ls_value value(const char *name, ls_shape shape)
{
	ls_value v = {.dtype = LS_F32, .bits = 16, .shape = shape};
	snprintf(v.name, sizeof v.name, "%s", name);
	return v;
}

static int add_op(ls_program *p, const char *kind, int input, const char *output, ls_shape shape)
{
	ls_op op = {.input_count = input >= 0, .output_count = 1, .inputs = &input};
	ls_value v = value(output, shape);
	snprintf(op.kind, sizeof op.kind, "%s", kind);
	return ls_program_add_op(p, &op, &v);
}

static void expect_failure(ls_program *p, ls_status expected, const char *text)
{
	ls_error err = LS_ERROR_INIT;
	assert_true(ls_program_failed(p));
	assert_int_equal(ls_program_finish(p, &err), expected);
	assert_int_equal(err.status, expected);
	if (!strstr(err.text, text))
		print_message("found \"%s\", expected \"%s\"\n", err.text, text);
	assert_non_null(strstr(err.text, text));
	ls_program_free(p);
}

/* A program with one op of every kind of field: two states, two outputs, ints, nums. */
static ls_program *sample(int64_t attribute)
{
	ls_program *p = opened();
	int inputs[] = {1, 0};
	ls_op op = {.kind = "sgd", .int_count = 2, .num_count = 1, .input_count = 2, .output_count = 2, .inputs = inputs,
	            .ints = {attribute, -1}, .nums = {0.5}};
	ls_value outputs[2] = {value("w.next", (ls_shape){1, {3}}), value("m.next", (ls_shape){1, {3}})};
	outputs[0].bits = outputs[1].bits = 32;
	assert_int_equal(ls_program_add_state(p, "m", &(ls_shape){1, {3}}), 0);
	assert_int_equal(ls_program_add_state(p, "w", &(ls_shape){1, {3}}), 1);
	assert_int_equal(ls_program_add_op(p, &op, outputs), 2);
	inputs[0] = 3;
	inputs[1] = 2;
	op = (ls_op){.kind = "commit", .input_count = 2, .output_count = 1, .inputs = inputs};
	outputs[0] = (ls_value){.dtype = LS_ROOT, .bits = 32, .shape = {1, {8}}, .name = "state"};
	assert_int_equal(ls_program_add_op(p, &op, outputs), 4);
	return p;
}

static void test_record_bytes_are_pinned(void **state)
{
	static const char first[] = "6c73312f6f70"         // ls1/op
	                            "00000000"             // index
	                            "03000000736764"       // kind
	                            "02000000" "0700000000000000" "ffffffffffffffff"
	                            "01000000" "000000000000e03f"
	                            "02000000" "00000000" "01000000" "00000000" "00000000" // states 1 and 0
	                            "02000000"
	                            "06000000772e6e657874" "01" "20" "01" "0300000000000000"
	                            "060000006d2e6e657874" "01" "20" "01" "0300000000000000";
	static const char second[] = "6c73312f6f70" "01000000" "06000000636f6d6d6974" "00000000" "00000000"
	                             "02000000" "01000000" "01000000" "01000000" "00000000" // outputs 1 and 0 of op 0
	                             "01000000" "050000007374617465" "03" "20" "01" "0800000000000000";
	ls_program *p = sample(7);
	char text[1024];
	ls_buf b;
	ls_buf_init(&b, 1000);
	ls_program_record(p, 0, &b);
	ls_hex(text, b.data, b.len);
	assert_string_equal(text, first);
	ls_buf_reset(&b);
	ls_program_record(p, 1, &b);
	ls_hex(text, b.data, b.len);
	assert_string_equal(text, second);
	assert_string_not_equal(first, second);
	ls_buf_free(&b);
	ls_program_free(p);
}

static void test_digest_covers_attributes(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_program *a = sample(7), *b = sample(7), *c = sample(8);
	ls_hash x, y, z;
	char hex[LS_HASH_HEX_SIZE];
	assert_ok(ls_program_finish(a, &err));
	assert_ok(ls_program_digest(a, &x, &err));
	assert_ok(ls_program_digest(b, &y, &err));
	assert_ok(ls_program_digest(c, &z, &err));
	assert_true(ls_hash_equal(&x, &y));
	assert_false(ls_hash_equal(&x, &z));
	ls_hash_hex(hex, &x);
	assert_string_equal(hex, "dc42b835f196597854e5ed7386b04e339510e7988e8acd1db7914b576e4469a6"); // by Python's hashlib, from the bytes above
	ls_program_free(a);
	ls_program_free(b);
	ls_program_free(c);
}

static void test_reading(void **state)
{
	ls_program *p = sample(7);
	assert_int_equal(ls_program_ops(p), 2);
	assert_int_equal(ls_program_values(p), 5);
	assert_int_equal(ls_program_states(p), 2);
	assert_int_equal(ls_program_bits(p), 16);
	assert_int_equal(ls_program_state_bits(p), 32);
	assert_int_equal(ls_program_find(p, "m.next"), 3);
	assert_int_equal(ls_program_find(p, "m.nex"), -1);
	assert_int_equal(ls_program_value(p, 0)->bits, 32);
	assert_int_equal(ls_program_value(p, 1)->op, -1);
	assert_int_equal(ls_program_value(p, 1)->output, 1);
	assert_int_equal(ls_program_value(p, 3)->op, 0);
	assert_int_equal(ls_program_value(p, 3)->output, 1);
	assert_null(ls_program_value(p, 5));
	assert_null(ls_program_value(p, -1));
	assert_null(ls_program_op(p, 2));
	assert_null(ls_program_op(p, -1));
	ls_program_free(p);
	ls_program_free(NULL);
}

static void test_grids_are_checked(void **state)
{
	ls_program *p;
	ls_error err = LS_ERROR_INIT;
	static const int bad[] = {15, 33, 0, -1};
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ls_program_open(&p, bad[i], 32, &err), LS_ERR_USAGE);
		assert_null(p);
		assert_int_equal(ls_program_open(&p, 32, bad[i], &err), LS_ERR_USAGE);
	}
}

static void test_states_are_ascending_and_come_first(void **state)
{
	const ls_shape shape = {1, {2}};
	ls_program *p = opened();
	ls_program_add_state(p, "b", &shape);
	assert_int_equal(ls_program_add_state(p, "a", &shape), -1);
	expect_failure(p, LS_ERR_INTERNAL, "ascending");
	p = opened();
	ls_program_add_state(p, "b", &shape);
	assert_int_equal(ls_program_add_state(p, "b", &shape), -1);
	expect_failure(p, LS_ERR_INTERNAL, "ascending");
	p = opened();
	add_op(p, "x", -1, "y", shape);
	assert_int_equal(ls_program_add_state(p, "b", &shape), -1);
	expect_failure(p, LS_ERR_INTERNAL, "after the first op");
	p = opened();
	char long_name[LS_NAME_MAX + 1];
	memset(long_name, 'n', LS_NAME_MAX);
	long_name[LS_NAME_MAX] = 0;
	assert_int_equal(ls_program_add_state(p, long_name, &shape), -1);
	expect_failure(p, LS_ERR_INPUT, "too long");
}

static void test_names_are_unique_and_given(void **state)
{
	const ls_shape shape = {1, {2}};
	ls_program *p = opened();
	add_op(p, "x", -1, "y", shape);
	assert_int_equal(add_op(p, "x", -1, "y", shape), -1);
	expect_failure(p, LS_ERR_INTERNAL, "'y' is empty or used twice");
	p = opened();
	assert_int_equal(add_op(p, "x", -1, "", shape), -1);
	expect_failure(p, LS_ERR_INTERNAL, "empty or used twice");
}

static void test_shapes_are_sane(void **state)
{
	static const ls_shape bad[] = {{1, {0}}, {1, {-1}}, {2, {3, 0}}, {LS_RANK_MAX + 1, {1}}, {-1, {1}}, {1, {(INT64_C(1) << 40) + 1}},
	                               {4, {1 << 20, 1 << 20, 2, 1}}, {2, {INT64_MAX, INT64_MAX}}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ls_program *p = opened();
		assert_int_equal(add_op(p, "x", -1, "y", bad[i]), -1);
		expect_failure(p, LS_ERR_INPUT, "empty or too large");
	}
	ls_program *p = opened();
	assert_int_equal(add_op(p, "x", -1, "y", (ls_shape){2, {1 << 20, 1 << 20}}), 0); // the largest
	ls_program_free(p);
}

static void test_inputs_must_exist(void **state)
{
	const ls_shape shape = {1, {2}};
	for (int input = 1; input <= 2; input++) {
		ls_program *p = opened();
		add_op(p, "x", -1, "a", shape);
		assert_int_equal(add_op(p, "x", input, "b", shape), -1); // itself, or later
		expect_failure(p, LS_ERR_INTERNAL, "input 0 is value");
	}
}

static void test_counts_are_checked(void **state)
{
	ls_value v[LS_OP_OUTPUTS + 1] = {0};
	ls_op bad[] = {
		{.kind = "x", .int_count = LS_OP_INTS + 1, .output_count = 1}, {.kind = "x", .int_count = -1, .output_count = 1},
		{.kind = "x", .num_count = LS_OP_NUMS + 1, .output_count = 1}, {.kind = "x", .output_count = 0},
		{.kind = "x", .output_count = LS_OP_OUTPUTS + 1}, {.kind = "x", .input_count = -1, .output_count = 1},
		{.kind = "x", .input_count = (1 << 16) + 1, .output_count = 1},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ls_program *p = opened();
		assert_int_equal(ls_program_add_op(p, &bad[i], v), -1);
		expect_failure(p, LS_ERR_INTERNAL, "too many attributes, inputs or outputs");
	}
}

static void test_the_first_failure_stays(void **state)
{
	const ls_shape shape = {1, {2}};
	ls_program *p = opened();
	assert_int_equal(ls_program_fail(p, LS_ERR_NOT_FOUND, "first %d", 1), -1);
	assert_int_equal(ls_program_fail(p, LS_ERR_INPUT, "second"), -1);
	assert_int_equal(add_op(p, "x", -1, "y", shape), -1);
	assert_int_equal(ls_program_add_state(p, "s", &shape), -1);
	assert_int_equal(ls_program_values(p), 0);
	expect_failure(p, LS_ERR_NOT_FOUND, "first 1");
}

static void test_a_program_ends_in_commit(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_program *p = opened();
	assert_int_equal(ls_program_finish(p, &err), LS_ERR_INTERNAL);
	add_op(p, "x", -1, "y", (ls_shape){1, {2}});
	assert_int_equal(ls_program_finish(p, &err), LS_ERR_INTERNAL);
	assert_non_null(strstr(err.text, "commit"));
	add_op(p, "commit", 0, "root", (ls_shape){1, {8}});
	assert_int_equal(ls_program_finish(p, &err), LS_OK);
	ls_program_free(p);
}

static void test_many_values(void **state)
{
	ls_program *p = opened();
	char name[32];
	for (int i = 0; i < 600; i++) { // beyond several doublings
		snprintf(name, sizeof name, "v%d", i);
		assert_int_equal(add_op(p, "x", i - 1, name, (ls_shape){1, {i + 1}}), i);
	}
	for (int i = 0; i < 600; i++) {
		snprintf(name, sizeof name, "v%d", i);
		assert_string_equal(ls_program_value(p, i)->name, name);
		assert_int_equal(ls_program_value(p, i)->shape.dim[0], i + 1);
		assert_int_equal(ls_program_op(p, i)->input_count, i > 0);
		assert_int_equal(ls_program_op(p, i)->outputs[0], i);
		if (i)
			assert_int_equal(ls_program_op(p, i)->inputs[0], i - 1);
	}
	ls_program_free(p);
}

static void test_shape_text(void **state)
{
	char text[64], small[6];
	ls_shape_text(text, sizeof text, &(ls_shape){4, {32, 1, 28, 28}});
	assert_string_equal(text, "(32, 1, 28, 28)");
	ls_shape_text(text, sizeof text, &(ls_shape){0});
	assert_string_equal(text, "()");
	ls_shape_text(small, sizeof small, &(ls_shape){2, {1000, 1000}});
	assert_string_equal(small, "(1000");
	assert_int_equal(ls_shape_count(&(ls_shape){3, {2, 3, 4}}), 24);
	assert_int_equal(ls_shape_count(&(ls_shape){0}), 1);
	assert_true(ls_shape_equal(&(ls_shape){1, {2, 9}}, &(ls_shape){1, {2, 8}}));
	assert_false(ls_shape_equal(&(ls_shape){1, {2}}, &(ls_shape){2, {2, 1}}));
	assert_false(ls_shape_equal(&(ls_shape){1, {2}}, &(ls_shape){1, {3}}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record_bytes_are_pinned), cmocka_unit_test(test_digest_covers_attributes), cmocka_unit_test(test_reading),
		cmocka_unit_test(test_grids_are_checked), cmocka_unit_test(test_states_are_ascending_and_come_first),
		cmocka_unit_test(test_names_are_unique_and_given), cmocka_unit_test(test_shapes_are_sane),
		cmocka_unit_test(test_inputs_must_exist), cmocka_unit_test(test_counts_are_checked),
		cmocka_unit_test(test_the_first_failure_stays), cmocka_unit_test(test_a_program_ends_in_commit),
		cmocka_unit_test(test_many_values), cmocka_unit_test(test_shape_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
