/* Weights in several safetensors files: the index, and that it and the files say the same. */
#include "data/safetensors.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define INDEX_MAX (16u << 20)
#define SIGNS_MAX (4u * LS_SAFETENSORS_MAPPED_MAX) /* of values of the index; jansson needs memory for each */

static ls_status complain(const ls_safetensors *s, const char *name, const char *found, const char *expected, ls_error *err)
{
	char shown[64], place[96];
	size_t n = 0;
	for (; name[n] && n + 1 < sizeof shown; n++)
		shown[n] = name[n] < 0x20 || name[n] > 0x7e ? '?' : name[n];
	shown[n] = 0;
	snprintf(place, sizeof place, "weight_map: tensor '%s'", shown);
	return ls_error_input(err, s->path, place, found, expected, "fetch all files of the model again");
}

/* A plain name: an index must not reach out of its folder. */
static bool is_plain(const char *name)
{
	return name && name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) <= LS_SAFETENSORS_NAME_MAX;
}

/* The file of that name, which is opened where it has not been. */
static ls_status part_named(ls_safetensors *s, const char *name, size_t *out, ls_error *err)
{
	ls_status status;
	char path[LS_PATH_MAX], folder[LS_PATH_MAX];
	const char *slash = strrchr(s->path, '/');
	size_t len = slash ? (size_t)(slash - s->path) + 1 : 0;
	memcpy(folder, s->path, len); // s->path is shorter than LS_PATH_MAX
	folder[len] = 0;
	if (snprintf(path, sizeof path, "%s%s", folder, name) >= (int)sizeof path)
		return ls_error_set(err, LS_ERR_LIMIT, "%s%s: path is too long", folder, name);
	for (*out = 0; *out < s->parts; ++*out)
		if (strcmp(s->part[*out]->path, path) == 0)
			return LS_OK;
	if (s->parts == LS_SAFETENSORS_PARTS_MAX)
		return ls_error_set(err, LS_ERR_LIMIT, "%s: found more than %d files, expected fewer", s->path, LS_SAFETENSORS_PARTS_MAX);
	LS_TRY(ls_data__safetensors_open_one(&s->part[s->parts], path, err));
	s->parts++;
done:
	return status;
}

static ls_status add_tensor(ls_safetensors *s, const char *name, json_t *file, ls_error *err)
{
	ls_status status;
	size_t part;
	const ls_safetensor *found;
	if (!is_plain(json_string_value(file)))
		return complain(s, name, "no plain file name", "the name of a file beside the index", err);
	LS_TRY(part_named(s, json_string_value(file), &part, err));
	found = ls_safetensors_find(s->part[part], name);
	if (!found)
		return complain(s, name, "no such tensor in the file that is named", "every tensor where the map says", err);
	s->tensor[s->count] = *found;
	s->tensor[s->count++].part = part;
done:
	return status;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const ls_safetensor *)a)->name, ((const ls_safetensor *)b)->name);
}

/* Each mapped tensor is in its file, so files with as many tensors as the map hold nothing else. */
static ls_status check_nothing_else(const ls_safetensors *s, ls_error *err)
{
	for (size_t p = 0; p < s->parts; p++)
		for (size_t i = 0; i < s->part[p]->count; i++) {
			const ls_safetensor *t = ls_safetensors_find(s, s->part[p]->tensor[i].name);
			if (!t || t->part != p)
				return complain(s, s->part[p]->tensor[i].name, "it in a file that the map does not name for it", "every tensor where the map says", err);
		}
	return LS_OK;
}

static ls_status read_map(ls_safetensors *s, json_t *map, ls_error *err)
{
	ls_status status = LS_OK;
	const char *name;
	json_t *file;
	s->tensor = ls_alloc(json_object_size(map), sizeof *s->tensor);
	s->part = ls_alloc(LS_SAFETENSORS_PARTS_MAX, sizeof *s->part);
	if (!s->tensor || !s->part)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for its tensors", s->path);
	json_object_foreach(map, name, file) {
		size_t before = s->parts, total = 0;
		LS_TRY(add_tensor(s, name, file, err));
		for (size_t p = 0; p < s->parts && s->parts > before; p++)
			total += s->part[p]->count;
		if (total > json_object_size(map)) { // before more of them are opened
			status = ls_error_input(err, s->path, "weight_map", "fewer tensors than its files have", "all of them", NULL);
			goto done;
		}
	}
	qsort(s->tensor, s->count, sizeof *s->tensor, by_name);
	LS_TRY(check_nothing_else(s, err));
done:
	return status;
}

static ls_status parse(const ls_safetensors *s, json_t **out, ls_error *err)
{
	ls_status status;
	uint8_t *text = NULL;
	size_t len, signs = 0;
	json_error_t why;
	LS_TRY(ls_file_read(&text, &len, s->path, INDEX_MAX, err));
	for (size_t i = 0; i < len; i++)
		signs += text[i] == ',' || text[i] == ':' || text[i] == '[' || text[i] == '{';
	if (signs > SIGNS_MAX) {
		status = ls_error_set(err, LS_ERR_LIMIT, "%s: found more than %u values, expected fewer", s->path, SIGNS_MAX);
		goto done;
	}
	*out = json_loadb((char *)text, len, JSON_REJECT_DUPLICATES, &why);
	if (!*out)
		status = ls_error_input(err, s->path, NULL, "no JSON, or a name given twice", "an object with the member weight_map", NULL);
done:
	ls_free(text);
	return status;
}

ls_status ls_data__safetensors_open_index(ls_safetensors **out, const char *path, ls_error *err)
{
	ls_status status;
	ls_safetensors *s = NULL;
	json_t *root = NULL, *map;
	*out = NULL;
	LS_TRY(ls_data__safetensors_new(&s, path, err));
	LS_TRY(parse(s, &root, err));
	map = json_object_get(root, "weight_map");
	if (!json_is_object(map) || json_object_size(map) == 0 || json_object_size(map) > LS_SAFETENSORS_MAPPED_MAX) {
		status = ls_error_input(err, path, "weight_map", "something else", "an object of 1 to 65536 tensors and the files they are in", NULL);
		goto done;
	}
	LS_TRY(read_map(s, map, err));
	*out = s;
	s = NULL;
done:
	json_decref(root);
	ls_safetensors_free(s);
	return status;
}
