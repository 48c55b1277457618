// Weights in several files: the index and the files must say the same, and nothing outside the folder is opened.
#include "data/data_cases.h"

#include <lockstep/num.h>
#include <lockstep/safetensors.h>

#define INDEX "model.safetensors.index.json"
#define MAP(entries) "{\"metadata\":{\"total_size\":20},\"weight_map\":{" entries "}}"

static void put_part(const char *dir, const char *name, const ls_safetensor_source *tensors, size_t count)
{
	char path[LS_PATH_MAX];
	file_in(path, dir, name);
	assert_int_equal(ls_safetensors_write(path, tensors, count, true, NULL), LS_OK);
}

/* b, c in the first file, a in the second. */
static void put_parts(const char *dir)
{
	static const float a[2] = {1, 2}, b[2] = {3, 4}, c[1] = {5};
	const ls_safetensor_source first[] = {{"b", 1, {2}, b}, {"c", 1, {1}, c}}, second[] = {{"a", 1, {2}, a}};
	put_part(dir, "one.safetensors", first, 2);
	put_part(dir, "two.safetensors", second, 1);
}

static void put_index(const char *dir, const char *text)
{
	put(dir, INDEX, text, strlen(text));
}

static void refuses_index(const char *dir, const char *text, ls_status status, const char *words)
{
	char path[LS_PATH_MAX];
	ls_error err = LS_ERROR_INIT;
	ls_safetensors *s = (ls_safetensors *)path;
	ls_status got;
	put_index(dir, text);
	file_in(path, dir, INDEX);
	got = ls_safetensors_open(&s, path, &err);
	if (!strstr(err.text, words))
		fail_msg("\"%s\" is missing in: %s", words, err.text);
	assert_int_equal(got, status);
	assert_null(s);
}

#define GOOD "\"c\":\"one.safetensors\",\"a\":\"two.safetensors\",\"b\":\"one.safetensors\""

static void reads_from_all_files(void **state)
{
	char path[LS_PATH_MAX];
	ls_safetensors *s;
	float out[2];
	put_parts(*state);
	put_index(*state, MAP(GOOD));
	file_in(path, *state, INDEX);
	for (int folder = 0; folder < 2; folder++) {
		assert_int_equal(ls_safetensors_open(&s, folder ? *state : path, NULL), LS_OK);
		assert_int_equal(ls_safetensors_count(s), 3);
		for (size_t i = 0; i < 3; i++) {
			const char name[2] = {(char)('a' + i), 0};
			assert_string_equal(ls_safetensors_at(s, i)->name, name);
			assert_int_equal(ls_safetensors_read(s, ls_safetensors_find(s, name), 32, out, NULL), LS_OK);
			assert_int_equal(ls_bits_f32(out[0]), ls_bits_f32((float)(2 * i + 1)));
		}
		assert_null(ls_safetensors_find(s, "d"));
		ls_safetensors_free(s);
	}
	file_in(path, *state, "model.safetensors"); // in a folder, one whole file comes first
	put_part(*state, "model.safetensors", &(ls_safetensor_source){"x", 1, {2}, out}, 1);
	assert_int_equal(ls_safetensors_open(&s, *state, NULL), LS_OK);
	assert_int_equal(ls_safetensors_count(s), 1);
	ls_safetensors_free(s);
}

static void what_does_not_fit_is_refused(void **state)
{
	put_parts(*state);
	refuses_index(*state, "", LS_ERR_INPUT, "found no JSON");
	refuses_index(*state, "[]", LS_ERR_INPUT, "weight_map: found something else");
	refuses_index(*state, "{}", LS_ERR_INPUT, "weight_map: found something else");
	refuses_index(*state, MAP(""), LS_ERR_INPUT, "weight_map: found something else");
	refuses_index(*state, "{\"weight_map\":[]}", LS_ERR_INPUT, "weight_map: found something else");
	refuses_index(*state, MAP("\"a\":1"), LS_ERR_INPUT, "tensor 'a': found no plain file name");
	refuses_index(*state, MAP("\"a\":\"\""), LS_ERR_INPUT, "no plain file name");
	refuses_index(*state, MAP("\"a\":\"../two.safetensors\""), LS_ERR_INPUT, "no plain file name");
	refuses_index(*state, MAP("\"a\":\"/etc/passwd\""), LS_ERR_INPUT, "no plain file name");
	refuses_index(*state, MAP("\"a\":\".hidden\""), LS_ERR_INPUT, "no plain file name");
	refuses_index(*state, MAP("\"a\":\"three.safetensors\""), LS_ERR_NOT_FOUND, "three.safetensors");
	refuses_index(*state, MAP("\"a\":\"two.safetensors\",\"a\":\"one.safetensors\""), LS_ERR_INPUT, "a name given twice");
	refuses_index(*state, MAP("\"a\":\"one.safetensors\",\"b\":\"one.safetensors\",\"c\":\"one.safetensors\""), LS_ERR_INPUT,
	              "tensor 'a': found no such tensor in the file that is named");
	refuses_index(*state, MAP("\"a\":\"two.safetensors\",\"b\":\"one.safetensors\""), LS_ERR_INPUT, "fewer tensors than its files have");
	refuses_index(*state, MAP(GOOD ",\"d\\u00ff\":\"two.safetensors\""), LS_ERR_INPUT, "tensor 'd?\?': found no such tensor");
	refuses_index(*state, MAP("\"a\":\"" INDEX "\""), LS_ERR_LIMIT, "a header of"); // an index is no file of weights
}

/* As many tensors as the map has, but one of them twice and another not named. */
static void a_name_in_two_files_is_refused(void **state)
{
	static const float x[2] = {1, 2};
	const ls_safetensor_source one[] = {{"a", 1, {2}, x}, {"b", 1, {2}, x}}, two[] = {{"a", 1, {2}, x}, {"c", 1, {2}, x}},
	                           two_alone[] = {{"c", 1, {2}, x}};
	const char *text = MAP("\"a\":\"1.safetensors\",\"b\":\"1.safetensors\",\"c\":\"2.safetensors\",\"e\":\"3.safetensors\"");
	ls_safetensors *s;
	put_part(*state, "1.safetensors", one, 2);
	put_part(*state, "2.safetensors", two, 2);
	put_part(*state, "3.safetensors", &(ls_safetensor_source){"e", 1, {2}, x}, 0);
	refuses_index(*state, text, LS_ERR_INPUT, "tensor 'e': found no such tensor");
	put_part(*state, "3.safetensors", &(ls_safetensor_source){"e", 1, {2}, x}, 1);
	refuses_index(*state, text, LS_ERR_INPUT, "fewer tensors than its files have");
	put_part(*state, "2.safetensors", two_alone, 1);
	assert_int_equal(ls_safetensors_open(&s, *state, NULL), LS_OK);
	ls_safetensors_free(s);
}

static void sizes_are_checked_before_use(void **state)
{
	size_t len = (16u << 20) + 1;
	char *text = malloc(len + 1);
	assert_non_null(text);
	memset(text, ' ', len);
	text[len] = 0;
	refuses_index(*state, text, LS_ERR_LIMIT, "expected at most 16777216");
	memset(text, ',', len);
	text[300000] = 0;
	refuses_index(*state, text, LS_ERR_LIMIT, "values");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_from_all_files, enter, leave),
		cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, enter, leave),
		cmocka_unit_test_setup_teardown(a_name_in_two_files_is_refused, enter, leave),
		cmocka_unit_test_setup_teardown(sizes_are_checked_before_use, enter, leave),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
