/* Lockstep: pages for people. A page is one HTML file with everything in it: no script, no font, no picture comes from
 * elsewhere, so it can be mailed and read in ten years. Whatever text goes in is escaped; bytes that are no UTF-8 or that HTML
 * forbids come out as U+FFFD. What the page says about runs is the caller's business.
 */
#ifndef LOCKSTEP_REPORT_H
#define LOCKSTEP_REPORT_H

#include <lockstep/base.h>

typedef struct ls_page ls_page;

/* Starts a page; `title` is also its first heading. */
ls_status ls_page_open(ls_page **out, const char *title, ls_error *err);
void ls_page_free(ls_page *page);
/* Ends the page and gives its text, borrowed until ls_page_free. LS_ERR_NOMEM or LS_ERR_LIMIT where some part did not fit. */
ls_status ls_page_finish(ls_page *page, const char **text, size_t *len, ls_error *err);

void ls_page_heading(ls_page *page, const char *text);
void ls_page_paragraph(ls_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Text as it stands, lines and spaces kept. */
void ls_page_block(ls_page *page, const char *text, size_t len);

/* A banner that says at a glance how things are. */
typedef enum ls_page_tone { LS_PAGE_GOOD = 0, LS_PAGE_OPEN = 1, LS_PAGE_BAD = 2 } ls_page_tone;
void ls_page_banner(ls_page *page, ls_page_tone tone, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A table: its heads (NULL: none) and rows of `columns` texts each. Between the two calls come rows only. */
void ls_page_table_begin(ls_page *page, const char *const *heads, int columns);
void ls_page_table_row(ls_page *page, const char *const *cells, int columns);
void ls_page_table_end(ls_page *page);

/* One curve over step numbers. */
typedef struct ls_chart_point {
	uint64_t x; /* ascending */
	double y;   /* not finite, or beyond 1e300: a gap */
} ls_chart_point;

typedef struct ls_chart {
	const char *title;
	const char *x_label;
	const ls_chart_point *point;
	size_t count;
	bool marks;    /* a mark at each point: for the few that are far apart */
	bool from_zero; /* the y axis starts at zero; no y may be below it */
} ls_chart;

/* Draws it as SVG. Of more points than the picture has columns each column shows mean, least and greatest, and so no peak is
 * lost. Nothing is drawn where no point is finite. */
void ls_page_chart(ls_page *page, const ls_chart *chart);

#endif
