#include <lockstep/base.h>

#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static ls_status read_all(int fd, uint8_t *data, size_t len, const char *path, ls_error *err)
{
	size_t got = 0;
	while (got < len) {
		ssize_t n = read(fd, data + got, len - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ls_base__system_error(err, "read", path);
		if (n == 0)
			return ls_error_set(err, LS_ERR_INPUT, "%s: file became shorter while it was read", path);
		got += (size_t)n;
	}
	return LS_OK;
}

ls_status ls_file_read(uint8_t **out, size_t *len, const char *path, size_t max, ls_error *err)
{
	ls_status status = LS_OK;
	struct stat st;
	uint8_t *data = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a named pipe would hold the open forever
	*out = NULL;
	*len = 0;
	if (fd < 0)
		return ls_base__system_error(err, "open", path);
	if (fstat(fd, &st)) {
		status = ls_base__system_error(err, "examine", path);
		goto done;
	}
	if (!S_ISREG(st.st_mode)) {
		status = ls_error_set(err, LS_ERR_INPUT, "%s: is not a regular file", path);
		goto done;
	}
	if ((uint64_t)st.st_size > max) {
		status = ls_error_set(err, LS_ERR_LIMIT, "%s: found %lld bytes, expected at most %zu", path, (long long)st.st_size, max);
		goto done;
	}
	data = ls_alloc((size_t)st.st_size + 1, 1);
	if (!data) {
		status = ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for %lld bytes", path, (long long)st.st_size);
		goto done;
	}
	LS_TRY(read_all(fd, data, (size_t)st.st_size, path, err));
	*out = data;
	*len = (size_t)st.st_size;
	data = NULL;
done:
	ls_free(data);
	close(fd);
	return status;
}

/* A rename is durable once its folder is on disk. */
static ls_status sync_folder_of(const char *path, ls_error *err)
{
	char dir[LS_PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 1;
	if (len >= sizeof dir)
		return ls_error_set(err, LS_ERR_LIMIT, "%s: path is too long", path);
	memcpy(dir, slash ? path : ".", len);
	dir[len] = 0;
	if (slash == path)
		strncpy(dir, "/", sizeof dir);
	return ls_dir_sync(dir, err);
}

ls_status ls_dir_sync(const char *path, ls_error *err)
{
	ls_status status = LS_OK;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ls_base__system_error(err, "open", path);
	if (fsync(fd) && errno != EINVAL) // some file systems cannot sync a folder
		status = ls_base__system_error(err, "sync", path);
	close(fd);
	return status;
}

/* ---- files that are replaced as a whole ---- */

struct ls_draft {
	char path[LS_PATH_MAX], temporary[LS_PATH_MAX];
	int fd;
	bool finished;
};

ls_status ls_draft_open(ls_draft **out, const char *path, ls_error *err)
{
	ls_status status = LS_OK;
	ls_draft *d = ls_alloc(1, sizeof *d);
	*out = NULL;
	if (!d)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory to write it", path);
	d->fd = -1;
	if (snprintf(d->temporary, sizeof d->temporary, "%s.tmp", path) >= (int)sizeof d->temporary) {
		status = ls_error_set(err, LS_ERR_LIMIT, "%s: path is too long", path);
		goto done;
	}
	memcpy(d->path, path, strlen(path) + 1);
	unlink(d->temporary); // left by a crash, or laid out by somebody as a link to elsewhere
	d->fd = open(d->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (d->fd < 0) {
		status = ls_base__system_error(err, "create", d->temporary);
		goto done;
	}
	*out = d;
	d = NULL;
done:
	ls_draft_free(d);
	return status;
}

ls_status ls_draft_put(ls_draft *d, const void *data, size_t len, ls_error *err)
{
	return ls_base__write_all(d->fd, data, len, d->path, err);
}

// Gives it its name, which is not durable yet.
static ls_status name_draft(ls_draft *d, ls_error *err)
{
	if (fsync(d->fd))
		return ls_base__system_error(err, "sync", d->path);
	if (rename(d->temporary, d->path))
		return ls_base__system_error(err, "rename to", d->path);
	d->finished = true;
	return LS_OK;
}

ls_status ls_draft_finish(ls_draft *d, ls_error *err)
{
	ls_status status = name_draft(d, err);
	return status == LS_OK ? sync_folder_of(d->path, err) : status;
}

void ls_draft_free(ls_draft *d)
{
	if (!d)
		return;
	if (d->fd >= 0)
		close(d->fd);
	if (d->fd >= 0 && !d->finished)
		unlink(d->temporary);
	ls_free(d);
}

ls_status ls_file_put(const char *path, const void *data, size_t len, ls_error *err)
{
	ls_status status;
	ls_draft *d = NULL;
	LS_TRY(ls_draft_open(&d, path, err));
	LS_TRY(ls_draft_put(d, data, len, err));
	LS_TRY(name_draft(d, err));
done:
	ls_draft_free(d);
	return status;
}

ls_status ls_file_write(const char *path, const void *data, size_t len, ls_error *err)
{
	ls_status status = ls_file_put(path, data, len, err);
	return status == LS_OK ? sync_folder_of(path, err) : status;
}

ls_status ls_file_write_private(const char *path, const void *data, size_t len, ls_error *err)
{
	ls_status status = LS_OK;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST)
		return ls_error_set(err, LS_ERR_EXISTS, "%s: found a file, expected none\n  hint: choose another name", path);
	if (fd < 0)
		return ls_base__system_error(err, "create", path);
	LS_TRY(ls_base__write_all(fd, data, len, path, err));
	if (fsync(fd))
		status = ls_base__system_error(err, "sync", path);
	else
		LS_TRY(sync_folder_of(path, err));
done:
	close(fd);
	if (status != LS_OK)
		unlink(path);
	return status;
}

bool ls_file_exists(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

ls_status ls_file_remove(const char *path, ls_error *err)
{
	return unlink(path) == 0 || errno == ENOENT ? LS_OK : ls_base__system_error(err, "remove", path);
}

ls_status ls_dir_make(const char *path, ls_error *err)
{
	struct stat st;
	if (mkdir(path, 0755) == 0)
		return LS_OK;
	if (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return LS_OK;
	return ls_base__system_error(err, "make folder", path);
}

ls_status ls_path_join(char *out, size_t out_size, const char *dir, const char *name, ls_error *err)
{
	size_t len = strlen(dir);
	const char *sep = len && dir[len - 1] == '/' ? "" : "/";
	if (snprintf(out, out_size, "%s%s%s", dir, sep, name) >= (int)out_size)
		return ls_error_set(err, LS_ERR_LIMIT, "%s/%s: path is too long", dir, name);
	return LS_OK;
}

static double seconds_of(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double ls_clock_seconds(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

double ls_cpu_seconds(void)
{
	return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}
