/* Statements of tests/vectors: WORDS… = RESULT, one a line. A test gives the answers. */
#ifndef LS_TEST_BASE_STATEMENTS_H
#define LS_TEST_BASE_STATEMENTS_H

#include "base/vectors.h"

#define ANSWER_SIZE (1 << 20)

typedef struct answer {
	char *text; /* ANSWER_SIZE bytes */
	size_t len;
} answer;

static inline void answer_put(answer *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline void answer_put(answer *a, const char *format, ...)
{
	va_list args;
	int n;
	va_start(args, format);
	n = vsnprintf(a->text + a->len, ANSWER_SIZE - a->len, format, args);
	va_end(args);
	assert_in_range(n, 0, ANSWER_SIZE - a->len - 1);
	a->len += (size_t)n;
}

static inline void answer_word(answer *a, float v)
{
	answer_put(a, "%08x", ls_bits_f32(v));
}

static inline void answer_f64(answer *a, double x)
{
	answer_put(a, "%016llx", (unsigned long long)ls_bits_f64(x));
}

/* Puts the answer to the line's first `words` words; false where it does not know the statement. */
typedef bool (*answer_fn)(const vectors *v, int words, answer *a);

/* What is done to a statement before it is asked. */
typedef enum spoil { SPOIL_NOTHING, SPOIL_INPUT, SPOIL_RESULT } spoil;

/* Turns the last digit of a word into another that fits its kind. */
static inline void spoil_word(char *word)
{
	char *last = word + strlen(word) - 1;
	*last = *last == '0' ? '1' : *last == '1' ? '0' : *last == '2' ? '3' : '2';
}

static inline void answer_join(answer *a, const vectors *v, int from)
{
	for (int i = from; i < v->words; i++)
		answer_put(a, "%s%s", i > from ? " " : "", v->word[i]);
}

/* Asks every statement of a file; returns how many were asked. `*differing` counts those whose answer was not the result;
 * with nothing spoilt each of them is complained about. */
static inline int statements_run(const char *name, answer_fn fn, spoil how, int *differing)
{
	vectors v;
	answer found = {calloc(1, ANSWER_SIZE), 0}, expected = {calloc(1, ANSWER_SIZE), 0};
	int asked = 0;
	*differing = 0;
	assert_non_null(found.text);
	assert_non_null(expected.text);
	vectors_open(&v, name);
	while (vectors_next(&v)) {
		int equals = 0;
		found.len = expected.len = 0;
		found.text[0] = expected.text[0] = 0;
		while (equals < v.words && !vectors_is(&v, equals, "="))
			equals++;
		vectors_expect(&v, equals < v.words, "expected a =");
		answer_join(&expected, &v, equals + 1);
		if (how == SPOIL_INPUT && equals > 1 && !vectors_is(&v, equals - 1, "-"))
			spoil_word(v.word[equals - 1]);
		if (how == SPOIL_RESULT)
			answer_put(&expected, "?");
		vectors_expect(&v, fn(&v, equals, &found), "an unknown statement");
		if (strcmp(found.text, expected.text)) {
			(*differing)++;
			if (how == SPOIL_NOTHING)
				print_message("%s:%d: found %.200s, expected %.200s\n", v.path, v.line, found.text, expected.text);
		}
		asked++;
	}
	vectors_close(&v);
	free(found.text);
	free(expected.text);
	return asked;
}

/* All agree; none does with another result; and of those with a spoilt input at least one in `share` differs. */
static inline void statements_check(const char *name, answer_fn fn, int share)
{
	int differing, asked = statements_run(name, fn, SPOIL_NOTHING, &differing);
	assert_true(asked > 0);
	assert_int_equal(differing, 0);
	assert_int_equal(statements_run(name, fn, SPOIL_RESULT, &differing), asked);
	assert_int_equal(differing, asked);
	statements_run(name, fn, SPOIL_INPUT, &differing);
	print_message("%s: %d statements; a spoilt input shows in %d\n", name, asked, differing);
	assert_true(differing * share >= asked);
}

#endif
