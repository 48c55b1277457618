"""The rule of mode logged between simulated platforms, and what distinguishes the modes."""
import unittest
from fractions import Fraction

from verifier import draws, products
from verifier.numbers import NAN, exact, f32, f64, bits64, last_bit, round_exact, round_to, step_exponent, two_to
from verifier.products import Bound


def words(seed, count, low=120, span=8):
    stream = draws.Stream(seed, draws.TEST, 11)
    return [stream.u32(i) & 0x807FFFFF | low + (stream.u32(i) >> 23 & 255) % span << 23 for i in range(count)]


def order_sum(terms, order):
    total = 0.0
    for i in order:
        total += f32(terms[i][0]) * f32(terms[i][1])
    return total


def trainer(terms, c, bits, bound):
    """(value, entry) of a trainer whose platform gave C (spec 3.2), with t from the exact S: the least a norm may give."""
    e, s = products.sums(terms)
    t = bound.of(s, len(terms), step_exponent(e, bits)) * Fraction(1001, 1000)
    low, high = (round_exact(Fraction(c) + d, bits) for d in (-t, t))
    if low == high:
        return round_to(c, bits), None
    if c and 4 * t < two_to(step_exponent(Fraction(c), bits)):
        value = round_to(c, bits)
        return value, last_bit(value, bits)
    return round_exact(e, bits), None


class Logged(unittest.TestCase):
    def test_every_honest_value_is_the_value_of_its_entry(self):
        """Sums of ties on a coarse grid, in two orders: the entry decides, and is never forged."""
        entries = overrides = 0
        for seed in range(300):
            n = 3 + seed % 40
            a = words(seed, n, 125, 3)
            terms = [(w & 0xFFFF0000, 0x3F800000 | seed % 2 << 16) for w in a]
            terms += [(0x2F000000 + seed, 0x3F800000)]  # far below: the orders differ
            for order in (range(len(terms)), range(len(terms) - 1, -1, -1)):
                value, entry = trainer(terms, order_sum(terms, order), 16, Bound(depth=1 << 21))
                meaning, judged = products.element("logged", terms, None, 16, Bound(depth=1 << 21), entry)
                self.assertNotEqual(meaning, "forged")
                self.assertEqual(judged, value)
                entries += entry is not None
                overrides += meaning == "override"
        self.assertGreater(entries, 20)

    def test_two_values_are_neighbours_and_hold_E(self):
        two = 0
        for seed in range(200):
            terms = [(w & 0xFFFF0000, 0x3F800000) for w in words(seed, 6, 126, 2)]
            e, s = products.sums(terms)
            found = products.ends(e, s, len(terms), 16, Bound(depth=1 << 21))
            if found:
                two += 1
                low, high = sorted(map(exact, found))
                self.assertTrue(low <= e <= high)
                self.assertEqual(len({last_bit(w, 16) for w in found}), 2)
                self.assertIn(round_exact(e, 16), found)
        self.assertGreater(two, 10)

    def test_nan(self):
        terms = [(0x7F800000, 0)]
        self.assertEqual(products.element("logged", terms, None, 32, bit=0), ("redundant", NAN))
        self.assertEqual(products.element("logged", terms, None, 32, bit=1), ("forged", NAN))


class Modes(unittest.TestCase):
    def test_they_differ(self):
        differ = moved = 0
        for seed in range(20):
            a, b = words(seed, 600), words(seed + 1000, 600)
            terms = list(zip(a, b))
            value = products.pinned(terms, None, 32)
            differ += value != products.exact_value(terms, 32)
            moved += value != products.pinned(terms[300:] + terms[:300], None, 32)
        self.assertGreater(differ, 10)
        self.assertGreater(moved, 10)

    def test_places_without_a_term_count(self):
        terms = [(w, 0x3F800000) for w in words(1, 300)]
        spread = terms[:100] + [None] * 200 + terms[100:]
        packed = products.pinned(terms, None, 32)
        self.assertNotEqual(products.pinned(spread, None, 32), packed)
        self.assertEqual(products.exact_value(spread, 32), products.exact_value(terms, 32))

    def test_bias_is_in_the_last_block(self):
        terms = [(w, 0x3F800000) for w in words(2, 256)]
        bias = words(3, 1)[0]
        one_block = 0
        for a, b in [*terms, (bias, 0x3F800000)]:
            one_block = products.fused32(a, b, one_block)
        self.assertEqual(products.pinned(terms, bias, 32), one_block)

    def test_a_factor_that_is_not_finite(self):
        for bad in (0x7F800000, 0xFF800000, 0x7FC00000):
            self.assertEqual(products.pinned([(0x3F800000, 0x3F800000), (bad, 0x3F800000)], None, 32), NAN)
            self.assertEqual(products.pinned([(0x3F800000, 0x3F800000)], bad, 32), NAN)


class Bounds(unittest.TestCase):
    def test_within_decides_at_the_last_bit(self):
        terms = list(zip(words(5, 40), words(6, 40)))
        both = products.sums(terms)
        b = Bound(depth=513).of(both[1], 40, 0)
        edge = bits64(float(both[0] + b))
        inside = [products.within(both, f64(edge + d), 40, 32, Bound(depth=513)) for d in range(-3, 4)]
        self.assertEqual(inside, sorted(inside, reverse=True) if float(both[0] + b) > 0 else sorted(inside))
        self.assertTrue(any(inside) and not all(inside))
