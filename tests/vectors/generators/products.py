"""Products: shapes and directions, exact values at every edge, entries of mode logged, the order of mode pinned."""
from .writer import Cases, words


def dot(*terms):
    """Inputs of a matmul (1, K)·(K, 1) whose terms are these: x, or (x, y)."""
    pairs = [t if isinstance(t, tuple) else (t, 1) for t in terms]
    return [f"f32 1x{len(pairs)} " + words(*(a for a, _ in pairs)), f"f32 {len(pairs)}x1 " + words(*(b for _, b in pairs))]


def shapes():
    """Every way to transpose, with and without bias, on three grids, from one set of seeds."""
    for grid in ("32 32", "19 32", "16 16"):
        for ta in (0, 1):
            for tb in (0, 1):
                a, b = "5x3" if ta else "3x5", "4x5" if tb else "5x4"
                inputs = [f"f32 {a} gen 1 120 8", f"f32 {b} gen 2 120 8"]
                name = f"matmul.{grid.split()[0]}.{'ta' if ta else 'a'}.{'tb' if tb else 'b'}"
                yield name, "matmul", inputs, (ta, tb), grid
                yield name + ".bias", "matmul", inputs + ["f32 4 gen 3 124 4"], (ta, tb), grid


CONVOLUTIONS = [  # name, x, w, stride, pad
    ("1x1", "2x3x4x5", "2x3x1x1", 1, 0), ("3x3", "1x2x5x6", "3x2x3x3", 1, 1), ("stride", "2x2x7x6", "2x2x3x3", 2, 1),
    ("wide", "1x1x6x9", "2x1x2x4", 3, 1), ("5x5", "1x1x5x5", "1x1x5x5", 1, 4), ("gaps", "1x2x7x7", "2x2x1x1", 3, 0),
]


def dims(text):
    return list(map(int, text.split("x")))


def convolutions():
    for name, x, w, stride, pad in CONVOLUTIONS:
        (n, _, h, width), (o, _, kh, kw) = dims(x), dims(w)
        y = f"{n}x{o}x{(h + 2 * pad - kh) // stride + 1}x{(width + 2 * pad - kw) // stride + 1}"
        image, kernel, dy = f"f32 {x} gen 11 120 8", f"f32 {w} gen 12 120 8", f"f32 {y} gen 13 120 8"
        yield f"conv2d.{name}", "conv2d", [image, kernel], (stride, pad)
        yield f"conv2d.{name}.bias", "conv2d", [image, kernel, f"f32 {o} gen 14 124 4"], (stride, pad)
        yield f"conv2d_dinput.{name}", "conv2d_dinput", [dy, kernel], (stride, pad, h, width)
        yield f"conv2d_dweight.{name}", "conv2d_dweight", [dy, image], (stride, pad, kh, kw)


EDGES = {  # name: (terms, also on grids); the values are exact sums
    "tie.to_even_down": ([1, "0x1p-24"], ()),
    "tie.to_even_up": (["0x1.000002p+0", "0x1p-24"], ()),
    "tie.broken_by_2^-149": ([1, "0x1p-24", "0x1p-149"], ()),
    "tie.broken_downwards": (["0x1.000002p+0", "0x1p-24", "-0x1p-149"], ()),
    "tie.negative": ([-1, "-0x1p-24"], ()),
    "tie.bfloat16": ([1, "0x1p-8"], ("16",)),
    "tie.bfloat16.up": (["0x1.02p+0", "0x1p-8"], ("16",)),
    "tie.tf32": ([1, "0x1p-11", "-0x1p-140"], ("19",)),
    "cancel.to_zero": ([3, -1, -2], ("32", "16")),
    "cancel.to_least": ([("0x1.fffffep+127", "0x1.fffffep+127"), ("-0x1.fffffep+127", "0x1.fffffep+127"), ("0x1p-149", 1)],
                        ()),
    "cancel.large": ([("0x1p+100", "0x1p+27"), ("-0x1p+100", "0x1.fffffep+26"), ("-0x1p+100", "0x1p+3")], ()),
    "cancel.what_fp64_loses": ([("0x1p+60", 1), (1, 1), ("-0x1p+60", 1)], ()),
    "negative_zero.factors": ([("-0", 1), ("-0", "-0")], ()),
    "negative_zero.result": ([(1, "-0x1p-149"), (1, "0x1p-149")], ()),
    "subnormal.least": ([("0x1p-149", 1)], ()),
    "subnormal.half_of_least": ([("0x1p-149", "0x1p-1")], ()),
    "subnormal.more_than_half": ([("0x1p-149", "0x1.000002p-1")], ()),
    "subnormal.three_halves": ([("0x1.8p-148", "0x1p-1")], ()),
    "subnormal.smallest_product": ([("0x1p-149", "0x1p-149")], ()),
    "subnormal.to_normal": ([("0x1.fffffcp-127", 1), ("0x1p-149", "0x1p-1")], ()),
    "subnormal.bfloat16": ([("0x1p-133", 1), ("0x1p-134", 1)], ("16",)),
    "subnormal.bfloat16.vanishes": ([("0x1p-134", 1)], ("16",)),
    "overflow.just_below": (["0x1.fffffep+127", "0x1.fffffep+102"], ()),
    "overflow.middle": (["0x1.fffffep+127", "0x1p+103"], ()),
    "overflow.negative": ([("0x1.fffffep+127", "-0x1.fffffep+127")], ()),
    "overflow.passing": ([("0x1.fffffep+127", "0x1.fffffep+127"), ("-0x1.fffffep+127", "0x1.fffffep+127"), 1], ()),
    "overflow.bfloat16": (["0x1.fep+127", "0x1p+119"], ("16",)),
    "overflow.bfloat16.below": (["0x1.fep+127", "0x1.fep+118"], ("16",)),
    "infinite": (["inf", 1], ()),
    "infinite.times_zero": ([("inf", 0)], ()),
    "infinite.cancels": (["inf", "-inf"], ()),
    "nan": (["nan", 1], ()),
    "nan.another_pattern": (["nan2", 1], ()),
    "one_term": ([("0x1.fffffep-1", "0x1.fffffep-1")], ("32", "19", "16")),
}


def write():
    out = Cases("Products in mode exact, and without entries in mode logged: R(E)")
    seen = set()
    for name, op, inputs, ints, grid in shapes():
        out.add(name, op, inputs, ints, grid=grid, record=op not in seen)
        seen.add(op)
    for name, op, inputs, ints in convolutions():
        out.add(name, op, inputs, ints, record=op not in seen)
        seen.add(op)
        out.add(name + ".bfloat16", op, inputs, ints, grid="16 32")
    for name, (terms, grids) in EDGES.items():
        for grid in grids or ("32",):
            out.add(f"edge.{name}.{grid}", "matmul", dot(*terms), (0, 0), grid=f"{grid} 32")
    out.add("edge.padding_is_no_term", "conv2d", ["f32 1x1x2x2 " + words(1, 1, 1, 1),
                                                  "f32 1x1x3x3 " + words("inf", *[1] * 8)],
            (1, 1), checks=[0, 1, 2, 3])
    out.add("edge.bias_not_finite", "matmul", [*dot(1, 2), "f32 1 " + words("-inf")], (0, 0))
    out.add("edge.bias_decides_a_tie", "matmul", [*dot(1, "0x1p-24"), "f32 1 " + words("0x1p-149")], (0, 0))
    out.add("edge.empty_sum", "conv2d_dinput", ["f32 1x1x2x2 gen 5 120 8", "f32 1x1x1x1 " + words("inf")], (3, 0, 5, 5),
            checks=[0, 1, 6, 12])
    for k in (600, 2304):
        out.add(f"long.{k}", "matmul", [f"f32 2x{k} gen 21 110 20", f"f32 {k}x2 gen 22 110 20"], (0, 0), checks=[0, 3])
        out.add(f"long.{k}.ints", "matmul", [f"f32 2x{k} int 23 9", f"f32 {k}x2 int 24 9"], (0, 0), grid="16 32",
                checks=[0, 3])
    return out.text()


# ---- mode logged: entries ----

S_IS_TWO = ["0x1.fffff8p-2", "-0x1.fffff8p-2", "0x1.ffff8p-26", "-0x1.ffff8p-26"]  # bring S to 2 beside 1 + 2^-24 + 2^-42
HUNDRED = [63, -63]  # bring S to 2^7 beside them

BOTH = [(0, 0, None), (0, 0, 0), (0, 0, 1)]


def logged_cases():
    """name, terms, bound, grid"""
    for grid, half in (("32", "0x1p-24"), ("24", "0x1p-16"), ("19", "0x1p-11"), ("16", "0x1p-8")):
        for name, more in (("middle", []), ("above", ["0x1p-60"]), ("below", ["-0x1p-60"]), ("far_above", ["0x1p-42"]),
                           ("far_below", ["-0x1p-42"])):
            yield f"{name}.{grid}", [1, half, *more], "depth 0", grid
            yield f"{name}.negative.{grid}", [-1, "-" + half, *more], "depth 0", grid
    yield "settled", [1], "depth 0", "32"
    yield "settled.odd", ["0x1.000002p+0"], "depth 0", "32"
    yield "distance_is_B", [1, "0x1p-24", "0x1p-42", *S_IS_TWO], "depth 1024", "32"
    yield "distance_beyond_B", [1, "0x1p-24", "0x1p-42", *S_IS_TWO], "depth 1023", "32"
    yield "4B_is_s", [1, "0x1p-24", "0x1p-42", *S_IS_TWO, *HUNDRED], "depth 2097152", "32"
    yield "4B_below_s", [1, "0x1p-24", "0x1p-42", *S_IS_TWO, *HUNDRED], "depth 2097151", "32"
    yield "cancelled", [("0x1p+60", 1), ("-0x1p+60", 1), 1, "0x1p-24"], "depth 0", "32"
    yield "last_interval.below_middle", ["0x1.fffffep+127", "0x1p+103", "-0x1p+60"], "depth 0", "32"
    yield "last_interval.above_middle", ["0x1.fffffep+127", "0x1p+103", "0x1p+60"], "depth 0", "32"
    yield "last_interval.negative", ["-0x1.fffffep+127", "-0x1p+103", "0x1p+60"], "depth 0", "32"
    yield "beyond_2^128", ["0x1.fffffep+127", "0x1.fffffep+127"], "depth 0", "32"
    yield "exactly_2^128", ["0x1p+127", "0x1p+127"], "depth 0", "32"
    yield "first_interval", [("0x1p-149", "0x1p-1")], "depth 0", "32"
    yield "first_interval.negative", [("0x1p-149", "-0x1p-1"), ("0x1p-149", "-0x1p-60")], "depth 0", "32"
    yield "zero", [0], "depth 0", "32"
    yield "nan", ["nan"], "depth 0", "32"
    yield "infinite", ["inf"], "depth 0", "32"
    for grid, half in (("19", "0x1p-11"), ("16", "0x1p-8")):
        yield f"fp32.within.{grid}", [1, half, "0x1p-20"], "bound fp32", grid
        yield f"fp32.beyond.{grid}", [1, half, "0x1p-17"], "bound fp32", grid
    yield "fp32.floor", [("0x1p-133", 1), ("0x1p-134", 1), ("0x1p-149", "0x1p-2")], "bound fp32", "16"
    for tau, name in (("3fd999999999999a", "0.4"), ("3fd0000000000000", "quarter"),
                      ("3fd0000000000001", "just_over_quarter"),
                      ("3fdffffffffffffe", "nearly_half")):
        for more in ("0x1p-60", "0x1p-27", "0x1p-25", "-0x1p-26"):
            yield f"tau.{name}.{more}", [1, "0x1p-24", more], f"tau {tau}", "32"


def write_logged():
    out = Cases("Entries of the rounding log: redundant, overriding, forged")
    for name, terms, bound, grid in logged_cases():
        out.add(f"logged.{name}", "matmul", dot(*terms), (0, 0), grid=f"{grid} 32", mode="logged",
                bound=bound.removeprefix("bound "),
                checks=BOTH)
    inputs = ["f32 1x1x3x3 " + words(1, "0x1p-24", 0, 0, 0, 0, 0, 0, 0), "f32 1x1x1x2 " + words(1, 1),
              "f32 1 " + words("0x1p-60")]
    out.add("logged.bias_is_a_term", "conv2d", inputs, (1, 0), mode="logged", checks=[(0, 0, 0), (0, 0, 1), (0, 1, None)])
    # B lies between 513 and 514 times 2^-53·S: only with all 513 taps counted is the entry admissible
    three = words(1, "0x1p-24", "0x1.00cp-44")
    out.add("logged.padded_taps_count_in_K", "conv2d", ["f32 1x1x1x3 " + three, "f32 1x1x19x27 " + words(*[1] * 513)],
            (1, 12),
            mode="logged", checks=[(0, 0, 0), (0, 3, 0), (0, 6, 1)])
    out.add("logged.fewer_taps", "conv2d", ["f32 1x1x1x3 " + three, "f32 1x1x1x3 " + words(1, 1, 1)], (1, 0), mode="logged",
            checks=[(0, 0, 0), (0, 0, 1)])
    for seed in range(6):
        k = 33 + 97 * seed
        out.add(f"logged.bfloat16.random.{seed}", "matmul", [f"f32 3x{k} int {seed} 3", f"f32 {k}x3 int {seed + 50} 3"],
                (0, 0),
                grid="16 32", mode="logged", bound=("depth 0", "fp32", "tau 3fd999999999999a")[seed % 3],
                checks=[(0, i, e) for i in (0, 4, 8) for e in (None, 0, 1)])
    return out.text()


# ---- mode pinned ----

def write_pinned():
    out = Cases("Mode pinned: FP32 fused multiply-adds in one order")
    for name, op, inputs, ints, grid in shapes():
        out.add("pinned." + name, op, inputs, ints, grid=grid, mode="pinned")
    for name, op, inputs, ints in convolutions():
        out.add("pinned." + name, op, inputs, ints, mode="pinned")
    for k in (1, 255, 256, 257, 511, 512, 513, 1025):
        inputs = [f"f32 2x{k} gen 31 112 16", f"f32 {k}x2 gen 32 112 16"]
        out.add(f"pinned.blocks.{k}", "matmul", inputs, (0, 0), mode="pinned", checks=[0, 1, 2, 3])
        out.add(f"pinned.blocks.{k}.bias", "matmul", inputs + ["f32 2 gen 33 120 4"], (0, 0), mode="pinned",
                checks=[0, 1, 2, 3])
    ones = [("0x1p-24", 1)] * 255
    out.add("pinned.order.large_first", "matmul", dot(1, *ones), (0, 0), mode="pinned")
    out.add("pinned.order.large_last", "matmul", dot(*ones, 1), (0, 0), mode="pinned")
    out.add("pinned.blocks_are_added_in_order", "matmul", dot(*[0] * 256, 1, *[0] * 255, "0x1p-24", *[0] * 255, "0x1p-24"),
            (0, 0),
            mode="pinned")
    out.add("pinned.bias_in_last_block", "matmul", [*dot(1, *[0] * 255, "0x1p-24"), "f32 1 " + words("0x1p-24")], (0, 0),
            mode="pinned")
    out.add("pinned.padded_taps_count_in_k", "conv2d", ["f32 1x1x2x129 gen 41 120 6", "f32 1x1x3x129 gen 42 120 6"], (1, 1),
            mode="pinned", checks=[0, 2, 3, 5])
    out.add("pinned.fused", "matmul", dot(("0x1.000002p+0", "0x1.000002p+0"), -1, "-0x1p-22"), (0, 0), mode="pinned")
    out.add("pinned.negative_zero", "matmul", dot(("-0", 1), ("0x1p-149", "-0x1p-149")), (0, 0), mode="pinned")
    out.add("pinned.subnormal", "matmul", dot(("0x1p-149", "0x1p-1"), ("0x1p-149", "0x1.000002p-1")), (0, 0), mode="pinned")
    out.add("pinned.overflow_stays", "matmul", dot("0x1.fffffep+127", "0x1.fffffep+127", "-0x1.fffffep+127"), (0, 0),
            mode="pinned")
    out.add("pinned.overflow_of_blocks", "matmul", dot("0x1.fffffep+127", *[0] * 255, "0x1.fffffep+127", *[0] * 255,
                                                       "-0x1.fffffep+127"), (0, 0), mode="pinned")
    for name in ("inf", "-inf", "nan"):
        out.add(f"pinned.factor.{name}", "matmul", dot(1, (name, 1), 2), (0, 0), mode="pinned")
        out.add(f"pinned.factor.{name}.times_zero", "matmul", dot(1, (name, 0), 2), (0, 0), mode="pinned")
        out.add(f"pinned.bias.{name}", "matmul", [*dot(1, 2), "f32 1 " + words(name)], (0, 0), mode="pinned")
        out.add(f"pinned.padding_beside.{name}", "conv2d", ["f32 1x1x2x2 " + words(1, 1, 1, 1),
                                                            "f32 1x1x3x3 " + words(name, *[1] * 8)],
                (1, 1), mode="pinned", checks=[0, 1, 2, 3])
    out.add("pinned.rounded_twice", "matmul", dot(1, "0x1p-8", "0x1p-30"), (0, 0), grid="16 32", mode="pinned")
    out.add("pinned.empty_sum", "conv2d_dinput", ["f32 1x1x2x2 gen 5 120 8", "f32 1x1x1x1 " + words(1)], (3, 0, 5, 5),
            mode="pinned",
            checks=[0, 1, 6, 12])
    return out.text()
