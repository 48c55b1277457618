/* What fuzz targets share. A target is one file fuzz_NAME.c with LLVMFuzzerTestOneInput: it must come back from any bytes, and
 * aborts (FUZZ_CHECK) where what it tests breaks a promise of its header. With -DLOCKSTEP_FUZZ=ON and clang it becomes a
 * libFuzzer program; otherwise replay.c runs it over its corpus, which is the test fuzz.NAME.
 */
#ifndef LS_FUZZ_H
#define LS_FUZZ_H

#include <lockstep/train.h>

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(promise)                                                          \
	do {                                                                             \
		if (!(promise)) {                                                            \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #promise); \
			abort();                                                                 \
		}                                                                            \
	} while (0)

/* A folder of this process, emptied and removed when it ends; in memory (/dev/shm) where there is such a place. */
const char *fuzz_folder(void);
/* Its path joined with a name; borrowed until the next call but three. */
const char *fuzz_path(const char *name);
void fuzz_write(const char *name, const void *data, size_t size);

/* A plan of a small job in mode logged whose data lie below fuzz_folder(), made once and never freed, and its first steps. */
const ls_job_plan *fuzz_plan(void);
/* Trains it into the folder `name`. */
void fuzz_train(const char *name);

#endif
