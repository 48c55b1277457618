/* GPT-2's pattern: text into pieces, within which pairs are merged. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "data/tokenizer.h"

#include <pcre2.h>
#include <stdio.h>

/* The property White_Space, which is stable, in place of \s, which libraries read differently (U+180E, U+0085). */
#define SPACES "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

static const char pattern[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SPACES "\\p{L}\\p{N}]+|[" SPACES "]+(?![^" SPACES
                              "])|[" SPACES "]+";

struct ls_data__cutter {
	pcre2_code *code;
};

ls_status ls_data__cutter_open(ls_data__cutter **out, ls_error *err)
{
	int why;
	PCRE2_SIZE where;
	ls_data__cutter *c = ls_alloc(1, sizeof *c);
	*out = NULL;
	if (!c)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a tokenizer");
	c->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_ANCHORED, &why, &where, NULL);
	if (!c->code) {
		ls_free(c);
		return ls_error_set(err, why == PCRE2_ERROR_NOMEMORY ? LS_ERR_NOMEM : LS_ERR_INTERNAL,
		                    "libpcre2 does not take the tokenizer's pattern (error %d at %zu)", why, (size_t)where);
	}
	pcre2_jit_compile(c->code, PCRE2_JIT_COMPLETE); // where it fails, matching is slower and the same
	*out = c;
	return LS_OK;
}

void ls_data__cutter_free(ls_data__cutter *c)
{
	if (!c)
		return;
	pcre2_code_free(c->code);
	ls_free(c);
}

/* ---- UTF-8 ---- */

static bool continues(const uint8_t *p, size_t count)
{
	for (size_t i = 1; i <= count; i++)
		if ((p[i] & 0xc0) != 0x80)
			return false;
	return true;
}

/* RFC 3629: the second byte's range excludes overlong forms, surrogates, and what lies beyond U+10FFFF. */
size_t ls_data__utf8_length(const uint8_t *p, size_t left)
{
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf && left >= 2 && continues(p, 1))
		return 2;
	if (p[0] >= 0xe0 && p[0] <= 0xef && left >= 3 && continues(p, 2))
		return (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ? 0 : 3;
	if (p[0] >= 0xf0 && p[0] <= 0xf4 && left >= 4 && continues(p, 3))
		return (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f) ? 0 : 4;
	return 0;
}

/* Bytes from `p` on up to where text turns into something else, or the other way round. */
static size_t run_length(const uint8_t *p, size_t left, bool well_formed)
{
	size_t at = 0;
	while (at < left) {
		size_t step = ls_data__utf8_length(p + at, left - at);
		if (well_formed != (step > 0))
			break;
		at += step ? step : 1;
	}
	return at;
}

/* ---- pieces ---- */

/* Every character begins a match, and matches are not empty, so each goes on where the last one ended. */
static ls_status cut_run(const ls_data__cutter *c, pcre2_match_data *match, const uint8_t *text, size_t len,
                         ls_data__piece_fn fn, void *context, ls_error *err)
{
	ls_status status = LS_OK;
	size_t at = 0;
	while (at < len) {
		int found = pcre2_match(c->code, text, len, at, PCRE2_NO_UTF_CHECK, match, NULL);
		size_t end = found > 0 ? pcre2_get_ovector_pointer(match)[1] : 0;
		if (found < 1 || end <= at) {
			status = ls_error_set(err, found == PCRE2_ERROR_NOMEMORY ? LS_ERR_NOMEM : LS_ERR_INTERNAL,
			                      "libpcre2 could not cut a text at byte %zu (error %d)", at, found);
			goto done;
		}
		LS_TRY(fn(context, text + at, end - at, err));
		at = end;
	}
done:
	return status;
}

ls_status ls_data__cut(const ls_data__cutter *c, const uint8_t *text, size_t len, ls_data__piece_fn fn, void *context,
                       ls_error *err)
{
	ls_status status = LS_OK;
	pcre2_match_data *match = pcre2_match_data_create_from_pattern(c->code, NULL);
	if (!match)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory to cut a text");
	for (size_t at = 0; at < len;) {
		size_t run = run_length(text + at, len - at, true);
		LS_TRY(cut_run(c, match, text + at, run, fn, context, err));
		at += run;
		run = run_length(text + at, len - at, false);
		if (run)
			LS_TRY(fn(context, text + at, run, err));
		at += run;
	}
done:
	pcre2_match_data_free(match);
	return status;
}
