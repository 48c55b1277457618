// Files: whole reads with a maximum, writes that leave the old or the new bytes, appends that undo a short write.
#include "base/support.h"

#include <signal.h>
#include <sys/resource.h>

static int setup(void **state)
{
	char *dir = malloc(TEST_PATH);
	scratch_make(dir);
	*state = dir;
	return 0;
}

static int teardown(void **state)
{
	scratch_remove(*state);
	free(*state);
	return 0;
}

static void test_read_whole_files_up_to_a_maximum(void **state)
{
	ls_error err = LS_ERROR_INIT;
	char path[TEST_PATH];
	uint8_t *data;
	size_t len;
	path_in(path, *state, "f");
	put_file(*state, "f", "abc\0d", 5);
	assert_ok(ls_file_read(&data, &len, path, 5, &err));
	assert_int_equal(len, 5);
	assert_memory_equal(data, "abc\0d", 6); // and a NUL after them
	ls_free(data);
	assert_int_equal(ls_file_read(&data, &len, path, 4, &err), LS_ERR_LIMIT);
	assert_null(data);
	assert_non_null(strstr(err.text, "found 5 bytes, expected at most 4"));
	put_file(*state, "empty", "", 0);
	path_in(path, *state, "empty");
	assert_ok(ls_file_read(&data, &len, path, 0, &err));
	assert_int_equal(len, 0);
	assert_int_equal(data[0], 0);
	ls_free(data);
}

static void test_read_says_what_is_wrong(void **state)
{
	ls_error err = LS_ERROR_INIT;
	char path[TEST_PATH];
	uint8_t *data;
	size_t len;
	path_in(path, *state, "missing");
	assert_int_equal(ls_file_read(&data, &len, path, 10, &err), LS_ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, path));
	assert_non_null(strstr(err.text, "hint:"));
	assert_int_equal(ls_file_read(&data, &len, *state, 1 << 20, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "not a regular file"));
	path_in(path, *state, "pipe"); // nobody writes to it: a plain open would never return
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(ls_file_read(&data, &len, path, 10, &err), LS_ERR_INPUT);
}

/* Until it is finished, a draft changes nothing; abandoned, it leaves nothing. */
static void test_drafts(void **state)
{
	ls_error err = LS_ERROR_INIT;
	char path[TEST_PATH], temporary[TEST_PATH];
	path_in(path, *state, "f");
	path_in(temporary, *state, "f.tmp");
	put_file(*state, "f", "old", 3);
	for (int finish = 0; finish < 2; finish++) {
		ls_draft *d;
		assert_ok(ls_draft_open(&d, path, &err));
		assert_ok(ls_draft_put(d, "ne", 2, &err));
		assert_ok(ls_draft_put(d, "", 0, &err));
		assert_ok(ls_draft_put(d, "wer", 3, &err));
		assert_true(file_is(*state, "f", "old", 3));
		assert_true(ls_file_exists(temporary));
		if (finish)
			assert_ok(ls_draft_finish(d, &err));
		ls_draft_free(d);
		assert_false(ls_file_exists(temporary));
	}
	assert_true(file_is(*state, "f", "newer", 5));
	ls_draft_free(NULL);
}

static void test_write_replaces_as_a_whole(void **state)
{
	ls_error err = LS_ERROR_INIT;
	char path[TEST_PATH];
	path_in(path, *state, "f");
	assert_ok(ls_file_write(path, "first", 5, &err));
	assert_true(file_is(*state, "f", "first", 5));
	assert_ok(ls_file_write(path, "second", 6, &err));
	assert_true(file_is(*state, "f", "second", 6));
	assert_false(file_is(*state, "f", "first", 5));
	path_in(path, *state, "f.tmp");
	assert_false(ls_file_exists(path));
	path_in(path, *state, "no/such/folder");
	assert_int_equal(ls_file_write(path, "x", 1, &err), LS_ERR_NOT_FOUND);
	path_in(path, *state, "dir");
	assert_ok(ls_dir_make(path, &err));
	assert_int_equal(ls_file_write(path, "x", 1, &err), LS_ERR_IO); // a folder of that name
	path_in(path, *state, "dir.tmp");
	assert_false(ls_file_exists(path)); // nothing is left behind
}

/* Room for so many bytes in any file of this process. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_a_failed_write_leaves_the_old_bytes(void **state)
{
	ls_error err = LS_ERROR_INIT;
	char path[TEST_PATH];
	uint8_t big[5000] = {1};
	ls_status status;
	path_in(path, *state, "f");
	assert_ok(ls_file_write(path, "old", 3, &err));
	limit_files(1000);
	status = ls_file_write(path, big, sizeof big, &err);
	limit_files(RLIM_INFINITY);
	assert_int_equal(status, LS_ERR_IO);
	assert_true(file_is(*state, "f", "old", 3));
	path_in(path, *state, "f.tmp");
	assert_false(ls_file_exists(path));
}

static void test_append_undoes_a_short_write(void **state)
{
	ls_error err = LS_ERROR_INIT;
	char path[TEST_PATH];
	uint8_t big[5000] = {1};
	ls_file *f;
	ls_status status;
	path_in(path, *state, "grows");
	assert_int_equal(ls_file_open(&f, path, false, &err), LS_ERR_NOT_FOUND);
	assert_null(f);
	assert_ok(ls_file_open(&f, path, true, &err));
	assert_ok(ls_file_append(f, "abc", 3, &err));
	limit_files(1000); // the system writes 997 bytes, then refuses
	status = ls_file_append(f, big, sizeof big, &err);
	limit_files(RLIM_INFINITY);
	assert_int_equal(status, LS_ERR_IO);
	assert_int_equal(ls_file_size(f), 3);
	assert_true(file_is(*state, "grows", "abc", 3));
	assert_ok(ls_file_append(f, "d", 1, &err));
	assert_ok(ls_file_append(f, NULL, 0, &err));
	assert_ok(ls_file_sync(f, &err));
	assert_true(file_is(*state, "grows", "abcd", 4));
	ls_file_close(f);
	ls_file_close(NULL);
}

static void test_read_at_stays_inside(void **state)
{
	ls_error err = LS_ERROR_INIT;
	char path[TEST_PATH];
	uint8_t out[8] = {0};
	ls_file *f;
	put_file(*state, "f", "0123456789", 10);
	path_in(path, *state, "f");
	assert_ok(ls_file_open(&f, path, false, &err));
	assert_int_equal(ls_file_size(f), 10);
	assert_ok(ls_file_read_at(f, 7, out, 3, &err));
	assert_memory_equal(out, "789", 3);
	assert_ok(ls_file_read_at(f, 10, out, 0, &err));
	assert_int_equal(ls_file_read_at(f, 7, out, 4, &err), LS_ERR_INPUT);
	assert_int_equal(ls_file_read_at(f, 11, out, 0, &err), LS_ERR_INPUT);
	assert_int_equal(ls_file_read_at(f, UINT64_MAX, out, 2, &err), LS_ERR_INPUT); // no wrap-around
	put_file(*state, "f", "012", 3); // somebody else cuts it
	assert_int_equal(ls_file_read_at(f, 2, out, 4, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "shorter"));
	assert_ok(ls_file_truncate(f, 2, &err));
	assert_int_equal(ls_file_size(f), 2);
	ls_file_close(f);
	assert_true(file_is(*state, "f", "01", 2));
	assert_int_equal(ls_file_open(&f, *state, false, &err), LS_ERR_INPUT); // a folder
	assert_null(f);
}

static void test_folders_and_paths(void **state)
{
	ls_error err = LS_ERROR_INIT;
	char path[TEST_PATH], joined[12];
	path_in(path, *state, "sub");
	assert_ok(ls_dir_make(path, &err));
	assert_ok(ls_dir_make(path, &err)); // being there is fine
	put_file(*state, "file", "", 0);
	path_in(path, *state, "file");
	assert_int_not_equal(ls_dir_make(path, &err), LS_OK);
	path_in(path, *state, "a/b");
	assert_int_equal(ls_dir_make(path, &err), LS_ERR_NOT_FOUND);
	assert_ok(ls_path_join(joined, sizeof joined, "run", "leaves", &err));
	assert_string_equal(joined, "run/leaves");
	assert_ok(ls_path_join(joined, sizeof joined, "/", "leaves", &err));
	assert_string_equal(joined, "/leaves");
	assert_ok(ls_path_join(joined, sizeof joined, "runs", "leaves", &err)); // 11 characters
	assert_int_equal(ls_path_join(joined, sizeof joined, "run12", "leaves", &err), LS_ERR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read_whole_files_up_to_a_maximum, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_says_what_is_wrong, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drafts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_write_replaces_as_a_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_failed_write_leaves_the_old_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_append_undoes_a_short_write, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_at_stays_inside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_folders_and_paths, setup, teardown),
	};
	signal(SIGXFSZ, SIG_IGN); // or the limit would end the process
	return cmocka_run_group_tests(tests, NULL, NULL);
}
