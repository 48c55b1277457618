// ctest: labels=exhaustive timeout=3600 libs=mpfr
/* Every one of the 2^32 inputs of each correctly rounded function against the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
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

static const struct subject {
	const char *name;
	float (*function)(float);
	uint32_t (*expected)(oracle *, float);
} subjects[] = {
	{"exp", ls_exp, oracle_exp},
	{"log", ls_log, oracle_log},
	{"rsqrt", ls_rsqrt, oracle_rsqrt},
	{"tanh", ls_tanh, oracle_tanh},
	{"sigmoid", ls_sigmoid, oracle_sigmoid},
	{"gelu", ls_gelu, oracle_gelu},
	{"gelu_slope", ls_gelu_slope, oracle_slope},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static int64_t run_subject(const struct subject *subject, uint32_t flip, int64_t slices)
{
	sweep *s = calloc(1, sizeof *s);
	int64_t wrong;
	assert_non_null(s);
	s->function = subject->function;
	s->expected = subject->expected;
	s->flip = flip;
	wrong = run_sweep(s, subject->name, slices);
	free(s);
	return wrong;
}

static void test_every_input(void **state)
{
	assert_int_equal(run_subject(*state, 0, SLICES), 0);
}

/* One input in 2^20 is off by its last bit: the sweep must see exactly these. Slices hold 2^22 inputs. */
static void test_errors_are_seen(void **state)
{
	for (int i = 0; i < SUBJECTS; i++)
		assert_int_equal(run_subject(&subjects[i], 1, 8), 8 * 4);
}

/* An argument is a pattern: only the functions it fits are swept. */
int main(int argc, char **argv)
{
	struct CMUnitTest tests[SUBJECTS + 1] = {cmocka_unit_test(test_errors_are_seen)};
	for (int i = 0; i < SUBJECTS; i++)
		tests[i + 1] = (struct CMUnitTest){.name = subjects[i].name, .test_func = test_every_input,
		                                   .initial_state = (void *)&subjects[i]};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
