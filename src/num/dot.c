/* The correctly rounded dot product in stages of growing cost. Each stage but the last gives an interval that is proved
 * to hold E; where both ends round to the same grid number, that is R(E), because R is monotone.
 *
 * Throughout, p = a·b is exact in FP64 (48 bits, at least 2^-298 unless zero), n < 2^21, u = 2^-53, and no intermediate
 * overflows or underflows: Σ|p| < 2^277, and the smallest quantity met, u times the step of the second bin, is above
 * 2^-520 unless it is zero. */
#include "num/dot.h"

#include "num/odd.h"

#define LANES 8
#define F64_ABS UINT64_C(0x7fffffffffffffff)
#define F64_INF UINT64_C(0x7ff0000000000000)

/* An exact bin. The accumulator starts at 1.5·2^(e+1) and, as long as the terms' magnitudes add up to less than
 * 2^e·(1−2^-31), stays in [2^(e+1), 2^(e+2)) where FP64 numbers are the multiples of step = 2^(e−51): n roundings of at
 * most step/2 add at most 2^20·step = 2^(e−31). There t = acc + p rounds p to a multiple z of the step, z = t − acc and
 * r = p − z are exact (acc exceeds |p|: Dekker's fast two-sum), and |r| ≤ step/2. The sum of all z is therefore exact,
 * in any order: multiples of the step below 2^51 steps. */
typedef struct bin {
	double start;
	double step;
} bin;

static double magnitude_of(double x)
{
	return ls_f64_bits(ls_bits_f64(x) & F64_ABS);
}

/* The bin for terms whose magnitudes add up to less than 2^exponent·(1−2^-31). */
static bin bin_for(int exponent)
{
	bin v;
	v.start = 1.5 * ls_f64_bits((uint64_t)(exponent + 1 + 1023) << 52);
	v.step = ls_f64_bits((uint64_t)(exponent - 51 + 1023) << 52);
	return v;
}

/* Least e with |x| < 2^e; x normal. */
static int exponent_above(double x)
{
	return (int)((ls_bits_f64(x) & F64_ABS) >> 52) - 1022;
}

/* R of every number in h + [l − error, l + error], if they all have the same. The ends are computed in FP64, and the
 * widened error pays for that: fl(l ± w) is off by at most u(|l| + w), and w ≥ error·(1+2^-31) + 2u|l|·(1−2u). */
static bool settle(double h, double l, double error, int bits, float *out)
{
	double w = error * (1.0 + 0x1p-30) + magnitude_of(l) * 0x1p-52;
	if (error == 0) {
		*out = ls_num__round_pair(h, l, bits);
		return true;
	}
	float low = ls_num__round_pair(h, l - w, bits), high = ls_num__round_pair(h, l + w, bits);
	*out = low;
	return ls_bits_f32(low) == ls_bits_f32(high);
}

/* How far Σr computed in FP64 may be from exact: (n−1)·u·(1+2^-30)·n·step/2 at most; (n+2)² keeps the factor exact. */
static double residual_error(int64_t n, double step)
{
	double m = (double)(n + 2);
	return m * m * (step * 0x1p-54);
}

/* Plain sums of p and |p| in LANES lanes; Σ|p| is not finite exactly where a factor is not. */
static void plain_sums(const float *a, const float *b, int64_t n, double *sum, double *magnitude)
{
	double c[LANES] = {0}, s[LANES] = {0};
	int64_t i = 0;
	for (; i + LANES <= n; i += LANES) {
		for (int q = 0; q < LANES; q++) {
			double p = (double)a[i + q] * b[i + q];
			c[q] += p;
			s[q] += magnitude_of(p);
		}
	}
	for (int q = 0; i < n; i++, q++) {
		double p = (double)a[i] * b[i];
		c[q] += p;
		s[q] += magnitude_of(p);
	}
	for (int q = 1; q < LANES; q++) {
		c[0] += c[q];
		s[0] += s[q];
	}
	*sum = c[0];
	*magnitude = s[0];
}

/* Up to LANES terms into the bins of their lanes; inlined with a constant count it becomes vector code. */
static inline void fill_one(double *acc, double *low, uint64_t *any, const float *a, const float *b, int count)
{
	for (int q = 0; q < count; q++) {
		double p = (double)a[q] * b[q];
		double t = acc[q] + p, r = p - (t - acc[q]);
		acc[q] = t;
		low[q] += r;
		any[q] |= ls_bits_f64(r) & F64_ABS;
	}
}

/* The same with the residuals of the first bin as the terms of the second. */
static inline void fill_two(double *acc, double *middle, double *low, uint64_t *any, const float *a, const float *b,
                            int count)
{
	for (int q = 0; q < count; q++) {
		double p = (double)a[q] * b[q];
		double t = acc[q] + p, r = p - (t - acc[q]);
		double t2 = middle[q] + r, r2 = r - (t2 - middle[q]);
		acc[q] = t;
		middle[q] = t2;
		low[q] += r2;
		any[q] |= ls_bits_f64(r2) & F64_ABS;
	}
}

static void start_lanes(double *acc, bin v)
{
	for (int q = 0; q < LANES; q++)
		acc[q] = v.start;
}

/* Exact: see bin. */
static double read_lanes(const double *acc, bin v)
{
	double sum = 0;
	for (int q = 0; q < LANES; q++)
		sum += acc[q] - v.start;
	return sum;
}

/* Σr, rounded; and whether all r are zero. */
static double read_residuals(const double *low, const uint64_t *any, bool *none)
{
	double sum = 0;
	uint64_t seen = 0;
	for (int q = 0; q < LANES; q++) {
		sum += low[q];
		seen |= any[q];
	}
	*none = seen == 0;
	return sum;
}

ls_num__bin_sum ls_num__fill_portable(double start, const float *a, const float *b, int64_t n)
{
	bin v = {.start = start};
	double acc[LANES], low[LANES] = {0};
	uint64_t any[LANES] = {0};
	ls_num__bin_sum sum;
	int64_t i = 0;
	start_lanes(acc, v);
	for (; i + LANES <= n; i += LANES)
		fill_one(acc, low, any, a + i, b + i, LANES);
	fill_one(acc, low, any, a + i, b + i, (int)(n - i));
	sum.rest = read_residuals(low, any, &sum.exact);
	sum.high = read_lanes(acc, v);
	return sum;
}

/* Stage 1: E = high + Σr, high exact. `magnitude` ≥ Σ|p|·(1+2^-21). */
static bool one_bin(const float *a, const float *b, int64_t n, double magnitude, int bits, ls_num__fill fill, float *out)
{
	bin v = bin_for(exponent_above(magnitude));
	ls_num__bin_sum sum = fill(v.start, a, b, n);
	return settle(sum.high, sum.rest, sum.exact ? 0 : residual_error(n, v.step), bits, out);
}

/* Stage 2: the residuals of the first bin go through a second, which total cancellation in the first leaves to decide.
 * n residuals of at most step/2 add up to at most 2^20·step, so 2^21·step bounds them with room to spare. */
static bool two_bins(const float *a, const float *b, int64_t n, double magnitude, int bits, float *out)
{
	int exponent = exponent_above(magnitude);
	bin v = bin_for(exponent), w = bin_for(exponent - 51 + 21);
	double acc[LANES], middle[LANES], low[LANES] = {0};
	uint64_t any[LANES] = {0};
	bool exact;
	start_lanes(acc, v);
	start_lanes(middle, w);
	int64_t i = 0;
	for (; i + LANES <= n; i += LANES)
		fill_two(acc, middle, low, any, a + i, b + i, LANES);
	fill_two(acc, middle, low, any, a + i, b + i, (int)(n - i));
	/* Two-sum makes hi + mid = h + e exactly; adding the rest rounds once more, unless it is zero. */
	double hi = read_lanes(acc, v), mid = read_lanes(middle, w), rest = read_residuals(low, any, &exact);
	double h = hi + mid, z = h - hi, e = (hi - (h - z)) + (mid - z), l = e + rest;
	double error = exact ? 0 : residual_error(n, w.step) + magnitude_of(l) * 0x1p-52;
	return settle(h, l, error, bits, out);
}

static float wide_dot(const float *a, const float *b, int64_t n, int bits)
{
	ls_sum sum;
	ls_sum_init(&sum);
	for (int64_t i = 0; i < n; i++)
		ls_sum_add(&sum, a[i], b[i]);
	return ls_sum_round(&sum, bits);
}

/* The stages beyond plain FP64, for magnitude > 0. */
static float by_bins(const float *a, const float *b, int64_t n, double magnitude, int bits, ls_num__dot_stage from,
                     ls_num__fill fill, ls_num__dot_stage *settled)
{
	float out;
	*settled = LS_NUM__DOT_BIN;
	if (from <= LS_NUM__DOT_BIN && one_bin(a, b, n, magnitude, bits, fill, &out))
		return out;
	*settled = LS_NUM__DOT_BINS;
	if (two_bins(a, b, n, magnitude, bits, &out))
		return out;
	*settled = LS_NUM__DOT_WIDE;
	return wide_dot(a, b, n, bits);
}

float ls_num__dot(const float *a, const float *b, int64_t n, int bits, ls_num__dot_stage from,
                  ls_num__dot_stage *settled)
{
	*settled = LS_NUM__DOT_WIDE;
	if (n >= LS_TERMS_MAX || from >= LS_NUM__DOT_WIDE)
		return wide_dot(a, b, n, bits);
	double c, s;
	plain_sums(a, b, n, &c, &s);
	*settled = LS_NUM__DOT_PLAIN;
	if ((ls_bits_f64(s) & F64_ABS) >= F64_INF)
		return ls_f32_bits(LS_NAN_BITS);
	if (s == 0)
		return 0.0f;
	/* Lanes of at most ⌈n/8⌉ additions and 7 to join them: a tree of depth ≤ n/8 + 8. */
	if (from <= LS_NUM__DOT_PLAIN && !ls_ambiguous(c, ls_bound_t(ls_bound_fp64(n / LANES + 10), s), bits))
		return ls_round_f64(c, bits);
	s *= 1.0 + 0x1p-20; /* S ≥ Σ|p|·(1+2^-21), though summed in FP64 */
	return by_bins(a, b, n, s, bits, from, ls_num__fill_portable, settled);
}

float ls_num__dot_within(const float *a, const float *b, int64_t n, double magnitude, int bits, ls_num__fill fill,
                         ls_num__dot_stage *settled)
{
	*settled = LS_NUM__DOT_PLAIN;
	return magnitude > 0 ? by_bins(a, b, n, magnitude, bits, LS_NUM__DOT_BIN, fill, settled) : 0.0f;
}

float ls_dot_exact(const float *a, const float *b, int64_t n, int bits)
{
	ls_num__dot_stage settled;
	return ls_num__dot(a, b, n, bits, LS_NUM__DOT_PLAIN, &settled);
}
