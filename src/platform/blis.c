// BLIS, loaded when asked for. Which kernels it has is fixed at load: by the processor, or BLIS_ARCH_TYPE.
#include "platform/blas.h"

#include <stdio.h>

static const char *const paths[] = {
	"libblis.so.4",
	"/usr/lib/x86_64-linux-gnu/blis-pthread/libblis.so.4",
	"/usr/lib/x86_64-linux-gnu/blis-serial/libblis.so.4",
	"/usr/lib/aarch64-linux-gnu/blis-pthread/libblis.so.4",
	"/usr/lib/aarch64-linux-gnu/blis-serial/libblis.so.4",
	NULL,
};

static bool prepare(void *library, char *kernels, size_t size)
{
	void (*set_threads)(int64_t threads);
	int (*arch_id)(void);
	const char *(*arch_name)(int id);
	if (!ls_platform__blas_function(&set_threads, library, "bli_thread_set_num_threads") ||
	    !ls_platform__blas_function(&arch_id, library, "bli_arch_query_id") ||
	    !ls_platform__blas_function(&arch_name, library, "bli_arch_string"))
		return false;
	set_threads(1); // the tiles are what runs in parallel
	snprintf(kernels, size, "%s", arch_name(arch_id()));
	return true;
}

static ls_status open_blis(ls_platform *p, ls_error *err)
{
	static const ls_blas_recipe recipe = {"blis", "libblis4-pthread", paths, prepare};
	return ls_platform__blas_open(p, &recipe, err);
}

const ls_platform_def ls_platform__blis = {
	.name = "blis", .row_kernels = true, .open = open_blis, .close = ls_platform__blas_close,
	.product = ls_platform__blas_product,
	.depth = ls_platform__blas_depth,
};
