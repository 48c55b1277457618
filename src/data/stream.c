/* What the formats of tokens share: reading a file, the split, whole sequences. */
#include "data/dataset.h"

#include <stdio.h>

static bool is_test(const ls_dataset_options *o)
{
	return strcmp(o->split, "test") == 0;
}

const char *ls_data__stream_path(const ls_dataset_options *o)
{
	if (is_test(o) && o->eval_path)
		return o->eval_path;
	return o->path ? o->path : "";
}

/* ---- reading ---- */

static ls_status open_source(ls_data__source **out, const char *path, ls_error *err)
{
	char dir[LS_PATH_MAX];
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = (size_t)(name - path);
	*out = NULL;
	if (!name[0])
		return ls_error_input(err, path[0] ? path : NULL, path[0] ? NULL : "data.path", path[0] ? "a folder" : "nothing", "a file",
		                      "data.path names the file itself, or " LS_DATASET_BUILTIN);
	if (len >= sizeof dir)
		return ls_error_set(err, LS_ERR_LIMIT, "%s: path is too long", path);
	memcpy(dir, path, len);
	dir[len] = 0;
	return ls_data__source_open(out, dir, name, err);
}

static ls_status read_source(ls_buf *out, ls_data__source *s, ls_error *err)
{
	ls_status status = LS_OK;
	uint8_t block[16384];
	size_t got;
	do {
		LS_TRY(ls_data__source_some(s, block, sizeof block, &got, err));
		ls_buf_bytes(out, block, got);
	} while (got && out->status == LS_OK);
	if (out->status == LS_ERR_LIMIT)
		return ls_data__too_large(err, s);
	if (out->status != LS_OK)
		return ls_error_set(err, out->status, "%s: no memory to read it", s->path);
	LS_TRY(ls_data__source_finish(s, err));
	if (!out->len)
		status = ls_data__complain(err, s, 0, "a text, or tokens", NULL, "an empty file");
done:
	return status;
}

ls_status ls_data__stream_read(ls_buf *out, const char *path, ls_error *err)
{
	ls_status status;
	ls_data__source *s = NULL;
	if (strncmp(path, "builtin:", 8) == 0) {
		if (strcmp(path, LS_DATASET_BUILTIN) != 0)
			return ls_error_input(err, NULL, "data.path", path, LS_DATASET_BUILTIN, NULL);
		for (const char *const *line = ls_data__builtin_lines; *line; line++)
			ls_buf_printf(out, "%s\n", *line);
		return out->status;
	}
	LS_TRY(open_source(&s, path, err));
	LS_TRY(read_source(out, s, err));
done:
	ls_data__source_free(s);
	return status;
}

/* ---- which part of it ---- */

/* holdout·count is one product of FP64 numbers, rounded to nearest, and then cut to a whole number ≤ count/2. */
void ls_data__stream_split(const ls_dataset_options *o, int64_t count, int64_t *begin, int64_t *end)
{
	int64_t held = o->eval_path ? 0 : (int64_t)(o->holdout * (double)count);
	*begin = is_test(o) && !o->eval_path ? count - held : 0;
	*end = is_test(o) ? count : count - held;
}

ls_status ls_data__stream_take(ls_dataset *ds, const ls_dataset_options *o, const uint8_t *tokens, int64_t count, ls_error *err)
{
	char found[64], expected[128], place[32];
	int64_t whole = count ? (count - 1) / o->length : 0, least = o->limit ? o->limit : 1;
	if (whole < least) {
		snprintf(place, sizeof place, "split %s", o->split);
		snprintf(found, sizeof found, "%lld tokens", (long long)count);
		snprintf(expected, sizeof expected, "at least %lld, for %lld sequences of data.length = %lld and a label",
		         (long long)(least * o->length + 1), (long long)least, (long long)o->length);
		return ls_error_input(err, ls_data__stream_path(o), place, found, expected, o->limit ? "lower data.limit" : "lower data.length");
	}
	ds->count = o->limit ? o->limit : whole;
	ds->shape[0] = ds->shape[1] = 1;
	ds->shape[2] = o->length;
	ds->tokens = ds->count * o->length + 1;
	ds->stream = ls_alloc((size_t)ds->tokens, 2);
	if (!ds->stream)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for its tokens", ls_data__stream_path(o));
	memcpy(ds->stream, tokens, 2 * (size_t)ds->tokens);
	return LS_OK;
}
