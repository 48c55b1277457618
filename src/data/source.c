#include "data/dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

ls_status ls_data__complain(ls_error *err, const ls_data__source *s, int64_t offset, const char *expected,
                            const char *hint, const char *found, ...)
{
	char place[48], text[256];
	va_list args;
	snprintf(place, sizeof place, "byte %lld%s", (long long)offset, s->gz ? " after decompression" : "");
	va_start(args, found);
	vsnprintf(text, sizeof text, found, args);
	va_end(args);
	return ls_error_input(err, s->path, place, text, expected, hint);
}

static bool path_of(char *out, const char *dir, const char *name, const char *suffix)
{
	const char *slash = dir[0] && dir[strlen(dir) - 1] != '/' ? "/" : "";
	int n = snprintf(out, LS_PATH_MAX, "%s%s%s%s", dir, slash, name, suffix);
	return n >= 0 && n < LS_PATH_MAX;
}

bool ls_data__source_exists(const char *dir, const char *name)
{
	char path[LS_PATH_MAX];
	if (path_of(path, dir, name, "") && ls_file_exists(path))
		return true;
	return path_of(path, dir, name, ".gz") && ls_file_exists(path);
}

/* Chooses between the plain and the compressed name. */
static ls_status choose_path(ls_data__source *s, const char *dir, const char *name, ls_error *err)
{
	if (!path_of(s->path, dir, name, ".gz"))
		return ls_error_set(err, LS_ERR_LIMIT, "%s: found a path of more than %d bytes, expected a shorter one", name,
		                    LS_PATH_MAX - 1);
	path_of(s->path, dir, name, "");
	if (ls_file_exists(s->path))
		return LS_OK;
	path_of(s->path, dir, name, ".gz");
	s->gz = true;
	if (ls_file_exists(s->path))
		return LS_OK;
	return ls_error_set(err, LS_ERR_NOT_FOUND,
	                    "%s: found neither %s nor %s.gz\n  hint: give the folder that holds the data set, "
	                    "with data.path in the job or with --data", dir[0] ? dir : ".", name, name);
}

static ls_status open_file(ls_data__source *s, ls_error *err)
{
	struct stat st;
	// Without O_NONBLOCK a named pipe at this path would hold the open forever.
	s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0)
		return ls_error_set(err, errno == ENOENT ? LS_ERR_NOT_FOUND : LS_ERR_IO, "%s: could not open: %s", s->path,
		                    strerror(errno));
	if (fstat(s->fd, &st) || !S_ISREG(st.st_mode))
		return ls_error_input(err, s->path, NULL, "something that is not a file", "a regular file", NULL);
	return LS_OK;
}

ls_status ls_data__source_open(ls_data__source **out, const char *dir, const char *name, ls_error *err)
{
	ls_status status = LS_OK;
	ls_data__source *s = ls_alloc(1, sizeof *s);
	*out = NULL;
	if (!s)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory to read it", name);
	s->fd = -1;
	LS_TRY(choose_path(s, dir, name, err));
	LS_TRY(open_file(s, err));
	if (s->gz && inflateInit2(&s->stream, 15 + 16) != Z_OK) { // 16: a gzip header, nothing else
		s->gz = false; // there is no stream to end
		status = ls_error_set(err, LS_ERR_NOMEM, "%s: no memory to decompress it", s->path);
		goto done;
	}
	*out = s;
	s = NULL;
done:
	ls_data__source_free(s);
	return status;
}

void ls_data__source_free(ls_data__source *s)
{
	if (!s)
		return;
	if (s->gz)
		inflateEnd(&s->stream); // harmless on a stream that was never begun
	if (s->fd >= 0)
		close(s->fd);
	ls_free(s);
}

/* At most `len` bytes of the file itself; 0 at its end. */
static ls_status read_file(ls_data__source *s, void *out, size_t len, size_t *got, ls_error *err)
{
	ssize_t n;
	do {
		n = read(s->fd, out, len);
	} while (n < 0 && errno == EINTR);
	*got = n > 0 ? (size_t)n : 0;
	s->taken += (int64_t)*got;
	if (n < 0)
		return ls_error_set(err, LS_ERR_IO, "%s: byte %lld: could not read: %s", s->path, (long long)s->taken,
		                    strerror(errno));
	return LS_OK;
}

static ls_status refill(ls_data__source *s, ls_error *err)
{
	size_t got;
	ls_status status = read_file(s, s->buffer, sizeof s->buffer, &got, err);
	s->stream.next_in = s->buffer;
	s->stream.avail_in = (uInt)got;
	return status;
}

static ls_status complain_about_gzip(ls_data__source *s, const char *found, ls_error *err)
{
	char place[64];
	snprintf(place, sizeof place, "byte %lld of the compressed file", (long long)(s->taken - s->stream.avail_in));
	return ls_error_input(err, s->path, place, found, "one whole gzip member",
	                      "the copy is damaged: fetch it again, or check it with gzip -t");
}

/* Like read_file, through inflate; the output is bounded by `len`, whatever the file claims. */
static ls_status read_gz(ls_data__source *s, void *out, size_t len, size_t *got, ls_error *err)
{
	int code = Z_OK;
	ls_status status = LS_OK;
	s->stream.next_out = out;
	s->stream.avail_out = (uInt)len;
	while (s->stream.avail_out > 0 && !s->ended) {
		if (s->stream.avail_in == 0)
			LS_TRY(refill(s, err));
		if (s->stream.avail_in == 0) {
			status = complain_about_gzip(s, "the end of the file", err);
			goto done;
		}
		code = inflate(&s->stream, Z_NO_FLUSH);
		s->ended = code == Z_STREAM_END;
		if (code == Z_MEM_ERROR) {
			status = ls_error_set(err, LS_ERR_NOMEM, "%s: no memory to decompress it", s->path);
			goto done;
		}
		if (code != Z_OK && code != Z_STREAM_END) {
			status = complain_about_gzip(s, s->stream.msg ? s->stream.msg : "damaged data", err);
			goto done;
		}
	}
done:
	*got = len - s->stream.avail_out;
	return status;
}

ls_status ls_data__source_some(ls_data__source *s, void *out, int64_t len, size_t *got, ls_error *err)
{
	size_t want = len < (1 << 30) ? (size_t)len : (size_t)1 << 30; // zlib counts in 32 bits
	ls_status status = s->gz ? read_gz(s, out, want, got, err) : read_file(s, out, want, got, err);
	s->offset += (int64_t)*got;
	return status;
}

ls_status ls_data__source_read(ls_data__source *s, void *out, int64_t len, const char *what, ls_error *err)
{
	ls_status status = LS_OK;
	int64_t done_bytes = 0;
	char expected[128];
	while (done_bytes < len) {
		size_t got;
		LS_TRY(ls_data__source_some(s, (uint8_t *)out + done_bytes, len - done_bytes, &got, err));
		if (got == 0) {
			snprintf(expected, sizeof expected, "%lld more bytes of %s", (long long)(len - done_bytes), what);
			status = ls_data__complain(err, s, s->offset, expected, "the file was cut short: fetch it again",
			                           "the end of the data");
			goto done;
		}
		done_bytes += (int64_t)got;
	}
done:
	return status;
}

ls_status ls_data__source_finish(ls_data__source *s, ls_error *err)
{
	ls_status status = LS_OK;
	int64_t at = s->offset;
	uint8_t extra;
	size_t got;
	LS_TRY(ls_data__source_some(s, &extra, 1, &got, err));
	if (got) {
		status = ls_data__complain(err, s, at, "the end of the data", "the header counts fewer bytes than follow it",
		                           "trailing bytes");
		goto done;
	}
	if (s->gz && s->stream.avail_in == 0)
		LS_TRY(refill(s, err));
	if (s->gz && s->stream.avail_in > 0)
		status = complain_about_gzip(s, "trailing bytes after the gzip member", err);
done:
	return status;
}

ls_status ls_data__too_large(ls_error *err, const ls_data__source *s)
{
	return ls_error_set(err, LS_ERR_LIMIT,
	                    "%s: found more samples than memory is given, expected at most %lld bytes in all\n"
	                    "  hint: take fewer samples with data.limit", s->path, (long long)LS_DATASET_BYTES_MAX);
}

ls_status ls_data__too_few(ls_error *err, const ls_data__source *s, int64_t found, int64_t limit)
{
	char expected[64];
	snprintf(expected, sizeof expected, "at least data.limit, %lld", (long long)limit);
	return ls_data__complain(err, s, s->offset, expected, "lower the limit, or 0 for all", "%lld samples", (long long)found);
}

void ls_data__take_over(ls_dataset *ds, ls_buf *images, ls_buf *labels)
{
	ds->count = (int64_t)labels->len;
	ds->images = images->data;
	ds->labels = labels->data;
	*images = *labels = (ls_buf){0};
}
