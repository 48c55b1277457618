// Own kernels: the best instruction set found, or the one asked for.
#include "platform/platform.h"

#include "kernel/gemm.h"

#include <stdio.h>

static ls_status open_native(ls_platform *p, ls_error *err)
{
	ls_gemm *gemm;
	ls_status status = ls_kernel__gemm_open(&gemm, &p->table, &ls_kernel__native_engine, p->pool, err);
	if (status != LS_OK)
		return status;
	p->state = gemm;
	snprintf(p->description, sizeof p->description, "native %s", p->table.isa);
	return LS_OK;
}

static void close_native(ls_platform *p)
{
	ls_kernel__gemm_free(p->state);
}

static ls_status product(ls_platform *p, const ls_product_call *call, ls_error *err)
{
	return ls_kernel__gemm_run(p->state, call, err);
}

static int64_t depth(const ls_product *p)
{
	return ls_kernel__engine_depth(&ls_kernel__native_engine, p->terms, p->bias != LS_BIAS_NONE);
}

const ls_platform_def ls_platform__native = {
	.name = "native", .row_kernels = true, .open = open_native, .close = close_native, .product = product,
	.depth = depth,
};
