// OpenBLAS, loaded when asked for. It multiplies chunks of 512 terms with beta = 0; the chunks are added here, in
// ascending order, so that whatever order it sums in stays within the depth that the bound allows (kernel/gemm.h).
#include "platform/platform.h"

#include "kernel/gemm.h"

#include <dlfcn.h>
#include <stdio.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; // of the CBLAS interface

typedef void (*dgemm_fn)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double *a,
                         int lda, const double *b, int ldb, double beta, double *c, int ldc);
typedef void (*threads_fn)(int threads);
typedef char *(*corename_fn)(void);

struct openblas {
	void *library;
	dgemm_fn dgemm;
	ls_engine engine;
	ls_gemm *gemm;
};

static void *load_library(void)
{
	static const char *const paths[] = {
		"libopenblas.so.0",
		"/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
		"/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
	};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		void *library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
		if (library)
			return library;
	}
	return NULL;
}

// A function's address; ISO C has no conversion from the object pointer that dlsym returns.
static bool load_function(void *function, void *library, const char *name)
{
	void *address = dlsym(library, name);
	memcpy(function, &address, sizeof address);
	return address != NULL;
}

static void multiply(const ls_engine *engine, const ls_kernel_table *table, const ls_block *block)
{
	const struct openblas *blas = engine->context;
	int m = (int)block->rows->rows, n = (int)block->columns->rows;
	double *c = block->add ? block->spare : block->c;
	blas->dgemm(ROW_MAJOR, TRANS, NO_TRANS, m, n, (int)block->k, 1.0, block->a, m, block->b, n, 0.0, c, n);
	for (int64_t i = 0; block->add && i < (int64_t)m * n; i++)
		block->c[i] += c[i];
}

static void close_openblas(ls_platform *p)
{
	struct openblas *blas = p->state;
	ls_kernel__gemm_free(blas->gemm);
	if (blas->library)
		dlclose(blas->library);
	ls_free(blas);
}

static ls_status load(struct openblas *blas, ls_platform *p, ls_error *err)
{
	threads_fn set_threads;
	corename_fn corename;
	blas->library = load_library();
	if (!blas->library)
		return ls_error_set(err, LS_ERR_UNSUPPORTED, "platform openblas: found no libopenblas.so.0\n"
		                    "  hint: install libopenblas0-pthread, or set LD_LIBRARY_PATH");
	if (!load_function(&blas->dgemm, blas->library, "cblas_dgemm") ||
	    !load_function(&set_threads, blas->library, "openblas_set_num_threads") ||
	    !load_function(&corename, blas->library, "openblas_get_corename"))
		return ls_error_set(err, LS_ERR_UNSUPPORTED, "platform openblas: found a library without its functions");
	set_threads(1); // the tiles are what runs in parallel
	snprintf(p->description, sizeof p->description, "openblas %s", corename());
	return LS_OK;
}

static ls_status open_openblas(ls_platform *p, ls_error *err)
{
	struct openblas *blas = p->state = ls_alloc(1, sizeof *blas);
	ls_status status = LS_OK;
	if (!blas)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	LS_TRY(load(blas, p, err));
	blas->engine = (ls_engine){.block = 512, .group = INT64_C(1) << 40, .joined = true, .spare = true,
	                           .multiply = multiply, .context = blas};
	LS_TRY(ls_kernel__gemm_open(&blas->gemm, &p->table, &blas->engine, p->pool, err));
done:
	if (status != LS_OK)
		close_openblas(p);
	return status;
}

static ls_status product(ls_platform *p, const ls_product_call *call, ls_error *err)
{
	struct openblas *blas = p->state;
	return ls_kernel__gemm_run(blas->gemm, call, err);
}

const ls_platform_def ls_platform__openblas = {
	.name = "openblas", .row_kernels = true, .open = open_openblas, .close = close_openblas, .product = product,
};
