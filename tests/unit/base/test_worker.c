// One thread for one task at a time.
#include "base/support.h"

typedef struct task {
	int done;
	int *order;
	int place;
} task;

static void run_task(void *context)
{
	task *t = context;
	for (volatile int i = 0; i < 100000; i++)
		;
	t->place = ++*t->order;
	t->done++;
}

static void test_tasks_run_once_and_in_order(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_worker *w;
	task tasks[20] = {{0}};
	int order = 0;
	assert_int_equal(ls_worker_open(&w, &err), LS_OK);
	assert_false(ls_worker_busy(w));
	for (int i = 0; i < 20; i++) {
		tasks[i].order = &order;
		ls_worker_start(w, run_task, &tasks[i]); // waits for the one before
	}
	ls_worker_wait(w);
	assert_false(ls_worker_busy(w));
	for (int i = 0; i < 20; i++) {
		assert_int_equal(tasks[i].done, 1);
		assert_int_equal(tasks[i].place, i + 1);
	}
	ls_worker_start(w, run_task, &tasks[0]);
	ls_worker_free(w); // ends what it is at
	assert_int_equal(tasks[0].done, 2);
	ls_worker_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_tasks_run_once_and_in_order)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
