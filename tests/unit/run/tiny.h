/* Tiny data and jobs: enough to train a few steps of each model in milliseconds. */
#ifndef LS_TEST_RUN_TINY_H
#define LS_TEST_RUN_TINY_H

#include "base/support.h"

#include <lockstep/run.h>

enum { TINY_SIDE = 12, TINY_SAMPLES = 40, TINY_TEST_SAMPLES = 10 };

static inline void tiny_split(const char *dir, const char *prefix, uint32_t samples, uint32_t side, uint32_t classes)
{
	ls_stream stream = {11, LS_PURPOSE_TEST, samples};
	uint8_t *images = malloc(16 + (size_t)samples * side * side), *labels = malloc(8 + samples);
	const uint8_t image_head[16] = {0, 0, 8, 3, 0, 0, 0, (uint8_t)samples, 0, 0, 0, (uint8_t)side, 0, 0, 0, (uint8_t)side};
	const uint8_t label_head[8] = {0, 0, 8, 1, 0, 0, 0, (uint8_t)samples};
	char name[64];
	memcpy(images, image_head, 16);
	memcpy(labels, label_head, 8);
	for (uint32_t i = 0; i < samples; i++) { // a class is a brighter row
		labels[8 + i] = (uint8_t)(i % classes);
		for (uint32_t p = 0; p < side * side; p++)
			images[16 + i * side * side + p] =
				(uint8_t)(ls_random_below(&stream, (uint64_t)i * side * side + p, 100) + (p / side == i % classes ? 150 : 0));
	}
	snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
	put_file(dir, name, images, 16 + (size_t)samples * side * side);
	snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
	put_file(dir, name, labels, 8 + samples);
	free(images);
	free(labels);
}

typedef struct tiny {
	char dir[TEST_PATH];  /* scratch: data/ and whatever runs a test makes */
	char data[TEST_PATH];
	ls_job *job;
	ls_job_plan *plan;
} tiny;

static inline void tiny_data(tiny *t)
{
	scratch_make(t->dir);
	path_in(t->data, t->dir, "data");
	mkdir(t->data, 0755);
	tiny_split(t->data, "train", TINY_SAMPLES, TINY_SIDE, 4);
	tiny_split(t->data, "t10k", TINY_TEST_SAMPLES, TINY_SIDE, 4);
}

static const char tiny_yaml[] = "lockstep: 1\n"
                                "name: tiny\n"
                                "model: {arch: logreg, classes: 4}\n"
                                "data: {format: idx, path: data, std: 64}\n"
                                "train: {steps: 7, batch: 8, seed: 3, commit_every: 1}\n"
                                "optimizer: {name: sgd, lr: 0.05, momentum: 0.9}\n"
                                "arithmetic: {mode: logged, grid: 32, depth: 2097152}\n"; // wide bounds: many entries

/* Plans the job with overrides ("train.steps=3"), at most eight; the last is followed by NULL. */
static inline void tiny_plan(tiny *t, const char *const *sets, bool eval)
{
	ls_error err = LS_ERROR_INIT;
	ls_plan_options o = LS_PLAN_OPTIONS_INIT;
	size_t count = 0;
	while (sets && sets[count])
		count++;
	o.data_dir = t->data;
	o.eval = eval;
	assert_ok(ls_job_parse(&t->job, "tiny", tiny_yaml, strlen(tiny_yaml), sets, count, &err));
	assert_ok(ls_plan_open(&t->plan, t->job, &o, &err));
}

static inline void tiny_unplan(tiny *t)
{
	ls_plan_free(t->plan);
	ls_job_free(t->job);
	t->plan = NULL;
	t->job = NULL;
}

static inline void tiny_open(tiny *t, const char *const *sets)
{
	*t = (tiny){0};
	tiny_data(t);
	tiny_plan(t, sets, false);
}

static inline void tiny_close(tiny *t)
{
	tiny_unplan(t);
	scratch_remove(t->dir);
}

#define SETS(...) (const char *const[]){__VA_ARGS__, NULL}

#endif
