// The signed bytes of a job: one spelling for one job.
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_job_binding binding;
	ls_job *job = NULL;
	ls_buf again;
	ls_buf_init(&again, 2 * LS_JOB_BYTES_MAX);
	if (ls_job_decode(&job, &binding, data, size, NULL) == LS_OK) {
		FUZZ_CHECK(ls_job_encode(job, &binding, &again, NULL) == LS_OK);
		FUZZ_CHECK(again.len == size && !memcmp(again.data, data, size));
	}
	ls_job_free(job);
	ls_buf_free(&again);
	return 0;
}
