#include <lockstep/base.h>

#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 10, LOCK_WAIT_NS = 10000000 };

struct ls_file {
	int fd;
	uint64_t size;
	char *path;
};

ls_status ls_file_open(ls_file **out, const char *path, bool create, ls_error *err)
{
	ls_status status = LS_OK;
	struct stat st;
	ls_file *f = ls_alloc(1, sizeof *f);
	*out = NULL;
	if (!f || !(f->path = ls_strdup(path))) {
		ls_free(f);
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory to open it", path);
	}
	f->fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (create ? O_CREAT : 0), 0644);
	if (f->fd < 0 && !create && (errno == EACCES || errno == EROFS))
		f->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); // somebody else's run may be read
	if (f->fd < 0 && errno == EISDIR) {
		status = ls_error_set(err, LS_ERR_INPUT, "%s: is not a regular file", path);
		goto done;
	}
	if (f->fd < 0 || fstat(f->fd, &st)) {
		status = ls_base__system_error(err, "open", path);
		goto done;
	}
	if (!S_ISREG(st.st_mode)) {
		status = ls_error_set(err, LS_ERR_INPUT, "%s: is not a regular file", path);
		goto done;
	}
	f->size = (uint64_t)st.st_size;
	*out = f;
	f = NULL;
done:
	ls_file_close(f);
	return status;
}

void ls_file_close(ls_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	ls_free(f->path);
	ls_free(f);
}

uint64_t ls_file_size(const ls_file *f)
{
	return f->size;
}

ls_status ls_file_refresh(ls_file *f, ls_error *err)
{
	struct stat st;
	if (fstat(f->fd, &st))
		return ls_base__system_error(err, "examine", f->path);
	f->size = (uint64_t)st.st_size;
	return LS_OK;
}

ls_status ls_file_append(ls_file *f, const void *data, size_t len, ls_error *err)
{
	ls_status status;
	if (lseek(f->fd, (off_t)f->size, SEEK_SET) < 0)
		return ls_base__system_error(err, "seek in", f->path);
	status = ls_base__write_all(f->fd, data, len, f->path, err);
	if (status == LS_OK)
		f->size += len;
	else if (ftruncate(f->fd, (off_t)f->size))
		return ls_base__system_error(err, "undo a partial write of", f->path);
	return status;
}

ls_status ls_file_read_at(ls_file *f, uint64_t offset, void *data, size_t len, ls_error *err)
{
	size_t got = 0;
	if (offset > f->size || len > f->size - offset)
		return ls_error_set(err, LS_ERR_INPUT, "%s: found %llu bytes, expected %zu more at offset %llu", f->path,
		                    (unsigned long long)f->size, len, (unsigned long long)offset);
	while (got < len) {
		ssize_t n = pread(f->fd, (uint8_t *)data + got, len - got, (off_t)(offset + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ls_base__system_error(err, "read", f->path);
		if (n == 0)
			return ls_error_set(err, LS_ERR_INPUT, "%s: file became shorter while it was read", f->path);
		got += (size_t)n;
	}
	return LS_OK;
}

ls_status ls_file_truncate(ls_file *f, uint64_t size, ls_error *err)
{
	if (ftruncate(f->fd, (off_t)size))
		return ls_base__system_error(err, "shorten", f->path);
	f->size = size;
	return LS_OK;
}

ls_status ls_file_sync(ls_file *f, ls_error *err)
{
	return fdatasync(f->fd) ? ls_base__system_error(err, "sync", f->path) : LS_OK;
}

ls_status ls_file_lock(ls_file *f, ls_error *err)
{
	// Whoever only asks (ls_file_is_locked) holds it for a moment.
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		if (flock(f->fd, LOCK_EX | LOCK_NB) == 0)
			return LS_OK;
		if (errno == EWOULDBLOCK)
			nanosleep(&(struct timespec){.tv_nsec = LOCK_WAIT_NS}, NULL);
		else
			break;
	}
	if (errno != EWOULDBLOCK)
		return ls_base__system_error(err, "lock", f->path);
	return ls_error_set(err, LS_ERR_EXISTS, "%s: another process is writing this run\n  hint: wait for it, or stop it first", f->path);
}

bool ls_file_is_locked(ls_file *f)
{
	if (flock(f->fd, LOCK_SH | LOCK_NB))
		return errno == EWOULDBLOCK;
	flock(f->fd, LOCK_UN);
	return false;
}
