// One output element of each op that is no product, against a second way to compute it.
#include "op/support.h"

static const float inf = __builtin_inff();

/* Random multiples of `unit` below 4 in absolute value: sums of them are exact in whatever order. */
static void coarse(scene *s, int value, double unit)
{
	for (int64_t i = 0; i < scene_count(s, value); i++)
		scene_f32(s, value)[i] = (float)(int)(scene_random(s) * 4 / unit) * (float)unit + 0.0f;
}

static void expect(const scene *s, int value, const float *expected)
{
	assert_true(same_words(s->words[value], expected, scene_count(s, value)));
}

// ---- elementwise ----

static void test_add_relu_and_their_gradients(void **state)
{
	scene s;
	const float a[8] = {1, -1, -0.0f, 0x1p-149f, inf, inf, ls_f32_bits(0x7fc00001), 0x1.fffffep127f};
	const float b[8] = {0x1p-24f, 1, -0.0f, -0x1p-149f, 1, -inf, 1, 0x1.fffffep127f};
	const float nan = ls_f32_bits(LS_NAN_BITS);
	const float sum[8] = {1, 0, 0, 0, inf, nan, nan, inf}, relu[8] = {1, 0, 0, 0x1p-149f, inf, inf, nan, 0x1.fffffep127f};
	const float grad[8] = {0x1p-24f, 0, 0, -0x1p-149f, 1, -inf, 0, 0x1.fffffep127f};
	int x, y, z, r, d;
	scene_open(&s, 32, 32);
	x = scene_given(&s, "x", (ls_shape){1, {8}});
	y = scene_given(&s, "y", (ls_shape){1, {8}});
	memcpy(s.words[x], a, sizeof a);
	memcpy(s.words[y], b, sizeof b);
	z = scene_op(&s, "add", "z", INPUTS(x, y), NONE, NONE);
	r = scene_op(&s, "relu", "r", INPUTS(x), NONE, NONE);
	d = scene_op(&s, "relu_grad", "d", INPUTS(y, r), NONE, NONE); // a NaN in y is not above zero: no gradient
	scene_run(&s);
	expect(&s, z, sum);
	expect(&s, r, relu);
	expect(&s, d, grad);
	assert_memory_not_equal(s.words[z], relu, sizeof relu);
	scene_close(&s);
}

/* One op over eight numbers, with `second` its second input or NULL. */
static void expect_map(const char *kind, const float first[8], const float *second, const float expected[8])
{
	scene s;
	int x, y, z;
	scene_open(&s, 32, 32);
	x = scene_given(&s, "x", (ls_shape){1, {8}});
	y = scene_given(&s, "y", (ls_shape){1, {8}});
	memcpy(s.words[x], first, 8 * sizeof *first);
	if (second)
		memcpy(s.words[y], second, 8 * sizeof *second);
	z = scene_op(&s, kind, "z", (int[]){x, y}, second ? 2 : 1, NONE, NONE);
	scene_run(&s);
	expect(&s, z, expected);
	scene_close(&s);
}

// Expected numbers by hand or from tables of the functions to 20 digits.
static void test_tanh_sigmoid_gelu(void **state)
{
	const float nan = ls_f32_bits(LS_NAN_BITS), tiny = 0x1p-149f;
	const float x[8] = {0, -0.0f, 1, -1, inf, -inf, ls_f32_bits(0xffc00001), tiny};
	expect_map("tanh", x, NULL, (float[8]){0, 0, 0.76159415595576488812f, -0.76159415595576488812f, 1, -1, nan, tiny});
	expect_map("sigmoid", x, NULL, (float[8]){0.5f, 0.5f, 0.731058578630004879251f, 0.26894142136999512075f, 1, 0, nan, 0.5f});
	// gelu(tiny) is above tiny/2, a tie
	expect_map("gelu", x, NULL, (float[8]){0, 0, 0.841191990608276704782f, -0.158808009391723295218f, inf, 0, nan, tiny});
}

static void test_gradients_of_tanh_sigmoid_gelu(void **state)
{
	const float nan = ls_f32_bits(LS_NAN_BITS);
	const float dy[8] = {1, -2, 3, inf, inf, 0, nan, 0x1.fffffep127f};
	const float y[8] = {0.5f, 0.5f, 1, 0.25f, 1, 0.75f, 0, 0};
	// 0·inf at y = 1, as elsewhere; a gradient of 1 at y = 0 and, for sigmoid, of 1/4 at y = ½
	expect_map("tanh_grad", dy, y, (float[8]){0.75f, -1.5f, 0, inf, nan, 0, nan, 0x1.fffffep127f});
	expect_map("sigmoid_grad", dy, y, (float[8]){0.25f, -0.5f, 0, inf, nan, 0, nan, 0});
	const float x[8] = {0, inf, -inf, 1, -inf, 1, 0, 1};
	expect_map("gelu_grad", dy, x, (float[8]){0.5f, -2, 0, inf, nan, 0, nan, inf});
	const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, at[8] = {1, -1, 2, -2, 0.5f, -0.5f, 11, -11};
	expect_map("gelu_grad", ones, at, (float[8]){1.08296408384578255514f, -0.0829640838457825551396f, 1.08609925662361838156f,
	                                             -0.0860992566236183815645f, 0.86736990353464231156f, 0.13263009646535768844f, 1, 0});
}

/* The order of operations and the rounding of each: another order gives other bits, somewhere. */
static void test_order_in_tanh_and_sigmoid_grad(void **state)
{
	scene s;
	int dy, y, t, g, t_differs = 0, g_differs = 0;
	scene_open(&s, 32, 32);
	dy = scene_given(&s, "dy", (ls_shape){1, {60000}});
	y = scene_given(&s, "y", (ls_shape){1, {60000}});
	for (int i = 0; i < 60000; i++) // close to 1, where little is left of 1 − y; 1 + 2^-23·k times dy meets ties
		scene_f32(&s, y)[i] = 1 - (float)(i % 4096 + 1) * 0x1p-24f;
	t = scene_op(&s, "tanh_grad", "t", INPUTS(dy, y), NONE, NONE);
	g = scene_op(&s, "sigmoid_grad", "g", INPUTS(dy, y), NONE, NONE);
	scene_run(&s);
	for (int i = 0; i < 60000; i++) {
		double a = (double)scene_f32(&s, dy)[i], b = (double)scene_f32(&s, y)[i];
		float slope = ls_f32(1.0 - b * b), half = ls_f32(b * (1.0 - b));
		assert_int_equal(s.words[t][i], ls_bits_f32(ls_f32(a * (1.0 - b * b))));
		assert_int_equal(s.words[g][i], ls_bits_f32(ls_f32(a * (b * (1.0 - b)))));
		t_differs += s.words[t][i] != ls_bits_f32(ls_f32(a * (double)slope));
		g_differs += s.words[g][i] != ls_bits_f32(ls_f32(a * (double)half));
	}
	assert_true(t_differs > 1000 && g_differs > 1000);
	scene_close(&s);
}

static void test_values_are_rounded_to_the_grid(void **state)
{
	scene s;
	int x, y, z;
	scene_open(&s, 16, 32);
	x = scene_given(&s, "x", (ls_shape){1, {2}});
	y = scene_given(&s, "y", (ls_shape){1, {2}});
	memcpy(s.words[x], (float[]){1, 1}, 8);
	memcpy(s.words[y], (float[]){0x1p-8f, 0x1.8p-7f}, 8); // half a step: to even; one and a half: up
	z = scene_op(&s, "add", "z", INPUTS(x, y), NONE, NONE);
	scene_run(&s);
	expect(&s, z, (float[]){1, 1 + 0x1p-6f});
	scene_close(&s);
}

static void test_reshape_keeps_words(void **state)
{
	scene s;
	int x, y;
	scene_open(&s, 32, 32);
	x = scene_given(&s, "x", (ls_shape){2, {6, 4}});
	y = scene_op(&s, "reshape", "y", INPUTS(x), INTS(2, 3, 4), NONE);
	scene_run(&s);
	expect(&s, y, scene_f32(&s, x));
	scene_close(&s);
}

// ---- pooling ----

typedef struct pool_case {
	ls_shape x;
	int64_t kernel, stride, pad;
} pool_case;

static const pool_case pool_cases[] = {
	{{4, {2, 3, 8, 6}}, 2, 2, 0}, {{4, {1, 2, 7, 9}}, 3, 1, 1}, {{4, {2, 1, 7, 7}}, 3, 2, 1}, {{4, {1, 1, 5, 6}}, 4, 1, 2},
	{{4, {1, 2, 9, 9}}, 2, 3, 1}, {{4, {1, 1, 1, 1}}, 1, 1, 0}, {{4, {1, 1, 6, 6}}, 3, 3, 0},
};

/* Calls back for each tap of each window that lies in the image, windows and taps in row-major order. */
typedef void (*tap_fn)(void *context, int64_t out, int64_t in, int64_t place);

static void for_taps(const pool_case *c, int64_t oh, int64_t ow, tap_fn fn, void *context)
{
	const int64_t *d = c->x.dim;
	for (int64_t plane = 0; plane < d[0] * d[1]; plane++)
		for (int64_t oy = 0; oy < oh; oy++)
			for (int64_t ox = 0; ox < ow; ox++)
				for (int64_t place = 0; place < c->kernel * c->kernel; place++) {
					int64_t y = oy * c->stride - c->pad + place / c->kernel, x = ox * c->stride - c->pad + place % c->kernel;
					if (y >= 0 && y < d[2] && x >= 0 && x < d[3])
						fn(context, (plane * oh + oy) * ow + ox, (plane * d[2] + y) * d[3] + x, place);
				}
}

typedef struct pooled {
	const float *x;
	double sum[1024];
	int taps[1024];
	int64_t best[1024];
} pooled;

static void pool_tap(void *context, int64_t out, int64_t in, int64_t place)
{
	pooled *p = context;
	if (!p->taps[out]++ || p->x[in] > p->x[p->best[out]])
		p->best[out] = in;
	p->sum[out] += (double)p->x[in];
}

typedef struct spread {
	const float *dy;
	const pooled *forward;
	double average[1024], most[1024];
} spread;

static void spread_tap(void *context, int64_t out, int64_t in, int64_t place)
{
	spread *s = context;
	s->average[in] += (double)s->dy[out] / s->forward->taps[out];
	if (s->forward->best[out] == in)
		s->most[in] += (double)s->dy[out];
}

static void check_pool(const pool_case *c)
{
	scene s;
	pooled *p = calloc(1, sizeof *p);
	spread *g = calloc(1, sizeof *g);
	int x, avg, max, dy, davg, dmax;
	const ls_shape *y;
	float expected[1024];
	scene_open(&s, 32, 32);
	x = scene_given(&s, "x", c->x);
	coarse(&s, x, 0.25); // many ties
	avg = scene_op(&s, "avgpool", "avg", INPUTS(x), INTS(c->kernel, c->stride, c->pad), NONE);
	max = scene_op(&s, "maxpool", "max", INPUTS(x), INTS(c->kernel, c->stride, c->pad), NONE);
	y = &ls_program_value(s.program, avg)->shape;
	assert_int_equal(y->dim[2], (c->x.dim[2] + 2 * c->pad - c->kernel) / c->stride + 1);
	dy = scene_given(&s, "dy", *y);
	coarse(&s, dy, 1.0);
	for (int64_t i = 0; i < scene_count(&s, dy); i++)
		scene_f32(&s, dy)[i] *= 144; // so that quotients by 1, 2, 3, 4, 6, 8, 9, 12 and 16 are exact
	davg = scene_op(&s, "avgpool_grad", "davg", INPUTS(dy), INTS(c->kernel, c->stride, c->pad, c->x.dim[2], c->x.dim[3]), NONE);
	dmax = scene_op(&s, "maxpool_grad", "dmax", INPUTS(dy, x), INTS(c->kernel, c->stride, c->pad), NONE);
	assert_false(ls_program_failed(s.program));
	scene_run(&s);
	p->x = scene_f32(&s, x);
	y = &ls_program_value(s.program, avg)->shape;
	for_taps(c, y->dim[2], y->dim[3], pool_tap, p);
	*g = (spread){.dy = scene_f32(&s, dy), .forward = p};
	for_taps(c, y->dim[2], y->dim[3], spread_tap, g);
	for (int64_t i = 0; i < scene_count(&s, avg); i++)
		expected[i] = (float)(p->sum[i] / p->taps[i]) + 0.0f;
	expect(&s, avg, expected);
	for (int64_t i = 0; i < scene_count(&s, max); i++)
		expected[i] = p->x[p->best[i]];
	expect(&s, max, expected);
	for (int64_t i = 0; i < scene_count(&s, x); i++)
		expected[i] = (float)g->average[i] + 0.0f;
	expect(&s, davg, expected);
	for (int64_t i = 0; i < scene_count(&s, x); i++)
		expected[i] = (float)g->most[i] + 0.0f;
	expect(&s, dmax, expected);
	scene_close(&s);
	free(p);
	free(g);
}

static void test_pools_and_their_gradients(void **state)
{
	for (size_t i = 0; i < sizeof pool_cases / sizeof *pool_cases; i++)
		check_pool(&pool_cases[i]);
}

static void test_maxpool_of_special_values(void **state)
{
	scene s;
	const float nan = ls_f32_bits(LS_NAN_BITS);
	const float values[16] = {1, nan, -inf, -inf, nan, 9, -inf, -inf, 5, 5, inf, 2, 5, 5, 3, inf};
	int x, y, dy, dx;
	scene_open(&s, 32, 32);
	x = scene_given(&s, "x", (ls_shape){4, {1, 1, 4, 4}});
	memcpy(s.words[x], values, sizeof values);
	y = scene_op(&s, "maxpool", "y", INPUTS(x), INTS(2, 2, 0), NONE);
	dy = scene_given(&s, "dy", (ls_shape){4, {1, 1, 2, 2}});
	memcpy(s.words[dy], (float[]){1, 2, 3, 4}, 16);
	dx = scene_op(&s, "maxpool_grad", "dx", INPUTS(dy, x), INTS(2, 2, 0), NONE);
	scene_run(&s);
	expect(&s, y, (float[]){nan, -inf, 5, inf});
	// the first NaN, the first −inf, the first of four fives, the first inf
	expect(&s, dx, (float[]){0, 1, 2, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0});
	scene_close(&s);
}

// ---- sums ----

static void test_channel_sum(void **state)
{
	scene s;
	int x, y, sx, sy;
	float expected[5];
	double planes[3] = {0};
	scene_open(&s, 32, 32);
	x = scene_given(&s, "x", (ls_shape){2, {700, 5}}); // not exact: the order matters
	y = scene_given(&s, "y", (ls_shape){4, {3, 3, 5, 4}});
	coarse(&s, y, 0.125);
	sx = scene_op(&s, "channel_sum", "sx", INPUTS(x), NONE, NONE);
	sy = scene_op(&s, "channel_sum", "sy", INPUTS(y), NONE, NONE);
	scene_run(&s);
	for (int64_t c = 0; c < 5; c++)
		expected[c] = ls_f32(ls_rsum_strided_f32(scene_f32(&s, x) + c, 700, 5));
	expect(&s, sx, expected);
	for (int64_t i = 0; i < 180; i++)
		planes[i / 20 % 3] += (double)scene_f32(&s, y)[i];
	for (int64_t c = 0; c < 3; c++)
		expected[c] = ls_f32(planes[c]);
	expect(&s, sy, expected);
	scene_close(&s);
}

static void test_channel_sum_ends_a_run_at_each_plane(void **state)
{
	scene s;
	int y, sum;
	ls_rsum runs, one_run;
	float *v;
	int differ = 0;
	scene_open(&s, 32, 32);
	y = scene_given(&s, "y", (ls_shape){4, {4, 1, 10, 10}});
	sum = scene_op(&s, "channel_sum", "sum", INPUTS(y), NONE, NONE);
	v = scene_f32(&s, y);
	for (int round = 0; round < 200; round++) {
		ls_rsum_init(&runs);
		ls_rsum_init(&one_run);
		for (int64_t i = 0; i < 400; i++)
			v[i] = ls_f32(scene_random(&s) * (i % 2 ? 1 : 0x1p40));
		for (int64_t i = 0; i < 200; i += 2) // large numbers cancel, so that the order shows in what is left
			v[398 - i] = -v[i];
		for (int64_t i = 0; i < 400; i++) {
			ls_rsum_push(&runs, v[i]);
			ls_rsum_push(&one_run, v[i]);
			if (i % 100 == 99)
				ls_rsum_end_run(&runs);
		}
		scene_run(&s);
		expect(&s, sum, (float[]){ls_f32(ls_rsum_finish(&runs))});
		differ += ls_bits_f32(ls_f32(ls_rsum_finish(&runs))) != ls_bits_f32(ls_f32(ls_rsum_finish(&one_run)));
	}
	assert_int_not_equal(differ, 0); // another cut gives other bits, somewhere
	scene_close(&s);
}

typedef struct loss_scene {
	scene s;
	int x, labels, p, loss, grad;
	int64_t rows, width;
} loss_scene;

static void loss_open(loss_scene *l, int64_t rows, int64_t width)
{
	scene_open(&l->s, 32, 32);
	l->rows = rows;
	l->width = width;
	l->x = scene_given(&l->s, "x", (ls_shape){2, {rows, width}});
	l->labels = scene_given_as(&l->s, "labels", LS_I32, (ls_shape){1, {rows}});
	for (int64_t i = 0; i < rows; i++)
		l->s.words[l->labels][i] = (uint32_t)(i % width);
	l->p = scene_op(&l->s, "softmax", "p", INPUTS(l->x), NONE, NONE);
	l->loss = scene_op(&l->s, "cross_entropy", "loss", INPUTS(l->x, l->p, l->p + 1, l->p + 2, l->labels), NONE, NONE);
	l->grad = scene_op(&l->s, "cross_entropy_grad", "grad", INPUTS(l->p, l->labels), NONE, NONE);
	assert_int_not_equal(l->grad, -1);
}

static void test_softmax_and_cross_entropy(void **state)
{
	loss_scene l;
	float *x, loss = 0, terms[20];
	loss_open(&l, 20, 11);
	x = scene_f32(&l.s, l.x);
	for (int i = 0; i < 220; i++)
		x[i] *= 8;
	scene_run(&l.s);
	for (int64_t n = 0; n < 20; n++) {
		float e[11], m = -inf, s;
		for (int j = 0; j < 11; j++)
			m = x[n * 11 + j] > m ? x[n * 11 + j] : m;
		for (int j = 0; j < 11; j++)
			e[j] = ls_exp(x[n * 11 + j] - m);
		s = ls_f32(ls_rsum_f32(e, 11));
		terms[n] = ls_f32(((double)m - (double)x[n * 11 + n % 11]) + (double)ls_log(s));
		assert_true(same_words(l.s.words[l.p + 1] + n, &m, 1));
		assert_true(same_words(l.s.words[l.p + 2] + n, &s, 1));
		for (int j = 0; j < 11; j++) {
			float p = ls_f32((double)e[j] / (double)s), g = ls_f32(((double)p - (j == n % 11)) / 20);
			assert_true(same_words(l.s.words[l.p] + n * 11 + j, &p, 1));
			assert_true(same_words(l.s.words[l.grad] + n * 11 + j, &g, 1));
		}
	}
	loss = ls_f32(ls_rsum_f32(terms, 20) / 20);
	expect(&l.s, l.loss, &loss);
	expect(&l.s, l.loss + 1, terms);
	loss = ls_f32(ls_rsum_f32(terms, 19) / 20);
	assert_int_not_equal(l.s.words[l.loss][0], ls_bits_f32(loss));
	scene_close(&l.s);
}

static void test_softmax_of_special_values(void **state)
{
	loss_scene l;
	const float nan = ls_f32_bits(LS_NAN_BITS);
	const float x[15] = {1, nan, 2, inf, 0, 0, -inf, 0, 0, -inf, -inf, -inf, 200, -200, 0};
	const float m[5] = {nan, inf, 0, -inf, 200}, s[5] = {nan, nan, 2, nan, 1};
	const float p[15] = {nan, nan, nan, nan, nan, nan, 0, 0.5f, 0.5f, nan, nan, nan, 1, 0, 0};
	loss_open(&l, 5, 3);
	memcpy(l.s.words[l.x], x, sizeof x);
	scene_run(&l.s);
	expect(&l.s, l.p + 1, m);
	expect(&l.s, l.p + 2, s);
	// row 1: inf − inf is NaN and with it the sum; exp(−inf) = 0 over NaN is NaN
	expect(&l.s, l.p, p);
	scene_close(&l.s);
}

static void test_labels_out_of_range(void **state)
{
	static const int32_t bad[] = {-1, 3, INT32_MIN, INT32_MAX};
	for (int i = 0; i < 4; i++) {
		loss_scene l;
		uint32_t good;
		loss_open(&l, 4, 3);
		scene_run(&l.s);
		good = l.s.words[l.loss + 1][0];
		assert_int_not_equal(l.s.words[l.loss][0], LS_NAN_BITS);
		l.s.words[l.labels][2] = (uint32_t)bad[i];
		scene_run(&l.s);
		assert_int_equal(l.s.words[l.loss][0], LS_NAN_BITS);
		assert_int_equal(l.s.words[l.loss + 1][2], LS_NAN_BITS);
		assert_int_equal(l.s.words[l.loss + 1][0], good);
		scene_close(&l.s);
	}
}

// ---- the start of a run ----

static void test_initial_values(void **state)
{
	scene s;
	int a, b, c, again, half;
	scene_open(&s, 32, 32);
	a = scene_op(&s, "init_uniform", "a", NONE, INTS(7, 3, 30, 40), NUMS(0.125));
	b = scene_op(&s, "init_uniform", "b", NONE, INTS(7, 4, 30, 40), NUMS(0.125));
	c = scene_op(&s, "init_uniform", "c", NONE, INTS(8, 3, 30, 40), NUMS(0.125));
	again = scene_op(&s, "init_uniform", "again", NONE, INTS(7, 3, 1200), NUMS(0.125));
	half = scene_op(&s, "init_const", "half", NONE, INTS(0, 0, 5), NUMS(0.1));
	scene_run(&s);
	expect(&s, again, scene_f32(&s, a));
	assert_memory_not_equal(s.words[a], s.words[b], 4800); // another tensor
	assert_memory_not_equal(s.words[a], s.words[c], 4800); // another seed
	for (uint64_t i = 0; i < 1200; i++) {
		float expected = ls_f32((2 * ls_random_uniform(&(ls_stream){7, LS_PURPOSE_INIT, 3}, i) - 1) * 0.125);
		assert_true(same_words(s.words[a] + i, &expected, 1));
		assert_true(expected >= -0.125f && expected <= 0.125f);
	}
	for (int i = 0; i < 5; i++)
		assert_int_equal(s.words[half][i], ls_bits_f32(0.1f));
	scene_close(&s);
}

enum { SAMPLE_COUNT = 23, SAMPLE_BYTES = 2 * 3 * 4 };

static const uint8_t *sample(void *context, int64_t index)
{
	assert_in_range(index, 0, SAMPLE_COUNT - 1);
	return (const uint8_t *)context + index * SAMPLE_BYTES;
}

static int32_t label(void *context, int64_t index)
{
	assert_in_range(index, 0, SAMPLE_COUNT - 1);
	return (int32_t)index;
}

static void test_load(void **state)
{
	uint8_t bytes[SAMPLE_COUNT * SAMPLE_BYTES];
	ls_samples samples = {bytes, sample, label};
	scene s;
	int x, ordered, in_first[SAMPLE_COUNT] = {0}, in_second[SAMPLE_COUNT] = {0}, same_place = 0;
	int32_t first_epoch[20];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 37 + i / 24);
	scene_open(&s, 32, 32);
	s.samples = &samples;
	x = scene_op(&s, "load", "x", NONE, INTS(SAMPLE_COUNT, 5, 9, 1, 2, 3, 4), NUMS(10, 20, 64, 100));
	ordered = scene_op(&s, "load", "o", NONE, INTS(SAMPLE_COUNT, 5, 9, 0, 2, 3, 4), NUMS(10, 20, 64, 100));
	for (s.step = 1; s.step <= 8; s.step++) { // 4 steps an epoch; three samples are left over
		scene_run(&s);
		for (int n = 0; n < 5; n++) {
			int32_t found = (int32_t)s.words[x + 1][n];
			uint64_t position = (s.step - 1) % 4 * 5 + (uint64_t)n;
			assert_int_equal(found, ls_shuffle(9, (s.step - 1) / 4, position, SAMPLE_COUNT));
			assert_int_equal(s.words[ordered + 1][n], position);
			(s.step <= 4 ? in_first : in_second)[found]++;
			same_place += s.step > 4 && first_epoch[position] == found;
			if (s.step <= 4)
				first_epoch[position] = found;
			for (int i = 0; i < SAMPLE_BYTES; i++) {
				double byte = bytes[found * SAMPLE_BYTES + i];
				float expected = ls_f32((byte - (i < 12 ? 10 : 20)) / (i < 12 ? 64 : 100));
				assert_true(same_words(s.words[x] + n * SAMPLE_BYTES + i, &expected, 1));
			}
		}
	}
	for (int i = 0; i < SAMPLE_COUNT; i++)
		assert_true(in_first[i] <= 1 && in_second[i] <= 1);
	assert_in_range(same_place, 0, 10); // the second epoch has an order of its own
	scene_close(&s);
}

// ---- updates ----

static void check_sgd(double momentum, double decay, bool nesterov, int bits)
{
	scene s;
	int w, g, m, out, count = momentum > 0 ? 3 : 2;
	const double lr = 0.1;
	scene_open(&s, bits, 32);
	w = scene_given(&s, "w", (ls_shape){1, {50}});
	g = scene_given(&s, "g", (ls_shape){1, {50}});
	m = scene_given(&s, "m", (ls_shape){1, {50}});
	out = scene_op(&s, "sgd", "w", (int[]){w, g, m}, count, INTS(nesterov, 0, 1, 0, 10), NUMS(lr, momentum, decay, 0));
	scene_run(&s);
	for (int i = 0; i < 50; i++) {
		double weight = scene_f32(&s, w)[i], grad = ls_f32((double)scene_f32(&s, g)[i] + decay * weight), step = grad;
		float moved = ls_f32(momentum * (double)scene_f32(&s, m)[i] + grad), next;
		if (momentum > 0)
			step = nesterov ? grad + momentum * (double)moved : (double)moved;
		next = ls_f32(weight - lr * step);
		assert_true(same_words(s.words[out] + i, &next, 1));
		if (momentum > 0)
			assert_true(same_words(s.words[out + 1] + i, &moved, 1));
	}
	scene_close(&s);
}

static void test_sgd(void **state)
{
	check_sgd(0, 0, false, 32);
	check_sgd(0, 0.01, false, 32);
	check_sgd(0.9, 0, false, 32);
	check_sgd(0.9, 0.01, false, 16); // the state's grid counts, not the gradient's
	check_sgd(0.9, 0.01, true, 32);
}

static void test_sgd_in_plain_words(void **state)
{
	scene s;
	int w, g, m, out;
	scene_open(&s, 32, 32);
	w = scene_given(&s, "w", (ls_shape){1, {2}});
	g = scene_given(&s, "g", (ls_shape){1, {2}});
	m = scene_given(&s, "m", (ls_shape){1, {2}});
	memcpy(s.words[w], (float[]){4, 1}, 8);
	memcpy(s.words[g], (float[]){1, inf}, 8);
	memcpy(s.words[m], (float[]){2, 0}, 8);
	out = scene_op(&s, "sgd", "w", INPUTS(w, g, m), INTS(1, 0, 1, 0, 10), NUMS(0.5, 0.5, 0.25, 0));
	scene_run(&s);
	// g' = 1 + 0.25·4 = 2, m' = 0.5·2 + 2 = 3, w' = 4 − 0.5·(2 + 0.5·3)
	expect(&s, out, (float[]){2.25f, -inf});
	expect(&s, out + 1, (float[]){3, inf});
	scene_close(&s);
}

static void expect_f64(double found, double expected)
{
	if (ls_bits_f64(found) != ls_bits_f64(expected))
		print_message("found %a, expected %a\n", found, expected);
	assert_int_equal(ls_bits_f64(found), ls_bits_f64(expected));
}

static void test_schedules(void **state)
{
	ls_schedule s = {LS_SCHEDULE_CONSTANT, 0.3, 0.5, 3, 4, 20};
	double last = 1;
	for (uint64_t t = 1; t <= 4; t++)
		expect_f64(ls_schedule_lr(&s, t), 0.3 * ((double)t / 4));
	expect_f64(ls_schedule_lr(&s, 5), 0.3);
	expect_f64(ls_schedule_lr(&s, 20), 0.3);
	s.kind = LS_SCHEDULE_STEP;
	expect_f64(ls_schedule_lr(&s, 2), 0.3 * 0.5);
	for (uint64_t t = 5; t <= 20; t++) {
		double factor = 1;
		for (uint64_t i = 0; i < (t - 5) / 3; i++)
			factor *= 0.5;
		expect_f64(ls_schedule_lr(&s, t), 0.3 * factor);
	}
	s = (ls_schedule){LS_SCHEDULE_STEP, 1, 0.9, 1, 0, 20};
	expect_f64(ls_schedule_lr(&s, 6), 0.9 * 0.9 * (0.9 * 0.9) * 0.9); // n = 5 = 101b: ((1·0.9)²)²·0.9
	s = (ls_schedule){LS_SCHEDULE_COSINE, 0.3, 0, 1, 4, 20};
	expect_f64(ls_schedule_lr(&s, 5), 0.3);
	expect_f64(ls_schedule_lr(&s, 13), 0.3 * 0.5); // half way
	for (uint64_t t = 5; t <= 20; t++) {
		assert_true(ls_schedule_lr(&s, t) < last && ls_schedule_lr(&s, t) > 0);
		last = ls_schedule_lr(&s, t);
	}
	s.warmup = 0;
	expect_f64(ls_schedule_lr(&s, 1), 0.3);
}

// ---- whole tensors ----

static void run_whole(scene *s, int value, uint32_t **in, uint32_t **out, ls_pool *pool)
{
	const ls_op *op = ls_program_op(s->program, ls_program_value(s->program, value)->op);
	ls_op_call call = {.program = s->program, .op = op, .def = ls_op_find(op->kind), .step = 1, .in = (const void *const *)in,
	                   .out = (void *const *)out, .pool = pool};
	ls_op_reference(&call);
}

static void test_reference_over_inputs(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_pool *pool;
	scene s;
	int w, g, m, out;
	uint32_t *in[3], *made[2];
	const size_t bytes = 5000 * 4;
	assert_ok(ls_pool_open(&pool, 3, &err));
	scene_open(&s, 32, 32);
	w = scene_given(&s, "w", (ls_shape){1, {5000}});
	g = scene_given(&s, "g", (ls_shape){1, {5000}});
	m = scene_given(&s, "m", (ls_shape){1, {5000}});
	out = scene_op(&s, "sgd", "w", INPUTS(w, g, m), INTS(1, 0, 1, 0, 10), NUMS(0.1, 0.9, 0.01, 0));
	scene_run(&s);
	in[0] = made[0] = malloc(bytes); // outputs lie over w and m
	in[1] = s.words[g];
	in[2] = made[1] = malloc(bytes);
	memcpy(in[0], s.words[w], bytes);
	memcpy(in[2], s.words[m], bytes);
	run_whole(&s, out, in, made, pool);
	assert_true(same_words(made[0], s.words[out], 5000));
	assert_true(same_words(made[1], s.words[out + 1], 5000));
	assert_memory_not_equal(made[0], s.words[w], bytes);
	free(in[0]);
	free(in[2]);
	scene_close(&s);
	ls_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_relu_and_their_gradients), cmocka_unit_test(test_tanh_sigmoid_gelu),
		cmocka_unit_test(test_gradients_of_tanh_sigmoid_gelu), cmocka_unit_test(test_order_in_tanh_and_sigmoid_grad),
		cmocka_unit_test(test_values_are_rounded_to_the_grid),
		cmocka_unit_test(test_reshape_keeps_words), cmocka_unit_test(test_pools_and_their_gradients),
		cmocka_unit_test(test_maxpool_of_special_values), cmocka_unit_test(test_channel_sum),
		cmocka_unit_test(test_channel_sum_ends_a_run_at_each_plane), cmocka_unit_test(test_softmax_and_cross_entropy),
		cmocka_unit_test(test_softmax_of_special_values), cmocka_unit_test(test_labels_out_of_range),
		cmocka_unit_test(test_initial_values), cmocka_unit_test(test_load), cmocka_unit_test(test_sgd),
		cmocka_unit_test(test_sgd_in_plain_words), cmocka_unit_test(test_schedules), cmocka_unit_test(test_reference_over_inputs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
