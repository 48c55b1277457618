// Every byte of a run: flipped, cut, repeated, moved, or from another run. Each must be reported, none may crash.
#include "audit/support.h"

static const char *const files[] = {"leaves", "job.bin", "job.yaml", "nonce", "heads/4", "rounding-log/frames",
                                    "snapshots/0000000003", "metrics.jsonl"};
enum { FILES = 8 };

typedef struct patient {
	tiny t;
	char dir[TEST_PATH];
	uint8_t *bytes[FILES];
	size_t len[FILES];
	ls_hash root;
} patient;

/* Three steps of a model with a few dozen weights. */
static void patient_open(patient *p, const char *const *sets)
{
	*p = (patient){0};
	tiny_data(&p->t);
	tiny_split(p->t.data, "train", TINY_SAMPLES, 3, 2);
	tiny_plan(&p->t, sets, false);
	trained(&p->t, "native", "run", (ls_train_options){.snapshots = {LS_SNAPSHOTS_LAST, 1}});
	path_in(p->dir, p->t.dir, "run");
	assert_false(verified(&p->t, "run", &p->root).found);
	for (int i = 0; i < FILES; i++) {
		p->bytes[i] = get_file(p->dir, files[i], &p->len[i]);
		assert_non_null(p->bytes[i]);
	}
}

static void patient_close(patient *p)
{
	for (int i = 0; i < FILES; i++)
		free(p->bytes[i]);
	tiny_close(&p->t);
}

#define SMALL SETS("train.steps=3", "model.classes=2", "optimizer.momentum=0")

/* True where a difference in this place says nothing that is committed to: where the data lay, how long a step took and
 * on what platform. */
static bool is_free(const patient *p, int file, size_t at)
{
	size_t from = at;
	const char *text = (const char *)p->bytes[file], *seconds;
	if (!strcmp(files[file], "job.yaml")) {
		const char *path = strstr(text, "path:");
		return path && at >= (size_t)(path - text) && at < (size_t)(strchr(path, '\n') - text);
	}
	if (strcmp(files[file], "metrics.jsonl"))
		return false;
	while (from && text[from - 1] != '\n')
		from--;
	seconds = strstr(text + from, "\"seconds\":");
	return seconds && at >= (size_t)(seconds - text) + strlen("\"seconds\":") && text[at] != '\n';
}

static void check_damage(const patient *p, int file, const char *how, size_t at, bool must)
{
	ls_hash root;
	ls_damage damage = verified(&p->t, "run", &root);
	if (!damage.found && must)
		print_message("%s: %s at byte %zu went unnoticed\n", files[file], how, at);
	assert_true(damage.found || !must);
	if (damage.found) {
		assert_true(damage.file[0] && damage.text[0]);
		assert_true(damage.step <= 5); // leaves and blocks too many count on
	} else {
		assert_true(ls_hash_equal(&root, &p->root));
	}
}

static void restore(const patient *p, int file)
{
	put_file(p->dir, files[file], p->bytes[file], p->len[file]);
}

static void test_every_byte_flipped(void **state)
{
	static const uint8_t masks[] = {0x01, 0x20, 0x80};
	patient p;
	uint64_t flips = 0;
	patient_open(&p, SMALL);
	for (int f = 0; f < FILES; f++) {
		uint8_t *changed = malloc(p.len[f]);
		memcpy(changed, p.bytes[f], p.len[f]);
		for (size_t at = 0; at < p.len[f]; at++)
			for (int m = 0; m < 3; m++) {
				if (p.len[f] > 200 && at % 3 != (size_t)m) // one bit of each byte will do
					continue;
				flips++;
				changed[at] ^= masks[m];
				put_file(p.dir, files[f], changed, p.len[f]);
				check_damage(&p, f, "a flipped bit", at, !is_free(&p, f, at));
				changed[at] ^= masks[m];
			}
		free(changed);
		restore(&p, f);
		assert_verifies(&p.t, "run");
	}
	assert_true(flips > 2000);
	patient_close(&p);
}

static void test_every_cut(void **state)
{
	patient p;
	patient_open(&p, SMALL);
	for (int f = 0; f < FILES; f++) {
		for (size_t len = 0; len < p.len[f]; len += p.len[f] > 200 && len + 20 < p.len[f] && len > 20 ? 5 : 1) {
			put_file(p.dir, files[f], p.bytes[f], len);
			check_damage(&p, f, "the end", len, true);
		}
		restore(&p, f);
	}
	assert_verifies(&p.t, "run");
	patient_close(&p);
}

static void test_bytes_at_the_end(void **state)
{
	patient p;
	patient_open(&p, SMALL);
	for (int f = 0; f < FILES; f++) {
		uint8_t *more = malloc(2 * p.len[f] + 64);
		static const char *const tails[] = {"\0", "\n", "{}\n", "0123456789abcdef"};
		memcpy(more, p.bytes[f], p.len[f]);
		for (int i = 0; i < 4; i++) {
			size_t len = i ? strlen(tails[i]) : 1;
			memcpy(more + p.len[f], tails[i], len);
			put_file(p.dir, files[f], more, p.len[f] + len);
			check_damage(&p, f, "more bytes", p.len[f], true);
		}
		memcpy(more + p.len[f], p.bytes[f], p.len[f]); // the whole file once more
		put_file(p.dir, files[f], more, 2 * p.len[f]);
		check_damage(&p, f, "itself again", p.len[f], true);
		free(more);
		restore(&p, f);
	}
	// a well-formed empty block for a leaf that is not there
	uint8_t block[16] = {4};
	uint8_t *more = malloc(p.len[5] + 16);
	memcpy(more, p.bytes[5], p.len[5]);
	memcpy(more + p.len[5], block, 16);
	put_file(p.dir, files[5], more, p.len[5] + 16);
	check_damage(&p, 5, "a block too many", p.len[5], true);
	free(more);
	patient_close(&p);
}

/* Spans of the records of `leaves`, blocks of the rounding log, or lines of metrics. */
static int records_of(const patient *p, int file, size_t at[8], size_t len[8])
{
	int count = 0;
	for (size_t pos = 0; pos < p->len[file]; pos += len[count++]) {
		const uint8_t *b = p->bytes[file] + pos;
		assert_true(count < 8);
		at[count] = pos;
		if (file == 0)
			len[count] = 4 + ls_get_le32(b);
		else if (file == 5)
			len[count] = 16 + (size_t)ls_get_le64(b + 8);
		else
			len[count] = (size_t)((const uint8_t *)memchr(b, '\n', p->len[file] - pos) - b) + 1;
	}
	return count;
}

static void put_records(const patient *p, int file, const int *order, int count, const size_t *at, const size_t *len)
{
	uint8_t *bytes = malloc(3 * p->len[file] + 1);
	size_t used = 0;
	for (int i = 0; i < count; i++) {
		memcpy(bytes + used, p->bytes[file] + at[order[i]], len[order[i]]);
		used += len[order[i]];
	}
	put_file(p->dir, files[file], bytes, used);
	free(bytes);
}

static void test_records_moved_repeated_and_left_out(void **state)
{
	static const int in_order[] = {0, 5, 7}; // leaves, rounding log, metrics
	patient p;
	patient_open(&p, SMALL);
	for (int i = 0; i < 3; i++) {
		int f = in_order[i], order[9];
		size_t at[8], len[8];
		int count = records_of(&p, f, at, len);
		assert_int_equal(count, f ? 3 : 4);
		for (int a = 0; a < count; a++)
			for (int b = 0; b < count; b++) {
				int n = 0;
				for (int k = 0; k < count; k++)
					order[n++] = k;
				if (a < b) { // swap
					order[a] = b;
					order[b] = a;
				} else if (a > b) { // replace one by a copy of another
					order[a] = b;
				} else { // leave one out
					memmove(order + a, order + a + 1, (size_t)(n - a - 1) * sizeof *order);
					n--;
				}
				put_records(&p, f, order, n, at, len);
				check_damage(&p, f, "other records", (size_t)(10 * a + b), true);
			}
		for (int a = 0; a < count; a++) { // repeat one
			int n = 0;
			for (int k = 0; k < count; k++) {
				order[n++] = k;
				if (k == a)
					order[n++] = k;
			}
			put_records(&p, f, order, n, at, len);
			check_damage(&p, f, "a repeated record", (size_t)a, true);
		}
		restore(&p, f);
	}
	assert_verifies(&p.t, "run");
	patient_close(&p);
}

static void test_files_of_another_run(void **state)
{
	patient p;
	char other[TEST_PATH];
	patient_open(&p, SMALL);
	tiny_unplan(&p.t);
	tiny_plan(&p.t, SETS("train.steps=3", "model.classes=2", "optimizer.momentum=0", "train.seed=4"), false);
	trained(&p.t, "native", "other", (ls_train_options){.snapshots = {LS_SNAPSHOTS_LAST, 1}});
	path_in(other, p.t.dir, "other");
	for (int f = 0; f < FILES; f++) {
		size_t len = 0;
		uint8_t *bytes = get_file(other, files[f], &len);
		bool same = len == p.len[f] && !memcmp(bytes, p.bytes[f], len);
		assert_int_equal(same, !strcmp(files[f], "nonce")); // the test gives both the same
		put_file(p.dir, files[f], bytes, len);
		check_damage(&p, f, "another run's file", 0, !same);
		restore(&p, f);
		free(bytes);
	}
	patient_close(&p);
}

static void test_files_missing(void **state)
{
	ls_error err = LS_ERROR_INIT;
	patient p;
	patient_open(&p, SMALL);
	for (int f = 0; f < FILES; f++) {
		char path[TEST_PATH];
		path_in(path, p.dir, files[f]);
		unlink(path);
		check_damage(&p, f, "missing", 0, true);
		mkdir(path, 0755);
		check_damage(&p, f, "a folder", 0, true);
		rmdir(path);
		restore(&p, f);
	}
	ls_damage damage;
	ls_hash root;
	assert_int_equal(ls_verify_run(p.t.data, &damage, &root, &err), LS_ERR_NOT_FOUND);
	patient_close(&p);
}

/* Names the file, and for what belongs to a step the step, where that can be known. */
static void test_damage_is_named(void **state)
{
	static const struct {
		int file;
		size_t from_end;
		const char *name;
		uint64_t step;
	} places[] = {
		{5, 1, "rounding-log/frames", 3}, {6, 1, "snapshots/0000000003", 3}, {2, 5, "job.yaml", 0}, {3, 1, "nonce", 0},
	};
	patient p;
	patient_open(&p, SMALL);
	for (int i = 0; i < 4; i++) {
		int f = places[i].file;
		uint8_t *changed = malloc(p.len[f]);
		ls_hash root;
		ls_damage damage;
		memcpy(changed, p.bytes[f], p.len[f]);
		changed[p.len[f] - places[i].from_end] ^= 1;
		put_file(p.dir, files[f], changed, p.len[f]);
		damage = verified(&p.t, "run", &root);
		assert_true(damage.found);
		assert_string_equal(damage.file, places[i].name);
		assert_int_equal(damage.step, places[i].step);
		restore(&p, f);
		free(changed);
	}
	patient_close(&p);
}

/* A run that is consistent in itself, but whose job names programs that its fields do not expand to. */
static void test_a_well_made_run_of_an_impossible_job(void **state)
{
	ls_error err = LS_ERROR_INIT;
	tiny t;
	ls_job_binding binding;
	ls_damage damage;
	ls_hash root, id, run_id;
	ls_buf bytes, leaves;
	ls_leaf leaf = {.kind = LS_LEAF_START};
	ls_hasher *hasher;
	ls_tree tree;
	ls_head head;
	char text[LS_HEAD_TEXT_SIZE], dir[TEST_PATH], nonce[66], path[TEST_PATH];
	static const char *const folders[] = {"", "heads", "rounding-log", "snapshots"};
	tiny_open(&t, NULL);
	binding = *ls_plan_binding(t.plan);
	for (int kind = 0; kind < 3; kind++) {
		binding = *ls_plan_binding(t.plan);
		if (kind == 0)
			binding.program[0] ^= 1;
		else
			binding.shape[1] = kind == 1 ? UINT64_MAX : UINT64_C(1) << 39;
		ls_buf_init(&bytes, LS_JOB_BYTES_MAX);
		ls_buf_init(&leaves, 1000);
		assert_ok(ls_job_encode(t.job, &binding, &bytes, &err));
		assert_ok(ls_hash_tagged(&id, LS_TAG_JOB, bytes.data, bytes.len));
		assert_ok(ls_run_id(&run_id, &id, (uint8_t[32]){0}, (uint8_t[32]){0}));
		path_in(dir, t.dir, (char[]){(char)('a' + kind), 0});
		for (int i = 0; i < 4; i++) {
			path_in(path, dir, folders[i]);
			mkdir(path, 0755);
		}
		put_file(dir, "job.bin", bytes.data, bytes.len);
		ls_buf_reset(&bytes);
		assert_ok(ls_job_emit_yaml(t.job, &bytes));
		put_file(dir, "job.yaml", bytes.data, bytes.len);
		memset(nonce, '0', 64);
		nonce[64] = '\n';
		put_file(dir, "nonce", nonce, 65);
		put_file(dir, "metrics.jsonl", "", 0);
		put_file(dir, "rounding-log/frames", "", 0);
		leaf.job = id;
		leaf.run = run_id;
		ls_buf_reset(&bytes);
		assert_ok(ls_leaf_encode(&bytes, &leaf));
		ls_buf_u32(&leaves, (uint32_t)bytes.len);
		ls_buf_bytes(&leaves, bytes.data, bytes.len);
		put_file(dir, "leaves", leaves.data, leaves.len);
		assert_ok(ls_hasher_open(&hasher, 1, &err));
		ls_tree_init(&tree, hasher, 0);
		ls_tree_push(&tree, bytes.data, bytes.len);
		head = (ls_head){.run = run_id, .size = 1};
		assert_ok(ls_tree_head(&tree, &head.root));
		ls_head_encode(text, &head);
		put_file(dir, "heads/1", text, strlen(text));
		assert_ok(ls_verify_run(dir, &damage, &root, &err));
		assert_true(damage.found);
		assert_string_equal(damage.file, "job.bin");
		ls_hasher_free(hasher);
		ls_buf_free(&bytes);
		ls_buf_free(&leaves);
	}
	tiny_close(&t);
}

static void test_plain_runs_have_empty_blocks(void **state)
{
	patient p;
	patient_open(&p, SETS("train.steps=3", "model.classes=2", "optimizer.momentum=0", "arithmetic.mode=plain"));
	assert_int_equal(p.len[5], 3 * 16);
	for (size_t at = 0; at < 48; at++) {
		p.bytes[5][at] ^= 1;
		put_file(p.dir, files[5], p.bytes[5], 48);
		check_damage(&p, 5, "a flipped bit", at, true);
		p.bytes[5][at] ^= 1;
	}
	patient_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte_flipped), cmocka_unit_test(test_every_cut), cmocka_unit_test(test_bytes_at_the_end),
		cmocka_unit_test(test_records_moved_repeated_and_left_out), cmocka_unit_test(test_files_of_another_run),
		cmocka_unit_test(test_files_missing), cmocka_unit_test(test_damage_is_named),
		cmocka_unit_test(test_a_well_made_run_of_an_impossible_job), cmocka_unit_test(test_plain_runs_have_empty_blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
