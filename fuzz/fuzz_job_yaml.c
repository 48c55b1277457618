// job.yaml: whatever is accepted can be written again, and then means the same.
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_error err = LS_ERROR_INIT;
	ls_job *job = NULL, *again = NULL;
	ls_buf text, second;
	ls_buf_init(&text, 2 * LS_JOB_BYTES_MAX);
	ls_buf_init(&second, 2 * LS_JOB_BYTES_MAX);
	if (ls_job_parse(&job, "job.yaml", data, size, NULL, 0, &err) == LS_OK) {
		FUZZ_CHECK(ls_job_emit_yaml(job, &text) == LS_OK);
		FUZZ_CHECK(ls_job_parse(&again, "again", text.data, text.len, NULL, 0, &err) == LS_OK);
		FUZZ_CHECK(ls_job_emit_yaml(again, &second) == LS_OK);
		FUZZ_CHECK(text.len == second.len && !memcmp(text.data, second.data, text.len));
	} else {
		FUZZ_CHECK(err.text[0]);
	}
	ls_job_free(job);
	ls_job_free(again);
	ls_buf_free(&text);
	ls_buf_free(&second);
	return 0;
}
