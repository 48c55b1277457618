/* Bodies of a service's answers: what is read from good ones, and that others are refused. */
#include <lockstep/remote.h>

#include "base/support.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static ls_status runs(const char *text, size_t *count)
{
	char ids[2][LS_HASH_HEX_SIZE];
	ls_status status = ls_remote_parse_runs(ids, 2, count, text, strlen(text), NULL);
	if (status == LS_OK && *count)
		assert_string_equal(ids[0], ID);
	return status;
}

static void lists_of_runs(void **state)
{
	static const char *const bad[] = {
		"", "{}", "[]", "null", "{\"runs\": {}}", "{\"runs\": [1]}", "{\"runs\": [{}]}", "{\"runs\": [{\"run\": 1}]}", "{\"runs\": [{\"run\": \"ab\"}]}",
		"{\"runs\": [{\"run\": \"" ID "0\"}]}", "{\"runs\": [{\"run\": \"0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\"}]}",
		"{\"runs\": [{\"run\": \"" ID "\"}]} x", "{\"runs\": [], \"runs\": []}",
		"{\"runs\": [{\"run\": \"" ID "\"}, {\"run\": \"" ID "\"}, {\"run\": \"" ID "\"}]}", // more than there is room for
	};
	size_t count;
	assert_int_equal(runs("{\"runs\": []}", &count), LS_OK);
	assert_int_equal(count, 0);
	assert_int_equal(runs("{\"runs\": [{\"run\": \"" ID "\", \"more\": 1}]}", &count), LS_OK);
	assert_int_equal(count, 1);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (runs(bad[i], &count) != LS_ERR_INPUT)
			fail_msg("accepted: %s", bad[i]);
}

static void states(void **state)
{
	static const char *const bad[] = {"", "1", "{}", "{\"being_written\": 1, \"written_step\": 1}", "{\"being_written\": true, \"written_step\": -1}",
	                                  "{\"being_written\": true, \"written_step\": 1.5}", "{\"being_written\": true, \"written_step\": 99999999999999999999}",
	                                  "{\"written_step\": 1}", "{\"being_written\": true}"};
	const char *good = "{\"being_written\": true, \"written_step\": 12, \"x\": []}";
	bool written = false;
	uint64_t step = 0;
	assert_int_equal(ls_remote_parse_status(&written, &step, good, strlen(good), NULL), LS_OK);
	assert_true(written);
	assert_int_equal(step, 12);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (ls_remote_parse_status(&written, &step, bad[i], strlen(bad[i]), NULL) != LS_ERR_INPUT)
			fail_msg("accepted: %s", bad[i]);
}

static void lists_of_steps(void **state)
{
	static const char *const bad[] = {"1", "\n", "1\n1\n", "2\n1\n", "01\n", "1\n\n2\n", "-1\n", "1 \n", "18446744073709551616\n", "1\n2\n3\n4\n", "1\r\n"};
	uint64_t *steps;
	size_t count;
	assert_int_equal(ls_remote_parse_steps(&steps, &count, 3, "", 0, NULL), LS_OK);
	assert_int_equal(count, 0);
	ls_free(steps);
	assert_int_equal(ls_remote_parse_steps(&steps, &count, 3, "0\n7\n18446744073709551615\n", 25, NULL), LS_OK);
	assert_int_equal(count, 3);
	assert_true(steps[0] == 0 && steps[1] == 7 && steps[2] == UINT64_MAX);
	ls_free(steps);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (ls_remote_parse_steps(&steps, &count, 3, bad[i], strlen(bad[i]), NULL) != LS_ERR_INPUT || steps)
			fail_msg("accepted: %s", bad[i]);
	assert_int_equal(ls_remote_parse_steps(&steps, &count, 3, "1\0\n", 3, NULL), LS_ERR_INPUT);
}

static void put_head(ls_buf *b, uint64_t size, uint32_t len)
{
	ls_buf_u64(b, size);
	ls_buf_u32(b, len);
	for (uint32_t i = 0; i < len; i++)
		ls_buf_u8(b, 'h');
}

static void heads(void **state)
{
	ls_buf b;
	ls_cursor in;
	uint64_t size;
	const uint8_t *text;
	size_t len;
	ls_buf_init(&b, 4096);
	put_head(&b, 1, 3);
	put_head(&b, 9, LS_REMOTE_HEAD_MAX);
	in = ls_cursor_over(b.data, b.len);
	assert_true(ls_remote_next_head(&in, 0, &size, &text, &len) && size == 1 && len == 3);
	assert_true(ls_remote_next_head(&in, 1, &size, &text, &len) && size == 9 && len == LS_REMOTE_HEAD_MAX);
	assert_false(ls_remote_next_head(&in, 9, &size, &text, &len));
	assert_false(in.failed);
	in = ls_cursor_over(b.data, b.len - 1); // cut
	assert_true(ls_remote_next_head(&in, 0, &size, &text, &len));
	assert_false(ls_remote_next_head(&in, 1, &size, &text, &len));
	assert_true(in.failed);
	in = ls_cursor_over(b.data, b.len); // not above
	assert_false(ls_remote_next_head(&in, 1, &size, &text, &len));
	assert_true(in.failed);
	ls_buf_reset(&b);
	put_head(&b, 1, LS_REMOTE_HEAD_MAX + 1);
	in = ls_cursor_over(b.data, b.len);
	assert_false(ls_remote_next_head(&in, 0, &size, &text, &len));
	assert_true(in.failed);
	ls_buf_free(&b);
}

static void leaves(void **state)
{
	uint8_t data[3 * (4 + LS_LEAF_BYTES_MAX)] = {0};
	size_t end;
	for (int i = 0; i < 3; i++)
		ls_put_le32(data + i * (4 + LS_LEAF_BYTES_MAX), LS_LEAF_BYTES_MAX);
	assert_int_equal(ls_remote_count_leaves(data, sizeof data, &end), 3);
	assert_int_equal(end, sizeof data);
	assert_int_equal(ls_remote_count_leaves(data, sizeof data - 1, &end), 2);
	assert_int_equal(end, 2 * (4 + LS_LEAF_BYTES_MAX));
	ls_put_le32(data, LS_LEAF_BYTES_MAX + 1);
	assert_int_equal(ls_remote_count_leaves(data, sizeof data, &end), 0);
	ls_put_le32(data, UINT32_MAX);
	assert_int_equal(ls_remote_count_leaves(data, sizeof data, &end), 0);
	ls_put_le32(data, 0);
	assert_int_equal(ls_remote_count_leaves(data, sizeof data, &end), 0);
	assert_int_equal(ls_remote_count_leaves(data, 0, &end), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_runs),
		cmocka_unit_test(states),
		cmocka_unit_test(lists_of_steps),
		cmocka_unit_test(heads),
		cmocka_unit_test(leaves),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
