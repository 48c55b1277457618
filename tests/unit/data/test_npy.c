#include "data/data_cases.h"

#define BYTES "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2, 2), }"
#define LABELS "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }"

static const uint8_t pixels[12] = {1, 2, 3, 4, 11, 12, 13, 14, 255, 0, 23, 24};
static const uint8_t labels_i8[24] = {5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0};

/* A file as NumPy writes it: the header padded to 64 bytes and a newline. `version` 2 has a four-byte length. */
static void put_npy(const char *dir, const char *name, int version, const char *header, const void *data, size_t len)
{
	uint8_t file[1024] = {0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)version, 0};
	size_t at = version == 1 ? 10 : 12, end = (at + strlen(header) + 1 + 63) / 64 * 64;
	assert_true(end + len <= sizeof file);
	file[8] = (uint8_t)((end - at) & 255);
	file[9] = (uint8_t)((end - at) >> 8);
	memset(file + at, ' ', end - at);
	memcpy(file + at, header, strlen(header));
	file[end - 1] = '\n';
	memcpy(file + end, data, len);
	put(dir, name, file, end + len);
}

static void put_good(const char *dir)
{
	put_npy(dir, "images.npy", 1, BYTES, pixels, sizeof pixels);
	put_npy(dir, "labels.npy", 1, LABELS, labels_i8, sizeof labels_i8);
}

static void reads_what_was_written(void **state)
{
	static const uint8_t labels[3] = {5, 0, 255};
	ls_dataset_options o = options_for("npy", *state);
	int64_t shape[3];
	ls_dataset *ds;
	put_good(*state);
	ds = opened(&o);
	assert_int_equal(ls_dataset_count(ds), 3);
	ls_dataset_shape(ds, shape);
	assert_int_equal(shape[0], 1);
	assert_int_equal(shape[1], 2);
	assert_int_equal(shape[2], 2);
	for (int i = 0; i < 3; i++) {
		assert_memory_equal(ls_dataset_sample(ds, i), pixels + 4 * i, 4);
		assert_int_equal(ls_dataset_label(ds, i), labels[i]);
	}
	assert_memory_not_equal(ls_dataset_sample(ds, 0), pixels + 4, 4);
	ls_dataset_free(ds);
	put_npy(*state, "test_images.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3, 2, 2), }", pixels, 12);
	put_npy(*state, "test_labels.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", "\7", 1);
	o.split = "test";
	ds = opened(&o);
	ls_dataset_shape(ds, shape);
	assert_int_equal(shape[0], 3);
	assert_int_equal(ls_dataset_label(ds, 0), 7);
	ls_dataset_free(ds);
}

/* However the same numbers are stored, they are one data set. */
static void types_and_versions_say_nothing(void **state)
{
	static const struct {
		const char *type, *bytes;
		size_t size;
	} forms[] = {
		{"|u1", "\5\0\xff", 1}, {"<u2", "\5\0\0\0\xff\0", 2}, {">u2", "\0\5\0\0\0\xff", 2}, {"<i2", "\5\0\0\0\xff\0", 2},
		{"<i4", "\5\0\0\0\0\0\0\0\xff\0\0\0", 4}, {">i4", "\0\0\0\5\0\0\0\0\0\0\0\xff", 4},
		{"<u8", "\5\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\0\0\0\0\0\0\0", 8}, {">i8", "\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff", 8},
	};
	ls_dataset_options o = options_for("npy", *state);
	ls_hash first, root;
	char header[96];
	put_good(*state);
	first = root_of(&o);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		snprintf(header, sizeof header, "{'shape': (3,), 'fortran_order': False,'descr':'%s'}", forms[i].type);
		put_npy(*state, "labels.npy", 1 + (int)i % 3, header, forms[i].bytes, 3 * forms[i].size);
		root = root_of(&o);
		assert_memory_equal(root.byte, first.byte, 32);
	}
	put_npy(*state, "images.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 1, 2, 2), }", pixels, 12);
	root = root_of(&o);
	assert_memory_equal(root.byte, first.byte, 32); // one channel, said or not
	put_npy(*state, "images.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 1, 4), }", pixels, 12);
	root = root_of(&o);
	assert_memory_not_equal(root.byte, first.byte, 32);
}

static void limits_and_compression(void **state)
{
	ls_dataset_options o = options_for("npy", *state);
	ls_dataset *ds;
	ls_hash limited, all;
	put_good(*state);
	all = root_of(&o);
	o.limit = 2;
	limited = root_of(&o);
	assert_memory_not_equal(all.byte, limited.byte, 32);
	ds = opened(&o);
	assert_int_equal(ls_dataset_count(ds), 2);
	ls_dataset_free(ds);
	o.limit = 4;
	REFUSES(&o, LS_ERR_INPUT, "images.npy", "found 3 samples, expected at least data.limit, 4");
}

struct bad {
	const char *header, *message;
};

static const struct bad bad_images[] = {
	{"", "found ?, expected {"},
	{"x", "byte 10: found x"},
	{"{}", "descr, fortran_order and shape before the end"},
	{"{'descr': '|u1', 'fortran_order': False}", "before the end"},
	{"{'descr': '|u1', 'descr': '|u1', 'shape': (3, 2, 2)}", "descr, fortran_order and shape, each once"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2, 2), 'x': 1}", "each once"},
	{"{'descr': '|u1', 'fortran_order': 0, 'shape': (3, 2, 2)}", "expected False"},
	{"{'descr': '|u1', 'fortran_order': True, 'shape': (3, 2, 2)}", "found Fortran order, expected C order"},
	{"{'descr': '|O', 'fortran_order': False, 'shape': (3, 2, 2)}", "unpickled, which is never done"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2)}", "found elements of type '<f4', expected '|u1'"},
	{"{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (3, 2, 2)}", "a text in single quotes"},
	{"{'descr': '|u1, 'fortran_order': False, 'shape': (3, 2, 2)}", "expected a comma"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2, 2)", "expected a comma"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2, 2)} x", "the end of the header"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': [3, 2, 2]}", "expected ("},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (3 2 2)}", "a comma"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (-3, 2, 2)}", "a dimension"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (3L, 2, 2)}", "a comma"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2, 2, 1, 1)}", "at most 4 dimensions"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4)}", "found 2 dimensions, expected (N, H, W) or (N, C, H, W)"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': ()}", "found 0 dimensions"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 0, 2)}", "a dimension of 0"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (0, 2, 2)}", "a dimension of 0"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 65537, 2)}", "a dimension of 65537"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (9999999999999999, 2, 2)}", "at most 15 digits"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2, 3)}", "expected 6 more bytes of images"},
	{"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2, 1)}", "found trailing bytes"},
};

static const struct bad bad_labels[] = {
	{"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", "found elements of type '<f8', expected integers"},
	{"{'descr': '<i3', 'fortran_order': False, 'shape': (3,)}", "found elements of type '<i3'"},
	{"{'descr': '|i2', 'fortran_order': False, 'shape': (3,)}", "found elements of type '|i2'"},
	{"{'descr': '', 'fortran_order': False, 'shape': (3,)}", "found elements of type ''"},
	{"{'descr': '<i', 'fortran_order': False, 'shape': (3,)}", "found elements of type '<i'"},
	{"{'descr': '<i88', 'fortran_order': False, 'shape': (3,)}", "found elements of type '<i88'"},
	{"{'descr': '<i8', 'fortran_order': False, 'shape': (3)}", "a comma"},
	{"{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}", "found 1 dimensions, the first of 2, expected (3,)"},
	{"{'descr': '<i8', 'fortran_order': False, 'shape': (3, 1)}", "found 2 dimensions"},
	{"{'descr': '<i8', 'fortran_order': False, 'shape': ()}", "found 0 dimensions"},
	{"{'descr': '<i4', 'fortran_order': False, 'shape': (3,)}", "found trailing bytes"},
	{"{'descr': '>i8', 'fortran_order': False, 'shape': (3,)}", "found a label outside these bounds, expected 0 to 255"},
};

static void every_bad_header_is_named(void **state)
{
	ls_dataset_options o = options_for("npy", *state);
	put_good(*state);
	for (size_t i = 0; i < sizeof bad_images / sizeof *bad_images; i++) {
		put_npy(*state, "images.npy", 1, bad_images[i].header, pixels, sizeof pixels);
		REFUSES(&o, LS_ERR_INPUT, "images.npy: byte ", bad_images[i].message);
	}
	put_npy(*state, "images.npy", 1, BYTES, pixels, sizeof pixels);
	for (size_t i = 0; i < sizeof bad_labels / sizeof *bad_labels; i++) {
		put_npy(*state, "labels.npy", 1, bad_labels[i].header, labels_i8, sizeof labels_i8);
		REFUSES(&o, LS_ERR_INPUT, "labels.npy: byte ", bad_labels[i].message);
	}
	put_npy(*state, "labels.npy", 1, "{'descr': '|i1', 'fortran_order': False, 'shape': (3,)}", "\1\xff\0", 3);
	REFUSES(&o, LS_ERR_INPUT, "found a label outside these bounds");
	put_npy(*state, "labels.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}", "\1\xff\0", 3);
	ls_dataset_free(opened(&o));
}

static void sizes_are_checked_before_use(void **state)
{
	static const uint8_t huge[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 255, 255, 255, 255};
	uint8_t file[16];
	ls_dataset_options o = options_for("npy", *state);
	put_good(*state);
	put_npy(*state, "images.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (999999999999, 65536, 65536, 65536)}", pixels, 12);
	put_npy(*state, "labels.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (999999999999,)}", pixels, 12);
	REFUSES(&o, LS_ERR_LIMIT, "images.npy", "at most 1073741824 bytes in all");
	put(*state, "images.npy", huge, sizeof huge);
	REFUSES(&o, LS_ERR_INPUT, "images.npy: byte 8: found a header of 4294967295 bytes, expected at most 4096 bytes");
	memcpy(file, huge, 12);
	file[6] = 4;
	put(*state, "images.npy", file, 12);
	REFUSES(&o, LS_ERR_INPUT, "found version 4.0");
	file[0] = 'P';
	put(*state, "images.npy", file, 12);
	REFUSES(&o, LS_ERR_INPUT, "byte 0: found another beginning", ".npz");
}

static void every_shorter_file(void **state)
{
	char path[LS_PATH_MAX];
	uint8_t *file;
	size_t len;
	ls_dataset_options o = options_for("npy", *state);
	put_good(*state);
	file_in(path, *state, "images.npy");
	assert_int_equal(ls_file_read(&file, &len, path, 4096, NULL), LS_OK);
	for (size_t cut = 0; cut < len; cut++) {
		put(*state, "images.npy", file, cut);
		REFUSES(&o, LS_ERR_INPUT, "images.npy: byte ", "the end of the data");
	}
	file[40] = 0; // in the header
	put(*state, "images.npy", file, len);
	REFUSES(&o, LS_ERR_INPUT, "byte 40", "text without zero bytes");
	ls_free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_what_was_written, enter, leave),
		cmocka_unit_test_setup_teardown(types_and_versions_say_nothing, enter, leave),
		cmocka_unit_test_setup_teardown(limits_and_compression, enter, leave),
		cmocka_unit_test_setup_teardown(every_bad_header_is_named, enter, leave),
		cmocka_unit_test_setup_teardown(sizes_are_checked_before_use, enter, leave),
		cmocka_unit_test_setup_teardown(every_shorter_file, enter, leave),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
