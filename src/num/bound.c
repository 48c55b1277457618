/* How far a platform's sum may lie from the exact one, and whether that matters to its rounding.
 *
 * FP64. A tree of additions of depth ≤ d−2 over exact products errs by at most B = d·u·S. The rounding test then
 * computes C−t and C+t, each off by at most u(|C|+t), and |C| ≤ S+B. So t must reach d·u·S + u(S+B+t): the 3 beside d
 * pays for S and for B and t (at most S/2^31 and a little more, as d ≤ 2^21), the factor 1+2^-20 for the rounding of the
 * norms, at most 2^21·u = 2^-32 each, and of this expression.
 *
 * FP32, v = 2^-24. A chunk holds m ≤ 32 products of any FP32 numbers, added in any order, each addition an IEEE addition
 * or fused with a product.
 *   A rounded product is ab(1+δ)+η with |δ| ≤ v and, where it underflows, |η| ≤ 2^-150; so is a fused multiply-add of
 *   the sum it rounds. An addition is exact where its result is subnormal, so it brings a δ only. On the way from a term
 *   to the chunk's sum lie at most one rounding of its product and m−1 additions: at most 32 factors 1+δ. Hence
 *     |chunk − Σab| ≤ ((1+v)^32 − 1)·Σ|ab| + m·2^-150·(1+v)^32 ≤ 32v(1+2^-19)·Σ|ab| + m·2^-149·(½+2^-18).
 *   A product of two numbers whose mantissas have 24 bits together is exact, and then 31 roundings would be the most: so
 *   it is on grids of 19 bits and fewer. But weights lie on the state's grid, 32 bits as a rule, so 32 it is.
 *   Adding zeros, and scaling by α = 1 as a BLAS does, changes nothing.
 * The n = ⌈K/32⌉ chunk sums are FP32 numbers, added in FP64 by n−1 additions: another (n−1)·u(1+2^-30) of Σ|chunk|,
 * which is at most S·(1+2^-18) + K·2^-149. In all
 *   |C − E| ≤ (32v + n·u)(1+2^-17)·S + K·2^-149·(½ + 2^-17) ≤ B.
 * For t: C−t and C+t err by u(|C|+t), |C| ≤ 2S + K·2^-149, which 4u beside n·u and the doubled floor pay for.
 * A chunk that overflows makes C infinite or NaN, which no later addition undoes: such elements are computed exactly.
 *
 * The paper's window. Its threshold τ is relative to the power of two below the value: τ·2^(9−b), with 0.25 ≤ τ < 0.5,
 * of 2^e is τ grid intervals, as s = 2^(e−(b−9)). It logs where |x − R(x)| exceeds that, so within (½−τ)·s of the middle
 * between two grid numbers. That it keeps τ above ¼ is the rule 4B < s. The exponent e is that of base 2, the one that R
 * works with: with a decimal exponent the window would be up to 8 times too wide or too narrow. */
#include "num/wide.h"

#define F64_ABS UINT64_C(0x7fffffffffffffff)
#define F64_INF UINT64_C(0x7ff0000000000000)

int64_t ls_depth_default(int64_t terms)
{
	return 512 + terms / 512 + (terms % 512 > 0);
}

double ls_bound_t(ls_bound bound, double norm)
{
	double slack = ((double)bound.depth + 3.0) * 0x1p-53;
	if (bound.kind == LS_BOUND_FP32)
		slack = (0x1p-19 + (double)(ls_num__chunks(bound.terms) + 4) * 0x1p-53) * (1.0 + 0x1p-10);
	return slack * norm * (1.0 + 0x1p-20);
}

double ls_bound_norm(ls_bound bound, double t)
{
	return t / (((double)bound.depth + 3.0) * 0x1p-53);
}

double ls_bound_floor(ls_bound bound)
{
	return bound.kind == LS_BOUND_FP32 ? (double)bound.terms * 0x1p-148 : 0;
}

static bool is_finite(double x)
{
	return (ls_bits_f64(x) & F64_ABS) < F64_INF;
}

double ls_bound_window_t(ls_bound bound, double c, int bits)
{
	return is_finite(c) ? (0.5 - bound.tau + 0x1p-28) * ls_grid_step(c, bits) : ls_f64_bits(F64_INF);
}

bool ls_ambiguous(double c, double t, int bits)
{
	if (!is_finite(c) || !is_finite(t))
		return true;
	return ls_bits_f32(ls_round_f64(c - t, bits)) != ls_bits_f32(ls_round_f64(c + t, bits));
}
