/* What most tests start from: cmocka with its headers, scratch folders, and whole files read and written without the code
 * under test.
 */
#ifndef LS_TEST_BASE_SUPPORT_H
#define LS_TEST_BASE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <lockstep/base.h>

#define TEST_PATH 512

/* Says why before it stops. */
#define assert_ok(call)                                                                                                \
	do {                                                                                                               \
		ls_status ok_status = (call);                                                                                  \
		if (ok_status != LS_OK)                                                                                        \
			print_message("%s: %s: %s\n", #call, ls_status_text(ok_status), err.text);                                 \
		assert_int_equal(ok_status, LS_OK);                                                                            \
	} while (0)

/* A new, empty folder below $TMPDIR; without that, in memory where the system offers it, since tests sync a lot. */
static inline void scratch_make(char out[TEST_PATH])
{
	const char *base = getenv("TMPDIR");
	if (!base || !base[0])
		base = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(out, TEST_PATH, "%s/lockstep-test-XXXXXX", base);
	assert_non_null(mkdtemp(out));
}

/* Removes a file, or a folder with all that is in it. */
static inline void scratch_remove(const char *path)
{
	struct stat st;
	if (lstat(path, &st))
		return;
	if (S_ISDIR(st.st_mode)) {
		DIR *d = opendir(path);
		struct dirent *entry;
		while (d && (entry = readdir(d))) {
			char inner[2 * TEST_PATH];
			if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
				continue;
			if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner)
				scratch_remove(inner);
		}
		if (d)
			closedir(d);
		rmdir(path);
	} else {
		unlink(path);
	}
}

static inline void path_in(char out[TEST_PATH], const char *dir, const char *name)
{
	assert_true(snprintf(out, TEST_PATH, "%s/%s", dir, name) < TEST_PATH);
}

/* Overwrites in place: links to the file see the change, and no half-written copy stays behind. */
static inline void put_file(const char *dir, const char *name, const void *data, size_t len)
{
	char path[TEST_PATH];
	FILE *f;
	path_in(path, dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* NULL where there is no such file; the caller frees. */
static inline uint8_t *get_file(const char *dir, const char *name, size_t *len)
{
	char path[TEST_PATH];
	uint8_t *data;
	FILE *f;
	path_in(path, dir, name);
	f = fopen(path, "rb");
	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	*len = (size_t)ftell(f);
	rewind(f);
	data = malloc(*len + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, *len, f), *len);
	data[*len] = 0;
	fclose(f);
	return data;
}

static inline bool file_is(const char *dir, const char *name, const void *data, size_t len)
{
	size_t found = 0;
	uint8_t *bytes = get_file(dir, name, &found);
	bool same = bytes && found == len && !memcmp(bytes, data, len);
	free(bytes);
	return same;
}

#endif
