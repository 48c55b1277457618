"""Numbers to the bit: FP32 patterns, grids, R (spec/arithmetic.md, section 1).

A *word* is a 32-bit pattern as an int. FP64 values are Python floats, whose + − × are IEEE 754 operations (checked below);
`divide`, `square_root` and `fused` stand beside them because Python raises where IEEE 754 has an answer.
"""
import struct
from fractions import Fraction
from math import isqrt

NAN = 0x7FC00000
INF = 0x7F800000
SIGN = 0x80000000
NAN64 = float("nan")
INF64 = float("inf")

HALF_UNIT = float.fromhex("0x1p-53")

if 1.0 + HALF_UNIT + HALF_UNIT != 1.0 or float.fromhex("0x1.fffffffffffffp+1023") * 2.0 != INF64:
    raise SystemExit("this Python's floats are not IEEE 754 binary64 rounded to nearest, one operation at a time")


class Refused(Exception):
    """Bytes, attributes or proofs that the specification does not admit; the text says what was found and expected."""


def f32(word):
    """The FP32 number of a pattern, as FP64: exact."""
    return struct.unpack("<f", struct.pack("<I", word))[0]


def f64(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def bits64(x):
    return 0x7FF8000000000000 if x != x else struct.unpack("<Q", struct.pack("<d", x))[0]


def is_nan(word):
    return word & ~SIGN > INF


def is_finite(word):
    return word & INF != INF


def exact(word):
    """The number as a fraction; finite patterns only."""
    exponent, fraction = word >> 23 & 0xFF, word & 0x7FFFFF
    if exponent:
        fraction += 1 << 23
    value = Fraction(fraction) * two_to(max(exponent, 1) - 150)
    return -value if word & SIGN else value


def two_to(e):
    return Fraction(1 << e) if e >= 0 else Fraction(1, 1 << -e)


def floor_log2(q):
    """e with 2^e ≤ q < 2^(e+1), for a fraction q > 0."""
    e = q.numerator.bit_length() - q.denominator.bit_length()
    return e if two_to(e) <= q else e - 1


def step_exponent(q, bits):
    """log2 of s(q), the length of the grid interval that holds |q|."""
    least = -149 + 32 - bits
    return max(floor_log2(abs(q)) - (bits - 9), least) if q else least


def nearest(q):
    """The integer nearest a fraction, ties to even."""
    n = q.numerator // q.denominator
    rest = q - n
    return n + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and n & 1))


def grid_word(steps, step, negative):
    """The pattern of ±steps·2^step, a number of some grid; ±inf from 2^128 on; zero is +0."""
    if not steps:
        return 0
    sign = SIGN if negative else 0
    top = steps.bit_length() - 1 + step
    if top > 127:
        return sign | INF
    if top < -126:
        return sign | steps << (step + 149)
    shift = 23 - steps.bit_length() + 1
    significand = steps << shift if shift >= 0 else steps >> -shift  # a power of two may have more digits, all zero
    return sign | (top + 127) << 23 | significand - (1 << 23)


def round_exact(q, bits):
    """R of a fraction."""
    step = step_exponent(q, bits)
    return grid_word(nearest(abs(q) / two_to(step)), step, q < 0)


def round_to(x, bits):
    """R of an FP64 number."""
    if x != x:
        return NAN
    if x in (INF64, -INF64):
        return INF | (SIGN if x < 0 else 0)
    return round_exact(Fraction(x), bits)


def rne32(x):
    """RNE to FP32 with one zero and one NaN, as an FP64 value."""
    return f32(round_to(x, 32))


def on_grid(word, bits):
    """Whether a word is a number of the grid in its one pattern."""
    if word & ~SIGN >= INF:
        return word in (NAN, INF, INF | SIGN)
    return word != SIGN and word & (1 << 32 - bits) - 1 == 0


def last_bit(word, bits):
    return 0 if is_nan(word) else word >> 32 - bits & 1


# ---- the FP64 operations that Python lacks or refuses ----

def round64(q):
    """RNE64 of a fraction; Python's division of integers rounds correctly, but raises beyond the largest number."""
    try:
        return q.numerator / q.denominator
    except OverflowError:
        return INF64 if q > 0 else -INF64


def divide(a, b):
    if b:
        return a / b
    if a != a or b != b or not a:
        return NAN64
    return INF64 if (a > 0) == (bits64(b) >> 63 == 0) else -INF64


def square_root(x):
    """√ of FP64, correctly rounded: an integer root with a sticky bit behind it."""
    if x != x or x < 0:
        return NAN64
    if x in (0.0, INF64):
        return x
    n, d = x.as_integer_ratio()
    shift = 2 * (d.bit_length() + 70)
    square = (n << shift) // d  # exact: d is a power of two below 2^shift
    root = isqrt(square)
    return round64(Fraction(2 * root + (root * root != square), 2) / two_to(shift // 2))


def fused(a, b, c):
    """fma of FP64; a zero result that is exact has the sign that IEEE 754 gives a·b + c."""
    if any(v != v or v in (INF64, -INF64) for v in (a, b, c)) or not a * b and not (a and b):
        return a * b + c
    q = Fraction(a) * Fraction(b) + Fraction(c)
    if q:
        return round64(q)
    return 0.0 if c or Fraction(a) * Fraction(b) else a * b + c


def units(word):
    """A finite FP32 number in units of 2^-149."""
    exponent, fraction = word >> 23 & 0xFF, word & 0x7FFFFF
    n = (fraction | 1 << 23) << exponent - 1 if exponent else fraction
    return -n if word & SIGN else n


def round_units(n, scale):
    """RNE32 of n·2^-scale, scale ≥ 149, with the sign of n where it vanishes: integers only, for speed."""
    sign, n = (SIGN if n < 0 else 0), abs(n)
    drop = max(n.bit_length() - 24, scale - 149)
    kept, rest = n >> drop, n & (1 << drop) - 1
    half = 1 << drop >> 1
    kept += rest > half or (half and rest == half and kept & 1)
    return sign | grid_word(kept, drop - scale, False)


def fused32(a, b, c):
    """fma of FP32 patterns, as IEEE 754 defines it, with the one NaN; keeps the sign of zero."""
    if not (is_finite(a) and is_finite(b) and is_finite(c)):
        return _fused32_special(a, b, c)
    product = units(a) * units(b)
    n = product + (units(c) << 149)
    if n:
        return round_units(n, 298)
    both_negative = (a ^ b) & SIGN and c & SIGN and not product
    return SIGN if both_negative else 0


def _fused32_special(a, b, c):
    x, y, z = f32(a), f32(b), f32(c)
    product = x * y  # only its being infinite or NaN matters: two finite FP32 numbers have a finite product in FP64
    total = product + z
    if total != total:
        return NAN
    return INF | (SIGN if total < 0 else 0)


def add32(a, b):
    """FP32 addition of patterns: fma(a, 1, b) but for zeros, which are those of a + b all the same."""
    return fused32(a, 0x3F800000, b)
