// OpenBLAS, loaded when asked for. Which kernels it has is fixed at load: by the processor, or OPENBLAS_CORETYPE.
#include "platform/blas.h"

#include <stdio.h>

static const char *const paths[] = {
	"libopenblas.so.0",
	"/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
	"/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
	NULL,
};

static bool prepare(void *library, char *kernels, size_t size)
{
	void (*set_threads)(int threads);
	char *(*corename)(void);
	if (!ls_platform__blas_function(&set_threads, library, "openblas_set_num_threads") ||
	    !ls_platform__blas_function(&corename, library, "openblas_get_corename"))
		return false;
	set_threads(1); // the tiles are what runs in parallel
	snprintf(kernels, size, "%s", corename());
	return true;
}

static ls_status open_openblas(ls_platform *p, ls_error *err)
{
	static const ls_blas_recipe recipe = {"openblas", "libopenblas0-pthread", paths, prepare};
	return ls_platform__blas_open(p, &recipe, err);
}

const ls_platform_def ls_platform__openblas = {
	.name = "openblas", .row_kernels = true, .open = open_openblas, .close = ls_platform__blas_close,
	.product = ls_platform__blas_product,
	.depth = ls_platform__blas_depth,
};
