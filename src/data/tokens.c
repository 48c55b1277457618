/* A file of tokens: 16-bit numbers, by themselves or behind the header of llm.c. */
#include "data/dataset.h"

#include <stdio.h>

#define HEADER (256 * 4)
#define MAGIC 20240520u
#define VERSION 1u

static ls_status complain(const ls_dataset_options *o, const char *place, uint64_t found, const char *unit, const char *expected,
                          ls_error *err)
{
	char text[64];
	snprintf(text, sizeof text, "%llu%s", (unsigned long long)found, unit);
	return ls_error_input(err, ls_data__stream_path(o), place, text, expected, "docs/formats.md says what files of tokens hold");
}

/* A stream that begins with the magic number has the header. */
static ls_status skip_header(const ls_dataset_options *o, const ls_buf *file, size_t *at, ls_error *err)
{
	*at = 0;
	if (file->len < 4 || ls_get_le32(file->data) != MAGIC)
		return LS_OK;
	if (file->len < HEADER)
		return complain(o, "header", file->len, " bytes", "1024, as the first number promises", err);
	if (ls_get_le32(file->data + 4) != VERSION)
		return complain(o, "header", ls_get_le32(file->data + 4), ", a version", "1, with tokens of 16 bits", err);
	if ((file->len - HEADER) / 2 != ls_get_le32(file->data + 8))
		return complain(o, "header", ls_get_le32(file->data + 8), " tokens", "as many as follow the header", err);
	*at = HEADER;
	return LS_OK;
}

ls_status ls_data__tokens_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err)
{
	ls_status status;
	ls_buf file;
	size_t at;
	int64_t begin, end;
	ls_buf_init(&file, LS_DATASET_BYTES_MAX);
	LS_TRY(ls_data__stream_read(&file, ls_data__stream_path(options), err));
	if (file.len % 2) {
		status = complain(options, NULL, file.len, " bytes", "two for each token", err);
		goto done;
	}
	LS_TRY(skip_header(options, &file, &at, err));
	ls_data__stream_split(options, (int64_t)(file.len - at) / 2, &begin, &end);
	LS_TRY(ls_data__stream_take(ds, options, file.data + at + 2 * begin, end - begin, err));
done:
	ls_buf_free(&file);
	return status;
}
