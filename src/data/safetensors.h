/* Internal to data: an open safetensors file. */
#ifndef LS_DATA_SAFETENSORS_H
#define LS_DATA_SAFETENSORS_H

#include <lockstep/safetensors.h>

struct ls_safetensors {
	char *path;
	ls_file *file;
	uint64_t data; /* offset of the first byte of data */
	ls_safetensor *tensor; /* ascending by name; names and dtypes are owned here */
	size_t count;
};

/* Bytes of one element; 0 where there is no such dtype. */
int ls_data__safetensors_dtype_size(const char *dtype);
/* Fills `tensor` and `count` from the header's text; `data_bytes` follow it in the file. */
ls_status ls_data__safetensors_header(ls_safetensors *s, const char *text, size_t len, uint64_t data_bytes, ls_error *err);

#endif
