// The run directory: what is written comes back, and its parts say no where they should.
#include "run/tiny.h"

static const uint8_t nonce[32] = {1, 2, 3};

/* Leaf i of a run made up by the test: roots are its number. */
static ls_leaf leaf_of(const ls_run *run, uint64_t i)
{
	ls_leaf leaf = {.kind = i ? LS_LEAF_STEP : LS_LEAF_START, .run = *ls_run_id_of(run)};
	uint64_t first;
	if (i)
		ls_run_leaf_steps(run, i, &first, &leaf.step);
	else
		leaf.job = *ls_run_job_id(run);
	memset(&leaf.state, (int)i + 1, 32);
	if (i) {
		memset(&leaf.log, 0x40 + (int)i, 32);
		memset(&leaf.metrics, 0x80 + (int)i, 32);
	}
	return leaf;
}

static void append(ls_run *run, uint64_t i)
{
	ls_error err = LS_ERROR_INIT;
	ls_leaf leaf = leaf_of(run, i);
	ls_metrics m = {.step = leaf.step, .loss = 1.5f, .lr = 0.1, .seconds = 0.25, .platform = "naive"};
	ls_buf line;
	if (i) {
		char block[8] = "block ";
		block[6] = (char)('0' + i);
		ls_buf_init(&line, 1000);
		ls_metrics_line(&line, &m);
		assert_ok(ls_run_append_log(run, i, block, 7, &err));
		assert_ok(ls_run_append_metrics(run, line.data, line.len, &err));
		ls_buf_free(&line);
	}
	assert_ok(ls_run_append_leaf(run, &leaf, &err));
}

static void make_run(tiny *t, const char *name, uint64_t leaves, char dir[TEST_PATH])
{
	ls_error err = LS_ERROR_INIT;
	ls_run *run;
	path_in(dir, t->dir, name);
	assert_ok(ls_run_create(&run, dir, t->plan, nonce, false, NULL, &err));
	for (uint64_t i = 0; i < leaves; i++)
		append(run, i);
	assert_ok(ls_run_seal(run, 0, NULL, &err));
	ls_run_free(run);
}

static void test_round_trip(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	char dir[TEST_PATH];
	ls_run *run;
	ls_damage damage;
	ls_hash root, shorter;
	tiny_open(&t, SETS("train.commit_every=3")); // 7 steps: leaves after 3, 6 and 7
	make_run(&t, "run", 4, dir);
	assert_ok(ls_run_open(&run, dir, &damage, &err));
	assert_false(damage.found);
	assert_non_null(run);
	assert_int_equal(ls_run_leaves(run), 4);
	assert_true(ls_run_complete(run));
	assert_true(ls_hash_equal(ls_run_job_id(run), ls_plan_job_id(t.plan)));
	assert_int_equal(ls_run_binding(run)->steps, 7);
	for (uint64_t i = 0; i < 4; i++) {
		ls_leaf expected = leaf_of(run, i), found;
		assert_ok(ls_run_read_leaf(run, i, &found, &err));
		assert_memory_equal(&found.state, &expected.state, 32);
		assert_memory_equal(&found.metrics, &expected.metrics, 32);
		assert_int_equal(found.step, expected.step);
	}
	assert_int_equal(ls_run_log_bytes(run), 3 * (16 + 7));
	assert_ok(ls_run_root(run, 4, &root, &err));
	assert_ok(ls_run_root(run, 3, &shorter, &err));
	assert_false(ls_hash_equal(&root, &shorter));
	assert_ok(ls_run_check_heads(run, &damage, &err));
	assert_false(damage.found);
	ls_run_compare_plan(run, t.plan, &damage);
	assert_false(damage.found);
	ls_run_free(run);
	tiny_close(&t);
}

static void test_leaves_and_steps(void **state)
{
	tiny t;
	char dir[TEST_PATH];
	ls_run *run;
	ls_damage damage;
	static const uint64_t leaf_of_step[] = {0, 1, 1, 1, 2, 2, 2, 3}, first[] = {0, 1, 4, 7}, last[] = {0, 3, 6, 7};
	tiny_open(&t, SETS("train.commit_every=3"));
	make_run(&t, "run", 2, dir);
	assert_int_equal(ls_run_open(&run, dir, &damage, NULL), LS_OK);
	for (uint64_t s = 0; s <= 7; s++)
		assert_int_equal(ls_run_leaf_of_step(run, s), leaf_of_step[s]);
	for (uint64_t i = 1; i <= 3; i++) {
		uint64_t a, b;
		ls_run_leaf_steps(run, i, &a, &b);
		assert_int_equal(a, first[i]);
		assert_int_equal(b, last[i]);
	}
	assert_false(ls_run_complete(run));
	ls_run_free(run);
	tiny_close(&t);
}

static void test_ids_depend_on_the_nonce(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	char dir[3][TEST_PATH];
	ls_run *run[3], *copy;
	tiny_open(&t, NULL);
	for (int i = 0; i < 3; i++) {
		path_in(dir[i], t.dir, (char[]){(char)('a' + i), 0});
		assert_ok(ls_run_create(&run[i], dir[i], t.plan, i < 2 ? NULL : nonce, false, NULL, &err));
	}
	assert_false(ls_hash_equal(ls_run_id_of(run[0]), ls_run_id_of(run[1])));
	path_in(dir[0], t.dir, "copy");
	assert_ok(ls_run_create_copy(&copy, dir[0], t.plan, run[2], NULL, &err));
	assert_true(ls_hash_equal(ls_run_id_of(run[2]), ls_run_id_of(copy)));
	assert_false(ls_hash_equal(ls_run_id_of(run[0]), ls_run_id_of(copy)));
	for (int i = 0; i < 3; i++)
		ls_run_free(run[i]);
	ls_run_free(copy);
	tiny_close(&t);
}

static void test_nothing_is_overwritten(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	char dir[TEST_PATH];
	ls_run *run;
	ls_damage damage;
	tiny_open(&t, NULL);
	make_run(&t, "run", 1, dir);
	assert_int_equal(ls_run_create(&run, dir, t.plan, nonce, false, NULL, &err), LS_ERR_EXISTS);
	assert_null(run);
	assert_non_null(strstr(err.text, "--resume"));
	path_in(dir, t.dir, "empty");
	mkdir(dir, 0755);
	assert_ok(ls_run_create(&run, dir, t.plan, nonce, false, NULL, &err)); // an empty folder is fine
	ls_run_free(run);
	path_in(dir, t.dir, "no/such");
	assert_int_equal(ls_run_create(&run, dir, t.plan, nonce, false, NULL, &err), LS_ERR_NOT_FOUND);
	assert_int_equal(ls_run_open(&run, dir, &damage, &err), LS_ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, "is no run directory"));
	assert_int_equal(ls_run_open(&run, t.data, &damage, &err), LS_ERR_NOT_FOUND);
	assert_null(run);
	tiny_close(&t);
}

static void expect_file(const char *dir, const char *name, size_t size)
{
	size_t len = 0;
	free(get_file(dir, name, &len));
	assert_int_equal(len, size);
}

static void test_reopening_drops_what_lies_beyond(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	char dir[TEST_PATH], text[TEST_PATH];
	ls_run *run;
	ls_damage damage;
	uint64_t *steps;
	size_t count, before = 0, after = 0;
	tiny_open(&t, NULL);
	make_run(&t, "run", 6, dir);
	put_file(dir, "snapshots/0000000002", "", 0);
	put_file(dir, "snapshots/0000000005", "", 0);
	path_in(text, dir, "heads/6");
	assert_true(ls_file_exists(text));
	free(get_file(dir, "metrics.jsonl", &before));
	assert_ok(ls_run_open_to_write(&run, dir, &damage, &err));
	assert_false(damage.found);
	assert_ok(ls_run_cut(run, 4, &err));
	assert_int_equal(ls_run_leaves(run), 4);
	assert_false(ls_file_exists(text)); // it promised leaves that are gone
	assert_ok(ls_run_snapshots(run, &steps, &count, &err));
	assert_int_equal(count, 1);
	assert_int_equal(steps[0], 2);
	ls_free(steps);
	free(get_file(dir, "metrics.jsonl", &after));
	assert_int_equal(after * 5, before * 3); // lines of three steps out of five
	expect_file(dir, "rounding-log/frames", 3 * 23);
	for (uint64_t i = 4; i < 8; i++)
		append(run, i);
	assert_ok(ls_run_seal(run, 0, NULL, &err));
	ls_run_free(run);
	assert_ok(ls_run_open(&run, dir, &damage, &err));
	assert_false(damage.found);
	assert_int_equal(ls_run_leaves(run), 8);
	assert_true(ls_run_complete(run));
	assert_ok(ls_run_check_heads(run, &damage, &err));
	assert_false(damage.found);
	ls_run_free(run);
	tiny_close(&t);
}

/* Leaves that are well-formed, hash to their head, and yet do not belong where they stand. */
static void test_leaves_must_fit_their_places(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	tiny_open(&t, NULL);
	for (int wrong = 0; wrong < 5; wrong++) {
		char dir[TEST_PATH];
		ls_run *run;
		ls_damage damage;
		ls_leaf leaf;
		path_in(dir, t.dir, (char[]){(char)('a' + wrong), 0});
		assert_ok(ls_run_create(&run, dir, t.plan, nonce, false, NULL, &err));
		leaf = leaf_of(run, 0);
		leaf.job.byte[0] ^= wrong == 1;
		leaf.run.byte[0] ^= wrong == 2;
		assert_ok(ls_run_append_leaf(run, &leaf, &err));
		leaf = leaf_of(run, wrong == 3 ? 0 : 1);
		leaf.step += wrong == 4;
		assert_ok(ls_run_append_log(run, 1, "", 0, &err));
		assert_ok(ls_run_append_leaf(run, &leaf, &err));
		assert_ok(ls_run_seal(run, 0, NULL, &err));
		ls_run_free(run);
		assert_ok(ls_run_open(&run, dir, &damage, &err));
		assert_int_equal(damage.found, wrong != 0);
		if (wrong)
			assert_string_equal(damage.file, "leaves");
		ls_run_free(run);
	}
	tiny_close(&t);
}

static void test_a_run_of_another_job_is_noticed(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	char dir[TEST_PATH];
	ls_run *run;
	ls_damage damage;
	static const struct {
		const char *set, *file, *text;
	} changes[] = {{"optimizer.lr=0.06", "job.yaml", "lr: 0.06"}, {"train.seed=4", "job.yaml", "seed: 4"},
	               {"data.limit=39", "data", "data root"}, {"name=other", "job.yaml", "name: other"}};
	tiny_open(&t, NULL);
	make_run(&t, "run", 3, dir);
	for (int i = 0; i < 4; i++) {
		tiny_unplan(&t);
		tiny_plan(&t, SETS(changes[i].set), false);
		assert_ok(ls_run_open(&run, dir, &damage, &err));
		ls_run_compare_plan(run, t.plan, &damage);
		assert_true(damage.found);
		assert_string_equal(damage.file, changes[i].file);
		assert_non_null(strstr(damage.text, changes[i].text));
		ls_run_free(run);
	}
	tiny_close(&t);
}

// ---- the rounding log's blocks ----

static void fill_log(ls_step_log *log, const ls_program *p, uint32_t seed)
{
	ls_stream stream = {seed, LS_PURPOSE_TEST, 1};
	uint64_t n = 0;
	ls_step_log_clear(log);
	for (int op = 0; op < log->ops; op++) {
		int64_t elements = ls_shape_count(&ls_program_value(p, ls_program_op(p, op)->outputs[0])->shape);
		if (ls_op_find(ls_program_op(p, op)->kind)->class != LS_OP_PRODUCT)
			continue;
		for (int64_t i = 0; i < elements; i++)
			if (ls_random_below(&stream, n++, 20) == 0)
				assert_int_equal(ls_op_log_push(&log->op[op], (ls_entry){(uint32_t)i, (uint8_t)(n & 1)}), LS_OK);
	}
}

static bool same_log(const ls_step_log *a, const ls_step_log *b)
{
	bool same = a->ops == b->ops;
	for (int op = 0; op < a->ops && same; op++) {
		same = a->op[op].count == b->op[op].count;
		for (size_t i = 0; i < a->op[op].count && same; i++)
			same = a->op[op].entry[i].index == b->op[op].entry[i].index && a->op[op].entry[i].bit == b->op[op].entry[i].bit;
	}
	return same;
}

/* A program with an output of more than one frame. */
static void test_blocks_of_the_rounding_log(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	const ls_program *p;
	ls_hasher *hasher;
	tiny_open(&t, SETS("model.arch=mlp", "model.hidden=[600]"));
	p = ls_model_step(ls_plan_model(t.plan)); // d.fc1.weight: 600 × 144 elements, two frames
	assert_ok(ls_hasher_open(&hasher, 1, &err));
	for (int encoding = LS_ENCODING_SPARSE; encoding <= LS_ENCODING_DENSE; encoding++) {
		ls_step_log one, two, back;
		ls_buf block;
		ls_tree written, read;
		ls_cursor in;
		ls_hash a, b;
		ls_buf_init(&block, 1 << 20);
		assert_ok(ls_step_log_open(&one, ls_program_ops(p), &err));
		assert_ok(ls_step_log_open(&two, ls_program_ops(p), &err));
		assert_ok(ls_step_log_open(&back, ls_program_ops(p), &err));
		fill_log(&one, p, 1);
		fill_log(&two, p, 2);
		ls_tree_init(&written, hasher, 0);
		ls_tree_init(&read, hasher, 0);
		assert_ok(ls_log_write_step(&block, &written, p, 4, &one, (ls_encoding)encoding));
		assert_ok(ls_log_write_step(&block, &written, p, 5, &two, (ls_encoding)encoding));
		in = ls_cursor_over(block.data, block.len);
		assert_int_equal(ls_log_read_step(&in, &read, p, 4, &back, (ls_encoding)encoding), LS_OK);
		assert_true(same_log(&one, &back));
		assert_false(same_log(&two, &back));
		assert_int_equal(ls_log_read_step(&in, &read, p, 5, &back, (ls_encoding)encoding), LS_OK);
		assert_true(same_log(&two, &back));
		assert_true(ls_cursor_done(&in));
		assert_ok(ls_tree_head(&written, &a));
		assert_ok(ls_tree_head(&read, &b));
		assert_true(ls_hash_equal(&a, &b));
		assert_int_equal(written.size, 2 * 6); // fc1, fc2, the gradients of both weights, one of them in two frames, d.relu1
		ls_step_log_free(&one);
		ls_step_log_free(&two);
		ls_step_log_free(&back);
		ls_buf_free(&block);
	}
	ls_hasher_free(hasher);
	tiny_close(&t);
}

static void test_every_cut_or_flip_of_a_block_shows(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	const ls_program *p;
	ls_hasher *hasher;
	ls_step_log log, back;
	ls_buf block;
	ls_tree tree;
	ls_hash root, found;
	tiny_open(&t, NULL);
	p = ls_model_step(ls_plan_model(t.plan));
	assert_ok(ls_hasher_open(&hasher, 1, &err));
	assert_ok(ls_step_log_open(&log, ls_program_ops(p), &err));
	assert_ok(ls_step_log_open(&back, ls_program_ops(p), &err));
	ls_buf_init(&block, 1 << 20);
	ls_tree_init(&tree, hasher, 0);
	fill_log(&log, p, 1);
	assert_ok(ls_log_write_step(&block, &tree, p, 1, &log, LS_ENCODING_SPARSE));
	assert_ok(ls_tree_head(&tree, &root));
	for (size_t len = 0; len < block.len; len++) {
		ls_cursor in = ls_cursor_over(block.data, len);
		ls_tree_init(&tree, hasher, 0);
		assert_int_equal(ls_log_read_step(&in, &tree, p, 1, &back, LS_ENCODING_SPARSE), LS_ERR_INPUT);
	}
	for (size_t at = 0; at < 8 * block.len; at++) {
		ls_cursor in = ls_cursor_over(block.data, block.len);
		bool good;
		block.data[at / 8] ^= (uint8_t)(1 << at % 8);
		ls_tree_init(&tree, hasher, 0);
		good = ls_log_read_step(&in, &tree, p, 1, &back, LS_ENCODING_SPARSE) == LS_OK && ls_cursor_done(&in);
		if (good) { // other entries, properly coded: then the root tells
			assert_ok(ls_tree_head(&tree, &found));
			assert_false(ls_hash_equal(&root, &found));
			assert_false(same_log(&log, &back));
		}
		block.data[at / 8] ^= (uint8_t)(1 << at % 8);
	}
	ls_buf_free(&block);
	ls_step_log_free(&log);
	ls_step_log_free(&back);
	ls_hasher_free(hasher);
	tiny_close(&t);
}

// ---- metrics, policies ----

static void test_metrics_lines(void **state)
{
	ls_buf line;
	ls_metrics m = {.step = 12, .loss = 0.5f, .lr = 0.1, .seconds = 0.25, .platform = "naive"};
	ls_buf_init(&line, 1000);
	ls_metrics_line(&line, &m);
	ls_buf_u8(&line, 0);
	assert_int_equal(line.status, LS_OK);
	assert_string_equal((char *)line.data,
	                    "{\"step\":12,\"loss\":0.5,\"loss_bits\":\"3f000000\",\"lr\":0.10000000000000001,\"seconds\":0.25,\"platform\":\"naive\"}\n");
	ls_buf_reset(&line);
	m.loss = ls_f32_bits(LS_NAN_BITS);
	ls_metrics_line(&line, &m);
	ls_buf_u8(&line, 0);
	assert_non_null(strstr((char *)line.data, "\"loss\":null,\"loss_bits\":\"7fc00000\""));
	assert_null(strstr((char *)line.data, "stages"));
	ls_buf_reset(&line);
	m.counted = true;
	m.stages = (ls_stages){.tested = 90, .certified = 5, .bin = 4, .bins = 0, .wide = 1};
	ls_metrics_line(&line, &m);
	ls_buf_u8(&line, 0);
	assert_non_null(strstr((char *)line.data, ",\"platform\":\"naive\",\"stages\":{\"tested\":90,\"certified\":5,\"bin\":4,\"bins\":0,\"wide\":1}}\n"));
	ls_buf_reset(&line);
	ls_metrics_encode(&line, &(ls_metrics){.step = 2, .loss = 1, .lr = 1, .seconds = 9});
	assert_int_equal(line.len, 20);
	assert_memory_equal(line.data, "\2\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\0\0\0\0\xf0\x3f", 20);
	ls_buf_free(&line);
}

static void test_snapshot_policies(void **state)
{
	static const char *const bad[] = {"", "every", "every:", "every:0", "every:-1", "every:+1", "every: 1", "every:1 ", "every:1x",
	                                  "last:0", "last", "alll", "All", "every:99999999999999999999", "last:1:2"};
	ls_snapshot_policy p;
	assert_true(ls_snapshot_policy_parse(&p, "all"));
	assert_int_equal(p.kind, LS_SNAPSHOTS_ALL);
	assert_true(ls_snapshot_policy_parse(&p, "every:25"));
	assert_int_equal(p.kind, LS_SNAPSHOTS_EVERY);
	assert_int_equal(p.n, 25);
	assert_true(ls_snapshot_policy_parse(&p, "last:3"));
	assert_int_equal(p.kind, LS_SNAPSHOTS_LAST);
	assert_int_equal(p.n, 3);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(ls_snapshot_policy_parse(&p, bad[i]));
}

// ---- plans ----

static void test_plans_and_offline_plans_agree(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	ls_job_plan *offline;
	ls_job_binding other;
	tiny_open(&t, NULL);
	assert_ok(ls_plan_open_offline(&offline, t.job, ls_plan_binding(t.plan), &err));
	assert_true(ls_hash_equal(ls_plan_job_id(offline), ls_plan_job_id(t.plan)));
	assert_null(ls_plan_data(offline));
	ls_plan_free(offline);
	for (int i = 0; i < 4; i++) {
		other = *ls_plan_binding(t.plan);
		if (i == 0)
			other.program[3] ^= 1;
		else if (i == 1)
			other.init[3] ^= 1;
		else if (i == 2)
			other.shape[1]++;
		else
			other.shape[1] = UINT64_MAX;
		assert_int_equal(ls_plan_open_offline(&offline, t.job, &other, &err), LS_ERR_INPUT);
		assert_null(offline);
	}
	tiny_close(&t);
}

static void test_plan_estimates(void **state)
{
	tiny t;
	ls_plan_cost cost;
	tiny_open(&t, NULL);
	ls_plan_estimate(t.plan, &cost);
	assert_int_equal(cost.products, 2); // forward, and the weight's gradient; nobody wants that of the samples
	assert_int_equal(cost.parameters, 4 * 144 + 4);
	assert_int_equal(cost.elements, 8 * 4 + 4 * 144);
	assert_int_equal(cost.product_terms, 8 * 4 * 144 + 4 * 144 * 8);
	assert_int_equal(cost.state_bytes, 2 * 4 * (4 * 144 + 4));
	tiny_close(&t);
}

static ls_status plan_with(tiny *t, const char *set, bool eval, ls_error *err)
{
	ls_plan_options o = LS_PLAN_OPTIONS_INIT;
	ls_job *job;
	ls_job_plan *plan;
	ls_status status;
	o.data_dir = t->data;
	o.eval = eval;
	assert_int_equal(ls_job_parse(&job, "tiny", tiny_yaml, strlen(tiny_yaml), &set, 1, err), LS_OK);
	status = ls_plan_open(&plan, job, &o, err);
	assert_int_equal(status == LS_OK, plan != NULL);
	ls_plan_free(plan);
	ls_job_free(job);
	return status;
}

static void test_data_that_does_not_fit_is_refused(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	tiny_open(&t, NULL);
	assert_ok(plan_with(&t, "train.seed=1", true, &err));
	assert_int_equal(plan_with(&t, "model.classes=3", false, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "labels up to 3"));
	assert_int_equal(plan_with(&t, "train.batch=41", false, &err), LS_ERR_INPUT);
	assert_int_equal(plan_with(&t, "model.arch=lenet6", false, &err), LS_ERR_NOT_FOUND);
	tiny_split(t.data, "t10k", 10, TINY_SIDE - 1, 4); // smaller test images must not be read as larger ones
	assert_int_equal(plan_with(&t, "train.seed=1", true, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "test samples of 1"));
	tiny_split(t.data, "t10k", 10, TINY_SIDE, 7);
	assert_int_equal(plan_with(&t, "train.seed=1", true, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "test labels up to 6"));
	assert_ok(plan_with(&t, "train.seed=1", false, &err));
	tiny_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_leaves_and_steps), cmocka_unit_test(test_ids_depend_on_the_nonce),
		cmocka_unit_test(test_nothing_is_overwritten), cmocka_unit_test(test_reopening_drops_what_lies_beyond),
		cmocka_unit_test(test_leaves_must_fit_their_places),
		cmocka_unit_test(test_a_run_of_another_job_is_noticed), cmocka_unit_test(test_blocks_of_the_rounding_log),
		cmocka_unit_test(test_every_cut_or_flip_of_a_block_shows), cmocka_unit_test(test_metrics_lines),
		cmocka_unit_test(test_snapshot_policies), cmocka_unit_test(test_plans_and_offline_plans_agree),
		cmocka_unit_test(test_plan_estimates), cmocka_unit_test(test_data_that_does_not_fit_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
