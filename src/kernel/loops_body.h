/* The text of the loops, for loops_portable.c, loops_avx2.c and loops_avx512.c, each of which includes it once. No branch in
 * a loop: choices are masks over bit patterns, because compilers do not vectorise choices between floats reliably.
 */
#ifndef LS_KERNEL_LOOPS_BODY_H
#define LS_KERNEL_LOOPS_BODY_H

#include <lockstep/num.h>

#include "kernel/loops.h"
#include "num/sigmoid_core.h"

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 16 };

/* ---- rounding ---- */

INLINE float one_nan(float v)
{
	uint32_t bits = ls_bits_f32(v), nan = 0u - (uint32_t)((bits & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000));
	return ls_f32_bits((bits & ~nan) | (LS_NAN_BITS & nan));
}

/* As ls_num__round_f64 does it (grid.c), both of its cases at once. A magnitude that carries to 2^128 becomes inf in the
 * conversion; so does inf, whose low bits are zero. */
INLINE float round_coarse(double x, int bits)
{
	uint64_t u = ls_bits_f64(x), magnitude = u & UINT64_C(0x7fffffffffffffff), drop = (uint64_t)(61 - bits);
	uint64_t even = magnitude >> drop & 1, below = (UINT64_C(1) << (drop - 1)) - 1;
	uint64_t small = UINT64_C(0) - (uint64_t)(magnitude < UINT64_C(0x3810000000000000)); /* 2^-126 */
	uint64_t nan = UINT64_C(0) - (uint64_t)(magnitude > UINT64_C(0x7ff0000000000000));
	double shift = 1.5 * ls_f64_bits((uint64_t)(52 - 117 - bits + 1023) << 52);
	uint64_t normal = (u & ~magnitude) | ((magnitude + below + even) & ~(below * 2 + 1));
	uint64_t subnormal = ls_bits_f64((x + shift) - shift);
	normal = (normal & ~nan) | (UINT64_C(0x7ff8000000000000) & nan);
	return one_nan((float)ls_f64_bits((subnormal & small) | (normal & ~small)) + 0.0f);
}

/* `bits` is a constant where it is 32: each loop is expanded for FP32 and for all other grids. */
INLINE float round_to(double x, int bits)
{
	return bits == 32 ? one_nan((float)x + 0.0f) : round_coarse(x, bits);
}

/* `v` where `keep`, else +0. */
INLINE float only_if(bool keep, float v)
{
	return ls_f32_bits(ls_bits_f32(v) & (0u - (uint32_t)keep));
}

/* ---- blocks of rsum: sixteen accumulators ---- */

INLINE double join(double *lane)
{
	for (int width = LANES / 2; width > 0; width /= 2)
		for (int l = 0; l < width; l++)
			lane[l] += lane[l + width];
	return lane[0];
}

static double sum(const float *x, int64_t n)
{
	double lane[LANES] = {0};
	int64_t i = 0;
	for (; i + LANES <= n; i += LANES)
		for (int l = 0; l < LANES; l++)
			lane[l] += (double)x[i + l];
	for (int l = 0; i + l < n; l++)
		lane[l] += (double)x[i + l];
	return join(lane);
}

INLINE double square(float x, double mean)
{
	double c = (double)(float)((double)x - mean);
	return c * c;
}

static double squares(const float *x, int64_t n, double mean)
{
	double lane[LANES] = {0};
	int64_t i = 0;
	for (; i + LANES <= n; i += LANES)
		for (int l = 0; l < LANES; l++)
			lane[l] += square(x[i + l], mean);
	for (int l = 0; i + l < n; l++)
		lane[l] += square(x[i + l], mean);
	return join(lane);
}

static double dot(const float *a, const float *b, int64_t n)
{
	double lane[LANES] = {0};
	int64_t i = 0;
	for (; i + LANES <= n; i += LANES)
		for (int l = 0; l < LANES; l++)
			lane[l] += (double)a[i + l] * (double)b[i + l];
	for (int l = 0; i + l < n; l++)
		lane[l] += (double)a[i + l] * (double)b[i + l];
	return join(lane);
}

static double dot3(const float *a, const float *b, const float *c, int64_t n)
{
	double lane[LANES] = {0};
	int64_t i = 0;
	for (; i + LANES <= n; i += LANES)
		for (int l = 0; l < LANES; l++)
			lane[l] += (double)a[i + l] * (double)b[i + l] * (double)c[i + l];
	for (int l = 0; i + l < n; l++)
		lane[l] += (double)a[i + l] * (double)b[i + l] * (double)c[i + l];
	return join(lane);
}

/* ---- element by element; ivdep: an output lies over an input exactly or not at all ---- */

INLINE void add_to(float *out, const float *a, const float *b, int64_t n, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		out[i] = round_to((double)a[i] + (double)b[i], bits);
}

static void add(float *out, const float *a, const float *b, int64_t n, int bits)
{
	if (bits == 32)
		add_to(out, a, b, n, 32);
	else
		add_to(out, a, b, n, bits);
}

INLINE void relu_to(float *out, const float *x, int64_t n, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		out[i] = round_to((double)only_if(!(x[i] <= 0), x[i]), bits);
}

static void relu(float *out, const float *x, int64_t n, int bits)
{
	if (bits == 32)
		relu_to(out, x, n, 32);
	else
		relu_to(out, x, n, bits);
}

INLINE void relu_grad_to(float *dx, const float *dy, const float *y, int64_t n, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		dx[i] = round_to((double)only_if(y[i] > 0, dy[i]), bits);
}

static void relu_grad(float *dx, const float *dy, const float *y, int64_t n, int bits)
{
	if (bits == 32)
		relu_grad_to(dx, dy, y, n, 32);
	else
		relu_grad_to(dx, dy, y, n, bits);
}

INLINE void tanh_to(float *out, const float *x, int64_t n, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		out[i] = round_to((double)ls_num__tanh(x[i]), bits);
}

static void tanh_of(float *out, const float *x, int64_t n, int bits)
{
	if (bits == 32)
		tanh_to(out, x, n, 32);
	else
		tanh_to(out, x, n, bits);
}

INLINE void sigmoid_to(float *out, const float *x, int64_t n, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		out[i] = round_to((double)ls_num__sigmoid(x[i]), bits);
}

static void sigmoid_of(float *out, const float *x, int64_t n, int bits)
{
	if (bits == 32)
		sigmoid_to(out, x, n, 32);
	else
		sigmoid_to(out, x, n, bits);
}

INLINE void gelu_to(float *out, const float *x, int64_t n, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		out[i] = round_to((double)ls_num__gelu(x[i]), bits);
}

static void gelu_of(float *out, const float *x, int64_t n, int bits)
{
	if (bits == 32)
		gelu_to(out, x, n, 32);
	else
		gelu_to(out, x, n, bits);
}

INLINE void tanh_grad_to(float *dx, const float *dy, const float *y, int64_t n, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		dx[i] = round_to((double)dy[i] * (1.0 - (double)y[i] * (double)y[i]), bits);
}

static void tanh_grad(float *dx, const float *dy, const float *y, int64_t n, int bits)
{
	if (bits == 32)
		tanh_grad_to(dx, dy, y, n, 32);
	else
		tanh_grad_to(dx, dy, y, n, bits);
}

INLINE void sigmoid_grad_to(float *dx, const float *dy, const float *y, int64_t n, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		dx[i] = round_to((double)dy[i] * ((double)y[i] * (1.0 - (double)y[i])), bits);
}

static void sigmoid_grad(float *dx, const float *dy, const float *y, int64_t n, int bits)
{
	if (bits == 32)
		sigmoid_grad_to(dx, dy, y, n, 32);
	else
		sigmoid_grad_to(dx, dy, y, n, bits);
}

INLINE void gelu_grad_to(float *dx, const float *dy, const float *x, int64_t n, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		dx[i] = round_to((double)dy[i] * (double)ls_num__gelu_slope(x[i]), bits);
}

static void gelu_grad(float *dx, const float *dy, const float *x, int64_t n, int bits)
{
	if (bits == 32)
		gelu_grad_to(dx, dy, x, n, 32);
	else
		gelu_grad_to(dx, dy, x, n, bits);
}

INLINE void batch_norm_to(float *y, float *normal, const float *x, int64_t n, const ls_norm_loop *c, int bits)
{
	double mean = c->mean, r = c->r, gamma = c->gamma, beta = c->beta;
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++) {
		float v = round_to(((double)x[i] - mean) * r, bits);
		normal[i] = v;
		y[i] = round_to((double)v * gamma + beta, bits);
	}
}

static void batch_norm(float *y, float *normal, const float *x, int64_t n, const ls_norm_loop *c, int bits)
{
	if (bits == 32)
		batch_norm_to(y, normal, x, n, c, 32);
	else
		batch_norm_to(y, normal, x, n, c, bits);
}

INLINE void batch_norm_dinput_to(float *dx, const float *dy, const float *normal, int64_t n, const ls_norm_loop *c, int bits)
{
	double scale = c->scale, even = c->even, slope = c->slope;
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		dx[i] = round_to(scale * (((double)dy[i] - even) - (double)normal[i] * slope), bits);
}

static void batch_norm_dinput(float *dx, const float *dy, const float *normal, int64_t n, const ls_norm_loop *c, int bits)
{
	if (bits == 32)
		batch_norm_dinput_to(dx, dy, normal, n, c, 32);
	else
		batch_norm_dinput_to(dx, dy, normal, n, c, bits);
}

INLINE void sgd_plain(float *next, const float *w, const float *g, int64_t n, const ls_sgd_loop *s, int bits)
{
	double lr = s->lr, decay = s->decay;
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++) {
		double v = round_to((double)g[i] + decay * (double)w[i], bits);
		next[i] = round_to((double)w[i] - lr * v, bits);
	}
}

INLINE void sgd_momentum(float *next, float *next_m, const float *w, const float *g, const float *m, int64_t n,
                         const ls_sgd_loop *s, int bits, bool nesterov)
{
	double lr = s->lr, decay = s->decay, momentum = s->momentum;
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++) {
		double weight = w[i], gradient = round_to((double)g[i] + decay * weight, bits);
		float moved = round_to(momentum * (double)m[i] + gradient, bits);
		double v = nesterov ? gradient + momentum * (double)moved : (double)moved;
		next[i] = round_to(weight - lr * v, bits);
		next_m[i] = moved;
	}
}

static void sgd(float *next, float *next_m, const float *w, const float *g, const float *m, int64_t n, const ls_sgd_loop *s,
                int bits)
{
	if (!m && bits == 32)
		sgd_plain(next, w, g, n, s, 32);
	else if (!m)
		sgd_plain(next, w, g, n, s, bits);
	else if (s->nesterov)
		sgd_momentum(next, next_m, w, g, m, n, s, bits, true);
	else if (bits == 32)
		sgd_momentum(next, next_m, w, g, m, n, s, 32, false);
	else
		sgd_momentum(next, next_m, w, g, m, n, s, bits, false);
}

INLINE void scale_to(float *out, const float *x, int64_t n, double factor, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		out[i] = round_to((double)x[i] * factor, bits);
}

static void scale(float *out, const float *x, int64_t n, double factor, int bits)
{
	if (bits == 32)
		scale_to(out, x, n, factor, 32);
	else
		scale_to(out, x, n, factor, bits);
}

INLINE void layer_norm_to(float *y, float *normal, const float *x, int64_t n, const ls_layer_norm_loop *c, int bits)
{
	double mean = c->mean, r = c->r;
	const float *gamma = c->gamma, *beta = c->beta;
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++) {
		float v = round_to(((double)x[i] - mean) * r, bits);
		normal[i] = v;
		y[i] = round_to((double)v * (double)gamma[i] + (double)beta[i], bits);
	}
}

static void layer_norm(float *y, float *normal, const float *x, int64_t n, const ls_layer_norm_loop *c, int bits)
{
	if (bits == 32)
		layer_norm_to(y, normal, x, n, c, 32);
	else
		layer_norm_to(y, normal, x, n, c, bits);
}

INLINE void layer_norm_dinput_to(float *dx, const float *dy, const float *normal, int64_t n, const ls_layer_norm_loop *c, int bits)
{
	double r = c->r, even = c->even, slope = c->slope;
	const float *gamma = c->gamma;
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		dx[i] = round_to(r * (((double)dy[i] * (double)gamma[i] - even) - (double)normal[i] * slope), bits);
}

static void layer_norm_dinput(float *dx, const float *dy, const float *normal, int64_t n, const ls_layer_norm_loop *c, int bits)
{
	if (bits == 32)
		layer_norm_dinput_to(dx, dy, normal, n, c, 32);
	else
		layer_norm_dinput_to(dx, dy, normal, n, c, bits);
}

INLINE void adam_to(const ls_adam_places *p, int64_t n, const ls_adam *a, int bits, bool decoupled)
{
	double lr = a->lr, b1 = a->beta1, b2 = a->beta2, c1 = 1.0 - a->beta1, c2 = 1.0 - a->beta2, epsilon = a->epsilon;
	double decay = a->decay, unbias1 = a->unbias1, unbias2 = a->unbias2;
	float *next = p->next, *next_m = p->next_m, *next_v = p->next_v;
	const float *ws = p->w, *gs = p->g, *ms = p->m, *vs = p->v;
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++) {
		double w = ws[i], g = gs[i], u;
		float m, v;
		if (!decoupled)
			g = round_to(g + decay * w, bits);
		m = round_to(b1 * (double)ms[i] + c1 * g, bits);
		v = round_to(b2 * (double)vs[i] + c2 * (g * g), bits);
		u = (double)m / unbias1 / (__builtin_sqrt((double)v / unbias2) + epsilon);
		next[i] = round_to(w - lr * (decoupled ? u + decay * w : u), bits);
		next_m[i] = m;
		next_v[i] = v;
	}
}

static void adam(const ls_adam_places *p, int64_t n, const ls_adam *a, int bits)
{
	if (bits == 32 && a->decoupled)
		adam_to(p, n, a, 32, true);
	else if (bits == 32)
		adam_to(p, n, a, 32, false);
	else
		adam_to(p, n, a, bits, a->decoupled);
}

/* ---- softmax ---- */

/* On integers, in the order of the numbers that they are, for which compilers know a vector maximum. */
static float largest(const float *x, int64_t n)
{
	int32_t most = INT32_MIN;
	uint32_t nan = 0;
	for (int64_t i = 0; i < n; i++) {
		uint32_t u = ls_bits_f32(x[i]);
		int32_t key = (int32_t)(u ^ (0u - (u >> 31)) >> 1);
		most = key > most ? key : most;
		nan |= (u & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000);
	}
	return ls_f32_bits(nan ? LS_NAN_BITS : (uint32_t)most ^ (0u - ((uint32_t)most >> 31)) >> 1);
}

static void exp_below(float *out, const float *x, int64_t n, double m)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		out[i] = ls_num__exp((float)((double)x[i] - m));
}

INLINE void divide_to(float *out, const float *x, int64_t n, double by, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		out[i] = round_to((double)x[i] / by, bits);
}

static void divide(float *out, const float *x, int64_t n, double by, int bits)
{
	if (bits == 32)
		divide_to(out, x, n, by, 32);
	else
		divide_to(out, x, n, by, bits);
}

INLINE void softmax_grad_to(float *dz, const float *dp, const float *p, int64_t n, double dot, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		dz[i] = round_to((double)p[i] * ((double)dp[i] - dot), bits);
}

static void softmax_grad(float *dz, const float *dp, const float *p, int64_t n, double dot, int bits)
{
	if (bits == 32)
		softmax_grad_to(dz, dp, p, n, dot, 32);
	else
		softmax_grad_to(dz, dp, p, n, dot, bits);
}

/* ---- dropout: sixteen blocks of Philox 4x32-10 side by side ---- */

INLINE void philox16(uint32_t word[4][LANES], uint32_t k0, uint32_t k1)
{
	for (int round = 0; round < 10; round++, k0 += UINT32_C(0x9e3779b9), k1 += UINT32_C(0xbb67ae85))
		for (int l = 0; l < LANES; l++) {
			uint64_t p0 = UINT64_C(0xd2511f53) * word[0][l], p1 = UINT64_C(0xcd9e8d57) * word[2][l];
			uint32_t w0 = (uint32_t)(p1 >> 32) ^ word[1][l] ^ k0, w2 = (uint32_t)(p0 >> 32) ^ word[3][l] ^ k1;
			word[1][l] = (uint32_t)p1;
			word[3][l] = (uint32_t)p0;
			word[0][l] = w0;
			word[2][l] = w2;
		}
}

/* keep[i]: is the element `i` places behind number `first` kept? 4·LANES of them. */
INLINE void draw_kept(bool *keep, const ls_dropout *d, uint64_t first)
{
	uint32_t word[4][LANES];
	for (int l = 0; l < LANES; l++) {
		uint64_t block = first / 4 + (uint64_t)l;
		word[0][l] = (uint32_t)block;
		word[1][l] = (uint32_t)(block >> 32);
		word[2][l] = (uint32_t)d->stream.step;
		word[3][l] = (uint32_t)(d->stream.step >> 32);
	}
	philox16(word, d->stream.seed, d->stream.purpose);
	for (int l = 0; l < LANES; l++)
		for (int w = 0; w < 4; w++)
			keep[4 * l + w] = word[w][l] < d->below;
}

INLINE void dropout_to(float *out, const float *x, int64_t n, const ls_dropout *d, int bits)
{
	bool keep[4 * LANES];
	double factor = d->scale;
	int64_t skip = (int64_t)(d->first % 4), count; // numbers before the first one in its block of four
	for (int64_t i = 0; i < n; i += count, skip = 0) {
		count = n - i < 4 * LANES - skip ? n - i : 4 * LANES - skip;
		draw_kept(keep, d, d->first + (uint64_t)i - (uint64_t)skip);
#pragma GCC ivdep
		for (int64_t k = 0; k < count; k++)
			out[i + k] = only_if(keep[skip + k], round_to((double)x[i + k] * factor, bits));
	}
}

static void dropout(float *out, const float *x, int64_t n, const ls_dropout *d, int bits)
{
	if (bits == 32)
		dropout_to(out, x, n, d, 32);
	else
		dropout_to(out, x, n, d, bits);
}

/* ---- 2×2 windows ---- */

/* Does v take the place of the maximum m so far? All ones where it does. */
INLINE uint32_t exceeds(float v, float m)
{
	return 0u - (uint32_t)((v > m) | ((v != v) & (m == m)));
}

INLINE float choose(uint32_t second, float first, float v)
{
	return ls_f32_bits((ls_bits_f32(first) & ~second) | (ls_bits_f32(v) & second));
}

INLINE void max2x2_to(float *out, const float *x0, const float *x1, int64_t n, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++) {
		float m = x0[2 * i];
		m = choose(exceeds(x0[2 * i + 1], m), m, x0[2 * i + 1]);
		m = choose(exceeds(x1[2 * i], m), m, x1[2 * i]);
		m = choose(exceeds(x1[2 * i + 1], m), m, x1[2 * i + 1]);
		out[i] = round_to((double)m, bits);
	}
}

static void max2x2(float *out, const float *x0, const float *x1, int64_t n, int bits)
{
	if (bits == 32)
		max2x2_to(out, x0, x1, n, 32);
	else
		max2x2_to(out, x0, x1, n, bits);
}

INLINE void max2x2_grad_to(float *restrict dx0, float *restrict dx1, const float *dy, const float *x0, const float *x1,
                           int64_t n, int bits)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++) {
		float m = x0[2 * i];
		uint32_t b = exceeds(x0[2 * i + 1], m), c, d, g = ls_bits_f32(round_to((double)dy[i], bits));
		m = choose(b, m, x0[2 * i + 1]);
		c = exceeds(x1[2 * i], m);
		m = choose(c, m, x1[2 * i]);
		d = exceeds(x1[2 * i + 1], m);
		dx0[2 * i] = ls_f32_bits(g & ~(b | c | d));
		dx0[2 * i + 1] = ls_f32_bits(g & b & ~(c | d));
		dx1[2 * i] = ls_f32_bits(g & c & ~d);
		dx1[2 * i + 1] = ls_f32_bits(g & d);
	}
}

static void max2x2_grad(float *dx0, float *dx1, const float *dy, const float *x0, const float *x1, int64_t n, int bits)
{
	if (bits == 32)
		max2x2_grad_to(dx0, dx1, dy, x0, x1, n, 32);
	else
		max2x2_grad_to(dx0, dx1, dy, x0, x1, n, bits);
}

static const ls_loops loops_here = {
	.sum = sum, .squares = squares, .dot = dot, .dot3 = dot3, .add = add, .scale = scale, .relu = relu, .relu_grad = relu_grad,
	.tanh = tanh_of, .sigmoid = sigmoid_of, .gelu = gelu_of, .tanh_grad = tanh_grad, .sigmoid_grad = sigmoid_grad,
	.gelu_grad = gelu_grad, .layer_norm = layer_norm, .layer_norm_dinput = layer_norm_dinput, .adam = adam,
	.largest = largest, .exp_below = exp_below, .divide = divide, .softmax_grad = softmax_grad,
	.dropout = dropout, .batch_norm = batch_norm,
	.batch_norm_dinput = batch_norm_dinput, .sgd = sgd, .max2x2 = max2x2, .max2x2_grad = max2x2_grad,
};

#endif
