/* The cores of the functions of one FP32 argument, inline so that a kernel can run them over an array and let the
 * compiler vectorise: no branch, no call, table look-ups by masked index, FP64 + - * only. Every vector width gives
 * the bits of the scalar form because each lane performs the same IEEE operations; a*b+c must stay two of them.
 */
#ifndef LS_NUM_FUNCTION_CORE_H
#define LS_NUM_FUNCTION_CORE_H

#include <lockstep/base.h>
#include <lockstep/num.h>

#include "num/function_tables.h"

#ifdef __FAST_MATH__
#error "fast-math changes the bits that Lockstep defines"
#endif

/* Added to |v| < 2^50 it leaves the nearest integer (ties to even) in the low mantissa bits. */
#define LS_NUM__SHIFTER 0x1.8p52

/* e^x to FP32, correctly rounded for every FP32 x.
 *
 * x = n·(ln 2)/64 + r, |r| < 0.0055; e^x = 2^(n/64)·(1 + (e^r − 1)), the second factor by its Taylor sum to r^5.
 * n·HIGH is exact (14 + 36 bits), and so is x − n·HIGH: both are multiples of 2^-42 unless n = 0. The FP64 result is
 * off by less than 2^-51 of its size and is never subnormal in FP64; so the one conversion does gradual underflow and
 * overflow correctly. That no input lies so close to an FP32 rounding boundary that this error matters has been
 * checked for all 2^32 of them.
 */
static inline float ls_num__exp(float x)
{
	const uint32_t sign = UINT32_C(0x80000000), limit = UINT32_C(0x42dc0000); /* 110 */
	uint32_t input = ls_bits_f32(x), size = input & ~sign, nan = 0u - (uint32_t)(size > UINT32_C(0x7f800000)), y;
	/* Clamping to ±110 changes nothing: e^-110 < 2^-150 rounds to +0 and e^110 > 2^128 to +inf. It is done on integers,
	 * here and at the end, because compilers turn such choices between floats into branches and do not vectorise. */
	double v = ls_f32_bits((size < limit ? size : limit) | (input & sign)), shifted, n, r, p, scale;
	uint64_t bits;
	shifted = v * LS_NUM__INVERSE_LN2_64 + LS_NUM__SHIFTER;
	bits = ls_bits_f64(shifted);
	n = shifted - LS_NUM__SHIFTER;
	r = (v - n * LS_NUM__LN2_64_HIGH) - n * LS_NUM__LN2_64_LOW;
	p = 0x1.5555555555555p-5 + r * 0x1.1111111111111p-7;
	p = 0x1.5555555555555p-3 + r * p;
	p = 0.5 + r * p;
	p = r + (r * r) * p;
	/* ⌊n/64⌋ goes straight into the exponent field; the bits above it are shifted out. */
	scale = ls_f64_bits(ls_bits_f64(ls_num__exp_power[bits & 63]) + ((bits >> 6) << 52));
	y = ls_bits_f32((float)(scale + scale * p));
	return ls_f32_bits((y & ~nan) | (LS_NAN_BITS & nan));
}

/* ln x for finite x > 0: an FP64 number rounded to odd (see below), so that rounding it once more to FP32 gives the
 * correctly rounded logarithm for every FP32 x.
 *
 * x = 2^e·m, 0.6875 ≤ m < 1.375; r = m·c − 1 is exact (24 + 16 bits), |r| < 2^-7;
 * ln x = (e·ln 2 − ln c) + ln(1+r). The high parts sum exactly; r is added with its rounding error kept (|high| > |r|
 * unless high = 0); everything smaller is gathered in `low`, whose own error is below 2^-60 of the result.
 * FP64 rounding to nearest could hit an FP32 midpoint exactly and lose on which side ln x lies: it does for a handful
 * of inputs. So an inexact sum takes the neighbour with odd last bit: no midpoint, and on the right side.
 */
static inline double ls_num__log_positive(float x)
{
	uint64_t bits = ls_bits_f64(x), odd;
	uint64_t i = bits >> 45 & 127, halved = (i + 80) >> 7; /* i ≥ 48, m would be ≥ 1.375 */
	double e = ls_f64_bits(UINT64_C(0x4330000000000000) + (bits >> 52) + halved) - (0x1p52 + 1023.0);
	double m = ls_f64_bits((bits & UINT64_C(0x000fffffffffffff)) | (1023 - halved) << 52);
	double r = m * ls_num__log_c[i] - 1.0;
	double high = e * LS_NUM__LN2_HIGH + ls_num__log_high[i];
	double sum = high + r, low, p, y, rest;
	p = 0x1.c71c71c71c71cp-4;
	p = -0.125 + r * p;
	p = 0x1.2492492492492p-3 + r * p;
	p = -0x1.5555555555555p-3 + r * p;
	p = 0x1.999999999999ap-3 + r * p;
	p = -0.25 + r * p;
	p = 0x1.5555555555555p-2 + r * p;
	p = -0.5 + r * p;
	low = ((e * LS_NUM__LN2_LOW + ls_num__log_low[i]) + (r - (sum - high))) + (r * r) * p;
	y = sum + low;
	rest = low - (y - sum);
	bits = ls_bits_f64(y);
	odd = (uint64_t)(rest != 0.0) & ~bits & 1;
	return ls_f64_bits((rest > 0.0) == (y > 0.0) ? bits + odd : bits - odd);
}

#endif
