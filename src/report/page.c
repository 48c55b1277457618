#include "report/page.h"

#include <stdarg.h>
#include <stdio.h>

enum { PAGE_MAX = 1 << 26, TEXT_MAX = 4096 };

static const char style[] =
	":root{color-scheme:light dark;--ink:#1d2430;--soft:#5c6675;--line:#d7dce3;--back:#fff;--card:#f6f8fa;--data:#1f6feb;"
	"--band:#1f6feb33;--good:#1a7f37;--open:#9a6700;--bad:#cf222e}"
	"@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4b0;--line:#343b45;--back:#0d1117;--card:#161b22;"
	"--data:#58a6ff;--band:#58a6ff33;--good:#3fb950;--open:#d29922;--bad:#f85149}}"
	"body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:60rem;margin:2rem auto;padding:0 1rem}"
	"h1{font-size:1.7rem;margin-bottom:.5rem}h2{font-size:1.2rem;margin-top:2rem;border-bottom:1px solid var(--line)}"
	"table{border-collapse:collapse;width:100%;display:block;overflow-x:auto}td,th{text-align:left;vertical-align:top;"
	"padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere;font-variant-numeric:tabular-nums}"
	"th{color:var(--soft);font-weight:600;white-space:nowrap}pre{background:var(--card);padding:.8rem;overflow-x:auto;font-size:.85rem}"
	".banner{border-left:.4rem solid;padding:.6rem 1rem;background:var(--card);font-weight:600}"
	".good{border-color:var(--good)}.open{border-color:var(--open)}.bad{border-color:var(--bad)}"
	"svg{width:100%;height:auto;background:var(--card)}svg text{fill:var(--soft);font-size:12px}"
	".grid{stroke:var(--line)}.curve{fill:none;stroke:var(--data);stroke-width:1.5}.band{fill:var(--band)}.mark{fill:var(--data)}"
	"figure{margin:1rem 0}figcaption{color:var(--soft)}"
	"@media print{body{max-width:none}pre,.banner,svg{background:none}}";

ls_status ls_page_open(ls_page **out, const char *title, ls_error *err)
{
	ls_page *page = *out = ls_alloc(1, sizeof *page);
	if (!page)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	ls_buf_init(&page->html, PAGE_MAX);
	ls_buf_printf(&page->html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
	ls_report__escape(&page->html, title, strlen(title));
	ls_buf_printf(&page->html, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", style);
	ls_report__escape(&page->html, title, strlen(title));
	ls_buf_printf(&page->html, "</h1>\n");
	return LS_OK;
}

void ls_page_free(ls_page *page)
{
	if (!page)
		return;
	ls_buf_free(&page->html);
	ls_free(page);
}

ls_status ls_page_finish(ls_page *page, const char **text, size_t *len, ls_error *err)
{
	ls_buf_printf(&page->html, "</body>\n</html>\n");
	*text = (const char *)page->html.data;
	*len = page->html.len;
	if (page->html.status == LS_OK)
		return LS_OK;
	return ls_error_set(err, page->html.status, "page: found more than fits into %d bytes or memory", PAGE_MAX);
}

// <tag class="kind">text</tag>
static void element(ls_page *page, const char *tag, const char *kind, const char *text, size_t len)
{
	ls_buf_printf(&page->html, kind ? "<%s class=\"%s\">" : "<%s>", tag, kind);
	ls_report__escape(&page->html, text, len);
	ls_buf_printf(&page->html, "</%s>\n", tag);
}

void ls_page_heading(ls_page *page, const char *text)
{
	element(page, "h2", NULL, text, strlen(text));
}

void ls_page_block(ls_page *page, const char *text, size_t len)
{
	element(page, "pre", NULL, text, len);
}

void ls_page_paragraph(ls_page *page, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	element(page, "p", NULL, text, strlen(text));
}

void ls_page_banner(ls_page *page, ls_page_tone tone, const char *format, ...)
{
	static const char *const kinds[] = {"banner good", "banner open", "banner bad"};
	char text[TEXT_MAX];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	element(page, "p", kinds[tone], text, strlen(text));
}

static void row(ls_page *page, const char *tag, const char *const *cells, int columns)
{
	ls_buf_printf(&page->html, "<tr>");
	for (int i = 0; i < columns; i++)
		element(page, tag, NULL, cells[i], strlen(cells[i]));
	ls_buf_printf(&page->html, "</tr>\n");
}

void ls_page_table_begin(ls_page *page, const char *const *heads, int columns)
{
	ls_buf_printf(&page->html, "<table>\n");
	if (heads)
		row(page, "th", heads, columns);
}

void ls_page_table_row(ls_page *page, const char *const *cells, int columns)
{
	row(page, "td", cells, columns);
}

void ls_page_table_end(ls_page *page)
{
	ls_buf_printf(&page->html, "</table>\n");
}
