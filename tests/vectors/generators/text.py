"""Ops of models that read text."""
from .maps import SPECIAL
from .writer import Cases, words

GRIDS = ("32 32", "19 32", "16 16")
N = len(SPECIAL)


def gen(shape, seed, low=120, span=8):
    return f"f32 {shape} gen {seed} {low} {span}"


def on_grids(out, name, op, inputs, ints=(), nums=(), **scene):
    for grid in GRIDS:
        out.add(f"{name}.grid{grid.split()[0]}", op, inputs, ints, nums, grid=grid, record=grid == "32 32", **scene)


def tokens(out):
    for name, ints, step in (("in_order", (10, 4, 7, 0, 5, 0, 4), 2), ("second_epoch", (10, 4, 7, 0, 5, 0, 4), 3),
                             ("shuffled", (100, 8, 1, 1, 3, 0, 8), 1), ("shuffled.later", (100, 8, 1, 1, 3, 0, 8), 30),
                             ("part", (100, 8, 1, 1, 3, 4, 2), 30), ("one_token", (3, 1, 4294967295, 1, 1, 0, 1), 2)):
        rows, length = ints[6], ints[4]
        checks = [(o, i, None) for o in (0, 1) for i in range(min(rows * length, 24))]
        out.add(f"load_tokens.{name}", "load_tokens", [], ints, samples=3, step=step, record=name == "part", checks=checks,
                twin=False)
    table, ids = gen("7x5", 1), "i32 2x3 below 2 7"
    on_grids(out, "embedding", "embedding", [table, ids], checks=[0, 7, 14, 21, 29])
    out.add("embedding.outside", "embedding", [table, "i32 4 words 00000006 00000007 ffffffff 80000000"], checks=[0, 4, 5, 10, 15])
    out.add("embedding.special", "embedding", [f"f32 {N}x1 " + words(*SPECIAL), f"i32 {N} words " +
                                               " ".join(f"{i:08x}" for i in range(N))], checks=list(range(N)))
    on_grids(out, "embedding_grad", "embedding_grad", [gen("6x5", 3), ids], (7,), checks=list(range(35)))
    out.add("embedding_grad.none", "embedding_grad", [gen("2x3", 3), "i32 2 words 00000001 ffffffff"], (3,), checks=list(range(9)))
    out.add("embedding_grad.blocks", "embedding_grad", [gen("600x1", 4, 110, 24), "i32 600 below 5 2"], (2,), checks=[0, 1])
    on_grids(out, "position_add", "position_add", [gen("6x4", 6), gen("5x4", 7)], (3,), checks=[0, 5, 11, 12, 23])
    on_grids(out, "position_grad", "position_grad", [gen("6x4", 8)], (3, 5), checks=list(range(20)))
    out.add("position_grad.blocks", "position_grad", [gen("600x1", 9, 110, 24)], (2, 2), checks=[0, 1])


def columns(out):
    on_grids(out, "split_columns", "split_columns", [gen("3x6", 10)], (3,),
             checks=[(o, i, None) for o in range(3) for i in range(6)])
    for parts in (2, 4):
        out.add(f"split_columns.{parts}", "split_columns", [gen("2x8", 10)], (parts,))
    for parts in (2, 3, 4):
        on_grids(out, f"join_columns.{parts}", "join_columns", [gen("3x2", 11 + i) for i in range(parts)],
                 checks=list(range(6 * parts)))
    on_grids(out, "scale", "scale", [gen("3x4", 15)], (), ("0.125",))
    on_grids(out, "scale.third", "scale", [gen("3x4", 15)], (), ("1/3",))
    one, every = f"f32 {N} " + words(*SPECIAL), list(range(N))
    out.add("scale.special", "scale", [one], (), ("-2",), checks=every)
    on_grids(out, "scale_by", "scale_by", [gen("3x4", 16), gen("1", 17)])
    for name, by in {"infinite": "inf", "nan": "nan", "zero": 0}.items():
        out.add(f"scale_by.{name}", "scale_by", [one, "f32 1 " + words(by)], checks=every)


def dropouts(out):
    for share in ("0.1", "0.5", "0.999", "0x1p-60"):
        on_grids(out, f"dropout.{share}", "dropout", [gen("4x12", 18)], (7, 3), (share,), step=5, checks=list(range(48)))
    for name, seed, site, step in (("seed", 4294967295, 3, 5), ("site", 7, (1 << 20) - 1, 5), ("step", 7, 3, 1 << 33)):
        out.add(f"dropout.{name}", "dropout", [gen("4x12", 18)], (seed, site), ("0.5",), step=step, checks=list(range(48)))
    one = f"f32 {N} " + words(*SPECIAL)
    for site in range(4):
        out.add(f"dropout.special.{site}", "dropout", [one], (1, site), ("0.5",), checks=list(range(N)), twin=False)


def norms(out):
    per_column, per_row = [gen("6", 20), gen("6", 21)], [gen("4", 22), gen("4", 23)]
    on_grids(out, "row_stats", "row_stats", [gen("4x6", 24)])
    for width in (1, 256, 257, 700):
        out.add(f"row_stats.{width}", "row_stats", [gen(f"2x{width}", 25, 110, 24)])
    on_grids(out, "layer_norm", "layer_norm", [gen("4x6", 26), *per_column, *per_row])
    on_grids(out, "layer_norm_sums", "layer_norm_sums", [gen("4x6", 27), gen("4x6", 28), gen("6", 29)])
    out.add("layer_norm_sums.blocks", "layer_norm_sums", [gen("2x600", 27, 110, 24), gen("2x600", 28), gen("600", 29)])
    on_grids(out, "layer_norm_dinput", "layer_norm_dinput", [gen("4x6", 30), gen("4x6", 31), gen("6", 32),
                                                             *(gen("4", s) for s in (33, 34, 35))])
    on_grids(out, "channel_dot.columns", "channel_dot", [gen("5x3", 36), gen("5x3", 37)])
    out.add("channel_dot.columns.blocks", "channel_dot", [gen("600x1", 38, 110, 24), gen("600x1", 39)])
    row = f"f32 1x{N} " + words(*SPECIAL)
    out.add("row_stats.special", "row_stats", [row], twin=False)
    out.add("row_stats.equal", "row_stats", ["f32 1x3 " + words(5, 5, 5)])
    out.add("layer_norm.special", "layer_norm", [row, f"f32 {N} " + words(*[2] * N), f"f32 {N} " + words(*["-0"] * N),
                                                 "f32 1 " + words(1), "f32 1 " + words("0x1p-3")],
            checks=[(o, i, None) for o in (0, 1) for i in range(N)])


ENTRIES = [None, 0, 1]


def attention(out):
    sizes = {"small": (1, 1, 3, 2), "heads": (2, 3, 4, 2), "one_token": (2, 2, 1, 3), "long": (1, 1, 20, 1)}
    for name, (batch, heads, length, width) in sizes.items():
        matrix, square = f"{batch * length}x{heads * width}", f"{batch}x{heads}x{length}x{length}"
        q, p = gen(matrix, 40), gen(square, 42)
        for mode in ("exact", "logged", "pinned"):
            last, flat = batch * heads * length * length - 1, batch * length * heads * width
            entries = ENTRIES if mode == "logged" else ENTRIES[:1]
            places = sorted({0, min(1, last), last // 2, last})
            out.add(f"attention_scores.{name}.{mode}", "attention_scores", [q, gen(matrix, 41)], (batch, heads), mode=mode,
                    record=name == "heads", checks=[(0, i, e) for i in places for e in entries])
            places = sorted({0, flat // 3, flat // 2, flat - 1})
            for turned in (0, 1):
                out.add(f"attention_mix.{name}.{mode}.{turned}", "attention_mix", [p, q], (turned,), mode=mode,
                        record=name == "heads", checks=[(0, i, e) for i in places for e in entries])
        out.add(f"causal_softmax.{name}", "causal_softmax", [gen(square, 43, 124, 6)], record=name == "heads")
        out.add(f"causal_softmax_grad.{name}", "causal_softmax_grad", [gen(square, 44), p, gen(f"{batch}x{heads}x{length}", 45)],
                record=name == "heads")
        out.add(f"head_dot.{name}", "head_dot", [q, gen(matrix, 46)], (batch, heads), record=name == "heads")
    attention_edges(out)


def attention_edges(out):
    for mode in ("exact", "pinned"):
        # 300 places: mode pinned's block of 256 is in the middle of a row; what is masked is infinite and counts for nothing
        out.add(f"attention_mix.blocks.{mode}", "attention_mix", [gen("1x1x300x300", 47, 110, 20), gen("300x1", 48, 110, 20)], (0,),
                mode=mode, checks=[0, 1, 254, 255, 256, 257, 299])
        out.add(f"attention_mix.blocks.turned.{mode}", "attention_mix", [gen("1x1x300x300", 47, 110, 20),
                                                                         gen("300x1", 48, 110, 20)], (1,),
                mode=mode, checks=[0, 1, 43, 44, 255, 256, 299])
        masked = "f32 1x1x2x2 " + words(1, "inf", 2, 3)
        for turned in (0, 1):
            out.add(f"attention_mix.masked.{turned}.{mode}", "attention_mix", [masked, "f32 2x1 " + words(5, "0x1p-24")], (turned,),
                    mode=mode, checks=[0, 1])
        out.add(f"attention_scores.special.{mode}", "attention_scores", ["f32 3x1 " + words("nan", 1, 2),
                                                                         "f32 3x1 " + words(1, "inf", "-0")], (1, 1),
                mode=mode, checks=list(range(9)))
    special = "f32 1x1x3x3 " + words("-0", "inf", "nan", "inf", 1, "nan", "nan", 1, 2)
    out.add("causal_softmax.special", "causal_softmax", [special], checks=[(o, i, None) for o in (0, 1, 2) for i in range(9 if not o else 3)])
    out.add("causal_softmax_grad.special", "causal_softmax_grad", [special, special, "f32 1x1x3 " + words(1, "inf", 2)],
            checks=list(range(9)))
    for grid in GRIDS[1:]:
        square = "1x2x3x3"
        tail = "grid" + grid.split()[0]
        out.add(f"causal_softmax.{tail}", "causal_softmax", [gen(square, 49, 124, 6)], grid=grid)
        out.add(f"causal_softmax_grad.{tail}", "causal_softmax_grad", [gen(square, 50), gen(square, 51), gen("1x2x3", 52)], grid=grid)
        out.add(f"head_dot.{tail}", "head_dot", [gen("3x4", 53), gen("3x4", 54)], (1, 2), grid=grid)
        out.add(f"attention_scores.{tail}", "attention_scores", [gen("3x4", 53), gen("3x4", 54)], (1, 2), grid=grid, mode="logged",
                checks=[(0, i, e) for i in (0, 3, 8) for e in ENTRIES])
        out.add(f"attention_mix.{tail}", "attention_mix", [gen(square, 51), gen("3x4", 53)], (0,), grid=grid, mode="logged",
                checks=[(0, i, e) for i in (0, 5, 11) for e in ENTRIES])


def losses(out):
    table = ["f32 3x2 " + words(1, 2, 3, 0, 0, 1), "f32 3x2 " + words("0x1p-2", "0x1.8p-1", 1, 0, 0, 1), "f32 3 " + words(2, 3, 1),
             "f32 3 " + words("0x1.5p+0", 1, 2)]
    for name, labels in {"one": "00000000 ffffffff 00000001", "all": "ffffffff ffffffff ffffffff",
                         "other": "00000001 fffffffe 00000000"}.items():
        for parts in ((), (2,), (3,)):
            tail = f"{name}.{parts[0] if parts else 1}"
            out.add(f"cross_entropy.ignored.{tail}", "cross_entropy", [*table, f"i32 3 words {labels}"], parts,
                    checks=[(0, 0, None), *((1, i, None) for i in range(3))], record=name == "one")
            out.add(f"cross_entropy_grad.ignored.{tail}", "cross_entropy_grad", [table[1], f"i32 3 words {labels}"], parts,
                    checks=list(range(6)), record=name == "one")


def updates(out):
    on_grids(out, "square_sum", "square_sum", [gen("3x5", 60)])
    for shape in ("1", "16x17", "257", "3x200"):
        out.add(f"square_sum.{shape}", "square_sum", [gen(shape, 61, 110, 24)])
    for name, values in {"overflow": ("0x1p+100", 1), "least": ("0x1p-149", 0), "infinite": ("inf", 1), "nan": ("nan", 1)}.items():
        out.add(f"square_sum.{name}", "square_sum", ["f32 2 " + words(*values)])
    for name, parts in {"below": (1, 2), "above": (100, 44), "zero": (0, 0), "at": (1, 0), "infinite": ("inf", 1), "nan": ("nan", 1),
                        "negative": (-1, 0)}.items():
        out.add(f"clip_scale.{name}", "clip_scale", ["f32 1 " + words(x) for x in parts], (), ("2",), record=name == "above")
    out.add("clip_scale.grid", "clip_scale", ["f32 1 " + words(9)], (), ("1",), grid="32 16")
    w, g, m, v = "f32 5 gen 62 120 8", "f32 5 gen 63 116 8", "f32 5 gen 64 116 8", "f32 5 words " + " ".join(
        f"{i * 0x00123457 + 0x38000000:08x}" for i in range(5))
    five = [(o, i, None) for o in range(3) for i in range(5)]
    usual = ("0.001", "0.9", "0.999", "0.00000001", "0.1", "0.1")
    for grid in ("32 32", "16 32", "32 16"):
        for decoupled in (0, 1):
            out.add(f"adam.{decoupled}.grid{grid.replace(' ', '_')}", "adam", [w, g, m, v], (decoupled, 0, 1, 0, 9), usual, grid=grid,
                    record=grid == "32 32", checks=five, step=3)
    for name, ints, step in (("first", (1, 0, 1, 0, 9), 1), ("late", (1, 0, 1, 0, 1 << 40), 1 << 39), ("warmup", (1, 3, 1, 5, 9), 2),
                             ("linear", (1, 3, 1, 5, 9), 8), ("cosine", (0, 2, 1, 0, 9), 5), ("drops", (1, 1, 2, 0, 9), 5)):
        out.add(f"adam.{name}", "adam", [w, g, m, v], ints, usual, step=step, checks=five)
    out.add("adam.no_moments", "adam", [w, g, m, v], (0, 0, 1, 0, 9), ("0.1", "0", "0", "1", "0", "0.1"), checks=five)
    special = [f"f32 {N} " + words(*SPECIAL[k:], *SPECIAL[:k]) for k in (0, 3, 5, 8)]
    for decoupled in (0, 1):
        out.add(f"adam.special.{decoupled}", "adam", special, (decoupled, 0, 1, 0, 9), usual,
                checks=[(o, i, None) for o in range(3) for i in range(N)], twin=False)


M, SQUARE, V3, IDS = gen("4x6", 1), gen("2x3x2x2", 2), gen("3", 3), "i32 4 below 4 3"
ADAM = (0, 0, 1, 0, 5)
NUMS = ("0.1", "0.9", "0.9", "0.1", "0", "0.1")
REFUSALS = [
    ("load_tokens", [], (10, 11, 1, 1, 5, 0, 11), ()), ("load_tokens", [], (10, 4, 1, 1, 0, 0, 4), ()),
    ("load_tokens", [], (10, 4, 1, 1, (1 << 20) + 1, 0, 4), ()), ("load_tokens", [], (10, 4, -1, 1, 5, 0, 4), ()),
    ("load_tokens", [], (10, 4, 1, 1, 5, 2, 3), ()), ("load_tokens", [], (10, 4, 1, 1, 5, -1, 3), ()),
    ("load_tokens", [], (10, 4, 1, 1, 5, 0, 0), ()), ("load_tokens", [], (10, 4, 1, 1, 5, 0), ()),
    ("load_tokens", [], (10, 4, 1, 1, 5, 1 << 62, 1 << 62), ()), ("load_tokens", [], ((1 << 40) + 1, 4, 1, 1, 5, 0, 4), ()),
    ("embedding", [V3, IDS], (), ()), ("embedding", [M, V3], (), ()), ("embedding", [M, IDS], (1,), ()),
    ("embedding_grad", [M, "i32 3 below 4 3"], (5,), ()), ("embedding_grad", [M, IDS], (0,), ()),
    ("embedding_grad", [M, IDS], (1 << 31,), ()), ("embedding_grad", [M, IDS], (), ()), ("embedding_grad", [V3, IDS], (5,), ()),
    ("position_add", [M, gen("4x5", 5)], (2,), ()), ("position_add", [M, gen("1x6", 5)], (2,), ()),
    ("position_add", [M, gen("4x6", 5)], (3,), ()), ("position_add", [M, gen("4x6", 5)], (0,), ()),
    ("position_grad", [M], (3, 5), ()), ("position_grad", [M], (2, 1), ()), ("position_grad", [M], (0, 5), ()),
    ("position_grad", [V3], (1, 5), ()), ("position_grad", [M], (2,), ()),
    ("split_columns", [M], (4,), ()), ("split_columns", [M], (1,), ()), ("split_columns", [M], (6,), ()), ("split_columns", [V3], (3,), ()),
    ("split_columns", [M], (0,), ()), ("split_columns", [M], (-2,), ()), ("split_columns", [M], (), ()),
    ("join_columns", [M], (), ()), ("join_columns", [M] * 5, (), ()), ("join_columns", [M, gen("6x4", 1)], (), ()),
    ("join_columns", [V3, V3], (), ()),
    ("scale", [M], (), ()), ("scale", [M], (), ("nan",)), ("scale", [M, M], (), ("1",)),
    ("scale_by", [M, V3], (), ()), ("scale_by", [M], (), ()),
    ("dropout", [M], (1, 1), ("0",)), ("dropout", [M], (1, 1), ("1",)), ("dropout", [M], (1, 1), ("nan",)), ("dropout", [M], (1, 1 << 20), ("0.5",)),
    ("dropout", [M], (1, -1), ("0.5",)), ("dropout", [M], (-1, 1), ("0.5",)), ("dropout", [M], (1 << 32, 1), ("0.5",)), ("dropout", [M], (1,), ("0.5",)),
    ("row_stats", [V3], (), ()), ("row_stats", [SQUARE], (), ()), ("row_stats", [M], (1,), ()),
    ("layer_norm", [M, gen("6", 1), gen("6", 1), gen("4", 1), gen("6", 1)], (), ()), ("layer_norm", [M, *[gen("4", 1)] * 4], (), ()),
    ("layer_norm_sums", [M, M, gen("4", 1)], (), ()), ("layer_norm_sums", [M, gen("6x4", 1), gen("6", 1)], (), ()),
    ("layer_norm_dinput", [M, M, *[gen("6", 1)] * 4], (), ()), ("layer_norm_dinput", [M, M, gen("6", 1)], (), ()),
    ("attention_scores", [M, M], (3, 2), ()), ("attention_scores", [M, M], (2, 4), ()), ("attention_scores", [M, M], (0, 2), ()),
    ("attention_scores", [M, M], (2, -1), ()), ("attention_scores", [M, gen("4x3", 1)], (2, 3), ()), ("attention_scores", [M, M], (2,), ()),
    ("attention_mix", [SQUARE, M], (2,), ()), ("attention_mix", [SQUARE, gen("4x4", 1)], (0,), ()), ("attention_mix", [SQUARE, gen("8x6", 1)], (0,), ()),
    ("attention_mix", [M, M], (0,), ()), ("attention_mix", [SQUARE, M], (), ()), ("attention_mix", [gen("2x3x2x3", 1), M], (0,), ()),
    ("causal_softmax", [M], (), ()), ("causal_softmax", [gen("2x3x2x3", 1)], (), ()), ("causal_softmax", [SQUARE], (1,), ()),
    ("causal_softmax_grad", [SQUARE, SQUARE, gen("2x3x3", 1)], (), ()), ("causal_softmax_grad", [SQUARE, gen("2x2x2x2", 1), gen("2x3x2", 1)], (), ()),
    ("head_dot", [M, M], (3, 2), ()), ("head_dot", [M, gen("6x4", 1)], (2, 2), ()), ("head_dot", [M, M], (2, 4), ()),
    ("square_sum", [M, M], (), ()), ("square_sum", [M], (1,), ()),
    ("clip_scale", [V3], (), ("1",)), ("clip_scale", [], (), ("1",)), ("clip_scale", [gen("1", 1)], (), ("0",)),
    ("clip_scale", [gen("1", 1)], (), ("nan",)), ("clip_scale", [gen("1", 1)], (), ()),
    ("adam", [V3, V3, V3], ADAM, NUMS), ("adam", [V3, V3, V3, M], ADAM, NUMS), ("adam", [V3] * 4, (0, 4, 1, 0, 5), NUMS),
    ("adam", [V3] * 4, (0, 0, 1, 5, 5), NUMS), ("adam", [V3] * 4, ADAM, ("0.1", "1", "0.9", "0.1", "0", "0.1")),
    ("adam", [V3] * 4, ADAM, ("0.1", "0.9", "-0.5", "0.1", "0", "0.1")), ("adam", [V3] * 4, ADAM, ("0.1", "0.9", "0.9", "0", "0", "0.1")),
    ("adam", [V3] * 4, ADAM[:4], NUMS), ("adam", [V3] * 4, ADAM, NUMS[:5]),
    ("channel_dot", [M, gen("6x4", 1)], (), ()), ("channel_dot", [V3, V3], (), ()),
    ("cross_entropy", [M, M, gen("4", 1), gen("4", 1), IDS], (1,), ()), ("cross_entropy", [M, M, gen("4", 1), gen("4", 1), IDS], (2, 2), ()),
    ("cross_entropy_grad", [M, IDS], (0,), ()), ("cross_entropy_grad", [M, IDS], (1 << 31,), ()),
]


def write():
    out = Cases("Ops of models that read text, clipping, Adam")
    for part in (tokens, columns, dropouts, norms, attention, losses, updates):
        part(out)
    for i, (op, inputs, ints, nums) in enumerate(REFUSALS):
        out.add(f"refused.{op}.{i}", op, inputs, ints, nums, refuse=True)
    return out.text()
