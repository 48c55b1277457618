// The backward ops that autodiff makes of batch normalisation, against central differences of an FP64 computation.
#include <lockstep/graph.h>

#include "op/norm_support.h"

enum { N = 4, C = 3, H = 3, W = 5, PIXELS = H * W, COUNT = N * C * PIXELS };
static const double epsilon = 1e-5, step = 1e-4;

static const uint8_t *sample(void *context, int64_t index)
{
	static const uint8_t byte = 0;
	return &byte;
}

static int32_t label(void *context, int64_t index)
{
	return (int32_t)(index % C);
}

static const ls_samples samples = {.sample = sample, .label = label};

// x (N, C, H, W) → batch norm → square-free head: mean of each plane weighted by what `head` says → softmax → loss.
typedef struct net {
	bench b;
	int x, gamma, beta, head, loss, grads[3];
} net;

static void net_open(net *t)
{
	const ls_shape image = {4, {N, C, H, W}}, numbers = {1, {C}};
	int stats, r, y, labels, flat, p;
	bench_open(&t->b, 32);
	t->beta = bench_tensor(&t->b, "beta", numbers, 0.2, 0.5);
	t->gamma = bench_tensor(&t->b, "gamma", numbers, 1, 0.5);
	t->head = bench_tensor(&t->b, "head", image, 0, 2);
	t->x = bench_tensor(&t->b, "x", image, 1, 2);
	labels = bench_op(&t->b, &(ls_op_spec){.kind = "load", .name = "in", .ints = {N, N, 0, 0, 1, 1, 1}, .int_count = 7,
	                                       .nums = {0, 1}, .num_count = 2}) + 1;
	stats = bench_op(&t->b, &(ls_op_spec){.kind = "channel_stats", .name = "s", .inputs = {t->x}, .input_count = 1});
	r = bench_op(&t->b, &(ls_op_spec){.kind = "rsqrt_eps", .name = "r", .inputs = {stats + 1}, .input_count = 1, .nums = {epsilon},
	                                  .num_count = 1});
	y = bench_op(&t->b, &(ls_op_spec){.kind = "batch_norm", .name = "y", .inputs = {t->x, stats, r, t->gamma, t->beta},
	                                  .input_count = 5});
	// a second use of y, and ReLU, so that dy is not the same everywhere
	y = bench_op(&t->b, &(ls_op_spec){.kind = "add", .name = "y2", .inputs = {y, t->head}, .input_count = 2});
	y = bench_op(&t->b, &(ls_op_spec){.kind = "relu", .name = "y3", .inputs = {y}, .input_count = 1});
	y = bench_op(&t->b, &(ls_op_spec){.kind = "adaptive_avgpool", .name = "y4", .inputs = {y}, .input_count = 1, .ints = {1, 1},
	                                  .int_count = 2});
	flat = bench_op(&t->b, &(ls_op_spec){.kind = "reshape", .name = "flat", .inputs = {y}, .input_count = 1, .ints = {N, C},
	                                     .int_count = 2});
	p = bench_op(&t->b, &(ls_op_spec){.kind = "softmax", .name = "p", .inputs = {flat}, .input_count = 1});
	t->loss = bench_op(&t->b, &(ls_op_spec){.kind = "cross_entropy", .name = "loss", .inputs = {flat, p, p + 1, p + 2, labels},
	                                        .input_count = 5});
	ls_autodiff(t->b.program, t->loss, (int[]){t->x, t->gamma, t->beta}, 3, t->grads);
	assert_false(ls_program_failed(t->b.program));
	bench_run(&t->b, &samples);
}

static double square_root(double x)
{
	return ls_sqrt(x);
}

static void plane_means(const double *x, const double *gamma, const double *beta, const float *head, double mean[N * C])
{
	for (int c = 0; c < C; c++) {
		double mu = 0, var = 0;
		for (int i = 0; i < N * PIXELS; i++)
			mu += x[(i / PIXELS * C + c) * PIXELS + i % PIXELS] / (N * PIXELS);
		for (int i = 0; i < N * PIXELS; i++) {
			double centred = x[(i / PIXELS * C + c) * PIXELS + i % PIXELS] - mu;
			var += centred * centred / (N * PIXELS);
		}
		for (int n = 0; n < N; n++) {
			mean[n * C + c] = 0;
			for (int i = 0; i < PIXELS; i++) {
				int at = (n * C + c) * PIXELS + i;
				double v = (x[at] - mu) / square_root(var + epsilon) * gamma[c] + beta[c] + (double)head[at];
				mean[n * C + c] += v > 0 ? v / PIXELS : 0;
			}
		}
	}
}

// ∂loss/∂y by hand is what the FP64 network is differenced against; the loss needs exp and log, so it is linearised: with
// the program's own p, the loss's change is Σ (p − [label])/N · change of the logits, to first order.
static double linear_loss(const net *t, const double *x, const double *gamma, const double *beta)
{
	double mean[N * C], sum = 0;
	const float *p = t->b.word[ls_program_find(t->b.program, "p")];
	plane_means(x, gamma, beta, t->b.word[t->head], mean);
	for (int i = 0; i < N * C; i++)
		sum += mean[i] * ((double)p[i] - (i / C % C == i % C ? 1.0 : 0.0)) / N;
	return sum;
}

// Central difference by one number of one of the three.
static double difference(const net *t, int which, int at)
{
	static double x[COUNT];
	double gamma[C], beta[C], *of[3] = {x, gamma, beta}, up, down;
	for (int i = 0; i < COUNT; i++)
		x[i] = ((const float *)t->b.word[t->x])[i];
	for (int c = 0; c < C; c++) {
		gamma[c] = ((const float *)t->b.word[t->gamma])[c];
		beta[c] = ((const float *)t->b.word[t->beta])[c];
	}
	of[which][at] += step;
	up = linear_loss(t, x, gamma, beta);
	of[which][at] -= 2 * step;
	down = linear_loss(t, x, gamma, beta);
	return (up - down) / (2 * step);
}

static double magnitude(double x)
{
	return x < 0 ? -x : x;
}

static void test_gradients(void **state)
{
	net t;
	double largest = 0, worst = 0, twin = 0;
	net_open(&t);
	for (int which = 0; which < 3; which++)
		for (int at = 0; at < (which ? C : COUNT); at++) {
			double want = difference(&t, which, at), got = bench_f32(&t.b, t.grads[which])[at];
			double shifted = bench_f32(&t.b, t.grads[which])[(at + 1) % (which ? C : COUNT)];
			largest = magnitude(want) > largest ? magnitude(want) : largest;
			worst = magnitude(got - want) > worst ? magnitude(got - want) : worst;
			twin = magnitude(shifted - want) > twin ? magnitude(shifted - want) : twin;
		}
	print_message("largest gradient %.3g, worst error %.3g, with numbers exchanged %.3g\n", largest, worst, twin);
	assert_true(largest > 0.01);
	assert_true(worst < 1e-6);
	assert_true(twin > 1e-3);
	bench_close(&t.b);
}

// Without what flows through the statistics the gradient of x is another one.
static void test_statistics_matter(void **state)
{
	net t;
	double worst = 0;
	net_open(&t);
	const ls_op *op = ls_program_op(t.b.program, ls_program_value(t.b.program, t.grads[0])->op);
	assert_string_equal(op->kind, "batch_norm_dinput");
	const float *dy = t.b.word[op->inputs[0]], *gamma = t.b.word[op->inputs[2]], *r = t.b.word[op->inputs[3]];
	for (int at = 0; at < COUNT; at++) {
		int c = at / PIXELS % C;
		double error = (double)gamma[c] * (double)r[c] * (double)dy[at] - difference(&t, 0, at);
		worst = magnitude(error) > worst ? magnitude(error) : worst;
	}
	assert_true(worst > 1e-4);
	// s₁ and s₂ are the gradients of β and γ themselves
	assert_int_equal(op->inputs[4], t.grads[2]);
	assert_int_equal(op->inputs[5], t.grads[1]);
	bench_close(&t.b);
}

// Statistics that are not those of x (running ones) have another gradient: refused.
static void test_running_statistics_are_refused(void **state)
{
	const ls_shape image = {4, {N, C, 1, 1}}, numbers = {1, {C}};
	for (int running = 0; running < 2; running++) {
		bench b;
		int grad;
		bench_open(&b, 32);
		int mean = bench_tensor(&b, "mean", numbers, 0, 1), x = bench_tensor(&b, "x", image, 0, 1);
		int labels = bench_op(&b, &(ls_op_spec){.kind = "load", .name = "in", .ints = {N, N, 0, 0, 1, 1, 1}, .int_count = 7,
		                                        .nums = {0, 1}, .num_count = 2}) + 1;
		int stats = bench_op(&b, &(ls_op_spec){.kind = "channel_stats", .name = "s", .inputs = {x}, .input_count = 1});
		int r = bench_op(&b, &(ls_op_spec){.kind = "rsqrt_eps", .name = "r", .inputs = {stats + 1}, .input_count = 1,
		                                   .nums = {epsilon}, .num_count = 1});
		int y = bench_op(&b, &(ls_op_spec){.kind = "batch_norm", .name = "y", .inputs = {x, running ? mean : stats, r, mean, mean},
		                                   .input_count = 5});
		int flat = bench_op(&b, &(ls_op_spec){.kind = "reshape", .name = "f", .inputs = {y}, .input_count = 1, .ints = {N, C},
		                                      .int_count = 2});
		int p = bench_op(&b, &(ls_op_spec){.kind = "softmax", .name = "p", .inputs = {flat}, .input_count = 1});
		int loss = bench_op(&b, &(ls_op_spec){.kind = "cross_entropy", .name = "loss", .inputs = {flat, p, p + 1, p + 2, labels},
		                                      .input_count = 5});
		ls_autodiff(b.program, loss, &x, 1, &grad);
		assert_int_equal(ls_program_failed(b.program), running);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gradients),
		cmocka_unit_test(test_statistics_matter),
		cmocka_unit_test(test_running_statistics_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
