/* The JSON header of a safetensors file: what it may say, and that what it says fits together. */
#include "data/safetensors.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* Jansson needs about a hundred bytes for each value. Signs that separate values bound their number before it is asked to. */
#define SIGNS_MAX (4u << 20)
#define SHOWN 64

int ls_data__safetensors_dtype_size(const char *dtype)
{
	static const struct {
		const char *name;
		int size;
	} sizes[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
	             {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (strcmp(sizes[i].name, dtype) == 0)
			return sizes[i].size;
	return 0;
}

/* A foreign name as harmless text. */
static void show(char out[SHOWN], const char *name)
{
	snprintf(out, SHOWN, "%s", name);
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e)
			*c = '?';
}

static ls_status complain(const ls_safetensors *s, const char *name, const char *found, const char *expected, ls_error *err)
{
	char shown[SHOWN], place[SHOWN + 16];
	show(shown, name);
	snprintf(place, sizeof place, "tensor '%s'", shown);
	return ls_error_input(err, s->path, place, found, expected, "the file is damaged or was not made by safetensors");
}

static ls_status check_size_of_text(const ls_safetensors *s, const char *text, size_t len, ls_error *err)
{
	size_t signs = 0;
	for (size_t i = 0; i < len; i++)
		signs += text[i] == ',' || text[i] == ':' || text[i] == '[' || text[i] == '{';
	if (signs > SIGNS_MAX)
		return ls_error_set(err, LS_ERR_LIMIT, "%s: header: found more than %u values, expected fewer", s->path, SIGNS_MAX);
	if (len == 0 || text[0] != '{')
		return ls_error_input(err, s->path, "byte 8", "another beginning", "the header, which begins with {", NULL);
	return LS_OK;
}

/* ---- one entry ---- */

/* Whole numbers from 0; jansson has refused those beyond 63 bits. */
static bool read_integers(json_t *list, int64_t *out, size_t least, size_t most)
{
	if (!json_is_array(list) || json_array_size(list) < least || json_array_size(list) > most)
		return false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *item = json_array_get(list, i);
		if (!json_is_integer(item) || json_integer_value(item) < 0)
			return false;
		out[i] = json_integer_value(item);
	}
	return true;
}

/* Elements of a shape, or −1 where they exceed what a file can hold. */
static int64_t count_of(const ls_safetensor *t)
{
	int64_t count = 1;
	for (int i = 0; i < t->rank; i++) {
		if (t->dim[i] && count > (INT64_C(1) << 56) / t->dim[i])
			return -1;
		count *= t->dim[i];
	}
	return count;
}

static ls_status check_entry(const ls_safetensors *s, ls_safetensor *t, uint64_t data_bytes, ls_error *err)
{
	char found[96], expected[96];
	int size = ls_data__safetensors_dtype_size(t->dtype);
	t->count = count_of(t);
	if (t->begin > t->end || t->end > data_bytes) {
		snprintf(found, sizeof found, "data_offsets [%llu, %llu]", (unsigned long long)t->begin, (unsigned long long)t->end);
		snprintf(expected, sizeof expected, "begin ≤ end ≤ %llu, the bytes of data", (unsigned long long)data_bytes);
		return complain(s, t->name, found, expected, err);
	}
	if (t->count < 0)
		return complain(s, t->name, "a shape of more than 2^56 elements", "fewer", err);
	if (t->end - t->begin == (uint64_t)t->count * (uint64_t)size)
		return LS_OK;
	snprintf(found, sizeof found, "%llu bytes", (unsigned long long)(t->end - t->begin));
	snprintf(expected, sizeof expected, "%lld for %lld elements of %s", (long long)t->count * size, (long long)t->count, t->dtype);
	return complain(s, t->name, found, expected, err);
}

static ls_status read_entry(const ls_safetensors *s, ls_safetensor *t, const char *name, json_t *entry, uint64_t data_bytes,
                            ls_error *err)
{
	int64_t offsets[2];
	const char *dtype = json_string_value(json_object_get(entry, "dtype"));
	json_t *shape = json_object_get(entry, "shape");
	if (!name[0] || strlen(name) > LS_SAFETENSORS_NAME_MAX)
		return complain(s, name, "an empty or overlong name", "1 to 255 bytes", err);
	if (!json_is_object(entry) || json_object_size(entry) != 3)
		return complain(s, name, "something else", "an object of dtype, shape and data_offsets", err);
	if (!dtype || !ls_data__safetensors_dtype_size(dtype))
		return complain(s, name, dtype ? "an unknown dtype" : "no dtype", "a dtype such as F32, F16 or BF16", err);
	if (!read_integers(shape, t->dim, 0, LS_SAFETENSORS_RANK_MAX))
		return complain(s, name, "another shape", "a list of at most 8 whole numbers", err);
	if (!read_integers(json_object_get(entry, "data_offsets"), offsets, 2, 2))
		return complain(s, name, "other data_offsets", "a list of two whole numbers", err);
	t->rank = (int)json_array_size(shape);
	t->begin = (uint64_t)offsets[0];
	t->end = (uint64_t)offsets[1];
	t->name = ls_strdup(name);
	t->dtype = ls_strdup(dtype);
	if (!t->name || !t->dtype)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for its header", s->path);
	return check_entry(s, t, data_bytes, err);
}

static ls_status check_metadata(const ls_safetensors *s, json_t *metadata, ls_error *err)
{
	const char *key;
	json_t *value;
	bool fine = json_is_object(metadata);
	if (fine)
		json_object_foreach(metadata, key, value)
			fine = fine && json_is_string(value);
	return fine ? LS_OK : ls_error_input(err, s->path, "__metadata__", "something else", "an object of texts", NULL);
}

/* ---- all of them ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const ls_safetensor *)a)->name, ((const ls_safetensor *)b)->name);
}

static int by_place(const void *a, const void *b)
{
	const ls_safetensor *x = *(const ls_safetensor *const *)a, *y = *(const ls_safetensor *const *)b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* Every byte of data belongs to one tensor. */
static ls_status check_cover(const ls_safetensors *s, uint64_t data_bytes, ls_error *err)
{
	ls_status status = LS_OK;
	const ls_safetensor **order = ls_alloc(s->count, sizeof *order);
	uint64_t at = 0;
	char found[64], expected[64];
	if (!order)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for its header", s->path);
	for (size_t i = 0; i < s->count; i++)
		order[i] = &s->tensor[i];
	qsort(order, s->count, sizeof *order, by_place);
	for (size_t i = 0; i < s->count && status == LS_OK; at = order[i++]->end) {
		if (order[i]->begin == at)
			continue;
		snprintf(found, sizeof found, "data from byte %llu on", (unsigned long long)order[i]->begin);
		snprintf(expected, sizeof expected, "byte %llu, where the tensor before it ends", (unsigned long long)at);
		status = complain(s, order[i]->name, found, expected, err);
	}
	if (status == LS_OK && at != data_bytes) {
		snprintf(found, sizeof found, "%llu bytes of data", (unsigned long long)data_bytes);
		snprintf(expected, sizeof expected, "%llu, where the last tensor ends", (unsigned long long)at);
		status = ls_error_input(err, s->path, "data", found, expected, NULL);
	}
	ls_free(order);
	return status;
}

static ls_status read_entries(ls_safetensors *s, json_t *root, uint64_t data_bytes, ls_error *err)
{
	ls_status status = LS_OK;
	const char *name;
	json_t *entry;
	s->tensor = ls_alloc(json_object_size(root), sizeof *s->tensor);
	if (!s->tensor)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for its header", s->path);
	json_object_foreach(root, name, entry) {
		if (strcmp(name, "__metadata__") == 0)
			LS_TRY(check_metadata(s, entry, err));
		else
			LS_TRY(read_entry(s, &s->tensor[s->count++], name, entry, data_bytes, err));
	}
	qsort(s->tensor, s->count, sizeof *s->tensor, by_name);
	LS_TRY(check_cover(s, data_bytes, err));
done:
	return status;
}

ls_status ls_data__safetensors_header(ls_safetensors *s, const char *text, size_t len, uint64_t data_bytes, ls_error *err)
{
	ls_status status;
	json_error_t why;
	json_t *root = NULL;
	char found[sizeof why.text + 16];
	LS_TRY(check_size_of_text(s, text, len, err));
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!root) {
		for (char *c = why.text; *c; c++) // it may quote the text
			if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e)
				*c = '?';
		snprintf(found, sizeof found, "bad JSON (%s)", why.text);
		status = ls_error_input(err, s->path, "header", found, "an object of tensors, each name once", NULL);
		goto done;
	}
	if (!json_is_object(root))
		status = ls_error_input(err, s->path, "header", "something else", "an object of tensors", NULL);
	else
		status = read_entries(s, root, data_bytes, err);
done:
	json_decref(root);
	return status;
}
