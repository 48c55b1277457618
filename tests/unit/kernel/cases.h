/* Random products of every kind of operand, for tests of whoever computes products. */
#ifndef LS_TEST_KERNEL_CASES_H
#define LS_TEST_KERNEL_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <lockstep/kernel.h>

/* A stream with its place: what a case is drawn from. */
typedef struct random_source {
	ls_stream stream;
	uint64_t at;
} random_source;

static inline random_source random_from(uint32_t seed)
{
	return (random_source){{.seed = seed, .purpose = LS_PURPOSE_TEST, .step = 0}, 0};
}

static inline int64_t draw(random_source *r, int64_t low, int64_t high)
{
	return low + ls_random_below(&r->stream, r->at++, (uint32_t)(high - low + 1));
}

typedef enum values { NORMAL, INTEGERS, CANCELLING, WIDE, SPECIAL, VALUE_KINDS } values;

static inline float draw_value(random_source *r, values kind)
{
	float v = (float)(ls_random_uniform(&r->stream, r->at++) * 2 - 1);
	uint32_t bits = ls_random_u32(&r->stream, r->at++);
	switch (kind) {
	case INTEGERS: return (float)draw(r, -3, 3);
	case WIDE: // any exponent, subnormals among them
		bits = (bits & UINT32_C(0x7f800000)) > UINT32_C(0x7e800000) ? bits & UINT32_C(0x803fffff) : bits;
		return ls_round_f32(ls_f32_bits(bits), 32);
	case SPECIAL:
		if (bits % 97 < 2)
			return ls_f32_bits(bits % 97 ? UINT32_C(0x7f800000) : LS_NAN_BITS);
		return v;
	default: return ls_round_f32(v, 32);
	}
}

typedef struct product_case {
	ls_product product;
	values kind;
	int64_t a_count, b_count, out_count;
	float *a, *b, *bias, *out;
} product_case;

static inline void case_matmul(product_case *c, random_source *r, int64_t m, int64_t n, int64_t k)
{
	bool ta = draw(r, 0, 1), tb = draw(r, 0, 1), turned = draw(r, 0, 3) == 0;
	ls_product *p = &c->product;
	*p = (ls_product){.rows = m, .columns = n, .terms = k, .bias = (ls_bias)draw(r, 0, 2)};
	p->a = (ls_operand){.kind = LS_OPERAND_STRIDED, .row_stride = ta ? 1 : k, .inner = k, .inner_stride = ta ? m : 1};
	p->b = (ls_operand){.kind = LS_OPERAND_STRIDED, .row_stride = tb ? 1 : k, .inner = k, .inner_stride = tb ? n : 1};
	p->row_stride = turned ? 1 : n;
	p->inner = n;
	p->inner_stride = turned ? m : 1;
	c->a_count = m * k;
	c->b_count = n * k;
	c->out_count = m * n;
}

/* Three-index layouts on both sides and in the output: row r, outer o, inner i at (o, r, i). */
static inline void case_outer(product_case *c, random_source *r, int64_t m, int64_t n_inner, int64_t n_outer,
                              int64_t k_inner, int64_t k_outer)
{
	int64_t n = n_inner * n_outer, k = k_inner * k_outer;
	ls_product *p = &c->product;
	*p = (ls_product){.rows = m, .columns = n, .terms = k, .bias = (ls_bias)draw(r, 0, 2)};
	p->a = (ls_operand){.kind = LS_OPERAND_STRIDED, .row_stride = k_inner, .inner = k_inner,
	                    .outer_stride = m * k_inner, .inner_stride = 1};
	p->b = (ls_operand){.kind = LS_OPERAND_STRIDED, .row_stride = 1, .inner = k_inner, .outer_stride = n,
	                    .inner_stride = n * k_outer};
	p->row_stride = p->inner = n_inner;
	p->outer_stride = m * n_inner;
	p->inner_stride = 1;
	c->a_count = m * k;
	c->b_count = n * k;
	c->out_count = m * n;
}

/* A convolution: images × in × h × w, kernels out × in × kh × kw. */
typedef struct conv_shape {
	int64_t images, in, out, h, w, kh, kw, stride, pad;
} conv_shape;

/* direction 0: forward, 1: gradient of the input, 2: gradient of the weights */
static inline void case_conv_of(product_case *c, random_source *r, int direction, const conv_shape *s)
{
	int64_t images = s->images, in = s->in, out = s->out, h = s->h, w = s->w, kh = s->kh, kw = s->kw, stride = s->stride, pad = s->pad;
	int64_t oh = (h + 2 * pad - kh) / stride + 1, ow = (w + 2 * pad - kw) / stride + 1, taps = kh * kw;
	ls_patches forward = {in, h, w, kh, kw, oh, ow, stride, -pad, 1, 1, 0};
	ls_patches back = {out, oh, ow, kh, kw, h, w, 1, pad, -1, stride, 0};
	ls_product *p = &c->product;
	if (direction == 0) {
		*p = (ls_product){.rows = out, .columns = images * oh * ow, .terms = in * taps};
		p->bias = draw(r, 0, 1) ? LS_BIAS_ROW : LS_BIAS_NONE;
		p->a = (ls_operand){.kind = LS_OPERAND_STRIDED, .row_stride = in * taps, .inner = in * taps, .inner_stride = 1};
		p->b = (ls_operand){.kind = LS_OPERAND_PATCHES, .patches = forward};
		p->row_stride = p->inner = oh * ow;
		p->outer_stride = out * oh * ow;
	} else if (direction == 1) {
		*p = (ls_product){.rows = in, .columns = images * h * w, .terms = out * taps};
		p->a = (ls_operand){.kind = LS_OPERAND_STRIDED, .row_stride = taps, .inner = taps, .outer_stride = in * taps,
		                    .inner_stride = 1};
		p->b = (ls_operand){.kind = LS_OPERAND_PATCHES, .patches = back};
		p->row_stride = p->inner = h * w;
		p->outer_stride = in * h * w;
	} else {
		*p = (ls_product){.rows = out, .columns = in * taps, .terms = images * oh * ow};
		p->a = (ls_operand){.kind = LS_OPERAND_STRIDED, .row_stride = oh * ow, .inner = oh * ow,
		                    .outer_stride = out * oh * ow, .inner_stride = 1};
		p->b = (ls_operand){.kind = LS_OPERAND_PATCHES_T, .patches = forward};
		p->row_stride = p->inner = in * taps;
	}
	p->inner_stride = 1;
	c->a_count = direction == 2 ? images * out * oh * ow : in * out * taps;
	c->b_count = images * (direction == 1 ? out * oh * ow : in * h * w);
	c->out_count = p->rows * p->columns;
}

static inline void case_conv(product_case *c, random_source *r, int direction, int64_t images, int64_t in, int64_t out)
{
	conv_shape s = {.images = images, .in = in, .out = out, .kh = draw(r, 1, 4), .kw = draw(r, 1, 4)};
	s.stride = draw(r, 1, 3);
	s.pad = draw(r, 0, (s.kh < s.kw ? s.kh : s.kw) - 1);
	s.h = s.kh + draw(r, 0, 9);
	s.w = s.kw + draw(r, 0, 12);
	case_conv_of(c, r, direction, &s);
}

static inline void case_fill(product_case *c, random_source *r)
{
	const ls_product *p = &c->product;
	int64_t biases = p->bias == LS_BIAS_ROW ? p->rows : p->columns;
	c->a = ls_alloc((size_t)c->a_count, sizeof(float));
	c->b = ls_alloc((size_t)c->b_count, sizeof(float));
	c->bias = ls_alloc((size_t)biases, sizeof(float));
	c->out = ls_alloc((size_t)c->out_count, sizeof(float));
	assert_true(c->a && c->b && c->bias && c->out);
	for (int64_t i = 0; i < c->a_count; i++)
		c->a[i] = draw_value(r, c->kind);
	for (int64_t i = 0; i < c->b_count; i++)
		c->b[i] = draw_value(r, c->kind);
	for (int64_t i = 0; i < biases; i++)
		c->bias[i] = draw_value(r, c->kind);
	if (c->kind != CANCELLING || p->a.kind != LS_OPERAND_STRIDED)
		return;
	for (int64_t k = 0; k + 1 < p->terms; k += 2) // neighbouring terms nearly cancel
		for (int64_t i = 0; i < p->rows; i++)
			c->a[ls_operand_index(&p->a, i, k + 1)] = -c->a[ls_operand_index(&p->a, i, k)];
	for (int64_t j = 0; j < p->columns; j++)
		for (int64_t k = 0; k + 1 < p->terms && p->b.kind == LS_OPERAND_STRIDED; k += 2) {
			float near = c->b[ls_operand_index(&p->b, j, k)];
			c->b[ls_operand_index(&p->b, j, k + 1)] = draw(r, 0, 3) ? near : ls_f32_bits(ls_bits_f32(near) ^ 1);
		}
}

/* A case of moderate size; everything follows from the seed. */
static inline product_case case_random(uint32_t seed)
{
	random_source r = random_from(seed);
	product_case c = {0};
	int64_t shape = draw(&r, 0, 7);
	c.kind = (values)draw(&r, 0, VALUE_KINDS - 1);
	if (shape < 3)
		case_matmul(&c, &r, draw(&r, 1, 40), draw(&r, 1, 40), draw(&r, 1, shape ? 90 : 700));
	else if (shape == 3)
		case_outer(&c, &r, draw(&r, 1, 20), draw(&r, 1, 20), draw(&r, 1, 3), draw(&r, 1, 150), draw(&r, 1, 4));
	else
		case_conv(&c, &r, (int)draw(&r, 0, 2), draw(&r, 1, 4), draw(&r, 1, 12), draw(&r, 1, 20));
	case_fill(&c, &r);
	return c;
}

static inline void case_free(product_case *c)
{
	ls_free(c->a);
	ls_free(c->b);
	ls_free(c->bias);
	ls_free(c->out);
}

/* A depth for which t exceeds |C|: every element with a sum that matters is flagged, and so shows its FP64 bits. */
#define DEPTH_FLAGS_ALL (INT64_C(1) << 54)

static inline ls_product_call case_call(const product_case *c, ls_flag_list *flags)
{
	return (ls_product_call){.product = &c->product, .a = c->a, .b = c->b,
	                         .bias = c->product.bias == LS_BIAS_NONE ? NULL : c->bias, .out = c->out, .bits = 32,
	                         .bound = ls_bound_fp64(ls_depth_default(ls_product_all_terms(&c->product))), .test = true,
	                         .sample = -1, .flags = flags};
}

/* The same in FP32. On grid 32 its bound flags every element with a sum that matters. */
static inline ls_product_call case_call_fp32(const product_case *c, ls_flag_list *flags, int bits)
{
	ls_product_call call = case_call(c, flags);
	call.fp32 = true;
	call.bound = ls_bound_fp32(ls_product_all_terms(&c->product));
	call.bits = bits;
	return call;
}

static inline void case_sum(const product_case *c, int64_t i, int64_t j, ls_sum *sum)
{
	const ls_product *p = &c->product;
	ls_sum_init(sum);
	for (int64_t k = 0; k < p->terms; k++) {
		int64_t a = ls_operand_index(&p->a, i, k), b = ls_operand_index(&p->b, j, k);
		if (a >= 0 && b >= 0)
			ls_sum_add(sum, c->a[a], c->b[b]);
	}
	if (p->bias != LS_BIAS_NONE)
		ls_sum_add(sum, c->bias[p->bias == LS_BIAS_ROW ? i : j], 1);
}

/* Checks a finished call against exact sums: unflagged elements are R(E); flagged ones are R(C), and C is within the
 * certified bound. */
static inline void case_check_exact(const product_case *c, const ls_product_call *call)
{
	const ls_flag_list *flags = call->flags;
	int64_t terms = ls_product_all_terms(&c->product);
	ls_bound bound = call->fp32 ? ls_bound_fp32(terms) : ls_bound_fp64(ls_depth_default(terms));
	size_t at = 0;
	int64_t *row = ls_alloc((size_t)c->out_count, sizeof *row);
	int64_t *column = ls_alloc((size_t)c->out_count, sizeof *column);
	for (int64_t i = 0; i < c->product.rows; i++)
		for (int64_t j = 0; j < c->product.columns; j++) {
			int64_t index = ls_product_out_index(&c->product, i, j);
			row[index] = i;
			column[index] = j;
		}
	for (int64_t index = 0; index < c->out_count; index++) {
		ls_sum sum;
		case_sum(c, row[index], column[index], &sum);
		if (at < flags->count && flags->flag[at].index == index) {
			double sum64 = flags->flag[at++].c;
			bool overflown = call->fp32 && !(sum64 - sum64 == 0); // a chunk may
			assert_int_equal(ls_bits_f32(call->out[index]), ls_bits_f32(ls_round_f64(sum64, call->bits)));
			assert_true(sum.non_finite || c->kind == SPECIAL || overflown || ls_sum_within(&sum, sum64, bound, call->bits));
		} else {
			assert_false(sum.non_finite);
			assert_int_equal(ls_bits_f32(call->out[index]), ls_bits_f32(ls_sum_round(&sum, call->bits)));
		}
	}
	assert_int_equal(at, flags->count);
	ls_free(row);
	ls_free(column);
}

#endif
