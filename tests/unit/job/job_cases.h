/* A good job and small helpers shared by the tests of the job module. */
#ifndef LS_TEST_JOB_CASES_H
#define LS_TEST_JOB_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <lockstep/job.h>

static const char good_job[] = "lockstep: 1\n"
                               "name: good\n"
                               "model: {arch: mlp, classes: 10, hidden: [32, 16]}\n"
                               "data:\n"
                               "  format: idx\n"
                               "  path: fashion\n"
                               "train:\n"
                               "  steps: 100\n"
                               "  batch: 64\n"
                               "  seed: 7\n"
                               "# a comment\n"
                               "optimizer: {name: sgd, lr: 0.05, nesterov: true}\n";

/* `text` with the first `from` in it replaced; the caller frees. */
static inline char *replaced(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	assert_non_null(at);
	size_t head = (size_t)(at - text), size = strlen(text) + strlen(to) + 1;
	char *out = malloc(size);
	memcpy(out, text, head);
	memcpy(out + head, to, strlen(to));
	memcpy(out + head + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
	return out;
}

/* A job that must parse. */
static inline ls_job *parsed(const char *text)
{
	ls_error err = LS_ERROR_INIT;
	ls_job *job = NULL;
	ls_job_parse(&job, "good", text, strlen(text), NULL, 0, &err);
	assert_string_equal(err.text, "");
	assert_non_null(job);
	return job;
}

/* The canonical YAML as a string; the caller frees. */
static inline char *emitted(const ls_job *job)
{
	ls_buf out;
	ls_buf_init(&out, LS_JOB_BYTES_MAX);
	assert_int_equal(ls_job_emit_yaml(job, &out), LS_OK);
	char *text = malloc(out.len + 1);
	memcpy(text, out.data, out.len);
	text[out.len] = 0;
	ls_buf_free(&out);
	return text;
}

#endif
