#include <lockstep/commit.h>

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>

#define ORIGIN "lockstep/"
#define BASE64_LEN 44 /* of 32 bytes */
#define DIGITS_MAX 20 /* of a u64 */

void ls_head_encode(char out[LS_HEAD_TEXT_SIZE], const ls_head *head)
{
	char run[LS_HASH_HEX_SIZE];
	unsigned char root[BASE64_LEN + 1];
	ls_hash_hex(run, &head->run);
	EVP_EncodeBlock(root, head->root.byte, LS_HASH_BYTES);
	snprintf(out, LS_HEAD_TEXT_SIZE, ORIGIN "%s\n%" PRIu64 "\n%s\n", run, head->size, (const char *)root);
}

/* Copies the line at *at, without its newline, and moves past it. False where it is longer than `max` or not ended. */
static bool take_line(char *line, size_t max, const char *text, size_t len, size_t *at)
{
	const char *end = memchr(text + *at, '\n', len - *at);
	size_t n = end ? (size_t)(end - (text + *at)) : 0;
	if (!end || n > max)
		return false;
	memcpy(line, text + *at, n);
	line[n] = 0;
	*at += n + 1;
	return true;
}

static bool parse_run(ls_hash *out, const char *line)
{
	size_t n = strlen(ORIGIN);
	return strncmp(line, ORIGIN, n) == 0 && ls_hash_unhex(out, line + n);
}

static bool parse_size(uint64_t *out, const char *line)
{
	*out = 0;
	for (; *line; line++) {
		uint64_t digit = (uint64_t)(*line - '0');
		if (*line < '0' || *line > '9' || *out > (UINT64_MAX - digit) / 10)
			return false;
		*out = *out * 10 + digit;
	}
	return *out > 0;
}

static bool parse_root(ls_hash *out, const char *line)
{
	unsigned char decoded[BASE64_LEN / 4 * 3];
	if (strlen(line) != BASE64_LEN)
		return false;
	if (EVP_DecodeBlock(decoded, (const unsigned char *)line, BASE64_LEN) != sizeof decoded)
		return false;
	memcpy(out->byte, decoded, LS_HASH_BYTES); // the last decoded byte stands for the padding
	return true;
}

static ls_status complain(ls_error *err, const char *place, const char *found, const char *expected)
{
	return ls_error_input(err, NULL, place, found, expected, NULL);
}

ls_status ls_head_parse(ls_head *out, const char *text, size_t len, ls_error *err)
{
	char line[LS_HEAD_TEXT_SIZE], again[LS_HEAD_TEXT_SIZE];
	ls_head head;
	size_t at = 0;
	if (!take_line(line, strlen(ORIGIN) + 2 * LS_HASH_BYTES, text, len, &at) || !parse_run(&head.run, line))
		return complain(err, "head: line 1", "another text", "lockstep/ and the run id in 64 hex digits");
	if (!take_line(line, DIGITS_MAX, text, len, &at) || !parse_size(&head.size, line))
		return complain(err, "head: line 2", "another text", "the number of leaves, 1 or more, in decimal");
	if (!take_line(line, BASE64_LEN, text, len, &at) || !parse_root(&head.root, line))
		return complain(err, "head: line 3", "another text", "the root, 32 bytes in base64");
	if (at != len)
		return complain(err, "head: line 4", "more text", "the end of the head, without signature lines");
	// One text per head: upper-case hex, leading zeros, blanks and stray base64 bits all end here.
	ls_head_encode(again, &head);
	if (strlen(again) != len || memcmp(again, text, len) != 0)
		return complain(err, "head", "a spelling that is not canonical", again);
	*out = head;
	return LS_OK;
}
