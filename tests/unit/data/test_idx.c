#include <lockstep/data.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#define IMAGES "train-images-idx3-ubyte"
#define LABELS "train-labels-idx1-ubyte"
#define N 5 /* images of 2 × 3 */

static const uint8_t images[16 + N * 6] = {
	0, 0, 8, 3, 0, 0, 0, N, 0, 0, 0, 2, 0, 0, 0, 3,
	1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16, 21, 22, 23, 24, 25, 26, 31, 32, 33, 34, 35, 36, 41, 42, 43, 44, 45, 255,
};
static const uint8_t labels[8 + N] = {0, 0, 8, 1, 0, 0, 0, N, 3, 0, 1, 255, 2};

/* ---- a folder per test ---- */

static int enter(void **state)
{
	char *dir = strdup("/tmp/lockstep-idx-XXXXXX");
	*state = dir;
	return dir && mkdtemp(dir) ? 0 : -1;
}

static void file_in(char *path, const char *dir, const char *name)
{
	assert_int_equal(ls_path_join(path, LS_PATH_MAX, dir, name, NULL), LS_OK);
}

static int leave(void **state)
{
	static const char *const names[] = {IMAGES, IMAGES ".gz", LABELS, LABELS ".gz", "t10k-images-idx3-ubyte",
	                                    "t10k-labels-idx1-ubyte"};
	char path[LS_PATH_MAX];
	int failed;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		file_in(path, *state, names[i]);
		if (unlink(path))
			rmdir(path);
	}
	failed = rmdir(*state);
	free(*state);
	return failed;
}

static void put(const char *dir, const char *name, const void *data, size_t len)
{
	char path[LS_PATH_MAX];
	FILE *f;
	file_in(path, dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static size_t gzipped(uint8_t *out, size_t room, const void *data, size_t len)
{
	z_stream z = {0};
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)len;
	z.next_out = out;
	z.avail_out = (uInt)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	len = z.total_out;
	deflateEnd(&z);
	return len;
}

static void put_gz(const char *dir, const char *name, const void *data, size_t len)
{
	uint8_t out[1024];
	put(dir, name, out, gzipped(out, sizeof out, data, len));
}

static ls_dataset *open_good(const char *dir, int64_t limit)
{
	ls_dataset_options o = LS_DATASET_OPTIONS_INIT;
	ls_error err = LS_ERROR_INIT;
	ls_dataset *ds;
	o.path = dir;
	o.limit = limit;
	if (ls_dataset_open(&ds, &o, &err) != LS_OK)
		fail_msg("%s", err.text);
	return ds;
}

/* The call must fail with `status`, leave nothing, and say all of the words. */
static void refuses(const char *dir, int64_t limit, ls_status status, const char *const *words)
{
	ls_dataset_options o = LS_DATASET_OPTIONS_INIT;
	ls_error err = LS_ERROR_INIT;
	ls_dataset *ds = (ls_dataset *)(uintptr_t)dir;
	o.path = dir;
	o.limit = limit;
	assert_int_equal(ls_dataset_open(&ds, &o, &err), status);
	assert_null(ds);
	assert_int_equal(err.status, status);
	for (; *words; words++)
		if (!strstr(err.text, *words))
			fail_msg("\"%s\" is missing in: %s", *words, err.text);
}

#define REFUSES(dir, status, ...) refuses(dir, 0, status, (const char *const[]){__VA_ARGS__, NULL})

static void root_of(ls_hash *out, const char *dir, int64_t limit)
{
	ls_dataset *ds = open_good(dir, limit);
	assert_int_equal(ls_dataset_root(ds, out), LS_OK);
	ls_dataset_free(ds);
}

/* ---- what is read ---- */

static void reads_what_was_written(void **state)
{
	int64_t shape[3];
	ls_dataset *ds;
	put(*state, IMAGES, images, sizeof images);
	put(*state, LABELS, labels, sizeof labels);
	ds = open_good(*state, 0);
	assert_int_equal(ls_dataset_count(ds), N);
	assert_string_equal(ls_dataset_format(ds), "idx");
	ls_dataset_shape(ds, shape);
	assert_int_equal(shape[0], 1);
	assert_int_equal(shape[1], 2);
	assert_int_equal(shape[2], 3);
	assert_int_equal(ls_dataset_classes(ds), 256);
	for (int i = 0; i < N; i++) {
		assert_memory_equal(ls_dataset_sample(ds, i), images + 16 + 6 * i, 6);
		assert_int_equal(ls_dataset_label(ds, i), labels[8 + i]);
	}
	assert_memory_not_equal(ls_dataset_sample(ds, 0), ls_dataset_sample(ds, 1), 6);
	ls_dataset_free(ds);
	ls_dataset_free(NULL);
}

static void test_split_has_its_own_files(void **state)
{
	ls_dataset_options o = LS_DATASET_OPTIONS_INIT;
	ls_dataset *ds;
	put(*state, "t10k-images-idx3-ubyte", images, sizeof images);
	put(*state, "t10k-labels-idx1-ubyte", labels, sizeof labels);
	REFUSES(*state, LS_ERR_NOT_FOUND, IMAGES, "hint");
	o.path = *state;
	o.split = "test";
	assert_int_equal(ls_dataset_open(&ds, &o, NULL), LS_OK);
	assert_int_equal(ls_dataset_count(ds), N);
	ls_dataset_free(ds);
}

static void gzip_gives_the_same_root(void **state)
{
	ls_hash plain, packed, changed;
	uint8_t other[sizeof images];
	put(*state, IMAGES, images, sizeof images);
	put(*state, LABELS, labels, sizeof labels);
	root_of(&plain, *state, 0);
	assert_int_equal(leave(state), 0);
	assert_int_equal(enter(state), 0);
	put_gz(*state, IMAGES ".gz", images, sizeof images);
	put_gz(*state, LABELS ".gz", labels, sizeof labels);
	root_of(&packed, *state, 0);
	assert_memory_equal(plain.byte, packed.byte, 32);
	memcpy(other, images, sizeof other);
	other[sizeof other - 1] ^= 1;
	put(*state, IMAGES, other, sizeof other); // a plain file wins
	root_of(&changed, *state, 0);
	assert_memory_not_equal(plain.byte, changed.byte, 32);
	root_of(&changed, *state, 4); // without the changed last image
	root_of(&plain, *state, 5);
	assert_memory_not_equal(plain.byte, changed.byte, 32);
}

static void root_is_that_of_the_bytes(void **state)
{
	const int64_t shape[3] = {1, 2, 3};
	const ls_data_part parts[2] = {{"images", images + 16, N * 6}, {"labels", labels + 8, N}};
	ls_hash got, want;
	ls_hasher *h;
	put(*state, IMAGES, images, sizeof images);
	put(*state, LABELS, labels, sizeof labels);
	root_of(&got, *state, 0);
	assert_int_equal(ls_hasher_open(&h, 1, NULL), LS_OK);
	assert_int_equal(ls_data_root(&want, "idx", N, shape, 3, parts, 2, h), LS_OK);
	assert_memory_equal(got.byte, want.byte, 32);
	assert_int_equal(ls_data_root(&want, "idx", N, (const int64_t[]){1, 3, 2}, 3, parts, 2, h), LS_OK);
	assert_memory_not_equal(got.byte, want.byte, 32);
	ls_hasher_free(h);
}

static void limit_takes_the_first(void **state)
{
	uint8_t shorter[16 + 2 * 6], few[8 + 2];
	ls_hash limited, alone, all;
	ls_dataset *ds;
	put(*state, IMAGES, images, sizeof images);
	put_gz(*state, LABELS ".gz", labels, sizeof labels);
	ds = open_good(*state, 2);
	assert_int_equal(ls_dataset_count(ds), 2);
	assert_int_equal(ls_dataset_classes(ds), 4);
	assert_memory_equal(ls_dataset_sample(ds, 1), images + 22, 6);
	ls_dataset_free(ds);
	root_of(&limited, *state, 2);
	root_of(&all, *state, 0);
	refuses(*state, 6, LS_ERR_INPUT,
	        (const char *const[]){IMAGES ": byte 4", "found 5 samples", "data.limit, 6", NULL});
	memcpy(shorter, images, sizeof shorter);
	memcpy(few, labels, sizeof few);
	shorter[7] = few[7] = 2;
	put(*state, IMAGES, shorter, sizeof shorter);
	put(*state, LABELS, few, sizeof few);
	root_of(&alone, *state, 0);
	assert_memory_equal(limited.byte, alone.byte, 32);
	assert_memory_not_equal(limited.byte, all.byte, 32);
}

/* ---- what is refused ---- */

static void missing_files(void **state)
{
	char path[LS_PATH_MAX];
	REFUSES(*state, LS_ERR_NOT_FOUND, IMAGES, "hint: ", *state);
	put(*state, IMAGES, images, sizeof images);
	REFUSES(*state, LS_ERR_NOT_FOUND, LABELS);
	file_in(path, *state, LABELS);
	assert_int_equal(mkdir(path, 0700), 0);
	REFUSES(*state, LS_ERR_INPUT, LABELS, "a regular file");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	REFUSES(*state, LS_ERR_INPUT, LABELS, "a regular file");
	assert_int_equal(unlink(path), 0);
	put(*state, LABELS, labels, sizeof labels);
	ls_dataset_free(open_good(*state, 0));
}

static void every_shorter_file(void **state)
{
	put(*state, LABELS, labels, sizeof labels);
	for (size_t len = 0; len < sizeof images; len++) {
		put(*state, IMAGES, images, len);
		REFUSES(*state, LS_ERR_INPUT, IMAGES, "byte ", "the end of the data", "more bytes of");
	}
	put(*state, IMAGES, images, 40);
	REFUSES(*state, LS_ERR_INPUT, "byte 40: found the end of the data, expected 6 more bytes of images");
	put(*state, IMAGES, images, sizeof images);
	for (size_t len = 0; len < sizeof labels; len++) {
		put(*state, LABELS, labels, len);
		REFUSES(*state, LS_ERR_INPUT, LABELS, "byte ", "the end of the data");
	}
}

static void trailing_bytes(void **state)
{
	uint8_t longer[sizeof images + 1] = {0};
	put(*state, IMAGES, images, sizeof images);
	memcpy(longer, labels, sizeof labels);
	put(*state, LABELS, longer, sizeof labels + 1);
	REFUSES(*state, LS_ERR_INPUT, LABELS ": byte 13: found trailing bytes");
	ls_dataset_free(open_good(*state, 4)); // nothing is said about what a limit leaves unread
	put(*state, LABELS, labels, sizeof labels);
	memcpy(longer, images, sizeof images);
	put(*state, IMAGES, longer, sizeof longer);
	REFUSES(*state, LS_ERR_INPUT, IMAGES ": byte 46: found trailing bytes");
}

static void change_header(const char *dir, size_t at, uint8_t to, const char *place, const char *found)
{
	uint8_t other[sizeof images];
	memcpy(other, images, sizeof other);
	other[at] = to;
	put(dir, IMAGES, other, sizeof other);
	REFUSES(dir, LS_ERR_INPUT, IMAGES, place, found);
}

static void wrong_headers(void **state)
{
	uint8_t other[sizeof labels];
	put(*state, LABELS, labels, sizeof labels);
	change_header(*state, 0, 1, "byte 0", "found 01 00 08 03, expected 00 00 08 03");
	change_header(*state, 2, 0x0c, "byte 0", "found 00 00 0c 03"); // int32 elements
	change_header(*state, 3, 1, "byte 0", "found 00 00 08 01");
	change_header(*state, 7, 0, "byte 4:", "a dimension of 0");
	change_header(*state, 11, 0, "byte 8", "a dimension of 0");
	change_header(*state, 9, 2, "byte 8", "131074 × 3");
	change_header(*state, 12, 255, "byte 12", "2 × 4278190083");
	put(*state, IMAGES, images, sizeof images);
	memcpy(other, labels, sizeof other);
	other[3] = 3;
	put(*state, LABELS, other, sizeof other);
	REFUSES(*state, LS_ERR_INPUT, LABELS ": byte 0: found 00 00 08 03, expected 00 00 08 01");
	other[3] = 1;
	other[7] = N - 1;
	put(*state, LABELS, other, sizeof other);
	REFUSES(*state, LS_ERR_INPUT, LABELS ": byte 4: found 4 labels, expected 5, one per image");
}

static void more_than_memory_holds(void **state)
{
	static const uint8_t many[16] = {0, 0, 8, 3, 255, 255, 255, 255, 0, 1, 0, 0, 0, 1, 0, 0};
	static const uint8_t many_labels[8] = {0, 0, 8, 1, 255, 255, 255, 255};
	put(*state, IMAGES, many, sizeof many);
	put(*state, LABELS, many_labels, sizeof many_labels);
	REFUSES(*state, LS_ERR_LIMIT, IMAGES, "found 4294967295 images of 65536 × 65536", "at most 1073741824");
}

/* A megabyte of zeros behind a header that promises thirty bytes: read to the first byte too many. */
static void gzip_bombs_are_bounded(void **state)
{
	uint8_t *bomb = calloc(1, 1 << 20), packed[4096];
	assert_non_null(bomb);
	memcpy(bomb, images, sizeof images);
	put(*state, IMAGES ".gz", packed, gzipped(packed, sizeof packed, bomb, 1 << 20));
	free(bomb);
	put(*state, LABELS, labels, sizeof labels);
	REFUSES(*state, LS_ERR_INPUT, IMAGES ".gz: byte 46 after decompression: found trailing bytes");
}

/* False where the images are refused. */
static bool root_of_packed(ls_hash *out, const char *dir, const uint8_t *packed, size_t len)
{
	ls_dataset_options o = LS_DATASET_OPTIONS_INIT;
	ls_dataset *ds;
	o.path = dir;
	put(dir, IMAGES ".gz", packed, len);
	if (ls_dataset_open(&ds, &o, NULL) != LS_OK)
		return false;
	assert_int_equal(ls_dataset_root(ds, out), LS_OK);
	ls_dataset_free(ds);
	return true;
}

static void damaged_gzip(void **state)
{
	uint8_t packed[256], other[256];
	size_t len = gzipped(packed, sizeof packed, images, sizeof images), accepted = 0;
	ls_hash good, root;
	put(*state, LABELS, labels, sizeof labels);
	put(*state, IMAGES ".gz", packed, len);
	ls_dataset_free(open_good(*state, 0));
	for (size_t cut = 0; cut < len; cut++) { // the checksum at the end is part of the file
		put(*state, IMAGES ".gz", packed, cut);
		REFUSES(*state, LS_ERR_INPUT, IMAGES ".gz: byte ", "of the compressed file", "the end of the file");
	}
	assert_true(root_of_packed(&good, *state, packed, len));
	for (size_t i = 10; i < len; i++) { // past the gzip header, whose time stamp and system say nothing
		memcpy(other, packed, len);
		other[i] ^= 0x10;
		if (!root_of_packed(&root, *state, other, len))
			continue;
		accepted++;
		assert_memory_equal(root.byte, good.byte, 32);
	}
	assert_in_range(accepted, 0, 1); // the bit may be one of the padding before the checksum
	memcpy(other, packed, len);
	other[len] = 0;
	put(*state, IMAGES ".gz", other, len + 1);
	REFUSES(*state, LS_ERR_INPUT, "trailing bytes after the gzip member");
	put(*state, IMAGES ".gz", images, sizeof images);
	REFUSES(*state, LS_ERR_INPUT, "incorrect header check");
	put(*state, IMAGES, packed, len);
	REFUSES(*state, LS_ERR_INPUT, IMAGES ": byte 0: found gzip data", "must be named .gz");
}

static void wrong_options(void **state)
{
	ls_dataset_options o = LS_DATASET_OPTIONS_INIT;
	ls_error err = LS_ERROR_INIT;
	ls_dataset *ds;
	(void)state;
	o.format = "jpeg";
	assert_int_equal(ls_dataset_open(&ds, &o, &err), LS_ERR_USAGE);
	assert_non_null(strstr(err.text, "found jpeg, expected one of: cifar10, csv, idx, npy"));
	o.format = NULL;
	assert_int_equal(ls_dataset_open(&ds, &o, &err), LS_ERR_USAGE);
	o.format = "idx";
	o.split = "validation";
	assert_int_equal(ls_dataset_open(&ds, &o, &err), LS_ERR_USAGE);
	assert_non_null(strstr(err.text, "found validation"));
	o.split = "train";
	o.limit = -1;
	assert_int_equal(ls_dataset_open(&ds, &o, &err), LS_ERR_USAGE);
	o.limit = 0;
	o.version = 2;
	assert_int_equal(ls_dataset_open(&ds, &o, &err), LS_ERR_USAGE);
}

static void long_paths(void **state)
{
	char *path = malloc(2 * LS_PATH_MAX);
	(void)state;
	assert_non_null(path);
	memset(path, 'x', 2 * LS_PATH_MAX);
	path[2 * LS_PATH_MAX - 1] = 0;
	REFUSES(path, LS_ERR_LIMIT, "expected a shorter one");
	path[LS_PATH_MAX - 27] = 0; // one byte too long with "/", the name and ".gz"
	REFUSES(path, LS_ERR_LIMIT, IMAGES);
	path[LS_PATH_MAX - 28] = 0;
	refuses(path, 0, LS_ERR_NOT_FOUND, (const char *const[]){NULL});
	free(path);
}

/* Debian's package stands in where the job names the data set and nothing lies there. */
static void debian_fashion_mnist(void **state)
{
	ls_dataset_options o = LS_DATASET_OPTIONS_INIT;
	ls_dataset *ds, *again;
	int64_t shape[3];
	if (!ls_file_exists("/usr/share/datasets/fashion-mnist/" IMAGES ".gz"))
		skip();
	o.path = "fashion-mnist";
	o.limit = 100;
	assert_int_equal(chdir(*state), 0); // an empty folder
	assert_int_equal(ls_dataset_open(&ds, &o, NULL), LS_OK);
	ls_dataset_shape(ds, shape);
	assert_int_equal(shape[1], 28);
	assert_int_equal(shape[2], 28);
	assert_int_equal(ls_dataset_count(ds), 100);
	assert_int_equal(ls_dataset_classes(ds), 10);
	assert_int_equal(ls_dataset_label(ds, 0), 9);
	o.path = NULL;
	put(*state, IMAGES, images, sizeof images);
	put(*state, LABELS, labels, sizeof labels);
	o.limit = 0;
	assert_int_equal(ls_dataset_open(&again, &o, NULL), LS_OK);
	assert_int_equal(ls_dataset_count(again), N); // what lies there wins
	o.path = "mnist";
	ls_dataset_free(again);
	assert_int_equal(ls_dataset_open(&again, &o, NULL), LS_ERR_NOT_FOUND);
	assert_int_equal(chdir("/"), 0);
	ls_dataset_free(ds);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_what_was_written),
		TEST(test_split_has_its_own_files),
		TEST(gzip_gives_the_same_root),
		TEST(root_is_that_of_the_bytes),
		TEST(limit_takes_the_first),
		TEST(missing_files),
		TEST(every_shorter_file),
		TEST(trailing_bytes),
		TEST(wrong_headers),
		TEST(more_than_memory_holds),
		TEST(gzip_bombs_are_bounded),
		TEST(damaged_gzip),
		TEST(wrong_options),
		TEST(long_paths),
		TEST(debian_fashion_mnist),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
