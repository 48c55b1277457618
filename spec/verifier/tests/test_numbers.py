"""Rounding, functions and sums against other ways to get them."""
import struct
import unittest
from fractions import Fraction

from verifier import draws, functions, numbers, sums
from verifier.numbers import INF, NAN, SIGN, exact, f32, f64, fused, fused32, round_exact, round_to, two_to


def drawn(seed, count):
    stream = draws.Stream(seed, draws.TEST, 7)
    return [stream.u32(i) for i in range(count)]


class Rounding(unittest.TestCase):
    def test_grid_32_is_the_rounding_of_struct(self):
        for w in drawn(1, 4000):
            x = f64(w << 32 | w * 2654435761 & 0xFFFFFFFF)
            if x != x:
                continue
            try:
                expected = struct.unpack("<I", struct.pack("<f", x))[0]
            except OverflowError:
                expected = INF | (SIGN if x < 0 else 0)
            self.assertEqual(round_to(x, 32), 0 if expected == SIGN else expected)

    def test_every_grid_takes_the_nearer_neighbour(self):
        for bits in range(16, 33):
            unit = 1 << 32 - bits
            for w in drawn(bits, 60):
                low = w & 0x3FFFFFFF & -unit
                a, b = exact(low), exact(low + unit)
                even, odd = (low, low + unit) if not low & unit else (low + unit, low)
                self.assertEqual(round_exact((a + b) / 2, bits), even)
                self.assertEqual(round_exact((a + b) / 2 + (exact(odd) - exact(even)) / 1000, bits), odd)
                self.assertEqual(round_exact(-a, bits), (low | SIGN) if a else 0)

    def test_ends(self):
        largest = exact(0x7F7FFFFF)
        self.assertEqual(round_exact(largest + two_to(102), 32), 0x7F7FFFFF)
        self.assertEqual(round_exact(largest + two_to(103), 32), INF)
        self.assertEqual(round_exact(two_to(-150), 32), 0)
        self.assertEqual(round_exact(two_to(-150) * Fraction(1001, 1000), 32), 1)
        self.assertEqual(round_to(float("nan"), 16), NAN)
        self.assertTrue(numbers.on_grid(0x3F800000, 16))
        self.assertFalse(numbers.on_grid(0x3F800001, 31) or numbers.on_grid(SIGN, 32))


class Operations(unittest.TestCase):
    def test_square_root_encloses(self):
        for w in drawn(2, 300):
            x = f64((w << 31 | w) & (1 << 63) - 1)
            y = numbers.square_root(x)
            if not x < numbers.INF64:
                continue
            below, above = f64(numbers.bits64(y) - 1), f64(numbers.bits64(y) + 1)
            self.assertLess(((Fraction(y) + Fraction(below)) / 2)**2, Fraction(x))
            self.assertGreater(((Fraction(y) + Fraction(above)) / 2)**2, Fraction(x))

    def test_fused_is_one_rounding(self):
        a, b = 1.0 + 2 * numbers.HALF_UNIT, 1.0 - numbers.HALF_UNIT
        self.assertEqual(fused(a, a, -1.0), float(Fraction(a)**2 - 1))
        self.assertNotEqual(fused(a, b, -1.0), a * b - 1.0)

    def test_fused32_twins(self):
        one, ulp = 0x3F800001, 0x3F800000
        self.assertEqual(fused32(one, one, 0xBF800002), round_exact(two_to(-46), 32))
        rounded_before = exact(round_exact(exact(one)**2, 32))
        self.assertNotEqual(fused32(one, one, 0xBF800002), round_exact(rounded_before - exact(0x3F800002), 32))
        self.assertEqual(fused32(0, SIGN | ulp, SIGN), SIGN)
        self.assertEqual(fused32(0, ulp, SIGN), 0)
        self.assertEqual(fused32(INF, 0, 0), NAN)
        self.assertEqual(fused32(INF, ulp, INF | SIGN), NAN)

    def test_division(self):
        self.assertEqual(numbers.divide(1.0, -0.0), -numbers.INF64)
        self.assertEqual(numbers.bits64(numbers.divide(0.0, 0.0)), 0x7FF8000000000000)


class Functions(unittest.TestCase):
    def test_identities(self):
        for w in drawn(3, 60):
            q = exact(w & 0x7FFFFF | 0x3F000000)
            p = 200
            low, high = functions.enclose_exp(q, p)
            self.assertLess(high - low, 1 << 60)
            for end, sign in ((low, -1), (high, 1)):
                inner = functions.enclose_log(Fraction(end, 1 << p), p)
                gap = (q - Fraction(inner[0 if sign > 0 else 1], 1 << p)) * sign
                self.assertLess(abs(gap), two_to(-130))

    def test_known_values(self):
        self.assertEqual(functions.exp(0x3F800000), 0x402DF854)  # e
        self.assertEqual(functions.log(0x40000000), 0x3F317218)  # ln 2
        self.assertEqual(functions.rsqrt(0x40800000), 0x3F000000)
        self.assertEqual([functions.log(w) for w in (0, SIGN, 0xBF800000, INF)], [INF | SIGN, INF | SIGN, NAN, INF])

    def test_log64_rounds_to_log(self):
        for w in drawn(4, 400):
            w &= 0x7FFFFFFF
            if 0 < w < INF:
                self.assertEqual(round_to(functions.log64(f32(w)), 32), functions.log(w), hex(w))

    def test_cospi_is_near_cosine(self):
        """cos πx by its doubling formula from cos(πx/2), down to where the series 1 − y²/2 + y⁴/24 does."""
        def cosine(x, depth=20):
            if not depth:
                y = 3.141592653589793 * x
                return 1.0 - y * y / 2.0 + y * y * y * y / 24.0
            half = cosine(x / 2.0, depth - 1)
            return 2.0 * half * half - 1.0
        for w in drawn(5, 100):
            x = w * draws.UNIT * 4.0
            self.assertLess(abs(functions.cospi(x) - cosine(x)), float.fromhex("0x1p-10"))
        self.assertEqual([functions.cospi(x) for x in (0.0, 0.5, 1.0, 1.5)], [1.0, 0.0, -1.0, 0.0])

    def test_tables_are_as_the_rule_says(self):
        """The parts of −ln c join to −ln c within 2^-100, and c is near 1/m everywhere."""
        for i in range(128):
            c, h, l = functions._log_row(i)
            low, high = functions.enclose_log(Fraction(c), 200) if c != 1 else (0, 0)
            self.assertLess(abs(-(Fraction(h) + Fraction(l)) - Fraction(low, 1 << 200)), two_to(-98))
            m = (1 + Fraction(i, 128)) * (Fraction(1, 2) if i >= 48 else 1)
            self.assertLess(abs(m * Fraction(c) - 1), two_to(-7) + two_to(-12))


class Sums(unittest.TestCase):
    def test_exact_terms_give_their_sum_whatever_the_runs(self):
        terms = [float(w % 1001) - 500.0 for w in drawn(6, 3000)]
        self.assertEqual(sums.rsum(terms), sum(map(int, terms)))
        self.assertEqual(sums.rsum(terms[:100], [], terms[100:]), sum(map(int, terms)))
        self.assertEqual(sums.strided(terms), sum(map(int, terms)))

    def test_order_matters(self):
        terms = [f32(w & 0x807FFFFF | 100 + (w >> 3 & 63) << 23) for w in drawn(7, 600)]
        self.assertNotEqual(sums.rsum(terms), sums.strided(terms))
        self.assertNotEqual(sums.rsum(terms), sums.rsum(*(terms[i:i + 7] for i in range(0, 600, 7))))
        self.assertNotEqual(sums.rsum(terms), sums.rsum(terms[300:] + terms[:300]))

    def test_no_terms(self):
        self.assertEqual(numbers.bits64(sums.rsum()), 0)
        self.assertEqual(numbers.bits64(sums.rsum([-0.0])), 0)


class Order(unittest.TestCase):
    def test_it_is_a_permutation(self):
        for n in (1, 2, 3, 10, 64, 65, 300):
            epoch = [draws.order(1, 2, i, n) for i in range(n)]
            self.assertEqual(sorted(epoch), list(range(n)))
            if n > 3:
                self.assertNotEqual(epoch, [draws.order(1, 3, i, n) for i in range(n)])
                self.assertNotEqual(epoch, [draws.order(2, 2, i, n) for i in range(n)])
