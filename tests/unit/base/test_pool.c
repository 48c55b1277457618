// A pool calls each index once, with a worker number of its own, and comes back only when all are done.
#include "base/support.h"

enum { INDICES = 5000, WORKERS = 8 };

typedef struct tally {
	int calls[INDICES];
	int busy[WORKERS]; // a worker number is used by one call at a time
	int overlaps, workers_seen[WORKERS];
} tally;

static void count(void *context, int64_t index, int worker)
{
	tally *t = context;
	if (__atomic_fetch_add(&t->busy[worker], 1, __ATOMIC_SEQ_CST))
		__atomic_fetch_add(&t->overlaps, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&t->calls[index], 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&t->workers_seen[worker], 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&t->busy[worker], 1, __ATOMIC_SEQ_CST);
}

static bool each_once(const tally *t, int64_t count)
{
	bool good = !t->overlaps;
	for (int64_t i = 0; i < INDICES; i++)
		good &= t->calls[i] == (i < count);
	return good;
}

static void test_every_index_once(void **state)
{
	ls_error err = LS_ERROR_INIT;
	static const int64_t counts[] = {0, 1, 2, 3, 17, INDICES};
	for (int threads = 1; threads <= 4; threads++) {
		ls_pool *pool;
		assert_ok(ls_pool_open(&pool, threads, &err));
		assert_int_equal(ls_pool_threads(pool), threads);
		for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
			tally t = {0};
			ls_pool_run(pool, counts[c], count, &t);
			assert_true(each_once(&t, counts[c]));
			for (int w = threads; w < WORKERS; w++)
				assert_int_equal(t.workers_seen[w], 0);
			t.calls[0]++;
			assert_false(each_once(&t, counts[c]));
		}
		ls_pool_free(pool);
	}
}

static void test_many_short_runs(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_pool *pool;
	assert_ok(ls_pool_open(&pool, 4, &err));
	for (int round = 0; round < 2000; round++) { // what was set before a run is seen in it, and its results after it
		tally t = {0};
		ls_pool_run(pool, 5, count, &t);
		assert_true(each_once(&t, 5));
	}
	ls_pool_free(pool);
}

static void test_without_a_pool(void **state)
{
	tally t = {0};
	ls_pool_run(NULL, 100, count, &t);
	assert_true(each_once(&t, 100));
	assert_int_equal(t.workers_seen[0], 1);
	assert_int_equal(ls_pool_threads(NULL), 1);
	ls_pool_free(NULL);
}

static void test_thread_counts_are_checked(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_pool *pool;
	static const int bad[] = {0, -1, 1025};
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ls_pool_open(&pool, bad[i], &err), LS_ERR_USAGE);
		assert_null(pool);
		assert_non_null(strstr(err.text, "threads: found"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_index_once), cmocka_unit_test(test_many_short_runs), cmocka_unit_test(test_without_a_pool),
		cmocka_unit_test(test_thread_counts_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
