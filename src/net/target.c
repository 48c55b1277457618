/* What a peer asks for: the target of a request in its parts, and which route that is. */
#include <lockstep/net.h>

/* Letters, digits and a few signs: no escapes, no slash, nothing that a file system or a log could take for something else. */
static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '~' || c == '-';
}

static ls_status refuse(ls_error *err, const char *found)
{
	return ls_error_input(err, "request", "target", found, "/SEGMENT/…?NAME=VALUE&… of letters, digits and . _ ~ -", NULL);
}

/* Ends the run of plain characters at `at` (in a query also commas) with a NUL in place of what followed, which it returns. */
static char take_word(char *text, size_t *at, bool query)
{
	char next;
	while (is_plain((unsigned char)text[*at]) || (query && text[*at] == ','))
		(*at)++;
	next = text[*at];
	text[*at] = 0;
	return next;
}

static ls_status take_path(ls_http_target *t, size_t *at, char *next, ls_error *err)
{
	*next = t->text[0];
	if (*next != '/')
		return refuse(err, "no slash at its beginning");
	if (!t->text[1] || t->text[1] == '?') { // the root is the only path that ends in a slash
		t->text[0] = 0;
		*next = t->text[1];
		*at = 1;
		return LS_OK;
	}
	while (*next == '/') {
		const char *segment = t->text + ++*at;
		*next = take_word(t->text, at, false);
		if (t->segments == sizeof t->segment / sizeof *t->segment)
			return refuse(err, "too many segments");
		if (!*segment || !strcmp(segment, ".") || !strcmp(segment, ".."))
			return refuse(err, "an empty segment, or dots");
		if (strlen(segment) > LS_HTTP_PART_MAX)
			return refuse(err, "a segment of more than 127 bytes");
		t->segment[t->segments++] = segment;
	}
	return LS_OK;
}

static ls_status take_query(ls_http_target *t, size_t *at, char *next, ls_error *err)
{
	while (*next == '?' || *next == '&') {
		const char *name = t->text + ++*at;
		if (take_word(t->text, at, true) != '=' || !*name)
			return refuse(err, "a member of the query that is not NAME=VALUE");
		if (t->members == LS_HTTP_QUERY_MAX)
			return refuse(err, "too many members of the query");
		for (size_t i = 0; i < t->members; i++)
			if (!strcmp(t->name[i], name))
				return refuse(err, "a member of the query twice");
		t->name[t->members] = name;
		t->value[t->members++] = t->text + ++*at;
		*next = take_word(t->text, at, true);
		if (*next == '?')
			return refuse(err, "a second question mark");
	}
	return LS_OK;
}

ls_status ls_http_target_parse(ls_http_target *out, const char *text, size_t len, ls_error *err)
{
	ls_status status = LS_OK;
	size_t at = 0;
	char next;
	memset(out, 0, sizeof *out);
	if (len > LS_HTTP_TARGET_MAX)
		return refuse(err, "more than 1023 bytes");
	memcpy(out->text, text, len);
	if (strlen(out->text) != len)
		return refuse(err, "a NUL byte");
	memcpy(out->copy, text, strcspn(out->text, "?"));
	out->path = out->copy;
	LS_TRY(take_path(out, &at, &next, err));
	LS_TRY(take_query(out, &at, &next, err));
	if (next)
		status = refuse(err, "a character that no target has");
done:
	return status;
}

bool ls_http_route_matches(const ls_http_route *route, const ls_http_target *target, const char *part[LS_HTTP_PARTS_MAX], size_t *parts)
{
	const char *at = route->path;
	size_t i = 0;
	*parts = 0;
	if (!strcmp(at, "/"))
		return target->segments == 0;
	for (; *at == '/'; i++) {
		size_t len = strcspn(++at, "/");
		if (i == target->segments)
			return false;
		if (*at == '{' && *parts < LS_HTTP_PARTS_MAX)
			part[(*parts)++] = target->segment[i];
		else if (strlen(target->segment[i]) != len || memcmp(at, target->segment[i], len))
			return false;
		at += len;
	}
	return i == target->segments;
}

bool ls_http_number(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t n = 0;
	if (!*text || (*text == '0' && text[1]))
		return false;
	for (; *text; text++)
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return false;
	*out = n;
	return n <= max;
}
