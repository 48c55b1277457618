// The models: names and shapes of their parameters, the plans of their memory, and digests that must never change.
#include "graph/plan_check.h"
#include "op/support.h"

#include <lockstep/model.h>

static ls_model_options options_of(const char *arch)
{
	ls_model_options o = LS_MODEL_OPTIONS_INIT;
	o.arch = arch;
	o.classes = 10;
	o.channels = 1;
	o.height = o.width = 28;
	o.std[0] = 255;
	o.samples = 60000;
	o.batch = 64;
	o.seed = 1;
	o.bits = o.state_bits = 32;
	o.optim.name = "sgd";
	o.optim.momentum = 0.9;
	o.optim.schedule = (ls_schedule){LS_SCHEDULE_CONSTANT, 0.1, 0, 1, 0, 100};
	o.eval_samples = 10000;
	o.eval_batch = 250;
	if (!strcmp(arch, "mlp")) {
		o.hidden[0] = 256;
		o.hidden[1] = 128;
		o.hidden_count = 2;
	}
	return o;
}

static ls_model *opened(const ls_model_options *o)
{
	ls_error err = LS_ERROR_INIT;
	ls_model *m;
	assert_ok(ls_model_open(&m, o, &err));
	return m;
}

// ---- parameters ----

typedef struct parameter {
	const char *name, *shape;
} parameter;

/* In ascending order of name, with momentum behind each. */
static void check_parameters(const char *arch, const parameter *expected, int count, int64_t elements)
{
	ls_model_options o = options_of(arch);
	for (int momentum = 0; momentum <= 1; momentum++) {
		ls_model *m;
		const ls_program *p, *eval, *init;
		int64_t found = 0;
		o.optim.momentum = momentum * 0.9;
		m = opened(&o);
		p = ls_model_step(m);
		eval = ls_model_eval(m);
		init = ls_model_init(m);
		assert_int_equal(ls_program_states(p), count * (1 + momentum));
		assert_int_equal(ls_program_states(eval), count);
		assert_int_equal(ls_program_ops(init), count * (1 + momentum) + 1);
		for (int i = 0; i < ls_program_states(p); i++) {
			const ls_value *v = ls_program_value(p, i), *start = ls_program_value(init, ls_program_op(init, i)->outputs[0]);
			char text[64];
			ls_shape_text(text, sizeof text, &v->shape);
			assert_string_equal(text, expected[i / (1 + momentum)].shape);
			assert_string_equal(start->name, v->name);
			assert_true(ls_shape_equal(&start->shape, &v->shape));
			if (i % (1 + momentum)) {
				assert_non_null(strstr(v->name, ".momentum"));
				assert_string_equal(ls_program_op(init, i)->kind, "init_const");
				continue;
			}
			assert_string_equal(v->name, expected[i / (1 + momentum)].name);
			assert_string_equal(ls_program_value(eval, i / (1 + momentum))->name, v->name);
			assert_string_equal(ls_program_op(init, i)->kind, "init_uniform");
			found += ls_shape_count(&v->shape);
		}
		assert_int_equal(found, elements);
		ls_model_free(m);
	}
}

static void test_parameters_are_torchvisions(void **state)
{
	static const parameter logreg[] = {{"fc.bias", "(10)"}, {"fc.weight", "(10, 784)"}};
	static const parameter mlp[] = {{"fc1.bias", "(256)"}, {"fc1.weight", "(256, 784)"}, {"fc2.bias", "(128)"},
	                                {"fc2.weight", "(128, 256)"}, {"fc3.bias", "(10)"}, {"fc3.weight", "(10, 128)"}};
	static const parameter lenet5[] = {
		{"conv1.bias", "(6)"}, {"conv1.weight", "(6, 1, 5, 5)"}, {"conv2.bias", "(16)"}, {"conv2.weight", "(16, 6, 5, 5)"},
		{"fc1.bias", "(120)"}, {"fc1.weight", "(120, 400)"}, {"fc2.bias", "(84)"}, {"fc2.weight", "(84, 120)"},
		{"fc3.bias", "(10)"}, {"fc3.weight", "(10, 84)"},
	};
	check_parameters("logreg", logreg, 2, 7850);
	check_parameters("mlp", mlp, 6, 784 * 256 + 256 + 256 * 128 + 128 + 1280 + 10);
	check_parameters("lenet5", lenet5, 10, 61706);
}

static void test_bounds_of_initial_values(void **state)
{
	ls_model_options o = options_of("lenet5");
	ls_model *m = opened(&o);
	const ls_program *init = ls_model_init(m);
	static const struct {
		const char *name;
		double fan_in;
	} expected[] = {{"conv1.weight", 25}, {"conv1.bias", 25}, {"conv2.weight", 150}, {"fc1.weight", 400}, {"fc1.bias", 400}};
	for (int i = 0; i < 5; i++) {
		const ls_op *op = ls_program_op(init, ls_program_value(init, ls_program_find(init, expected[i].name))->op);
		double bound = 1.0 / ls_sqrt(expected[i].fan_in);
		assert_int_equal(ls_bits_f64(op->nums[0]), ls_bits_f64(bound));
		for (int j = 0; j < ls_program_ops(init) - 1; j++) // a stream of its own; constants draw nothing
			if (ls_program_op(init, j) != op && strcmp(ls_program_op(init, j)->kind, "init_const"))
				assert_int_not_equal(ls_program_op(init, j)->ints[1], op->ints[1]);
	}
	ls_model_free(m);
}

// ---- programs ----

static void test_programs_are_whole(void **state)
{
	static const char *const archs[] = {"logreg", "mlp", "lenet5"};
	ls_error err = LS_ERROR_INIT;
	for (int i = 0; i < 3; i++) {
		ls_model_options o = options_of(archs[i]);
		ls_model *m = opened(&o);
		const ls_program *programs[] = {ls_model_init(m), ls_model_step(m), ls_model_eval(m)};
		const char *const values[] = {LS_MODEL_LOSS, LS_MODEL_LOGITS, LS_MODEL_LABELS};
		for (int p = 0; p < 3; p++) {
			ls_plan plan;
			assert_ok(ls_program_finish(programs[p], &err));
			assert_ok(ls_graph__plan(&plan, programs[p], NULL, 0, &err));
			assert_true(plan_is_sound(programs[p], &plan, NULL, 0));
			ls_graph__plan_free(&plan);
			for (int v = 0; v < 3 && p; v++)
				assert_true(ls_program_find(programs[p], values[v]) >= 0);
		}
		assert_string_equal(ls_program_op(programs[1], 0)->kind, "load");
		assert_int_equal(ls_program_op(programs[1], 0)->ints[3], 1); // shuffled
		assert_int_equal(ls_program_op(programs[2], 0)->ints[3], 0);
		ls_model_free(m);
	}
}

static int ops_of_kind(const ls_program *p, const char *kind)
{
	int count = 0;
	for (int i = 0; i < ls_program_ops(p); i++)
		count += !strcmp(ls_program_op(p, i)->kind, kind);
	return count;
}

static void test_activations(void **state)
{
	static const char *const kinds[] = {"relu", "tanh", "sigmoid", "gelu"};
	static const char *const archs[] = {"mlp", "lenet5"};
	char grad[32], first[32];
	for (int i = 0; i < 8; i++) {
		ls_model_options o = options_of(archs[i / 4]);
		ls_model *m;
		o.activation = (ls_model_activation)(i % 4);
		m = opened(&o);
		snprintf(grad, sizeof grad, "%s_grad", kinds[i % 4]);
		snprintf(first, sizeof first, "%s1", kinds[i % 4]);
		for (int k = 0; k < 4; k++)
			assert_int_equal(ops_of_kind(ls_model_step(m), kinds[k]), k == i % 4 ? (i < 4 ? o.hidden_count : 4) : 0);
		assert_int_equal(ops_of_kind(ls_model_step(m), grad), i < 4 ? o.hidden_count : 4);
		assert_true(ls_program_find(ls_model_eval(m), first) >= 0);
		ls_model_free(m);
	}
}

static void test_lenet_pools_as_asked(void **state)
{
	ls_model_options o = options_of("lenet5");
	for (int average = 0; average <= 1; average++) {
		ls_model *m;
		int pools = 0;
		o.average_pool = average;
		m = opened(&o);
		for (int i = 0; i < ls_program_ops(ls_model_step(m)); i++)
			pools += !strcmp(ls_program_op(ls_model_step(m), i)->kind, average ? "avgpool" : "maxpool");
		assert_int_equal(pools, 2);
		ls_model_free(m);
	}
}

// ---- digests ----

static void digests_of(const ls_model_options *o, char text[3 * LS_HASH_HEX_SIZE])
{
	ls_error err = LS_ERROR_INIT;
	ls_model *m = opened(o);
	const ls_program *programs[] = {ls_model_step(m), ls_model_init(m), ls_model_eval(m)};
	for (int i = 0; i < 3; i++) {
		ls_hash h;
		assert_ok(ls_program_digest(programs[i], &h, &err));
		ls_hash_hex(text + i * (LS_HASH_HEX_SIZE), &h);
		text[(i + 1) * LS_HASH_HEX_SIZE - 1] = i < 2 ? ' ' : 0;
	}
	ls_model_free(m);
}

/* vectors/programs.txt: per line a model and the digests of its programs step, init and eval. */
static void test_digests_are_pinned(void **state)
{
	size_t len;
	char *text = (char *)get_file(LS_TEST_VECTORS, "programs.txt", &len), *line;
	int checked = 0;
	assert_non_null(text);
	for (line = text; *line; line = strchr(line, '\n') + 1) {
		char arch[16], expected[3 * LS_HASH_HEX_SIZE], found[3 * LS_HASH_HEX_SIZE];
		ls_model_options o;
		if (*line == '#')
			continue;
		assert_int_equal(sscanf(line, "%15s %194[0-9a-f ]", arch, expected), 2);
		o = options_of(arch);
		digests_of(&o, found);
		if (strcmp(found, expected))
			print_message("%s %s\n", arch, found);
		assert_string_equal(found, expected);
		checked++;
	}
	assert_int_equal(checked, 3);
	free(text);
}

typedef void (*change_fn)(ls_model_options *o);
static void change_seed(ls_model_options *o) { o->seed++; }
static void change_batch(ls_model_options *o) { o->batch--; }
static void change_lr(ls_model_options *o) { o->optim.schedule.lr = 0.2; }
static void change_bits(ls_model_options *o) { o->bits = 24; }
static void change_samples(ls_model_options *o) { o->samples--; }
static void change_mean(ls_model_options *o) { o->mean[0] = 1; }
static void change_classes(ls_model_options *o) { o->classes++; }
static void change_momentum(ls_model_options *o) { o->optim.momentum = 0.8; }
static void change_decay(ls_model_options *o) { o->optim.weight_decay = 1e-4; }
static void change_nesterov(ls_model_options *o) { o->optim.nesterov = true; }
static void change_size(ls_model_options *o) { o->height = 30; }

static void test_every_option_changes_the_digest(void **state)
{
	static const change_fn changes[] = {change_seed, change_batch, change_lr, change_bits, change_samples, change_mean,
	                                    change_classes, change_momentum, change_decay, change_nesterov, change_size};
	ls_model_options o = options_of("lenet5");
	char original[3 * LS_HASH_HEX_SIZE], same[3 * LS_HASH_HEX_SIZE], changed[3 * LS_HASH_HEX_SIZE];
	digests_of(&o, original);
	digests_of(&o, same);
	assert_string_equal(original, same);
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		o = options_of("lenet5");
		changes[i](&o);
		digests_of(&o, changed);
		assert_memory_not_equal(original, changed, 64);
	}
}

// ---- refusals ----

static void refuse(const ls_model_options *o, ls_status expected, const char *text)
{
	ls_error err = LS_ERROR_INIT;
	ls_model *m;
	assert_int_equal(ls_model_open(&m, o, &err), expected);
	assert_null(m);
	if (!strstr(err.text, text))
		print_message("found \"%s\", expected \"%s\"\n", err.text, text);
	assert_non_null(strstr(err.text, text));
}

static void test_what_does_not_fit_is_refused(void **state)
{
	ls_model_options o = options_of("lenet6");
	refuse(&o, LS_ERR_NOT_FOUND, "expected logreg, mlp, lenet5, ");
	o = options_of("lenet5");
	o.height = 11; // the second pool would have less than one window
	refuse(&o, LS_ERR_INPUT, "no smaller than");
	o = options_of("mlp");
	o.hidden_count = 0;
	refuse(&o, LS_ERR_INPUT, "model.hidden");
	o = options_of("logreg");
	o.activation = LS_MODEL_TANH;
	refuse(&o, LS_ERR_INPUT, "model.activation");
	o = options_of("logreg");
	o.batch = 60001;
	refuse(&o, LS_ERR_INPUT, "batch no larger");
	o = options_of("logreg");
	o.channels = 4;
	refuse(&o, LS_ERR_INPUT, "channels");
	o = options_of("logreg");
	o.channels = 0;
	refuse(&o, LS_ERR_INPUT, "channels");
	o = options_of("logreg");
	o.std[0] = 0;
	refuse(&o, LS_ERR_INPUT, "positive std");
	o = options_of("logreg");
	o.height = o.width = INT64_C(1) << 40;
	refuse(&o, LS_ERR_INPUT, "too large");
	o = options_of("logreg");
	o.optim.name = "adam";
	refuse(&o, LS_ERR_NOT_FOUND, "optimizer.name");
	ls_model_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parameters_are_torchvisions), cmocka_unit_test(test_bounds_of_initial_values),
		cmocka_unit_test(test_programs_are_whole), cmocka_unit_test(test_activations), cmocka_unit_test(test_lenet_pools_as_asked),
		cmocka_unit_test(test_digests_are_pinned), cmocka_unit_test(test_every_option_changes_the_digest),
		cmocka_unit_test(test_what_does_not_fit_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
