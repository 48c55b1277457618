/* Grids: rounding to them, membership, steps. Everything works on bit patterns, so that no library call and no rounding
 * mode other than nearest-even in plain additions is relied upon. */
#include <lockstep/num.h>

#define F32_ABS UINT32_C(0x7fffffff)
#define F32_INF UINT32_C(0x7f800000)
#define F64_ABS UINT64_C(0x7fffffffffffffff)
#define F64_INF UINT64_C(0x7ff0000000000000)

/* 2^e as FP64; −1022 ≤ e ≤ 1023. */
static double power_of_two(int e)
{
	return ls_f64_bits((uint64_t)(e + 1023) << 52);
}

/* |x| ≥ 2^-126: the grid keeps a fixed number of fraction bits, so rounding is integer arithmetic on the pattern; a
 * carry moves into the exponent, which is the next binade. */
static float round_normal(uint64_t magnitude, uint64_t sign, int bits)
{
	int drop = 61 - bits;
	uint64_t even = (magnitude >> drop) & 1;
	magnitude += (UINT64_C(1) << (drop - 1)) - 1 + even;
	magnitude &= ~((UINT64_C(1) << drop) - 1);
	if (magnitude >= ls_bits_f64(0x1p128))
		return ls_f32_bits((uint32_t)(sign >> 32) | F32_INF);
	return (float)ls_f64_bits(sign | magnitude);
}

/* |x| < 2^-126: multiples of one step q. In [2^52·q, 2^53·q) FP64 holds just the multiples of q, so adding 1.5·2^52·q
 * rounds to one of them, to even on a tie; taking it off again is exact. */
static float round_subnormal(double x, int bits)
{
	double shift = 1.5 * power_of_two(52 - 117 - bits);
	double rounded = (x + shift) - shift;
	return (float)rounded + 0.0f;
}

float ls_num__round_f64(double x, int bits)
{
	uint64_t u = ls_bits_f64(x);
	uint64_t magnitude = u & F64_ABS;
	if (magnitude > F64_INF)
		return ls_f32_bits(LS_NAN_BITS);
	if (magnitude < ls_bits_f64(0x1p-126))
		return round_subnormal(x, bits);
	return round_normal(magnitude, u & ~F64_ABS, bits);
}

float ls_round_f32(float x, int bits)
{
	uint32_t u = ls_bits_f32(x);
	uint32_t magnitude = u & F32_ABS;
	int drop = LS_GRID_MAX - bits;
	if (magnitude > F32_INF)
		return ls_f32_bits(LS_NAN_BITS);
	if (drop > 0) {
		/* Subnormals included: their patterns are multiples of 2^-149 already, and a carry past the largest number
		 * gives the pattern of inf. inf itself has no bits to drop. */
		uint32_t even = (magnitude >> drop) & 1;
		magnitude += (UINT32_C(1) << (drop - 1)) - 1 + even;
		magnitude &= ~((UINT32_C(1) << drop) - 1);
	}
	if (magnitude == 0)
		return 0.0f;
	return ls_f32_bits((u & ~F32_ABS) | magnitude);
}

bool ls_on_grid(float v, int bits)
{
	return ls_bits_f32(ls_round_f32(v, bits)) == ls_bits_f32(v);
}

double ls_grid_step(double x, int bits)
{
	int exponent = (int)((ls_bits_f64(x) & F64_ABS) >> 52) - 1023;
	if (exponent < -126)
		exponent = -126;
	return power_of_two(exponent - (bits - 9));
}

int ls_grid_last_bit(float v, int bits)
{
	uint32_t u = ls_bits_f32(v);
	if ((u & F32_ABS) > F32_INF)
		return 0;
	return (int)((u >> (LS_GRID_MAX - bits)) & 1);
}
