// The ops of batch normalisation against a second implementation, written from the specification with loops of its own.
#include "op/norm_support.h"

enum { N = 3, C = 4, H = 18, W = 17, PIXELS = H * W, COUNT = N * C * PIXELS, CHANNEL = N * PIXELS };

static double join(const double lane[16])
{
	double eight[8], four[4];
	for (int l = 0; l < 8; l++)
		eight[l] = lane[l] + lane[l + 8];
	for (int l = 0; l < 4; l++)
		four[l] = eight[l] + eight[l + 4];
	return (four[0] + four[2]) + (four[1] + four[3]);
}

// rsum of one channel: every plane is cut into blocks of 256 terms; with so few blocks their sums are one more block.
static double channel_sum(const double *term, int c)
{
	double blocks[16] = {0};
	int block = 0;
	for (int n = 0; n < N; n++)
		for (int start = 0; start < PIXELS; start += 256, block++) {
			double lane[16] = {0};
			for (int i = start; i < start + 256 && i < PIXELS; i++)
				lane[(i - start) % 16] += term[(n * C + c) * PIXELS + i];
			blocks[block % 16] += join(lane);
		}
	assert_true(block <= 16);
	return join(blocks);
}

static float r32(double x)
{
	return (float)x + 0.0f;
}

static int channel_at(int i)
{
	return i / PIXELS % C;
}

static void own_stats(const float *x, float mean[C], float var[C])
{
	static double term[COUNT];
	for (int i = 0; i < COUNT; i++)
		term[i] = x[i];
	for (int c = 0; c < C; c++)
		mean[c] = r32(channel_sum(term, c) / CHANNEL);
	for (int i = 0; i < COUNT; i++) {
		double centred = (double)(float)((double)x[i] - (double)mean[channel_at(i)]);
		term[i] = centred * centred;
	}
	for (int c = 0; c < C; c++)
		var[c] = r32(channel_sum(term, c) / CHANNEL);
}

static const ls_shape image = {4, {N, C, H, W}}, numbers = {1, {C}};

static void test_statistics(void **state)
{
	bench b;
	float mean[C], var[C];
	bench_open(&b, 32);
	int x = bench_tensor(&b, "x", image, 3, 1);
	int stats = bench_op(&b, &(ls_op_spec){.kind = "channel_stats", .name = "s", .inputs = {x}, .input_count = 1});
	bench_run(&b, NULL);
	own_stats(bench_f32(&b, x), mean, var);
	assert_int_equal(bits_differ(mean, bench_f32(&b, stats), C), 0);
	assert_int_equal(bits_differ(var, bench_f32(&b, stats + 1), C), 0);
	// the variance is that of centred numbers: by E[x²] − μ² its bits are others
	for (int c = 0; c < C; c++) {
		double squares = 0;
		for (int i = 0; i < COUNT; i++)
			if (channel_at(i) == c)
				squares += (double)bench_f32(&b, x)[i] * (double)bench_f32(&b, x)[i];
		var[c] = r32(squares / CHANNEL - (double)mean[c] * (double)mean[c]);
	}
	assert_true(bits_differ(var, bench_f32(&b, stats + 1), C) > 0);
	bench_f32(&b, x)[5] += 0.25f;
	own_stats(bench_f32(&b, x), mean, var);
	assert_true(bits_differ(mean, bench_f32(&b, stats), C) > 0);
	bench_close(&b);
}

static void test_rsqrt_eps(void **state)
{
	bench b;
	bench_open(&b, 32);
	int v = bench_tensor(&b, "v", numbers, 1, 0.9);
	int r = bench_op(&b, &(ls_op_spec){.kind = "rsqrt_eps", .name = "r", .inputs = {v}, .input_count = 1, .nums = {1e-5},
	                                   .num_count = 1});
	bench_run(&b, NULL);
	for (int i = 0; i < C; i++) {
		double sum = (double)r32((double)bench_f32(&b, v)[i] + 1e-5), got = bench_f32(&b, r)[i];
		double error = got * got * sum - 1; // of a rounding: less than 2^-23
		assert_true(error < 0x1p-22 && error > -0x1p-22);
		assert_true(got * got * (sum + 1e-5) - 1 > 0x1p-22); // ε added twice would show
	}
	bench_close(&b);
}

// Forward and backward as one program; `fused` leaves out the roundings in between, which must show.
static void own_forward(bench *b, const int in[5], float *y, float *normal, bool fused)
{
	for (int i = 0; i < COUNT; i++) {
		int c = channel_at(i);
		double h = ((double)bench_f32(b, in[0])[i] - (double)bench_f32(b, in[1])[c]) * (double)bench_f32(b, in[2])[c];
		normal[i] = r32(h);
		y[i] = r32((fused ? h : (double)normal[i]) * (double)bench_f32(b, in[3])[c] + (double)bench_f32(b, in[4])[c]);
	}
}

static void test_forward(void **state)
{
	static float y[COUNT], normal[COUNT];
	bench b;
	bench_open(&b, 32);
	int in[5] = {bench_tensor(&b, "a", image, 0, 2), bench_tensor(&b, "b", numbers, 0, 1), bench_tensor(&b, "c", numbers, 1, 0.5),
	             bench_tensor(&b, "d", numbers, 1, 0.5), bench_tensor(&b, "e", numbers, 0, 1)};
	int out = bench_op(&b, &(ls_op_spec){.kind = "batch_norm", .name = "y", .inputs = {in[0], in[1], in[2], in[3], in[4]},
	                                     .input_count = 5});
	bench_run(&b, NULL);
	own_forward(&b, in, y, normal, false);
	assert_int_equal(bits_differ(y, bench_f32(&b, out), COUNT), 0);
	assert_int_equal(bits_differ(normal, bench_f32(&b, out + 1), COUNT), 0);
	own_forward(&b, in, y, normal, true);
	assert_true(bits_differ(y, bench_f32(&b, out), COUNT) > 100);
	bench_close(&b);
}

static void own_backward(bench *b, const int in[6], float *dx, bool rounded_early)
{
	for (int i = 0; i < COUNT; i++) {
		int c = channel_at(i);
		double dy = bench_f32(b, in[0])[i], h = bench_f32(b, in[1])[i], s1 = bench_f32(b, in[4])[c], s2 = bench_f32(b, in[5])[c];
		double scale = (double)bench_f32(b, in[2])[c] * (double)bench_f32(b, in[3])[c];
		double slope = rounded_early ? (double)r32(s2 / CHANNEL) : s2 / CHANNEL;
		dx[i] = r32(scale * ((dy - s1 / CHANNEL) - h * slope));
	}
}

static void test_backward(void **state)
{
	static float dx[COUNT];
	static double term[COUNT];
	bench b;
	bench_open(&b, 32);
	int in[6] = {bench_tensor(&b, "a", image, 0, 2), bench_tensor(&b, "b", image, 0, 1), bench_tensor(&b, "c", numbers, 1, 0.5),
	             bench_tensor(&b, "d", numbers, 1, 0.5)};
	in[4] = bench_op(&b, &(ls_op_spec){.kind = "channel_sum", .name = "s1", .inputs = {in[0]}, .input_count = 1});
	in[5] = bench_op(&b, &(ls_op_spec){.kind = "channel_dot", .name = "s2", .inputs = {in[0], in[1]}, .input_count = 2});
	int out = bench_op(&b, &(ls_op_spec){.kind = "batch_norm_dinput", .name = "dx",
	                                     .inputs = {in[0], in[1], in[2], in[3], in[4], in[5]}, .input_count = 6});
	bench_run(&b, NULL);
	for (int i = 0; i < COUNT; i++)
		term[i] = (double)bench_f32(&b, in[0])[i] * (double)bench_f32(&b, in[1])[i];
	for (int c = 0; c < C; c++) {
		assert_int_equal(ls_bits_f32(bench_f32(&b, in[5])[c]), ls_bits_f32(r32(channel_sum(term, c))));
		assert_int_not_equal(ls_bits_f32(bench_f32(&b, in[5])[c]), ls_bits_f32(r32(channel_sum(term, (c + 1) % C))));
	}
	own_backward(&b, in, dx, false);
	assert_int_equal(bits_differ(dx, bench_f32(&b, out), COUNT), 0);
	own_backward(&b, in, dx, true);
	assert_true(bits_differ(dx, bench_f32(&b, out), COUNT) > 0);
	bench_close(&b);
}

static void test_running_average(void **state)
{
	bench b;
	bench_open(&b, 16); // the state keeps its own grid
	int old = bench_tensor(&b, "bn.mean", numbers, 0, 1), new = bench_tensor(&b, "new", numbers, 2, 1);
	int out = bench_op(&b, &(ls_op_spec){.kind = "running_average", .name = "bn.mean", .inputs = {old, new}, .input_count = 2,
	                                     .nums = {0.1, 1.25}, .num_count = 2});
	bench_run(&b, NULL);
	assert_string_equal(ls_program_value(b.program, out)->name, "bn.mean.next");
	for (int i = 0; i < C; i++) {
		double o = bench_f32(&b, old)[i], n = bench_f32(&b, new)[i];
		assert_int_equal(ls_bits_f32(bench_f32(&b, out)[i]), ls_bits_f32(r32((1 - 0.1) * o + 0.1 * 1.25 * n)));
		assert_int_not_equal(ls_bits_f32(bench_f32(&b, out)[i]), ls_bits_f32(r32(0.1 * o + (1 - 0.1) * 1.25 * n)));
	}
	bench_close(&b);
}

// Windows by their definition, each element asked whether it lies in them.
static bool in_window(int64_t i, int64_t y, int64_t extent, int64_t count)
{
	int64_t first = i * extent / count, last = (i + 1) * extent / count + ((i + 1) * extent % count != 0);
	return y >= first && y < last;
}

static double own_share(const float *dy, int64_t y, int64_t x, int64_t h, int64_t w, int64_t oh, int64_t ow)
{
	double sum = 0;
	for (int64_t i = 0; i < oh; i++)
		for (int64_t j = 0; j < ow; j++) {
			int64_t high = 0, wide = 0;
			for (int64_t k = 0; k < h; k++)
				high += in_window(i, k, h, oh);
			for (int64_t k = 0; k < w; k++)
				wide += in_window(j, k, w, ow);
			if (in_window(i, y, h, oh) && in_window(j, x, w, ow))
				sum += (double)dy[i * ow + j] / (double)(high * wide);
		}
	return sum;
}

static void test_adaptive_avgpool(void **state)
{
	static const int64_t sizes[][4] = {{7, 5, 1, 1}, {7, 5, 3, 2}, {1, 1, 7, 7}, {4, 6, 4, 6}, {3, 2, 5, 3}, {9, 4, 3, 2}};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		const int64_t *z = sizes[s];
		bench b;
		bench_open(&b, 32);
		int x = bench_tensor(&b, "x", (ls_shape){4, {1, 1, z[0], z[1]}}, 0, 1);
		int dy = bench_tensor(&b, "y", (ls_shape){4, {1, 1, z[2], z[3]}}, 0, 1);
		int y = bench_op(&b, &(ls_op_spec){.kind = "adaptive_avgpool", .name = "p", .inputs = {x}, .input_count = 1,
		                                   .ints = {z[2], z[3]}, .int_count = 2});
		int dx = bench_op(&b, &(ls_op_spec){.kind = "adaptive_avgpool_grad", .name = "d", .inputs = {dy}, .input_count = 1,
		                                    .ints = {z[0], z[1]}, .int_count = 2});
		double forward = 0, backward = 0, wrong = 0;
		bench_run(&b, NULL);
		for (int64_t i = 0; i < z[2] * z[3]; i++)
			forward += (double)bench_f32(&b, y)[i] * (double)bench_f32(&b, dy)[i];
		for (int64_t i = 0; i < z[0] * z[1]; i++) {
			double error = (double)bench_f32(&b, dx)[i] - own_share(bench_f32(&b, dy), i / z[1], i % z[1], z[0], z[1], z[2], z[3]);
			assert_true(error < 1e-6 && error > -1e-6);
			backward += (double)bench_f32(&b, dx)[i] * (double)bench_f32(&b, x)[i];
			wrong += (double)bench_f32(&b, dx)[z[0] * z[1] - 1 - i] * (double)bench_f32(&b, x)[i];
		}
		// the gradient is the adjoint: ⟨pool(x), dy⟩ = ⟨x, dx⟩
		assert_true(forward - backward < 1e-6 && backward - forward < 1e-6);
		if (z[2] > 1 && z[0] > 1)
			assert_true(forward - wrong > 1e-4 || wrong - forward > 1e-4);
		bench_close(&b);
	}
}

static void test_init_normal(void **state)
{
	bench b;
	double sum = 0, squares = 0;
	bench_open(&b, 32);
	int z = bench_op(&b, &(ls_op_spec){.kind = "init_normal", .name = "z", .ints = {9, 2, 100, 200}, .int_count = 4,
	                                   .nums = {0.5}, .num_count = 1});
	bench_run(&b, NULL);
	for (int i = 0; i < 20000; i++) {
		sum += bench_f32(&b, z)[i];
		squares += (double)bench_f32(&b, z)[i] * (double)bench_f32(&b, z)[i];
	}
	assert_true(sum / 20000 < 0.02 && sum / 20000 > -0.02);       // 5.6 standard errors
	assert_true(squares / 20000 > 0.235 && squares / 20000 < 0.265); // 6 of them around 0.25
	ls_stream stream = {9, LS_PURPOSE_INIT, 2}, other = {9, LS_PURPOSE_INIT, 3};
	assert_int_equal(ls_bits_f32(bench_f32(&b, z)[77]), ls_bits_f32(r32(ls_random_normal(&stream, 77) * 0.5)));
	assert_int_not_equal(ls_bits_f32(bench_f32(&b, z)[77]), ls_bits_f32(r32(ls_random_normal(&other, 77) * 0.5)));
	bench_close(&b);
}

static void test_refusals(void **state)
{
	static const ls_op_spec wrong[] = {
		{.kind = "batch_norm", .inputs = {0, 1, 1, 1, 2}, .input_count = 5},        // a number too many
		{.kind = "batch_norm", .inputs = {0, 1, 1, 1}, .input_count = 4},           // no β
		{.kind = "channel_stats", .inputs = {1}, .input_count = 1},                 // no image
		{.kind = "channel_dot", .inputs = {0, 3}, .input_count = 2},                // two shapes
		{.kind = "rsqrt_eps", .inputs = {1}, .input_count = 1, .num_count = 1},     // ε = 0
		{.kind = "running_average", .inputs = {1, 2}, .input_count = 2, .nums = {0.1, 1}, .num_count = 2},
		{.kind = "running_average", .inputs = {1, 1}, .input_count = 2, .nums = {1.5, 1}, .num_count = 2},
		{.kind = "adaptive_avgpool", .inputs = {0}, .input_count = 1, .ints = {0, 1}, .int_count = 2},
		{.kind = "adaptive_avgpool", .inputs = {0}, .input_count = 1, .ints = {1, INT64_MAX}, .int_count = 2},
		{.kind = "adaptive_avgpool_grad", .inputs = {1}, .input_count = 1, .ints = {4, 4}, .int_count = 2},
		{.kind = "channel_stats", .inputs = {0}, .input_count = 1},                 // this one is right
	};
	size_t count = sizeof wrong / sizeof *wrong;
	for (size_t i = 0; i < count; i++) {
		bench b;
		ls_op_spec spec = wrong[i];
		bench_open(&b, 32);
		bench_tensor(&b, "a", image, 0, 1);
		bench_tensor(&b, "b", numbers, 0, 1);
		bench_tensor(&b, "c", (ls_shape){1, {C + 1}}, 0, 1);
		bench_tensor(&b, "d", (ls_shape){4, {N, C, W, H}}, 0, 1);
		spec.name = "y";
		assert_int_equal(ls_op_append(b.program, &spec) >= 0, i + 1 == count);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statistics),       cmocka_unit_test(test_rsqrt_eps), cmocka_unit_test(test_forward),
		cmocka_unit_test(test_backward),         cmocka_unit_test(test_running_average),
		cmocka_unit_test(test_adaptive_avgpool), cmocka_unit_test(test_init_normal), cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
