// Descriptions of products: which words meet, where sums lie, and the exact sums themselves, against nested loops.
#include "op/support.h"

static void random_patches(scene *s, ls_patches *p)
{
	int64_t v[12];
	for (int i = 0; i < 12; i++)
		v[i] = (int64_t)(1 + (scene_random(s) + 1) * 2.5);
	*p = (ls_patches){.channels = v[0], .height = 2 + v[1], .width = 2 + v[2], .kernel_height = v[3], .kernel_width = v[4],
	                  .out_height = v[5], .out_width = v[6], .step = v[7] > 3 ? 2 : 1, .offset = v[8] - 4,
	                  .tap = v[9] > 2 ? 1 : -1, .divisor = v[10] > 3 ? 2 : 1};
}

/* y of a tap as the header defines it; −1 for none. Rational arithmetic by trial instead of division. */
static int64_t tap_position(int64_t position, int64_t k, int64_t extent, const ls_patches *p)
{
	for (int64_t y = 0; y < extent; y++)
		if (y * p->divisor == position * p->step + p->offset + k * p->tap)
			return y;
	return -1;
}

static void test_patches(void **state)
{
	scene s;
	scene_open(&s, 32, 32);
	int absent = 0, present = 0;
	for (int round = 0; round < 200; round++) {
		ls_operand o = {.kind = LS_OPERAND_PATCHES}, t;
		const ls_patches *p = &o.patches;
		int64_t row = 0;
		random_patches(&s, &o.patches);
		t = o;
		t.kind = LS_OPERAND_PATCHES_T;
		for (int64_t n = 0; n < 2; n++)
			for (int64_t oy = 0; oy < p->out_height; oy++)
				for (int64_t ox = 0; ox < p->out_width; ox++, row++) {
					int64_t k = 0;
					for (int64_t c = 0; c < p->channels; c++)
						for (int64_t ky = 0; ky < p->kernel_height; ky++)
							for (int64_t kx = 0; kx < p->kernel_width; kx++, k++) {
								int64_t y = tap_position(oy, ky, p->height, p), x = tap_position(ox, kx, p->width, p);
								int64_t expected = y < 0 || x < 0 ? -1 : ((n * p->channels + c) * p->height + y) * p->width + x;
								assert_int_equal(ls_operand_index(&o, row, k), expected);
								assert_int_equal(ls_operand_index(&t, k, row), expected);
								*(expected < 0 ? &absent : &present) += 1;
							}
				}
	}
	assert_true(absent > 1000 && present > 1000);
	scene_close(&s);
}

static void test_strided(void **state)
{
	ls_operand o = {.kind = LS_OPERAND_STRIDED, .row_stride = 100, .inner = 4, .outer_stride = 1000, .inner_stride = 3};
	assert_int_equal(ls_operand_index(&o, 0, 0), 0);
	assert_int_equal(ls_operand_index(&o, 2, 3), 209);
	assert_int_equal(ls_operand_index(&o, 2, 4), 1200);
	assert_int_equal(ls_operand_index(&o, 1, 11), 2109);
}

/* Places of all sums: each index of the output once, and locate undoes out_index. */
static void check_places(const ls_product *p)
{
	int64_t count = p->rows * p->columns;
	uint8_t *seen = calloc((size_t)count, 1);
	for (int64_t i = 0; i < p->rows; i++)
		for (int64_t j = 0; j < p->columns; j++) {
			int64_t index = ls_product_out_index(p, i, j), a = -1, b = -1;
			assert_in_range(index, 0, count - 1);
			assert_int_equal(seen[index]++, 0);
			ls_product_locate(p, index, &a, &b);
			assert_int_equal(a, i);
			assert_int_equal(b, j);
		}
	free(seen);
}

static void get_product(const scene *s, int value, ls_product *p)
{
	const ls_op *op = ls_program_op(s->program, ls_program_value(s->program, value)->op);
	ls_op_find(op->kind)->product(s->program, op, p);
	assert_int_equal(p->rows * p->columns, scene_count(s, value));
}

// ---- matrices ----

static void check_matmul(int ta, int tb, bool bias)
{
	scene s;
	int a, b, c, d;
	ls_product p;
	const int64_t rows = 5, terms = 7, columns = 6;
	scene_open(&s, 32, 32);
	a = scene_given(&s, "a", ta ? (ls_shape){2, {terms, rows}} : (ls_shape){2, {rows, terms}});
	b = scene_given(&s, "b", tb ? (ls_shape){2, {columns, terms}} : (ls_shape){2, {terms, columns}});
	d = scene_given(&s, "d", (ls_shape){1, {columns}});
	c = scene_op(&s, "matmul", "c", (int[]){a, b, d}, 2 + bias, INTS(ta, tb), NONE);
	scene_run(&s);
	get_product(&s, c, &p);
	assert_int_equal(ls_product_all_terms(&p), terms + bias);
	check_places(&p);
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < columns; j++) {
			ls_sum sum;
			float expected;
			ls_sum_init(&sum);
			for (int64_t k = 0; k < terms; k++)
				ls_sum_add(&sum, scene_f32(&s, a)[ta ? k * rows + i : i * terms + k],
				           scene_f32(&s, b)[tb ? j * terms + k : k * columns + j]);
			if (bias)
				ls_sum_add(&sum, scene_f32(&s, d)[j], 1);
			expected = ls_sum_round(&sum, 32);
			assert_true(same_words(s.words[c] + i * columns + j, &expected, 1));
			ls_sum_add(&sum, 1, 1);
			assert_int_not_equal(ls_bits_f32(ls_sum_round(&sum, 32)), ls_bits_f32(expected));
		}
	scene_close(&s);
}

static void test_matmul(void **state)
{
	for (int i = 0; i < 8; i++)
		check_matmul(i & 1, i >> 1 & 1, i >> 2);
}

// ---- convolutions, by accumulating each triple of elements that meet ----

typedef struct conv_case {
	int64_t n, c, h, w, o, kh, kw, stride, pad;
} conv_case;

static const conv_case conv_cases[] = {
	{2, 3, 6, 7, 4, 3, 3, 1, 1}, {2, 2, 7, 6, 3, 3, 3, 2, 1}, {1, 1, 5, 5, 1, 5, 5, 1, 2}, {3, 2, 4, 4, 2, 1, 1, 1, 0},
	{2, 1, 8, 7, 2, 2, 3, 3, 1}, {1, 2, 3, 9, 2, 3, 2, 2, 1}, {2, 2, 6, 6, 2, 3, 3, 4, 2},
};

typedef struct conv_sums {
	ls_sum *y, *dx, *dw;
} conv_sums;

static void meet(const conv_case *g, int64_t oh, int64_t ow, const float *x, const float *w, const float *dy, conv_sums *out)
{
	for (int64_t n = 0; n < g->n; n++)
		for (int64_t o = 0; o < g->o; o++)
			for (int64_t at = 0; at < oh * ow; at++)
				for (int64_t c = 0; c < g->c; c++)
					for (int64_t tap = 0; tap < g->kh * g->kw; tap++) {
						int64_t iy = at / ow * g->stride - g->pad + tap / g->kw, ix = at % ow * g->stride - g->pad + tap % g->kw;
						int64_t yi = (n * g->o + o) * oh * ow + at, wi = (o * g->c + c) * g->kh * g->kw + tap;
						int64_t xi = ((n * g->c + c) * g->h + iy) * g->w + ix;
						if (iy < 0 || iy >= g->h || ix < 0 || ix >= g->w)
							continue;
						ls_sum_add(&out->y[yi], w[wi], x[xi]);
						ls_sum_add(&out->dx[xi], w[wi], dy[yi]);
						ls_sum_add(&out->dw[wi], dy[yi], x[xi]);
					}
}

static ls_sum *sums_for(const scene *s, int value)
{
	ls_sum *sum = calloc((size_t)scene_count(s, value), sizeof *sum);
	assert_non_null(sum);
	for (int64_t i = 0; i < scene_count(s, value); i++)
		ls_sum_init(&sum[i]);
	return sum;
}

static void check_rounded(const scene *s, int value, const ls_sum *sum)
{
	for (int64_t i = 0; i < scene_count(s, value); i++) {
		float expected = ls_sum_round(&sum[i], 32);
		assert_true(same_words(s->words[value] + i, &expected, 1));
	}
}

/* The sums themselves, S and the number of terms included. */
static void check_sums(const scene *s, int value, int a, int b, const ls_sum *expected)
{
	const ls_op *op = ls_program_op(s->program, ls_program_value(s->program, value)->op);
	uint32_t *in[] = {s->words[a], s->words[b]};
	ls_reader reader = {.program = s->program, .op = op, .step = 1, .context = in, .word = scene_word};
	ls_product p;
	get_product(s, value, &p);
	check_places(&p);
	for (int64_t i = 0; i < p.rows; i++)
		for (int64_t j = 0; j < p.columns; j++) {
			const ls_sum *e = &expected[ls_product_out_index(&p, i, j)];
			ls_sum sum;
			ls_product_sum(&reader, &p, i, j, &sum);
			assert_memory_equal(&sum.e, &e->e, sizeof sum.e);
			assert_memory_equal(&sum.s, &e->s, sizeof sum.s);
			assert_int_equal(sum.terms, e->terms);
		}
}

static void check_conv(const conv_case *g)
{
	scene s;
	int x, w, dy, y, dx, dw;
	int64_t oh = (g->h + 2 * g->pad - g->kh) / g->stride + 1, ow = (g->w + 2 * g->pad - g->kw) / g->stride + 1;
	conv_sums sums;
	scene_open(&s, 32, 32);
	x = scene_given(&s, "x", (ls_shape){4, {g->n, g->c, g->h, g->w}});
	w = scene_given(&s, "w", (ls_shape){4, {g->o, g->c, g->kh, g->kw}});
	dy = scene_given(&s, "dy", (ls_shape){4, {g->n, g->o, oh, ow}});
	y = scene_op(&s, "conv2d", "y", INPUTS(x, w), INTS(g->stride, g->pad), NONE);
	dx = scene_op(&s, "conv2d_dinput", "dx", INPUTS(dy, w), INTS(g->stride, g->pad, g->h, g->w), NONE);
	dw = scene_op(&s, "conv2d_dweight", "dw", INPUTS(dy, x), INTS(g->stride, g->pad, g->kh, g->kw), NONE);
	assert_false(ls_program_failed(s.program));
	assert_true(ls_shape_equal(&ls_program_value(s.program, y)->shape, &ls_program_value(s.program, dy)->shape));
	scene_run(&s);
	sums = (conv_sums){sums_for(&s, y), sums_for(&s, dx), sums_for(&s, dw)};
	meet(g, oh, ow, scene_f32(&s, x), scene_f32(&s, w), scene_f32(&s, dy), &sums);
	check_rounded(&s, y, sums.y);
	check_rounded(&s, dx, sums.dx);
	check_rounded(&s, dw, sums.dw);
	check_sums(&s, y, x, w, sums.y);
	check_sums(&s, dx, dy, w, sums.dx);
	check_sums(&s, dw, dy, x, sums.dw);
	free(sums.y);
	free(sums.dx);
	free(sums.dw);
	scene_close(&s);
}

static void test_convolutions(void **state)
{
	for (size_t i = 0; i < sizeof conv_cases / sizeof *conv_cases; i++)
		check_conv(&conv_cases[i]);
}

static void test_bias_of_convolution(void **state)
{
	scene s;
	int x, w, b, y, plain;
	scene_open(&s, 32, 32);
	x = scene_given(&s, "x", (ls_shape){4, {2, 1, 4, 4}});
	w = scene_given(&s, "w", (ls_shape){4, {3, 1, 3, 3}});
	b = scene_given(&s, "b", (ls_shape){1, {3}});
	for (int i = 0; i < 32; i++) // small integers: sums are exact
		scene_f32(&s, x)[i] = (float)(i % 5 - 2);
	for (int i = 0; i < 27; i++)
		scene_f32(&s, w)[i] = (float)(i % 7 - 3);
	memcpy(s.words[b], (float[]){100, 200, 300}, 12);
	y = scene_op(&s, "conv2d", "y", INPUTS(x, w, b), INTS(1, 1), NONE);
	plain = scene_op(&s, "conv2d", "plain", INPUTS(x, w), INTS(1, 1), NONE);
	scene_run(&s);
	for (int64_t i = 0; i < 96; i++) {
		float expected = scene_f32(&s, plain)[i] + (float)(100 * (i / 16 % 3 + 1));
		assert_true(same_words(s.words[y] + i, &expected, 1));
	}
	scene_close(&s);
}

static void test_non_finite_terms(void **state)
{
	scene s;
	int x, w, y;
	scene_open(&s, 32, 32);
	x = scene_given(&s, "x", (ls_shape){4, {1, 1, 3, 3}});
	w = scene_given(&s, "w", (ls_shape){4, {1, 1, 3, 3}});
	y = scene_op(&s, "conv2d", "y", INPUTS(x, w), INTS(1, 1), NONE);
	scene_f32(&s, w)[0] = __builtin_inff(); // meets padding in the first row and column: there it is no term
	scene_run(&s);
	for (int i = 0; i < 9; i++) {
		bool met = i / 3 >= 1 && i % 3 >= 1;
		assert_int_equal(s.words[y][i] == LS_NAN_BITS, met);
	}
	scene_f32(&s, w)[0] = 1;
	scene_f32(&s, x)[8] = ls_f32_bits(0x7fc12345);
	scene_run(&s);
	for (int i = 0; i < 9; i++)
		assert_int_equal(s.words[y][i] == LS_NAN_BITS, i / 3 >= 1 && i % 3 >= 1);
	scene_close(&s);
}

// ---- attention ----

/* Σ over what the causal mask leaves, of head h of sequence b, by its definition: scores (t, s) of q and k; mixes of squares p
 * and v, p turned or not. */
static ls_sum attention_sum(const scene *s, const int sizes[4], int p, int x, int y, int turned, const int at[4])
{
	int heads = sizes[1], length = sizes[2], width = sizes[3], b = at[0], h = at[1], row = at[2], column = at[3];
	int64_t slice = b * heads + h;
	ls_sum sum;
	ls_sum_init(&sum);
	if (p < 0)
		for (int d = 0; d < width && column <= row; d++)
			ls_sum_add(&sum, scene_f32(s, x)[(b * length + row) * heads * width + h * width + d],
			           scene_f32(s, y)[(b * length + column) * heads * width + h * width + d]);
	else
		for (int t = 0; t < length; t++)
			if (turned ? t >= row : t <= row)
				ls_sum_add(&sum, scene_f32(s, p)[slice * length * length + (turned ? t * length + row : row * length + t)],
				           scene_f32(s, x)[(b * length + t) * heads * width + h * width + column]);
	return sum;
}

static void check_attention(const int sizes[4])
{
	scene s;
	ls_product product;
	int batch = sizes[0], heads = sizes[1], length = sizes[2], width = sizes[3], value[3], p, x, y;
	scene_open(&s, 32, 32);
	p = scene_given(&s, "p", (ls_shape){4, {batch, heads, length, length}});
	x = scene_given(&s, "x", (ls_shape){2, {batch * length, heads * width}});
	y = scene_given(&s, "y", (ls_shape){2, {batch * length, heads * width}});
	value[0] = scene_op(&s, "attention_scores", "scores", (int[]){x, y}, 2, INTS(batch, heads), NONE);
	value[1] = scene_op(&s, "attention_mix", "mix", (int[]){p, x}, 2, INTS(0), NONE);
	value[2] = scene_op(&s, "attention_mix", "turned", (int[]){p, x}, 2, INTS(1), NONE);
	scene_run(&s);
	for (int which = 0; which < 3; which++) {
		int columns = which ? width : length;
		get_product(&s, value[which], &product);
		check_places(&product);
		for (int64_t i = 0; i < product.rows; i++)
			for (int64_t j = 0; j < columns; j++) {
				int at[4] = {(int)(i / length / heads), (int)(i / length % heads), (int)(i % length), (int)j};
				ls_sum sum = attention_sum(&s, sizes, which ? p : -1, x, y, which == 2, at);
				float expected = ls_sum_round(&sum, 32);
				int64_t place = which ? (at[0] * length + at[2]) * heads * width + at[1] * width + j : i * length + j;
				assert_int_equal(ls_product_out_index(&product, i, j), place);
				assert_memory_equal(&scene_f32(&s, value[which])[place], &expected, 4);
			}
	}
	if (length > 1) // the mask is there: a transposed square is another
		assert_memory_not_equal(scene_f32(&s, value[1]), scene_f32(&s, value[2]), sizeof(float) * (size_t)width);
	scene_close(&s);
}

/* What a dispute opens part by part makes what the whole definition makes: for elements behind the mask nothing, although there
 * are factors. Heads of more than 128 elements have sums of several parts. */
static void test_masked_elements_have_no_terms_in_any_part(void **state)
{
	enum { BATCH = 1, LENGTH = 2, WIDTH = 300 };
	scene s;
	ls_product product;
	uint32_t *in[2];
	ls_reader reader = {.context = in, .word = scene_word};
	int x, y, scores, masked = 0;
	scene_open(&s, 32, 32);
	x = scene_given(&s, "x", (ls_shape){2, {BATCH * LENGTH, WIDTH}});
	y = scene_given(&s, "y", (ls_shape){2, {BATCH * LENGTH, WIDTH}});
	scores = scene_op(&s, "attention_scores", "scores", (int[]){x, y}, 2, INTS(BATCH, 1), NONE);
	scene_run(&s);
	get_product(&s, scores, &product);
	reader.program = s.program;
	reader.op = ls_program_op(s.program, ls_program_value(s.program, scores)->op);
	in[0] = s.words[x];
	in[1] = s.words[y];
	for (int64_t i = 0; i < LENGTH; i++)
		for (int64_t j = 0; j < LENGTH; j++) {
			ls_pinned_state state_of_sum = LS_PINNED_STATE_START;
			ls_sum whole, part;
			float pinned = ls_product_pinned(&reader, &product, i, j, 32), by_parts;
			bool zero = true;
			for (int64_t at = 0; at < WIDTH; at += 128) {
				int64_t count = WIDTH - at < 128 ? WIDTH - at : 128;
				ls_product_pinned_terms(&reader, &product, i, j, at, count, &state_of_sum);
				ls_product_sum_terms(&reader, &product, i, j, at, count, &part);
				zero &= ls_sum_round(&part, 32) == 0;
			}
			by_parts = ls_product_pinned_end(&product, &state_of_sum, 32);
			ls_product_sum(&reader, &product, i, j, &whole);
			assert_int_equal(ls_bits_f32(by_parts), ls_bits_f32(pinned));
			assert_int_equal(ls_product_masked(&product, i, j), zero); // the twin: the others do have some
			assert_int_equal(ls_sum_round(&whole, 32) == 0, zero);
			assert_int_equal(pinned == 0, zero);
			masked += zero;
		}
	assert_int_equal(masked, 1);
	scene_close(&s);
}

static void test_attention(void **state)
{
	static const int sizes[][4] = {{1, 1, 3, 2}, {1, 1, 2, 5}, {2, 1, 3, 2}, {1, 3, 3, 2}, {2, 3, 4, 5}, {3, 2, 1, 4}, {1, 1, 1, 1},
	                               {2, 2, 5, 1}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		check_attention(sizes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patches), cmocka_unit_test(test_strided), cmocka_unit_test(test_matmul),
		cmocka_unit_test(test_convolutions), cmocka_unit_test(test_bias_of_convolution), cmocka_unit_test(test_non_finite_terms),
		cmocka_unit_test(test_masked_elements_have_no_terms_in_any_part),
		cmocka_unit_test(test_attention),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
