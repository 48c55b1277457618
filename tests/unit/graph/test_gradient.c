// Gradients of every differentiable op against central differences of the loss, through the executor.
#include "graph/support.h"

enum { PARAMETERS_MAX = 4, H_INVERSE = 256 };

/* What a case makes of its parameters; the result has BATCH rows after a reshape. */
typedef struct gradient_case {
	const char *name;
	ls_shape shape[3];
	int (*build)(ls_program *p, const int *w);
} gradient_case;

enum { BATCH = 2, LOGITS = 3 };

static int build_add(ls_program *p, const int *w)
{
	return append(p, "add", "y", w, 2, NULL, 0);
}

static int build_add_to_itself(ls_program *p, const int *w)
{
	return append(p, "add", "y", (int[]){w[0], w[0]}, 2, NULL, 0);
}

static int build_three_uses(ls_program *p, const int *w)
{
	int a = append(p, "relu", "inner", w, 1, NULL, 0), b = append(p, "add", "sum", (int[]){a, w[0]}, 2, NULL, 0);
	return append(p, "add", "y", (int[]){b, a}, 2, NULL, 0);
}

static int build_relu(ls_program *p, const int *w)
{
	return append(p, "relu", "y", w, 1, NULL, 0);
}

static int build_tanh(ls_program *p, const int *w)
{
	return append(p, "tanh", "y", w, 1, NULL, 0);
}

static int build_sigmoid(ls_program *p, const int *w)
{
	return append(p, "sigmoid", "y", w, 1, NULL, 0);
}

static int build_gelu(ls_program *p, const int *w)
{
	return append(p, "gelu", "y", w, 1, NULL, 0);
}

static int build_reshape(ls_program *p, const int *w)
{
	return append(p, "reshape", "y", w, 1, INTS(3, 2, 4));
}

static int build_matmul(ls_program *p, const int *w)
{
	return append(p, "matmul", "y", w, 3, INTS(0, 0));
}

static int build_matmul_ta(ls_program *p, const int *w)
{
	return append(p, "matmul", "y", w, 2, INTS(1, 0));
}

static int build_matmul_tb(ls_program *p, const int *w)
{
	return append(p, "matmul", "y", w, 3, INTS(0, 1));
}

static int build_matmul_both(ls_program *p, const int *w)
{
	return append(p, "matmul", "y", w, 2, INTS(1, 1));
}

static int build_gram(ls_program *p, const int *w)
{
	return append(p, "matmul", "y", (int[]){w[0], w[0]}, 2, INTS(0, 1));
}

static int build_conv(ls_program *p, const int *w)
{
	return append(p, "conv2d", "y", w, 3, INTS(1, 1));
}

static int build_conv_stride(ls_program *p, const int *w)
{
	return append(p, "conv2d", "y", w, 3, INTS(2, 1));
}

static int build_conv_uneven(ls_program *p, const int *w)
{
	return append(p, "conv2d", "y", w, 2, INTS(3, 0)); // the last rows and columns meet no tap
}

static int build_avgpool(ls_program *p, const int *w)
{
	return append(p, "avgpool", "y", w, 1, INTS(3, 2, 1));
}

static int build_maxpool(ls_program *p, const int *w)
{
	return append(p, "maxpool", "y", w, 1, INTS(3, 1, 1));
}

static int build_maxpool_apart(ls_program *p, const int *w)
{
	return append(p, "maxpool", "y", w, 1, INTS(2, 3, 0)); // some elements are in no window
}

static int build_stack(ls_program *p, const int *w)
{
	int y = append(p, "conv2d", "inner", w, 3, INTS(1, 0));
	y = append(p, "avgpool", "pooled", &y, 1, INTS(2, 1, 0));
	return append(p, "add", "y", (int[]){y, y}, 2, NULL, 0);
}

static const gradient_case cases[] = {
	{"add", {{2, {2, 8}}, {2, {2, 8}}}, build_add},
	{"add to itself", {{2, {2, 8}}}, build_add_to_itself},
	{"three uses", {{2, {2, 8}}}, build_three_uses},
	{"relu", {{2, {2, 12}}}, build_relu},
	{"tanh", {{2, {2, 12}}}, build_tanh},
	{"sigmoid", {{2, {2, 12}}}, build_sigmoid},
	{"gelu", {{2, {2, 12}}}, build_gelu},
	{"reshape", {{2, {4, 6}}}, build_reshape},
	{"matmul", {{2, {2, 5}}, {2, {5, 4}}, {1, {4}}}, build_matmul},
	{"matmul, first transposed", {{2, {5, 2}}, {2, {5, 4}}}, build_matmul_ta},
	{"matmul, second transposed", {{2, {2, 5}}, {2, {4, 5}}, {1, {4}}}, build_matmul_tb},
	{"matmul, both transposed", {{2, {5, 2}}, {2, {4, 5}}}, build_matmul_both},
	{"matmul with itself", {{2, {4, 3}}}, build_gram},
	{"conv2d", {{4, {2, 2, 4, 5}}, {4, {3, 2, 3, 3}}, {1, {3}}}, build_conv},
	{"conv2d, stride 2 and padding", {{4, {2, 2, 5, 6}}, {4, {2, 2, 3, 3}}, {1, {2}}}, build_conv_stride},
	{"conv2d, stride 3", {{4, {2, 1, 7, 6}}, {4, {2, 1, 2, 3}}}, build_conv_uneven},
	{"avgpool, overlapping and padded", {{4, {2, 1, 7, 6}}}, build_avgpool},
	{"maxpool, overlapping and padded", {{4, {2, 1, 6, 5}}}, build_maxpool},
	{"maxpool, apart", {{4, {2, 1, 6, 7}}}, build_maxpool_apart},
	{"a stack", {{4, {2, 1, 5, 5}}, {4, {2, 1, 2, 2}}, {1, {2}}}, build_stack},
};

typedef struct probe {
	ls_program *program;
	bench b;
	int count, loss, grad[PARAMETERS_MAX];
	int64_t size[PARAMETERS_MAX];
	uint8_t bytes[NET_SAMPLES * NET_SIDE * NET_SIDE];
	ls_samples samples;
} probe;

/* Parameters "a", "b", … of the case and the readout's weights behind them. */
static void build(probe *p, const gradient_case *c)
{
	ls_error err = LS_ERROR_INIT;
	int w[PARAMETERS_MAX], y, x, flat;
	ls_shape readout = {2, {0, LOGITS}};
	ls_program *scratch;
	assert_ok(ls_program_open(&scratch, 32, 32, &err)); // first only to learn the shape of the case's result
	for (int pass = 0; pass < 2; pass++) {
		ls_program *to = pass ? p->program : scratch;
		for (p->count = 0; p->count < 3 && c->shape[p->count].rank; p->count++)
			w[p->count] = ls_program_add_state(to, (char[]){(char)('a' + p->count), 0}, &c->shape[p->count]);
		if (pass)
			w[p->count] = ls_program_add_state(to, "readout", &readout);
		y = c->build(to, w);
		if (ls_program_failed(to)) {
			ls_program_finish(to, &err);
			print_message("%s: %s\n", c->name, err.text);
		}
		assert_false(ls_program_failed(to));
		readout.dim[0] = ls_shape_count(&ls_program_value(to, y)->shape) / BATCH;
	}
	ls_program_free(scratch);
	p->count++;
	x = append_load(p->program, BATCH, NET_SIDE);
	flat = append(p->program, "reshape", "flat", &y, 1, INTS(BATCH, readout.dim[0]));
	y = append(p->program, "matmul", "logits", (int[]){flat, w[p->count - 1]}, 2, INTS(0, 0));
	p->loss = append_loss(p->program, y, x + 1);
	ls_autodiff(p->program, p->loss, w, p->count, p->grad);
	append_commit_of(p->program, w, p->count);
	assert_ok(ls_program_finish(p->program, &err));
}

/* Distinct values in random order, all further than 2h from each other and from 0: no step crosses a kink. */
static void spread(float *v, int64_t count, uint32_t seed)
{
	for (int64_t i = 0; i < count; i++) {
		int64_t place = (int64_t)ls_shuffle(seed, 0, (uint64_t)i, (uint64_t)count);
		v[i] = ls_f32(((double)place + 0.5) / (double)count * 2 - 1);
	}
}

static void probe_open(probe *p, const gradient_case *c, ls_platform *platform)
{
	ls_error err = LS_ERROR_INIT;
	int keep[PARAMETERS_MAX + 1];
	*p = (probe){0};
	p->samples = net_samples(p->bytes);
	assert_ok(ls_program_open(&p->program, 32, 32, &err));
	build(p, c);
	memcpy(keep, p->grad, sizeof p->grad);
	keep[p->count] = p->loss;
	bench_open(&p->b, platform, (ls_exec_options){.program = p->program, .samples = &p->samples, .rounding = LS_ROUNDING_EXACT,
	                                              .keep = keep, .keep_count = p->count + 1});
	for (int i = 0; i < p->count; i++) {
		p->size[i] = ls_shape_count(&ls_program_value(p->program, i)->shape);
		assert_in_range(p->size[i], 1, 200);
		spread(ls_exec_state(p->b.exec, i), p->size[i], (uint32_t)i + 1);
	}
}

static void probe_close(probe *p)
{
	bench_close(&p->b);
	ls_program_free(p->program);
}

static double loss_of(probe *p)
{
	bench_step(&p->b, 1);
	return (double)*(float *)ls_exec_value(p->b.exec, p->loss);
}

/* The numeric gradient of parameter i into `out`, and a bound of its error: the loss is rounded to FP32, and the third
 * derivative is taken as no larger than a few of the gradient's largest element. */
static double differences(probe *p, int i, double *out)
{
	const float h = 1.0f / H_INVERSE;
	float *w = ls_exec_state(p->b.exec, i);
	double most = 0, highest = 0;
	for (int64_t k = 0; k < p->size[i]; k++) {
		float old = w[k], up = old + h, down = old - h;
		double above, below;
		w[k] = up;
		above = loss_of(p);
		w[k] = down;
		below = loss_of(p);
		w[k] = old;
		out[k] = (above - below) / ((double)up - (double)down);
		most = __builtin_fabs(out[k]) > most ? __builtin_fabs(out[k]) : most;
		highest = above > highest ? above : highest;
	}
	return highest * 0x1p-23 * H_INVERSE / 2 + 2e-3 * most;
}

static int64_t wrong_elements(const float *gradient, const double *numeric, int64_t count, double tolerance)
{
	int64_t wrong = 0;
	for (int64_t k = 0; k < count; k++)
		wrong += !(__builtin_fabs((double)gradient[k] - numeric[k]) <= tolerance);
	return wrong;
}

static int64_t largest(const double *v, int64_t count)
{
	int64_t best = 0;
	for (int64_t k = 1; k < count; k++)
		if (__builtin_fabs(v[k]) > __builtin_fabs(v[best]))
			best = k;
	return best;
}

static void check_parameter(probe *p, const gradient_case *c, int i)
{
	double numeric[200], tolerance = differences(p, i, numeric);
	float gradient[200];
	int64_t top = largest(numeric, p->size[i]);
	loss_of(p);
	memcpy(gradient, ls_exec_value(p->b.exec, p->grad[i]), (size_t)p->size[i] * 4);
	for (int64_t k = 0; k < p->size[i]; k++)
		if (__builtin_fabs((double)gradient[k] - numeric[k]) > tolerance)
			print_message("%s: parameter %d, element %lld: found %g, expected %g within %g\n", c->name, i, (long long)k,
			              (double)gradient[k], numeric[k], tolerance);
	assert_int_equal(wrong_elements(gradient, numeric, p->size[i], tolerance), 0);
	// the same check must notice one element that is off by a twentieth, and a forgotten one
	gradient[top] *= 1.05f;
	assert_int_equal(wrong_elements(gradient, numeric, p->size[i], tolerance), 1);
	gradient[top] = 0;
	assert_int_equal(wrong_elements(gradient, numeric, p->size[i], tolerance), 1);
}

static void test_gradients(void **state)
{
	static const char *const names[] = {"native", "naive"};
	for (int n = 0; n < 2; n++) {
		ls_platform *platform = platform_named(names[n]);
		for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
			probe p;
			probe_open(&p, &cases[c], platform);
			for (int i = 0; i < p.count; i++)
				check_parameter(&p, &cases[c], i);
			probe_close(&p);
		}
		ls_platform_free(platform);
	}
}

/* ---- what autodiff refuses ---- */

static ls_status differentiate(int loss_input_is_softmax, int extra_use, char text[LS_ERROR_TEXT_MAX])
{
	ls_error err = LS_ERROR_INIT;
	ls_program *p;
	int w, x, y, loss, grad;
	ls_status status;
	assert_ok(ls_program_open(&p, 32, 32, &err));
	w = ls_program_add_state(p, "w", &(ls_shape){2, {BATCH, LOGITS}});
	x = append_load(p, BATCH, NET_SIDE);
	y = w;
	if (loss_input_is_softmax)
		y = append(p, "softmax", "inner", &w, 1, NULL, 0);
	loss = append_loss(p, y, x + 1);
	if (extra_use)
		loss = append(p, "add", "twice", (int[]){loss, loss}, 2, NULL, 0);
	ls_autodiff(p, loss, &w, 1, &grad);
	append_commit_of(p, &w, 1);
	status = ls_program_finish(p, &err);
	memcpy(text, err.text, LS_ERROR_TEXT_MAX);
	ls_program_free(p);
	return status;
}

static void test_what_has_no_gradient_is_refused(void **state)
{
	char text[LS_ERROR_TEXT_MAX];
	assert_int_equal(differentiate(0, 0, text), LS_OK);
	assert_int_equal(differentiate(1, 0, text), LS_ERR_UNSUPPORTED); // through softmax alone
	assert_non_null(strstr(text, "softmax"));
	assert_int_not_equal(differentiate(0, 1, text), LS_OK); // the loss is not the last word
}

static void test_unreached_parameters_are_named(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_program *p;
	int w[2], x, loss, grads[2];
	assert_ok(ls_program_open(&p, 32, 32, &err));
	w[0] = ls_program_add_state(p, "idle", &(ls_shape){1, {3}});
	w[1] = ls_program_add_state(p, "used", &(ls_shape){2, {BATCH, LOGITS}});
	x = append_load(p, BATCH, NET_SIDE);
	loss = append_loss(p, w[1], x + 1);
	ls_autodiff(p, loss, w, 2, grads);
	assert_int_equal(ls_program_finish(p, &err), LS_ERR_INTERNAL);
	assert_non_null(strstr(err.text, "'idle'"));
	ls_program_free(p);
}

static void test_only_what_is_wanted_is_emitted(void **state)
{
	ls_error err = LS_ERROR_INIT;
	for (int wanted = 1; wanted <= 2; wanted++) {
		ls_program *p;
		int w[2], x, y, loss, grads[2];
		assert_ok(ls_program_open(&p, 32, 32, &err));
		w[0] = ls_program_add_state(p, "a", &(ls_shape){2, {BATCH, LOGITS}});
		w[1] = ls_program_add_state(p, "b", &(ls_shape){2, {BATCH, LOGITS}});
		x = append_load(p, BATCH, NET_SIDE);
		y = append(p, "relu", "r", &w[1], 1, NULL, 0);
		y = append(p, "add", "y", (int[]){w[0], y}, 2, NULL, 0);
		loss = append_loss(p, y, x + 1);
		ls_autodiff(p, loss, w, wanted, grads);
		assert_false(ls_program_failed(p));
		assert_int_equal(ls_program_find(p, "d.b") >= 0, wanted == 2);
		ls_program_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gradients), cmocka_unit_test(test_what_has_no_gradient_is_refused),
		cmocka_unit_test(test_unreached_parameters_are_named), cmocka_unit_test(test_only_what_is_wanted_is_emitted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
