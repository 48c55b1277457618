/* A folder per test and what tests of loaders share. */
#ifndef LS_TEST_DATA_CASES_H
#define LS_TEST_DATA_CASES_H

#include <lockstep/data.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <dirent.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

static inline int enter(void **state)
{
	char *dir = strdup("/tmp/lockstep-data-XXXXXX");
	*state = dir;
	return dir && mkdtemp(dir) ? 0 : -1;
}

static inline void file_in(char *path, const char *dir, const char *name)
{
	assert_int_equal(ls_path_join(path, LS_PATH_MAX, dir, name, NULL), LS_OK);
}

static inline void drop(const char *dir, const char *name)
{
	char path[LS_PATH_MAX];
	file_in(path, dir, name);
	assert_int_equal(unlink(path), 0);
}

static inline int leave(void **state)
{
	struct dirent *entry;
	DIR *d = opendir(*state);
	int failed;
	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			drop(*state, entry->d_name);
	if (d)
		closedir(d);
	failed = rmdir(*state);
	free(*state);
	return failed;
}

static inline void put(const char *dir, const char *name, const void *data, size_t len)
{
	char path[LS_PATH_MAX];
	FILE *f;
	file_in(path, dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline void put_gz(const char *dir, const char *name, const void *data, size_t len)
{
	char path[LS_PATH_MAX];
	gzFile f;
	file_in(path, dir, name);
	f = gzopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(gzwrite(f, data, (unsigned)len), (int)len);
	assert_int_equal(gzclose(f), Z_OK);
}

/* Options for that folder; the tests set what else they mean. */
static inline ls_dataset_options options_for(const char *format, const char *dir)
{
	ls_dataset_options o = LS_DATASET_OPTIONS_INIT;
	o.format = format;
	o.path = dir;
	return o;
}

static inline ls_dataset *opened(const ls_dataset_options *o)
{
	ls_error err = LS_ERROR_INIT;
	ls_dataset *ds;
	if (ls_dataset_open(&ds, o, &err) != LS_OK)
		fail_msg("%s", err.text);
	return ds;
}

static inline ls_hash root_of(const ls_dataset_options *o)
{
	ls_dataset *ds = opened(o);
	ls_hash root;
	assert_int_equal(ls_dataset_root(ds, &root), LS_OK);
	ls_dataset_free(ds);
	return root;
}

/* The call must fail with `status`, leave nothing, and say all of the words. */
static inline void refuses(const ls_dataset_options *o, ls_status status, const char *const *words)
{
	ls_error err = LS_ERROR_INIT;
	ls_dataset *ds = (ls_dataset *)(uintptr_t)o;
	ls_status got = ls_dataset_open(&ds, o, &err);
	for (const char *const *word = words; *word; word++)
		if (!strstr(err.text, *word))
			fail_msg("\"%s\" is missing in: %s", *word, err.text);
	assert_int_equal(got, status);
	assert_null(ds);
	assert_int_equal(err.status, status);
}

#define REFUSES(o, status, ...) refuses(o, status, (const char *const[]){__VA_ARGS__, NULL})

#endif
