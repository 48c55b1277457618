// A tokenizer's files, vocab.json and, behind the first NUL byte, merges.txt. What opens gives any text back.
#include "fuzz.h"

#include <lockstep/tokenizer.h>

#include <sys/stat.h>

static void encode(const ls_tokenizer *t, const uint8_t *text, size_t len)
{
	size_t at = 0;
	ls_buf tokens;
	ls_buf_init(&tokens, 1 << 20);
	if (len > 4096)
		len = 4096;
	FUZZ_CHECK(ls_tokenizer_encode(t, text, len, &tokens, NULL) == LS_OK);
	for (size_t i = 0; i < tokens.len; i += 2) {
		size_t n;
		int32_t token = tokens.data[i] | tokens.data[i + 1] << 8;
		const uint8_t *bytes;
		FUZZ_CHECK(token < ls_tokenizer_size(t));
		bytes = ls_tokenizer_token(t, token, &n);
		FUZZ_CHECK(n >= 1 && n <= len - at && memcmp(text + at, bytes, n) == 0);
		at += n;
	}
	FUZZ_CHECK(at == len);
	ls_buf_free(&tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_tokenizer *t = NULL;
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t vocab = end ? (size_t)(end - data) : size;
	mkdir(fuzz_path("vocab"), 0755);
	fuzz_write("vocab/vocab.json", data, vocab);
	fuzz_write("vocab/merges.txt", end ? end + 1 : data, end ? size - vocab - 1 : 0);
	if (ls_tokenizer_open(&t, "gpt2", fuzz_path("vocab"), NULL) == LS_OK)
		encode(t, data, size);
	ls_tokenizer_free(t);
	return 0;
}
