#include "fuzz.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = 6, SAMPLES = 16, CLASSES = 4, PATHS = 4 };

static const char yaml[] = "lockstep: 1\nname: fuzzed\nmodel: {arch: logreg, classes: 4}\ndata: {format: idx, path: data, std: 64}\n"
                           "train: {steps: 3, batch: 8, seed: 3}\noptimizer: {name: sgd, lr: 0.05, momentum: 0.9}\n"
                           "arithmetic: {mode: logged, depth: 2097152}\n"; // wide bounds: many entries

static char folder[64];

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	return remove(path);
}

static void remove_folder(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_folder(void)
{
	if (!folder[0]) {
		snprintf(folder, sizeof folder, "%s/lockstep-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
		FUZZ_CHECK(mkdtemp(folder));
		atexit(remove_folder);
	}
	return folder;
}

const char *fuzz_path(const char *name)
{
	static char path[PATHS][256];
	static int turn;
	char *out = path[turn++ % PATHS];
	snprintf(out, sizeof path[0], "%s/%s", fuzz_folder(), name);
	return out;
}

void fuzz_write(const char *name, const void *data, size_t size)
{
	FILE *f = fopen(fuzz_path(name), "wb");
	FUZZ_CHECK(f && (!size || fwrite(data, 1, size, f) == size) && !fclose(f));
}

static void write_images(void)
{
	uint8_t images[16 + SAMPLES * SIDE * SIDE] = {0, 0, 8, 3, 0, 0, 0, SAMPLES, 0, 0, 0, SIDE, 0, 0, 0, SIDE};
	uint8_t labels[8 + SAMPLES] = {0, 0, 8, 1, 0, 0, 0, SAMPLES};
	for (int i = 0; i < SAMPLES; i++) {
		labels[8 + i] = (uint8_t)(i % CLASSES);
		for (int p = 0; p < SIDE * SIDE; p++)
			images[16 + i * SIDE * SIDE + p] = (uint8_t)((i * 37 + p * 11) % 90 + (p / SIDE == i % CLASSES ? 150 : 0));
	}
	mkdir(fuzz_path("data"), 0755);
	fuzz_write("data/train-images-idx3-ubyte", images, sizeof images);
	fuzz_write("data/train-labels-idx1-ubyte", labels, sizeof labels);
}

const ls_job_plan *fuzz_plan(void)
{
	static ls_job_plan *plan;
	static ls_job *job;
	ls_plan_options options = LS_PLAN_OPTIONS_INIT;
	if (plan)
		return plan;
	write_images();
	options.data_dir = fuzz_path("data");
	FUZZ_CHECK(ls_job_parse(&job, "job", yaml, sizeof yaml - 1, NULL, 0, NULL) == LS_OK);
	FUZZ_CHECK(ls_plan_open(&plan, job, &options, NULL) == LS_OK);
	return plan;
}

void fuzz_train(const char *name)
{
	static const uint8_t nonce[32] = {1};
	ls_platform_options options = LS_PLATFORM_OPTIONS_INIT;
	ls_train_options o = LS_TRAIN_OPTIONS_INIT;
	ls_platform *platform;
	ls_train_result result;
	const ls_job_plan *plan = fuzz_plan();
	ls_error err = LS_ERROR_INIT;
	FUZZ_CHECK(ls_platform_open(&platform, "native", &options, NULL) == LS_OK);
	o.dir = fuzz_path(name);
	o.nonce = nonce;
	if (ls_train(plan, platform, &o, &result, &err) != LS_OK)
		fprintf(stderr, "%s\n", err.text);
	FUZZ_CHECK(err.status == LS_OK);
	ls_platform_free(platform);
}
