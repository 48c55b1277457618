#include "base/system.h"

#include <errno.h>
#include <unistd.h>

ls_status ls_base__system_error(ls_error *err, const char *doing, const char *path)
{
	int e = errno;
	const char *hint = e == ENOSPC || e == EDQUOT ? "free space there, or choose another folder"
	                   : e == EACCES || e == EROFS || e == EPERM ? "choose a folder that may be written, or change its permissions"
	                   : e == ENOENT ? "check the path" : "see the system's message";
	ls_status status = e == ENOSPC || e == EDQUOT ? LS_ERR_FULL : e == ENOENT ? LS_ERR_NOT_FOUND : e == ENOMEM ? LS_ERR_NOMEM : LS_ERR_IO;
	return ls_error_set(err, status, "%s: could not %s: %s\n  hint: %s", path, doing, strerror(e), hint);
}

ls_status ls_base__write_all(int fd, const uint8_t *data, size_t len, const char *path, ls_error *err)
{
	size_t put = 0;
	while (put < len) {
		ssize_t n = write(fd, data + put, len - put);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ls_base__system_error(err, "write", path);
		put += (size_t)n;
	}
	return LS_OK;
}
