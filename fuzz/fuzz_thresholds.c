// A file of thresholds, for a job that asks for one.
#include "fuzz.h"

static const char yaml[] = "lockstep: 1\nname: t\nmodel: {arch: lenet5, classes: 10}\ndata: {format: idx, path: d}\n"
                           "train: {steps: 3, batch: 8}\noptimizer: {name: sgd, lr: 0.05}\n"
                           "arithmetic: {mode: logged, threshold: {adaptive: t.json}}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_error err = LS_ERROR_INIT;
	ls_job *job = NULL;
	FUZZ_CHECK(ls_job_parse(&job, "job", yaml, sizeof yaml - 1, NULL, 0, &err) == LS_OK);
	if (ls_job_set_thresholds(job, "t.json", data, size, &err) != LS_OK)
		FUZZ_CHECK(err.text[0]);
	ls_job_free(job);
	return 0;
}
