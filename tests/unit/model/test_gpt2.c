// GPT-2's programs: where labels and dropout enter, and where they do not.
#include "op/support.h"

#include <lockstep/model.h>

enum { LAYERS = 3, LENGTH = 6, BATCH = 4 };

static ls_model *opened(double dropout, int64_t parts)
{
	ls_model_options o = LS_MODEL_OPTIONS_INIT;
	ls_error err = LS_ERROR_INIT;
	ls_model *m;
	o.arch = "gpt2";
	o.layers = LAYERS;
	o.heads = 2;
	o.embedding = 8;
	o.context = o.width = LENGTH;
	o.vocab = 20;
	o.dropout = dropout;
	o.samples = 30;
	o.batch = BATCH;
	o.accumulate = parts;
	o.seed = 1;
	o.bits = o.state_bits = 32;
	o.optim.name = "sgd";
	o.optim.schedule = (ls_schedule){LS_SCHEDULE_CONSTANT, 0.1, 0, 1, 0, 100};
	o.eval_samples = 10;
	o.eval_batch = 5;
	assert_ok(ls_model_open(&m, &o, &err));
	return m;
}

static int count_of(const ls_program *p, const char *kind)
{
	int count = 0;
	for (int i = 0; i < ls_program_ops(p); i++)
		count += !strcmp(ls_program_op(p, i)->kind, kind);
	return count;
}

/* Labels go from load to the loss, tokens from load to the table: nothing between that could shift them again. */
static void check_labels(const ls_program *p, int parts)
{
	int losses = 0;
	for (int i = 0; i < ls_program_ops(p); i++) {
		const ls_op *op = ls_program_op(p, i);
		bool loss = !strcmp(op->kind, "cross_entropy"), embedding = !strcmp(op->kind, "embedding");
		if (!loss && !embedding)
			continue;
		const ls_value *read = ls_program_value(p, op->inputs[loss ? 4 : 1]);
		assert_string_equal(ls_program_op(p, read->op)->kind, "load_tokens");
		assert_int_equal(read->output, loss ? 1 : 0);
		losses += loss;
	}
	assert_int_equal(losses, parts);
}

static void test_labels_go_from_load_to_the_loss(void **state)
{
	for (int64_t parts = 1; parts <= 2; parts++) {
		ls_model *m = opened(0.1, parts);
		check_labels(ls_model_step(m), (int)parts);
		check_labels(ls_model_eval(m), 1);
		ls_model_free(m);
	}
}

/* One behind the embedding, three in each block, each with a mask of its own; the gradient of each has the same mask. */
static void test_dropout_is_where_it_belongs(void **state)
{
	for (int64_t parts = 1; parts <= 2; parts++) {
		ls_model *m = opened(0.1, parts), *without = opened(0, parts);
		const ls_program *p = ls_model_step(m);
		int uses[2 * (1 + 3 * LAYERS)] = {0};
		for (int i = 0; i < ls_program_ops(p); i++)
			if (!strcmp(ls_program_op(p, i)->kind, "dropout")) {
				assert_in_range(ls_program_op(p, i)->ints[1], 0, parts * (1 + 3 * LAYERS) - 1);
				assert_true(ls_program_op(p, i)->nums[0] == 0.1);
				uses[ls_program_op(p, i)->ints[1]]++;
			}
		for (int site = 0; site < parts * (1 + 3 * LAYERS); site++)
			assert_int_equal(uses[site], 2);
		assert_int_equal(count_of(ls_model_eval(m), "dropout"), 0);
		assert_int_equal(count_of(ls_model_step(without), "dropout"), 0);
		ls_model_free(m);
		ls_model_free(without);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels_go_from_load_to_the_loss), cmocka_unit_test(test_dropout_is_where_it_belongs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
