#include "platform/blas.h"

#include "kernel/gemm.h"

#include <dlfcn.h>
#include <stdio.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; // of the CBLAS interface

typedef void (*dgemm_fn)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double *a,
                         int lda, const double *b, int ldb, double beta, double *c, int ldc);
typedef void (*sgemm_fn)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                         int lda, const float *b, int ldb, float beta, float *c, int ldc);

struct blas {
	void *library;
	dgemm_fn dgemm;
	sgemm_fn sgemm;
	ls_engine engine;
	ls_gemm *gemm;
};

bool ls_platform__blas_function(void *function, void *library, const char *name)
{
	void *address = dlsym(library, name);
	memcpy(function, &address, sizeof address);
	return address != NULL;
}

static void multiply(const ls_engine *engine, const ls_kernel_table *table, const ls_block *block)
{
	const struct blas *blas = engine->context;
	int m = (int)block->rows->rows, n = (int)block->columns->rows;
	double *c = block->add ? block->spare : block->c;
	blas->dgemm(ROW_MAJOR, TRANS, NO_TRANS, m, n, (int)block->k, 1.0, block->a, m, block->b, n, 0.0, c, n);
	for (int64_t i = 0; block->add && i < (int64_t)m * n; i++)
		block->c[i] += c[i];
}

static void multiply32(const ls_engine *engine, const ls_kernel_table *table, const ls_block *block)
{
	const struct blas *blas = engine->context;
	int m = (int)block->rows->rows, n = (int)block->columns->rows;
	float *c = (float *)block->spare;
	const float *a, *b;
	ls_kernel__narrow_block(block, &a, &b);
	for (int64_t at = 0; at < block->k; at += LS_CHUNK_TERMS) {
		int k = (int)(block->k - at < LS_CHUNK_TERMS ? block->k - at : LS_CHUNK_TERMS);
		bool add = block->add || at;
		blas->sgemm(ROW_MAJOR, TRANS, NO_TRANS, m, n, k, 1.0f, a + at * m, m, b + at * n, n, 0.0f, c, n);
		for (int64_t i = 0; i < (int64_t)m * n; i++)
			block->c[i] = add ? block->c[i] + (double)c[i] : (double)c[i];
	}
}

// NODELETE: such libraries keep memory and threads of their own, which unloading would leave behind.
static void *load_library(const char *const *paths)
{
	void *library = NULL;
	for (size_t i = 0; !library && paths[i]; i++)
		library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	return library;
}

static ls_status load(struct blas *blas, ls_platform *p, const ls_blas_recipe *recipe, ls_error *err)
{
	char kernels[48] = "";
	blas->library = load_library(recipe->paths);
	if (!blas->library)
		return ls_error_set(err, LS_ERR_UNSUPPORTED, "platform %s: found no %s\n  hint: install %s, or set LD_LIBRARY_PATH",
		                    recipe->name, recipe->paths[0], recipe->package);
	if (!ls_platform__blas_function(&blas->dgemm, blas->library, "cblas_dgemm") ||
	    !ls_platform__blas_function(&blas->sgemm, blas->library, "cblas_sgemm") ||
	    !recipe->prepare(blas->library, kernels, sizeof kernels))
		return ls_error_set(err, LS_ERR_UNSUPPORTED, "platform %s: found a library without its functions", recipe->name);
	snprintf(p->description, sizeof p->description, "%s %s", recipe->name, kernels);
	return LS_OK;
}

void ls_platform__blas_close(ls_platform *p)
{
	struct blas *blas = p->state;
	ls_kernel__gemm_free(blas->gemm);
	if (blas->library)
		dlclose(blas->library);
	ls_free(blas);
}

// Its order of summation is unknown, so it gets no more than 512 terms at once, and their sums are added here.
static const ls_engine shape = {.block = 512, .group = INT64_C(1) << 40, .joined = true, .spare = true, .multiply = multiply,
                                .multiply32 = multiply32};

int64_t ls_platform__blas_depth(const ls_product *p)
{
	return ls_kernel__engine_depth(&shape, p->terms, p->bias != LS_BIAS_NONE);
}

ls_status ls_platform__blas_open(ls_platform *p, const ls_blas_recipe *recipe, ls_error *err)
{
	struct blas *blas = p->state = ls_alloc(1, sizeof *blas);
	ls_status status = LS_OK;
	if (!blas)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	LS_TRY(load(blas, p, recipe, err));
	blas->engine = shape;
	blas->engine.context = blas;
	LS_TRY(ls_kernel__gemm_open(&blas->gemm, &p->table, &blas->engine, p->pool, err));
done:
	if (status != LS_OK)
		ls_platform__blas_close(p);
	return status;
}

ls_status ls_platform__blas_product(ls_platform *p, const ls_product_call *call, ls_error *err)
{
	struct blas *blas = p->state;
	return ls_kernel__gemm_run(blas->gemm, call, err);
}
