// Runs that stop, break off, diverge or lose a snapshot, and go on.
#include "audit/support.h"

#include <stdio.h>

typedef struct counter {
	int leaves, stop_after;
} counter;

static bool stop(void *context)
{
	counter *c = context;
	return ++c->leaves >= c->stop_after;
}

static void expect_same_bytes(const tiny *t, const char *a, const char *b)
{
	static const char *const files[] = {"leaves", "rounding-log/frames", "job.bin", "nonce"};
	for (int i = 0; i < 4; i++) {
		char path[TEST_PATH];
		size_t len = 0;
		uint8_t *bytes;
		path_in(path, t->dir, a);
		bytes = get_file(path, files[i], &len);
		assert_non_null(bytes);
		path_in(path, t->dir, b);
		assert_true(file_is(path, files[i], bytes, len));
		free(bytes);
	}
}

static void expect_match(const tiny *t, const char *run)
{
	ls_audit_result r = audited(t, "naive", run, (ls_audit_options){0});
	assert_int_equal(r.verdict, LS_VERDICT_MATCH);
	assert_true(ls_hash_equal(&r.root, &r.replayed_root));
}

static void check_resumed(const char *const *sets, ls_snapshot_policy snapshots)
{
	tiny t;
	ls_train_result whole, part;
	tiny_open(&t, sets);
	whole = trained(&t, "native", "whole", (ls_train_options){.snapshots = snapshots});
	for (int after = 1; after < 3; after++) {
		char name[16];
		counter c = {.stop_after = after};
		snprintf(name, sizeof name, "part%d", after);
		part = trained(&t, "native", name, (ls_train_options){.snapshots = snapshots, .stop = stop, .context = &c});
		assert_true(part.stopped && !part.complete);
		assert_verifies(&t, name);
		assert_int_equal(audited(&t, "naive", name, (ls_audit_options){0}).verdict, LS_VERDICT_MISMATCH);
		part = trained(&t, "native", name, (ls_train_options){.snapshots = snapshots, .resume = true});
		assert_true(part.complete && !part.stopped);
		assert_true(ls_hash_equal(&part.root, &whole.root));
		assert_true(ls_hash_equal(&part.state_root, &whole.state_root));
		assert_int_equal(part.log_entries, whole.log_entries);
		assert_int_equal(part.log_bytes, whole.log_bytes);
		expect_same_bytes(&t, "whole", name);
		assert_verifies(&t, name);
		expect_match(&t, name);
	}
	tiny_close(&t);
}

static void test_a_stopped_run_ends_like_an_undisturbed_one(void **state)
{
	check_resumed(NULL, (ls_snapshot_policy){LS_SNAPSHOTS_ALL, 1});
	check_resumed(SETS("train.commit_every=2"), (ls_snapshot_policy){LS_SNAPSHOTS_LAST, 2});
	check_resumed(SETS("train.commit_every=2", "model.arch=lenet5"), (ls_snapshot_policy){LS_SNAPSHOTS_EVERY, 3});
}

static void test_resuming_a_finished_or_missing_run(void **state)
{
	tiny t;
	ls_train_result a, b;
	tiny_open(&t, NULL);
	a = trained(&t, "native", "run", (ls_train_options){.resume = true});
	assert_true(a.complete);
	b = trained(&t, "native", "run", (ls_train_options){.resume = true});
	assert_true(ls_hash_equal(&a.root, &b.root));
	assert_true(ls_hash_equal(&a.state_root, &b.state_root));
	assert_int_equal(b.steps, 7);
	assert_verifies(&t, "run");
	tiny_close(&t);
}

static void test_another_platform_may_go_on(void **state)
{
	tiny t;
	counter c = {.stop_after = 3};
	tiny_open(&t, NULL);
	trained(&t, "native", "run", (ls_train_options){.stop = stop, .context = &c});
	assert_true(trained(&t, "naive", "run", (ls_train_options){.resume = true}).complete);
	assert_verifies(&t, "run");
	expect_match(&t, "run");
	tiny_close(&t);
}

/* As a crash leaves it: `file` breaks off after `len` bytes. */
static void cut_file(const tiny *t, const char *run, const char *file, size_t len)
{
	char dir[TEST_PATH], path[TEST_PATH];
	path_in(dir, t->dir, run);
	path_in(path, dir, file);
	assert_int_equal(truncate(path, (off_t)len), 0);
}

static size_t size_of(const tiny *t, const char *run, const char *file)
{
	char dir[TEST_PATH];
	size_t len = 0;
	path_in(dir, t->dir, run);
	free(get_file(dir, file, &len));
	return len;
}

/* A crash while the last leaf was being written: its log, line or leaf is there in part, its snapshot is not. */
static void check_crash(const tiny *t, const ls_hash *root, const char *file, size_t back)
{
	static const char *const order[] = {"rounding-log/frames", "metrics.jsonl", "leaves"};
	size_t whole[3], before[3];
	bool reached = false;
	char dir[TEST_PATH];
	counter c = {.stop_after = 4};
	path_in(dir, t->dir, "run");
	scratch_remove(dir);
	trained(t, "native", "run", (ls_train_options){.snapshots = {LS_SNAPSHOTS_EVERY, 3}, .stop = stop, .context = &c});
	for (int i = 0; i < 3; i++)
		before[i] = size_of(t, "run", order[i]);
	c = (counter){.stop_after = 1};
	trained(t, "native", "run", (ls_train_options){.snapshots = {LS_SNAPSHOTS_EVERY, 3}, .resume = true, .stop = stop, .context = &c});
	path_in(dir, t->dir, "run/heads/6");
	unlink(dir);
	path_in(dir, t->dir, "run/snapshots/0000000005");
	unlink(dir);
	for (int i = 0; i < 3; i++) { // what is written after the broken place is not there at all
		whole[i] = size_of(t, "run", order[i]);
		assert_true(whole[i] > before[i]);
		if (!strcmp(order[i], file)) {
			reached = true;
			assert_true(back <= whole[i] - before[i]);
			cut_file(t, "run", file, whole[i] - back);
		} else if (reached) {
			cut_file(t, "run", order[i], before[i]);
		}
	}
	ls_train_result r = trained(t, "native", "run", (ls_train_options){.resume = true});
	assert_true(r.complete);
	assert_true(ls_hash_equal(&r.root, root));
	assert_verifies(t, "run");
}

static void test_broken_tails_are_done_again(void **state)
{
	tiny t;
	ls_train_result whole;
	static const size_t leaf[] = {0, 1, 100, 128, 132}, block[] = {0, 1, 9, 15, 17, 24}, line[] = {1, 60};
	tiny_open(&t, NULL);
	whole = trained(&t, "native", "whole", (ls_train_options){0});
	for (size_t i = 0; i < sizeof leaf / sizeof *leaf; i++)
		check_crash(&t, &whole.root, "leaves", leaf[i]);
	for (size_t i = 0; i < sizeof block / sizeof *block; i++)
		check_crash(&t, &whole.root, "rounding-log/frames", block[i]);
	for (size_t i = 0; i < sizeof line / sizeof *line; i++)
		check_crash(&t, &whole.root, "metrics.jsonl", line[i]);
	tiny_close(&t);
}

typedef struct notes {
	int count;
	char last[LS_NOTE_MAX];
} notes;

static void on_note(void *context, const char *text)
{
	notes *n = context;
	n->count++;
	snprintf(n->last, sizeof n->last, "%s", text);
}

/* A loss of power may leave a file as long as it was and zeros in it, but only behind the last head. */
static void check_zeros(const tiny *t, const ls_hash *root, const char *file, bool promised)
{
	ls_error err = LS_ERROR_INIT;
	ls_train_options o = LS_TRAIN_OPTIONS_INIT;
	ls_train_result r;
	notes n = {0};
	counter c = {.stop_after = 4};
	char dir[TEST_PATH], path[TEST_PATH];
	size_t len = 0, from;
	uint8_t *bytes;
	ls_platform *p = platform_named("native");
	ls_status status;
	path_in(dir, t->dir, "run");
	scratch_remove(dir);
	trained(t, "native", "run", (ls_train_options){.snapshots = {LS_SNAPSHOTS_EVERY, 2}, .stop = stop, .context = &c});
	from = size_of(t, "run", file);
	c = (counter){.stop_after = 1};
	trained(t, "native", "run", (ls_train_options){.snapshots = {LS_SNAPSHOTS_EVERY, 2}, .resume = true, .stop = stop, .context = &c});
	path_in(path, dir, "snapshots/0000000005");
	unlink(path);
	path_in(path, dir, "heads/6");
	if (!promised)
		unlink(path);
	bytes = get_file(dir, file, &len);
	assert_true(len > from);
	memset(bytes + from, 0, len - from);
	put_file(dir, file, bytes, len);
	free(bytes);
	o.dir = dir;
	o.resume = true;
	o.nonce = tiny_nonce;
	o.on_note = on_note;
	o.context = &n;
	status = ls_train(t->plan, p, &o, &r, &err);
	assert_int_equal(status, promised ? LS_ERR_INPUT : LS_OK);
	if (!promised) {
		assert_true(ls_hash_equal(&r.root, root));
		assert_verifies(t, "run");
		assert_true(n.count > 0);
	}
	ls_platform_free(p);
}

static void test_what_was_never_synced_may_be_anything(void **state)
{
	tiny t;
	ls_train_result whole;
	tiny_open(&t, NULL);
	whole = trained(&t, "native", "whole", (ls_train_options){0});
	check_zeros(&t, &whole.root, "leaves", false);
	check_zeros(&t, &whole.root, "rounding-log/frames", false);
	check_zeros(&t, &whole.root, "metrics.jsonl", false);
	check_zeros(&t, &whole.root, "leaves", true); // a head says that it was
	check_zeros(&t, &whole.root, "rounding-log/frames", true);
	tiny_close(&t);
}

/* Leaves, log and metrics that a run is built upon must be what its leaves say, or its root would be nobody's. */
static void test_a_changed_past_is_not_built_upon(void **state)
{
	static const struct {
		const char *file;
		size_t at;
	} change[] = {{"leaves", 250}, {"rounding-log/frames", 17}, {"metrics.jsonl", 12}, {"heads/3", 70}};
	tiny t;
	ls_error err = LS_ERROR_INIT;
	ls_platform *p = platform_named("native");
	tiny_open(&t, NULL);
	for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
		char dir[TEST_PATH];
		counter c = {.stop_after = 4};
		ls_train_options o = LS_TRAIN_OPTIONS_INIT;
		ls_train_result r;
		size_t len = 0;
		uint8_t *bytes;
		path_in(dir, t.dir, "run");
		scratch_remove(dir);
		trained(&t, "native", "run", (ls_train_options){.stop = stop, .context = &c});
		bytes = get_file(dir, change[i].file, &len);
		assert_true(len > change[i].at);
		bytes[change[i].at] ^= 1;
		put_file(dir, change[i].file, bytes, len);
		o.dir = dir;
		o.resume = true;
		assert_int_equal(ls_train(t.plan, p, &o, &r, &err), LS_ERR_INPUT);
		assert_true(file_is(dir, change[i].file, bytes, len)); // reported, not repaired
		free(bytes);
	}
	ls_platform_free(p);
	tiny_close(&t);
}

static void test_an_unfinished_start_is_begun_again(void **state)
{
	static const char *const later[] = {"heads/1", "snapshots/0000000000", "leaves", "nonce", "job.bin"};
	tiny t;
	ls_error err = LS_ERROR_INIT;
	ls_train_result whole, again;
	char dir[TEST_PATH], path[TEST_PATH];
	bool unstarted;
	tiny_open(&t, NULL);
	whole = trained(&t, "native", "whole", (ls_train_options){0});
	path_in(dir, t.dir, "run");
	for (size_t gone = 0; gone <= 5; gone++) {
		counter c = {.stop_after = 1};
		ls_run *run;
		scratch_remove(dir);
		assert_ok(ls_run_create(&run, dir, t.plan, tiny_nonce, false, NULL, &err));
		ls_run_free(run);
		if (gone == 0) { // twin: with its head a run has begun
			scratch_remove(dir);
			trained(&t, "native", "run", (ls_train_options){.stop = stop, .context = &c});
		}
		for (size_t i = 0; i < gone; i++) {
			path_in(path, dir, later[i]);
			unlink(path);
		}
		assert_ok(ls_run_is_unstarted(&unstarted, dir, &err));
		assert_int_equal(unstarted, gone > 0);
		again = trained(&t, "native", "run", (ls_train_options){.resume = true});
		assert_true(ls_hash_equal(&again.root, &whole.root));
		assert_verifies(&t, "run");
	}
	scratch_remove(dir);
	assert_ok(ls_dir_make(dir, &err));
	put_file(dir, "holiday.jpg", "", 0); // somebody's folder
	assert_ok(ls_run_is_unstarted(&unstarted, dir, &err));
	assert_false(unstarted);
	tiny_close(&t);
}

static void test_a_damaged_snapshot_is_passed_over(void **state)
{
	tiny t;
	char dir[TEST_PATH];
	ls_train_result whole, r;
	counter c = {.stop_after = 5};
	ls_hash root;
	tiny_open(&t, NULL);
	whole = trained(&t, "native", "whole", (ls_train_options){0});
	trained(&t, "native", "run", (ls_train_options){.snapshots = {LS_SNAPSHOTS_EVERY, 2}, .stop = stop, .context = &c});
	path_in(dir, t.dir, "run");
	put_file(dir, "snapshots/0000000005", "damaged", 7);
	assert_true(verified(&t, "run", &root).found);
	r = trained(&t, "native", "run", (ls_train_options){.snapshots = {LS_SNAPSHOTS_EVERY, 4}, .resume = true});
	assert_true(r.complete);
	assert_true(ls_hash_equal(&r.root, &whole.root));
	assert_verifies(&t, "run"); // the damaged file went with the steps that were done again
	tiny_close(&t);
}

static void test_without_a_snapshot_there_is_no_going_on(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	char dir[TEST_PATH], path[TEST_PATH];
	counter c = {.stop_after = 2};
	ls_train_options o = LS_TRAIN_OPTIONS_INIT;
	ls_train_result r;
	ls_platform *p = platform_named("native");
	tiny_open(&t, NULL);
	trained(&t, "native", "run", (ls_train_options){.stop = stop, .context = &c});
	path_in(dir, t.dir, "run");
	path_in(path, dir, "snapshots");
	scratch_remove(path);
	o.dir = dir;
	o.resume = true;
	assert_int_equal(ls_train(t.plan, p, &o, &r, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "no snapshot"));
	o.resume = false;
	assert_int_equal(ls_train(t.plan, p, &o, &r, &err), LS_ERR_EXISTS);
	o.resume = true;
	tiny_unplan(&t);
	tiny_plan(&t, SETS("train.steps=8"), false);
	assert_int_equal(ls_train(t.plan, p, &o, &r, &err), LS_ERR_INPUT); // another job
	o.version = 7;
	assert_int_equal(ls_train(t.plan, p, &o, &r, &err), LS_ERR_USAGE);
	ls_platform_free(p);
	tiny_close(&t);
}

static void test_last_keeps_so_many_snapshots(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	char dir[TEST_PATH];
	uint64_t *steps;
	size_t count;
	ls_damage damage;
	ls_run *run;
	tiny_open(&t, NULL);
	for (int i = 1; i <= 6; i++) { // each stop leaves one
		counter c = {.stop_after = 1};
		trained(&t, "native", "run", (ls_train_options){.snapshots = {LS_SNAPSHOTS_LAST, 2}, .stop = stop, .context = &c,
		                                               .resume = i > 1});
	}
	path_in(dir, t.dir, "run");
	assert_ok(ls_run_open(&run, dir, &damage, &err));
	assert_ok(ls_run_snapshots(run, &steps, &count, &err));
	assert_int_equal(count, 3);
	assert_int_equal(steps[0], 0);
	assert_int_equal(steps[1], 5);
	assert_int_equal(steps[2], 6);
	ls_free(steps);
	ls_run_free(run);
	tiny_close(&t);
}

static void test_a_diverged_run_is_over(void **state)
{
	tiny t;
	ls_train_result r, again;
	tiny_open(&t, SETS("optimizer.lr=1000", "optimizer.weight_decay=1000", "optimizer.momentum=1", "train.steps=60"));
	r = trained(&t, "native", "run", (ls_train_options){0});
	assert_true(r.diverged && !r.complete);
	assert_in_range(r.steps, 2, 40);
	again = trained(&t, "native", "run", (ls_train_options){.resume = true});
	assert_true(again.diverged);
	assert_true(ls_hash_equal(&r.root, &again.root));
	assert_int_equal(r.steps, again.steps);
	assert_verifies(&t, "run");
	expect_match(&t, "run");
	tiny_close(&t);
}

static void test_evaluation(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t = {0};
	ls_eval_result before, after, elsewhere;
	ls_replay_options o = LS_REPLAY_OPTIONS_INIT;
	ls_replay *replay;
	ls_hash root;
	ls_leaf_result leaf;
	ls_buf block;
	ls_platform *native = platform_named("native"), *naive = platform_named("naive");
	tiny_data(&t);
	tiny_plan(&t, SETS("train.steps=30"), true);
	o.plan = t.plan;
	o.platform = native;
	assert_ok(ls_replay_open(&replay, &o, &err));
	assert_ok(ls_replay_init(replay, &root, &err));
	assert_ok(ls_eval(t.plan, native, ls_replay_exec(replay), &before, &err));
	ls_buf_init(&block, 1 << 24);
	assert_ok(ls_replay_leaf(replay, &root, 1, 30, &block, NULL, NULL, NULL, &leaf, &err));
	assert_ok(ls_eval(t.plan, native, ls_replay_exec(replay), &after, &err));
	assert_ok(ls_eval(t.plan, naive, ls_replay_exec(replay), &elsewhere, &err));
	assert_int_equal(after.samples, TINY_TEST_SAMPLES);
	assert_int_equal(ls_bits_f64(after.loss), ls_bits_f64(elsewhere.loss));
	assert_true(after.loss < before.loss && after.accuracy > before.accuracy); // it learns
	assert_true(after.accuracy > 0.9);
	ls_buf_free(&block);
	ls_replay_free(replay);
	ls_platform_free(native);
	ls_platform_free(naive);
	tiny_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stopped_run_ends_like_an_undisturbed_one), cmocka_unit_test(test_resuming_a_finished_or_missing_run),
		cmocka_unit_test(test_another_platform_may_go_on), cmocka_unit_test(test_broken_tails_are_done_again),
		cmocka_unit_test(test_what_was_never_synced_may_be_anything), cmocka_unit_test(test_a_changed_past_is_not_built_upon),
		cmocka_unit_test(test_an_unfinished_start_is_begun_again),
		cmocka_unit_test(test_a_damaged_snapshot_is_passed_over), cmocka_unit_test(test_without_a_snapshot_there_is_no_going_on),
		cmocka_unit_test(test_last_keeps_so_many_snapshots), cmocka_unit_test(test_a_diverged_run_is_over),
		cmocka_unit_test(test_evaluation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
