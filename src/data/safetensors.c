/* Safetensors files: opening, numbers of tensors, writing. */
#include "data/safetensors.h"

#include <lockstep/num.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_BYTES_MAX (UINT64_C(1) << 40) /* of what is written */
#define BLOCK 16384 /* elements converted at a time */

/* ---- opening ---- */

/* The header's length, checked against the format and the file before anything is allocated. */
static ls_status read_length(const ls_safetensors *s, uint64_t *len, ls_error *err)
{
	ls_status status = LS_OK;
	uint8_t raw[8];
	uint64_t size = ls_file_size(s->file);
	char found[64], expected[64];
	if (size < 8)
		return ls_error_input(err, s->path, "byte 0", "a file of less than 8 bytes", "the length of the header", NULL);
	LS_TRY(ls_file_read_at(s->file, 0, raw, 8, err));
	*len = ls_get_le64(raw);
	if (*len > LS_SAFETENSORS_HEADER_MAX || *len > size - 8) {
		snprintf(found, sizeof found, "a header of %llu bytes", (unsigned long long)*len);
		snprintf(expected, sizeof expected, "at most %llu", size - 8 < LS_SAFETENSORS_HEADER_MAX
		                                                        ? (unsigned long long)size - 8 : LS_SAFETENSORS_HEADER_MAX);
		ls_error_input(err, s->path, "byte 0", found, expected, "the file is cut short, or is no safetensors file");
		status = *len > LS_SAFETENSORS_HEADER_MAX ? LS_ERR_LIMIT : LS_ERR_INPUT;
		if (err)
			err->status = status;
	}
done:
	return status;
}

static ls_status read_header(ls_safetensors *s, ls_error *err)
{
	ls_status status;
	uint64_t len = 0;
	char *text = NULL;
	LS_TRY(read_length(s, &len, err));
	text = ls_alloc((size_t)len, 1);
	if (!text) {
		status = ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for its header", s->path);
		goto done;
	}
	LS_TRY(ls_file_read_at(s->file, 8, text, (size_t)len, err));
	s->data = 8 + len;
	LS_TRY(ls_data__safetensors_header(s, text, (size_t)len, ls_file_size(s->file) - s->data, err));
done:
	ls_free(text);
	return status;
}

ls_status ls_safetensors_open(ls_safetensors **out, const char *path, ls_error *err)
{
	ls_status status = LS_OK;
	ls_safetensors *s = ls_alloc(1, sizeof *s);
	*out = NULL;
	if (!s || !(s->path = ls_strdup(path))) {
		status = ls_error_set(err, LS_ERR_NOMEM, "%s: no memory to open it", path);
		goto done;
	}
	LS_TRY(ls_file_open(&s->file, path, false, err));
	LS_TRY(read_header(s, err));
	*out = s;
	s = NULL;
done:
	ls_safetensors_free(s);
	return status;
}

void ls_safetensors_free(ls_safetensors *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		ls_free((void *)(uintptr_t)s->tensor[i].name);
		ls_free((void *)(uintptr_t)s->tensor[i].dtype);
	}
	ls_free(s->tensor);
	ls_file_close(s->file);
	ls_free(s->path);
	ls_free(s);
}

size_t ls_safetensors_count(const ls_safetensors *s)
{
	return s->count;
}

const ls_safetensor *ls_safetensors_at(const ls_safetensors *s, size_t index)
{
	return &s->tensor[index];
}

static int compare_name(const void *name, const void *tensor)
{
	return strcmp(name, ((const ls_safetensor *)tensor)->name);
}

const ls_safetensor *ls_safetensors_find(const ls_safetensors *s, const char *name)
{
	return bsearch(name, s->tensor, s->count, sizeof *s->tensor, compare_name);
}

/* ---- numbers ---- */

/* FP16 to FP32, exactly: subnormals have a place among FP32's normal numbers. */
static uint32_t widen_f16(uint32_t h)
{
	uint32_t sign = (h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
	if (exponent == 31)
		return sign | 0x7f800000 | mantissa << 13;
	if (exponent)
		return sign | (exponent + 112) << 23 | mantissa << 13;
	return sign | ls_bits_f32((float)mantissa * 0x1p-24f);
}

static uint32_t bits_of(const uint8_t *raw, int64_t i, int size, bool brain)
{
	uint32_t half;
	if (size == 4)
		return ls_get_le32(raw + 4 * i);
	half = (uint32_t)raw[2 * i] | (uint32_t)raw[2 * i + 1] << 8;
	return brain ? half << 16 : widen_f16(half);
}

static ls_status bad_element(const ls_safetensors *s, const ls_safetensor *t, int64_t i, uint32_t bits, int grid, ls_error *err)
{
	char place[LS_SAFETENSORS_NAME_MAX + 64], found[64], expected[64];
	bool finite = (bits & 0x7f800000) != 0x7f800000;
	snprintf(place, sizeof place, "tensor '%s', element %lld", t->name, (long long)i);
	if (finite)
		snprintf(found, sizeof found, "%.9g", (double)ls_f32_bits(bits));
	else
		snprintf(found, sizeof found, bits & 0x7fffff ? "NaN" : "an infinity");
	snprintf(expected, sizeof expected, "a finite number of grid %d", grid);
	return ls_error_input(err, s->path, place, found, expected,
	                      finite ? "set arithmetic.state_grid: 32, or round the weights before" : "the training that made it diverged");
}

static ls_status convert(const ls_safetensors *s, const ls_safetensor *t, const uint8_t *raw, int64_t first, int64_t count,
                         int grid, float *out, ls_error *err)
{
	int size = ls_data__safetensors_dtype_size(t->dtype);
	bool brain = t->dtype[0] == 'B';
	for (int64_t i = 0; i < count; i++) {
		uint32_t bits = bits_of(raw, i, size, brain);
		if (bits == UINT32_C(0x80000000))
			bits = 0;
		out[i] = ls_f32_bits(bits);
		if ((bits & 0x7f800000) == 0x7f800000 || !ls_on_grid(out[i], grid))
			return bad_element(s, t, first + i, bits, grid, err);
	}
	return LS_OK;
}

ls_status ls_safetensors_read(const ls_safetensors *s, const ls_safetensor *t, int bits, float *out, ls_error *err)
{
	ls_status status = LS_OK;
	uint8_t *raw = NULL;
	int size = ls_data__safetensors_dtype_size(t->dtype);
	if (strcmp(t->dtype, "F32") && strcmp(t->dtype, "F16") && strcmp(t->dtype, "BF16")) {
		char place[LS_SAFETENSORS_NAME_MAX + 16];
		snprintf(place, sizeof place, "tensor '%s'", t->name);
		return ls_error_input(err, s->path, place, t->dtype, "F32, F16 or BF16", "convert the weights first");
	}
	raw = ls_alloc(BLOCK, (size_t)size);
	if (!raw)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory to read it", s->path);
	for (int64_t i = 0; i < t->count; i += BLOCK) {
		int64_t count = t->count - i < BLOCK ? t->count - i : BLOCK;
		LS_TRY(ls_file_read_at(s->file, s->data + t->begin + (uint64_t)(i * size), raw, (size_t)(count * size), err));
		LS_TRY(convert(s, t, raw, i, count, bits, out + i, err));
	}
done:
	ls_free(raw);
	return status;
}

/* ---- writing ---- */

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

static void put_data(ls_buf *out, const ls_safetensor_source *t)
{
	size_t count = (size_t)source_count(t);
	ls_buf_bytes(out, t->data, 4 * count);
	for (size_t i = 0; i < count && out->status == LS_OK; i++)
		ls_put_le32(out->data + out->len - 4 * (count - i), ls_bits_f32(t->data[i]));
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

ls_status ls_safetensors_write(const char *path, const ls_safetensor_source *tensors, size_t count, bool overwrite, ls_error *err)
{
	ls_status status;
	const ls_safetensor_source **order = ls_alloc(count, sizeof *order);
	ls_buf out;
	ls_buf_init(&out, FILE_BYTES_MAX);
	if (!order)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory to write it", path);
	LS_TRY(sort_sources(order, tensors, count, err));
	if (!overwrite && ls_file_exists(path)) {
		status = ls_error_set(err, LS_ERR_EXISTS, "%s: found a file, expected none\n  hint: choose another name, or overwrite it", path);
		goto done;
	}
	LS_TRY(put_header(&out, order, count, err));
	for (size_t i = 0; i < count; i++)
		put_data(&out, order[i]);
	if (out.status != LS_OK) {
		status = ls_error_set(err, out.status, "%s: no memory to write it", path);
		goto done;
	}
	LS_TRY(ls_file_write(path, out.data, out.len, err));
done:
	ls_buf_free(&out);
	ls_free(order);
	return status;
}
