/* Internal to src/report. */
#ifndef LS_REPORT_PAGE_H
#define LS_REPORT_PAGE_H

#include <lockstep/report.h>

struct ls_page {
	ls_buf html;
};

/* Appends text with everything escaped that HTML or an attribute in double quotes would take for its own. */
void ls_report__escape(ls_buf *out, const char *text, size_t len);

#endif
