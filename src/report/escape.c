#include "report/page.h"

/* Length of the well-formed UTF-8 character at the front of `s` (RFC 3629: no surrogates, no overlong forms, nothing above
 * U+10FFFF); 0 where there is none. */
static size_t character(const uint8_t *s, size_t len)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
	if (n == 0 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

static const char *entity(uint8_t c)
{
	switch (c) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	default: return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? "\xef\xbf\xbd" : NULL; // controls are not allowed
	}
}

void ls_report__escape(ls_buf *out, const char *text, size_t len)
{
	const uint8_t *s = (const uint8_t *)text;
	for (size_t at = 0; at < len;) {
		size_t n = character(s + at, len - at);
		const char *instead = n == 0 ? "\xef\xbf\xbd" : n == 1 ? entity(s[at]) : NULL;
		if (instead)
			ls_buf_printf(out, "%s", instead);
		else
			ls_buf_bytes(out, text + at, n);
		at += n ? n : 1;
	}
}
