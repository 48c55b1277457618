"""Functions of one argument (spec/arithmetic.md, section 5).

Correctly rounded ones are enclosed between two fractions that come closer and closer until both round alike; nothing is
taken from a library of functions. The pinned ones (cospi, log64) are the FP64 computations that the page spells out; the
tables of log64 are made here from the rule that the page states.
"""
from fractions import Fraction
from functools import cache
from math import isqrt

from .numbers import (INF, INF64, NAN, NAN64, SIGN, bits64, divide, exact, f32, f64, is_nan, nearest, round64, round_exact,
                      two_to)

# ---- enclosures: (low, high), integers in units of 2^-p ----


def _over(a, b):
    """⌈a/b⌉"""
    return -(-a // b)


def _from(q, p):
    scaled = q * (1 << p)
    return scaled.numerator // scaled.denominator, _over(scaled.numerator, scaled.denominator)


def _atanh(z, p):
    """Encloses artanh z, 0 ≤ z ≤ 1/2: z + z³/3 + z⁵/5 + …"""
    zl, zh = _from(z, p)
    sl, sh = _from(z * z, p)
    low, high, n = zl, zh, 1
    while zh > 1:
        zl, zh, n = zl * sl >> p, _over(zh * sh, 1 << p), n + 2
        low, high = low + zl // n, high + _over(zh, n)
    return low, high + 2  # what is left out is a geometric series of ratio ¼ or less that begins below one unit


@cache
def _ln2(p):
    low, high = _atanh(Fraction(1, 3), p)
    return 2 * low, 2 * high


def enclose_log(q, p):
    """Encloses ln q for a fraction q > 0."""
    e = 0
    m = q
    while m >= Fraction(3, 2):
        m, e = m / 2, e + 1
    while m < Fraction(3, 4):
        m, e = m * 2, e - 1
    z = (m - 1) / (m + 1)
    low, high = _atanh(abs(z), p)
    if z < 0:
        low, high = -high, -low
    l2, h2 = _ln2(p)
    return 2 * low + min(e * l2, e * h2), 2 * high + max(e * l2, e * h2)


def enclose_exp(q, p):
    """Encloses e^q for a fraction |q| ≤ 256: the power series of |q|/2^k, squared k times, and a reciprocal where q < 0."""
    k = max(0, (abs(q).numerator // abs(q).denominator).bit_length() + 8)
    yl, yh = _from(abs(q) / (1 << k), p)
    tl, th = 1 << p, 1 << p
    low, high, n = tl, th, 0
    while th > 1:
        n += 1
        tl, th = (tl * yl >> p) // n, _over(_over(th * yh, 1 << p), n)
        low, high = low + tl, high + th
    high += 2
    for _ in range(k):
        low, high = low * low >> p, _over(high * high, 1 << p)
    return (low, high) if q >= 0 else ((1 << 2 * p) // high, _over(1 << 2 * p, low))


def settle(enclose, q, bits=32):
    """R of a function's value from its enclosures. The value must not be a middle between grid numbers; where it may be
    rational the caller has answered already."""
    p = 100
    while True:
        low, high = enclose(q, p)
        words = {round_exact(Fraction(v) / (1 << p), bits) for v in (low, high)}
        if len(words) == 1:
            return words.pop()
        p *= 2


# ---- FP32 → FP32, correctly rounded ----

def exp(word):
    if is_nan(word):
        return NAN
    if word & ~SIGN == 0:
        return 0x3F800000
    if word == INF or (not word & SIGN and f32(word) > 128):
        return INF
    if word & SIGN and f32(word) < -128:
        return 0
    return settle(enclose_exp, exact(word))


def log(word):
    if word & ~SIGN == 0:
        return INF | SIGN
    if is_nan(word) or word & SIGN:
        return NAN
    if word in (INF, 0x3F800000):
        return INF if word == INF else 0
    return settle(enclose_log, exact(word))


def rsqrt(word):
    if word & ~SIGN == 0:
        return INF
    if is_nan(word) or word & SIGN:
        return NAN
    return 0 if word == INF else _nearest_rsqrt(exact(word))


def _nearest_rsqrt(q):
    """The FP32 number nearest 1/√q, found by comparing squares: y < 1/√q iff y²·q < 1. No tie is possible: a middle has 25
    significant bits, and 1/q a square of one would need 49."""
    low, high = 0x00800000, 0x7F000000  # the results lie between 2^-64 and 2^75
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exact(middle)**2 * q <= 1 else (low, middle)
    half = (exact(low) + exact(high)) / 2
    return low if half**2 * q >= 1 else high


# ---- sigmoid and what is made of it ----

class Interval:
    """Numbers between low and high, in units of 2^-p, rounded outwards."""

    def __init__(self, low, high, p):
        self.low, self.high, self.p = low, high, p

    @classmethod
    def of(cls, q, p):
        return cls(*_from(q, p), p)

    def __add__(self, other):
        return Interval(self.low + other.low, self.high + other.high, self.p)

    def __mul__(self, other):
        products = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(products) >> self.p, _over(max(products), 1 << self.p), self.p)

    def ends(self):
        return self.low, self.high


@cache
def _two_over_pi_root(p):
    """Encloses √(2/π), π by Machin's formula 16·arctan 1/5 − 4·arctan 1/239."""
    low, high = (16 * a - 4 * b for a, b in zip(_arctan(5, p), _arctan(239, p)[::-1]))
    scaled = (2 << 3 * p) // high, _over(2 << 3 * p, low)  # 2/π in units of 2^-2p
    return Interval(isqrt(scaled[0]), isqrt(scaled[1]) + 1, p)


def _arctan(n, p):
    """Encloses arctan 1/n: an alternating series, each of whose terms is off by less than a unit."""
    total, term, k = 0, (1 << p) // n, 0
    while term:
        total += (-term if k & 1 else term) // (2 * k + 1)
        term, k = term // (n * n), k + 1
    return total - 2 * k - 2, total + 2 * k + 2


def _sigmoid_of(v):
    """Encloses 1/(1 + e^-v) for an interval within ±256: it grows with v."""
    p, one = v.p, 1 << v.p
    low, high = (enclose_exp(Fraction(-end, one), p) for end in v.ends())
    return Interval((one << p) // (one + low[1]), _over(one << p, one + high[0]), p)


def enclose_sigmoid(q, p):
    return _sigmoid_of(Interval.of(q, p)).ends()


def enclose_tanh(q, p):
    """2·sigmoid(2q) − 1"""
    low, high = _sigmoid_of(Interval.of(2 * q, p)).ends()
    return 2 * low - (1 << p), 2 * high - (1 << p)


CUBE = Fraction(44715, 1000000)


def _gelu_parts(q, p):
    """x, sigmoid(v) and v′ for v = 2·√(2/π)·(x + 0.044715·x³): gelu is x·sigmoid(v)."""
    root = _two_over_pi_root(p)
    v = root * Interval.of(2 * (q + CUBE * q**3), p)
    return Interval.of(q, p), _sigmoid_of(v), root * Interval.of(2 * (1 + 3 * CUBE * q * q), p)


def enclose_gelu(q, p):
    x, s, _ = _gelu_parts(q, p)
    return (x * s).ends()


def enclose_gelu_slope(q, p):
    x, s, dv = _gelu_parts(q, p)
    rest = Interval((1 << p) - s.high, (1 << p) - s.low, p)
    return (s + x * s * rest * dv).ends()


def _bounded(word, most, low, high, at_zero, enclose):
    """A function that beyond ±most (and at ±inf) has rounded to `low` and `high`, patterns or None for x itself."""
    if is_nan(word):
        return NAN
    if word & ~SIGN == 0:
        return at_zero
    if abs(f32(word)) > most:
        end = low if word & SIGN else high
        return word if end is None else end
    return settle(enclose, exact(word))


ONE, HALF = 0x3F800000, 0x3F000000


def tanh(word):
    return _bounded(word, 64, ONE | SIGN, ONE, 0, enclose_tanh)


def sigmoid(word):
    return _bounded(word, 128, 0, ONE, HALF, enclose_sigmoid)


def gelu(word):
    return _bounded(word, 14, 0, None, 0, enclose_gelu)


def gelu_slope(word):
    return _bounded(word, 14, 0, ONE, HALF, enclose_gelu_slope)


# ---- pinned FP64 ----

COS = [float.fromhex(c) for c in """0x1p+0 -0x1.3bd3cc9be45dep+2 0x1.03c1f081b5ac4p+2 -0x1.55d3c7e3cbffap+0
    0x1.e1f506891babbp-3 -0x1.a6d1f2a204a8cp-6 0x1.f9d38a3763cc3p-10 -0x1.b6e24f44b128fp-14 0x1.20c62c2f2d7f5p-18""".split()]
SIN = [float.fromhex(c) for c in """0x1.921fb54442d18p+1 -0x1.4abbce625be53p+2 0x1.466bc6775aae2p+1 -0x1.32d2cce62bd86p-1
    0x1.50783487ee782p-4 -0x1.e3074fde8871fp-8 0x1.e8f434d018d63p-12 -0x1.6fadb9f155744p-16""".split()]
SHIFTER = float.fromhex("0x1.8p52")


def horner(coefficients, z):
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = c + z * total
    return total


def cospi(x):
    y = -x if x < 0.0 else x
    if not y <= 1048576.0:
        return NAN64
    v = 2.0 * y + SHIFTER
    q = bits64(v) & 3
    r = y - 0.5 * (v - SHIFTER)
    value = r * horner(SIN, r * r) if q & 1 else horner(COS, r * r)
    return (-value if q in (1, 2) else value) + 0.0


def _split(q_enclosure, p):
    """A number as h, the nearest multiple of 2^-44, and the rest, RNE64; from an enclosure that settles both."""
    low, high = (Fraction(v) / (1 << p) for v in q_enclosure)
    h = {nearest(v * 2**44) for v in (low, high)}
    assert len(h) == 1
    h = Fraction(h.pop()) / 2**44
    rest = {round64(v - h) for v in (low, high)}
    assert len(rest) == 1
    return round64(h), rest.pop()


@cache
def _log_row(i):
    """c, h, l of interval i of the mantissa."""
    if i in (0, 127):
        return 1.0, 0.0, 0.0
    middle = (1 + Fraction(2 * i + 1, 256)) * (Fraction(1, 2) if i >= 48 else 1)
    c = 1 / middle
    unit = two_to(-15 if c >= 1 else -16)  # 16 significant bits; ½ < c < 2
    c = nearest(c / unit) * unit
    low, high = enclose_log(c, 300)
    return (round64(c), *_split((-high, -low), 300))


@cache
def _ln2_parts():
    return _split(_ln2(300), 300)


LOG_SERIES = [-0.5] + [float.fromhex(c) for c in """0x1.5555555555555p-2 -0x1p-2 0x1.999999999999ap-3 -0x1.5555555555555p-3
    0x1.2492492492492p-3 -0x1p-3 0x1.c71c71c71c71cp-4""".split()]


def log64(x):
    """log₆₄ of an FP32 number (given as FP64)."""
    if x != x or x < 0:
        return NAN64
    if x in (0.0, INF64):
        return -INF64 if not x else INF64
    bits = bits64(x)
    i, e = bits >> 45 & 127, (bits >> 52) - 1023
    m = f64(bits & (1 << 52) - 1 | 1023 << 52)
    if i >= 48:
        m, e = m / 2, e + 1
    c, h, l = _log_row(i)
    ln2_high, ln2_low = _ln2_parts()
    r = m * c - 1.0
    high = e * ln2_high + h
    total = high + r
    low = ((e * ln2_low + l) + (r - (total - high))) + (r * r) * horner(LOG_SERIES, r)
    y = total + low
    rest = low - (y - total)
    bits = bits64(y)
    if rest == 0 or bits & 1:
        return y
    return f64(bits + 1 if (rest > 0) == (y > 0) else bits - 1)


def power(base, n):
    """base^n by square and multiply from bit 63 down."""
    result = 1.0
    for bit in range(63, -1, -1):
        result = result * result
        if n >> bit & 1:
            result = result * base
    return result


SCHEDULES = ("constant", "step", "cosine")


def learning_rate(kind, lr, gamma, every, warmup, steps, t):
    """The rate of step t = 1 … steps (spec/ops.md, sgd)."""
    n = t - 1 - warmup
    if t <= warmup:
        return lr * (float(t) / float(warmup))
    if kind == 1:
        return lr * power(gamma, n // every)
    if kind == 2:
        return lr * (0.5 * (1.0 + cospi(divide(float(n), float(steps - warmup)))))
    return lr
