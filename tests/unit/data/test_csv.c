#include "data/data_cases.h"

static ls_dataset_options table_in(const char *dir)
{
	ls_dataset_options o = options_for("csv", dir);
	o.shape[0] = 1;
	o.shape[1] = 2;
	o.shape[2] = 2;
	return o;
}

static void put_text(const char *dir, const char *name, const char *text)
{
	put(dir, name, text, strlen(text));
}

static void reads_what_was_written(void **state)
{
	static const uint8_t images[3][4] = {{0, 255, 10, 9}, {1, 2, 3, 4}, {100, 200, 5, 60}};
	static const uint8_t labels[3] = {3, 0, 255};
	ls_dataset_options o = table_in(*state);
	int64_t shape[3];
	ls_dataset *ds;
	put_text(*state, "train.csv", "a,b,label,c,d\n0,255,3,10,9\n1,2,0,3,4\n100,200,255,5,60\n");
	ds = opened(&o);
	assert_int_equal(ls_dataset_count(ds), 3);
	ls_dataset_shape(ds, shape);
	assert_memory_equal(shape, o.shape, sizeof shape);
	assert_string_equal(ls_dataset_format(ds), "csv");
	for (int i = 0; i < 3; i++) {
		assert_memory_equal(ls_dataset_sample(ds, i), images[i], 4);
		assert_int_equal(ls_dataset_label(ds, i), labels[i]);
	}
	assert_memory_not_equal(ls_dataset_sample(ds, 0), images[1], 4);
	ls_dataset_free(ds);
}

static void line_ends_and_names_say_nothing(void **state)
{
	static const char *const same[] = {
		"x,y,z,w,label\r\n1,2,3,4,5\r\n6,7,8,9,1\r\n",
		"x,y,z,w,label\n1,2,3,4,5\n6,7,8,9,1",
		"label,x,y,z,w\n5,1,2,3,4\n1,6,7,8,9\n",
		"p 1,\xc3\xa9,z,w,label\n1,2,3,4,5\n6,7,8,9,1\n",
	};
	ls_dataset_options o = table_in(*state);
	ls_hash root[4], other;
	for (int i = 0; i < 4; i++) {
		put_text(*state, "train.csv", same[i]);
		root[i] = root_of(&o);
		assert_memory_equal(root[i].byte, root[0].byte, 32);
	}
	put_text(*state, "train.csv", "x,y,z,w,label\n1,2,3,4,5\n6,7,8,9,2\n");
	other = root_of(&o);
	assert_memory_not_equal(other.byte, root[0].byte, 32);
	o.shape[1] = 1;
	o.shape[2] = 4;
	put_text(*state, "train.csv", same[0]);
	other = root_of(&o);
	assert_memory_not_equal(other.byte, root[0].byte, 32);
}

static void splits_limits_compression(void **state)
{
	static const char text[] = "x,y,z,w,label\n1,2,3,4,5\n6,7,8,9,1\n";
	ls_dataset_options o = table_in(*state);
	ls_dataset *ds;
	put_gz(*state, "test.csv.gz", text, sizeof text - 1);
	REFUSES(&o, LS_ERR_NOT_FOUND, "train.csv");
	o.split = "test";
	ds = opened(&o);
	assert_int_equal(ls_dataset_count(ds), 2);
	ls_dataset_free(ds);
	o.limit = 1;
	ds = opened(&o);
	assert_int_equal(ls_dataset_count(ds), 1);
	assert_int_equal(ls_dataset_label(ds, 0), 5);
	ls_dataset_free(ds);
	o.limit = 3;
	REFUSES(&o, LS_ERR_INPUT, "found 2 samples, expected at least data.limit, 3");
}

struct bad {
	const char *text, *message;
};

static const struct bad bad_tables[] = {
	{"", "line 1, column 1: found an empty name, expected a column's name"},
	{"\n1,2,3,4,5\n", "line 1, column 1: found an empty name"},
	{"a,b,c,d,e\n1,2,3,4,5\n", "line 1, column 5: found no column 'label'"},
	{"1,2,3,4,5\n", "found no column 'label'"},
	{"a,label,b,label,c,d\n", "line 1, column 4: found a second column 'label'"},
	{"a,,b,c,label\n", "line 1, column 2: found an empty name"},
	{"a,b,c,d,label,\n", "line 1, column 6: found an empty name"},
	{"\"a\",b,c,d,label\n", "line 1, column 1: found '\"', expected a column's name without quotes"},
	{"a\tb,c,d,e,label\n", "line 1, column 1: found byte 0x09"},
	{"\xef\xbb\xbflabel,a,b,c,d\n1,2,3,4,5\n", "found no column 'label'"},
	{"a,b,c,label\n1,2,3,4\n", "line 1, column 4: found 3 columns beside label, expected 1 × 2 × 2 as in data.shape"},
	{"a,b,c,d,label", "line 2, column 1: found the end of the file, expected at least one sample"},
	{"a,b,c,d,label\n", "line 2, column 1: found the end of the file, expected at least one sample"},
	{"a,b,c,d,label\n1,2,3,4\n", "line 2, column 4: found only 4 columns, expected 5"},
	{"a,b,c,d,label\n1,2,3,4,5\n1,2", "line 3, column 2: found only 2 columns, expected 5"},
	{"a,b,c,d,label\n1,2,3,4,5,6\n", "line 2, column 5: found more than 5 columns, expected 5"},
	{"a,b,c,d,label\n1,2,3,4,5,\n", "line 2, column 5: found more than 5 columns"},
	{"a,b,c,d,label\n1,2,256,4,5\n", "line 2, column 3: found a number above 255, expected an integer from 0 to 255"},
	{"a,b,c,d,label\n1,2,99999999999999999999,4,5\n", "line 2, column 3: found a number above 255"},
	{"a,b,c,d,label\n1,2,-3,4,5\n", "line 2, column 3: found '-', expected an integer"},
	{"a,b,c,d,label\n1,+2,3,4,5\n", "line 2, column 2: found '+'"},
	{"a,b,c,d,label\n1,2.0,3,4,5\n", "line 2, column 2: found '.'"},
	{"a,b,c,d,label\n1,2,3e1,4,5\n", "line 2, column 3: found 'e'"},
	{"a,b,c,d,label\n1,02,3,4,5\n", "line 2, column 2: found '2'"},
	{"a,b,c,d,label\n1, 2,3,4,5\n", "line 2, column 2: found byte 0x20"},
	{"a,b,c,d,label\n1,2 ,3,4,5\n", "line 2, column 2: found byte 0x20"},
	{"a,b,c,d,label\n1,\"2\",3,4,5\n", "line 2, column 2: found '\"'"},
	{"a,b,c,d,label\n1,,3,4,5\n", "line 2, column 2: found ','"},
	{"a,b,c,d,label\n1,2,3,4,\n", "line 2, column 5: found the end of the line"},
	{"a,b,c,d,label\n\n1,2,3,4,5\n", "line 2, column 1: found the end of the line"},
	{"a,b,c,d,label\n1,2,3,4,5\n\n", "line 3, column 1: found the end of the line"},
	{"a,b,c,d,label\n1,2,3,4,5\r1,2,3,4,5\n", "line 2, column 5: found '1', expected a line feed after the carriage return"},
	{"a,b,c,d,label\n1;2;3;4;5\n", "line 2, column 1: found ';'"},
};

static void every_bad_table_is_named(void **state)
{
	ls_dataset_options o = table_in(*state);
	char path[LS_PATH_MAX];
	for (size_t i = 0; i < sizeof bad_tables / sizeof *bad_tables; i++) {
		put_text(*state, "train.csv", bad_tables[i].text);
		REFUSES(&o, LS_ERR_INPUT, "train.csv: ", bad_tables[i].message);
	}
	put(*state, "train.csv", "a,b,c,d,label\n1,2,3\0,4,5\n", 26);
	REFUSES(&o, LS_ERR_INPUT, "line 2, column 3: found byte 0x00");
	put_text(*state, "train.csv", "a,b,c,d,label\n1,2,3,4,5\n");
	ls_dataset_free(opened(&o));
	o.shape[0] = o.shape[1] = o.shape[2] = 0;
	REFUSES(&o, LS_ERR_INPUT, "found no data.shape", "hint: for example data.shape: [1, 8, 8]");
	o.shape[0] = o.shape[1] = o.shape[2] = 65536;
	REFUSES(&o, LS_ERR_INPUT, "found 4 columns beside label, expected 65536 × 65536 × 65536");
	o.shape[2] = 65537;
	REFUSES(&o, LS_ERR_USAGE, "data.shape: found 65537");
	file_in(path, *state, "train.csv");
}

/* Any byte changed gives an answer: the same columns of numbers, or a complaint. */
static void damaged_tables_never_crash(void **state)
{
	static const char good[] = "a,b,c,d,label\n1,2,3,4,5\n6,70,8,9,1\n";
	static const char bytes[] = "\0,\n\r\"09 a-\xff";
	ls_dataset_options o = table_in(*state);
	size_t accepted = 0, refused = 0;
	char text[sizeof good];
	for (size_t i = 0; i < sizeof good - 1; i++)
		for (size_t k = 0; k < sizeof bytes - 1; k++) {
			ls_dataset *ds;
			memcpy(text, good, sizeof good);
			text[i] = bytes[k];
			put(*state, "train.csv", text, sizeof good - 1);
			if (ls_dataset_open(&ds, &o, NULL) == LS_OK)
				accepted++;
			else
				refused++;
			ls_dataset_free(ds);
		}
	assert_true(accepted > 20);
	assert_true(refused > accepted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_what_was_written, enter, leave),
		cmocka_unit_test_setup_teardown(line_ends_and_names_say_nothing, enter, leave),
		cmocka_unit_test_setup_teardown(splits_limits_compression, enter, leave),
		cmocka_unit_test_setup_teardown(every_bad_table_is_named, enter, leave),
		cmocka_unit_test_setup_teardown(damaged_tables_never_crash, enter, leave),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
