/* Internal to data: what a loader fills in, and how loaders read files. */
#ifndef LS_DATA_DATASET_H
#define LS_DATA_DATASET_H

#include <lockstep/data.h>

#include <stdarg.h>
#include <zlib.h>

struct ls_dataset {
	const char *format; /* static text */
	int64_t count;
	int64_t shape[3];   /* C, H, W */
	uint8_t *images;    /* (count, C, H, W) */
	uint8_t *labels;    /* (count) */
	int32_t classes;
	/* Formats of tokens instead of images and labels: */
	int64_t tokens;
	uint8_t *stream;    /* (tokens) u16 */
	uint8_t *text, *tokenizer; /* what they were made of, and by what; NULL: unknown */
	size_t text_len, tokenizer_len;
};

/* Fills an all-zero `ds`, except `format` and `classes`. What it allocated before failing is released by the caller. */
typedef ls_status (*ls_data__open_fn)(ls_dataset *ds, const ls_dataset_options *options, ls_error *err);

ls_status ls_data__cifar10_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err);
ls_status ls_data__csv_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err);
ls_status ls_data__idx_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err);
ls_status ls_data__npy_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err);
ls_status ls_data__text_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err);
ls_status ls_data__tokens_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err);

/* A file read front to back, decompressed on the way where its name ends in ".gz". */
#define LS_DATA__BUFFER 65536

typedef struct ls_data__source {
	char path[LS_PATH_MAX];
	int fd;
	bool gz, ended;  /* ended: the gzip member is complete */
	int64_t offset;  /* decompressed bytes handed out */
	int64_t taken;   /* bytes of the file itself read so far */
	z_stream stream; /* gz only */
	uint8_t buffer[LS_DATA__BUFFER];
} ls_data__source;

/* Opens dir/name, or dir/name.gz where that is missing; LS_ERR_NOT_FOUND where both are. */
ls_status ls_data__source_open(ls_data__source **out, const char *dir, const char *name, ls_error *err);
void ls_data__source_free(ls_data__source *s);
/* Reads exactly `len` bytes; LS_ERR_INPUT naming the offset and `what` where the data end before. */
ls_status ls_data__source_read(ls_data__source *s, void *out, int64_t len, const char *what, ls_error *err);
/* At most `len` bytes; `*got` is 0 at the end of the data only. */
ls_status ls_data__source_some(ls_data__source *s, void *out, int64_t len, size_t *got, ls_error *err);
/* LS_ERR_INPUT unless the data end here (and, compressed, the file does too). */
ls_status ls_data__source_finish(ls_data__source *s, ls_error *err);
/* True iff dir/name or dir/name.gz exists. */
bool ls_data__source_exists(const char *dir, const char *name);

/* ---- what formats of tokens share (stream.c) ---- */

/* The file of the split that was asked for. */
const char *ls_data__stream_path(const ls_dataset_options *options);
/* Appends all of a file, or of LS_DATASET_BUILTIN; one without bytes is refused. */
ls_status ls_data__stream_read(ls_buf *out, const char *path, ls_error *err);
/* Which of `count` bytes or tokens belong to the split: from *begin to before *end. */
void ls_data__stream_split(const ls_dataset_options *options, int64_t count, int64_t *begin, int64_t *end);
/* Makes `count` tokens (u16, copied) the data set's: whole sequences and one label more, up to `limit` sequences. */
ls_status ls_data__stream_take(ls_dataset *ds, const ls_dataset_options *options, const uint8_t *tokens, int64_t count,
                               ls_error *err);
extern const char *const ls_data__builtin_lines[]; /* of LS_DATASET_BUILTIN, without their line ends; NULL at the end */

/* "PATH: byte OFFSET: found X, expected Y"; the found text is printf-style. Returns LS_ERR_INPUT. */
ls_status ls_data__complain(ls_error *err, const ls_data__source *s, int64_t offset, const char *expected,
                            const char *hint, const char *found, ...) __attribute__((format(printf, 6, 7)));

/* LS_ERR_LIMIT: the samples exceed LS_DATASET_BYTES_MAX. */
ls_status ls_data__too_large(ls_error *err, const ls_data__source *s);
/* LS_ERR_INPUT: the data end, at the source's place, before `limit` samples. */
ls_status ls_data__too_few(ls_error *err, const ls_data__source *s, int64_t found, int64_t limit);
/* Makes the buffers' memory the data set's (ls_free releases it, too); `labels` holds one byte per sample. */
void ls_data__take_over(ls_dataset *ds, ls_buf *images, ls_buf *labels);

#endif
