"""Ops that are rsums: statistics, losses, pools."""
from .products import dims
from .writer import Cases, words

GRIDS = ("32 32", "19 32", "16 16")


def channels(out):
    for shape in ("1x1", "3x4", "255x2", "256x2", "257x2", "700x3"):
        out.add(f"channel_sum.{shape}", "channel_sum", [f"f32 {shape} gen 1 110 24"], record=shape == "3x4")
    for shape in ("1x1x1x1", "2x3x4x5", "3x2x16x16", "2x2x16x17", "3x1x20x20", "5x2x7x9"):
        image = f"f32 {shape} gen 2 110 24"
        out.add(f"channel_sum.{shape}", "channel_sum", [image])
        out.add(f"channel_stats.{shape}", "channel_stats", [image], record=shape == "2x3x4x5")
        out.add(f"channel_dot.{shape}", "channel_dot", [image, f"f32 {shape} gen 3 110 24"], record=shape == "2x3x4x5")
    for grid in GRIDS[1:]:
        for kind in ("channel_sum", "channel_stats"):
            out.add(f"{kind}.grid{grid.split()[0]}", kind, ["f32 3x2x6x7 gen 4 120 8"], grid=grid)
        out.add(f"channel_dot.grid{grid.split()[0]}", "channel_dot", ["f32 3x2x6x7 gen 4 120 8", "f32 3x2x6x7 gen 5 120 8"],
                grid=grid)
    four = "f32 1x1x2x2 "
    for name, values in {"negative_zero": ("-0", "-0", "-0", "-0"), "subnormal": ("0x1p-149", "0x1p-149", "-0x1p-149",
                                                                                  "0x1p-148"),
                         "overflow": ("0x1.fffffep+127",) * 4, "infinite": ("inf", 1, 1, 1),
                         "infinite.both": ("inf", "-inf", 0, 0),
                         "nan": (1, "nan", 1, 1), "cancel": ("0x1p+60", 1, "-0x1p+60", 1), "equal": (3, 3, 3, 3)}.items():
        for kind in ("channel_sum", "channel_stats"):
            out.add(f"{kind}.{name}", kind, [four + words(*values)])
        out.add(f"channel_dot.{name}", "channel_dot", [four + words(*values), four + words(1, 1, 1, 1)])
        out.add(f"channel_sum.column.{name}", "channel_sum", ["f32 4x1 " + words(*values)])


def losses(out):
    for n, d in ((1, 1), (3, 5), (4, 10), (2, 300), (2, 257), (300, 2)):
        x, labels = f"f32 {n}x{d} gen 6 124 8", f"i32 {n} below 7 {d}"
        loss(out, f"{n}x{d}", n, d, x, labels, (n, d) == (3, 5))
    for grid in GRIDS[1:]:
        loss(out, "grid" + grid.split()[0], 3, 5, "f32 3x5 gen 6 124 8", "i32 3 below 7 5", grid=grid)
    rows = {"nan": (1, "nan", 2), "nan.first": ("nan", 1, 2), "infinite": ("inf", 0, 0), "minus_infinite": ("-inf", 0, 0),
            "all_minus_infinite": ("-inf", "-inf", "-inf"), "two_infinite": ("inf", "inf", 1), "far_apart": (200, -200, 0),
            "negative_zero": ("-0", 0, "-0"), "ties": (2, 2, 2), "just_underflowing": (0, "-0x1.9fe36ap+6",
                                                                                       "-0x1.9d1da0p+6"),
            "opposite_ends": ("0x1.fffffep+127", "-0x1.fffffep+127", 0)}
    for name, row in rows.items():
        out.add(f"softmax.{name}", "softmax", ["f32 1x3 " + words(*row)], checks=[(0, 0, None), (0, 1, None), (0, 2, None),
                                                                               (1, 0, None), (2, 0, None)])
    table = ["f32 2x3 " + words(1, 2, 3, "nan", 0, 1), "f32 2x3 " + words(0, 0, 0, 0, 0, 0), "f32 2 " + words(3, 1),
             "f32 2 " + words(2, 3)]
    for name, labels in {"labels.in": "0 2", "labels.above": "0 3", "labels.negative": "0 -1",
                         "labels.far": "1 -2147483648"}.items():
        text = " ".join(f"{int(v) & 0xFFFFFFFF:08x}" for v in labels.split())
        out.add(f"cross_entropy.{name}", "cross_entropy", [*table, f"i32 2 words {text}"],
                checks=[(0, 0, None), (1, 0, None), (1, 1, None)])
        out.add(f"cross_entropy_grad.{name}", "cross_entropy_grad", [table[0], f"i32 2 words {text}"],
                checks=[0, 1, 2, 3, 4, 5])
    for name, s in {"zero": 0, "least": "0x1p-149", "infinite": "inf", "nan": "nan", "negative": -1, "one": 1}.items():
        out.add(f"cross_entropy.sum.{name}", "cross_entropy", ["f32 1x1 " + words(1), "f32 1x1 " + words(1),
                                                               "f32 1 " + words(1),
                                                               "f32 1 " + words(s), "i32 1 words 00000000"])


def loss(out, name, n, d, x, labels, record=False, grid="32 32"):
    out.add(f"softmax.{name}", "softmax", [x], grid=grid, record=record)
    m, s = f"f32 {n} gen 8 126 4", f"f32 {n} gen 9 128 3"
    s = f"f32 {n} words " + " ".join(f"{0x3f800000 + 0x00123457 * i & 0xffff0000:08x}" for i in range(n)) if n < 10 else s
    out.add(f"cross_entropy.{name}", "cross_entropy", [x, f"f32 {n}x{d} gen 10 120 6", m, s, labels], grid=grid,
            record=record)
    out.add(f"cross_entropy_grad.{name}", "cross_entropy_grad", [f"f32 {n}x{d} gen 10 120 6", labels], grid=grid,
            record=record)


POOLS = [("2x2", "1x2x4x6", 2, 2, 0), ("3x3", "2x1x5x5", 3, 1, 1), ("gaps", "1x1x7x8", 2, 3, 1),
         ("4x4", "1x1x5x6", 4, 1, 2),
         ("one", "1x1x1x1", 1, 1, 0), ("large", "1x1x20x20", 17, 3, 8), ("odd", "1x2x7x5", 3, 2, 1)]
ADAPTIVE = [("one", "2x3x7x5", 1, 1), ("even", "1x1x8x6", 4, 3), ("overlap", "1x2x7x5", 3, 4), ("larger", "1x1x3x2", 7, 5),
            ("same", "1x1x3x4", 3, 4), ("wide", "1x1x30x20", 1, 2)]


def pools(out):
    for name, x, kernel, stride, pad in POOLS:
        n, c, h, w = dims(x)
        y = f"{n}x{c}x{(h + 2 * pad - kernel) // stride + 1}x{(w + 2 * pad - kernel) // stride + 1}"
        ints, dy = (kernel, stride, pad), f"f32 {y} gen 12 116 12"
        record = name == "3x3"
        for kind, image in (("", f"f32 {x} gen 11 116 12"), (".ties", f"f32 {x} int 11 2")):
            out.add(f"avgpool.{name}{kind}", "avgpool", [image], ints, record=record and not kind)
            out.add(f"maxpool.{name}{kind}", "maxpool", [image], ints, record=record and not kind)
            out.add(f"maxpool_grad.{name}{kind}", "maxpool_grad", [dy, image], ints, record=record and not kind)
        out.add(f"avgpool_grad.{name}", "avgpool_grad", [dy], (*ints, h, w), record=record)
        out.add(f"avgpool.{name}.bfloat16", "avgpool", [f"f32 {x} gen 11 116 12"], ints, grid="16 32")
        out.add(f"avgpool_grad.{name}.bfloat16", "avgpool_grad", [dy], (*ints, h, w), grid="16 32")
        out.add(f"maxpool_grad.{name}.bfloat16", "maxpool_grad", [dy, f"f32 {x} int 11 2"], ints, grid="16 32")
    for name, x, oh, ow in ADAPTIVE:
        n, c, h, w = dims(x)
        dy = f"f32 {n}x{c}x{oh}x{ow} gen 14 116 12"
        for grid in ("32 32", "16 32"):
            tail = "" if grid == "32 32" else ".bfloat16"
            out.add(f"adaptive_avgpool.{name}{tail}", "adaptive_avgpool", [f"f32 {x} gen 13 116 12"], (oh, ow), grid=grid,
                    record=name == "overlap" and not tail)
            out.add(f"adaptive_avgpool_grad.{name}{tail}", "adaptive_avgpool_grad", [dy], (h, w), grid=grid,
                    record=name == "overlap" and not tail)
    for name, values in {"nan": (1, "nan", 9, "nan"), "infinite": ("inf", 2, "inf", 3), "all_minus_infinite": ("-inf",) * 4,
                         "negative_zero": ("-0", 0, "-0", 0), "ties": (5, 5, 5, 5),
                         "nan_after_infinite": ("inf", 1, 2, "nan")}.items():
        image = "f32 1x1x2x2 " + words(*values)
        out.add(f"maxpool.special.{name}", "maxpool", [image], (2, 2, 0))
        out.add(f"avgpool.special.{name}", "avgpool", [image], (2, 2, 0))
        out.add(f"maxpool_grad.special.{name}", "maxpool_grad", ["f32 1x1x1x1 " + words(7), image], (2, 2, 0),
                checks=[0, 1, 2, 3])
    out.add("maxpool_grad.nowhere", "maxpool_grad", ["f32 1x1x1x1 " + words("-inf"), "f32 1x1x2x2 " + words(1, 2, 3, 4)],
            (2, 2, 0),
            checks=[0, 1, 2, 3])


def write():
    out = Cases("Sums in the canonical order: statistics, losses, pools and their gradients")
    channels(out)
    losses(out)
    pools(out)
    return out.text()
