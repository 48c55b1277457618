/* Lockstep: safetensors files (github.com/huggingface/safetensors), read strictly and written plainly.
 *
 * A file is a u64 little-endian length, a JSON object of that many bytes, and data. The object maps names to
 * {"dtype", "shape", "data_offsets": [begin, end]}, offsets counted from the first byte of data; "__metadata__" may hold
 * texts. Refused are: a header beyond the format's 100 MB or the file's end, names given twice, unknown dtypes, sizes that
 * do not follow from dtype and shape, and data that overlap, leave a gap or do not end with the file.
 *
 * Large models come as several files and an index, NAME.index.json: an object whose member "weight_map" says for each tensor
 * in which file it is, all of them in the folder of the index. Each tensor must be where the map says, and nowhere else.
 */
#ifndef LOCKSTEP_SAFETENSORS_H
#define LOCKSTEP_SAFETENSORS_H

#include <lockstep/base.h>

#define LS_SAFETENSORS_HEADER_MAX 100000000
#define LS_SAFETENSORS_RANK_MAX 8
#define LS_SAFETENSORS_NAME_MAX 255
#define LS_SAFETENSORS_PARTS_MAX 1000 /* files of an index */
#define LS_SAFETENSORS_MAPPED_MAX 65536 /* tensors of an index */

typedef struct ls_safetensor {
	const char *name; /* 1…255 bytes of UTF-8 */
	const char *dtype; /* as written in the file: "F32", "BF16", "I64", … */
	int rank; /* 0…8 */
	int64_t dim[LS_SAFETENSORS_RANK_MAX];
	int64_t count; /* elements */
	uint64_t begin, end; /* bytes of data */
	size_t part;         /* number of the file among those of an index; else 0 */
} ls_safetensor;

typedef struct ls_safetensors ls_safetensors;

/* `path` is a safetensors file, an index (it ends in ".index.json"), or a folder with model.safetensors or
 * model.safetensors.index.json. Reads and checks headers; no data. LS_ERR_NOT_FOUND, LS_ERR_IO, LS_ERR_NOMEM, LS_ERR_INPUT (what the file says),
 * LS_ERR_LIMIT (header too long, or of too many parts for the memory that a header is given). */
ls_status ls_safetensors_open(ls_safetensors **out, const char *path, ls_error *err);
void ls_safetensors_free(ls_safetensors *file);
size_t ls_safetensors_count(const ls_safetensors *file);
/* Ascending by name; index < count. Borrowed until the file is freed, as is what find returns. */
const ls_safetensor *ls_safetensors_at(const ls_safetensors *file, size_t index);
const ls_safetensor *ls_safetensors_find(const ls_safetensors *file, const char *name); /* NULL where there is none */

/* The numbers of a tensor of dtype F32, F16 or BF16 as FP32 (exact), −0 as +0, into `out` (tensor->count floats).
 * LS_ERR_INPUT names the element where one is infinite, NaN or no number of the grid of `bits` (num.h), and the dtype where
 * it is another. */
ls_status ls_safetensors_read(const ls_safetensors *file, const ls_safetensor *tensor, int bits, float *out, ls_error *err);

/* One tensor to be written. */
typedef struct ls_safetensor_source {
	const char *name; /* 1…255 bytes of UTF-8, no two alike */
	int rank;
	int64_t dim[LS_SAFETENSORS_RANK_MAX];
	const float *data;
} ls_safetensor_source;

/* Writes F32 tensors with metadata {"format": "pt"}, in order of name whatever their order here. The file appears whole or
 * not at all; nothing of it is kept in memory. LS_ERR_EXISTS where `path` is there and `overwrite` is false; LS_ERR_USAGE where names, ranks or dims are
 * outside their bounds. */
ls_status ls_safetensors_write(const char *path, const ls_safetensor_source *tensors, size_t count, bool overwrite,
                               ls_error *err);

#endif
