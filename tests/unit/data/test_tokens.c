// Data sets of tokens: texts and streams, what is taken of them and hashed, and what is refused.
#include "data/data_cases.h"
#include "data/dataset.h"

#include <lockstep/tokenizer.h>

#define SMALL LS_TEST_VECTORS "/tokenizer/small"

struct place {
	char path[LS_PATH_MAX], other[LS_PATH_MAX];
};

static ls_dataset_options options_of(struct place *p, const char *format, const char *dir)
{
	ls_dataset_options o = options_for(format, p->path);
	file_in(p->path, dir, "f");
	file_in(p->other, dir, "other");
	o.length = 4;
	return o;
}

static void holds(const ls_dataset_options *o, int64_t count, const char *tokens)
{
	int64_t shape[3];
	ls_dataset *ds = opened(o);
	assert_true(ls_dataset_is_tokens(ds));
	ls_dataset_shape(ds, shape);
	assert_int_equal(shape[0] * shape[1], 1);
	assert_int_equal(shape[2], o->length);
	assert_int_equal(ls_dataset_count(ds), count);
	assert_int_equal(ls_dataset_tokens(ds), count * o->length + 1);
	assert_int_equal(strlen(tokens), count * o->length + 1);
	for (int64_t i = 0; i < ls_dataset_tokens(ds); i++)
		assert_int_equal(ls_dataset_token(ds, i), tokens[i]);
	ls_dataset_free(ds);
}

static void whole_sequences_are_taken(void **state)
{
	struct place p;
	ls_dataset_options o = options_of(&p, "text", *state);
	put(*state, "f", "abcdefghijklmno", 15);
	holds(&o, 3, "abcdefghijklm");
	o.length = 7;
	holds(&o, 2, "abcdefghijklmno");
	o.limit = 1;
	holds(&o, 1, "abcdefgh");
	o.length = 14;
	o.limit = 0;
	holds(&o, 1, "abcdefghijklmno");
	o.length = 15;
	REFUSES(&o, LS_ERR_INPUT, "split train: found 15 tokens, expected at least 16, for 1 sequences of data.length = 15 and a label",
	        "lower data.length");
	o.length = 4;
	o.limit = 4;
	REFUSES(&o, LS_ERR_INPUT, "expected at least 17, for 4 sequences", "lower data.limit");
	put(*state, "f", "a", 1);
	REFUSES(&o, LS_ERR_INPUT, "found 1 tokens");
}

static void the_end_is_held_out(void **state)
{
	struct place p;
	ls_dataset_options o = options_of(&p, "text", *state);
	put(*state, "f", "abcdefghijklmnopqrst", 20);
	put(*state, "other", "ABCDEFGHIJ", 10);
	o.holdout = 0.25; // 5 of 20
	holds(&o, 3, "abcdefghijklm");
	o.split = "test";
	holds(&o, 1, "pqrst");
	o.holdout = 0.3; // 6
	holds(&o, 1, "opqrs");
	o.holdout = 0;
	REFUSES(&o, LS_ERR_USAGE, "data.holdout: found nothing held out");
	o.eval_path = p.other;
	holds(&o, 2, "ABCDEFGHI");
	o.split = "train";
	holds(&o, 4, "abcdefghijklmnopq");
	o.holdout = 0.25;
	REFUSES(&o, LS_ERR_USAGE, "data.holdout: found 0.25, expected 0 to 0.5, and 0 beside data.eval_path");
	o.eval_path = NULL;
	o.holdout = 0.6;
	REFUSES(&o, LS_ERR_USAGE, "data.holdout: found 0.6");
	o.holdout = -0.1;
	REFUSES(&o, LS_ERR_USAGE, "data.holdout: found -0.1");
}

/* No character is cut in two; bytes that are none are cut anywhere. */
static void cuts_are_between_characters(void **state)
{
	static const struct {
		const char *text;
		size_t len, held;
	} cases[] = {
		{"abcdefgh\xe2\x82\xac" "x", 12, 4}, {"abcdefg\xe2\x82\xac" "xy", 12, 5}, {"abcdef\xe2\x82\xac" "xyz", 12, 3},
		{"abcdefgh\x82\x82\x82\x82", 12, 3}, {"abcdefgh\xe2\x82" "xy", 12, 3}, {"abcdefg\xf0\x9f\x98\x80" "x", 12, 5},
	};
	struct place p;
	ls_dataset_options o = options_of(&p, "text", *state);
	o.length = 1;
	o.holdout = 0.25; // 3 of 12
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t sum = 0;
		put(*state, "f", cases[i].text, cases[i].len);
		for (int test = 0; test < 2; test++) {
			ls_dataset *ds;
			o.split = test ? "test" : "train";
			ds = opened(&o);
			sum += (size_t)ls_dataset_tokens(ds);
			if (test && (size_t)ls_dataset_tokens(ds) != cases[i].held)
				fail_msg("case %zu: found %lld held out, expected %zu", i, (long long)ls_dataset_tokens(ds), cases[i].held);
			ls_dataset_free(ds);
		}
		assert_int_equal(sum, cases[i].len);
	}
}

static size_t put_stream(const char *dir, const uint16_t *tokens, size_t count, uint32_t magic, uint32_t version, uint32_t claimed)
{
	ls_buf file;
	size_t len;
	ls_buf_init(&file, 1 << 20);
	if (magic)
		for (uint32_t i = 0; i < 256; i++)
			ls_buf_u32(&file, i == 0 ? magic : i == 1 ? version : i == 2 ? claimed : 0);
	for (size_t i = 0; i < count; i++)
		ls_buf_u16(&file, tokens[i]);
	put(dir, "f", file.data, file.len);
	len = file.len;
	ls_buf_free(&file);
	return len;
}

static void streams_with_and_without_header(void **state)
{
	static const uint16_t tokens[] = {9, 50256, 65535, 0, 1, 2, 3, 4, 5, 6};
	struct place p;
	ls_dataset_options o = options_of(&p, "tokens", *state);
	ls_hash plain, headed;
	for (int header = 0; header < 2; header++) {
		ls_dataset *ds;
		put_stream(*state, tokens, 10, header ? 20240520 : 0, 1, 10);
		ds = opened(&o);
		assert_int_equal(ls_dataset_count(ds), 2);
		assert_int_equal(ls_dataset_classes(ds), 65536);
		for (int i = 0; i < 9; i++)
			assert_int_equal(ls_dataset_token(ds, i), tokens[i]);
		assert_int_equal(ls_dataset_root(ds, header ? &headed : &plain), LS_OK);
		ls_dataset_free(ds);
	}
	assert_memory_equal(plain.byte, headed.byte, 32);
	o.limit = 1;
	headed = root_of(&o);
	assert_memory_not_equal(plain.byte, headed.byte, 32);
	o.limit = 0;
	o.holdout = 0.5;
	o.split = "test"; // 2 3 4 5 6
	headed = root_of(&o);
	put_stream(*state, tokens + 5, 5, 0, 0, 0);
	o.holdout = 0;
	o.split = "train";
	plain = root_of(&o);
	assert_memory_equal(plain.byte, headed.byte, 32);
}

static void damaged_streams_are_refused(void **state)
{
	static const uint16_t tokens[20] = {0};
	struct place p;
	ls_dataset_options o = options_of(&p, "tokens", *state);
	uint8_t raw[1023] = {0};
	REFUSES(&o, LS_ERR_NOT_FOUND, "found neither f nor f.gz");
	put(*state, "f", "", 0);
	REFUSES(&o, LS_ERR_INPUT, "byte 0: found an empty file, expected a text, or tokens");
	put(*state, "f", "abc", 3);
	REFUSES(&o, LS_ERR_INPUT, "found 3 bytes, expected two for each token");
	put_stream(*state, tokens, 20, 20240520, 2, 20);
	REFUSES(&o, LS_ERR_INPUT, "header: found 2, a version, expected 1");
	put_stream(*state, tokens, 20, 20240520, 1, 21);
	REFUSES(&o, LS_ERR_INPUT, "header: found 21 tokens, expected as many as follow the header");
	put_stream(*state, tokens, 20, 20240520, 1, UINT32_MAX);
	REFUSES(&o, LS_ERR_INPUT, "header: found 4294967295 tokens");
	put_stream(*state, tokens, 0, 20240520, 1, 0);
	REFUSES(&o, LS_ERR_INPUT, "found 0 tokens, expected at least 5");
	ls_put_le32(raw, 20240520);
	put(*state, "f", raw, 1022);
	REFUSES(&o, LS_ERR_INPUT, "header: found 1022 bytes, expected 1024");
	put_stream(*state, tokens, 4, 0, 0, 0);
	REFUSES(&o, LS_ERR_INPUT, "found 4 tokens, expected at least 5");
	o.path = *state;
	REFUSES(&o, LS_ERR_INPUT, "expected a regular file");
	o.path = "";
	REFUSES(&o, LS_ERR_INPUT, "data.path: found nothing, expected a file", LS_DATASET_BUILTIN);
	o.path = "/tmp/";
	REFUSES(&o, LS_ERR_INPUT, "/tmp/: found a folder, expected a file");
}

static void options_are_checked(void **state)
{
	struct place p;
	ls_dataset_options o = options_of(&p, "text", *state);
	put(*state, "f", "abcdefghij", 10);
	o.length = 0;
	REFUSES(&o, LS_ERR_USAGE, "data.length: found 0, expected 1 to 1048576");
	o.length = LS_DATASET_LENGTH_MAX + 1;
	REFUSES(&o, LS_ERR_USAGE, "data.length: found 1048577");
	o.length = 4;
	o.tokenizer = "words";
	REFUSES(&o, LS_ERR_USAGE, "data.tokenizer: found words, expected bytes or gpt2");
	o.tokenizer = "gpt2";
	REFUSES(&o, LS_ERR_USAGE, "data.vocab: found nothing");
	o.vocab = *state;
	REFUSES(&o, LS_ERR_NOT_FOUND, "vocab.json", "data.vocab names a folder");
	o = options_of(&p, "idx", *state);
	REFUSES(&o, LS_ERR_USAGE, "data.length: found it in a job of data.format idx");
	o.length = 0;
	o.holdout = 0.1;
	REFUSES(&o, LS_ERR_USAGE, "data.holdout: found it in a job of data.format idx");
	assert_true(ls_data_format_is_tokens("text"));
	assert_true(ls_data_format_is_tokens("tokens"));
	assert_false(ls_data_format_is_tokens("idx"));
	assert_false(ls_data_format_is_tokens("nothing"));
}

/* spec/encodings.md, 4, by hand. */
static void roots_by_hand(void **state)
{
	struct place p;
	ls_dataset_options o = options_of(&p, "text", *state);
	ls_hash got, leaf[4], node[2], want;
	ls_hasher *h;
	ls_buf b;
	put(*state, "f", "abcdefg", 7); // five are taken
	got = root_of(&o);
	assert_int_equal(ls_hasher_open(&h, 1, NULL), LS_OK);
	ls_buf_init(&b, 4096);
	ls_buf_bytes(&b, "ls1/data\0", 9);
	ls_buf_str(&b, "text");
	ls_buf_u64(&b, 1);
	ls_buf_u8(&b, 3);
	ls_buf_u64(&b, 1);
	ls_buf_u64(&b, 1);
	ls_buf_u64(&b, 4);
	ls_buf_u32(&b, 3);
	ls_buf_str(&b, "tokenizer");
	ls_buf_u64(&b, 9);
	ls_buf_str(&b, "text");
	ls_buf_u64(&b, 5);
	ls_buf_str(&b, "tokens");
	ls_buf_u64(&b, 10);
	ls_hash_leaf(&leaf[0], b.data, b.len, h);
	ls_hash_leaf(&leaf[1], "ls1/data\1\5\0\0\0bytes", 18, h);
	ls_hash_leaf(&leaf[2], "ls1/data\1abcde", 14, h);
	ls_hash_leaf(&leaf[3], "ls1/data\1a\0b\0c\0d\0e\0", 19, h);
	ls_hash_node(&node[0], &leaf[0], &leaf[1], h);
	ls_hash_node(&node[1], &leaf[2], &leaf[3], h);
	ls_hash_node(&want, &node[0], &node[1], h);
	assert_memory_equal(got.byte, want.byte, 32);
	ls_hasher_free(h);
	ls_buf_free(&b);
}

/* Whatever decides the tokens is in the root. */
static void roots_differ(void **state)
{
	struct place p;
	ls_dataset_options o = options_of(&p, "text", *state);
	ls_hash root[6];
	put(*state, "f", "in the beginning there was the word", 35);
	root[0] = root_of(&o);
	o.length = 2;
	root[1] = root_of(&o);
	o.length = 4;
	o.tokenizer = "gpt2";
	o.vocab = SMALL;
	root[2] = root_of(&o);
	o.tokenizer = "bytes";
	o.holdout = 0.25;
	root[3] = root_of(&o);
	o.holdout = 0;
	put(*state, "f", "in the beginning there was the worm", 35); // a byte that no sequence needs: 33 are taken
	root[4] = root_of(&o);
	assert_memory_equal(root[0].byte, root[4].byte, 32);
	put(*state, "f", "in the beginninG there was the word", 35);
	root[4] = root_of(&o);
	o.path = LS_DATASET_BUILTIN;
	root[5] = root_of(&o);
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < i; j++)
			assert_memory_not_equal(root[i].byte, root[j].byte, 32);
}

static void plain_and_compressed_are_one(void **state)
{
	struct place p;
	ls_dataset_options o = options_of(&p, "text", *state);
	ls_hash plain, packed;
	put(*state, "f", "in the beginning there was the word", 35);
	plain = root_of(&o);
	drop(*state, "f");
	put_gz(*state, "f.gz", "in the beginning there was the word", 35);
	packed = root_of(&o);
	assert_memory_equal(plain.byte, packed.byte, 32);
}

static void the_builtin_text(void **state)
{
	struct place p;
	ls_dataset_options o = options_of(&p, "text", *state);
	ls_dataset *ds;
	char hex[LS_HASH_HEX_SIZE];
	ls_hash root;
	o.path = LS_DATASET_BUILTIN;
	o.length = 64;
	ds = opened(&o);
	assert_int_equal(ls_dataset_count(ds), 141);
	assert_int_equal(ls_dataset_classes(ds), 'z' + 1);
	assert_int_equal(ls_dataset_root(ds, &root), LS_OK);
	ls_hash_hex(hex, &root);
	assert_string_equal(hex, "9901cb446ade4af62663101e63474226a9610a16024c6d9d57c1c3e7d5bb05b8"); // a job that names the text is bound to it
	ls_dataset_free(ds);
	o.path = "builtin:other";
	REFUSES(&o, LS_ERR_INPUT, "data.path: found builtin:other, expected " LS_DATASET_BUILTIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_sequences_are_taken, enter, leave),
		cmocka_unit_test_setup_teardown(the_end_is_held_out, enter, leave),
		cmocka_unit_test_setup_teardown(cuts_are_between_characters, enter, leave),
		cmocka_unit_test_setup_teardown(streams_with_and_without_header, enter, leave),
		cmocka_unit_test_setup_teardown(damaged_streams_are_refused, enter, leave),
		cmocka_unit_test_setup_teardown(options_are_checked, enter, leave),
		cmocka_unit_test_setup_teardown(roots_by_hand, enter, leave),
		cmocka_unit_test_setup_teardown(roots_differ, enter, leave),
		cmocka_unit_test_setup_teardown(plain_and_compressed_are_one, enter, leave),
		cmocka_unit_test_setup_teardown(the_builtin_text, enter, leave),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
