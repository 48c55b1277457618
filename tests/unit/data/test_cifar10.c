#include "data/data_cases.h"

#define RECORD 3073

/* Record `id`: label id mod 10, pixels that depend on id and place. */
static void make(uint8_t *out, int first, int count)
{
	for (int r = 0; r < count; r++) {
		uint8_t *record = out + r * RECORD;
		record[0] = (uint8_t)((first + r) % 10);
		for (int i = 1; i < RECORD; i++)
			record[i] = (uint8_t)((first + r) * 7 + i * 13);
	}
}

static void put_batch(const char *dir, const char *name, int first, int count)
{
	uint8_t records[4 * RECORD];
	make(records, first, count);
	put(dir, name, records, (size_t)count * RECORD);
}

static void batches_come_in_order_of_number(void **state)
{
	static const int ids[] = {4, 20, 21, 22, 10};
	ls_dataset_options o = options_for("cifar10", *state);
	uint8_t want[RECORD];
	int64_t shape[3];
	ls_dataset *ds;
	put_batch(*state, "data_batch_10.bin", 10, 1); // as text, 10 would come before 2
	put_batch(*state, "data_batch_2.bin", 20, 3);
	put_batch(*state, "data_batch_1.bin", 4, 1);
	put_batch(*state, "test_batch.bin", 50, 2);
	ds = opened(&o);
	assert_int_equal(ls_dataset_count(ds), 5);
	ls_dataset_shape(ds, shape);
	assert_int_equal(shape[0], 3);
	assert_int_equal(shape[1], 32);
	assert_int_equal(shape[2], 32);
	for (int i = 0; i < 5; i++) {
		make(want, ids[i], 1);
		assert_int_equal(ls_dataset_label(ds, i), want[0]);
		assert_memory_equal(ls_dataset_sample(ds, i), want + 1, RECORD - 1);
	}
	assert_memory_not_equal(ls_dataset_sample(ds, 0), want + 1, RECORD - 1);
	ls_dataset_free(ds);
	o.split = "test";
	ds = opened(&o);
	assert_int_equal(ls_dataset_count(ds), 2);
	make(want, 51, 1);
	assert_memory_equal(ls_dataset_sample(ds, 1), want + 1, RECORD - 1);
	ls_dataset_free(ds);
}

static void limit_and_compression(void **state)
{
	ls_dataset_options o = options_for("cifar10", *state);
	uint8_t records[3 * RECORD], one = 0;
	ls_hash all, limited, first, packed;
	put_batch(*state, "data_batch_1.bin", 0, 3);
	put_batch(*state, "data_batch_2.bin", 3, 2);
	all = root_of(&o);
	o.limit = 3;
	put(*state, "data_batch_2.bin", &one, 0); // not reached
	limited = root_of(&o);
	o.limit = 0;
	drop(*state, "data_batch_2.bin");
	first = root_of(&o);
	drop(*state, "data_batch_1.bin");
	make(records, 0, 3);
	put_gz(*state, "data_batch_1.bin.gz", records, sizeof records);
	packed = root_of(&o);
	assert_memory_equal(limited.byte, first.byte, 32);
	assert_memory_equal(packed.byte, first.byte, 32);
	assert_memory_not_equal(all.byte, first.byte, 32);
	o.limit = 4;
	REFUSES(&o, LS_ERR_INPUT, "data_batch_1.bin", "found 3 samples, expected at least data.limit, 4");
}

static void labels_are_part_of_the_root(void **state)
{
	ls_dataset_options o = options_for("cifar10", *state);
	uint8_t records[2 * RECORD];
	ls_hash before, after;
	make(records, 0, 2);
	put(*state, "data_batch_1.bin", records, sizeof records);
	before = root_of(&o);
	records[RECORD] = 9;
	put(*state, "data_batch_1.bin", records, sizeof records);
	after = root_of(&o);
	assert_memory_not_equal(before.byte, after.byte, 32);
}

static void what_is_refused(void **state)
{
	ls_dataset_options o = options_for("cifar10", *state);
	uint8_t records[2 * RECORD + 1] = {0};
	static const size_t lengths[] = {1, 2, RECORD - 1, RECORD + 1, 2 * RECORD - 1, 2 * RECORD + 1};
	REFUSES(&o, LS_ERR_NOT_FOUND, "data_batch_1.bin", "hint: ");
	put(*state, "data_batch_1.bin", records, 0);
	REFUSES(&o, LS_ERR_INPUT, "data_batch_1.bin: byte 0: found an empty file, expected at least one record of 3073 bytes");
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		put(*state, "data_batch_1.bin", records, lengths[i]);
		REFUSES(&o, LS_ERR_INPUT, "the end of the data", "more bytes of this record");
	}
	make(records, 0, 2);
	records[RECORD] = 10;
	put(*state, "data_batch_1.bin", records, 2 * RECORD);
	REFUSES(&o, LS_ERR_INPUT, "data_batch_1.bin: byte 3073: found 10, expected a label from 0 to 9", "binary version");
	records[RECORD] = 9;
	put(*state, "data_batch_1.bin", records, 2 * RECORD);
	ls_dataset_free(opened(&o));
	o.shape[0] = 3;
	o.shape[1] = o.shape[2] = 32;
	ls_dataset_free(opened(&o));
	o.shape[0] = 1;
	REFUSES(&o, LS_ERR_INPUT, "data.shape: found [1, 32, 32], expected [3, 32, 32]");
	o.shape[0] = 0;
	REFUSES(&o, LS_ERR_USAGE, "data.shape: found 0");
}

/* Where files of the real size are at hand. */
static void whole_batches(void **state)
{
	const char *root = getenv("LOCKSTEP_DATA") ? getenv("LOCKSTEP_DATA") : LS_SOURCE_DIR "/../shared/data";
	char dir[LS_PATH_MAX], path[LS_PATH_MAX];
	ls_dataset_options o = options_for("cifar10", dir);
	ls_dataset *ds;
	uint8_t *file;
	size_t len;
	if (ls_path_join(dir, sizeof dir, root, "cifar-10-batches-bin", NULL) != LS_OK || !ls_file_exists(dir)) {
		print_message("*** SKIPPED: no cifar-10-batches-bin below %s; LOCKSTEP_DATA names another place\n", root);
		skip();
	}
	o.split = "test";
	ds = opened(&o);
	file_in(path, dir, "test_batch.bin");
	assert_int_equal(ls_file_read(&file, &len, path, 1 << 28, NULL), LS_OK);
	assert_int_equal(ls_dataset_count(ds) * RECORD, len);
	assert_int_equal(ls_dataset_classes(ds), 10);
	for (int64_t i = 0; i < ls_dataset_count(ds); i++) {
		assert_int_equal(ls_dataset_label(ds, i), file[i * RECORD]);
		assert_memory_equal(ls_dataset_sample(ds, i), file + i * RECORD + 1, RECORD - 1);
	}
	assert_memory_not_equal(ls_dataset_sample(ds, 0), file + RECORD + 1, RECORD - 1);
	ls_free(file);
	ls_dataset_free(ds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(batches_come_in_order_of_number, enter, leave),
		cmocka_unit_test_setup_teardown(limit_and_compression, enter, leave),
		cmocka_unit_test_setup_teardown(labels_are_part_of_the_root, enter, leave),
		cmocka_unit_test_setup_teardown(what_is_refused, enter, leave),
		cmocka_unit_test(whole_batches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
