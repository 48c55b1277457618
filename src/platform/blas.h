/* Internal to src/platform: what the platforms share that have a CBLAS library multiply. It multiplies chunks with
 * beta = 0, of 512 terms in FP64, of LS_CHUNK_TERMS in FP32; the chunks are added here, in FP64 and in ascending order, so
 * that whatever order it sums in stays within the bounds (kernel/gemm.h).
 */
#ifndef LS_PLATFORM_BLAS_H
#define LS_PLATFORM_BLAS_H

#include "platform/platform.h"

/* A library and how it is set up. */
typedef struct ls_blas_recipe {
	const char *name, *package; /* of the platform; that Debian has the library in */
	const char *const *paths;   /* tried in order; NULL-terminated, the first one as the linker's path finds it */
	/* Makes the library compute on the calling thread alone and writes what kernels it chose to `kernels`. False where
	 * functions are missing. */
	bool (*prepare)(void *library, char *kernels, size_t size);
} ls_blas_recipe;

/* The open, close and product of such a platform. The recipe is borrowed. */
ls_status ls_platform__blas_open(ls_platform *p, const ls_blas_recipe *recipe, ls_error *err);
void ls_platform__blas_close(ls_platform *p);
int64_t ls_platform__blas_depth(const ls_product *product);
ls_status ls_platform__blas_product(ls_platform *p, const ls_product_call *call, ls_error *err);

/* Stores a function's address; false where the library has none of that name. ISO C has no conversion from the object
 * pointer that dlsym returns, so `function` points at a function pointer. */
bool ls_platform__blas_function(void *function, void *library, const char *name);

#endif
