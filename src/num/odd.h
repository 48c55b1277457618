/* Rounding to odd: the way to round a sum that FP64 cannot hold without rounding it twice. */
#ifndef LOCKSTEP_NUM_ODD_H
#define LOCKSTEP_NUM_ODD_H

#include <lockstep/num.h>

/* Rounds h + error to odd, where h = RNE(h + error) and `error` is exact: h if it is exact or has an odd significand,
 * otherwise the neighbour on the error's side. Rounding the result to 51 bits or fewer is rounding h + error.
 * h finite. */
static inline double ls_num__make_odd(double h, double error)
{
	uint64_t u = ls_bits_f64(h);
	if (error == 0 || (u & 1))
		return h;
	/* An inexact h is not zero, so the pattern grows with |h|. */
	return ls_f64_bits((error > 0) == (h > 0) ? u + 1 : u - 1);
}

/* R(h + l), one rounding; the sum is finite and neither is so small that its rounding error underflows. */
static inline float ls_num__round_pair(double h, double l, int bits)
{
	double sum = h + l, z = sum - h;
	double error = (h - (sum - z)) + (l - z); /* Knuth's two-sum: exact */
	return ls_round_f64(ls_num__make_odd(sum, error), bits);
}

/* The fused multiply-add without the instruction, apart so that tests can compare the two. */
float ls_num__fma_f32_portable(float a, float b, float c);

#endif
