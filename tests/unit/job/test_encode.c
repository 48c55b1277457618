// The signed bytes: pinned, strict, and different whenever the job is.
#include "job/job_cases.h"

#include <stdlib.h>

static ls_job_binding some_binding(uint64_t samples, uint64_t steps)
{
	ls_job_binding b = {.shape = {1, 28, 28}, .samples = samples, .steps = steps};
	memset(b.program, 0x11, 32);
	memset(b.init, 0x22, 32);
	memset(b.data, 0x33, 32);
	memset(b.import, 0x55, 32);
	memset(b.trainer, 0x44, 32);
	return b;
}

static ls_buf encoded(const ls_job *job, const ls_job_binding *binding)
{
	ls_buf out;
	ls_error err = LS_ERROR_INIT;
	ls_buf_init(&out, LS_JOB_BYTES_MAX);
	ls_job_encode(job, binding, &out, &err);
	assert_string_equal(err.text, "");
	return out;
}

static ls_buf encoded_with(const char *set)
{
	ls_job *job = NULL;
	ls_job_binding b = some_binding(1000, 100);
	assert_int_equal(ls_job_parse(&job, "j", good_job, strlen(good_job), &set, 1, NULL), LS_OK);
	ls_buf out = encoded(job, &b);
	ls_job_free(job);
	return out;
}

/* The head and a few fields at their places, written out by hand from the header's description. */
static void the_bytes_are_as_described(void **state)
{
	static const char head[] = "ls1/job\x01\0\0\0"
	                           "s\x04\0\0\0good"
	                           "s\x03\0\0\0mlp"
	                           "u\x0a\0\0\0\0\0\0\0"
	                           "l\x02\0\0\0\x20\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0"
	                           "s\x03\0\0\0max"
	                           "s\x04\0\0\0relu"
	                           "r\0\0\0\0\0\0\xf0\x3f"
	                           "s\x05\0\0\0cifar"
	                           "s\x03\0\0\0idx"
	                           "u\0\0\0\0\0\0\0\0"
	                           "l\0\0\0\0"
	                           "v\x01\0\0\0\0\0\0\0\0\0\0\0"
	                           "v\x01\0\0\0\0\0\0\0\0\xe0\x6f\x40"
	                           "w\0\0\0\0"
	                           "u\x64\0\0\0\0\0\0\0";
	ls_job *job = parsed(good_job);
	ls_job_binding b = some_binding(1000, 100);
	ls_buf out = encoded(job, &b);
	assert_memory_equal(out.data, head, sizeof head - 1);
	assert_memory_equal(out.data + out.len - 64, b.trainer, 32);
	assert_memory_equal(out.data + out.len - 32, b.referee, 32);
	assert_memory_not_equal(out.data + out.len - 32, b.trainer, 32);
	assert_int_equal(ls_get_le64(out.data + out.len - 72), 100);
	assert_int_equal(ls_get_le64(out.data + out.len - 80), 1000);
	ls_buf_free(&out);
	ls_job_free(job);
}

static void decoding_gives_the_same_job(void **state)
{
	ls_job *job = parsed(good_job), *again = NULL;
	ls_job_binding b = some_binding(1000, 100), c;
	ls_error err = LS_ERROR_INIT;
	ls_buf out = encoded(job, &b);
	ls_job_decode(&again, &c, out.data, out.len, &err);
	assert_string_equal(err.text, "");
	ls_job_spec want = *ls_job_spec_of(job);
	assert_memory_not_equal(&want, ls_job_spec_of(again), sizeof want); // the path is not signed
	memset(want.data.path, 0, sizeof want.data.path);
	assert_memory_equal(&want, ls_job_spec_of(again), sizeof want);
	assert_memory_equal(&b, &c, sizeof b);
	char *yaml = emitted(again);
	assert_null(strstr(yaml, "path:"));
	free(yaml);
	ls_buf_free(&out);
	ls_job_free(job);
	ls_job_free(again);
}

static void each_field_that_is_read_changes_the_bytes(void **state)
{
	static const char *const sets[] = {
		"name=other", "model.arch=logreg", "model.classes=11", "model.hidden=[32]", "model.pool=avg", "model.activation=tanh",
		"model.activation=gelu", "model.width=0.5",
		"model.head=torchvision", "data.format=csv",
		"data.limit=5000", "data.shape=[3, 32, 32]", "data.mean=1", "data.mean=[0, 0, 0]", "data.std=90.02", "data.augment=[crop]",
		"data.augment=[flip]", "data.augment=[crop, flip]",
		"train.seed=8", "train.batch=32", "train.commit_every=2", "optimizer.name=adam",
		"optimizer.lr=0.05000000000000001", "optimizer.momentum=0.9", "optimizer.weight_decay=1e-4",
		"optimizer.nesterov=false", "schedule.name=cosine", "schedule.warmup=1", "schedule={name: step, every: 1}",
		"arithmetic.mode=plain", "arithmetic.mode=exact", "arithmetic.mode=pinned", "arithmetic.grid=16", "arithmetic.state_grid=19", "arithmetic.encoding=dense",
		"arithmetic.depth=600", "arithmetic={grid: 19, compute: fp32}", "arithmetic.threshold={fixed: 0.4}"};
	ls_buf base = encoded_with("name=good");
	for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
		ls_buf out = encoded_with(sets[i]);
		assert_false(out.len == base.len && memcmp(out.data, base.data, base.len) == 0);
		ls_buf_free(&out);
	}
	ls_buf_free(&base);
}

static void other_spellings_do_not(void **state)
{
	static const char *const sets[] = {"data.path=elsewhere", "model.init_from=w.safetensors", "data.mean=[0]",
	                                   "data.augment=[]", "optimizer.lr=5e-2", "name=\"good\"", "schedule.every=3",
	                                   "arithmetic={mode: logged, grid: 32}", "optimizer.weight_decay=-0.0"};
	ls_buf base = encoded_with("name=good");
	for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
		ls_buf out = encoded_with(sets[i]);
		assert_int_equal(out.len, base.len);
		assert_memory_equal(out.data, base.data, base.len);
		ls_buf_free(&out);
	}
	ls_buf_free(&base);
}

/* No byte string but the canonical one is accepted: each byte is changed, and each length cut. */
static void decoding_is_strict(void **state)
{
	ls_job *job = parsed(good_job), *again;
	ls_job_binding b = some_binding(1000, 100), c;
	ls_buf out = encoded(job, &b);
	size_t accepted = 0, refused = 0;
	ls_buf_u8(&out, 0);
	assert_int_equal(ls_job_decode(&again, &c, out.data, out.len, NULL), LS_ERR_INPUT);
	out.len--;
	for (size_t len = 0; len < out.len; len++)
		assert_int_equal(ls_job_decode(&again, &c, out.data, len, NULL), LS_ERR_INPUT);
	for (size_t i = 0; i < out.len; i++)
		for (int bit = 0; bit < 8; bit++) {
			out.data[i] ^= (uint8_t)(1 << bit);
			if (ls_job_decode(&again, &c, out.data, out.len, NULL) == LS_OK) {
				ls_buf once = encoded(again, &c);
				assert_int_equal(once.len, out.len);
				assert_memory_equal(once.data, out.data, out.len);
				ls_buf_free(&once);
				accepted++; // another job, in its one form
			} else {
				refused++;
			}
			ls_job_free(again);
			out.data[i] ^= (uint8_t)(1 << bit);
		}
	assert_true(accepted > 5 * 32 * 8); // digests and keys are free
	assert_true(refused > 500);
	ls_buf_free(&out);
	ls_job_free(job);
}

/* Overwrites the bytes after the first `marker` and expects these words. */
static void expect_refusal(const char *marker, size_t marker_len, const void *value, size_t value_len, const char *words)
{
	ls_buf out = encoded_with("name=good");
	ls_error err = LS_ERROR_INIT;
	ls_job *job;
	ls_job_binding b;
	uint8_t *at = memmem(out.data, out.len, marker, marker_len);
	assert_non_null(at);
	memcpy(at + marker_len, value, value_len);
	ls_status status = ls_job_decode(&job, &b, out.data, out.len, &err);
	assert_non_null(strstr(err.text, words));
	assert_int_not_equal(status, LS_OK);
	ls_buf_free(&out);
}

static void refusals_name_the_field(void **state)
{
	uint8_t two[8], nan[8], minus_zero[8];
	ls_put_le64(two, 2);
	ls_put_le64(nan, UINT64_C(0x7ff8000000000000));
	ls_put_le64(minus_zero, UINT64_C(1) << 63);
	expect_refusal("ls1/", 4, "jab", 3, "signed job: found other bytes, expected the tag ls1/job");
	expect_refusal("ls1/job", 7, "\x02", 1, "signed job: version: found another version, expected 1");
	expect_refusal("s\x03\0\0\0", 5, "MLP", 3, "signed job: model.arch: found bytes that are no value of it");
	expect_refusal("s\x03\0\0\0mlpu", 9, "\x01\0\0\0\0\0\0\0", 8, "signed job: model.classes: ");
	expect_refusal("s\x03\0\0\0sgdr", 9, nan, 8, "signed job: optimizer.lr: ");
	expect_refusal("s\x03\0\0\0sgdr\x9a\x99\x99\x99\x99\x99\xa9\x3fr", 18, minus_zero, 8, "signed job: optimizer.momentum: ");
	expect_refusal("u\x64\0\0\0\0\0\0\0u", 10, two, 8, "train.steps: found also its alternative, expected one of them");
	expect_refusal("s\x08\0\0\0", 5, "cosine\0\0", 8, "signed job: schedule.name: ");
	expect_refusal("s\x06\0\0\0", 5, "linked", 6, "signed job: arithmetic.mode: ");
	expect_refusal("\x1c\0\0\0\0\0\0\0\xe8\x03\0\0\0\0\0\0", 16, two, 8, "good: steps: found 2, expected exactly 100");
	// schedule.gamma is not read when the schedule is constant: its default is the only accepted value
	expect_refusal("constantu\0\0\0\0\0\0\0\0r", 18, two, 8, "found bytes in another form, expected the canonical form");
}

/* Words of a list have one order in the bytes, too. */
static void words_are_signed_in_order(void **state)
{
	static const char right[] = "w\x02\0\0\0\x04\0\0\0crop\x04\0\0\0flip", swapped[] = "flip\x04\0\0\0crop", twice[] = "flip\x04\0\0\0flip";
	ls_buf out = encoded_with("data.augment=[crop, flip]");
	uint8_t *at = memmem(out.data, out.len, right, sizeof right - 1);
	ls_error err = LS_ERROR_INIT;
	ls_job_binding b;
	ls_job *job;
	assert_non_null(at);
	assert_int_equal(ls_job_decode(&job, &b, out.data, out.len, NULL), LS_OK);
	assert_int_equal(ls_job_spec_of(job)->data.augment, LS_JOB_AUGMENT_CROP | LS_JOB_AUGMENT_FLIP);
	ls_job_free(job);
	memcpy(at + 9, swapped, sizeof swapped - 1);
	assert_int_equal(ls_job_decode(&job, &b, out.data, out.len, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "signed job: data.augment: "));
	memcpy(at + 9, twice, sizeof twice - 1);
	assert_int_equal(ls_job_decode(&job, &b, out.data, out.len, NULL), LS_ERR_INPUT);
	ls_buf_free(&out);
}

static void steps_follow_from_epochs(void **state)
{
	const char *const set[] = {"train.epochs=3"}, *const many[] = {"train.epochs=1048576", "train.batch=1"},
		   *const limit[] = {"data.limit=100"};
	ls_error err = LS_ERROR_INIT;
	ls_job *job = NULL;
	uint64_t steps;
	assert_int_equal(ls_job_parse(&job, "j", good_job, strlen(good_job), set, 1, NULL), LS_OK);
	assert_int_equal(ls_job_steps(job, 1000, &steps, NULL), LS_OK);
	assert_int_equal(steps, 3 * 15);
	assert_int_equal(ls_job_steps(job, 1024, &steps, NULL), LS_OK);
	assert_int_equal(steps, 3 * 16);
	assert_int_equal(ls_job_steps(job, 63, &steps, &err), LS_ERR_INPUT);
	assert_string_equal(err.text, "good: samples: found 63, expected at least one batch of 64\n  hint: lower train.batch");
	ls_job_free(job);
	assert_int_equal(ls_job_parse(&job, "j", good_job, strlen(good_job), many, 2, NULL), LS_OK);
	assert_int_equal(ls_job_steps(job, UINT64_C(1) << 40, &steps, &err), LS_ERR_INPUT);
	assert_int_equal(ls_job_steps(job, UINT64_MAX, &steps, &err), LS_ERR_INPUT);
	ls_job_free(job);
	assert_int_equal(ls_job_parse(&job, "j", good_job, strlen(good_job), limit, 1, NULL), LS_OK);
	assert_int_equal(ls_job_steps(job, 100, &steps, &err), LS_OK);
	assert_int_equal(steps, 100);
	assert_int_equal(ls_job_steps(job, 101, &steps, &err), LS_ERR_INPUT);
	ls_job_free(job);
}

static void encoding_checks_its_binding(void **state)
{
	ls_job *job = parsed(good_job);
	ls_job_binding wrong = some_binding(1000, 99), right = some_binding(1000, 100);
	ls_error err = LS_ERROR_INIT;
	ls_buf out;
	ls_buf_init(&out, LS_JOB_BYTES_MAX);
	assert_int_equal(ls_job_encode(job, &wrong, &out, &err), LS_ERR_INPUT);
	assert_string_equal(err.text, "good: steps: found 99, expected exactly 100\n  hint: see train.steps and train.epochs");
	assert_int_equal(ls_job_encode(job, &right, &out, &err), LS_OK);
	ls_buf_free(&out);
	ls_buf_init(&out, 50);
	assert_int_equal(ls_job_encode(job, &right, &out, &err), LS_ERR_LIMIT);
	ls_buf_free(&out);
	ls_job_free(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_are_as_described),
		cmocka_unit_test(decoding_gives_the_same_job),
		cmocka_unit_test(each_field_that_is_read_changes_the_bytes),
		cmocka_unit_test(other_spellings_do_not),
		cmocka_unit_test(decoding_is_strict),
		cmocka_unit_test(refusals_name_the_field),
		cmocka_unit_test(words_are_signed_in_order),
		cmocka_unit_test(steps_follow_from_epochs),
		cmocka_unit_test(encoding_checks_its_binding),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
