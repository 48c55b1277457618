/* Writing a safetensors file: the header, then tensor after tensor. */
#include "data/safetensors.h"

#include <jansson.h>
#include <stdlib.h>

#define BLOCK 4096 /* words turned into bytes at a time */

static int by_source_name(const void *a, const void *b)
{
	return strcmp((*(const ls_safetensor_source *const *)a)->name, (*(const ls_safetensor_source *const *)b)->name);
}

/* Elements of a source, or −1 where it is outside its bounds. */
static int64_t source_count(const ls_safetensor_source *t)
{
	int64_t count = 1;
	if (!t->name || !t->name[0] || strlen(t->name) > LS_SAFETENSORS_NAME_MAX || strcmp(t->name, "__metadata__") == 0 ||
	    t->rank < 0 || t->rank > LS_SAFETENSORS_RANK_MAX)
		return -1;
	for (int i = 0; i < t->rank; i++) {
		if (t->dim[i] < 0 || (t->dim[i] && count > (INT64_C(1) << 38) / t->dim[i]))
			return -1;
		count *= t->dim[i];
	}
	return count;
}

/* NULL where memory ends or the name is no UTF-8. */
static json_t *describe(const ls_safetensor_source *t, uint64_t begin, uint64_t end)
{
	json_t *shape = json_array();
	for (int i = 0; i < t->rank; i++)
		json_array_append_new(shape, json_integer(t->dim[i]));
	return json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets", (json_int_t)begin, (json_int_t)end);
}

/* The header's text, padded with spaces so that the data are aligned to 8 bytes; NULL where it cannot be made. */
static ls_status put_header(ls_buf *out, const ls_safetensor_source *const *order, size_t count, ls_error *err)
{
	ls_status status = LS_OK;
	json_t *root = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
	char *text = NULL;
	uint64_t at = 0;
	size_t len;
	for (size_t i = 0; i < count; i++) {
		uint64_t end = at + 4 * (uint64_t)source_count(order[i]);
		if (json_object_set_new(root, order[i]->name, describe(order[i], at, end)) != 0) {
			status = ls_error_set(err, LS_ERR_USAGE, "tensor %zu of a safetensors file: its name is no UTF-8, or memory ended", i);
			goto done;
		}
		at = end;
	}
	text = json_dumps(root, JSON_COMPACT);
	if (!text) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for the header of a safetensors file");
		goto done;
	}
	len = strlen(text);
	ls_buf_u64(out, (len + 7) / 8 * 8);
	ls_buf_bytes(out, text, len);
	ls_buf_bytes(out, "       ", (len + 7) / 8 * 8 - len);
done:
	free(text);
	json_decref(root);
	return status;
}

/* Words are turned into bytes a block at a time, so that writing takes no memory to speak of. */
static ls_status put_data(ls_draft *d, const ls_safetensor_source *t, ls_error *err)
{
	ls_status status = LS_OK;
	int64_t count = source_count(t);
	uint8_t raw[4 * BLOCK];
	for (int64_t i = 0; i < count; i += BLOCK) {
		int64_t n = count - i < BLOCK ? count - i : BLOCK;
		for (int64_t k = 0; k < n; k++)
			ls_put_le32(raw + 4 * k, ls_bits_f32(t->data[i + k]));
		LS_TRY(ls_draft_put(d, raw, 4 * (size_t)n, err));
	}
done:
	return status;
}

static ls_status sort_sources(const ls_safetensor_source **order, const ls_safetensor_source *tensors, size_t count, ls_error *err)
{
	for (size_t i = 0; i < count; i++) {
		order[i] = &tensors[i];
		if (source_count(order[i]) < 0)
			return ls_error_set(err, LS_ERR_USAGE, "tensor %zu of a safetensors file: name, rank or dimensions out of bounds", i);
	}
	qsort(order, count, sizeof *order, by_source_name);
	for (size_t i = 1; i < count; i++)
		if (strcmp(order[i - 1]->name, order[i]->name) == 0)
			return ls_error_set(err, LS_ERR_USAGE, "two tensors of a safetensors file are called '%s'", order[i]->name);
	return LS_OK;
}

static ls_status put_file(const char *path, const ls_buf *header, const ls_safetensor_source *const *order, size_t count,
                          ls_error *err)
{
	ls_status status;
	ls_draft *d = NULL;
	LS_TRY(ls_draft_open(&d, path, err));
	LS_TRY(ls_draft_put(d, header->data, header->len, err));
	for (size_t i = 0; i < count; i++)
		LS_TRY(put_data(d, order[i], err));
	LS_TRY(ls_draft_finish(d, err));
done:
	ls_draft_free(d);
	return status;
}

ls_status ls_safetensors_write(const char *path, const ls_safetensor_source *tensors, size_t count, bool overwrite, ls_error *err)
{
	ls_status status;
	const ls_safetensor_source **order = ls_alloc(count, sizeof *order);
	ls_buf header;
	ls_buf_init(&header, 8 + LS_SAFETENSORS_HEADER_MAX);
	if (!order)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory to write it", path);
	LS_TRY(sort_sources(order, tensors, count, err));
	if (!overwrite && ls_file_exists(path)) {
		status = ls_error_set(err, LS_ERR_EXISTS, "%s: found a file, expected none\n  hint: choose another name, or overwrite it", path);
		goto done;
	}
	LS_TRY(put_header(&header, order, count, err));
	if (header.status != LS_OK) {
		status = ls_error_set(err, header.status, "%s: no memory for its header, or too many tensors", path);
		goto done;
	}
	LS_TRY(put_file(path, &header, order, count, err));
done:
	ls_buf_free(&header);
	ls_free(order);
	return status;
}
