"""Statements about numbers: rounding, functions, sums, random numbers, frames."""
from verifier import entries, products, vectors
from verifier.numbers import Fraction, bits64, exact, f64, round64, round_exact, step_exponent, two_to
from verifier.vectors import NUMBERS

from .writer import Draw, Statements, num

EDGES64 = [0, 0x8000000000000000, 1, 0x8000000000000001, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
           0xFFF8000000000001, 0x7FEFFFFFFFFFFFFF, 0x3FF0000000000000]


def hex64(bits):
    return f"{bits:016x}"


def around(q):
    """FP64 patterns at and beside a number."""
    bits = bits64(round64(q))
    return [bits - 1, bits, bits + 1] if bits else [0, 1, 1 << 63 | 1]


def write_rounding():
    out, draw = Statements("R and the grid's interval", NUMBERS), Draw(1)
    for bits in (32, 31, 24, 19, 17, 16):
        out.about(f"a grid of {bits} bits: edges, middles of intervals and their neighbours")
        least, largest = two_to(-149 + 32 - bits), two_to(128) - two_to(127 - (bits - 9))
        places = [least / 2, least, least * 3 / 2, two_to(-126) - least / 2, two_to(-126), two_to(-126) + least / 2,
                  largest,
                  (largest + two_to(128)) / 2, two_to(128)]
        places += [1 + (2 * k + 1) * two_to(-(bits - 8)) for k in (0, 1, 2 ** (bits - 9) - 1)]
        for pattern in EDGES64 + [p for q in places for p in around(q)] + [p | 1 << 63 for q in places[:9] for p in around(q)]:
            out.add("round", bits, hex64(pattern))
        for _ in range(12):
            out.add("round", bits, hex64(draw.u64()))
            out.add("round", bits, hex64(draw.u64() & 0x800FFFFFFFFFFFFF | 0x380 + draw.below(8) << 52))
        for q in places + [Fraction(0), Fraction(3, 2), least / 1024]:
            out.add("length", bits, hex64(bits64(round64(q))))
    return out.text()


SIGMOIDS = ("tanh", "sigmoid", "gelu", "gelu_slope")


def write_sigmoids():
    out, draw = Statements("tanh, sigmoid, GELU and its derivative", NUMBERS), Draw(7)
    special = ["00000000", "80000000", "7f800000", "ff800000", "7fc00000", "ffc00001", "00000001", "80000001", "00000003", "80000003",
               "007fffff", "807fffff", "00800000", "7f7fffff", "ff7fffff", "3f800000", "bf800000"]
    near = {"tanh": "41102cb3 41102cb4 41200000 39b504f3 b9b504f4".split(),
            "sigmoid": "41851592 41851593 c2aeac50 c2ce8ecf c2cff1b5 33800000 b3800000".split(),
            "gelu": "bf3c3a24 bf407e51 c0a00000 c1500000 c1600000 41500000 40a40000 c0e00000".split(),
            "gelu_slope": "bf407e50 bf407e51 bf407e52 3fb4fdf4 bfb4fdf4 40a00000 c0a00000 41300000 c1500000".split()}
    for name in SIGMOIDS:
        out.about(f"{name}: special arguments, those near its bends and ends, and drawn ones of every size")
        for w in special + near[name]:
            out.add(name, w)
        for _ in range(60):
            out.add(name, f"{draw.u32() & 0x807FFFFF | 112 + draw.below(22) << 23:08x}")
        for _ in range(20):
            out.add(name, f"{draw.u32():08x}")
    return out.text()


def write_functions():
    out, draw = Statements("Functions", NUMBERS), Draw(2)
    special = ["00000000", "80000000", "7f800000", "ff800000", "7fc00000", "ffc00001", "00000001", "80000001", "7f7fffff",
               "ff7fffff",
               "3f800000", "bf800000", "00800000", "007fffff"]
    near = {"exp": "42b17217 42b17218 c2cff1b4 c2cff1b5 c2ce8ecf 33000000 b3000000 33800000 38d1b717".split(),
            "log": "3f800001 3f7fffff 40000000 3c413d3a 41178feb 4c5d65a5 65d890d3 6f31a8ec 402df854".split(),
            # five near middles
            "rsqrt": "40800000 3e800000 40000000 40400000 3f7fffff 3f800001 00000003".split()}
    for name in ("exp", "log", "rsqrt"):
        out.about(f"{name}: special arguments, known hard ones, and drawn ones")
        for w in special + near[name]:
            out.add(name, w)
        for _ in range(40):
            w = draw.u32()
            if name == "exp":
                w = w & 0x807FFFFF | 110 + draw.below(24) << 23
            out.add(name, f"{w & 0x7FFFFFFF if name != 'exp' else w:08x}")
    pinned(out, draw)
    fused(out, draw)
    return out.text()


def pinned(out, draw):
    out.about("log64: every interval of the mantissa, exponents at both ends")
    for i in range(128):
        out.add("log64", f"{0x3F000000 + (i << 16) + (draw.u32() & 0xFFFF):08x}")
    for w in ("00000000", "80000000", "7f800000", "ff800000", "7fc00000", "bf800000", "00000001", "007fffff", "7f7fffff",
              "3f800000"):
        out.add("log64", w)
    out.about("cospi: quadrants, their borders, the domain's end")
    for x in ("0", "-0x0p+0", "1/4", "1/2", "3/4", "1", "-1", "5/4", "3/2", "7/4", "2", "1/3", "-2/3", "1/1000000",
              "1048576", "1048575.75",
              "1048577", "-1048576"):
        out.add("cospi", num(x))
    for bits in EDGES64[2:8]:
        out.add("cospi", hex64(bits))
    for _ in range(24):
        out.add("cospi", num(Fraction(draw.u64(), 1 << 63 - draw.below(12))))
    out.about("sqrt")
    for bits in EDGES64 + [0x4000000000000000, 0x4010000000000000, 0x3FEFFFFFFFFFFFFF, 2, 0x000FFFFFFFFFFFFF]:
        out.add("sqrt", hex64(bits))
    for _ in range(24):
        out.add("sqrt", hex64(draw.u64() >> 1))


def fused(out, draw):
    one = 0x3FF0000000000000
    out.about("fma of FP64")
    for a in EDGES64:
        for b in (0, 1 << 63, one, EDGES64[4]):
            for c in (0, 1 << 63, EDGES64[5], 1):
                out.add("fma", hex64(a), hex64(b), hex64(c))
    for _ in range(40):
        a, b = draw.u64() & 0xBFFFFFFFFFFFFFFF, draw.u64() & 0xBFFFFFFFFFFFFFFF
        product = Fraction(f64(a)) * Fraction(f64(b)) if f64(a) == f64(a) and f64(b) == f64(b) else Fraction(0)
        near = bits64(-round64(product)) if round64(product) else draw.u64()
        out.add("fma", hex64(a), hex64(b), hex64(near))
        out.add("fma", hex64(a), hex64(b), hex64(near ^ draw.below(1 << 12)))
    out.about("fma of FP32")
    ends = [0, 1 << 31, 1, 0x80000001, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000]
    for a in ends:
        for b in (0, 1 << 31, 0x3F800000, 0x7F7FFFFF, 0x7F800000):
            for c in ends:
                out.add("fma32", *(f"{w:08x}" for w in (a, b, c)))
    for _ in range(60):
        a, b = (draw.u32() & 0x807FFFFF | 100 + draw.below(50) << 23 for _ in range(2))
        product = exact(a) * exact(b)
        c = round_exact(-product, 32) + draw.below(3)  # what is left is the rounding error of the product, or near it
        out.add("fma32", *(f"{w:08x}" for w in (a, b, c)))


def write_sums():
    out, draw = Statements("rsum, and how near a platform's sum must be", NUMBERS), Draw(3)
    gen = [1, 100, 40]
    out.about("one run around each limit of lanes and blocks")
    for n in (0, 1, 2, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097, 65536, 65537):
        out.add("rsum", gen, n)
    out.about("several runs: a block ends with its run; empty runs leave no trace")
    for lengths in ([0, 0], [1, 1], [100, 100, 100], [256, 1], [1, 256], [0, 5, 0], [255, 2], [300, 300, 300], [16] * 300,
                    [1] * 257, [3, 0, 500]):
        out.add("rsum", gen, lengths)
    out.about("strided sums")
    for n in (0, 1, 2, 16, 255, 256, 257, 513, 65537):
        out.add("strided", gen, n)
    out.about("terms that overflow, vanish and cancel")
    for seed, low, span in ((2, 250, 5), (3, 0, 2), (4, 0, 255), (5, 127, 1)):
        out.add("rsum", [seed, low, span], 600)
        out.add("strided", [seed, low, span], 600)
    out.about("within: E, one step of FP64 from it, and the ends of B")
    for bound in (["depth", 0], ["depth", 1], ["depth", 2097152], ["fp32"], ["tau", num("0.4")]):
        for n, bits in ((1, 32), (40, 16), (513, 19)):
            within(out, [draw.below(1000), 120, 8], n, bits, bound)
    return out.text()


def within(out, gen, n, bits, bound):
    v = vectors.gen_values(list(map(str, gen)), 2 * n)
    e, s = products.sums(list(zip(v[::2], v[1::2])))
    b = vectors.bound_of(list(map(str, bound))).of(s, n, step_exponent(e, bits))
    for q in (e, e + b, e - b, e + 2 * b, Fraction(0)):
        for pattern in around(q):
            out.add("within", gen, n, bits, bound, hex64(pattern))
    for pattern in EDGES64[4:9]:
        if f64(pattern) == f64(pattern) and abs(f64(pattern)) < 1e308:
            out.add("within", gen, n, bits, bound, hex64(pattern))


def write_random():
    out, draw = Statements("Random numbers and sample order", NUMBERS), Draw(4)
    out.about("Philox 4x32-10; the first three are known answers of its authors (Random123, kat_vectors)")
    zeros, ones = ["00000000"] * 6, ["ffffffff"] * 6
    pi = "243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0".split()
    for counter, expect in ((zeros, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"), (ones, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
                            (pi, "d16cfe09 94fdcceb 5001e420 24126ea1")):
        out.add("philox", counter, expect=expect)
    for _ in range(6):
        out.add("philox", [f"{draw.u32():08x}" for _ in range(6)])
    out.about("streams")
    for seed, purpose, step in ((0, 1, 0), (1, 1, 5), (4294967295, 3, 1 << 40), (7, 5, (1 << 64) - 1)):
        for index in (0, 1, 3, 4, 17, 1 << 34):
            out.add("u32", seed, purpose, step, index)
            out.add("below", seed, purpose, step, index, (1, 9, 1000, 4294967295)[index % 4])
            out.add("uniform", seed, purpose, step, index)
            out.add("normal", seed, purpose, step, index)
    for index in range(40):
        out.add("normal", 3, 1, 2, index)
    out.about("sample order: whole epochs of small sets, places of large ones")
    for n in (1, 2, 3, 4, 5, 16, 17, 29):
        for position in range(n):
            out.add("order", 1, 0, position, n)
    for n in (60000, 65536, 65537, 1281167, 4294967297, 1 << 40):
        for position in (0, 1, n // 2, n - 1):
            out.add("order", 4294967295, 1 << 33, position, n)
    return out.text()


def write_rates():
    out = Statements("Learning rates", NUMBERS)
    out.about("constant, step, cosine; before, at and after the end of a warm-up")
    for kind, every, warmup, steps in ((0, 1, 0, 5), (0, 1, 4, 5), (1, 1, 0, 50), (1, 7, 3, 90), (2, 1, 0, 11),
                                       (2, 1, 10, 1000)):
        for t in sorted({1, 2, warmup, warmup + 1, warmup + 2, steps // 2, steps} - {0}):
            out.add("rate", kind, num("0.1"), num("0.3"), every, warmup, steps, t)
    return out.text()


def write_frames():
    out, draw = Statements("Frames of the rounding log: canonical ones, and others", NUMBERS), Draw(5)
    sets = [(1, []), (1, [(0, 0)]), (1, [(0, 1)]), (5, [(4, 1)]), (6, [(5, 0)]), (100, [(0, 1), (99, 0)]),
            (65536, [(0, 0)]),
            (65536, [(65535, 1)]), (65536, [(i, i >> 3 & 1) for i in range(1000, 1040)]),
            (40, [(i, i & 1) for i in range(40)])]
    for elements, every in ((300, 3), (300, 20), (65536, 3000), (2000, 150)):
        sets.append((elements, [(i, draw.below(2)) for i in range(elements) if not draw.below(every)]))
    for elements, found in sets:
        for encoding in ("sparse", "dense"):
            if encoding == "dense" and elements > 5000:
                continue
            data = entries.encode(found, elements, encoding)
            out.add("frame", encoding, elements, data.hex() or "-", expect=" ".join(f"{i}:{b}" for i, b in found))
            mutations(out, draw, encoding, elements, data)
    out.about("other bytes")
    for encoding, elements, data in (("sparse", 5, "10"), ("sparse", 5, "1000"), ("sparse", 5, "00ff"), ("sparse", 5, "0f"),
                                     ("sparse", 5, "11"),
                                     ("sparse", 5, "ff00"), ("dense", 5, "-"), ("dense", 5, "10f3"), ("dense", 5, "10ff"),
                                     ("dense", 1, "1003"),
                                     ("dense", 5, "00"), ("sparse", 65536, "0f7fff"), ("sparse", 3, "007f7f"),
                                     ("dense", 6, "1000"),
                                     ("dense", 6, "100000"), ("dense", 6, "10000000")):
        out.add("frame", encoding, elements, data)
    return out.text()


def mutations(out, draw, encoding, elements, data):
    """A byte more, a byte less, and flipped bits: refused, or the bytes of other entries."""
    out.add("frame", encoding, elements, (data + b"\xff").hex())
    if not data:
        return
    out.add("frame", encoding, elements, data[:-1].hex() or "-")
    for _ in range(3):
        at = draw.below(len(data))
        out.add("frame", encoding, elements, (data[:at] + bytes([data[at] ^ 1 << draw.below(8)]) + data[at + 1:]).hex())

