/* How far a platform's FP64 sum may lie from the exact one, and whether that matters to its rounding. */
#include <lockstep/num.h>

#define F64_ABS UINT64_C(0x7fffffffffffffff)
#define F64_INF UINT64_C(0x7ff0000000000000)

int64_t ls_depth_default(int64_t terms)
{
	return 512 + terms / 512 + (terms % 512 > 0);
}

/* A tree of FP64 additions of depth ≤ d−2 over exact products errs by at most B = d·u·S. The rounding test then
 * computes C−t and C+t, each off by at most u(|C|+t), and |C| ≤ S+B. So t must reach d·u·S + u(S+B+t): the 3 beside d
 * pays for S and for B and t (at most S/4 and a little more, as d ≤ 2^51), the factor 1+2^-20 for the rounding of the
 * norms, at most 2^21·u = 2^-32 each, and of this expression. */
double ls_bound_t(int64_t depth, double norm)
{
	double slack = ((double)depth + 3.0) * 0x1p-53;
	return slack * norm * (1.0 + 0x1p-20);
}

static bool is_finite(double x)
{
	return (ls_bits_f64(x) & F64_ABS) < F64_INF;
}

bool ls_ambiguous(double c, double t, int bits)
{
	if (!is_finite(c) || !is_finite(t))
		return true;
	return ls_bits_f32(ls_round_f64(c - t, bits)) != ls_bits_f32(ls_round_f64(c + t, bits));
}
