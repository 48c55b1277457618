#include "run/lines.h"

void ls_run__lines_over(ls_lines *lines, ls_file *file)
{
	lines->file = file;
	lines->next = lines->loaded = 0;
	lines->fill = 0;
	lines->broken = false;
}

/* Brings the bytes from `next` on to the front of the buffer. */
static ls_status load(ls_lines *lines, ls_error *err)
{
	uint64_t left = ls_file_size(lines->file) - lines->next;
	size_t want = left < sizeof lines->buffer ? (size_t)left : sizeof lines->buffer;
	lines->loaded = lines->next;
	lines->fill = want;
	return ls_file_read_at(lines->file, lines->next, lines->buffer, want, err);
}

ls_status ls_run__next_line(ls_lines *lines, const char **text, size_t *len, ls_error *err)
{
	ls_status status = LS_OK;
	size_t at = (size_t)(lines->next - lines->loaded);
	const char *end = memchr(lines->buffer + at, '\n', lines->fill - at);
	*text = NULL;
	*len = 0;
	if (!end) {
		LS_TRY(load(lines, err));
		at = 0;
		end = memchr(lines->buffer, '\n', lines->fill < LS_RUN__LINE_MAX ? lines->fill : LS_RUN__LINE_MAX);
	}
	lines->broken = !end && lines->fill;
	if (!end)
		goto done;
	*text = lines->buffer + at;
	*len = (size_t)(end - *text);
	lines->next += *len + 1;
done:
	return status;
}
