/* Internal to src/run: metrics.jsonl line by line, in memory that does not depend on the file. */
#ifndef LS_RUN_LINES_H
#define LS_RUN_LINES_H

#include <lockstep/base.h>

#define LS_RUN__LINE_MAX 4096

typedef struct ls_lines {
	ls_file *file; /* borrowed */
	uint64_t next; /* offset of the next line */
	uint64_t loaded; /* offset of buffer[0] */
	size_t fill;
	bool broken; /* a line is too long, or the last one does not end */
	char buffer[16 * LS_RUN__LINE_MAX];
} ls_lines;

void ls_run__lines_over(ls_lines *lines, ls_file *file);
/* The next line without its newline, valid until the next call; NULL at the end, or with `broken` where the rest of the file
 * holds no line. */
ls_status ls_run__next_line(ls_lines *lines, const char **text, size_t *len, ls_error *err);

#endif
