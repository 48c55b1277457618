// Buffers with a maximum, cursors with an end, hex, and the text of complaints.
#include "base/support.h"

static void test_buffer_writes_little_endian(void **state)
{
	static const uint8_t expected[] = {1, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 8, 7, 6, 5, 4, 3, 2, 1,
	                                   0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 2, 0, 0, 0, 'h', 'i', '4', '2'};
	ls_buf b;
	ls_buf_init(&b, 1000);
	ls_buf_u8(&b, 1);
	ls_buf_u16(&b, 0x1234);
	ls_buf_u32(&b, 0x12345678);
	ls_buf_u64(&b, UINT64_C(0x0102030405060708));
	ls_buf_f64(&b, 1.0);
	ls_buf_str(&b, "hi");
	ls_buf_printf(&b, "%d", 42);
	assert_int_equal(b.status, LS_OK);
	assert_int_equal(b.len, sizeof expected);
	assert_memory_equal(b.data, expected, sizeof expected);
	b.data[3] ^= 1;
	assert_memory_not_equal(b.data, expected, sizeof expected);
	ls_buf_free(&b);
}

static void test_buffer_limit_is_exact_and_sticky(void **state)
{
	ls_buf b;
	ls_buf_init(&b, 8);
	ls_buf_u64(&b, 7);
	assert_int_equal(b.status, LS_OK); // exactly full
	ls_buf_bytes(&b, "", 0);
	assert_int_equal(b.status, LS_OK);
	ls_buf_u8(&b, 1);
	assert_int_equal(b.status, LS_ERR_LIMIT);
	assert_int_equal(b.len, 8);
	ls_buf_reset(&b);
	assert_int_equal(b.status, LS_OK);
	ls_buf_bytes(&b, "1234", 4);
	ls_buf_bytes(&b, "too much", SIZE_MAX); // must not wrap around
	assert_int_equal(b.status, LS_ERR_LIMIT);
	ls_buf_u8(&b, 1); // would fit, but the first failure stays
	assert_int_equal(b.status, LS_ERR_LIMIT);
	assert_int_equal(b.len, 4);
	ls_buf_free(&b);
}

static void test_buffer_grows_and_keeps_its_bytes(void **state)
{
	ls_buf b;
	ls_buf_init(&b, 100000);
	for (uint32_t i = 0; i < 25000; i++)
		ls_buf_u32(&b, i * 2654435761u);
	assert_int_equal(b.status, LS_OK);
	assert_int_equal(b.len, 100000);
	for (uint32_t i = 0; i < 25000; i++)
		assert_int_equal(ls_get_le32(b.data + 4 * i), i * 2654435761u);
	ls_buf_u8(&b, 0);
	assert_int_equal(b.status, LS_ERR_LIMIT);
	ls_buf_free(&b);
	assert_null(b.data);
	ls_buf_free(&b); // twice does no harm
}

static void test_cursor_never_passes_the_end(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	ls_cursor c = ls_cursor_over(bytes, sizeof bytes);
	assert_int_equal(ls_cursor_u8(&c), 1);
	assert_int_equal(ls_cursor_u16(&c), 0x0302);
	assert_int_equal(ls_cursor_u32(&c), 0x07060504);
	assert_false(ls_cursor_done(&c));
	assert_int_equal(ls_cursor_u64(&c), UINT64_C(0x0f0e0d0c0b0a0908));
	assert_true(ls_cursor_done(&c));
	assert_int_equal(ls_cursor_u8(&c), 0);
	assert_true(c.failed);
	assert_false(ls_cursor_done(&c));
	for (size_t len = 0; len < 8; len++) { // one byte too few for a u64, and everything after fails, too
		c = ls_cursor_over(bytes, len);
		assert_int_equal(ls_cursor_u64(&c), 0);
		assert_true(c.failed);
		assert_null(ls_cursor_take(&c, 0));
		assert_int_equal(c.pos, 0);
	}
	c = ls_cursor_over(bytes, sizeof bytes);
	assert_null(ls_cursor_take(&c, SIZE_MAX));
}

static void read_string(const void *bytes, size_t len, size_t room, const char *expected)
{
	char out[16] = "unchanged";
	ls_cursor c = ls_cursor_over(bytes, len);
	ls_cursor_str(&c, out, room);
	assert_int_equal(c.failed, expected == NULL);
	assert_string_equal(out, expected ? expected : "");
}

static void test_cursor_strings(void **state)
{
	read_string("\3\0\0\0abc", 7, 4, "abc");
	read_string("\3\0\0\0abc", 7, 3, NULL);    // no room for the NUL
	read_string("\3\0\0\0ab", 6, 16, NULL);    // cut short
	read_string("\3\0\0\0a\0c", 7, 16, NULL);  // a NUL inside
	read_string("\xff\xff\xff\xff" "abc", 7, 16, NULL);
	read_string("\0\0\0\0", 4, 1, "");
	read_string("\0\0\0", 3, 16, NULL);
}

static void test_numbers_round_trip(void **state)
{
	static const uint64_t bits[] = {0, 1, UINT64_C(0x8000000000000000), UINT64_C(0x7ff8000000000001), UINT64_C(0x3ff0000000000000),
	                                UINT64_MAX};
	ls_buf b;
	ls_buf_init(&b, 1000);
	for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
		ls_buf_f64(&b, ls_f64_bits(bits[i]));
	ls_cursor c = ls_cursor_over(b.data, b.len);
	for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
		assert_int_equal(ls_bits_f64(ls_cursor_f64(&c)), bits[i]);
	assert_true(ls_cursor_done(&c));
	ls_buf_free(&b);
}

static void test_hex(void **state)
{
	uint8_t all[256], back[256];
	char text[513];
	for (int i = 0; i < 256; i++)
		all[i] = (uint8_t)i;
	ls_hex(text, all, 256);
	assert_int_equal(strlen(text), 512);
	assert_memory_equal(text + 2 * 0xab, "ab", 2);
	assert_true(ls_unhex(back, 256, text));
	assert_memory_equal(all, back, 256);
	text[17] = text[17] == '0' ? '1' : '0';
	assert_true(ls_unhex(back, 256, text));
	assert_memory_not_equal(all, back, 256);
	assert_true(ls_unhex(back, 2, "aBC9"));
	assert_int_equal(back[0], 0xab);
	assert_false(ls_unhex(back, 2, "abc"));
	assert_false(ls_unhex(back, 2, "abcd0"));
	assert_false(ls_unhex(back, 2, "abcg"));
	assert_false(ls_unhex(back, 2, "ab c"));
	assert_false(ls_unhex(back, 2, "0xab"));
	assert_true(ls_unhex(back, 0, ""));
}

static void test_complaints_have_one_form(void **state)
{
	ls_error err = LS_ERROR_INIT;
	char long_text[3000];
	assert_int_equal(ls_error_input(&err, "job.yaml", "line 3", "'x'", "a number", "write 3"), LS_ERR_INPUT);
	assert_string_equal(err.text, "job.yaml: line 3: found 'x', expected a number\n  hint: write 3");
	assert_int_equal(err.status, LS_ERR_INPUT);
	ls_error_input(&err, "job.yaml", NULL, NULL, "a number", NULL);
	assert_string_equal(err.text, "job.yaml: expected a number");
	ls_error_input(&err, NULL, "line 3", "'x'", NULL, NULL);
	assert_string_equal(err.text, "line 3: found 'x'");
	assert_int_equal(ls_error_input(NULL, "a", "b", "c", "d", "e"), LS_ERR_INPUT);
	memset(long_text, 'y', sizeof long_text - 1);
	long_text[sizeof long_text - 1] = 0;
	ls_error_input(&err, "f", "p", long_text, long_text, long_text);
	assert_int_equal(strlen(err.text), LS_ERROR_TEXT_MAX - 1);
	assert_int_equal(ls_error_set(&err, LS_ERR_FULL, "%s", long_text), LS_ERR_FULL);
	assert_int_equal(strlen(err.text), LS_ERROR_TEXT_MAX - 1);
	assert_int_equal(ls_error_set(NULL, LS_ERR_FULL, "%d", 1), LS_ERR_FULL);
}

static void test_every_status_has_its_own_text(void **state)
{
	static const ls_status all[] = {LS_OK, LS_ERR_USAGE, LS_ERR_INPUT, LS_ERR_LIMIT, LS_ERR_EXISTS, LS_ERR_NOT_FOUND, LS_ERR_IO,
	                                LS_ERR_FULL, LS_ERR_NOMEM, LS_ERR_UNSUPPORTED, LS_ERR_NONCONFORMING, LS_ERR_INTERNAL};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(ls_status_text(all[i]), ls_status_text(all[j]));
	assert_string_equal(ls_status_text((ls_status)12345), "unknown status");
}

static void test_memory(void **state)
{
	uint8_t *p = ls_alloc(3, 5);
	assert_non_null(p);
	assert_int_equal((uintptr_t)p % 64, 0);
	for (int i = 0; i < 15; i++)
		assert_int_equal(p[i], 0);
	ls_free(p);
	p = ls_alloc(0, 8);
	assert_non_null(p);
	ls_free(p);
	assert_null(ls_alloc(SIZE_MAX / 4, 8)); // the product overflows
	assert_null(ls_alloc(SIZE_MAX, 1));
	char *s = ls_strdup("abc");
	assert_string_equal(s, "abc");
	ls_free(s);
	ls_free(NULL);
}

static void test_edit_distance(void **state)
{
	static const struct {
		const char *a, *b;
		size_t edits;
	} cases[] = {
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"ab", "ba", 2}, {"same", "same", 0},
	};
	char long_a[200], long_b[200];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(ls_edit_distance(cases[i].a, cases[i].b), cases[i].edits);
	memset(long_a, 'x', sizeof long_a);
	memset(long_b, 'x', sizeof long_b);
	long_a[199] = long_b[199] = 0;
	long_a[100] = 'y';
	assert_int_equal(ls_edit_distance(long_a, long_b), 0); // beyond what counts
	long_a[LS_EDIT_MAX - 1] = 'y';
	assert_int_equal(ls_edit_distance(long_a, long_b), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edit_distance),
		cmocka_unit_test(test_buffer_writes_little_endian), cmocka_unit_test(test_buffer_limit_is_exact_and_sticky),
		cmocka_unit_test(test_buffer_grows_and_keeps_its_bytes), cmocka_unit_test(test_cursor_never_passes_the_end),
		cmocka_unit_test(test_cursor_strings), cmocka_unit_test(test_numbers_round_trip), cmocka_unit_test(test_hex),
		cmocka_unit_test(test_complaints_have_one_form), cmocka_unit_test(test_every_status_has_its_own_text),
		cmocka_unit_test(test_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
