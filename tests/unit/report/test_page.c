// Pages: nothing that goes in can be anything but text, and charts show what there is.
#include <lockstep/num.h>
#include <lockstep/report.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// The finished page; the caller frees it.
static char *finish(ls_page *page)
{
	const char *text;
	char *copy;
	size_t len;
	assert_int_equal(ls_page_finish(page, &text, &len, NULL), LS_OK);
	copy = malloc(len + 1);
	assert_non_null(copy);
	memcpy(copy, text, len);
	copy[len] = 0;
	ls_page_free(page);
	return copy;
}

static ls_page *start(void)
{
	ls_page *page;
	assert_int_equal(ls_page_open(&page, "a & b", NULL), LS_OK);
	return page;
}

static void test_everything_is_escaped(void **state)
{
	static const char hostile[] = "<script>alert('x')</script> & \"quoted\"";
	ls_page *page = start();
	char *text;
	ls_page_heading(page, hostile);
	ls_page_paragraph(page, "%s", hostile);
	ls_page_block(page, hostile, sizeof hostile - 1);
	ls_page_banner(page, LS_PAGE_BAD, "%s", hostile);
	ls_page_table_begin(page, (const char *const[]){hostile, "b"}, 2);
	ls_page_table_row(page, (const char *const[]){"a", hostile}, 2);
	ls_page_table_end(page);
	ls_page_chart(page, &(ls_chart){.title = hostile, .x_label = hostile, .point = (const ls_chart_point[]){{1, 2}}, .count = 1});
	text = finish(page);
	assert_non_null(strstr(text, "<title>a &amp; b</title>"));
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "alert('x')"));
	assert_non_null(strstr(text, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;quoted&quot;"));
	free(text);
}

static void test_what_is_no_text_is_replaced(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"gr\xc3\xbc\xc3\x9f", "<pre>gr\xc3\xbc\xc3\x9f</pre>"}, // stays
		{"\xe2\x82\xac \xf0\x9f\x98\x80", "<pre>\xe2\x82\xac \xf0\x9f\x98\x80</pre>"},
		{"a\x01", "<pre>a\xef\xbf\xbd</pre>"},
		{"a\nb\tc", "<pre>a\nb\tc</pre>"},
		{"\xc0\xbc", "<pre>\xef\xbf\xbd\xef\xbf\xbd</pre>"},         // an overlong '<'
		{"\xed\xa0\x80", "<pre>\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd</pre>"}, // half of a surrogate pair
		{"\xf4\x90\x80\x80", "<pre>\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd</pre>"},
		{"end\xe2\x82", "<pre>end\xef\xbf\xbd\xef\xbf\xbd</pre>"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ls_page *page = start();
		char *text;
		ls_page_block(page, cases[i].in, strlen(cases[i].in));
		text = finish(page);
		assert_non_null(strstr(text, cases[i].out));
		free(text);
	}
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;
	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

// y of every point of the first element of that class, least first or greatest first.
static double extreme(const char *text, const char *kind, bool least)
{
	double found = least ? 1e9 : -1e9;
	const char *at = strstr(text, kind);
	assert_non_null(at);
	at = strstr(at, "points=\"") + 8;
	while (*at != '"') {
		char *end;
		double y;
		strtod(at, &end);
		assert_int_equal(*end, ',');
		y = strtod(end + 1, &end);
		found = least == (y < found) ? y : found;
		at = end + (*end == ' ');
	}
	return found;
}

enum { MANY = 50000 };

static char *draw(const ls_chart_point *point, size_t n, bool marks)
{
	ls_page *page = start();
	ls_page_chart(page, &(ls_chart){.title = "t", .x_label = "x", .point = point, .count = n, .marks = marks});
	return finish(page);
}

static void test_a_peak_among_many_points_is_seen(void **state)
{
	ls_chart_point *point = malloc(MANY * sizeof *point);
	char *flat, *peak;
	assert_non_null(point);
	for (int i = 0; i < MANY; i++)
		point[i] = (ls_chart_point){(uint64_t)i + 1, i % 2};
	flat = draw(point, MANY, false);
	point[31234].y = 9;
	peak = draw(point, MANY, false);
	assert_true(strlen(peak) < 60000); // no matter how many points there are
	assert_true(extreme(peak, "\"band\"", true) < 60); // near the upper edge
	assert_true(extreme(peak, "\"curve\"", true) > 150); // while the means stay low
	assert_true(extreme(flat, "\"band\"", false) - extreme(flat, "\"band\"", true) > 100);
	free(point);
	free(flat);
	free(peak);
}

static void test_gaps_marks_and_nothing(void **state)
{
	double nan = ls_f64_bits(UINT64_C(0x7ff8000000000000)), inf = ls_f64_bits(UINT64_C(0x7ff0000000000000));
	ls_chart_point point[] = {{0, nan}, {10, 1}, {20, inf}, {30, 3}};
	char *some = draw(point, 4, true), *none = draw(point, 1, true), *empty = draw(NULL, 0, true), *one = draw(point + 1, 1, true);
	assert_int_equal(count(some, "<circle"), 2);
	assert_int_equal(count(some, "<svg"), 1);
	assert_int_equal(count(none, "<svg"), 0);
	assert_int_equal(count(empty, "<svg"), 0);
	assert_int_equal(count(one, "<circle"), 1);
	assert_null(strstr(some, "nan"));
	assert_null(strstr(some, "inf"));
	free(some);
	free(none);
	free(empty);
	free(one);
}

static void test_values_of_any_size_get_an_axis(void **state)
{
	static const double sizes[] = {0, 5e-324, 1e-200, 1e-5, 1, 12345, 1e200, 1e300};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		ls_chart_point point[] = {{1, sizes[i]}, {2, -sizes[i] / 2}};
		char *text = draw(point, 2, false);
		size_t lines = count(text, "class=\"grid\"");
		assert_in_range(lines, 2, 12); // of the y axis: two steps need no marks between
		assert_null(strstr(text, "nan"));
		assert_null(strstr(text, "inf"));
		free(text);
	}
}

/* The axes end where the values do, if that is a mark; steps have marks between the ends. */
static void test_axes_end_on_the_values(void **state)
{
	const ls_chart_point percent[] = {{0, 0}, {400, 100}, {2000, 100}}, more[] = {{0, 0}, {UINT64_MAX, 101}};
	char *text = draw(percent, 3, true), *other = draw(more, 2, false);
	assert_non_null(strstr(text, ">100</text>"));
	assert_null(strstr(text, ">120</text>"));
	assert_non_null(strstr(other, ">150</text>"));
	assert_non_null(strstr(text, ">500</text>"));
	assert_non_null(strstr(text, ">1000</text>"));
	assert_non_null(strstr(text, ">1500</text>"));
	assert_int_equal(count(text, ">2000</text>"), 1);
	assert_in_range(count(other, "<text"), 5, 20);
	free(text);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_is_escaped),
		cmocka_unit_test(test_what_is_no_text_is_replaced),
		cmocka_unit_test(test_a_peak_among_many_points_is_seen),
		cmocka_unit_test(test_gaps_marks_and_nothing),
		cmocka_unit_test(test_values_of_any_size_get_an_axis),
		cmocka_unit_test(test_axes_end_on_the_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
