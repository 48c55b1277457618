// VGG and ResNet: sizes, names, starts, widths, and what of them is state.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <lockstep/graph.h>
#include <lockstep/model.h>

static ls_model_options options_for(const char *arch)
{
	ls_model_options o = LS_MODEL_OPTIONS_INIT;
	o.arch = arch;
	o.classes = 10;
	o.channels = 3;
	o.height = o.width = 32;
	for (int c = 0; c < 3; c++)
		o.std[c] = 255;
	o.samples = 64;
	o.batch = 2;
	o.bits = o.state_bits = 32;
	o.optim.name = "sgd";
	o.optim.momentum = 0.9;
	o.optim.schedule = (ls_schedule){.lr = 0.1, .gamma = 1, .every = 1, .steps = 10};
	o.eval_samples = 8;
	o.eval_batch = 4;
	return o;
}

static ls_model *open_model(const ls_model_options *o)
{
	ls_error err = LS_ERROR_INIT;
	ls_model *m;
	ls_status status = ls_model_open(&m, o, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(status, LS_OK);
	return m;
}

// Parameters as torchvision's models have them, counted there; ResNets with a 3×3 stem for three channels.
static void test_parameters(void **state)
{
	static const struct {
		const char *arch;
		ls_model_head head;
		int64_t classes, parameters;
	} known[] = {
		{"resnet18", LS_MODEL_HEAD_CIFAR, 10, 11173962},       {"resnet50", LS_MODEL_HEAD_CIFAR, 10, 23520842},
		{"vgg11", LS_MODEL_HEAD_CIFAR, 10, 9225610},           {"vgg16", LS_MODEL_HEAD_CIFAR, 10, 14719818},
		{"vgg11", LS_MODEL_HEAD_TORCHVISION, 1000, 132863336}, {"vgg16", LS_MODEL_HEAD_TORCHVISION, 1000, 138357544},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		ls_model_options o = options_for(known[i].arch);
		ls_model *m;
		o.head = known[i].head;
		o.classes = known[i].classes;
		m = open_model(&o);
		assert_int_equal(ls_model_parameters(m), known[i].parameters);
		ls_model_free(m);
		o.channels = 1;
		m = open_model(&o);
		assert_int_equal(ls_model_parameters(m), known[i].parameters - 2 * 9 * 64);
		ls_model_free(m);
	}
}

static const ls_shape *shape_of(const ls_program *p, const char *name)
{
	int value = ls_program_find(p, name);
	if (value < 0)
		fail_msg("there is no '%s'", name);
	return &ls_program_value(p, value)->shape;
}

static void assert_shape(const ls_program *p, const char *name, ls_shape want)
{
	if (!ls_shape_equal(shape_of(p, name), &want))
		fail_msg("'%s' has another shape", name);
}

static void test_names(void **state)
{
	ls_model_options o = options_for("resnet50");
	ls_model *m = open_model(&o);
	const ls_program *step = ls_model_step(m);
	assert_shape(step, "conv1.weight", (ls_shape){4, {64, 3, 3, 3}});
	assert_shape(step, "layer1.0.downsample.0.weight", (ls_shape){4, {256, 64, 1, 1}});
	assert_shape(step, "layer2.0.conv2.weight", (ls_shape){4, {128, 128, 3, 3}});
	assert_shape(step, "layer4.2.bn3.running_var", (ls_shape){1, {2048}});
	assert_shape(step, "layer4.2.bn3.weight.momentum", (ls_shape){1, {2048}});
	assert_shape(step, "layer2.0.conv2", (ls_shape){4, {2, 128, 16, 16}}); // the stride is the 3×3 convolution's
	assert_shape(step, "layer2.0.conv1", (ls_shape){4, {2, 128, 32, 32}});
	assert_shape(step, "layer4.2.relu", (ls_shape){4, {2, 2048, 4, 4}});
	assert_shape(step, "fc.weight", (ls_shape){2, {10, 2048}});
	assert_int_equal(ls_program_find(step, "conv1.bias"), -1);
	assert_int_equal(ls_program_find(step, "layer1.1.downsample.0.weight"), -1);
	assert_int_equal(ls_program_find(step, "bn1.running_mean.momentum"), -1);
	ls_model_free(m);
	o = options_for("resnet18");
	m = open_model(&o);
	assert_int_equal(ls_program_find(ls_model_step(m), "layer1.0.downsample.0.weight"), -1);
	assert_shape(ls_model_step(m), "layer2.0.downsample.0.weight", (ls_shape){4, {128, 64, 1, 1}});
	ls_model_free(m);
	o = options_for("vgg11");
	m = open_model(&o);
	assert_shape(ls_model_step(m), "features.18.weight", (ls_shape){4, {512, 512, 3, 3}});
	assert_shape(ls_model_step(m), "features.0.bias", (ls_shape){1, {64}});
	assert_shape(ls_model_step(m), "classifier.0.weight", (ls_shape){2, {10, 512}});
	ls_model_free(m);
	o.head = LS_MODEL_HEAD_TORCHVISION;
	o.width_scale = 1.0 / 64;
	m = open_model(&o);
	assert_shape(ls_model_step(m), "avgpool", (ls_shape){4, {2, 8, 7, 7}});
	assert_shape(ls_model_step(m), "classifier.3.weight", (ls_shape){2, {64, 64}});
	assert_shape(ls_model_step(m), "classifier.6.bias", (ls_shape){1, {10}});
	ls_model_free(m);
}

static void test_width(void **state)
{
	static const struct {
		double scale;
		int64_t first; // of 64
	} widths[] = {{1, 64}, {0.25, 16}, {0.0234375, 2}, {0.0390625, 2}, {0.04, 3}, {0.001, 1}, {2, 128}}; // 1.5 and 2.5: to even
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		ls_model_options o = options_for("vgg11");
		ls_model *m;
		o.width_scale = widths[i].scale;
		m = open_model(&o);
		assert_int_equal(shape_of(ls_model_step(m), "features.0.weight")->dim[0], widths[i].first);
		ls_model_free(m);
	}
}

static const ls_op *op_of(const ls_program *p, const char *name)
{
	return ls_program_op(p, ls_program_value(p, ls_program_find(p, name))->op);
}

// A standard deviation is compared through its square: 2/(out·kernel²).
static void test_starts(void **state)
{
	ls_model_options o = options_for("resnet18");
	ls_model *m = open_model(&o);
	const ls_program *init = ls_model_init(m);
	double std = op_of(init, "layer1.0.conv1.weight")->nums[0], error = std * std * (64 * 9) / 2 - 1;
	assert_string_equal(op_of(init, "layer1.0.conv1.weight")->kind, "init_normal");
	assert_true(error < 1e-15 && error > -1e-15);
	std = op_of(init, "conv1.weight")->nums[0]; // by fan-out, not by its fan-in of 27
	error = std * std * (64 * 9) / 2 - 1;
	assert_true(error < 1e-15 && error > -1e-15);
	assert_string_equal(op_of(init, "fc.weight")->kind, "init_uniform");
	assert_int_equal(ls_bits_f64(op_of(init, "bn1.weight")->nums[0]), ls_bits_f64(1));
	assert_int_equal(ls_bits_f64(op_of(init, "bn1.bias")->nums[0]), 0);
	assert_int_equal(ls_bits_f64(op_of(init, "bn1.running_var")->nums[0]), ls_bits_f64(1));
	assert_int_equal(ls_bits_f64(op_of(init, "bn1.running_mean")->nums[0]), 0);
	ls_model_free(m);
	o = options_for("vgg16");
	m = open_model(&o);
	assert_int_equal(ls_bits_f64(op_of(ls_model_init(m), "classifier.0.weight")->nums[0]), ls_bits_f64(0.01));
	assert_string_equal(op_of(ls_model_init(m), "features.0.bias")->kind, "init_const");
	ls_model_free(m);
}

// Running statistics: averaged while training, read while evaluating.
static void test_buffers(void **state)
{
	ls_model_options o = options_for("resnet18");
	ls_model *m = open_model(&o);
	const ls_program *step = ls_model_step(m), *eval = ls_model_eval(m);
	const ls_op *average = op_of(step, "bn1.running_var.next"), *norm = op_of(step, "bn1"), *eval_norm = op_of(eval, "bn1");
	double n = 2 * 32 * 32;
	assert_string_equal(average->kind, "running_average");
	assert_int_equal(ls_bits_f64(average->nums[1]), ls_bits_f64(n / (n - 1)));
	assert_int_equal(ls_bits_f64(op_of(step, "bn1.running_mean.next")->nums[1]), ls_bits_f64(1));
	assert_string_equal(ls_program_op(step, ls_program_value(step, norm->inputs[1])->op)->kind, "channel_stats");
	assert_string_equal(ls_program_value(eval, eval_norm->inputs[1])->name, "bn1.running_mean");
	assert_int_equal(ls_program_find(eval, "bn1.running_mean.next"), -1);
	assert_int_equal(ls_program_find(eval, "bn1.weight.momentum"), -1);
	ls_model_free(m);
}

static void expect_refusal(const ls_model_options *o, const char *text)
{
	ls_error err = LS_ERROR_INIT;
	ls_model *m;
	assert_int_not_equal(ls_model_open(&m, o, &err), LS_OK);
	assert_null(m);
	if (!strstr(err.text, text))
		fail_msg("'%s' does not say '%s'", err.text, text);
}

static void test_refusals(void **state)
{
	ls_model_options o = options_for("vgg11");
	o.height = 28;
	expect_refusal(&o, "found images of 28 × 32, expected at least 32 × 32");
	o = options_for("resnet18");
	o.height = o.width = 8;
	o.batch = 1;
	expect_refusal(&o, "found one value per channel"); // the last stage is 1×1
	o.batch = 2;
	ls_model_free(open_model(&o));
	o.arch = "resnet19";
	expect_refusal(&o, "found 'resnet19'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parameters), cmocka_unit_test(test_names),   cmocka_unit_test(test_width),
		cmocka_unit_test(test_starts),     cmocka_unit_test(test_buffers), cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
