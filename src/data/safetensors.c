/* Safetensors files: opening, and the numbers of tensors. */
#include "data/safetensors.h"

#include <lockstep/num.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

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

ls_status ls_data__safetensors_new(ls_safetensors **out, const char *path, ls_error *err)
{
	ls_safetensors *s = ls_alloc(1, sizeof *s);
	*out = NULL;
	if (!s || !(s->path = ls_strdup(path))) {
		ls_free(s);
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory to open it", path);
	}
	*out = s;
	return LS_OK;
}

ls_status ls_data__safetensors_open_one(ls_safetensors **out, const char *path, ls_error *err)
{
	ls_status status;
	ls_safetensors *s = NULL;
	*out = NULL;
	LS_TRY(ls_data__safetensors_new(&s, path, err));
	LS_TRY(ls_file_open(&s->file, path, false, err));
	LS_TRY(read_header(s, err));
	*out = s;
	s = NULL;
done:
	ls_safetensors_free(s);
	return status;
}

/* In a folder, what Hugging Face's libraries look for. */
static ls_status choose_file(char out[LS_PATH_MAX], const char *path, ls_error *err)
{
	ls_status status = LS_OK;
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
		if (strlen(path) >= LS_PATH_MAX)
			return ls_error_set(err, LS_ERR_LIMIT, "%s: path is too long", path);
		memcpy(out, path, strlen(path) + 1);
		return LS_OK;
	}
	LS_TRY(ls_path_join(out, LS_PATH_MAX, path, "model.safetensors", err));
	if (ls_file_exists(out))
		goto done;
	LS_TRY(ls_path_join(out, LS_PATH_MAX, path, "model.safetensors" LS_DATA__INDEX_END, err));
	if (!ls_file_exists(out))
		status = ls_error_set(err, LS_ERR_NOT_FOUND, "%s: found neither model.safetensors nor model.safetensors%s\n"
		                      "  hint: name the file", path, LS_DATA__INDEX_END);
done:
	return status;
}

ls_status ls_safetensors_open(ls_safetensors **out, const char *path, ls_error *err)
{
	ls_status status;
	char file[LS_PATH_MAX];
	size_t len, end = strlen(LS_DATA__INDEX_END);
	*out = NULL;
	LS_TRY(choose_file(file, path, err));
	len = strlen(file);
	LS_TRY(len >= end && !strcmp(file + len - end, LS_DATA__INDEX_END) ? ls_data__safetensors_open_index(out, file, err)
	                                                                  : ls_data__safetensors_open_one(out, file, err));
done:
	return status;
}

void ls_safetensors_free(ls_safetensors *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count && !s->parts; i++) {
		ls_free((void *)(uintptr_t)s->tensor[i].name);
		ls_free((void *)(uintptr_t)s->tensor[i].dtype);
	}
	for (size_t i = 0; i < s->parts; i++)
		ls_safetensors_free(s->part[i]);
	ls_free(s->part);
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
	if (s->parts)
		s = s->part[t->part];
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
