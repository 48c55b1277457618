// ctest: labels=quick timeout=120
// The statements of tests/vectors/commit/jobs.txt: which bytes are a job, its id, and whether its programs follow from it.
#include "base/statements.h"

#include <lockstep/plan.h>

/* The job's id, or that its programs are those of its binding; "refuse" elsewhere. */
static void ask(const vectors *v, const uint8_t *bytes, size_t len, answer *a)
{
	ls_job_binding binding;
	ls_job *job;
	ls_job_plan *plan = NULL;
	ls_hash id;
	char hex[LS_HASH_HEX_SIZE];
	if (ls_job_decode(&job, &binding, bytes, len, NULL) != LS_OK) {
		answer_put(a, "refuse");
		return;
	}
	if (vectors_is(v, 0, "programs")) {
		answer_put(a, ls_plan_open_offline(&plan, job, &binding, NULL) == LS_OK ? "ok" : "refuse");
	} else {
		assert_int_equal(ls_hash_tagged(&id, LS_TAG_JOB, bytes, len), LS_OK);
		ls_hash_hex(hex, &id);
		answer_put(a, "%s", hex);
	}
	ls_plan_free(plan);
	ls_job_free(job);
}

static bool jobs(const vectors *v, int words, answer *a)
{
	size_t len = vectors_is(v, 1, "-") ? 0 : strlen(v->word[1]) / 2;
	uint8_t *bytes = ls_alloc(len, 1);
	assert_non_null(bytes);
	vectors_expect(v, !len || ls_unhex(bytes, len, v->word[1]), "expected hex digits");
	ask(v, bytes, len, a);
	ls_free(bytes);
	return vectors_is(v, 0, "job") || vectors_is(v, 0, "programs");
}

static void test_jobs(void **state)
{
	statements_check("commit/jobs.txt", jobs, 8); // the last byte is the referee's key: it shows in the id only
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_jobs)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
