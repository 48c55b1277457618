/* Internal to job: weights that a run starts from. */
#ifndef LS_JOB_IMPORT_H
#define LS_JOB_IMPORT_H

#include <lockstep/model.h>

/* The weights of a model in order of name, as `import` reads them. Start from {0}. */
typedef struct ls_job__import {
	float **tensor;
	int count;
	ls_imports source; /* its context is this struct, which must not move */
} ls_job__import;

/* Reads every weight of `model` from a safetensors file, on the model's state grid, and computes the state root over them.
 * LS_ERR_INPUT where the file's tensors are not exactly the model's weights: names, shapes, numbers on the grid. Ignored
 * are buffers that carry no weight, and a prefix that all names have in one of the two only. */
ls_status ls_job__import_read(ls_job__import *out, const char *path, const ls_model *model, ls_hash *root, ls_error *err);
void ls_job__import_free(ls_job__import *import);

#endif
