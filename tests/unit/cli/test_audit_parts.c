// Parts of a run: joined, drawn, and what a sample of them misses.
#include "cli/audit_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Parts of these lengths, from step 1 on. */
static ls_cli_parts parts_of(const uint64_t *length, size_t count)
{
	ls_cli_parts p = {.part = ls_alloc(count, sizeof *p.part), .count = count};
	uint64_t next = 1;
	assert_non_null(p.part);
	for (size_t i = 0; i < count; i++) {
		p.part[i] = (ls_cli_part){next, next + length[i] - 1};
		next += length[i];
	}
	return p;
}

static void test_joined_parts_have_no_gap(void **state)
{
	static const uint64_t length[] = {3, 3, 3, 1, 9, 2, 2, 2, 30, 1};
	for (size_t most = 1; most <= 12; most++) {
		ls_cli_parts p = parts_of(length, 10);
		uint64_t next = 1;
		ls_cli__parts_join(&p, most);
		assert_in_range(p.count, 1, most < 10 ? most : 10);
		assert_int_equal(ls_cli__parts_steps(&p), 56);
		for (size_t i = 0; i < p.count; i++) {
			assert_int_equal(p.part[i].first, next);
			next = p.part[i].last + 1;
		}
		assert_int_equal(next, 57);
		ls_cli__parts_free(&p);
	}
	ls_cli_parts even = parts_of((const uint64_t[]){5, 5, 5, 5, 5, 5, 5, 5}, 8);
	ls_cli__parts_join(&even, 4);
	assert_int_equal(even.count, 4);
	assert_int_equal(even.part[1].first, 11);
	assert_int_equal(even.part[1].last, 20);
	ls_cli__parts_free(&even);
}

static void test_a_sample_follows_from_its_seed(void **state)
{
	enum { PARTS = 10, DRAWN = 3, SEEDS = 4000 };
	static const uint64_t length[PARTS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	int drawn[PARTS] = {0}, differ = 0;
	uint64_t before = 0;
	for (uint32_t s = 0; s < SEEDS; s++) {
		uint8_t seed[32] = {0};
		ls_cli_parts p = parts_of(length, PARTS), again = parts_of(length, PARTS);
		uint64_t mask = 0;
		ls_put_le32(seed, s);
		assert_int_equal(ls_cli__parts_sample(&p, DRAWN, seed, NULL), LS_OK);
		assert_int_equal(ls_cli__parts_sample(&again, DRAWN, seed, NULL), LS_OK);
		assert_int_equal(p.count, DRAWN);
		assert_memory_equal(p.part, again.part, DRAWN * sizeof *p.part);
		for (size_t i = 0; i < DRAWN; i++) {
			assert_true(i == 0 || p.part[i].first > p.part[i - 1].first);
			drawn[p.part[i].first - 1]++;
			mask |= UINT64_C(1) << p.part[i].first;
		}
		differ += mask != before;
		before = mask;
		ls_cli__parts_free(&p);
		ls_cli__parts_free(&again);
	}
	assert_true(differ > SEEDS / 2);
	for (int i = 0; i < PARTS; i++) // 1200 expected, standard deviation 29
		assert_in_range(drawn[i], 1050, 1350);
	ls_cli_parts all = parts_of(length, PARTS);
	assert_int_equal(ls_cli__parts_sample(&all, 99, (const uint8_t[32]){1}, NULL), LS_OK);
	assert_int_equal(all.count, PARTS);
	assert_int_equal(all.part[9].last, 10);
	ls_cli__parts_free(&all);
}

static bool near(double a, double b)
{
	return a - b < 1e-12 && b - a < 1e-12;
}

static void test_what_a_sample_misses(void **state)
{
	ls_cli_parts p = parts_of((const uint64_t[]){10, 10, 4, 10, 10, 2}, 6);
	assert_true(near(ls_cli__parts_missed(&p, 2, 1), 4.0 / 6));
	assert_true(near(ls_cli__parts_missed(&p, 2, 10), 4.0 / 6)); // they fit one part
	assert_true(near(ls_cli__parts_missed(&p, 2, 11), 4.0 / 6 * 3 / 5)); // these do not
	assert_true(near(ls_cli__parts_missed(&p, 2, 41), 0)); // five parts cannot all be among four
	assert_true(near(ls_cli__parts_missed(&p, 6, 1), 0));
	assert_true(near(ls_cli__parts_missed(&p, 0, 100), 1));
	ls_cli__parts_free(&p);
}

/* ---- joining verdicts ---- */

static void test_one_verdict(void **state)
{
	ls_cli_outcome o[3] = {{.there = true, .result = {.first = 1, .last = 4, .entries = 5}},
	                       {.there = true, .result = {.first = 5, .last = 9, .entries = 7}},
	                       {.there = true, .result = {.first = 10, .last = 12, .entries = 1}}};
	ls_audit_result r;
	ls_error err = LS_ERROR_INIT;
	assert_int_equal(ls_cli__audit_join(&r, o, 3, &err), LS_OK);
	assert_int_equal(r.verdict, LS_VERDICT_MATCH);
	assert_int_equal(r.first, 1);
	assert_int_equal(r.last, 12);
	assert_int_equal(r.entries, 13);
	assert_false(r.stopped);
	o[1].result.verdict = LS_VERDICT_FORGED_LOG;
	o[1].result.first_bad_step = 7;
	o[2].result.verdict = LS_VERDICT_MISMATCH;
	o[2].result.first_bad_step = 10;
	assert_int_equal(ls_cli__audit_join(&r, o, 3, &err), LS_OK);
	assert_int_equal(r.verdict, LS_VERDICT_FORGED_LOG); // the first in the order of steps
	assert_int_equal(r.first_bad_step, 7);
	o[1].there = false; // nobody got to it
	o[2].result.verdict = LS_VERDICT_MATCH;
	assert_int_equal(ls_cli__audit_join(&r, o, 3, &err), LS_OK);
	assert_true(r.stopped);
	o[0].status = LS_ERR_NOMEM;
	assert_int_equal(ls_cli__audit_join(&r, o, 3, &err), LS_ERR_NOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_joined_parts_have_no_gap), cmocka_unit_test(test_a_sample_follows_from_its_seed),
		cmocka_unit_test(test_what_a_sample_misses), cmocka_unit_test(test_one_verdict),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
