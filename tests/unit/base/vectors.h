/* Reads the files of tests/vectors: lines of words between single blanks (tests/vectors/README.md). Complaints name file and
 * line.
 */
#ifndef LS_TEST_BASE_VECTORS_H
#define LS_TEST_BASE_VECTORS_H

#include "base/support.h"

#define VECTOR_WORDS 8192

typedef struct vectors {
	char path[TEST_PATH];
	char *text, *at;
	int line;
	char *word[VECTOR_WORDS]; /* of the present line */
	int words;
} vectors;

static inline void vectors_open(vectors *v, const char *name)
{
	uint8_t *data;
	size_t len;
	ls_error err = LS_ERROR_INIT;
	*v = (vectors){.line = 0};
	snprintf(v->path, sizeof v->path, "%s/%s", LS_TEST_VECTORS, name);
	assert_ok(ls_file_read(&data, &len, v->path, 1 << 24, &err));
	v->text = v->at = (char *)data;
}

static inline void vectors_close(vectors *v)
{
	ls_free(v->text);
}

static inline void vectors_split(vectors *v, char *line)
{
	char *rest = line;
	v->words = 0;
	for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		assert_in_range(v->words, 0, VECTOR_WORDS - 1);
		v->word[v->words++] = word;
	}
}

/* Splits the next line that says something; false at the end of the file. */
static inline bool vectors_next(vectors *v)
{
	while (*v->at) {
		char *line = v->at, *end = strchr(line, '\n');
		v->at = end ? end + 1 : line + strlen(line);
		if (end)
			*end = 0;
		v->line++;
		if (!line[0] || line[0] == '#')
			continue;
		vectors_split(v, line);
		return true;
	}
	return false;
}

static inline void vectors_complain(const vectors *v, const char *what)
{
	print_message("%s:%d: %s\n", v->path, v->line, what);
	fail();
}

/* Fails with the line's place unless `good`. */
static inline void vectors_expect(const vectors *v, bool good, const char *what)
{
	if (!good)
		vectors_complain(v, what);
}

static inline uint64_t vectors_number(const vectors *v, const char *word, int base)
{
	char *end = NULL;
	unsigned long long n = word ? strtoull(word, &end, base) : 0;
	vectors_expect(v, word && end && *end == 0 && end != word, "expected a number");
	return n;
}

static inline int64_t vectors_int(const vectors *v, int word)
{
	vectors_expect(v, word < v->words, "expected more words");
	return v->word[word][0] == '-' ? -(int64_t)vectors_number(v, v->word[word] + 1, 10) : (int64_t)vectors_number(v, v->word[word], 10);
}

static inline uint32_t vectors_hex32(const vectors *v, int word)
{
	vectors_expect(v, word < v->words && strlen(v->word[word]) == 8, "expected 8 hex digits");
	return (uint32_t)vectors_number(v, v->word[word], 16);
}

static inline double vectors_f64(const vectors *v, int word)
{
	vectors_expect(v, word < v->words && strlen(v->word[word]) == 16, "expected 16 hex digits");
	return ls_f64_bits(vectors_number(v, v->word[word], 16));
}

static inline bool vectors_is(const vectors *v, int word, const char *text)
{
	return word < v->words && !strcmp(v->word[word], text);
}

/* "2x3x4" */
static inline int vectors_dims(const vectors *v, int word, int64_t out[4])
{
	const char *at = word < v->words ? v->word[word] : "";
	int rank = 0;
	while (*at) {
		char *end;
		vectors_expect(v, rank < 4, "expected at most 4 dimensions");
		out[rank++] = strtoll(at, &end, 10);
		vectors_expect(v, end != at, "expected dimensions");
		at = *end == 'x' ? end + 1 : end;
	}
	return rank;
}

#endif
