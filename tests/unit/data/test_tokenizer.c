// Tokenizers against what other packages made of the same text (tests/tools/make_token_vectors.py), and hostile vocabularies.
#include "data/data_cases.h"
#include "data/tokenizer.h"

#include <openssl/sha.h>

#define VECTORS LS_TEST_VECTORS "/tokenizer/"
#define TEXT_MAX ((size_t)64 << 20)

static ls_tokenizer *opened_tokenizer(const char *kind, const char *folder)
{
	ls_error err = LS_ERROR_INIT;
	ls_tokenizer *t;
	if (ls_tokenizer_open(&t, kind, folder, &err) != LS_OK)
		fail_msg("%s", err.text);
	return t;
}

static ls_tokenizer *small(void)
{
	return opened_tokenizer("gpt2", VECTORS "small");
}

/* GPT-2's own vocabulary, which is not part of the repository; NULL, and said so, where it is not at hand. */
static ls_tokenizer *whole(char folder[LS_PATH_MAX])
{
	const char *root = getenv("LOCKSTEP_DATA");
	if (!root || ls_path_join(folder, LS_PATH_MAX, root, "gpt2-bpe", NULL) != LS_OK || !ls_file_exists(folder)) {
		print_message("SKIPPED: no gpt2-bpe folder with vocab.json and merges.txt below $LOCKSTEP_DATA\n");
		return NULL;
	}
	return opened_tokenizer("gpt2", folder);
}

static ls_buf encoded(const ls_tokenizer *t, const void *text, size_t len)
{
	ls_error err = LS_ERROR_INIT;
	ls_buf out;
	ls_buf_init(&out, 2 * TEXT_MAX);
	if (ls_tokenizer_encode(t, text, len, &out, &err) != LS_OK)
		fail_msg("%s", err.text);
	return out;
}

static uint16_t token_at(const ls_buf *tokens, size_t i)
{
	return (uint16_t)(tokens->data[2 * i] | tokens->data[2 * i + 1] << 8);
}

static void decodes_to(const ls_tokenizer *t, const ls_buf *tokens, const void *text, size_t len)
{
	ls_buf out;
	ls_buf_init(&out, TEXT_MAX);
	for (size_t i = 0; i < tokens->len / 2; i++) {
		size_t n;
		const uint8_t *bytes;
		assert_true(token_at(tokens, i) < ls_tokenizer_size(t));
		bytes = ls_tokenizer_token(t, token_at(tokens, i), &n);
		ls_buf_bytes(&out, bytes, n);
	}
	assert_int_equal(out.len, len);
	assert_memory_equal(out.data, text, len);
	ls_buf_free(&out);
}

static uint8_t *file_bytes(const char *path, size_t *len)
{
	ls_error err = LS_ERROR_INIT;
	uint8_t *data;
	if (ls_file_read(&data, len, path, TEXT_MAX, &err) != LS_OK)
		fail_msg("%s", err.text);
	return data;
}

static void encodes_as(const ls_tokenizer *t, const char *text_path, const char *tokens_path)
{
	size_t len, want_len;
	uint8_t *text = file_bytes(text_path, &len), *want = file_bytes(tokens_path, &want_len);
	ls_buf got = encoded(t, text, len);
	for (size_t i = 0; i < want_len / 2 && i < got.len / 2; i++)
		if (memcmp(got.data + 2 * i, want + 2 * i, 2))
			fail_msg("token %zu: found %u, expected %u", i, token_at(&got, i), (unsigned)(want[2 * i] | want[2 * i + 1] << 8));
	assert_int_equal(got.len, want_len);
	decodes_to(t, &got, text, len);
	ls_buf_free(&got);
	ls_free(text);
	ls_free(want);
}

static void nasty_text_as_other_packages(void **state)
{
	char folder[LS_PATH_MAX];
	ls_tokenizer *t = small();
	assert_int_equal(ls_tokenizer_size(t), 856);
	encodes_as(t, VECTORS "nasty.txt", VECTORS "nasty.small.tokens");
	ls_tokenizer_free(t);
	t = whole(folder);
	if (!t)
		return;
	assert_int_equal(ls_tokenizer_size(t), 50257);
	assert_int_equal(ls_tokenizer_end_of_text(t), 50256);
	encodes_as(t, VECTORS "nasty.txt", VECTORS "nasty.gpt2.tokens");
	ls_tokenizer_free(t);
}

static void shakespeare_as_other_packages(void **state)
{
	char folder[LS_PATH_MAX], path[LS_PATH_MAX], found[128], hex[65];
	size_t len, want_len;
	uint8_t *text, *want;
	uint8_t hash[32];
	double began;
	ls_tokenizer *t = whole(folder);
	if (!t)
		skip();
	assert_int_equal(ls_path_join(path, sizeof path, getenv("LOCKSTEP_DATA"), "text/shakespeare.txt", NULL), LS_OK);
	text = file_bytes(path, &len);
	want = file_bytes(VECTORS "shakespeare.gpt2.txt", &want_len);
	began = ls_clock_seconds();
	ls_buf got = encoded(t, text, len);
	print_message("%zu bytes in %.3f s\n", len, ls_clock_seconds() - began);
	decodes_to(t, &got, text, len);
	SHA256(got.data, got.len, hash);
	ls_hex(hex, hash, 32);
	snprintf(found, sizeof found, "%zu %s\n", got.len / 2, hex);
	assert_string_equal(found, (char *)want);
	ls_buf_free(&got);
	ls_free(text);
	ls_free(want);
	ls_tokenizer_free(t);
}

/* The rule by itself, without heap or list: while there is a pair with a merge, join the leftmost of the first. */
static size_t merged_plainly(const ls_tokenizer *t, const uint8_t *piece, size_t len, uint16_t *out)
{
	for (size_t i = 0; i < len; i++)
		out[i] = t->of_byte[piece[i]];
	for (;;) {
		const ls_data__merge *best = NULL;
		size_t at = 0;
		for (uint32_t r = 0; r < t->merges && !best; r++)
			for (size_t i = 0; i + 1 < len && !best; i++)
				if (t->merge[r].left == out[i] && t->merge[r].right == out[i + 1]) {
					best = &t->merge[r];
					at = i;
				}
		if (!best)
			return len;
		out[at] = best->whole;
		memmove(out + at + 1, out + at + 2, (len - at - 2) * sizeof *out);
		len--;
	}
}

static uint32_t next_random(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 16;
}

static void words_by_the_plain_rule(void **state)
{
	ls_tokenizer *t = small();
	uint32_t seed = 7;
	size_t shorter = 0;
	for (int n = 0; n < 1500; n++) {
		uint8_t piece[40];
		uint16_t want[40];
		size_t len = 1 + next_random(&seed) % sizeof piece, count;
		for (size_t i = 0; i < len; i++)
			piece[i] = "aehinorst"[next_random(&seed) % 9];
		ls_buf got = encoded(t, piece, len);
		count = merged_plainly(t, piece, len, want);
		assert_int_equal(got.len, 2 * count);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(token_at(&got, i), want[i]);
		shorter += count < len;
		ls_buf_free(&got);
	}
	assert_true(shorter > 1000);
	ls_tokenizer_free(t);
}

static void count_piece(size_t *counts, const uint8_t *piece, size_t len)
{
	counts[0]++;
	counts[1] += len;
}

static ls_status on_piece(void *context, const uint8_t *piece, size_t len, ls_error *err)
{
	count_piece(context, piece, len);
	return LS_OK;
}

static size_t pieces_of(const void *text, size_t len)
{
	size_t counts[2] = {0};
	ls_data__cutter *c;
	assert_int_equal(ls_data__cutter_open(&c, NULL), LS_OK);
	assert_int_equal(ls_data__cut(c, text, len, on_piece, counts, NULL), LS_OK);
	assert_int_equal(counts[1], len);
	ls_data__cutter_free(c);
	return counts[0];
}

static void text_is_cut_at_its_seams(void **state)
{
	static const struct {
		const char *text;
		size_t len, pieces;
	} cases[] = {
		{"", 0, 0}, {"Hello world", 11, 2}, {"a  b", 4, 3}, {"a \xff b", 5, 4}, {"a  \xff", 4, 3}, {"\xff\xfe\x80", 3, 1},
		{"\xed\xa0\x80", 3, 1},              /* a surrogate */
		{"\xc3\xa9\xc3", 3, 2},              /* a letter, and half of one */
		{"\xf4\x90\x80\x80", 4, 1},          /* beyond U+10FFFF */
		{"\xf4\x8f\xbf\xbf", 4, 1}, {"it's", 4, 2}, {"it'S", 4, 3}, {"a\0b", 3, 3},
		{"\xe1\xa0\x8e" "\xc2\x85", 5, 2},   /* U+180E is not white space, U+0085 is */
		{"\xc0\xaf/", 3, 2},                 /* overlong, then a sign */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (pieces_of(cases[i].text, cases[i].len) != cases[i].pieces)
			fail_msg("case %zu: found %zu pieces, expected %zu", i, pieces_of(cases[i].text, cases[i].len), cases[i].pieces);
}

static void any_bytes_come_back(void **state)
{
	ls_tokenizer *both[2] = {small(), opened_tokenizer("bytes", NULL)};
	uint32_t seed = 1;
	for (int n = 0; n < 200; n++) {
		uint8_t text[300];
		size_t len = next_random(&seed) % sizeof text;
		for (size_t i = 0; i < len; i++)
			text[i] = n % 2 ? (uint8_t)next_random(&seed) : (uint8_t)" \xc3\xa9\xe2\x80\x83'sa\n"[next_random(&seed) % 10];
		for (int k = 0; k < 2; k++) {
			ls_buf tokens = encoded(both[k], text, len);
			decodes_to(both[k], &tokens, text, len);
			ls_buf_free(&tokens);
		}
	}
	ls_tokenizer_free(both[0]);
	ls_tokenizer_free(both[1]);
}

static void long_pieces_end(void **state)
{
	size_t len = LS_TOKENIZER_PIECE_MAX;
	uint8_t *text = ls_alloc(len + 1, 1);
	ls_tokenizer *t = small();
	ls_error err = LS_ERROR_INIT;
	ls_buf out;
	for (const char *fill = "a \xff"; *fill; fill++) {
		memset(text, *fill, len + 1);
		if (*fill == ' ')
			text[len] = 'x'; // spaces up to a word are a piece, but for the last one
		ls_buf tokens = encoded(t, text, len);
		decodes_to(t, &tokens, text, len);
		ls_buf_free(&tokens);
	}
	memset(text, 'a', len + 1);
	ls_buf_init(&out, TEXT_MAX);
	assert_int_equal(ls_tokenizer_encode(t, text, len + 1, &out, &err), LS_ERR_LIMIT);
	assert_non_null(strstr(err.text, "without a boundary"));
	ls_buf_free(&out);
	ls_buf_init(&out, 10);
	assert_int_equal(ls_tokenizer_encode(t, "one two three four five six", 27, &out, &err), LS_ERR_LIMIT);
	ls_buf_free(&out);
	ls_tokenizer_free(t);
	ls_free(text);
}

/* ---- vocabularies ---- */

static void refuses_tokenizer(const char *kind, const char *folder, ls_status status, const char *words)
{
	ls_error err = LS_ERROR_INIT;
	ls_tokenizer *t = (ls_tokenizer *)&err;
	ls_status got = ls_tokenizer_open(&t, kind, folder, &err);
	if (!strstr(err.text, words))
		fail_msg("\"%s\" is missing in: %s", words, err.text);
	for (const char *c = err.text; *c; c++)
		assert_true((unsigned char)*c == '\n' || ((unsigned char)*c >= 0x20 && (unsigned char)*c <= 0x7e));
	assert_int_equal(got, status);
	assert_null(t);
}

/* The small vocabulary's text with `from` replaced by `to`. */
static void put_changed(const char *dir, const char *name, const char *from, const char *to)
{
	char path[LS_PATH_MAX];
	size_t len, at = 0;
	uint8_t *text;
	ls_buf out;
	snprintf(path, sizeof path, "%s%s", VECTORS "small/", name);
	text = file_bytes(path, &len);
	while (at < len && strncmp((char *)text + at, from, strlen(from)) != 0)
		at++;
	assert_true(at < len);
	ls_buf_init(&out, TEXT_MAX);
	ls_buf_bytes(&out, text, at);
	ls_buf_bytes(&out, to, strlen(to));
	ls_buf_bytes(&out, text + at + strlen(from), len - at - strlen(from));
	put(dir, name, out.data, out.len);
	ls_buf_free(&out);
	ls_free(text);
}

static void damaged_vocabularies_are_refused(void **state)
{
	static const struct {
		const char *file, *from, *to, *words;
	} cases[] = {
		{"vocab.json", "\"!\": 0", "\"!\": 1", "another token's number"},
		{"vocab.json", "\"!\": 0", "\"!\": 856", "a number too large"},
		{"vocab.json", "\"!\": 0", "\"!\": -1", "no number, or a negative one"},
		{"vocab.json", "\"!\": 0", "\"!\": 0.0", "no number"},
		{"vocab.json", "\"!\": 0", "\"!\": 99999999999999999999999", "too big integer"},
		{"vocab.json", "\"!\": 0", "\"#\": 0", "duplicate object key"},
		{"vocab.json", "\"!\": 0", "\"\\u4e00\": 0", "token 0: found ???"},
		{"vocab.json", "\"!\": 0", "\"\": 0", "token 0"},
		{"vocab.json", "\"!\": 0", "\"!!\": 0", "no token for byte 0x21"},
		{"vocab.json", "\"!\": 0", "\"!\\n\": 0", "token 0: found !?"},
		{"vocab.json", "{", "[", "expected an object of tokens"},
		{"vocab.json", "\"\\u0120t\": 256", "\"\\u0120tqq\": 256", "line 2: found ??t, expected two tokens"},
		{"merges.txt", "\nh e\n", "\nhe\n", "line 4: found he, expected two tokens"},
		{"merges.txt", "\nh e\n", "\nh e r\n", "line 4"},
		{"merges.txt", "\nh e\n", "\nh \n", "line 4"},
		{"merges.txt", "\nh e\n", "\n e\n", "line 4"},
		{"merges.txt", "\nh e\n", "\nq q\n", "line 4: found qq, expected two tokens"},
		{"merges.txt", "\nh e\n", "\nqqq e\n", "line 4: found qqq, expected"},
		{"merges.txt", "\nh e\n", "\ni n\n", "merge 3 a second time"},
		{"merges.txt", "#version", "version", "line 1"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		put_changed(*state, "vocab.json", "{", "{");
		put_changed(*state, "merges.txt", "#version", "#version");
		put_changed(*state, cases[i].file, cases[i].from, cases[i].to);
		refuses_tokenizer("gpt2", *state, LS_ERR_INPUT, cases[i].words);
	}
	put_changed(*state, "merges.txt", "h e\n", "h e\r\n\n"); // line ends of another system, an empty line
	put_changed(*state, "vocab.json", "{", "{");
	ls_tokenizer_free(opened_tokenizer("gpt2", *state));
}

static void missing_and_oversized_are_refused(void **state)
{
	size_t big = 9u << 20;
	char *text = ls_alloc(big, 1);
	refuses_tokenizer("gpt2", NULL, LS_ERR_USAGE, "data.vocab: found nothing");
	refuses_tokenizer("gpt", "", LS_ERR_USAGE, "data.tokenizer: found gpt, expected bytes or gpt2");
	refuses_tokenizer("gpt2", *state, LS_ERR_NOT_FOUND, "vocab.json: found no such file");
	put_changed(*state, "vocab.json", "{", "{");
	refuses_tokenizer("gpt2", *state, LS_ERR_NOT_FOUND, "merges.txt: found no such file");
	put(*state, "vocab.json", "", 0);
	refuses_tokenizer("gpt2", *state, LS_ERR_INPUT, "vocabulary");
	put(*state, "vocab.json", "{}", 2);
	refuses_tokenizer("gpt2", *state, LS_ERR_INPUT, "an object of 256 to 65536 tokens");
	memset(text, ',', big);
	put(*state, "vocab.json", text, big);
	refuses_tokenizer("gpt2", *state, LS_ERR_LIMIT, "expected at most 8388608");
	put(*state, "vocab.json", text, big / 2);
	refuses_tokenizer("gpt2", *state, LS_ERR_LIMIT, "values");
	put_changed(*state, "vocab.json", "{", "{");
	memset(text, '\n', big);
	put(*state, "merges.txt", text, 70000);
	refuses_tokenizer("gpt2", *state, LS_ERR_LIMIT, "70001 lines");
	ls_free(text);
}

/* What a data root says of a tokenizer changes whenever the tokenizer does. */
static void descriptions_differ(void **state)
{
	ls_tokenizer *t[3] = {small(), opened_tokenizer("bytes", NULL), NULL};
	ls_buf text[4];
	put_changed(*state, "vocab.json", "{", "{");
	put_changed(*state, "merges.txt", "h e\ni n\n", "i n\nh e\n");
	t[2] = opened_tokenizer("gpt2", *state);
	for (int i = 0; i < 4; i++) {
		ls_buf_init(&text[i], TEXT_MAX);
		ls_tokenizer_describe(t[i % 3], &text[i]);
		assert_int_equal(text[i].status, LS_OK);
	}
	assert_int_equal(text[0].len, text[2].len);
	assert_memory_not_equal(text[0].data, text[2].data, text[0].len);
	assert_int_equal(text[1].len, 9);
	assert_memory_equal(text[1].data, "\5\0\0\0bytes", 9);
	assert_int_equal(text[3].len, text[0].len);
	assert_memory_equal(text[3].data, text[0].data, text[0].len);
	for (int i = 0; i < 4; i++)
		ls_buf_free(&text[i]);
	for (int i = 0; i < 3; i++)
		ls_tokenizer_free(t[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nasty_text_as_other_packages),
		cmocka_unit_test(shakespeare_as_other_packages),
		cmocka_unit_test(words_by_the_plain_rule),
		cmocka_unit_test(text_is_cut_at_its_seams),
		cmocka_unit_test(any_bytes_come_back),
		cmocka_unit_test(long_pieces_end),
		cmocka_unit_test_setup_teardown(damaged_vocabularies_are_refused, enter, leave),
		cmocka_unit_test_setup_teardown(missing_and_oversized_are_refused, enter, leave),
		cmocka_unit_test_setup_teardown(descriptions_differ, enter, leave),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
