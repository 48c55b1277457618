"""Products: exact sums, mode logged's admissible values, the fixed order of mode pinned (spec/arithmetic.md, section 3).

A term is a pair of FP32 patterns, or None where a tap does not exist. E and S are fractions.
"""
from dataclasses import dataclass
from fractions import Fraction

from .numbers import NAN, add32, f32, fused32, is_finite, grid_word, last_bit, round_exact, round_to, \
    step_exponent, two_to, units

ONE = 0x3F800000
BLOCK = 256
TERMS_MAX = 1 << 21
UNIT = 298  # the exact sums are counted in 2^-298


@dataclass
class Bound:
    """What decides B: certified FP64 with depth d (0: the default), FP32 chunks, or the window of a threshold τ."""
    depth: int = 0
    fp32: bool = False
    tau: float | None = None

    def of(self, s, places, step):
        """B, from S, K (padded taps and bias counted) and log2 of the interval's length."""
        if self.tau is not None:
            return Fraction(0.5 - self.tau) * two_to(step)
        if self.fp32:
            chunks = -(-places // 32)
            return (32 * two_to(-24) + chunks * two_to(-53)) * (1 + two_to(-10)) * s + places * two_to(-149)
        return (self.depth or 512 + -(-places // 512)) * two_to(-53) * s


def sums(terms):
    """E and S, or None where a factor is not finite."""
    e = s = 0
    for term in terms:
        if term is None:
            continue
        if not (is_finite(term[0]) and is_finite(term[1])):
            return None
        product = units(term[0]) * units(term[1])
        e += product
        s += abs(product)
    return Fraction(e, 1 << UNIT), Fraction(s, 1 << UNIT)


def exact_value(terms, bits):
    """R(E): mode exact, and what an element is without an entry."""
    both = sums(terms)
    return NAN if both is None else round_exact(both[0], bits)


def ends(e, s, places, bits, bound):
    """The two admissible values, or None where there is only R(E)."""
    step = step_exponent(e, bits)
    length = two_to(step)
    b = bound.of(s, places, step)
    m = abs(e) / length
    m = m.numerator // m.denominator
    if not (4 * b < length and abs(abs(e) - (m + Fraction(1, 2)) * length) <= b and abs(e) < two_to(128)):
        return None
    return grid_word(m, step, e < 0), grid_word(m + 1, step, e < 0)


def judge(terms, bits, bound, bit):
    """What an entry means: ("redundant" | "override" | "forged", value)."""
    return judge_sums(sums(terms), len(terms), bits, bound, bit)


def judge_sums(both, places, bits, bound, bit):
    """The same from E and S; `both` is None where a factor is not finite."""
    value = NAN if both is None else round_exact(both[0], bits)
    if bit == last_bit(value, bits):
        return "redundant", value
    two = ends(*both, places, bits, bound) if both else None
    if two is None:
        return "forged", value
    (other,) = (end for end in two if end != value)
    return "override", other


def pinned_states(terms, bias, every):
    """(sum of the blocks before, accumulator, whether all factors were finite) after each `every` terms and after the last."""
    total, acc, finite, states = 0, 0, True, []
    terms = [*terms] if bias is None else [*terms, (bias, ONE)]
    places = len(terms) - (bias is not None)
    for k, term in enumerate(terms):
        total, acc, finite = pinned_step((total, acc, finite), k, k < places, term)
        if (k + 1) % every == 0 or k + 1 == len(terms):
            states.append((total, acc, finite))
    return states


def pinned_step(state, k, placed, term):
    """One more term; `placed` is false for the bias, which begins no block."""
    total, acc, finite = state
    if k and placed and k % BLOCK == 0:
        total, acc = (acc if k == BLOCK else add32(total, acc)), 0
    if term is not None:
        finite = finite and all(map(is_finite, term))
        acc = fused32(*term, acc)
    return total, acc, finite


def pinned_end(state, places, bits):
    total, acc, finite = state
    if not finite:
        return NAN
    return round_to(f32(add32(total, acc) if places > BLOCK else acc), bits)


def pinned(terms, bias, bits):
    """Mode pinned: FP32 fused multiply-adds in ascending k, by blocks of 256 places; the bias is one more term of the last."""
    blocks = [terms[i:i + BLOCK] for i in range(0, len(terms), BLOCK)]
    if bias is not None:
        blocks[-1] = [*blocks[-1], (bias, ONE)]
    if any(not is_finite(word) for block in blocks for term in block if term for word in term):
        return NAN
    total = None
    for block in blocks:
        acc = 0
        for term in block:
            if term is not None:
                acc = fused32(term[0], term[1], acc)
        total = acc if total is None else add32(total, acc)
    return round_to(f32(total), bits)


def element(mode, terms, bias, bits, bound=Bound(), bit=None):
    """(kind, value) of one element: kind is "value" where there is no entry."""
    if mode == "pinned":
        return "value", pinned(terms, bias, bits)
    terms = terms if bias is None else [*terms, (bias, ONE)]
    if mode == "exact" or bit is None:
        return "value", exact_value(terms, bits)
    return judge(terms, bits, bound, bit)


def within(both, c, places, bits, bound):
    """|C − E| ≤ B for an FP64 sum C."""
    e, s = both
    return abs(Fraction(c) - e) <= bound.of(s, places, step_exponent(e, bits))
