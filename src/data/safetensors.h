/* Internal to data: an open safetensors file. */
#ifndef LS_DATA_SAFETENSORS_H
#define LS_DATA_SAFETENSORS_H

#include <lockstep/safetensors.h>

#define LS_DATA__INDEX_END ".index.json" /* how the name of a list of several files ends */

struct ls_safetensors {
	char *path;
	ls_safetensor *tensor; /* ascending by name */
	size_t count;
	/* A single file, which owns the names and dtypes of its tensors: */
	ls_file *file;
	uint64_t data; /* offset of the first byte of data */
	/* Or several, whose tensors are listed here, too: */
	struct ls_safetensors **part;
	size_t parts;
};

/* Only `path` is set. */
ls_status ls_data__safetensors_new(ls_safetensors **out, const char *path, ls_error *err);
ls_status ls_data__safetensors_open_one(ls_safetensors **out, const char *path, ls_error *err);
ls_status ls_data__safetensors_open_index(ls_safetensors **out, const char *path, ls_error *err);
/* Bytes of one element; 0 where there is no such dtype. */
int ls_data__safetensors_dtype_size(const char *dtype);
/* Fills `tensor` and `count` from the header's text; `data_bytes` follow it in the file. */
ls_status ls_data__safetensors_header(ls_safetensors *s, const char *text, size_t len, uint64_t data_bytes, ls_error *err);

#endif
