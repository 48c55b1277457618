// ctest: labels=exhaustive timeout=3600 libs=mpfr
/* Every one of the 2^32 inputs of ls_exp, ls_log and ls_rsqrt against the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "num/function_oracle.h"

#define SLICES 1024
#define SLICE_INPUTS (UINT64_C(0x100000000) / SLICES)

typedef struct sweep {
	float (*function)(float);
	uint32_t (*expected)(oracle *, float);
	uint32_t flip; /* xored into the result of every input that ends in 20 zero bits: the twin's injected error */
	int64_t wrong[SLICES];
	int64_t asked[SLICES];
	uint32_t first_wrong[SLICES];
} sweep;

static void run_slice(void *context, int64_t index, int worker)
{
	sweep *s = context;
	uint64_t start = (uint64_t)index * SLICE_INPUTS;
	oracle o;
	(void)worker;
	oracle_open(&o);
	for (uint64_t i = start; i < start + SLICE_INPUTS; i++) {
		uint32_t got = ls_bits_f32(s->function(ls_f32_bits((uint32_t)i)));
		if ((i & 0xfffff) == 0)
			got ^= s->flip;
		if (got != s->expected(&o, ls_f32_bits((uint32_t)i)) && s->wrong[index]++ == 0)
			s->first_wrong[index] = (uint32_t)i;
	}
	s->asked[index] = o.asked;
	oracle_close(&o);
	mpfr_free_cache();
}

/* Returns the number of wrong results over slices [from, to). */
static int64_t run_sweep(sweep *s, const char *name, int64_t slices)
{
	ls_pool *pool = NULL;
	int64_t wrong = 0, asked = 0;
	double start = ls_clock_seconds();
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	assert_int_equal(ls_pool_open(&pool, cores > 1 ? (int)cores : 1, NULL), LS_OK);
	ls_pool_run(pool, slices, run_slice, s);
	ls_pool_free(pool);
	for (int i = 0; i < slices; i++) {
		if (s->wrong[i] && wrong == 0)
			printf("%s: first wrong input %08x\n", name, s->first_wrong[i]);
		wrong += s->wrong[i];
		asked += s->asked[i];
	}
	printf("%s: %lld inputs, %lld settled by MPFR, %lld wrong, %.0f s\n", name, (long long)(slices * SLICE_INPUTS),
	       (long long)asked, (long long)wrong, ls_clock_seconds() - start);
	return wrong;
}

static sweep exp_sweep, log_sweep, rsqrt_sweep, exp_twin, log_twin, rsqrt_twin;

static void test_exp(void **state)
{
	exp_sweep.function = ls_exp;
	exp_sweep.expected = oracle_exp;
	assert_int_equal(run_sweep(&exp_sweep, "exp", SLICES), 0);
}

static void test_log(void **state)
{
	log_sweep.function = ls_log;
	log_sweep.expected = oracle_log;
	assert_int_equal(run_sweep(&log_sweep, "log", SLICES), 0);
}

static void test_rsqrt(void **state)
{
	rsqrt_sweep.function = ls_rsqrt;
	rsqrt_sweep.expected = oracle_rsqrt;
	assert_int_equal(run_sweep(&rsqrt_sweep, "rsqrt", SLICES), 0);
}

/* One input in 2^20 is off by its last bit: the sweep must see exactly these. Slices hold 2^22 inputs. */
static void test_errors_are_seen(void **state)
{
	exp_twin.function = ls_exp;
	exp_twin.expected = oracle_exp;
	exp_twin.flip = 1;
	assert_int_equal(run_sweep(&exp_twin, "exp, errors injected", 8), 8 * 4);
	log_twin.function = ls_log;
	log_twin.expected = oracle_log;
	log_twin.flip = 1;
	assert_int_equal(run_sweep(&log_twin, "log, errors injected", 8), 8 * 4);
	rsqrt_twin.function = ls_rsqrt;
	rsqrt_twin.expected = oracle_rsqrt;
	rsqrt_twin.flip = 1;
	assert_int_equal(run_sweep(&rsqrt_twin, "rsqrt, errors injected", 8), 8 * 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_are_seen),
		cmocka_unit_test(test_exp),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_rsqrt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
