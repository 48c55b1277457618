/* The cores of sigmoid, tanh, GELU and GELU's derivative, all of them made of σ(w) = 1/(1 + e^-w). As function_core.h:
 * no branch, no call, FP64 + - * / only, every lane the same operations.
 *
 * A plain FP64 result would be wrong for a few arguments, and for many near the zero of GELU's derivative. So values are
 * pairs, head + tail, with a head of at most 24 bits: a head times an FP32 number or another head is exact, and every
 * rounding error is one of a tail. What remains is the error of e^-|w|, below 2^-58 of it; spec/arithmetic.md, section 5,
 * adds it all up. The pair is then rounded to odd in FP64 and once more to FP32.
 */
#ifndef LS_NUM_SIGMOID_CORE_H
#define LS_NUM_SIGMOID_CORE_H

#include "num/function_core.h"

#define LS_NUM__INLINE static inline __attribute__((always_inline))

#define LS_NUM__SIGN UINT64_C(0x8000000000000000)
#define LS_NUM__SIGN_F32 UINT32_C(0x80000000)

typedef struct ls_num__pair {
	double head, tail; /* |tail| < 2^-22·|head| */
} ls_num__pair;

/* The first 24 bits, towards zero. */
LS_NUM__INLINE double ls_num__head(double x)
{
	return ls_f64_bits(ls_bits_f64(x) & ~UINT64_C(0x1fffffff));
}

/* RNE to FP32 of a + b, as if their sum were exact; |a| ≥ |b|. Where it is not an FP64 number, the neighbour with an odd
 * last bit stands for it, which lies on the same side of every FP32 number and midpoint. Never −0. */
LS_NUM__INLINE float ls_num__round_sum(double a, double b)
{
	double y = a + b, rest = b - (y - a);
	uint64_t bits = ls_bits_f64(y), below = (ls_bits_f64(rest) ^ bits) >> 63;
	uint64_t odd = (uint64_t)((ls_bits_f64(rest) & ~LS_NUM__SIGN) != 0) & ~bits & 1;
	return (float)ls_f64_bits(bits + odd - ((odd & below) << 1)) + 0.0f;
}

/* x kept within ±limit, on bit patterns; NaN becomes the limit. */
LS_NUM__INLINE float ls_num__clamp(float x, float limit)
{
	uint32_t input = ls_bits_f32(x), size = input & ~LS_NUM__SIGN_F32, most = ls_bits_f32(limit);
	return ls_f32_bits((size < most ? size : most) | (input & LS_NUM__SIGN_F32));
}

/* `y`, or the one NaN where the argument was one. */
LS_NUM__INLINE float ls_num__nan_or(float x, float y)
{
	uint32_t nan = 0u - (uint32_t)((ls_bits_f32(x) & ~LS_NUM__SIGN_F32) > UINT32_C(0x7f800000));
	return ls_f32_bits((ls_bits_f32(y) & ~nan) | (LS_NAN_BITS & nan));
}

/* e^v, v = high + low ≤ 0, as a sum of two numbers that do not overlap. −113 < high, at most 48 bits; |low| < 2^-22·|high|.
 *
 * As ls_num__exp, with r to one more power of two: n·HIGH is exact, and so is high − n·HIGH, being a multiple of
 * 2^-42 or of high's last bit, unless n = 0. The Taylor sum stops at r^6: r^7/5040 < 2^-64. */
LS_NUM__INLINE ls_num__pair ls_num__exp_pair(double high, double low)
{
	double shifted = high * LS_NUM__INVERSE_LN2_64 + LS_NUM__SHIFTER, n = shifted - LS_NUM__SHIFTER;
	double r = (high - n * LS_NUM__LN2_64_HIGH) + (low - n * LS_NUM__LN2_64_LOW), p, power, small, sum, scale;
	uint64_t bits = ls_bits_f64(shifted);
	p = 0x1.1111111111111p-7 + r * 0x1.6c16c16c16c17p-10;
	p = 0x1.5555555555555p-5 + r * p;
	p = 0x1.5555555555555p-3 + r * p;
	p = 0.5 + r * p;
	p = r + (r * r) * p;
	power = ls_num__exp_power[bits & 63];
	small = ls_num__exp_power_low[bits & 63] + power * p;
	sum = power + small;
	scale = ls_f64_bits((UINT64_C(1023) << 52) + ((bits >> 6) << 52)); /* 2^⌊n/64⌋ > 2^-164 */
	return (ls_num__pair){sum * scale, (small - (sum - power)) * scale};
}

/* σ(w), w = high + low, −113 < high < 113, bounds as above.
 *
 * With e = e^-|w| it is 1/(1 + e) or e/(1 + e). 1 + e is kept as d + c, d its head. The quotient's head q comes from an
 * FP64 division; what it leaves, N − q·(d + c), is a difference of numbers within 2^-21 of each other, exact but for the
 * parts below 2^-75, and gives the tail. */
LS_NUM__INLINE ls_num__pair ls_num__sigma(double high, double low)
{
	uint64_t sign = ls_bits_f64(high) & LS_NUM__SIGN, turn = sign ^ LS_NUM__SIGN, negative = UINT64_C(0) - (sign >> 63);
	ls_num__pair e = ls_num__exp_pair(ls_f64_bits(ls_bits_f64(high) ^ turn), ls_f64_bits(ls_bits_f64(low) ^ turn));
	double sum = 1.0 + e.head, inverse = 1.0 / sum, d = ls_num__head(sum), c = (sum - d) + (((1.0 - sum) + e.head) + e.tail);
	double numerator = ls_f64_bits((ls_bits_f64(e.head) & negative) | (ls_bits_f64(1.0) & ~negative));
	double rest = ls_f64_bits(ls_bits_f64(e.tail) & negative), q = ls_num__head(numerator * inverse);
	return (ls_num__pair){q, ((numerator - q * d) + (rest - q * c)) * inverse};
}

/* e^-110 < 2^-150 rounds to +0, and 1 − e^-110 to 1. */
LS_NUM__INLINE float ls_num__sigmoid(float x)
{
	ls_num__pair y = ls_num__sigma((double)ls_num__clamp(x, 110.0f), 0.0);
	return ls_num__nan_or(x, ls_num__round_sum(y.head, y.tail));
}

/* |x| ≥ 1/8: 1 − 2σ(−2|x|), which is 1 from 9.02 on; smaller |x|: the Taylor sum to x^17, whose next term is below 2^-65 of
 * it. The first subtraction is exact: σ's head is a multiple of 2^-53. */
LS_NUM__INLINE float ls_num__tanh(float x)
{
	uint32_t input = ls_bits_f32(x), sign = input & LS_NUM__SIGN_F32;
	double size = (double)ls_f32_bits(ls_bits_f32(ls_num__clamp(x, 10.0f)) ^ sign), square = size * size, sum;
	uint64_t small = UINT64_C(0) - (uint64_t)((input ^ sign) < UINT32_C(0x3e000000));
	ls_num__pair q = ls_num__sigma(-2.0 * size, 0.0);
	double high = 1.0 - 2.0 * q.head, low = -2.0 * q.tail;
	sum = ls_num__tanh_terms[7];
	for (int i = 6; i >= 0; i--)
		sum = ls_num__tanh_terms[i] + square * sum;
	high = ls_f64_bits((ls_bits_f64(size) & small) | (ls_bits_f64(high) & ~small));
	low = ls_f64_bits((ls_bits_f64(size * (square * sum)) & small) | (ls_bits_f64(low) & ~small));
	return ls_num__nan_or(x, ls_f32_bits(ls_bits_f32(ls_num__round_sum(high, low)) ^ sign) + 0.0f);
}

/* x·(a + b·x²), |x| ≤ 11, a and b in two parts of which a's first has 24 bits and b's 29; 1 ≤ a < 2, 0 < b < ¼.
 *
 * x² is exact. p, b's first part times the head of x², is exact too. s, the head of the sum, lies within 2^-23 of a + p, so
 * that what is left of both is exact but for 2^-75 of the sum. */
LS_NUM__INLINE ls_num__pair ls_num__cubic(double x, double a, double a_low, double b, double b_low)
{
	double square = x * x, head = ls_num__head(square), p = b * head, s = ls_num__head(a + p);
	double rest = ((a - s) + p) + ((b * (square - head) + b_low * square) + a_low);
	return (ls_num__pair){x * s, x * rest};
}

/* GELU as jobs know it: x·σ(w), w = x·(A + B·x²) = 2·√(2/π)·(x + 0.044715·x³). At x = −11 it is above −2^-150, and from 11 on
 * it rounds to x. */
#define LS_NUM__GELU_LIMIT 11.0f

LS_NUM__INLINE ls_num__pair ls_num__gelu_sigma(double x)
{
	ls_num__pair w = ls_num__cubic(x, LS_NUM__GELU_A_HIGH, LS_NUM__GELU_A_LOW, LS_NUM__GELU_B_HIGH, LS_NUM__GELU_B_LOW);
	return ls_num__sigma(w.head, w.tail);
}

LS_NUM__INLINE float ls_num__gelu(float x)
{
	uint32_t input = ls_bits_f32(x), y;
	uint32_t large = 0u - (uint32_t)(input - ls_bits_f32(LS_NUM__GELU_LIMIT) <= UINT32_C(0x7f800000) - ls_bits_f32(LS_NUM__GELU_LIMIT));
	double v = (double)ls_num__clamp(x, LS_NUM__GELU_LIMIT);
	ls_num__pair q = ls_num__gelu_sigma(v);
	y = ls_bits_f32(ls_num__round_sum(v * q.head, v * q.tail));
	return ls_num__nan_or(x, ls_f32_bits((input & large) | (y & ~large)));
}

/* A product of pairs, as a sum of two numbers of which the first is its FP64 value. */
LS_NUM__INLINE ls_num__pair ls_num__product(ls_num__pair a, ls_num__pair b)
{
	double first = a.head * b.head, rest = a.head * b.tail + a.tail * (b.head + b.tail), sum = first + rest;
	return (ls_num__pair){sum, rest - (sum - first)};
}

/* a + b as a pair; |a| ≥ |b|. */
LS_NUM__INLINE ls_num__pair ls_num__split(double a, double b)
{
	double head = ls_num__head(a);
	return (ls_num__pair){head, (a - head) + b};
}

/* 1 − σ. σ's head has 24 bits, but of any size: the subtraction needs its rounding error. */
LS_NUM__INLINE ls_num__pair ls_num__complement(ls_num__pair q)
{
	double t = 1.0 - q.head;
	return ls_num__split(t, ((1.0 - t) - q.head) - q.tail);
}

/* The derivative of x·σ(w): σ + x·w′·σ·(1 − σ) = σ·(1 + m·(1 − σ)), m = x·w′ = x·(A + 3B·x²).
 *
 * The second factor z has a zero, near x = −0.7525. No FP32 number comes closer than 2^-27 to it, where 1 + m·(1 − σ) is an
 * exact subtraction of a product that is off by less than 2^-57. */
LS_NUM__INLINE float ls_num__gelu_slope(float x)
{
	double v = (double)ls_num__clamp(x, LS_NUM__GELU_LIMIT), t, error;
	ls_num__pair q = ls_num__gelu_sigma(v), m, z, y;
	m = ls_num__cubic(v, LS_NUM__GELU_A_HIGH, LS_NUM__GELU_A_LOW, LS_NUM__GELU_3B_HIGH, LS_NUM__GELU_3B_LOW);
	z = ls_num__product(ls_num__split(m.head, m.tail), ls_num__complement(q));
	t = 1.0 + z.head;
	error = (1.0 - (t - (t - 1.0))) + (z.head - (t - 1.0));
	y = ls_num__product(q, ls_num__split(t, error + z.tail));
	return ls_num__nan_or(x, ls_num__round_sum(y.head, y.tail));
}

#endif
