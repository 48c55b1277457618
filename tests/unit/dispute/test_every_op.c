// ctest: timeout=300
/* An op whose output a trainer lies about is found, whatever its kind: what its definition reads can be opened, and the judge accepts
 * it. A new op has to be in some model here, or to say below why it is in none. */
#include "dispute/support.h"

/* Kinds about which nothing is decided here. */
static const struct {
	const char *kind, *why;
} exceptions[] = {
	{"commit", "has no elements: turns 'state' and 'loss', in test_dispute.c"},
	{"import", "undecided: the file is compared with the job's import root"},
};

static const char image_yaml[] = "lockstep: 1\n"
                                 "name: tiny\n"
                                 "model: {arch: lenet5, classes: 4}\n"
                                 "data: {format: idx, path: data, std: 64}\n"
                                 "train: {steps: 2, batch: 6, seed: 3, commit_every: 1}\n"
                                 "optimizer: {name: sgd, lr: 0.05, momentum: 0.9}\n";
static const char text_yaml[] = "lockstep: 1\n"
                                "name: text\n"
                                "model: {arch: gpt2, layers: 1, heads: 2, embedding: 12, context: 16, vocab: 256, dropout: 0.1}\n"
                                "data: {format: text, path: \"builtin:verses\", length: 16}\n"
                                "train: {steps: 2, batch: 4, seed: 3, commit_every: 1, accumulate: 2}\n"
                                "optimizer: {name: adamw, lr: 0.01, clip: 0.5}\n";

enum { KINDS_MAX = 256, TRIES = 4 };

typedef struct covered {
	const ls_op_def *const *table;
	size_t count;
	bool done[KINDS_MAX];
} covered;

static size_t number_of(const covered *c, const char *kind)
{
	size_t i = 0;
	while (i < c->count && strcmp(c->table[i]->kind, kind))
		i++;
	assert_true(i < c->count);
	return i;
}

/* Elements that lies are tried about, until one changes what the step leaves: behind a ReLU or a maximum many do not, and a zero has to
 * become a large number where it is added to others. */
static int64_t element_of(int attempt, int64_t count)
{
	const int64_t elements[TRIES] = {count / 2, 0, count - 1, count / 3};
	return elements[attempt];
}

static void forget(const tiny *t, const char *name)
{
	char dir[TEST_PATH];
	path_in(dir, t->dir, name);
	scratch_remove(dir);
}

static bool is_settled(tiny *t, flip lie, const char *kind)
{
	settled s = dispute(t, &lie, true, NULL, NULL);
	bool found = s.found;
	if (found) {
		ls_decision d = judged(s.evidence.data, s.evidence.len);
		if (d.ruling != LS_RULING_TRAINER_WRONG || strcmp(d.kind, kind))
			print_message("%s, op of kind %s: %s, %s: %s\n", lie.value, kind, ls_ruling_text(d.ruling), d.kind, d.reason);
		assert_int_equal(d.ruling, LS_RULING_TRAINER_WRONG);
		assert_string_equal(d.kind, kind);
		assert_int_equal(d.element, lie.element);
	}
	ls_buf_free(&s.evidence);
	forget(t, "run");
	forget(t, "kept");
	return found;
}

static void lie_about(tiny *t, covered *c, const ls_program *program, uint64_t step)
{
	for (int i = 0; i + 1 < ls_program_ops(program); i++) {
		const ls_op *op = ls_program_op(program, i);
		const ls_value *value = ls_program_value(program, op->outputs[0]);
		size_t kind = number_of(c, op->kind);
		for (int attempt = 0; !c->done[kind] && attempt < TRIES; attempt++) {
			flip lie = {value->name, step, element_of(attempt, ls_shape_count(&value->shape)), value->dtype != LS_F32 ? 0 : attempt < 2 ? 29 : 30};
			c->done[kind] = is_settled(t, lie, op->kind);
		}
	}
}

/* Every kind that this job has and that no job before it had. */
static void cover(covered *c, const char *yaml, const char *const *sets)
{
	ls_error err = LS_ERROR_INIT;
	ls_plan_options o = LS_PLAN_OPTIONS_INIT;
	size_t count = 0;
	tiny t = {0};
	while (sets[count])
		count++;
	tiny_data(&t);
	if (yaml == image_yaml)
		o.data_dir = t.data;
	assert_ok(ls_job_parse(&t.job, "tiny", yaml, strlen(yaml), sets, count, &err));
	assert_ok(ls_plan_open(&t.plan, t.job, &o, &err));
	lie_about(&t, c, ls_model_init(ls_plan_model(t.plan)), 0);
	lie_about(&t, c, ls_model_step(ls_plan_model(t.plan)), 2);
	tiny_close(&t);
}

static bool is_excepted(const char *kind)
{
	for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
		if (!strcmp(exceptions[i].kind, kind))
			return true;
	return false;
}

static void test_a_lie_about_any_kind_of_op_is_found(void **state)
{
	covered c = {0};
	c.table = ls_op_table(&c.count);
	assert_in_range(c.count, 1, KINDS_MAX);
	cover(&c, image_yaml, SETS("arithmetic.mode=exact"));
	cover(&c, image_yaml, SETS("arithmetic.mode=exact", "model.pool=avg", "model.activation=sigmoid"));
	cover(&c, image_yaml, SETS("arithmetic.mode=exact", "model.arch=mlp", "model.hidden=[5]", "model.activation=tanh"));
	cover(&c, image_yaml, SETS("arithmetic.mode=exact", "model.arch=resnet18", "model.width=0.05"));
	cover(&c, text_yaml, SETS("arithmetic.mode=exact"));
	for (size_t i = 0; i < c.count; i++)
		if (!c.done[i])
			print_message("%s: in no dispute\n", c.table[i]->kind);
	for (size_t i = 0; i < c.count; i++)
		assert_int_equal(c.done[i], !is_excepted(c.table[i]->kind));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_lie_about_any_kind_of_op_is_found)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
