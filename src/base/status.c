#include <lockstep/base.h>

#include <stdarg.h>
#include <stdio.h>

const char *ls_status_text(ls_status status)
{
	switch (status) {
	case LS_OK: return "done";
	case LS_ERR_USAGE: return "wrong use";
	case LS_ERR_INPUT: return "bad input";
	case LS_ERR_LIMIT: return "input larger than its bound";
	case LS_ERR_EXISTS: return "already exists";
	case LS_ERR_NOT_FOUND: return "not found";
	case LS_ERR_IO: return "input/output error";
	case LS_ERR_FULL: return "no space left";
	case LS_ERR_NOMEM: return "out of memory";
	case LS_ERR_UNSUPPORTED: return "not supported here";
	case LS_ERR_NONCONFORMING: return "platform does not conform";
	case LS_ERR_INTERNAL: return "internal error";
	}
	return "unknown status";
}

ls_status ls_error_set(ls_error *err, ls_status status, const char *format, ...)
{
	if (err) {
		va_list args;
		err->status = status;
		va_start(args, format);
		vsnprintf(err->text, sizeof err->text, format, args);
		va_end(args);
	}
	return status;
}

/* Appends prefix + text where text is given; stops quietly at the end of the buffer. */
static void add(ls_error *err, const char *prefix, const char *text)
{
	size_t used = 0;
	if (!text)
		return;
	while (err->text[used])
		used++;
	snprintf(err->text + used, sizeof err->text - used, "%s%s", used ? prefix : "", text);
}

ls_status ls_error_input(ls_error *err, const char *file, const char *place, const char *found, const char *expected,
                         const char *hint)
{
	if (err) {
		err->status = LS_ERR_INPUT;
		err->text[0] = 0;
		add(err, "", file);
		add(err, ": ", place);
		add(err, ": found ", found);
		add(err, found ? ", expected " : ": expected ", expected);
		add(err, "\n  hint: ", hint);
	}
	return LS_ERR_INPUT;
}
