// Reading jobs: every complaint by its exact words, defaults, overrides, canonical YAML, the template.
#include "job/job_cases.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static void expect_error(const char *text, size_t len, const char *const *sets, size_t set_count, const char *message)
{
	ls_error err = LS_ERROR_INIT;
	ls_job *job = NULL;
	ls_status status = ls_job_parse(&job, "j.yaml", text, len, sets, set_count, &err);
	assert_string_equal(err.text, message);
	assert_int_not_equal(status, LS_OK);
	assert_int_equal(err.status, status);
	assert_null(job);
}

/* Each case is the good job with one passage replaced. */
struct bad {
	const char *from, *to, *message;
};

#define AUGMENT(found)                                                                                                 \
	"j.yaml:6:12: data.augment: found " found ", expected a list of crop, flip in this order, each at most once\n"       \
	"  hint: changes to training samples: moved by up to 4 pixels over zeros, mirrored"
#define STD(found)                                                                                                     \
	"j.yaml:6:8: data.std: found " found ", expected a decimal number from 1 to 1000, or a list of one per channel\n"    \
	"  hint: divides it after that; 255 with mean 0 gives 0 to 1"

static const struct bad bad_cases[] = {
	{"batch: 64", "bacth: 64",
	 "j.yaml:9:3: train.bacth: found an unknown key, expected a key of the job\n  hint: the nearest key is train.batch"},
	{"optimizer:", "optimiser:",
	 "j.yaml:12:1: optimiser: found an unknown key, expected a key of the job\n  hint: the nearest key is optimizer"},
	{"name: good", "name: good\nbatch: 3",
	 "j.yaml:3:1: batch: found an unknown key, expected a key of the job\n  hint: the nearest key is train.batch"},
	{"name: good", "name: good\n\"a\\e[31m\\0b\": 3",
	 "j.yaml:3:1: a\\x1b[31m\\x00b: found an unknown key, expected a key of the job\n  hint: the nearest key is arithmetic"},
	{"seed: 7", "seed: 7\n  batch: 64",
	 "j.yaml:11:3: found key \"batch\" again, expected each key once\n  hint: it was given on line 9; remove one of the two"},
	{"name: good", "name: &n good",
	 "j.yaml:2:7: found an anchor (&), expected a plain value\n  hint: write the value out where it is used"},
	{"name: good", "name: *n",
	 "j.yaml:2:7: found an alias (*), expected a plain value\n  hint: write the value out where it is used"},
	{"batch: 64", "batch: !!int 64",
	 "j.yaml:9:10: found a tag (!), expected a plain value\n  hint: remove the tag; each key has one type"},
	{"model: {", "model: !!map {",
	 "j.yaml:3:8: found a tag (!), expected a plain value\n  hint: remove the tag; each key has one type"},
	{"seed: 7", "seed: 7\n---\nlockstep: 1",
	 "j.yaml:11:1: found a second document, expected one\n  hint: remove everything from \"---\" on"},
	{"batch: 64", "batch: many",
	 "j.yaml:9:10: train.batch: found many, expected an integer from 1 to 1048576\n  hint: samples in one step"},
	{"batch: 64", "batch: \"64\"",
	 "j.yaml:9:10: train.batch: found the text \"64\", expected an integer from 1 to 1048576\n  hint: samples in one step"},
	{"batch: 64", "batch: [64]",
	 "j.yaml:9:10: train.batch: found a list, expected an integer from 1 to 1048576\n  hint: samples in one step"},
	{"batch: 64", "batch:",
	 "j.yaml:9:9: train.batch: found nothing, expected an integer from 1 to 1048576\n  hint: samples in one step"},
	{"batch: 64", "batch: 0",
	 "j.yaml:9:10: train.batch: found 0, expected an integer from 1 to 1048576\n  hint: samples in one step"},
	{"batch: 64", "batch: 1048577",
	 "j.yaml:9:10: train.batch: found 1048577, expected an integer from 1 to 1048576\n  hint: samples in one step"},
	{"batch: 64", "batch: 99999999999999999999999",
	 "j.yaml:9:10: train.batch: found 99999999999999999999999, expected an integer from 1 to 1048576\n"
	 "  hint: samples in one step"},
	{"batch: 64", "batch: 064",
	 "j.yaml:9:10: train.batch: found 064, expected an integer from 1 to 1048576\n  hint: samples in one step"},
	{"batch: 64", "batch: 0x40",
	 "j.yaml:9:10: train.batch: found 0x40, expected an integer from 1 to 1048576\n  hint: samples in one step"},
	{"batch: 64", "batch: 64.0",
	 "j.yaml:9:10: train.batch: found 64.0, expected an integer from 1 to 1048576\n  hint: samples in one step"},
	{"batch: 64", "batch: +64",
	 "j.yaml:9:10: train.batch: found +64, expected an integer from 1 to 1048576\n  hint: samples in one step"},
	{"lr: 0.05", "lr: nan",
	 "j.yaml:12:28: optimizer.lr: found nan, expected a decimal number from 0 to 1000\n  hint: learning rate"},
	{"lr: 0.05", "lr: .inf",
	 "j.yaml:12:28: optimizer.lr: found .inf, expected a decimal number from 0 to 1000\n  hint: learning rate"},
	{"lr: 0.05", "lr: 0x1p-3",
	 "j.yaml:12:28: optimizer.lr: found 0x1p-3, expected a decimal number from 0 to 1000\n  hint: learning rate"},
	{"lr: 0.05", "lr: 1e999",
	 "j.yaml:12:28: optimizer.lr: found 1e999, expected a decimal number from 0 to 1000\n  hint: learning rate"},
	{"lr: 0.05", "lr: -0.1",
	 "j.yaml:12:28: optimizer.lr: found -0.1, expected a decimal number from 0 to 1000\n  hint: learning rate"},
	{"lr: 0.05", "lr: 1.",
	 "j.yaml:12:28: optimizer.lr: found 1., expected a decimal number from 0 to 1000\n  hint: learning rate"},
	{"lr: 0.05", "lr: .5",
	 "j.yaml:12:28: optimizer.lr: found .5, expected a decimal number from 0 to 1000\n  hint: learning rate"},
	{"lr: 0.05", "lr: '0.5'",
	 "j.yaml:12:28: optimizer.lr: found the text \"0.5\", expected a decimal number from 0 to 1000\n"
	 "  hint: learning rate"},
	{"nesterov: true", "nesterov: yes",
	 "j.yaml:12:44: optimizer.nesterov: found yes, expected true or false\n  hint: Nesterov's form of momentum"},
	{"name: good", "name: \"a b\"",
	 "j.yaml:2:7: name: found the text \"a b\", expected a name of at most 64 of A-Z a-z 0-9 . _ -\n"
	 "  hint: what people call this job"},
	{"name: good", "name: -x",
	 "j.yaml:2:7: name: found -x, expected a name of at most 64 of A-Z a-z 0-9 . _ -\n  hint: what people call this job"},
	{"arch: mlp", "arch: MLP",
	 "j.yaml:3:15: model.arch: found MLP, expected a word of at most 32 of a-z 0-9 _ -\n"
	 "  hint: the model; lockstep init --list shows them"},
	{"[32, 16]", "[32, 0]",
	 "j.yaml:3:41: model.hidden: found a list, expected a list of at most 16 integers from 1 to 65536\n"
	 "  hint: widths of the hidden layers (mlp)"},
	{"[32, 16]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
	 "j.yaml:3:41: model.hidden: found a list, expected a list of at most 16 integers from 1 to 65536\n"
	 "  hint: widths of the hidden layers (mlp)"},
	{"format: idx", "format: idx\n  augment: [flip, crop]", AUGMENT("a list")},
	{"format: idx", "format: idx\n  augment: [crop, crop]", AUGMENT("a list")},
	{"format: idx", "format: idx\n  augment: [rotate]", AUGMENT("a list")},
	{"format: idx", "format: idx\n  augment: [[crop]]", AUGMENT("a list")},
	{"format: idx", "format: idx\n  augment: [\"crop\\0\"]", AUGMENT("a list")},
	{"format: idx", "format: idx\n  augment: crop", AUGMENT("crop")},
	{"format: idx", "format: idx\n  std: 0.5", STD("0.5")},
	{"format: idx", "format: idx\n  std: [60, 0.5, 60]", STD("a list")},
	{"format: idx", "format: idx\n  std: [60, 60, 60, 60]", STD("a list")},
	{"format: idx", "format: idx\n  std: []", STD("an empty list")},
	{"format: idx", "format: idx\n  std: [[60]]", STD("a list")},
	{"format: idx", "format: idx\n  shape: [28, 28]",
	 "j.yaml:6:10: data.shape: found a list, expected a list of 3 integers from 1 to 65536\n"
	 "  hint: channels, height, width of a sample; needed for csv"},
	{"format: idx", "format: idx\n  shape: []",
	 "j.yaml:6:10: data.shape: found an empty list, expected a list of 3 integers from 1 to 65536\n"
	 "  hint: channels, height, width of a sample; needed for csv"},
	{"format: idx", "format: idx\n  shape: [1, 28, 0]",
	 "j.yaml:6:10: data.shape: found a list, expected a list of 3 integers from 1 to 65536\n"
	 "  hint: channels, height, width of a sample; needed for csv"},
	{"path: fashion", "path: \"a\\nb\"",
	 "j.yaml:6:9: data.path: found the text \"a\\x0ab\", expected a path of at most 1023 bytes\n"
	 "  hint: where the data lies, below $LOCKSTEP_DATA where that is set; not part of the job id"},
	{"model: {arch: mlp, classes: 10, hidden: [32, 16]}", "model: mlp",
	 "j.yaml:3:8: model: found mlp, expected a mapping of keys to values"},
	{"lockstep: 1", "lockstep: 2", "j.yaml:1:11: lockstep: found 2, expected 1\n"
	 "  hint: version of this format and of the specification"},
	{"name: good", "[a, b]: good", "j.yaml:2:1: found a list or mapping as a key, expected a word"},
	{"name: good", "name: [good",
	 "j.yaml:3:6: found bad YAML (did not find expected ',' or ']'), expected a job"},
	{"name: good", "name: go\xffod",
	 "j.yaml:2:9: found byte 0xff, expected UTF-8 text\n  hint: save the file as UTF-8 text"},
	{"name: good", "name: g\xc3\xa9\xed\xa0\x80",
	 "j.yaml:2:9: found byte 0xed, expected UTF-8 text\n  hint: save the file as UTF-8 text"},
	{"name: good", "name: go\x01od",
	 "j.yaml:2:9: found byte 0x01, expected no control character\n  hint: save the file as UTF-8 text"},
	{"name: good", "name: [[[[[[[[x]]]]]]]]", "j.yaml:2:14: found nesting deeper than 8, expected at most 8"},
	{"steps: 100", "steps: 100\n  epochs: 2",
	 "j.yaml:9:11: train.epochs: found both train.steps and train.epochs, expected one of them\n"
	 "  hint: remove one of the two"},
	{"  steps: 100\n", "",
	 "j.yaml: train.steps or train.epochs: found nothing, expected an integer from 1 to 1099511627776\n"
	 "  hint: length of the run in optimizer steps (this or epochs)"},
	{"lockstep: 1\n", "", "j.yaml: lockstep: found nothing, expected 1\n"
	 "  hint: version of this format and of the specification"},
	{"  batch: 64\n", "",
	 "j.yaml: train.batch: found nothing, expected an integer from 1 to 1048576\n  hint: samples in one step"},
	{"name: good", "name: good\nschedule: {name: step}",
	 "j.yaml: schedule.every: found nothing, expected an integer from 1 to 1099511627776\n"
	 "  hint: steps between two drops (schedule step)"},
	{"name: good", "name: good\nschedule: {name: linear}",
	 "j.yaml:3:18: schedule.name: found linear, expected constant, step or cosine\n"
	 "  hint: how the learning rate changes"},
	{"name: good", "name: good\narithmetic: {mode: certain}",
	 "j.yaml:3:20: arithmetic.mode: found certain, expected logged, plain, exact or pinned\n"
	 "  hint: who decides how products round: logged, exact and pinned can be audited; plain cannot"},
	{"name: good", "name: good\narithmetic: {compute: fp32}",
	 "j.yaml:3:23: arithmetic.compute: found fp32 with grid 32, expected fp64, or a grid of at most 19\n"
	 "  hint: sums in FP32 leave most roundings to a finer grid open; 19 is TF32, 16 is bfloat16"},
	{"name: good", "name: good\narithmetic: {compute: fp32, mode: plain, grid: 20}",
	 "j.yaml:3:23: arithmetic.compute: found fp32 with grid 20, expected fp64, or a grid of at most 19\n"
	 "  hint: sums in FP32 leave most roundings to a finer grid open; 19 is TF32, 16 is bfloat16"},
	{"name: good", "name: good\narithmetic: {compute: fp32, grid: 19, depth: 600}",
	 "j.yaml:3:46: arithmetic.depth: found a depth with compute fp32, expected 0\n"
	 "  hint: the depth of FP32 sums is fixed: chunks of 32 terms"},
	{"name: good", "name: good\narithmetic: {threshold: {fixed: 0.5}}",
	 "j.yaml:3:25: arithmetic.threshold: found a mapping, expected certified, {fixed: 0 < T < 0.5} or {adaptive: FILE}\n"
	 "  hint: how close to a rounding boundary is logged"},
	{"name: good", "name: good\narithmetic: {threshold: {fixed: 0}}",
	 "j.yaml:3:25: arithmetic.threshold: found a mapping, expected certified, {fixed: 0 < T < 0.5} or {adaptive: FILE}\n"
	 "  hint: how close to a rounding boundary is logged"},
	{"name: good", "name: good\narithmetic: {threshold: {fixed: -0.4}}",
	 "j.yaml:3:25: arithmetic.threshold: found a mapping, expected certified, {fixed: 0 < T < 0.5} or {adaptive: FILE}\n"
	 "  hint: how close to a rounding boundary is logged"},
	{"name: good", "name: good\narithmetic: {threshold: {adaptive: [a]}}",
	 "j.yaml:3:25: arithmetic.threshold: found a mapping, expected certified, {fixed: 0 < T < 0.5} or {adaptive: FILE}\n"
	 "  hint: how close to a rounding boundary is logged"},
	{"name: good", "name: good\narithmetic: {threshold: fixed}",
	 "j.yaml:3:25: arithmetic.threshold: found fixed, expected certified, {fixed: 0 < T < 0.5} or {adaptive: FILE}\n"
	 "  hint: how close to a rounding boundary is logged"},
	{"name: good", "name: good\narithmetic: {threshold: {certified: 1}}",
	 "j.yaml:3:25: arithmetic.threshold: found a mapping, expected certified, {fixed: 0 < T < 0.5} or {adaptive: FILE}\n"
	 "  hint: how close to a rounding boundary is logged"},
	{"name: good", "name: good\narithmetic: {grid: 15}",
	 "j.yaml:3:20: arithmetic.grid: found 15, expected an integer from 16 to 32\n"
	 "  hint: bits of activations and gradients: 32 FP32, 19 TF32, 16 bfloat16"},
};

static void every_malformed_file_is_named(void **state)
{
	for (size_t i = 0; i < sizeof bad_cases / sizeof bad_cases[0]; i++) {
		char *text = replaced(good_job, bad_cases[i].from, bad_cases[i].to);
		expect_error(text, strlen(text), NULL, 0, bad_cases[i].message);
		free(text);
	}
}

static void whole_files_of_the_wrong_kind(void **state)
{
	static char big[LS_JOB_BYTES_MAX + 2];
	expect_error("", 0, NULL, 0, "j.yaml:1:1: found nothing, expected a value");
	expect_error("# only a comment\n", 17, NULL, 0, "j.yaml:1:1: found nothing, expected a value");
	expect_error("---\n", 4, NULL, 0, "j.yaml:2:1: the job: found nothing, expected a mapping of keys to values");
	expect_error("- a\n", 4, NULL, 0, "j.yaml:1:1: the job: found a list, expected a mapping of keys to values");
	expect_error("a\0b", 3, NULL, 0,
	             "j.yaml:1:2: found byte 0x00, expected no control character\n  hint: save the file as UTF-8 text");
	expect_error("\xff\xfe" "a\0", 4, NULL, 0,
	             "j.yaml:1:1: found byte 0xff, expected UTF-8 text\n  hint: save the file as UTF-8 text");
	memset(big, ' ', sizeof big);
	expect_error(big, LS_JOB_BYTES_MAX + 1, NULL, 0, "j.yaml: found 65537 bytes, expected at most 65536");
	memset(big, '[', sizeof big);
	expect_error(big, LS_JOB_BYTES_MAX, NULL, 0, "j.yaml:1:9: found nesting deeper than 8, expected at most 8");
	for (size_t i = 1; i < LS_JOB_BYTES_MAX; i += 2)
		memcpy(big + i, "a,", 2);
	expect_error(big, LS_JOB_BYTES_MAX, NULL, 0, "j.yaml:1:4096: found more than 2048 values, expected a job");
}

static void defaults_are_filled_in(void **state)
{
	ls_job *job = parsed(good_job);
	const ls_job_spec *s = ls_job_spec_of(job);
	assert_string_equal(s->name, "good");
	assert_string_equal(s->model.arch, "mlp");
	assert_int_equal(s->model.hidden.count, 2);
	assert_int_equal(s->model.hidden.item[1], 16);
	assert_string_equal(s->data.path, "fashion");
	assert_int_equal(s->train.steps, 100);
	assert_int_equal(s->train.epochs, 0);
	assert_int_equal(s->train.commit_every, 1);
	assert_int_equal(ls_bits_f64(s->optimizer.lr), ls_bits_f64(0.05));
	assert_int_not_equal(ls_bits_f64(s->optimizer.lr), ls_bits_f64(0.05f));
	assert_int_equal(ls_bits_f64(s->optimizer.momentum), 0);
	assert_true(s->optimizer.nesterov);
	assert_int_equal(s->arithmetic.mode, LS_JOB_LOGGED);
	assert_int_equal(s->arithmetic.grid, 32);
	assert_int_equal(s->arithmetic.state_grid, 32);
	ls_job_free(job);
}

static void lists_and_words_are_read(void **state)
{
	const char *const sets[] = {"data.mean=[125.3, 123.0, 113.9]", "data.std=63", "data.augment=[crop, flip]",
	                            "data.shape=[3, 32, 32]", "model.init_from=\"a b.safetensors\""};
	const char *const flip[] = {"data.augment=[flip]", "data.mean=[7, 8]"};
	ls_job *job = NULL, *other = NULL, *again;
	assert_int_equal(ls_job_parse(&job, "j", good_job, strlen(good_job), sets, 5, NULL), LS_OK);
	assert_int_equal(ls_job_parse(&other, "j", good_job, strlen(good_job), flip, 2, NULL), LS_OK);
	const ls_job_spec *s = ls_job_spec_of(job);
	assert_int_equal(s->data.mean.count, 3);
	assert_int_equal(ls_bits_f64(s->data.mean.item[2]), ls_bits_f64(113.9));
	assert_int_equal(s->data.std.count, 1);
	assert_int_equal(s->data.augment, LS_JOB_AUGMENT_CROP | LS_JOB_AUGMENT_FLIP);
	assert_int_equal(ls_job_spec_of(other)->data.augment, LS_JOB_AUGMENT_FLIP);
	assert_int_equal(ls_job_spec_of(other)->data.mean.count, 2);
	char *yaml = emitted(job);
	again = parsed(yaml);
	assert_memory_equal(s, ls_job_spec_of(again), sizeof *s);
	assert_memory_not_equal(s, ls_job_spec_of(other), sizeof *s);
	assert_non_null(strstr(yaml, "  init_from: \"a b.safetensors\"\n"));
	assert_non_null(strstr(yaml, "  shape: [3, 32, 32]\n  mean: [125.3, 123, 113.9]\n  std: 63\n  augment: [crop, flip]\n"));
	free(yaml);
	ls_job_free(job);
	ls_job_free(other);
	ls_job_free(again);
}

static double lr_of(const char *decimal)
{
	char to[96];
	snprintf(to, sizeof to, "lr: %s", decimal);
	char *text = replaced(good_job, "lr: 0.05", to);
	ls_job *job = parsed(text);
	double lr = ls_job_spec_of(job)->optimizer.lr;
	ls_job_free(job);
	free(text);
	return lr;
}

static void decimals_round_to_nearest_even(void **state)
{
	assert_int_equal(ls_bits_f64(lr_of("1e-1")), UINT64_C(0x3fb999999999999a));
	assert_int_equal(ls_bits_f64(lr_of("5.0E-4")), UINT64_C(0x3f40624dd2f1a9fc));
	assert_int_equal(ls_bits_f64(lr_of("1.00000000000000011102230246251565404236316680908203125")), UINT64_C(0x3ff0000000000000));
	assert_int_equal(ls_bits_f64(lr_of("1.00000000000000011102230246251565404236316680908203126")), UINT64_C(0x3ff0000000000001));
	assert_int_equal(ls_bits_f64(lr_of("4.9e-324")), 1);
	assert_int_equal(ls_bits_f64(lr_of("-0.0")), 0);
}

/* Any locale with a decimal comma would do; without one the test could not fail, so it says that it was skipped. */
static void the_locale_changes_nothing(void **state)
{
	static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8", "it_IT.UTF-8"};
	const char *got = NULL;
	for (size_t i = 0; !got && i < sizeof names / sizeof names[0]; i++)
		got = setlocale(LC_ALL, names[i]);
	if (!got)
		skip();
	ls_job *job = parsed(good_job), *again;
	char *yaml = emitted(job);
	setlocale(LC_ALL, "C");
	again = parsed(yaml);
	assert_non_null(strstr(yaml, "lr: 0.05"));
	assert_memory_equal(ls_job_spec_of(job), ls_job_spec_of(again), sizeof(ls_job_spec));
	ls_job_free(job);
	ls_job_free(again);
	free(yaml);
}

static void overrides_win_in_order(void **state)
{
	const char *const sets[] = {"train.batch=32", "train.batch=16", "model.hidden=[8]", "train.epochs=3",
	                            "schedule={name: step, every: 5}", "optimizer.lr=1e-3"};
	ls_job *job = NULL, *plain = parsed(good_job);
	ls_error err = LS_ERROR_INIT;
	assert_int_equal(ls_job_parse(&job, "j", good_job, strlen(good_job), sets, 6, &err), LS_OK);
	const ls_job_spec *s = ls_job_spec_of(job);
	assert_int_equal(s->train.batch, 16);
	assert_int_equal(ls_job_spec_of(plain)->train.batch, 64);
	assert_int_equal(s->model.hidden.count, 1);
	assert_int_equal(s->train.epochs, 3);
	assert_int_equal(s->train.steps, 0);
	assert_int_equal(s->schedule.every, 5);
	assert_int_equal(ls_bits_f64(s->optimizer.lr), ls_bits_f64(1e-3));
	ls_job_free(job);
	ls_job_free(plain);
}

static void bad_overrides_are_named(void **state)
{
	static const char *const cases[][2] = {
		{"train.bacth=3", "--set: train.bacth: found an unknown key, expected a key of the job\n"
		                  "  hint: the nearest key is train.batch"},
		{"train.batch", "--set: found train.batch, expected KEY=VALUE\n  hint: for example --set train.batch=64"},
		{"=3", "--set: found nothing, expected KEY=VALUE\n  hint: for example --set train.batch=64"},
		{"train.batch=0", "--set: train.batch: found 0, expected an integer from 1 to 1048576\n  hint: samples in one step"},
		{"train.batch=", "--set: train.batch: found nothing, expected a value"},
		{"train.batch=[", "--set: train.batch: found bad YAML (did not find expected node content), expected a job"},
		{"train=5", "--set: train: found 5, expected a mapping of keys to values"},
		{"train={a: 5}", "--set: train.a: found an unknown key, expected a key of the job\n"
		                 "  hint: the nearest key is train"},
		{"arithmetic.mode=Exact", "--set: arithmetic.mode: found Exact, expected logged, plain, exact or pinned\n"
		                          "  hint: who decides how products round: logged, exact and pinned can be audited; plain cannot"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		expect_error(good_job, strlen(good_job), &cases[i][0], 1, cases[i][1]);
}

static void unread_fields_are_dropped(void **state)
{
	const char *const sets[] = {"arithmetic={mode: plain, threshold: {fixed: 0.4}, encoding: dense, depth: 9}",
	                            "schedule={gamma: 0.5, every: 10}"};
	const char *const logged[] = {"arithmetic={encoding: dense, depth: 9}"};
	ls_job *job = NULL, *other = NULL;
	assert_int_equal(ls_job_parse(&job, "j", good_job, strlen(good_job), sets, 2, NULL), LS_OK);
	const ls_job_spec *s = ls_job_spec_of(job);
	assert_int_equal(s->arithmetic.threshold, LS_JOB_CERTIFIED);
	assert_int_equal(s->arithmetic.encoding, 0);
	assert_int_equal(s->arithmetic.depth, 0);
	assert_int_equal(s->schedule.every, 0);
	char *yaml = emitted(job);
	assert_null(strstr(yaml, "encoding"));
	assert_null(strstr(yaml, "gamma"));
	assert_non_null(strstr(yaml, "compute: fp64"));
	assert_int_equal(ls_job_parse(&other, "j", good_job, strlen(good_job), logged, 1, NULL), LS_OK);
	assert_int_equal(ls_job_spec_of(other)->arithmetic.encoding, 1);
	assert_int_equal(ls_job_spec_of(other)->arithmetic.depth, 9);
	ls_job_free(job);
	ls_job_free(other);
	free(yaml);
}

/* Exact and pinned read mode and grids only; a threshold file need not even be there. */
static void modes_without_a_log_drop_the_rest(void **state)
{
	static const char *const modes[] = {"exact", "pinned"};
	for (int i = 0; i < 2; i++) {
		char all[160], alone[64];
		const char *const sets[] = {all}, *const bare[] = {alone};
		ls_job *job = NULL, *other = NULL;
		snprintf(all, sizeof all, "arithmetic={mode: %s, compute: fp32, threshold: {adaptive: none.json}, encoding: dense, depth: 9}", modes[i]);
		snprintf(alone, sizeof alone, "arithmetic.mode=%s", modes[i]);
		assert_int_equal(ls_job_parse(&job, "j", good_job, strlen(good_job), sets, 1, NULL), LS_OK);
		assert_int_equal(ls_job_parse(&other, "j", good_job, strlen(good_job), bare, 1, NULL), LS_OK);
		assert_int_equal(ls_job_spec_of(job)->arithmetic.mode, i ? LS_JOB_PINNED : LS_JOB_EXACT);
		assert_false(ls_job_keeps_log(ls_job_spec_of(job)));
		assert_memory_equal(ls_job_spec_of(job), ls_job_spec_of(other), sizeof(ls_job_spec));
		char *yaml = emitted(job);
		assert_non_null(strstr(yaml, "state_grid: 32\n"));
		assert_null(strstr(yaml, "compute"));
		assert_null(strstr(yaml, "encoding"));
		free(yaml);
		ls_job_free(job);
		ls_job_free(other);
	}
}

static void canonical_yaml_reads_back(void **state)
{
	const char *const sets[] = {"schedule={name: step, every: 7, gamma: 0.3333333333333333}",
	                            "data.path=\"a \\\"b\\\" \\\\ \\u00e9\\u2028\\U0001F600\"", "optimizer.weight_decay=5.0e-4"};
	ls_job *job = NULL, *again, *other = parsed(good_job);
	assert_int_equal(ls_job_parse(&job, "j", good_job, strlen(good_job), sets, 3, NULL), LS_OK);
	char *yaml = emitted(job);
	again = parsed(yaml);
	assert_memory_equal(ls_job_spec_of(job), ls_job_spec_of(again), sizeof(ls_job_spec));
	assert_memory_not_equal(ls_job_spec_of(job), ls_job_spec_of(other), sizeof(ls_job_spec));
	char *twice = emitted(again);
	assert_string_equal(yaml, twice);
	assert_non_null(strstr(yaml, "data:\n  format: idx\n  path: \"a \\\"b\\\" \\\\ \\U000000E9\\U00002028\\U0001F600\"\n"));
	ls_job_free(job);
	ls_job_free(again);
	ls_job_free(other);
	free(yaml);
	free(twice);
}

static void templates_parse_and_name_every_field(void **state)
{
	static const char *const archs[] = {"logreg", "mlp", "lenet5"};
	static const char *const keys[] = {"lockstep:", "hidden:", "augment:", "steps:", "epochs:", "gamma:", "every:", "depth:"};
	for (size_t i = 0; i < 3; i++) {
		ls_buf out;
		ls_error err = LS_ERROR_INIT;
		ls_buf_init(&out, LS_JOB_BYTES_MAX);
		assert_int_equal(ls_job_template(&out, "new-job", archs[i], &err), LS_OK);
		ls_buf_u8(&out, 0);
		for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
			assert_non_null(strstr((char *)out.data, keys[k]));
		ls_job *job = parsed((char *)out.data);
		assert_string_equal(ls_job_spec_of(job)->model.arch, archs[i]);
		assert_int_equal(ls_job_spec_of(job)->model.hidden.count, i == 1 ? 2 : 0);
		ls_job_free(job);
		ls_buf_free(&out);
	}
}

static void templates_refuse_bad_names(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_buf out;
	ls_buf_init(&out, LS_JOB_BYTES_MAX);
	assert_int_equal(ls_job_template(&out, "a\nb: c", "mlp", &err), LS_ERR_INPUT);
	assert_string_equal(err.text, "name: found a\\x0ab: c, expected a name of at most 64 of A-Z a-z 0-9 . _ -\n"
	                              "  hint: what people call this job");
	assert_int_equal(ls_job_template(&out, "a", "", &err), LS_ERR_INPUT);
	assert_int_equal(out.len, 0);
	ls_buf_free(&out);
}

static void examples_parse(void **state)
{
	static const char *const names[] = {"fashion-logreg", "fashion-mlp", "fashion-lenet", "fashion-resnet18", "digits-csv",
	                                    "cifar-vgg11", "cifar-resnet18", "cifar-resnet18-quarter", "cifar-resnet50"};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char path[LS_PATH_MAX];
		ls_error err = LS_ERROR_INIT;
		ls_job *job = NULL;
		snprintf(path, sizeof path, "%s/examples/jobs/%s.yaml", LS_SOURCE_DIR, names[i]);
		ls_job_read(&job, path, NULL, 0, &err);
		assert_string_equal(err.text, "");
		assert_string_equal(ls_job_spec_of(job)->name, names[i]);
		ls_job_free(job);
	}
}

static void a_missing_file_is_an_error(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_job *job;
	assert_int_equal(ls_job_read(&job, "/nonexistent/job.yaml", NULL, 0, &err), LS_ERR_NOT_FOUND);
	assert_null(job);
	ls_job_free(NULL);
}

/* Any single byte changed or removed must give an answer, and a job that is accepted must have a canonical form. */
static void damaged_text_never_crashes(void **state)
{
	static const char bytes[] = "\0{}[]:-#&*!|>'\"%@`\n\t \xff" "0x";
	size_t len = strlen(good_job), accepted = 0, refused = 0;
	char *text = malloc(len);
	for (size_t i = 0; i < len; i++)
		for (size_t k = 0; k < sizeof bytes - 1; k++) {
			ls_job *job = NULL;
			memcpy(text, good_job, len);
			text[i] = bytes[k];
			if (ls_job_parse(&job, "j", text, len, NULL, 0, NULL) == LS_OK) {
				char *yaml = emitted(job);
				ls_job_free(parsed(yaml));
				free(yaml);
				accepted++;
			} else {
				refused++;
			}
			ls_job_free(job);
		}
	assert_true(accepted > 0);
	assert_true(refused > accepted);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_malformed_file_is_named),
		cmocka_unit_test(whole_files_of_the_wrong_kind),
		cmocka_unit_test(defaults_are_filled_in),
		cmocka_unit_test(lists_and_words_are_read),
		cmocka_unit_test(decimals_round_to_nearest_even),
		cmocka_unit_test(the_locale_changes_nothing),
		cmocka_unit_test(overrides_win_in_order),
		cmocka_unit_test(bad_overrides_are_named),
		cmocka_unit_test(unread_fields_are_dropped), cmocka_unit_test(modes_without_a_log_drop_the_rest),
		cmocka_unit_test(canonical_yaml_reads_back),
		cmocka_unit_test(templates_parse_and_name_every_field),
		cmocka_unit_test(templates_refuse_bad_names),
		cmocka_unit_test(examples_parse),
		cmocka_unit_test(a_missing_file_is_an_error),
		cmocka_unit_test(damaged_text_never_crashes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
