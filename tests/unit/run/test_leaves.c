/* Leaves and blocks that stay in the file: what is read again is what was pushed, at every place in a group, and a file that
 * changes is noticed. */
#include "base/support.h"

#include "run/leaves.h"
#include "run/run.h"

typedef struct store {
	char dir[TEST_PATH], path[TEST_PATH + 16];
	ls_hasher *hasher;
	ls_leaves *leaves;
	ls_blocks blocks;
	ls_file *file;
} store;

static ls_leaf leaf_of(uint64_t i)
{
	ls_leaf leaf = {.kind = i ? LS_LEAF_STEP : LS_LEAF_START, .step = i};
	memset(leaf.run.byte, 7, LS_HASH_BYTES);
	ls_put_le64(leaf.state.byte, i * 31);
	if (i) {
		ls_put_le64(leaf.log.byte, i * 37);
		ls_put_le64(leaf.metrics.byte, i * 41);
	} else
		memset(leaf.job.byte, 9, LS_HASH_BYTES);
	return leaf;
}

static void append(store *s, const ls_leaf *leaf)
{
	ls_error err = LS_ERROR_INIT;
	ls_buf bytes;
	uint8_t len[4];
	ls_buf_init(&bytes, LS_LEAF_BYTES_MAX);
	assert_ok(ls_leaf_encode(&bytes, leaf));
	ls_put_le32(len, (uint32_t)bytes.len);
	assert_int_equal(ls_file_size(s->file), ls_leaves_place(ls_leaves_count(s->leaves)));
	assert_ok(ls_file_append(s->file, len, 4, &err));
	assert_ok(ls_file_append(s->file, bytes.data, bytes.len, &err));
	ls_buf_free(&bytes);
	assert_ok(ls_leaves_push(s->leaves, leaf, &err));
}

static void open_store(store *s, uint64_t count)
{
	ls_error err = LS_ERROR_INIT;
	memset(s, 0, sizeof *s);
	scratch_make(s->dir);
	snprintf(s->path, sizeof s->path, "%s/file", s->dir);
	assert_ok(ls_hasher_open(&s->hasher, 1, &err));
	assert_ok(ls_leaves_open(&s->leaves, s->hasher, &err));
	assert_ok(ls_file_open(&s->file, s->path, true, &err));
	for (uint64_t i = 0; i < count; i++) {
		ls_leaf leaf = leaf_of(i);
		append(s, &leaf);
	}
}

static void close_store(store *s)
{
	ls_leaves_free(s->leaves);
	ls_blocks_free(&s->blocks);
	ls_file_close(s->file);
	ls_hasher_free(s->hasher);
	scratch_remove(s->dir);
}

static void reads_as_pushed(store *s, uint64_t i)
{
	ls_error err = LS_ERROR_INIT;
	ls_leaf expected = leaf_of(i), found;
	assert_ok(ls_leaves_read(s->leaves, s->file, i, &found, &err));
	assert_memory_equal(&found, &expected, sizeof found);
}

/* Changes one byte of the file behind everybody's back; the second time it is what it was. */
static void flip_byte(const store *s, uint64_t at)
{
	FILE *f = fopen(s->path, "r+b");
	int c;
	assert_non_null(f);
	fseek(f, (long)at, SEEK_SET);
	c = fgetc(f);
	fseek(f, (long)at, SEEK_SET);
	fputc(c ^ 1, f);
	fclose(f);
}

static const uint64_t counts[] = {1, 2, LS_RUN__GROUP - 1, LS_RUN__GROUP, LS_RUN__GROUP + 1, 5 * LS_RUN__GROUP - 1, 5 * LS_RUN__GROUP, 5 * LS_RUN__GROUP + 77};
enum { COUNTS = sizeof counts / sizeof *counts };

static void every_leaf_comes_back(void **state)
{
	for (int c = 0; c < COUNTS; c++) {
		ls_error err = LS_ERROR_INIT;
		store s;
		ls_leaf leaf;
		open_store(&s, counts[c]);
		for (uint64_t i = 0; i < counts[c]; i++)
			reads_as_pushed(&s, i);
		for (uint64_t i = counts[c]; i-- > 0;) // the other way round, and far apart
			reads_as_pushed(&s, (i * 7919) % counts[c]);
		assert_int_equal(ls_leaves_read(s.leaves, s.file, counts[c], &leaf, &err), LS_ERR_INTERNAL);
		close_store(&s);
	}
}

static void what_changed_in_the_file_is_noticed(void **state)
{
	static const uint64_t victim[] = {0, 1, LS_RUN__GROUP - 1, LS_RUN__GROUP, 2 * LS_RUN__GROUP - 1};
	static const uint64_t byte[] = {0, 4, 11, 12, 60, 103};
	ls_error err = LS_ERROR_INIT;
	store s;
	ls_leaf leaf;
	open_store(&s, 2 * LS_RUN__GROUP + 5);
	for (size_t v = 0; v < sizeof victim / sizeof *victim; v++)
		for (size_t b = 0; b < sizeof byte / sizeof *byte; b++) {
			uint64_t at = ls_leaves_place(victim[v]) + byte[b];
			uint64_t other = victim[v] / LS_RUN__GROUP ? 0 : LS_RUN__GROUP; // so that it has to be read anew
			reads_as_pushed(&s, other);
			flip_byte(&s, at);
			assert_int_equal(ls_leaves_read(s.leaves, s.file, victim[v], &leaf, &err), LS_ERR_IO);
			assert_non_null(strstr(err.text, "no longer those that were read before"));
			reads_as_pushed(&s, other);
			flip_byte(&s, at);
			reads_as_pushed(&s, victim[v]);
		}
	flip_byte(&s, ls_leaves_place(2 * LS_RUN__GROUP + 1) + 50); // not read from there
	reads_as_pushed(&s, 2 * LS_RUN__GROUP + 1);
	close_store(&s);
}

static void cut_and_gone_on_with(void **state)
{
	static const uint64_t to[] = {1, 5, LS_RUN__GROUP - 1, LS_RUN__GROUP, LS_RUN__GROUP + 3, 2 * LS_RUN__GROUP + 9, 3 * LS_RUN__GROUP};
	for (size_t t = 0; t < sizeof to / sizeof *to; t++) {
		ls_error err = LS_ERROR_INIT;
		store s;
		open_store(&s, 3 * LS_RUN__GROUP);
		assert_ok(ls_leaves_cut(s.leaves, s.file, to[t], &err));
		assert_int_equal(ls_leaves_count(s.leaves), to[t]);
		assert_ok(ls_file_truncate(s.file, ls_leaves_place(to[t]), &err));
		for (uint64_t i = to[t]; i < 4 * LS_RUN__GROUP + 1; i++) {
			ls_leaf leaf = leaf_of(i);
			append(&s, &leaf);
		}
		for (uint64_t i = 0; i < ls_leaves_count(s.leaves); i++)
			reads_as_pushed(&s, i);
		close_store(&s);
	}
}

/* ---- blocks ---- */

static uint64_t len_of(uint64_t i)
{
	return i % 5 * (i % 7);
}

static void append_block(store *s, uint64_t i)
{
	ls_error err = LS_ERROR_INIT;
	uint8_t bytes[LS_RUN_BLOCK_HEADER + 24] = {0};
	ls_put_le64(bytes, i + 1);
	ls_put_le64(bytes + 8, len_of(i));
	assert_ok(ls_file_append(s->file, bytes, LS_RUN_BLOCK_HEADER + len_of(i), &err));
	assert_ok(ls_blocks_push(&s->blocks, len_of(i), &err));
}

static void blocks_are_found(void **state)
{
	enum { BLOCKS = 3 * LS_RUN__GROUP + 10 };
	ls_error err = LS_ERROR_INIT;
	store s;
	uint64_t place[BLOCKS], at, len, next = LS_RUN_BLOCK_HEADER;
	open_store(&s, 0);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		append_block(&s, i);
		place[i] = next;
		next += len_of(i) + LS_RUN_BLOCK_HEADER;
	}
	for (uint64_t n = 0; n < 2 * BLOCKS; n++) { // in order, then far apart
		uint64_t i = n < BLOCKS ? n : n * 7919 % BLOCKS;
		assert_ok(ls_blocks_find(&s.blocks, s.file, i, &at, &len, &err));
		assert_int_equal(at, place[i]);
		assert_int_equal(len, len_of(i));
	}
	assert_int_equal(ls_blocks_find(&s.blocks, s.file, BLOCKS, &at, &len, &err), LS_ERR_INTERNAL);
	for (uint64_t byte = 0; byte < LS_RUN_BLOCK_HEADER; byte += 8) {
		assert_ok(ls_blocks_find(&s.blocks, s.file, 0, &at, &len, &err));
		flip_byte(&s, place[400] - LS_RUN_BLOCK_HEADER + byte);
		assert_int_equal(ls_blocks_find(&s.blocks, s.file, 405, &at, &len, &err), LS_ERR_IO);
		assert_ok(ls_blocks_find(&s.blocks, s.file, 399, &at, &len, &err));
		flip_byte(&s, place[400] - LS_RUN_BLOCK_HEADER + byte);
		assert_ok(ls_blocks_find(&s.blocks, s.file, 405, &at, &len, &err));
	}
	assert_ok(ls_blocks_cut(&s.blocks, s.file, 300, &err));
	assert_int_equal(s.blocks.end, place[300] - LS_RUN_BLOCK_HEADER);
	assert_ok(ls_file_truncate(s.file, s.blocks.end, &err));
	for (uint64_t i = 300; i < BLOCKS; i++)
		append_block(&s, i);
	assert_ok(ls_blocks_find(&s.blocks, s.file, BLOCKS - 1, &at, &len, &err));
	assert_int_equal(at, place[BLOCKS - 1]);
	assert_ok(ls_blocks_cut(&s.blocks, s.file, 0, &err));
	assert_int_equal(s.blocks.end, 0);
	close_store(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_leaf_comes_back),
		cmocka_unit_test(what_changed_in_the_file_is_noticed),
		cmocka_unit_test(cut_and_gone_on_with),
		cmocka_unit_test(blocks_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
