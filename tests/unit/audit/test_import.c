// Weights leave a run and start another one, bit for bit, and the job says which.
#include "data/data_cases.h"

#include <lockstep/audit.h>
#include <lockstep/safetensors.h>

#include <sys/stat.h>

#define WEIGHTS "w.safetensors"
enum { SAMPLES = 24, SIDE = 4, STEPS = 4 };

static const char job_text[] = "lockstep: 1\nname: import\nmodel: {arch: mlp, classes: 3, hidden: [5]}\n"
                               "data: {format: idx, path: data}\ntrain: {steps: 4, batch: 8, seed: 3}\n"
                               "optimizer: {name: sgd, lr: 0.05, momentum: 0.9}\n";

typedef struct world {
	char dir[64], data[LS_PATH_MAX], weights[LS_PATH_MAX];
	ls_platform *platform;
} world;

typedef struct lane {
	ls_job *job;
	ls_job_plan *plan;
	ls_replay *replay;
} lane;

static void put_data(const char *dir)
{
	uint8_t images[16 + SAMPLES * SIDE * SIDE] = {0, 0, 8, 3, 0, 0, 0, SAMPLES, 0, 0, 0, SIDE, 0, 0, 0, SIDE};
	uint8_t labels[8 + SAMPLES] = {0, 0, 8, 1, 0, 0, 0, SAMPLES};
	for (int i = 0; i < SAMPLES; i++) {
		labels[8 + i] = (uint8_t)(i % 3);
		for (int k = 0; k < SIDE * SIDE; k++)
			images[16 + i * SIDE * SIDE + k] = (uint8_t)(i * 57 + k * 31 + 80 * (k / 5 == i % 3));
	}
	put(dir, "train-images-idx3-ubyte", images, sizeof images);
	put(dir, "train-labels-idx1-ubyte", labels, sizeof labels);
}

static int begin(void **state)
{
	world *w = calloc(1, sizeof *w);
	ls_platform_options o = LS_PLATFORM_OPTIONS_INIT;
	*state = w;
	snprintf(w->dir, sizeof w->dir, "/tmp/lockstep-import-XXXXXX");
	if (!mkdtemp(w->dir) || ls_platform_open(&w->platform, "native", &o, NULL) != LS_OK)
		return -1;
	file_in(w->data, w->dir, "data");
	file_in(w->weights, w->dir, WEIGHTS);
	if (mkdir(w->data, 0700))
		return -1;
	put_data(w->data);
	return 0;
}

static void remove_tree(const char *dir)
{
	struct dirent *entry;
	char path[LS_PATH_MAX];
	DIR *d = opendir(dir);
	while (d && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
			file_in(path, dir, entry->d_name);
			if (unlink(path))
				remove_tree(path);
		}
	if (d)
		closedir(d);
	rmdir(dir);
}

static int end(void **state)
{
	world *w = *state;
	ls_platform_free(w->platform);
	remove_tree(w->dir);
	free(w);
	return 0;
}

/* ---- plans and runs ---- */

static ls_status try_plan(lane *out, const world *w, const char *init_from, const char *set, const ls_job_binding *run, ls_error *err)
{
	char from[LS_PATH_MAX + 32];
	const char *sets[2];
	size_t count = 0;
	ls_plan_options o = LS_PLAN_OPTIONS_INIT;
	*out = (lane){0};
	snprintf(from, sizeof from, "model.init_from=\"%s\"", init_from ? init_from : "");
	if (init_from)
		sets[count++] = from;
	if (set)
		sets[count++] = set;
	assert_int_equal(ls_job_parse(&out->job, "job", job_text, strlen(job_text), sets, count, err), LS_OK);
	o.data_dir = w->data;
	o.run = run;
	return ls_plan_open(&out->plan, out->job, &o, err);
}

static void lane_close(lane *l)
{
	ls_replay_free(l->replay);
	ls_plan_free(l->plan);
	ls_job_free(l->job);
	*l = (lane){0};
}

static lane lane_open(const world *w, const char *init_from, const char *set)
{
	lane l;
	ls_error err = LS_ERROR_INIT;
	ls_replay_options o = LS_REPLAY_OPTIONS_INIT;
	if (try_plan(&l, w, init_from, set, NULL, &err) != LS_OK)
		fail_msg("%s", err.text);
	o.plan = l.plan;
	o.platform = w->platform;
	assert_int_equal(ls_replay_open(&l.replay, &o, NULL), LS_OK);
	return l;
}

static ls_hash init(const lane *l)
{
	ls_hash root;
	ls_error err = LS_ERROR_INIT;
	if (ls_replay_init(l->replay, &root, &err) != LS_OK)
		fail_msg("%s", err.text);
	return root;
}

static void train(const world *w, const lane *l, const char *name, char dir[LS_PATH_MAX])
{
	ls_train_options o = LS_TRAIN_OPTIONS_INIT;
	ls_train_result result;
	ls_error err = LS_ERROR_INIT;
	file_in(dir, w->dir, name);
	o.dir = dir;
	if (ls_train(l->plan, w->platform, &o, &result, &err) != LS_OK)
		fail_msg("%s", err.text);
	assert_true(result.complete);
}

/* A run of STEPS steps from drawn weights; its last state is left in the lane and its weights in the file. */
static lane train_and_export(const world *w)
{
	lane l = lane_open(w, NULL, NULL);
	char dir[LS_PATH_MAX];
	ls_damage damage;
	ls_run *run;
	ls_export_result exported;
	train(w, &l, "first", dir);
	assert_int_equal(ls_run_open(&run, dir, &damage, NULL), LS_OK);
	assert_int_equal(ls_run_read_snapshot(run, STEPS, ls_replay_exec(l.replay), &damage, NULL), LS_OK);
	assert_false(damage.found);
	assert_int_equal(ls_export(l.plan, ls_replay_exec(l.replay), w->weights, false, &exported, NULL), LS_OK);
	assert_int_equal(exported.tensors, 4);
	assert_int_equal(exported.elements, 16 * 5 + 5 + 5 * 3 + 3);
	assert_int_equal(ls_export(l.plan, ls_replay_exec(l.replay), w->weights, false, &exported, NULL), LS_ERR_EXISTS);
	assert_int_equal(ls_export(l.plan, ls_replay_exec(l.replay), w->weights, true, &exported, NULL), LS_OK);
	ls_run_free(run);
	return l;
}

/* Words of weights that differ between two lanes, and of the optimizer's tensors in `b` that are not 0. */
static void compare(const lane *a, const lane *b, int64_t *differ, int64_t *moved)
{
	const ls_program *p = ls_exec_program(ls_replay_exec(a->replay));
	*differ = *moved = 0;
	for (int s = 0; s < ls_program_states(p); s++) {
		const uint32_t *x = ls_exec_state(ls_replay_exec(a->replay), s), *y = ls_exec_state(ls_replay_exec(b->replay), s);
		for (int64_t i = 0; i < ls_shape_count(&ls_program_value(p, s)->shape); i++) {
			if (ls_model_is_weight(ls_plan_model(a->plan), s))
				*differ += x[i] != y[i];
			else
				*moved += y[i] != 0;
		}
	}
}

static bool has_import(const lane *l)
{
	static const uint8_t none[32] = {0};
	return memcmp(ls_plan_binding(l->plan)->import, none, 32) != 0;
}

static void flip_bit(const char *path, long from_end)
{
	FILE *f = fopen(path, "r+b");
	int c;
	assert_non_null(f);
	assert_int_equal(fseek(f, -from_end, SEEK_END), 0);
	c = fgetc(f);
	assert_int_equal(fseek(f, -from_end, SEEK_END), 0);
	assert_int_equal(fputc(c ^ 1, f), c ^ 1);
	assert_int_equal(fclose(f), 0);
}

static void weights_go_from_run_to_run(void **state)
{
	const world *w = *state;
	lane first = train_and_export(w), drawn = lane_open(w, NULL, NULL), second = lane_open(w, w->weights, NULL), third;
	ls_hash roots[3];
	int64_t differ, moved;
	init(&drawn);
	roots[0] = init(&second);
	compare(&first, &second, &differ, &moved);
	assert_int_equal(differ, 0);
	assert_int_equal(moved, 0); // the optimizer starts anew
	compare(&first, &drawn, &differ, &moved);
	assert_true(differ > 50);
	compare(&second, &first, &differ, &moved);
	assert_true(moved > 50); // and had gathered something
	assert_true(has_import(&second));
	assert_false(has_import(&drawn));
	flip_bit(w->weights, 4); // the last number's lowest bit
	third = lane_open(w, w->weights, NULL);
	roots[1] = init(&third);
	compare(&first, &third, &differ, &moved);
	assert_int_equal(differ, 1);
	assert_memory_not_equal(roots[0].byte, roots[1].byte, 32);
	assert_memory_not_equal(ls_plan_job_id(second.plan)->byte, ls_plan_job_id(third.plan)->byte, 32);
	assert_memory_not_equal(ls_plan_binding(second.plan)->init, ls_plan_binding(third.plan)->init, 32);
	assert_memory_equal(ls_plan_binding(second.plan)->program, ls_plan_binding(third.plan)->program, 32);
	lane_close(&third);
	flip_bit(w->weights, 4);
	third = lane_open(w, w->weights, NULL);
	roots[2] = init(&third);
	assert_memory_equal(roots[0].byte, roots[2].byte, 32);
	assert_memory_equal(ls_plan_job_id(second.plan)->byte, ls_plan_job_id(third.plan)->byte, 32);
	lane_close(&first);
	lane_close(&second);
	lane_close(&third);
	lane_close(&drawn);
}

/* The job id does not hold the path, and a place that is not there is no error where nothing has to be executed. */
static void the_path_is_not_part_of_the_job(void **state)
{
	const world *w = *state;
	lane first = train_and_export(w), here = lane_open(w, w->weights, NULL), there, nowhere;
	ls_error err = LS_ERROR_INIT;
	ls_replay_options o = LS_REPLAY_OPTIONS_INIT;
	ls_job_plan *offline;
	char moved[LS_PATH_MAX];
	ls_hash root;
	file_in(moved, w->dir, "moved.safetensors");
	assert_int_equal(rename(w->weights, moved), 0);
	there = lane_open(w, moved, NULL);
	assert_memory_equal(ls_plan_job_id(here.plan)->byte, ls_plan_job_id(there.plan)->byte, 32);
	assert_memory_not_equal(ls_plan_job_id(here.plan)->byte, ls_plan_job_id(first.plan)->byte, 32);
	assert_int_equal(try_plan(&nowhere, w, w->weights, NULL, NULL, &err), LS_ERR_NOT_FOUND);
	lane_close(&nowhere);
	assert_int_equal(try_plan(&nowhere, w, w->weights, NULL, ls_plan_binding(here.plan), &err), LS_OK);
	assert_memory_equal(ls_plan_job_id(here.plan)->byte, ls_plan_job_id(nowhere.plan)->byte, 32);
	o.plan = nowhere.plan;
	o.platform = w->platform;
	assert_int_equal(ls_replay_open(&nowhere.replay, &o, NULL), LS_OK);
	assert_int_equal(ls_replay_init(nowhere.replay, &root, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "found no such file, expected the weights that this run starts from"));
	assert_int_equal(ls_plan_open_offline(&offline, here.job, ls_plan_binding(here.plan), NULL), LS_OK);
	assert_memory_equal(ls_plan_job_id(here.plan)->byte, ls_plan_job_id(offline)->byte, 32);
	ls_plan_free(offline);
	lane_close(&first);
	lane_close(&here);
	lane_close(&there);
	lane_close(&nowhere);
}

static ls_verdict audited(const world *w, const lane *l, const char *dir, const char *platform)
{
	ls_platform_options po = LS_PLATFORM_OPTIONS_INIT;
	ls_audit_options o = LS_AUDIT_OPTIONS_INIT;
	ls_audit_result result;
	ls_platform *p;
	ls_damage damage;
	ls_run *run;
	assert_int_equal(ls_platform_open(&p, platform, &po, NULL), LS_OK);
	assert_int_equal(ls_run_open(&run, dir, &damage, NULL), LS_OK);
	assert_int_equal(ls_audit(run, l->plan, p, &o, &result, NULL, NULL), LS_OK);
	ls_run_free(run);
	ls_platform_free(p);
	return result.verdict;
}

/* An auditor with the same weights agrees, one with others does not. */
static void runs_from_weights_are_audited(void **state)
{
	const world *w = *state;
	lane first = train_and_export(w), second = lane_open(w, w->weights, "data.augment=[crop, flip]"), other;
	char dir[LS_PATH_MAX];
	train(w, &second, "second", dir);
	assert_int_equal(audited(w, &second, dir, "naive"), LS_VERDICT_MATCH);
	flip_bit(w->weights, 4);
	other = lane_open(w, w->weights, "data.augment=[crop, flip]");
	assert_int_not_equal(audited(w, &other, dir, "native"), LS_VERDICT_MATCH);
	lane_close(&other);
	flip_bit(w->weights, 4);
	other = lane_open(w, w->weights, NULL); // without augmentation
	assert_int_not_equal(audited(w, &other, dir, "native"), LS_VERDICT_MATCH);
	lane_close(&other);
	lane_close(&second);
	lane_close(&first);
}

/* ---- what is refused ---- */

static float numbers[80] = {0.5f, -0.25f, 1};

static const ls_safetensor_source right[] = {
	{"fc1.weight", 2, {5, 16}, numbers}, {"fc1.bias", 1, {5}, numbers}, {"fc2.weight", 2, {3, 5}, numbers}, {"fc2.bias", 1, {3}, numbers},
};

/* Writes right[] with tensor `at` replaced (or one more, for at = 4) and plans with it; NULL words: it is accepted. */
static void expect(const world *w, int at, const ls_safetensor_source *source, const char *set, const char *words)
{
	ls_safetensor_source all[5];
	ls_error err = LS_ERROR_INIT;
	lane l;
	int count = 4 + (at == 4);
	memcpy(all, right, sizeof right);
	if (source)
		all[at] = *source;
	else if (at >= 0)
		all[at] = all[--count];
	assert_int_equal(ls_safetensors_write(w->weights, all, (size_t)count, true, NULL), LS_OK);
	ls_status status = try_plan(&l, w, w->weights, set, NULL, &err);
	if (words && !strstr(err.text, words))
		fail_msg("\"%s\" is missing in: %s", words, err.text);
	if (!words && status != LS_OK)
		fail_msg("%s", err.text);
	assert_int_equal(status, words ? LS_ERR_INPUT : LS_OK);
	lane_close(&l);
}

static void other_tensors_are_refused(void **state)
{
	static const float nan[3] = {0, 0, __builtin_nanf("")}, fine[3] = {1, 1.0000001f, 0};
	static const ls_safetensor_source extra = {"fc3.bias", 1, {3}, numbers}, renamed = {"fc2.gamma", 1, {3}, numbers},
	                                  turned = {"fc2.weight", 2, {5, 3}, numbers}, longer = {"fc2.bias", 1, {4}, numbers},
	                                  rank = {"fc2.bias", 2, {3, 1}, numbers}, many = {"fc2.bias", 5, {3, 1, 1, 1, 1}, numbers},
	                                  not_a_number = {"fc2.bias", 1, {3}, nan}, off_grid = {"fc2.bias", 1, {3}, fine},
	                                  buffer = {"bn.num_batches_tracked", 0, {0}, numbers};
	const world *w = *state;
	expect(w, -1, NULL, NULL, NULL);
	expect(w, 3, NULL, NULL, "tensor 'fc2.bias': found no such tensor, expected every weight of the model");
	expect(w, 4, &extra, NULL, "tensor 'fc3.bias': found a tensor that the model does not have");
	expect(w, 3, &renamed, NULL, "tensor 'fc2.bias': found no such tensor");
	expect(w, 2, &turned, NULL, "tensor 'fc2.weight': found (5, 3), expected (3, 5)");
	expect(w, 3, &longer, NULL, "tensor 'fc2.bias': found (4), expected (3)");
	expect(w, 3, &rank, NULL, "tensor 'fc2.bias': found (3, 1), expected (3)");
	expect(w, 3, &many, NULL, "tensor 'fc2.bias': found 5 dimensions, expected (3)");
	expect(w, 3, &not_a_number, NULL, "tensor 'fc2.bias', element 2: found NaN, expected a finite number of grid 32");
	expect(w, 3, &off_grid, NULL, NULL);
	expect(w, 3, &off_grid, "arithmetic.state_grid=19", "tensor 'fc2.bias', element 1: found 1.00000012, expected a finite number of grid 19");
	expect(w, -1, NULL, "arithmetic.state_grid=19", NULL);
	expect(w, 4, &buffer, NULL, NULL);
}

/* All names may bear the prefix of a wrapper, or none of them. */
static void prefixes_are_taken_off(void **state)
{
	const world *w = *state;
	ls_safetensor_source all[4];
	static const char *const names[] = {"module.fc1.weight", "module.fc1.bias", "module.fc2.weight", "module.fc2.bias"};
	lane plain, wrapped;
	ls_error err = LS_ERROR_INIT;
	assert_int_equal(ls_safetensors_write(w->weights, right, 4, true, NULL), LS_OK);
	plain = lane_open(w, w->weights, NULL);
	memcpy(all, right, sizeof right);
	for (int i = 0; i < 4; i++)
		all[i].name = names[i];
	assert_int_equal(ls_safetensors_write(w->weights, all, 4, true, NULL), LS_OK);
	wrapped = lane_open(w, w->weights, NULL);
	assert_memory_equal(ls_plan_job_id(plain.plan)->byte, ls_plan_job_id(wrapped.plan)->byte, 32);
	lane_close(&wrapped);
	all[0].name = "fc1.weight";
	assert_int_equal(ls_safetensors_write(w->weights, all, 4, true, NULL), LS_OK);
	assert_int_equal(try_plan(&wrapped, w, w->weights, NULL, NULL, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "tensor 'fc1.weight': found no such tensor"));
	lane_close(&wrapped);
	lane_close(&plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(weights_go_from_run_to_run, begin, end),
		cmocka_unit_test_setup_teardown(the_path_is_not_part_of_the_job, begin, end),
		cmocka_unit_test_setup_teardown(runs_from_weights_are_audited, begin, end),
		cmocka_unit_test_setup_teardown(other_tensors_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(prefixes_are_taken_off, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
