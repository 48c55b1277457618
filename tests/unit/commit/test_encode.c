#include "commit/reference.h"

static int setup(void **state)
{
	return ls_hasher_open((ls_hasher **)state, 1, NULL) == LS_OK ? 0 : -1;
}

static int teardown(void **state)
{
	ls_hasher_free(*state);
	return 0;
}

static ls_hash filled(uint8_t with)
{
	ls_hash h;
	memset(h.byte, with, sizeof h.byte);
	return h;
}

static void assert_bytes(const ls_buf *b, const void *want, size_t len)
{
	assert_int_equal(b->status, LS_OK);
	assert_int_equal(b->len, len);
	assert_memory_equal(b->data, want, len);
}

static ls_tensor_entry entry(const char *name, uint8_t root)
{
	return (ls_tensor_entry){.name = name, .dtype = 1, .rank = 2, .dims = {3, 258}, .root = filled(root)};
}

#define ENTRY_W "\x01\0\0\0w\x01\x02\x03\0\0\0\0\0\0\0\x02\x01\0\0\0\0\0\0" /* name w, dtype 1, dims 3 × 258 */
#define ROOT_A "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static void state_and_step_leaf_bytes(void **state)
{
	static const char want_state[] = "ls1/state" ENTRY_W ROOT_A;
	static const char want_step[] = "ls1/step\x07\x01\0\0\x02\0\0\0" ENTRY_W ROOT_A ENTRY_W ROOT_A;
	ls_tensor_entry two[2] = {entry("w", 'A'), entry("w", 'A')};
	ls_buf b;
	(void)state;
	ls_buf_init(&b, 4096);
	assert_int_equal(ls_state_leaf_encode(&b, &two[0]), LS_OK);
	assert_bytes(&b, want_state, sizeof want_state - 1);
	ls_buf_reset(&b);
	assert_int_equal(ls_step_leaf_encode(&b, 263, two, 2), LS_OK);
	assert_bytes(&b, want_step, sizeof want_step - 1);
	ls_buf_free(&b);
}

static void entries_out_of_bounds_are_refused(void **state)
{
	char name[LS_COMMIT_NAME_MAX + 2];
	ls_tensor_entry e = entry("w", 0);
	ls_buf b;
	(void)state;
	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = 0;
	ls_buf_init(&b, 4096);
	e.name = name;
	assert_int_equal(ls_state_leaf_encode(&b, &e), LS_ERR_USAGE);
	e.name = name + 1;
	assert_int_equal(ls_state_leaf_encode(&b, &e), LS_OK);
	e.name = "";
	assert_int_equal(ls_state_leaf_encode(&b, &e), LS_ERR_USAGE);
	e.name = NULL;
	assert_int_equal(ls_state_leaf_encode(&b, &e), LS_ERR_USAGE);
	e = entry("w", 0);
	e.rank = LS_COMMIT_RANK_MAX + 1;
	assert_int_equal(ls_state_leaf_encode(&b, &e), LS_ERR_USAGE);
	e.rank = 2;
	e.dims[1] = -1;
	assert_int_equal(ls_state_leaf_encode(&b, &e), LS_ERR_USAGE);
	ls_buf_free(&b);
	ls_buf_init(&b, 10);
	assert_int_equal(ls_state_leaf_encode(&b, &(ls_tensor_entry){.name = "w"}), LS_ERR_LIMIT);
	ls_buf_free(&b);
}

static void state_root_is_ordered(void **state)
{
	ls_tensor_entry e[3] = {entry("b.weight", 1), entry("a", 2), entry("b", 3)};
	ls_hash leaf[3], root, want, other;
	ls_error err = LS_ERROR_INIT;
	ls_buf b;
	assert_int_equal(ls_state_root(&root, e, 3, *state, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "found a after b.weight"));
	ls_state_sort(e, 3);
	assert_string_equal(e[0].name, "a");
	assert_string_equal(e[1].name, "b");
	assert_int_equal(ls_state_root(&root, e, 3, *state, &err), LS_OK);
	ls_buf_init(&b, 4096);
	for (int i = 0; i < 3; i++) {
		ls_buf_reset(&b);
		assert_int_equal(ls_state_leaf_encode(&b, &e[i]), LS_OK);
		leaf[i] = ref_leaf(b.data, b.len);
	}
	ls_buf_free(&b);
	want = ref_head(leaf, 3);
	assert_hash(&root, &want);
	e[1].dims[0]++;
	assert_int_equal(ls_state_root(&other, e, 3, *state, &err), LS_OK);
	assert_not_hash(&other, &root);
	e[1].name = "a";
	assert_int_equal(ls_state_root(&root, e, 3, *state, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "found the name a twice"));
	e[1].name = "";
	assert_int_equal(ls_state_root(&root, e, 3, *state, &err), LS_ERR_USAGE);
}

static void log_leaves(void **state)
{
	static const char want[] = "ls1/log\x02\0\0\0\0\0\0\0\x03\0\0\0\x04\0\0\0xyz";
	static const char want_empty[] = "ls1/log\x02\0\0\0\0\0\0\0\x03\0\0\0\x05\0\0\0";
	ls_hash leaf[2] = {ref_leaf(want, sizeof want - 1), ref_leaf(want_empty, sizeof want_empty - 1)};
	ls_hash root, expected = ref_head(leaf, 2), without;
	ls_tree t;
	ls_buf b;
	ls_buf_init(&b, 100);
	assert_int_equal(ls_log_leaf_encode(&b, 2, 3, 4, "xyz", 3), LS_OK);
	assert_bytes(&b, want, sizeof want - 1);
	ls_buf_free(&b);
	ls_tree_init(&t, *state, 0);
	ls_log_push(&t, 2, 3, 4, "xyz", 3);
	assert_int_equal(ls_tree_head(&t, &without), LS_OK);
	ls_log_push(&t, 2, 3, 5, NULL, 0);
	assert_int_equal(ls_tree_head(&t, &root), LS_OK);
	assert_hash(&root, &expected);
	assert_not_hash(&root, &without); // an empty frame is a leaf
}

static void data_root_is_as_defined(void **state)
{
	static const char head[] = "ls1/data\0\x03\0\0\0idx\x02\0\0\0\0\0\0\0\x01\x02\x02\0\0\0\0\0\0\x02\0\0\0"
	                           "\x01\0\0\0p\x04\x04\0\0\0\0\0\0\x01\0\0\0q\x02\0\0\0\0\0\0\0";
	uint8_t bytes[1028], chunk[9 + 1024] = "ls1/data\x01";
	const int64_t dims[1] = {514};
	const ls_data_part parts[2] = {{"p", bytes, 1028}, {"q", "ab", 2}}, moved[2] = {{"p", bytes, 1027}, {"q", "ab", 2}};
	ls_hash leaf[4], root, want;
	for (int i = 0; i < 1028; i++)
		bytes[i] = (uint8_t)(i * 3);
	leaf[0] = ref_leaf(head, sizeof head - 1);
	memcpy(chunk + 9, bytes, 1024);
	leaf[1] = ref_leaf(chunk, 9 + 1024);
	memcpy(chunk + 9, bytes + 1024, 4);
	leaf[2] = ref_leaf(chunk, 9 + 4);
	memcpy(chunk + 9, "ab", 2);
	leaf[3] = ref_leaf(chunk, 9 + 2);
	want = ref_head(leaf, 4);
	assert_int_equal(ls_data_root(&root, "idx", 2, dims, 1, parts, 2, *state), LS_OK);
	assert_hash(&root, &want);
	assert_int_equal(ls_data_root(&root, "idx", 2, dims, 1, moved, 2, *state), LS_OK);
	assert_not_hash(&root, &want);
	assert_int_equal(ls_data_root(&root, "idy", 2, dims, 1, parts, 2, *state), LS_OK);
	assert_not_hash(&root, &want);
	assert_int_equal(ls_data_root(&root, "idx", 2, dims, 9, parts, 2, *state), LS_ERR_USAGE);
	assert_int_equal(ls_data_root(&root, "", 2, dims, 1, parts, 2, *state), LS_ERR_USAGE);
	assert_int_equal(ls_data_root(&root, "idx", 2, dims, 1, parts, 9, *state), LS_ERR_USAGE);
}

static void run_leaf_bytes(void **state)
{
	static const char want_start[] = "ls1/run\0" ROOT_A "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
		"CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC";
	static const char want_step[] = "ls1/run\x01" "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB" "\x09\x01\0\0\0\0\0\0"
		"CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC" "DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD" "EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE";
	ls_leaf start = {.kind = LS_LEAF_START, .job = filled('A'), .run = filled('B'), .state = filled('C')};
	ls_leaf step = {.kind = LS_LEAF_STEP, .step = 265, .run = filled('B'), .state = filled('C'), .log = filled('D'),
	                .metrics = filled('E')};
	ls_buf b;
	(void)state;
	ls_buf_init(&b, LS_LEAF_BYTES_MAX);
	assert_int_equal(ls_leaf_encode(&b, &start), LS_OK);
	assert_bytes(&b, want_start, sizeof want_start - 1);
	ls_buf_reset(&b);
	assert_int_equal(ls_leaf_encode(&b, &step), LS_OK);
	assert_bytes(&b, want_step, sizeof want_step - 1);
	assert_int_equal(b.len, LS_LEAF_BYTES_MAX);
	step.step = 0;
	assert_int_equal(ls_leaf_encode(&b, &step), LS_ERR_USAGE);
	start.step = 1;
	assert_int_equal(ls_leaf_encode(&b, &start), LS_ERR_USAGE);
	start.kind = (ls_leaf_kind)2;
	assert_int_equal(ls_leaf_encode(&b, &start), LS_ERR_USAGE);
	ls_buf_free(&b);
}

/* Whatever decodes must encode to the same bytes; everything else must be refused. */
static bool round_trips(const uint8_t *bytes, size_t len)
{
	ls_leaf leaf;
	ls_buf b;
	if (ls_leaf_decode(&leaf, bytes, len, NULL) != LS_OK)
		return false;
	ls_buf_init(&b, LS_LEAF_BYTES_MAX);
	assert_int_equal(ls_leaf_encode(&b, &leaf), LS_OK);
	assert_bytes(&b, bytes, len);
	ls_buf_free(&b);
	return true;
}

static void run_leaves_decode_strictly(void **state)
{
	ls_leaf step = {.kind = LS_LEAF_STEP, .step = 1, .run = filled(2), .state = filled(3), .log = filled(4)};
	ls_leaf start = {.kind = LS_LEAF_START, .job = filled(1), .run = filled(2), .state = filled(3)};
	const ls_leaf *const each[2] = {&start, &step};
	uint8_t bytes[LS_LEAF_BYTES_MAX + 1];
	ls_error err = LS_ERROR_INIT;
	ls_leaf back;
	(void)state;
	for (int k = 0; k < 2; k++) {
		ls_buf b;
		ls_buf_init(&b, LS_LEAF_BYTES_MAX);
		assert_int_equal(ls_leaf_encode(&b, each[k]), LS_OK);
		memset(bytes, 0, sizeof bytes);
		memcpy(bytes, b.data, b.len);
		assert_true(round_trips(bytes, b.len));
		for (size_t len = 0; len <= LS_LEAF_BYTES_MAX + 1; len++)
			if (len != b.len)
				assert_false(round_trips(bytes, len));
		for (size_t i = 0; i < 8; i++) { // the tag and the kind
			bytes[i] ^= 2;
			assert_false(round_trips(bytes, b.len));
			bytes[i] ^= 2;
		}
		ls_buf_free(&b);
	}
	bytes[40] = 0; // step 1 becomes step 0
	assert_int_equal(ls_leaf_decode(&back, bytes, LS_LEAF_BYTES_MAX, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "found step 0"));
	bytes[47] = 0x80;
	assert_int_equal(ls_leaf_decode(&back, bytes, LS_LEAF_BYTES_MAX, &err), LS_OK);
	assert_true(back.step == UINT64_C(1) << 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_and_step_leaf_bytes),
		cmocka_unit_test(entries_out_of_bounds_are_refused),
		cmocka_unit_test(state_root_is_ordered),
		cmocka_unit_test(log_leaves),
		cmocka_unit_test(data_root_is_as_defined),
		cmocka_unit_test(run_leaf_bytes),
		cmocka_unit_test(run_leaves_decode_strictly),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
