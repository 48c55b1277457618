// The codec of safetensors: what is written reads back, every way a file can be wrong is refused by its words.
#include "data/data_cases.h"

#include <lockstep/num.h>
#include <lockstep/safetensors.h>

#define FILE_NAME "w.safetensors"

static void build(ls_buf *out, const char *header, const void *data, size_t len)
{
	ls_buf_init(out, 1 << 20);
	ls_buf_u64(out, strlen(header));
	ls_buf_bytes(out, header, strlen(header));
	ls_buf_bytes(out, data, len);
	assert_int_equal(out->status, LS_OK);
}

static void put_file(const char *dir, const char *header, const void *data, size_t len)
{
	ls_buf file;
	build(&file, header, data, len);
	put(dir, FILE_NAME, file.data, file.len);
	ls_buf_free(&file);
}

static ls_safetensors *opened_file(const char *dir)
{
	char path[LS_PATH_MAX];
	ls_error err = LS_ERROR_INIT;
	ls_safetensors *s;
	file_in(path, dir, FILE_NAME);
	if (ls_safetensors_open(&s, path, &err) != LS_OK)
		fail_msg("%s", err.text);
	return s;
}

static void refuses_file(const char *dir, ls_status status, const char *words)
{
	char path[LS_PATH_MAX];
	ls_error err = LS_ERROR_INIT;
	ls_safetensors *s = (ls_safetensors *)path;
	file_in(path, dir, FILE_NAME);
	ls_status got = ls_safetensors_open(&s, path, &err);
	if (!strstr(err.text, words))
		fail_msg("\"%s\" is missing in: %s", words, err.text);
	assert_int_equal(got, status);
	assert_int_equal(err.status, status);
	assert_null(s);
}

/* Reading the first tensor on that grid must fail with these words. */
static void refuses_numbers(const char *dir, int bits, const char *words)
{
	ls_safetensors *s = opened_file(dir);
	ls_error err = LS_ERROR_INIT;
	float out[16];
	assert_int_equal(ls_safetensors_read(s, ls_safetensors_at(s, 0), bits, out, &err), LS_ERR_INPUT);
	if (!strstr(err.text, words))
		fail_msg("\"%s\" is missing in: %s", words, err.text);
	ls_safetensors_free(s);
}

static void round_trip(void **state)
{
	static const float b[3] = {1.5f, -0.25f, 1e-42f}, a[2] = {3e38f, 0}, scalar[1] = {7}, c[1] = {0};
	const ls_safetensor_source sources[] = {{"layer.weight", 2, {1, 3}, b}, {"layer.bias", 1, {2}, a}, {"z\xc3\xa9", 0, {0}, scalar},
	                                        {"empty", 2, {4, 0}, c}};
	char path[LS_PATH_MAX];
	ls_safetensors *s;
	float out[3];
	uint8_t *once, *twice;
	size_t len, len2;
	file_in(path, *state, FILE_NAME);
	assert_int_equal(ls_safetensors_write(path, sources, 4, false, NULL), LS_OK);
	s = opened_file(*state);
	assert_int_equal(ls_safetensors_count(s), 4);
	assert_string_equal(ls_safetensors_at(s, 0)->name, "empty");
	assert_string_equal(ls_safetensors_at(s, 1)->name, "layer.bias");
	assert_string_equal(ls_safetensors_at(s, 3)->name, "z\xc3\xa9");
	assert_int_equal(ls_safetensors_at(s, 3)->rank, 0);
	assert_int_equal(ls_safetensors_at(s, 3)->count, 1);
	assert_null(ls_safetensors_find(s, "layer"));
	const ls_safetensor *weight = ls_safetensors_find(s, "layer.weight");
	assert_int_equal(weight->rank, 2);
	assert_int_equal(weight->dim[1], 3);
	assert_int_equal(ls_safetensors_read(s, weight, 32, out, NULL), LS_OK);
	assert_memory_equal(out, b, sizeof b);
	assert_int_equal(ls_safetensors_read(s, ls_safetensors_at(s, 1), 32, out, NULL), LS_OK);
	assert_memory_equal(out, a, sizeof a);
	assert_memory_not_equal(out, b, sizeof a);
	ls_safetensors_free(s);
	assert_int_equal(ls_file_read(&once, &len, path, 4096, NULL), LS_OK);
	assert_int_equal(ls_get_le64(once) % 8, 0);
	assert_memory_equal(once + 8, "{\"__metadata__\":{\"format\":\"pt\"},\"empty\":{\"dtype\":\"F32\",\"shape\":[4,0],\"data_offsets\":[0,0]}", 90);
	assert_int_equal(ls_safetensors_write(path, sources, 4, false, NULL), LS_ERR_EXISTS);
	assert_int_equal(ls_safetensors_write(path, sources, 4, true, NULL), LS_OK);
	assert_int_equal(ls_file_read(&twice, &len2, path, 4096, NULL), LS_OK);
	assert_int_equal(len, len2);
	assert_memory_equal(once, twice, len);
	ls_free(once);
	ls_free(twice);
}

/* More words than are turned into bytes at once, and no multiple of them. */
static void long_tensors_are_whole(void **state)
{
	enum { COUNT = 3 * 4096 + 17 };
	static float in[COUNT], out[COUNT];
	char path[LS_PATH_MAX];
	ls_safetensors *s;
	file_in(path, *state, FILE_NAME);
	for (int i = 0; i < COUNT; i++)
		in[i] = (float)i;
	assert_int_equal(ls_safetensors_write(path, &(ls_safetensor_source){"long", 1, {COUNT}, in}, 1, false, NULL), LS_OK);
	s = opened_file(*state);
	assert_int_equal(ls_safetensors_read(s, ls_safetensors_at(s, 0), 32, out, NULL), LS_OK);
	assert_memory_equal(in, out, sizeof in);
	out[COUNT - 1]++;
	assert_memory_not_equal(in, out, sizeof in);
	ls_safetensors_free(s);
}

static void writing_checks_its_sources(void **state)
{
	static const float x[4] = {0};
	const ls_safetensor_source twins[] = {{"a", 1, {4}, x}, {"a", 1, {4}, x}};
	static const ls_safetensor_source bad[] = {{"", 1, {4}, x}, {"a", 9, {1}, x}, {"a", 1, {-1}, x}, {NULL, 1, {4}, x},
	                                           {"a", 2, {1 << 20, 1 << 20}, x}, {"__metadata__", 1, {4}, x}, {"\xff", 1, {4}, x}};
	char path[LS_PATH_MAX];
	file_in(path, *state, FILE_NAME);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(ls_safetensors_write(path, &bad[i], 1, false, NULL), LS_ERR_USAGE);
	assert_int_equal(ls_safetensors_write(path, twins, 2, false, NULL), LS_ERR_USAGE);
	assert_false(ls_file_exists(path));
	assert_int_equal(ls_safetensors_write(path, twins, 1, false, NULL), LS_OK);
	assert_int_equal(ls_safetensors_write(path, twins, 0, true, NULL), LS_OK);
	ls_safetensors *s = opened_file(*state);
	assert_int_equal(ls_safetensors_count(s), 0);
	ls_safetensors_free(s);
}

/* Each half against the number it stands for, computed another way: by FP64 arithmetic on its fields. */
static void halves_are_exact(void **state)
{
	static uint8_t raw[2 * 65536];
	static float f16[65536], bf16[65536];
	ls_buf file;
	ls_safetensors *s;
	size_t finite = 0, differ = 0;
	for (uint32_t h = 0; h < 65536; h++) { // infinities and NaN are refused, so 1 stands in for them
		uint32_t value = (h & 0x7c00) == 0x7c00 || (h & 0x7f80) == 0x7f80 ? 0x3c00 : h;
		raw[2 * h] = (uint8_t)value;
		raw[2 * h + 1] = (uint8_t)(value >> 8);
	}
	build(&file, "{\"a\":{\"dtype\":\"F16\",\"shape\":[65536],\"data_offsets\":[0,131072]}}", raw, sizeof raw);
	put(*state, FILE_NAME, file.data, file.len);
	s = opened_file(*state);
	assert_int_equal(ls_safetensors_read(s, ls_safetensors_at(s, 0), 32, f16, NULL), LS_OK);
	ls_safetensors_free(s);
	ls_buf_free(&file);
	put_file(*state, "{\"a\":{\"dtype\":\"BF16\",\"shape\":[256,256],\"data_offsets\":[0,131072]}}", raw, sizeof raw);
	s = opened_file(*state);
	assert_int_equal(ls_safetensors_read(s, ls_safetensors_at(s, 0), 16, bf16, NULL), LS_OK);
	ls_safetensors_free(s);
	for (uint32_t h = 0; h < 65536; h++) {
		uint32_t value = (uint32_t)raw[2 * h] | (uint32_t)raw[2 * h + 1] << 8, e = value >> 10 & 31;
		double want = (double)((value & 0x3ff) + (e ? 1024 : 0)) * 0x1p-24;
		for (uint32_t k = 1; k < e; k++)
			want *= 2;
		if (value & 0x8000 && value != 0x8000)
			want = -want;
		assert_int_equal(ls_bits_f32(f16[h]), ls_bits_f32((float)want));
		assert_int_equal(ls_bits_f32(bf16[h]), value == 0x8000 ? 0 : value << 16);
		finite += value == h;
		differ += ls_bits_f32(f16[h]) != ls_bits_f32(bf16[h]);
	}
	assert_true(finite > 60000);
	assert_true(differ > 60000);
}

#define ONE(dtype, shape, offsets) "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define TWO(first, second)                                                                                             \
	"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" first "},"                                                 \
	"\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" second "}}"

static const uint8_t zeros[64];

struct bad {
	const char *header;
	size_t data;
	const char *words;
};

static const struct bad bad_headers[] = {
	{"", 0, "byte 8: found another beginning, expected the header"},
	{" {}", 0, "byte 8: found another beginning"},
	{"[]", 0, "byte 8: found another beginning"},
	{"{", 0, "header: found bad JSON"},
	{"{}x", 0, "header: found bad JSON"},
	{"{\"a\":1}", 0, "tensor 'a': found something else, expected an object of dtype, shape and data_offsets"},
	{"{\"a\":{}}", 0, "tensor 'a': found something else"},
	{ONE("F32", "[2]", "[0,8]") "", 4, "tensor 'a': found data_offsets [0, 8], expected begin ≤ end ≤ 4, the bytes of data"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", 8, "tensor 'a': found something else"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"offsets\":[0,8]}}", 8, "tensor 'a': found other data_offsets"},
	{"{\"\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "an empty or overlong name"},
	{ONE("F31", "[2]", "[0,8]"), 8, "found an unknown dtype, expected a dtype such as F32"},
	{"{\"a\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "found no dtype"},
	{ONE("F32", "2", "[0,8]"), 8, "found another shape"},
	{ONE("F32", "[-2]", "[0,8]"), 8, "found another shape"},
	{ONE("F32", "[2.0]", "[0,8]"), 8, "found another shape"},
	{ONE("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8, "found another shape, expected a list of at most 8"},
	{ONE("F32", "[99999999999999999999]", "[0,8]"), 8, "header: found bad JSON"},
	{ONE("F32", "[4294967296,4294967296]", "[0,0]"), 0, "found a shape of more than 2^56 elements"},
	{ONE("F32", "[3]", "[0,8]"), 8, "tensor 'a': found 8 bytes, expected 12 for 3 elements of F32"},
	{ONE("BF16", "[2]", "[0,8]"), 8, "tensor 'a': found 8 bytes, expected 4 for 2 elements of BF16"},
	{ONE("F32", "[]", "[0,8]"), 8, "tensor 'a': found 8 bytes, expected 4 for 1 elements of F32"},
	{ONE("F32", "[2]", "[0,8,8]"), 8, "found other data_offsets"},
	{ONE("F32", "[2]", "[-8,0]"), 8, "found other data_offsets"},
	{ONE("F32", "[2]", "[8,0]"), 8, "found data_offsets [8, 0]"},
	{ONE("F32", "[2]", "[4,12]"), 12, "found data from byte 4 on, expected byte 0"},
	{ONE("F32", "[2]", "[9223372036854775800,9223372036854775807]"), 8, "expected begin ≤ end ≤ 8"},
	{ONE("F32", "[2]", "[0,8]"), 9, "data: found 9 bytes of data, expected 8, where the last tensor ends"},
	{"{}", 1, "data: found 1 bytes of data, expected 0"},
	{TWO("[0,8]", "[0,8]"), 8, "found data from byte 0 on, expected byte 8"},
	{TWO("[0,8]", "[4,12]"), 12, "tensor 'b': found data from byte 4 on, expected byte 8, where the tensor before it ends"},
	{TWO("[0,8]", "[12,20]"), 20, "tensor 'b': found data from byte 12 on, expected byte 8"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
	 "header: found bad JSON (duplicate object key"},
	{"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "duplicate object key"},
	{"{\"__metadata__\":{\"x\":1}}", 0, "__metadata__: found something else, expected an object of texts"},
	{"{\"__metadata__\":[]}", 0, "__metadata__: found something else"},
	{"{\"a\\u0000b\":1}", 0, "header: found bad JSON"},
	{"{\"a\xff\":1}", 0, "header: found bad JSON"},
};

static void every_bad_header_is_named(void **state)
{
	for (size_t i = 0; i < sizeof bad_headers / sizeof *bad_headers; i++) {
		put_file(*state, bad_headers[i].header, zeros, bad_headers[i].data);
		refuses_file(*state, LS_ERR_INPUT, bad_headers[i].words);
	}
	put_file(*state, TWO("[8,16]", "[0,8]"), zeros, 16); // in any order, as long as they cover the data
	ls_safetensors_free(opened_file(*state));
	put_file(*state, "{\"__metadata__\":{\"x\":\"y\"}}   ", zeros, 0);
	ls_safetensors_free(opened_file(*state));
}

static void lengths_are_checked_before_use(void **state)
{
	static const uint64_t lengths[] = {UINT64_C(1) << 31, UINT64_MAX, UINT64_C(1) << 63, LS_SAFETENSORS_HEADER_MAX + 1};
	uint8_t raw[10] = {0};
	char *many = malloc(5 << 20);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		ls_put_le64(raw, lengths[i]);
		put(*state, FILE_NAME, raw, sizeof raw);
		refuses_file(*state, LS_ERR_LIMIT, "byte 0: found a header of ");
	}
	ls_put_le64(raw, 3);
	put(*state, FILE_NAME, raw, sizeof raw);
	refuses_file(*state, LS_ERR_INPUT, "byte 0: found a header of 3 bytes, expected at most 2");
	for (size_t len = 0; len < 8; len++) {
		put(*state, FILE_NAME, raw, len);
		refuses_file(*state, LS_ERR_INPUT, "byte 0: found a file of less than 8 bytes");
	}
	assert_non_null(many); // a header of nothing but brackets would need a hundred times its size
	memset(many, '[', 5 << 20);
	ls_put_le64(many, (5 << 20) - 8);
	many[8] = '{';
	put(*state, FILE_NAME, many, 5 << 20);
	free(many);
	refuses_file(*state, LS_ERR_LIMIT, "header: found more than 4194304 values");
}

static void every_shorter_file(void **state)
{
	ls_buf file;
	build(&file, TWO("[0,8]", "[8,16]"), zeros, 16);
	put(*state, FILE_NAME, file.data, file.len);
	ls_safetensors_free(opened_file(*state));
	for (size_t len = 0; len < file.len; len++) {
		put(*state, FILE_NAME, file.data, len);
		refuses_file(*state, LS_ERR_INPUT, "found ");
	}
	ls_buf_free(&file);
}

/* Any bit changed gives a file that is refused, or one that is as sound. */
static void damaged_files_never_crash(void **state)
{
	ls_buf file;
	size_t accepted = 0, refused = 0;
	char path[LS_PATH_MAX];
	build(&file, TWO("[0,8]", "[8,16]"), zeros, 16);
	file_in(path, *state, FILE_NAME);
	for (size_t bit = 0; bit < 8 * file.len; bit++) {
		ls_safetensors *s;
		float out[2];
		file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		put(*state, FILE_NAME, file.data, file.len);
		if (ls_safetensors_open(&s, path, NULL) == LS_OK) {
			for (size_t i = 0; i < ls_safetensors_count(s); i++)
				if (ls_safetensors_at(s, i)->count <= 2)
					ls_safetensors_read(s, ls_safetensors_at(s, i), 32, out, NULL);
			accepted++;
		} else {
			refused++;
		}
		ls_safetensors_free(s);
		file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_true(accepted >= 16 * 8); // the data are free
	assert_true(refused > 800);
	ls_buf_free(&file);
}

static void put_f32(const char *dir, uint32_t bits)
{
	uint8_t raw[8];
	ls_put_le32(raw, ls_bits_f32(1));
	ls_put_le32(raw + 4, bits);
	put_file(dir, ONE("F32", "[2]", "[0,8]"), raw, 8);
}

static void numbers_are_judged(void **state)
{
	ls_safetensors *s;
	float out[2];
	put_f32(*state, 0x7fc00000);
	refuses_numbers(*state, 32, "tensor 'a', element 1: found NaN, expected a finite number of grid 32");
	put_f32(*state, 0x7f800001);
	refuses_numbers(*state, 32, "found NaN");
	put_f32(*state, 0xff800000);
	refuses_numbers(*state, 32, "tensor 'a', element 1: found an infinity");
	put_f32(*state, ls_bits_f32(1.0000001f));
	refuses_numbers(*state, 19, "element 1: found 1.00000012, expected a finite number of grid 19\n  hint: set arithmetic.state_grid: 32");
	s = opened_file(*state);
	assert_int_equal(ls_safetensors_read(s, ls_safetensors_at(s, 0), 32, out, NULL), LS_OK);
	ls_safetensors_free(s);
	put_f32(*state, 0x80000000);
	s = opened_file(*state);
	assert_int_equal(ls_safetensors_read(s, ls_safetensors_at(s, 0), 16, out, NULL), LS_OK);
	assert_int_equal(ls_bits_f32(out[1]), 0);
	assert_int_not_equal(ls_bits_f32(out[0]), 0);
	ls_safetensors_free(s);
	put_file(*state, ONE("F16", "[2]", "[0,4]"), "\0\x7c\0\0", 4);
	refuses_numbers(*state, 32, "element 0: found an infinity");
	put_file(*state, ONE("BF16", "[2]", "[0,4]"), "\0\0\xc0\xff", 4);
	refuses_numbers(*state, 32, "element 1: found NaN");
	put_file(*state, ONE("I64", "[1]", "[0,8]"), zeros, 8);
	refuses_numbers(*state, 32, "tensor 'a': found I64, expected F32, F16 or BF16");
}

static void what_is_no_file(void **state)
{
	ls_safetensors *s;
	assert_int_equal(ls_safetensors_open(&s, "/nonexistent/w.safetensors", NULL), LS_ERR_NOT_FOUND);
	assert_int_equal(ls_safetensors_open(&s, *state, NULL) == LS_OK, 0);
	assert_null(s);
	ls_safetensors_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(round_trip, enter, leave),
		cmocka_unit_test_setup_teardown(long_tensors_are_whole, enter, leave),
		cmocka_unit_test_setup_teardown(writing_checks_its_sources, enter, leave),
		cmocka_unit_test_setup_teardown(halves_are_exact, enter, leave),
		cmocka_unit_test_setup_teardown(every_bad_header_is_named, enter, leave),
		cmocka_unit_test_setup_teardown(lengths_are_checked_before_use, enter, leave),
		cmocka_unit_test_setup_teardown(every_shorter_file, enter, leave),
		cmocka_unit_test_setup_teardown(damaged_files_never_crash, enter, leave),
		cmocka_unit_test_setup_teardown(numbers_are_judged, enter, leave),
		cmocka_unit_test_setup_teardown(what_is_no_file, enter, leave),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
