#include "kernel/table.h"

#include <stdlib.h>

// The builtin looks at the processor and, through XGETBV, at whether the system saves the wide registers.
#if defined(__x86_64__)
static bool have_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool have_avx512(void)
{
	return have_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}

static void use_avx2(ls_kernel_table *t)
{
	t->isa = "avx2";
	ls_kernel__tile_avx2(t);
	ls_kernel__pack_avx2(t);
	ls_kernel__pinned_avx2(t);
	ls_kernel__round_avx2(t);
	ls_kernel__dot_avx2(t);
	t->filter = ls_kernel__filters_avx2();
	t->loops = ls_kernel__loops_avx2();
}

static void use_avx512(ls_kernel_table *t)
{
	t->isa = "avx512";
	ls_kernel__tile_avx512(t);
	ls_kernel__pack_avx512(t);
	ls_kernel__pinned_avx512(t);
	ls_kernel__round_avx512(t);
	ls_kernel__dot_avx512(t);
	t->filter = ls_kernel__filters_avx512();
	t->loops = ls_kernel__loops_avx512();
}
#else
static bool have_avx2(void)
{
	return false;
}

static bool have_avx512(void)
{
	return false;
}

static void use_avx2(ls_kernel_table *t)
{
}

static void use_avx512(ls_kernel_table *t)
{
}
#endif

static bool have_always(void)
{
	return true;
}

static bool have_never(void)
{
	return false;
}

static void use_portable(ls_kernel_table *t)
{
}

// Slowest first: the last one that this processor has is the best.
static const struct isa {
	const char *name;
	bool (*have)(void);
	void (*use)(ls_kernel_table *t);
} isas[] = {
	{"portable", have_always, use_portable},
	{"neon", have_never, use_portable}, // reserved: no kernels yet
	{"avx2", have_avx2, use_avx2},
	{"avx512", have_avx512, use_avx512},
};
#define ISA_COUNT (sizeof isas / sizeof *isas)

ls_status ls_kernel__table_init(ls_kernel_table *out, const char *isa, ls_error *err)
{
	ls_kernel__portable(out);
	if (!isa)
		isa = getenv("LOCKSTEP_ISA");
	if (!isa || !*isa) {
		for (size_t i = ISA_COUNT; i-- > 0;)
			if (isas[i].have()) {
				isas[i].use(out);
				return LS_OK;
			}
	}
	for (size_t i = 0; i < ISA_COUNT; i++)
		if (!strcmp(isa, isas[i].name)) {
			if (!isas[i].have())
				return ls_error_set(err, LS_ERR_UNSUPPORTED,
				                    "instruction set: found %s, which this processor or build does not have\n"
				                    "  hint: portable runs everywhere", isa);
			isas[i].use(out);
			return LS_OK;
		}
	return ls_error_set(err, LS_ERR_USAGE,
	                    "instruction set: found \"%.40s\", expected portable, avx2, avx512 or neon\n"
	                    "  hint: LOCKSTEP_ISA unset takes the best one", isa);
}
