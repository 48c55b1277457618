#include <lockstep/num.h>

#include "num/sigmoid_core.h"

static double nan64(void)
{
	return ls_f64_bits(UINT64_C(0x7ff8000000000000));
}

float ls_exp(float x)
{
	return ls_num__exp(x);
}

double ls_log_f64(float x)
{
	uint32_t bits = ls_bits_f32(x);
	if (bits - 1 < UINT32_C(0x7f7fffff)) /* 0 < x < inf */
		return ls_num__log_positive(x);
	if ((bits & UINT32_C(0x7fffffff)) == 0)
		return ls_f64_bits(UINT64_C(0xfff0000000000000));
	return bits == UINT32_C(0x7f800000) ? (double)x : nan64();
}

float ls_log(float x)
{
	double y = ls_log_f64(x);
	return y != y ? ls_f32_bits(LS_NAN_BITS) : (float)y;
}

/* 1/√x has no FP32 midpoint within the two roundings of the FP64 expression: checked for all 2^32 arguments. */
float ls_rsqrt(float x)
{
	return ls_f32(1.0 / ls_sqrt((double)x + 0.0)); /* adding +0 turns −0, whose reciprocal would be −inf, into +0 */
}

float ls_tanh(float x)
{
	return ls_num__tanh(x);
}

float ls_sigmoid(float x)
{
	return ls_num__sigmoid(x);
}

float ls_gelu(float x)
{
	return ls_num__gelu(x);
}

float ls_gelu_slope(float x)
{
	return ls_num__gelu_slope(x);
}

static double polynomial(const double *coefficients, int count, double x)
{
	double sum = coefficients[count - 1];
	for (int i = count - 2; i >= 0; i--)
		sum = coefficients[i] + x * sum;
	return sum;
}

/* |x| = n/2 + r with n the integer nearest 2|x|, so |r| ≤ 1/4. Both steps are exact: r is a multiple of the last bit
 * of x and no larger than x. Then cos(π|x|) is cos πr, −sin πr, −cos πr or sin πr by n mod 4. */
double ls_cospi(double x)
{
	double shifted, r, y;
	uint64_t quadrant;
	x = x < 0.0 ? -x : x;
	if (!(x <= 0x1p20))
		return nan64();
	shifted = 2.0 * x + LS_NUM__SHIFTER;
	quadrant = ls_bits_f64(shifted) & 3;
	r = x - 0.5 * (shifted - LS_NUM__SHIFTER);
	y = quadrant & 1 ? r * polynomial(ls_num__cospi_sin, 8, r * r) : polynomial(ls_num__cospi_cos, 9, r * r);
	y = quadrant == 1 || quadrant == 2 ? -y : y;
	return y + 0.0; /* −0 becomes +0 */
}
