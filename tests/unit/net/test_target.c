/* Targets of requests, routes, numbers and ranges: what is accepted, and that everything else is not. */
#include <lockstep/net.h>

#include "base/support.h"

#include <stdio.h>

static bool parses(const char *text)
{
	ls_http_target t;
	ls_error err = LS_ERROR_INIT;
	ls_status status = ls_http_target_parse(&t, text, strlen(text), &err);
	assert_true(status == LS_OK || (status == LS_ERR_INPUT && err.text[0]));
	return status == LS_OK;
}

static void targets_in_parts(void **state)
{
	ls_http_target t;
	assert_int_equal(ls_http_target_parse(&t, "/v1/runs/ab?first=1&count=20", 28, NULL), LS_OK);
	assert_string_equal(t.path, "/v1/runs/ab");
	assert_int_equal(t.segments, 3);
	assert_string_equal(t.segment[0], "v1");
	assert_string_equal(t.segment[2], "ab");
	assert_int_equal(t.members, 2);
	assert_string_equal(t.name[0], "first");
	assert_string_equal(t.value[0], "1");
	assert_string_equal(t.name[1], "count");
	assert_string_equal(t.value[1], "20");
	assert_int_equal(ls_http_target_parse(&t, "/?a=", 4, NULL), LS_OK);
	assert_int_equal(t.segments, 0);
	assert_string_equal(t.value[0], "");
	assert_int_equal(ls_http_target_parse(&t, "/", 1, NULL), LS_OK);
	assert_int_equal(t.members, 0);
}

static void other_targets_are_refused(void **state)
{
	static const char *const good[] = {"/a", "/a/b.c", "/a-b_c~d", "/a?b=c", "/...", "/.a"};
	static const char *const bad[] = {
		"", "a", "*", "//", "/a/", "//a", "/a//b", "/.", "/..", "/../a", "/a/..", "/a/./b", "/%2e%2e", "/a%00", "/a b", "/a\\b", "/a?b", "/a?b=c&",
		"/a?=c", "/a?b=c&b=d", "/a?b=c?d=e", "/a#b", "/a?b=%20", "/a?b=c/d", "http://host/a", "/\xc3\xa4", "/a\n", "/a?b=c=d",
		"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", "/a?1=&2=&3=&4=&5=&6=&7=&8=&9=",
	};
	char longest[LS_HTTP_TARGET_MAX + 3], segment[LS_HTTP_PART_MAX + 3];
	ls_http_target t;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(parses(good[i]));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (parses(bad[i]))
			fail_msg("accepted: %s", bad[i]);
	assert_int_equal(ls_http_target_parse(&t, "/a\0b", 4, NULL), LS_ERR_INPUT);
	memset(longest, 'a', sizeof longest);
	memcpy(longest, "/a?b=", 5);
	longest[LS_HTTP_TARGET_MAX] = 0;
	assert_true(parses(longest));
	longest[LS_HTTP_TARGET_MAX] = 'a';
	longest[LS_HTTP_TARGET_MAX + 1] = 0;
	assert_false(parses(longest));
	memset(segment, 'a', sizeof segment);
	segment[0] = '/';
	segment[LS_HTTP_PART_MAX + 1] = 0;
	assert_true(parses(segment));
	segment[LS_HTTP_PART_MAX + 1] = 'a';
	segment[LS_HTTP_PART_MAX + 2] = 0;
	assert_false(parses(segment));
}

static bool fits(const char *route, const char *target, const char **first)
{
	ls_http_route r = {.method = "GET", .path = route};
	const char *part[LS_HTTP_PARTS_MAX];
	static ls_http_target t; // the part that is handed out lies in it
	size_t parts;
	assert_int_equal(ls_http_target_parse(&t, target, strlen(target), NULL), LS_OK);
	if (!ls_http_route_matches(&r, &t, part, &parts))
		return false;
	*first = parts ? part[0] : "";
	return true;
}

static void routes_take_whole_segments(void **state)
{
	const char *part;
	assert_true(fits("/", "/", &part));
	assert_true(fits("/v1/runs", "/v1/runs", &part));
	assert_true(fits("/v1/runs/{run}/head", "/v1/runs/ab/head?x=1", &part));
	assert_string_equal(part, "ab");
	assert_false(fits("/", "/a", &part));
	assert_false(fits("/a", "/", &part));
	assert_false(fits("/v1/runs", "/v1/run", &part));
	assert_false(fits("/v1/runs", "/v1/runss", &part));
	assert_false(fits("/v1/runs", "/v1/runs/x", &part));
	assert_false(fits("/v1/runs/{run}", "/v1/runs", &part));
	assert_false(fits("/v1/runs/{run}/head", "/v1/runs/ab/heads", &part));
}

static void numbers(void **state)
{
	uint64_t n;
	assert_true(ls_http_number("0", 0, &n) && n == 0);
	assert_true(ls_http_number("18446744073709551615", UINT64_MAX, &n) && n == UINT64_MAX);
	assert_false(ls_http_number("18446744073709551616", UINT64_MAX, &n));
	assert_false(ls_http_number("99999999999999999999999", UINT64_MAX, &n));
	assert_false(ls_http_number("11", 10, &n));
	assert_false(ls_http_number("", 10, &n));
	assert_false(ls_http_number("01", 10, &n));
	assert_false(ls_http_number("+1", 10, &n));
	assert_false(ls_http_number("1 ", 10, &n));
	assert_false(ls_http_number("0x1", 10, &n));
}

static void range_is(const char *value, uint64_t size, ls_http_range_kind kind, uint64_t first, uint64_t length)
{
	uint64_t f, n;
	ls_http_range_kind found = ls_http_range_parse(value, size, &f, &n);
	if (found != kind || (kind != LS_HTTP_RANGE_BAD && (f != first || n != length)))
		fail_msg("%s of %llu: kind %d, %llu + %llu", value ? value : "none", (unsigned long long)size, found, (unsigned long long)f, (unsigned long long)n);
}

static void ranges(void **state)
{
	static const char *const bad[] = {"bytes=", "bytes=-", "bytes=-0", "bytes=5-4", "bytes=10-", "bytes=10-11", "bytes=1-2,4-5", "bytes=a-b", "bytes=1",
	                                  "bytes= 1-2", "bytes=1-2 ", "bytes=--1", "bytes=0-0x", "bytes=99999999999999999999999999-"};
	range_is(NULL, 10, LS_HTTP_RANGE_NONE, 0, 10);
	range_is("lines=1-2", 10, LS_HTTP_RANGE_NONE, 0, 10);
	range_is("bytes=0-0", 10, LS_HTTP_RANGE_PART, 0, 1);
	range_is("bytes=3-", 10, LS_HTTP_RANGE_PART, 3, 7);
	range_is("bytes=3-5", 10, LS_HTTP_RANGE_PART, 3, 3);
	range_is("bytes=9-9", 10, LS_HTTP_RANGE_PART, 9, 1);
	range_is("bytes=3-18446744073709551615", 10, LS_HTTP_RANGE_PART, 3, 7);
	range_is("bytes=-4", 10, LS_HTTP_RANGE_PART, 6, 4);
	range_is("bytes=-40", 10, LS_HTTP_RANGE_PART, 0, 10);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		range_is(bad[i], 10, LS_HTTP_RANGE_BAD, 0, 0);
	range_is("bytes=0-", 0, LS_HTTP_RANGE_BAD, 0, 0);
	range_is("bytes=-1", 0, LS_HTTP_RANGE_BAD, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_in_parts),
		cmocka_unit_test(other_targets_are_refused),
		cmocka_unit_test(routes_take_whole_segments),
		cmocka_unit_test(numbers),
		cmocka_unit_test(ranges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
