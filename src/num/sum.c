/* E and S of one element, exactly, and what follows from them: R(E), the bound check, the meaning of an entry. All
 * decisions are integer comparisons in units of 2^-298. */
#include "num/wide.h"

#define F32_EXPONENT 255u

/* The grid interval that holds E: |E| = (steps + rest)·2^step, 0 ≤ rest < 1, and E ≤ 0 where negative. */
typedef struct interval {
	ls_wide magnitude; /* |E| */
	int step;          /* bit index of the grid's step */
	uint32_t steps;
	bool negative;
} interval;

void ls_sum_init(ls_sum *sum)
{
	memset(sum, 0, sizeof *sum);
}

static uint32_t exponent_of(uint32_t pattern)
{
	return pattern >> 23 & F32_EXPONENT;
}

/* The number is significand·2^(max(exponent, 1) − 150). */
static uint64_t significand_of(uint32_t pattern, uint32_t exponent)
{
	return (pattern & UINT32_C(0x7fffff)) | (uint64_t)(exponent != 0) << 23;
}

void ls_sum_add(ls_sum *sum, float a, float b)
{
	uint32_t x = ls_bits_f32(a), y = ls_bits_f32(b);
	uint32_t ex = exponent_of(x), ey = exponent_of(y);
	sum->terms++;
	if (ex == F32_EXPONENT || ey == F32_EXPONENT) {
		sum->non_finite = true;
		return;
	}
	uint64_t product = significand_of(x, ex) * significand_of(y, ey); /* below 2^48 */
	/* Smallest exponents meet at 2^-149·2^-149, bit 0. The highest bit is 506 + 47, in limb 8. */
	uint32_t shift = (ex ? ex - 1 : 0) + (ey ? ey - 1 : 0);
	int at = (int)(shift >> 6), by = (int)(shift & 63);
	uint64_t low = product << by, high = product >> 1 >> (63 - by);
	ls_num__wide_add_at(&sum->s, low, high, at);
	if ((x ^ y) >> 31)
		ls_num__wide_sub_at(&sum->e, low, high, at);
	else
		ls_num__wide_add_at(&sum->e, low, high, at);
}

/* Bit index of the grid's step for numbers whose highest bit is `top`: the grid keeps bits−9 bits below it, and none
 * below the smallest subnormal. */
static int step_below(int top, int bits)
{
	int step = top - (bits - 9);
	int least = LS_WIDE_ONE - 149 + (LS_GRID_MAX - bits);
	return step > least ? step : least;
}

static interval interval_of(const ls_wide *e, int bits)
{
	interval v = {.magnitude = *e, .negative = ls_num__wide_negative(e)};
	ls_num__wide_abs(&v.magnitude);
	v.step = step_below(ls_num__wide_top(&v.magnitude), bits);
	v.steps = (uint32_t)ls_num__wide_extract(&v.magnitude, v.step); /* at most bits−8 bits: nothing is above `top` */
	return v;
}

/* steps·2^step with E's sign; steps ≤ 2^(bits−8), whose 24 leading bits are all that is set. */
static float grid_value(const interval *v, uint32_t steps)
{
	if (steps == 0)
		return 0.0f;
	int top = 31 - __builtin_clz(steps);
	int exponent = top + v->step - LS_WIDE_ONE;
	uint32_t pattern;
	if (exponent > 127) {
		pattern = F32_EXPONENT << 23;
	} else if (exponent < -126) {
		pattern = steps << (v->step - (LS_WIDE_ONE - 149));
	} else {
		uint32_t significand = top > 23 ? steps >> (top - 23) : steps << (23 - top);
		pattern = (uint32_t)(exponent + 127) << 23 | (significand & 0x7fffff);
	}
	return ls_f32_bits(pattern | (uint32_t)v->negative << 31);
}

/* Steps of R(E): up from the middle, and from the very middle to even. */
static uint32_t nearest_steps(const interval *v)
{
	bool half = ls_num__wide_bit(&v->magnitude, v->step - 1);
	bool up = half && ((v->steps & 1) || ls_num__wide_any_below(&v->magnitude, v->step - 1));
	return v->steps + up;
}

float ls_sum_round(const ls_sum *sum, int bits)
{
	if (sum->non_finite)
		return ls_f32_bits(LS_NAN_BITS);
	interval v = interval_of(&sum->e, bits);
	return grid_value(&v, nearest_steps(&v));
}

/* Comparisons with B are made after multiplying both sides by 2^SCALE, which makes B a whole number of units. */
#define SCALE 63

/* (32·2^-24 + n·2^-53)·(1+2^-10)·2^63 = (2^34 + n)·1025, and 2^-149·2^63 is bit LS_WIDE_ONE − 149 + 63. */
static ls_wide fp32_bound(const ls_sum *sum, int64_t terms)
{
	uint64_t k = terms > 0 ? (uint64_t)terms : 0;
	ls_wide b = sum->s, floor = ls_num__wide_from(k, LS_WIDE_ONE - 149 + SCALE);
	ls_num__wide_multiply(&b, ((UINT64_C(1) << 34) + (uint64_t)ls_num__chunks((int64_t)k)) * 1025);
	ls_num__wide_add(&b, &floor);
	return b;
}

/* (½−τ)·2^step. ½−τ, rounded to FP64, is at least 2^-54, so its lowest bit weighs at least 2^-106; a step is at least
 * 2^-149, so nothing falls below the units. τ outside (0, ½) leaves no window. */
static ls_wide window_bound(double tau, int step)
{
	uint64_t u = ls_bits_f64(0.5 - tau), fraction = (u & UINT64_C(0xfffffffffffff)) | UINT64_C(1) << 52;
	int exponent = (int)(u >> 52 & 0x7ff) - 1075;
	if (!(tau > 0 && tau < 0.5))
		return ls_num__wide_from(0, 0);
	return ls_num__wide_from(fraction, step + exponent + SCALE);
}

/* B·2^SCALE. */
static ls_wide scaled_bound(const ls_sum *sum, const ls_bound *bound, int step)
{
	ls_wide b = sum->s;
	switch (bound->kind) {
	case LS_BOUND_FP32: return fp32_bound(sum, bound->terms);
	case LS_BOUND_WINDOW: return window_bound(bound->tau, step);
	case LS_BOUND_FP64: break;
	}
	ls_num__wide_multiply(&b, bound->depth > 0 ? (uint64_t)bound->depth : 0);
	ls_num__wide_shift_left(&b, SCALE - 53);
	return b;
}

/* | x − y | ≤ bound, two's complement x and y. */
static bool apart_at_most(const ls_wide *x, const ls_wide *y, const ls_wide *bound)
{
	ls_wide difference = *x;
	ls_num__wide_sub(&difference, y);
	ls_num__wide_abs(&difference);
	return ls_num__wide_compare(&difference, bound) <= 0;
}

/* Floor and ceiling of c·2^SCALE in units of 2^-298, for |c| < 2^330. */
static void scaled_neighbours(double c, ls_wide *low, ls_wide *high)
{
	uint64_t u = ls_bits_f64(c);
	uint64_t m = u & UINT64_C(0xfffffffffffff);
	int exponent = (int)(u >> 52 & 0x7ff);
	if (exponent)
		m |= UINT64_C(1) << 52;
	else
		exponent = 1;
	int shift = exponent - 1075 + LS_WIDE_ONE + SCALE;
	uint64_t lost = 0;
	if (shift <= -64) {
		lost = m;
		m = 0;
	} else if (shift < 0) {
		lost = m << (64 + shift);
		m >>= -shift;
	}
	*low = ls_num__wide_from(m, shift > 0 ? shift : 0);
	*high = *low;
	if (lost)
		ls_num__wide_add_at(high, 1, 0, 0);
	if (u >> 63) {
		ls_wide swap = *low;
		*low = *high;
		*high = swap;
		ls_num__wide_negate(low);
		ls_num__wide_negate(high);
	}
}

static bool finite(double x)
{
	return (ls_bits_f64(x) >> 52 & 0x7ff) != 0x7ff;
}

/* | C − E | ≤ bound. E and bounds of 2^21 terms stay below 2^290 whatever the depth, so a larger C is out, and what remains fits.
 * E and the bound are whole units here. Where C is not, the neighbour farther from E decides. */
static bool lies_within(const ls_sum *sum, double c, const ls_wide *bound)
{
	ls_wide e = sum->e, low, high;
	if (!(c > -0x1p330 && c < 0x1p330))
		return false;
	ls_num__wide_shift_left(&e, SCALE);
	scaled_neighbours(c, &low, &high);
	return apart_at_most(&low, &e, bound) && apart_at_most(&high, &e, bound);
}

bool ls_sum_within(const ls_sum *sum, double c, ls_bound bound, int bits)
{
	if (sum->non_finite || !finite(c))
		return sum->non_finite && !finite(c);
	ls_wide b = scaled_bound(sum, &bound, interval_of(&sum->e, bits).step);
	return lies_within(sum, c, &b);
}

bool ls_sum_near(const ls_sum *sum, double c, double t)
{
	ls_wide low, high;
	if (sum->non_finite || !finite(c))
		return sum->non_finite && !finite(c);
	if (!(t < 0x1p330)) // more than any sum, or NaN
		return true;
	scaled_neighbours(t, &low, &high);
	return lies_within(sum, c, &low);
}

/* 4B < s and |E − middle of its interval| ≤ B, both multiplied by 2^SCALE. An E at 2^128 or beyond has one value. */
static bool two_valued(const ls_sum *sum, const interval *v, const ls_bound *bound)
{
	if (ls_num__wide_top(&v->magnitude) >= LS_WIDE_ONE + 128)
		return false;
	ls_wide b = scaled_bound(sum, bound, v->step);
	ls_wide quarter = ls_num__wide_from(1, v->step - 2 + SCALE);
	if (ls_num__wide_compare(&b, &quarter) >= 0)
		return false;
	ls_wide middle = ls_num__wide_from(2 * (uint64_t)v->steps + 1, v->step - 1 + SCALE);
	ls_wide e = v->magnitude;
	ls_num__wide_shift_left(&e, SCALE);
	return apart_at_most(&e, &middle, &b);
}

bool ls_sum_two_valued(const ls_sum *sum, ls_bound bound, int bits)
{
	if (sum->non_finite)
		return false;
	interval v = interval_of(&sum->e, bits);
	return two_valued(sum, &v, &bound);
}

ls_entry_kind ls_sum_judge(const ls_sum *sum, ls_bound bound, int bits, int entry_bit, float *value)
{
	*value = ls_sum_round(sum, bits);
	if (entry_bit == ls_grid_last_bit(*value, bits))
		return LS_ENTRY_REDUNDANT;
	if (sum->non_finite || (entry_bit != 0 && entry_bit != 1))
		return LS_ENTRY_FORGED;
	interval v = interval_of(&sum->e, bits);
	if (!two_valued(sum, &v, &bound))
		return LS_ENTRY_FORGED;
	/* The ends are neighbours on the grid, so their last bits differ and the entry names the one that R(E) is not. */
	uint32_t other = 2 * v.steps + 1 - nearest_steps(&v);
	*value = grid_value(&v, other);
	return LS_ENTRY_OVERRIDE;
}
