/* vocab.json and merges.txt of GPT-2's tokenizer: what they may say, and that they fit together. */
#include "data/tokenizer.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX (8u << 20)
#define SIGNS_MAX (4u * LS_TOKENIZER_VOCAB_MAX) /* commas and colons of vocab.json; jansson needs memory for each */
#define SPELLED_MAX (2 * LS_TOKENIZER_TOKEN_MAX) /* a byte is spelled as a character of one or two bytes */

typedef struct reading {
	ls_tokenizer *t;
	char path[LS_PATH_MAX]; /* of the file that is being read */
	json_t *vocab;
	ls_error *err;
} reading;

static void make_harmless(char *out, size_t size, const char *text)
{
	size_t n = 0;
	for (; text[n] && n + 1 < size; n++)
		out[n] = text[n] < 0x20 || text[n] > 0x7e ? '?' : text[n];
	out[n] = 0;
}

static ls_status complain(const reading *r, const char *place, const char *found, const char *expected)
{
	char shown[96], shown_place[64];
	make_harmless(shown, sizeof shown, found);
	make_harmless(shown_place, sizeof shown_place, place);
	return ls_error_input(r->err, r->path, shown_place, shown, expected, "data.vocab names a folder with GPT-2's vocab.json and merges.txt");
}

static ls_status no_memory(const reading *r)
{
	return ls_error_set(r->err, LS_ERR_NOMEM, "%s: no memory for a vocabulary", r->path);
}

/* ---- how bytes are spelled ---- */

/* GPT-2's files spell a byte as a printable character: itself where it is one in Latin-1, else the next of U+0100 …. */
static bool spells_itself(int byte)
{
	return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

static int character_of(int byte)
{
	int others = 0;
	if (spells_itself(byte))
		return byte;
	for (int b = 0; b < byte; b++)
		others += !spells_itself(b);
	return 256 + others;
}

/* Bytes of a spelled text into `out`; −1 where it holds another character or more than LS_TOKENIZER_TOKEN_MAX. */
static int unspell(uint8_t *out, const char *text, const int16_t byte_of[512])
{
	int count = 0;
	const uint8_t *p = (const uint8_t *)text;
	while (*p) {
		int character = *p < 0x80 ? *p : (*p & 0x1f) << 6 | (p[1] & 0x3f);
		if (*p >= 0x80 && ((*p & 0xe0) != 0xc0 || (p[1] & 0xc0) != 0x80))
			return -1;
		if (character >= 512 || byte_of[character] < 0 || count == LS_TOKENIZER_TOKEN_MAX)
			return -1;
		out[count++] = (uint8_t)byte_of[character];
		p += *p < 0x80 ? 1 : 2;
	}
	return count;
}

static void spell_table(int16_t byte_of[512])
{
	for (int c = 0; c < 512; c++)
		byte_of[c] = -1;
	for (int b = 0; b < 256; b++)
		byte_of[character_of(b)] = (int16_t)b;
}

/* ---- vocab.json ---- */

static ls_status parse_vocab(reading *r, const uint8_t *text, size_t len)
{
	json_error_t why;
	size_t signs = 0;
	for (size_t i = 0; i < len; i++)
		signs += text[i] == ',' || text[i] == ':' || text[i] == '[' || text[i] == '{';
	if (signs > SIGNS_MAX)
		return ls_error_set(r->err, LS_ERR_LIMIT, "%s: found more than %u values, expected fewer", r->path, SIGNS_MAX);
	r->vocab = json_loadb((const char *)text, len, JSON_REJECT_DUPLICATES, &why);
	if (!r->vocab)
		return complain(r, "vocabulary", why.text, "an object of tokens and their numbers, each token once");
	if (!json_is_object(r->vocab) || json_object_size(r->vocab) < 256 || json_object_size(r->vocab) > LS_TOKENIZER_VOCAB_MAX)
		return complain(r, "vocabulary", "something else", "an object of 256 to 65536 tokens and their numbers");
	return LS_OK;
}

/* Sorts the names by number: spelled[number]. */
static ls_status order_vocab(const reading *r, const char **spelled)
{
	const char *name;
	json_t *value;
	char place[64];
	json_object_foreach(r->vocab, name, value) {
		json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
		if (number >= 0 && number < r->t->size && !spelled[number]) {
			spelled[number] = name;
			continue;
		}
		snprintf(place, sizeof place, "token '%.40s'", name);
		return complain(r, place, number < 0 ? "no number, or a negative one" : number < r->t->size ? "another token's number" : "a number too large",
		                "each number from 0 to the number of tokens minus 1 once");
	}
	return LS_OK;
}

static ls_status keep_token(const reading *r, int32_t number, const char *spelled, const int16_t byte_of[512])
{
	ls_tokenizer *t = r->t;
	char place[32];
	int len = unspell(t->bytes + t->start[number], spelled, byte_of);
	snprintf(place, sizeof place, "token %d", number);
	if (len < 1)
		return complain(r, place, spelled, "1 to 255 characters, each of which spells a byte");
	t->start[number + 1] = t->start[number] + (uint32_t)len;
	return LS_OK;
}

/* Every byte that is a token by itself; the others are missing. */
static ls_status find_bytes(const reading *r)
{
	bool found[256] = {false};
	ls_tokenizer *t = r->t;
	char text[32];
	for (int32_t i = 0; i < t->size; i++)
		if (t->start[i + 1] - t->start[i] == 1) {
			t->of_byte[t->bytes[t->start[i]]] = (uint16_t)i;
			found[t->bytes[t->start[i]]] = true;
		}
	for (int b = 0; b < 256; b++)
		if (!found[b]) {
			snprintf(text, sizeof text, "no token for byte 0x%02x", b);
			return complain(r, "vocabulary", text, "a token for each byte");
		}
	return LS_OK;
}

static ls_status read_vocab(reading *r)
{
	ls_status status;
	ls_tokenizer *t = r->t;
	uint8_t *text = NULL;
	size_t len;
	const char **spelled = NULL;
	int16_t byte_of[512];
	spell_table(byte_of);
	LS_TRY(ls_file_read(&text, &len, r->path, FILE_MAX, r->err));
	LS_TRY(parse_vocab(r, text, len));
	t->size = (int32_t)json_object_size(r->vocab);
	spelled = ls_alloc((size_t)t->size, sizeof *spelled);
	t->start = ls_alloc((size_t)t->size + 1, sizeof *t->start);
	t->bytes = ls_alloc((size_t)t->size, LS_TOKENIZER_TOKEN_MAX);
	if (!spelled || !t->start || !t->bytes) {
		status = no_memory(r);
		goto done;
	}
	LS_TRY(order_vocab(r, spelled)); // size numbers for size tokens: none is left out
	for (int32_t i = 0; i < t->size; i++)
		LS_TRY(keep_token(r, i, spelled[i], byte_of));
	LS_TRY(find_bytes(r));
done:
	ls_free(spelled);
	ls_free(text);
	return status;
}

/* ---- merges.txt ---- */

static ls_status number_of(const reading *r, const char *place, const char *spelled, uint16_t *out)
{
	json_t *value = json_object_get(r->vocab, spelled);
	if (!value)
		return complain(r, place, spelled, "two tokens of vocab.json that make a third one");
	*out = (uint16_t)json_integer_value(value); // below size, which order_vocab checked
	return LS_OK;
}

/* A line "left right". */
static ls_status keep_merge(const reading *r, char *line, size_t line_number)
{
	ls_status status;
	char place[32], whole[2 * SPELLED_MAX + 1], *space = strchr(line, ' ');
	ls_data__merge *m = &r->t->merge[r->t->merges];
	snprintf(place, sizeof place, "line %zu", line_number);
	if (!space || strchr(space + 1, ' ') || strlen(line) > sizeof whole)
		return complain(r, place, line, "two tokens with a space between them");
	*space = 0;
	snprintf(whole, sizeof whole, "%s%s", line, space + 1);
	m->rank = r->t->merges;
	LS_TRY(number_of(r, place, line, &m->left));
	LS_TRY(number_of(r, place, space + 1, &m->right));
	LS_TRY(number_of(r, place, whole, &m->whole));
	r->t->merges++;
done:
	return status;
}

static size_t count_lines(const uint8_t *text, size_t len)
{
	size_t lines = 1;
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	return lines;
}

/* Cuts the text at its line ends, which become NUL. */
static ls_status keep_merges(const reading *r, char *text, size_t len)
{
	ls_status status = LS_OK;
	size_t number = 0;
	for (char *line = text, *next; line < text + len; line = next) {
		char *end = memchr(line, '\n', (size_t)(text + len - line));
		next = end ? end + 1 : text + len;
		if (end)
			*end = 0; // the file's last line ends with the NUL behind it
		number++;
		if (end > line && end[-1] == '\r')
			end[-1] = 0;
		if (!line[0] || (number == 1 && strncmp(line, "#version", 8) == 0))
			continue;
		LS_TRY(keep_merge(r, line, number));
	}
done:
	return status;
}

static ls_status read_merges(reading *r)
{
	ls_status status;
	uint8_t *text = NULL;
	size_t len, lines;
	LS_TRY(ls_file_read(&text, &len, r->path, FILE_MAX, r->err));
	lines = count_lines(text, len);
	if (lines > LS_TOKENIZER_VOCAB_MAX + 2) {
		status = ls_error_set(r->err, LS_ERR_LIMIT, "%s: found %zu lines, expected at most %d", r->path, lines, LS_TOKENIZER_VOCAB_MAX + 2);
		goto done;
	}
	r->t->merge = ls_alloc(lines, sizeof *r->t->merge);
	if (!r->t->merge) {
		status = no_memory(r);
		goto done;
	}
	LS_TRY(keep_merges(r, (char *)text, len));
	LS_TRY(ls_data__bpe_index(r->t, r->path, r->err));
done:
	ls_free(text);
	return status;
}

ls_status ls_data__bpe_read(ls_tokenizer *t, const char *folder, ls_error *err)
{
	ls_status status;
	reading r = {.t = t, .err = err};
	LS_TRY(ls_path_join(r.path, sizeof r.path, folder, "vocab.json", err));
	LS_TRY(read_vocab(&r));
	LS_TRY(ls_path_join(r.path, sizeof r.path, folder, "merges.txt", err));
	LS_TRY(read_merges(&r));
done:
	if (status == LS_ERR_NOT_FOUND)
		ls_error_set(err, status, "%s: found no such file, expected GPT-2's vocabulary\n"
		             "  hint: data.vocab names a folder with vocab.json and merges.txt", r.path);
	json_decref(r.vocab);
	return status;
}
