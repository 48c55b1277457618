/* The two operations beyond + − × ÷: square root, which every supported processor has, and fused multiply-add, which
 * x86-64 need not have. The fallback works on integers, so no library function decides a bit. */
#include <lockstep/num.h>

#define EXPONENT_MASK UINT64_C(0x7ff0000000000000)
#define FRACTION_MASK UINT64_C(0x000fffffffffffff)
#define QUIET_NAN UINT64_C(0x7ff8000000000000)

/* Processors disagree on the sign of the NaN they make; here there is one. */
static double one_nan(double x)
{
	return x != x ? ls_f64_bits(QUIET_NAN) : x;
}

double ls_sqrt(double x)
{
	return one_nan(__builtin_sqrt(x));
}

#if defined(__FMA__) || defined(__aarch64__)

double ls_fma(double a, double b, double c)
{
	return one_nan(__builtin_fma(a, b, c));
}

#else

__extension__ typedef unsigned __int128 u128;

/* The number magnitude · 2^exponent with a sign. */
typedef struct big {
	u128 magnitude;
	int exponent;
	bool negative;
} big;

static int bit_length(u128 v)
{
	uint64_t high = (uint64_t)(v >> 64), low = (uint64_t)v;
	if (high)
		return 128 - __builtin_clzll(high);
	return low ? 64 - __builtin_clzll(low) : 0;
}

static bool is_finite(double x)
{
	return (ls_bits_f64(x) & EXPONENT_MASK) != EXPONENT_MASK;
}

static big unpack(double x)
{
	uint64_t bits = ls_bits_f64(x), fraction = bits & FRACTION_MASK;
	int field = (int)(bits >> 52) & 0x7ff;
	return (big){field ? fraction | (FRACTION_MASK + 1) : fraction, (field ? field : 1) - 1075, bits >> 63};
}

/* Moves the highest bit to position 125: room for one carry and, below 106 significant bits, 20 spare zeros. */
static void raise(big *v)
{
	int shift = 126 - bit_length(v->magnitude);
	v->magnitude <<= shift;
	v->exponent -= shift;
}

/* Shifts right; bits that fall out leave a mark in the lowest place. It cannot be mistaken for a value bit: where
 * anything falls out the operands are 20 places or more apart, and then the sum keeps over 120 bits. */
static void lower(big *v, int shift)
{
	u128 kept = shift < 128 ? v->magnitude >> shift : 0;
	bool lost = shift < 128 ? kept << shift != v->magnitude : true;
	v->magnitude = kept | lost;
	v->exponent += shift;
}

/* Both non-zero. */
static big add(big a, big b)
{
	big sum;
	raise(&a);
	raise(&b);
	if (a.exponent < b.exponent) {
		big t = a;
		a = b;
		b = t;
	}
	lower(&b, a.exponent - b.exponent);
	sum = a;
	if (a.negative == b.negative) {
		sum.magnitude += b.magnitude;
	} else if (a.magnitude >= b.magnitude) {
		sum.magnitude -= b.magnitude;
	} else {
		sum.magnitude = b.magnitude - a.magnitude;
		sum.negative = b.negative;
	}
	return sum;
}

/* Round to nearest, ties to even, with gradual underflow. An exact zero is +0. */
static double pack(big v)
{
	int shift = bit_length(v.magnitude) - 53;
	uint64_t kept, bits;
	if (v.magnitude == 0)
		return 0.0;
	if (shift < -1074 - v.exponent)
		shift = -1074 - v.exponent;
	if (shift > 127) {
		kept = 0; /* below half of the smallest subnormal: the magnitude has at most 127 bits */
	} else if (shift > 0) {
		u128 rest = v.magnitude & (((u128)1 << shift) - 1), half = (u128)1 << (shift - 1);
		kept = (uint64_t)(v.magnitude >> shift);
		kept += rest > half || (rest == half && (kept & 1));
	} else {
		kept = (uint64_t)v.magnitude << -shift;
	}
	if (v.exponent + shift > 971)
		bits = EXPONENT_MASK;
	else
		bits = ((uint64_t)(v.exponent + shift + 1074) << 52) + kept; /* a hidden bit adds 1 to the exponent field */
	return ls_f64_bits(bits | (uint64_t)v.negative << 63);
}

double ls_fma(double a, double b, double c)
{
	big product, addend;
	if (!is_finite(a) || !is_finite(b) || a == 0.0 || b == 0.0)
		return one_nan(a * b + c); /* the product is exact */
	if (!is_finite(c))
		return one_nan(c); /* a·b might overflow to the other infinity */
	if (c == 0.0)
		return a * b;
	product = unpack(a);
	addend = unpack(b);
	product.magnitude *= addend.magnitude;
	product.exponent += addend.exponent;
	product.negative ^= addend.negative;
	return pack(add(product, unpack(c)));
}

#endif
