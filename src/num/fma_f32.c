/* The FP32 fused multiply-add of mode pinned: the processor's where it has one, otherwise two FP64 operations and a
 * rounding to odd. */
#include "num/odd.h"

static float one_nan(float v)
{
	return v == v ? v : ls_f32_bits(LS_NAN_BITS);
}

float ls_num__fma_f32_portable(float a, float b, float c)
{
	double product = (double)a * b; /* exact */
	double sum = product + c, z = sum - product;
	double error = (product - (sum - z)) + (c - z);
	if ((ls_bits_f64(sum) >> 52 & 0x7ff) == 0x7ff)
		return one_nan((float)sum);
	/* Not through ls_num__round_pair: a fused multiply-add keeps the sign of zero. */
	return (float)ls_num__make_odd(sum, error);
}

#if defined(__FMA__) || defined(__aarch64__)
float ls_fma_f32(float a, float b, float c)
{
	return one_nan(__builtin_fmaf(a, b, c));
}
#elif defined(__x86_64__) || defined(__i386__)
__attribute__((target("fma"))) static float fma_instruction(float a, float b, float c)
{
	return __builtin_fmaf(a, b, c);
}

float ls_fma_f32(float a, float b, float c)
{
	return __builtin_cpu_supports("fma") ? one_nan(fma_instruction(a, b, c)) : ls_num__fma_f32_portable(a, b, c);
}
#else
float ls_fma_f32(float a, float b, float c)
{
	return ls_num__fma_f32_portable(a, b, c);
}
#endif
