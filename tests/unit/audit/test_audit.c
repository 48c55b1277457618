// Trainers and auditors: honest pairs match whatever the platforms, each lie is found at its step.
#include "audit/support.h"

static const char *const platforms[] = {"native", "naive", "openblas"};

static void assert_verdict(const ls_audit_result *r, ls_verdict verdict, uint64_t step)
{
	if (r->verdict != verdict || r->first_bad_step != step)
		print_message("%s at step %llu: %s: %s\n", ls_verdict_text(r->verdict), (unsigned long long)r->first_bad_step, r->file, r->text);
	assert_int_equal(r->verdict, verdict);
	assert_int_equal(r->first_bad_step, step);
	assert_int_equal(verdict == LS_VERDICT_MATCH, r->text[0] == 0);
	if (verdict == LS_VERDICT_MATCH)
		assert_true(ls_hash_equal(&r->root, &r->replayed_root));
	else if (verdict != LS_VERDICT_DAMAGED && verdict != LS_VERDICT_WITHHELD)
		assert_false(ls_hash_equal(&r->root, &r->replayed_root));
}

static void assert_same_hash(const ls_hash *a, const ls_hash *b)
{
	assert_memory_equal(a->byte, b->byte, 32);
}

static bool is_here(const char *name)
{
	ls_platform *p = platform_named(name);
	if (!p)
		print_message("*** NOT TESTED: platform %s is not here\n", name);
	ls_platform_free(p);
	return p;
}

// ---- honest runs ----

static void check_honest(const char *const *sets)
{
	tiny t;
	ls_train_result trained_here;
	ls_hash first_root = {{0}};
	tiny_open(&t, sets);
	for (int i = 0; i < 3; i++) {
		char name[32], kept[TEST_PATH], copy[32];
		ls_audit_result r;
		if (!is_here(platforms[i]))
			continue;
		snprintf(name, sizeof name, "run%d", i);
		trained_here = trained(&t, platforms[i], name, (ls_train_options){0});
		assert_true(trained_here.complete && !trained_here.diverged && !trained_here.stopped);
		assert_int_equal(trained_here.steps, 7);
		assert_verifies(&t, name);
		if (i)
			assert_same_hash(&first_root, &trained_here.state_root); // overrides are too rare to be met here
		first_root = trained_here.state_root;
		for (int j = 0; j < 3; j++) {
			if (!is_here(platforms[j]))
				continue;
			snprintf(copy, sizeof copy, "kept%d%d", i, j);
			path_in(kept, t.dir, copy);
			r = audited(&t, platforms[j], name, (ls_audit_options){.keep = j == 1 ? kept : NULL});
			assert_verdict(&r, LS_VERDICT_MATCH, 0);
			assert_same_hash(&r.root, &trained_here.root);
			assert_int_equal(r.entries, trained_here.log_entries);
			assert_int_equal(r.elements, trained_here.elements);
			assert_int_equal(r.first, 1);
			assert_int_equal(r.last, 7);
		}
		assert_true(trained_here.log_entries > 0);
		snprintf(name, sizeof name, "kept%d1", i);
		assert_verifies(&t, name);
	}
	tiny_close(&t);
}

static void test_logistic_regression(void **state)
{
	check_honest(NULL);
	check_honest(SETS("train.commit_every=3"));
}

static void test_multilayer_perceptron(void **state)
{
	check_honest(SETS("model.arch=mlp", "model.hidden=[20, 9]", "optimizer.momentum=0"));
	check_honest(SETS("model.arch=mlp", "model.hidden=[20, 9]", "train.commit_every=7", "optimizer.nesterov=true",
	                  "optimizer.weight_decay=0.01"));
}

static void test_lenet(void **state)
{
	check_honest(SETS("model.arch=lenet5", "train.commit_every=3"));
	check_honest(SETS("model.arch=lenet5", "model.pool=avg", "arithmetic.grid=24", "arithmetic.encoding=dense"));
}

static void test_activations(void **state)
{
	check_honest(SETS("model.arch=mlp", "model.hidden=[20, 9]", "model.activation=gelu"));
	check_honest(SETS("model.arch=mlp", "model.hidden=[20]", "model.activation=sigmoid", "arithmetic.grid=19"));
	check_honest(SETS("model.arch=lenet5", "model.activation=tanh", "model.pool=avg"));
}

static void test_schedules_and_epochs(void **state)
{
	tiny t;
	ls_audit_result r;
	ls_train_result a;
	tiny_open(&t, SETS("train.epochs=2", "train.batch=12", "schedule.name=cosine", "schedule.warmup=2")); // 3 steps an epoch
	a = trained(&t, "native", "run", (ls_train_options){0});
	assert_int_equal(a.steps, 6);
	r = audited(&t, "naive", "run", (ls_audit_options){0});
	assert_verdict(&r, LS_VERDICT_MATCH, 0);
	tiny_close(&t);
}

// ---- lies ----

typedef struct lie {
	uint64_t step;
	const char *value; // whose first element is bent, or in whose log an entry is forged
	bool in_log;
	bool done;
} lie;

/* Adds an entry that names the wrong neighbour, for the first element without one. */
static void forge(ls_op_log *log, const float *words, int64_t count)
{
	size_t at = 0;
	while (at < log->count && log->entry[at].index == at)
		at++;
	assert_true((int64_t)at < count);
	assert_int_equal(ls_op_log_push(log, (ls_entry){0}), LS_OK);
	memmove(log->entry + at + 1, log->entry + at, (log->count - 1 - at) * sizeof *log->entry);
	log->entry[at] = (ls_entry){(uint32_t)at, (uint8_t)!ls_grid_last_bit(words[at], 32)};
}

static void tell(void *context, ls_exec *e, uint64_t step, int op, ls_step_log *log)
{
	lie *l = context;
	const ls_program *p = ls_exec_program(e);
	int value = ls_program_op(p, op)->outputs[0];
	float *words = ls_exec_value(e, value);
	if (step != l->step || strcmp(ls_program_value(p, value)->name, l->value))
		return;
	l->done = true;
	if (!l->in_log) {
		words[0] += 0.125f;
		return;
	}
	assert_non_null(log);
	forge(&log->op[op], words, ls_shape_count(&ls_program_value(p, value)->shape));
}

static void check_lie(const char *const *sets, lie l, ls_verdict verdict, uint64_t step)
{
	tiny t;
	ls_watch watch = {&l, tell};
	ls_audit_result r;
	tiny_open(&t, sets);
	trained(&t, "native", "run", (ls_train_options){.watch = &watch, .no_self_check = true});
	assert_true(l.done);
	assert_verifies(&t, "run"); // the bytes agree with each other: only a replay can tell
	for (int i = 0; i < 2; i++) {
		r = audited(&t, platforms[i], "run", (ls_audit_options){0});
		assert_verdict(&r, verdict, step);
		assert_int_equal(r.text[0] != 0, verdict != LS_VERDICT_MATCH);
	}
	tiny_close(&t);
}

/* A bent value that later products of the leaf read: their rounding log may give it away before the leaf's roots do. */
static void check_lie_before_products(const char *const *sets, lie l, uint64_t leaf_step)
{
	tiny t;
	ls_watch watch = {&l, tell};
	ls_audit_result r;
	tiny_open(&t, sets);
	trained(&t, "native", "run", (ls_train_options){.watch = &watch, .no_self_check = true});
	assert_true(l.done);
	r = audited(&t, "naive", "run", (ls_audit_options){0});
	if (r.verdict == LS_VERDICT_FORGED_LOG)
		assert_in_range(r.first_bad_step, l.step, leaf_step + 2);
	else
		assert_verdict(&r, LS_VERDICT_MISMATCH, leaf_step);
	tiny_close(&t);
}

static void test_changed_values_are_found_at_their_step(void **state)
{
	static const uint64_t steps[] = {1, 4, 7}; // each the first of its leaf, should that hold three
	for (int i = 0; i < 3; i++) {
		check_lie(NULL, (lie){.step = steps[i], .value = "fc.weight.next"}, LS_VERDICT_MISMATCH, steps[i]);
		check_lie(NULL, (lie){.step = steps[i], .value = "d.fc.bias"}, LS_VERDICT_MISMATCH, steps[i]);
		check_lie_before_products(SETS("train.commit_every=3"), (lie){.step = steps[i], .value = "fc.bias.next"}, steps[i]);
	}
	check_lie(SETS("train.commit_every=3"), (lie){.step = 6, .value = "d.fc.weight"}, LS_VERDICT_MISMATCH, 4); // the leaf's first
	check_lie_before_products(SETS("train.commit_every=3"), (lie){.step = 5, .value = "x"}, 4);
	check_lie_before_products(SETS("train.commit_every=3"), (lie){.step = 5, .value = "fc"}, 4);
	check_lie(NULL, (lie){.step = 3, .value = "loss"}, LS_VERDICT_MISMATCH, 3);                       // only reported, yet committed
	check_lie_before_products(SETS("model.arch=lenet5"), (lie){.step = 2, .value = "pool1"}, 2);
}

static void test_forged_entries_are_found_at_their_step(void **state)
{
	check_lie(SETS("arithmetic.depth=0"), (lie){.step = 1, .value = "fc", .in_log = true}, LS_VERDICT_FORGED_LOG, 1);
	check_lie(SETS("arithmetic.depth=0", "train.commit_every=3"), (lie){.step = 5, .value = "d.fc.weight", .in_log = true},
	          LS_VERDICT_FORGED_LOG, 5);
	check_lie(SETS("arithmetic.depth=0", "model.arch=lenet5"), (lie){.step = 2, .value = "d.conv1.weight", .in_log = true},
	          LS_VERDICT_FORGED_LOG, 2);
}

static void test_a_forgery_leaves_a_sound_copy(void **state)
{
	tiny t;
	lie l = {.step = 5, .value = "fc", .in_log = true};
	ls_watch watch = {&l, tell};
	ls_audit_result r;
	char kept[TEST_PATH];
	tiny_open(&t, SETS("arithmetic.depth=0", "train.commit_every=3"));
	trained(&t, "native", "run", (ls_train_options){.watch = &watch, .no_self_check = true});
	path_in(kept, t.dir, "kept");
	r = audited(&t, "naive", "run", (ls_audit_options){.keep = kept}); // stops inside the second leaf
	assert_verdict(&r, LS_VERDICT_FORGED_LOG, 5);
	assert_verifies(&t, "kept");
	tiny_close(&t);
}

static void test_plain_runs_blame_nobody(void **state)
{
	check_lie(SETS("arithmetic.mode=plain"), (lie){.step = 3, .value = "fc.weight.next"}, LS_VERDICT_NOT_REPRODUCIBLE, 3);
}

static void test_another_job_is_not_this_run(void **state)
{
	tiny t;
	ls_audit_result r;
	tiny_open(&t, NULL);
	trained(&t, "native", "run", (ls_train_options){0});
	tiny_unplan(&t);
	tiny_plan(&t, SETS("optimizer.lr=0.06"), false);
	r = audited(&t, "native", "run", (ls_audit_options){0});
	assert_int_equal(r.verdict, LS_VERDICT_DAMAGED);
	assert_string_equal(r.file, "job.yaml");
	tiny_unplan(&t);
	tiny_split(t.data, "train", TINY_SAMPLES, TINY_SIDE, 3); // other labels
	tiny_plan(&t, NULL, false);
	r = audited(&t, "native", "run", (ls_audit_options){0});
	assert_int_equal(r.verdict, LS_VERDICT_DAMAGED);
	assert_string_equal(r.file, "data");
	tiny_close(&t);
}

// ---- parts of a run ----

static void test_ranges_of_steps(void **state)
{
	static const struct {
		uint64_t first, last, replayed_from, replayed_to, snapshots;
	} ranges[] = {
		{1, 7, 1, 7, 1}, {1, 1, 1, 1, 1}, {7, 7, 7, 7, 1}, {3, 5, 3, 5, 1}, {4, 4, 3, 4, 2}, {6, 7, 5, 7, 4}, {2, 3, 1, 3, 4},
	};
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		tiny t;
		ls_audit_result r;
		tiny_open(&t, NULL);
		trained(&t, "native", "run", (ls_train_options){.snapshots = {LS_SNAPSHOTS_EVERY, ranges[i].snapshots}});
		r = audited(&t, "naive", "run", (ls_audit_options){.first = ranges[i].first, .last = ranges[i].last});
		assert_verdict(&r, LS_VERDICT_MATCH, 0);
		assert_int_equal(r.first, ranges[i].replayed_from);
		assert_int_equal(r.last, ranges[i].replayed_to);
		tiny_close(&t);
	}
}

static void test_what_lies_before_a_range_is_adopted(void **state)
{
	tiny t;
	lie l = {.step = 3, .value = "fc.weight.next"};
	ls_watch watch = {&l, tell};
	ls_audit_result r;
	tiny_open(&t, NULL);
	trained(&t, "native", "run", (ls_train_options){.watch = &watch, .no_self_check = true});
	r = audited(&t, "naive", "run", (ls_audit_options){.first = 4, .last = 7});
	assert_verdict(&r, LS_VERDICT_MATCH, 0);
	r = audited(&t, "naive", "run", (ls_audit_options){.first = 3, .last = 3});
	assert_verdict(&r, LS_VERDICT_MISMATCH, 3);
	r = audited(&t, "naive", "run", (ls_audit_options){.first = 1, .last = 2});
	assert_verdict(&r, LS_VERDICT_MATCH, 0);
	tiny_close(&t);
}

static void test_ranges_are_widened_to_leaves(void **state)
{
	tiny t;
	ls_audit_result r;
	tiny_open(&t, SETS("train.commit_every=3"));
	trained(&t, "native", "run", (ls_train_options){0});
	r = audited(&t, "naive", "run", (ls_audit_options){.first = 5, .last = 5});
	assert_verdict(&r, LS_VERDICT_MATCH, 0);
	assert_int_equal(r.first, 4);
	assert_int_equal(r.last, 6);
	tiny_close(&t);
}

static void refuse(const ls_run *run, const tiny *t, ls_audit_options o, ls_status expected)
{
	ls_error err = LS_ERROR_INIT;
	ls_audit_result r;
	ls_platform *p = platform_named("naive");
	assert_int_equal(ls_audit(run, t->plan, p, &o, &r, NULL, &err), expected);
	ls_platform_free(p);
}

static void test_wrong_use_is_refused(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	ls_damage damage;
	ls_run *run;
	char dir[TEST_PATH];
	static const uint64_t bad[][2] = {{0, 3}, {8, 0}, {4, 3}, {1, 8}, {8, 8}};
	tiny_open(&t, NULL);
	trained(&t, "native", "run", (ls_train_options){0});
	path_in(dir, t.dir, "run");
	assert_ok(ls_run_open(&run, dir, &damage, &err));
	for (int i = 0; i < 5; i++)
		refuse(run, &t, (ls_audit_options){.version = 1, .first = bad[i][0], .last = bad[i][1]}, LS_ERR_USAGE);
	refuse(run, &t, (ls_audit_options){.version = 1, .first = 2, .last = 3, .keep = "x"}, LS_ERR_USAGE);
	refuse(run, &t, (ls_audit_options){.version = 1, .keep = dir}, LS_ERR_EXISTS);
	refuse(run, &t, (ls_audit_options){.first = 0}, LS_ERR_USAGE);
	ls_run_free(run);
	tiny_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logistic_regression), cmocka_unit_test(test_multilayer_perceptron), cmocka_unit_test(test_lenet),
		cmocka_unit_test(test_activations), cmocka_unit_test(test_schedules_and_epochs), cmocka_unit_test(test_changed_values_are_found_at_their_step),
		cmocka_unit_test(test_forged_entries_are_found_at_their_step), cmocka_unit_test(test_a_forgery_leaves_a_sound_copy),
		cmocka_unit_test(test_plain_runs_blame_nobody), cmocka_unit_test(test_another_job_is_not_this_run),
		cmocka_unit_test(test_ranges_of_steps), cmocka_unit_test(test_what_lies_before_a_range_is_adopted),
		cmocka_unit_test(test_ranges_are_widened_to_leaves), cmocka_unit_test(test_wrong_use_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
