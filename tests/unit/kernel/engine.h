/* The native engine on any instruction set and number of threads, and what two of them flag. */
#ifndef LS_TEST_KERNEL_ENGINE_H
#define LS_TEST_KERNEL_ENGINE_H

#include "kernel/gemm.h"
#include "kernel/cases.h"

#define ISAS 3
static const char *const isa_names[ISAS] = {"portable", "avx2", "avx512"};

struct engine {
	ls_kernel_table table;
	ls_pool *pool;
	ls_gemm *gemm;
};

// False where this processor has not got the instruction set.
static inline bool engine_open(struct engine *e, const char *isa, int threads)
{
	ls_error err = LS_ERROR_INIT;
	ls_status status = ls_kernel__table_init(&e->table, isa, &err);
	if (status == LS_ERR_UNSUPPORTED)
		return false;
	assert_int_equal(status, LS_OK);
	assert_int_equal(ls_pool_open(&e->pool, threads, NULL), LS_OK);
	assert_int_equal(ls_kernel__gemm_open(&e->gemm, &e->table, &ls_kernel__native_engine, e->pool, NULL), LS_OK);
	return true;
}

static inline void engine_close(struct engine *e)
{
	ls_kernel__gemm_free(e->gemm);
	ls_pool_free(e->pool);
}

static inline bool same_flags(const ls_flag_list *a, const ls_flag_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		bool finite = a->flag[i].c - a->flag[i].c == 0; // the sign of a NaN is no part of any promise
		if (a->flag[i].index != b->flag[i].index)
			return false;
		if (finite && ls_bits_f64(a->flag[i].c) != ls_bits_f64(b->flag[i].c))
			return false;
		if (finite && ls_bits_f64(a->flag[i].t) != ls_bits_f64(b->flag[i].t))
			return false;
	}
	return true;
}

#endif
