"""Functions of one argument, elementwise ops and updates."""
from .writer import Cases, words

SPECIAL = (0, "-0", 1, -1, "0x1p-149", "-0x1p-149", "0x1.fffffep+127", "-0x1.fffffep+127", "inf", "-inf", "nan", "nan2")
N = len(SPECIAL)
GRIDS = ("32 32", "19 32", "16 16")


def simple(out):
    for grid in GRIDS:
        tail = ".grid" + grid.split()[0]
        a, b = "f32 3x4 gen 1 118 12", "f32 3x4 gen 2 118 12"
        for name, inputs in (("add", [a, b]), ("relu", [a]), ("relu_grad", [a, b])):
            out.add(name + tail, name, inputs, grid=grid, record=grid == "32 32")
        for name in ("tanh", "sigmoid", "gelu"):
            out.add(name + tail, name, [a], grid=grid, record=grid == "32 32")
            out.add(f"{name}_grad{tail}", f"{name}_grad", [a, b], grid=grid, record=grid == "32 32")
        out.add("reshape" + tail, "reshape", [a], (2, 6), grid=grid, record=grid == "32 32")
    one, all_of = f"f32 {N} " + words(*SPECIAL), list(range(N))
    for k in range(N):
        turned = f"f32 {N} " + words(*SPECIAL[k:], *SPECIAL[:k])
        out.add(f"add.special.{k}", "add", [one, turned], checks=all_of, twin=False)
        out.add(f"relu_grad.special.{k}", "relu_grad", [one, turned], checks=all_of, twin=False)
    out.add("relu.special", "relu", [one], checks=all_of)
    large = "f32 10 " + words("0x1p-13", "-0x1p-13", "0x1.2p+3", "-0x1.2p+3", "0x1.8p+6", "-0x1.8p+6", "-0x1.9p+6", "0x1p+7", "-0x1.5p+2",
                              "-0x1.814p-1")
    for name in ("tanh", "sigmoid", "gelu"):
        out.add(name + ".special", name, [one], checks=all_of, twin=False)
        out.add(name + ".large", name, [large], checks=list(range(10)), twin=False)
        out.add(name + "_grad.special", name + "_grad", ["f32 12 " + words(*["0x1.8p+0"] * 12), one], checks=all_of, twin=False)
        out.add(name + "_grad.large", name + "_grad", ["f32 10 " + words(*[1] * 10), large], checks=list(range(10)), twin=False)
    out.add("reshape.special", "reshape", ["f32 2 " + words(1, "inf")], (2, 1, 1), checks=[0, 1])
    out.add("add.tie", "add", ["f32 4 " + words(1, 1, "0x1.fffffep+127", "0x1.fffffep+127"),
                               "f32 4 " + words("0x1p-24", "0x1.8p-23", "0x1p+103", "0x1.fffffep+102")],
            checks=[0, 1, 2, 3])
    out.add("add.tie.bfloat16", "add", ["f32 3 " + words(1, 1, "0x1.fep+127"),
                                        "f32 3 " + words("0x1p-8", "0x1.8p-7", "0x1p+119")],
            grid="16 32", checks=[0, 1, 2])
    out.add("relu.off_grid_input", "relu", ["f32 2 " + words("0x1.01p+0", "0x1.030002p+0")], grid="16 32", checks=[0, 1])


def norms(out):
    for grid in GRIDS:
        tail = ".grid" + grid.split()[0]
        image, other = "f32 2x3x2x4 gen 3 120 8", "f32 2x3x2x4 gen 4 120 8"
        per_channel = [f"f32 3 gen {s} 122 6" for s in (5, 6, 7, 8)]
        out.add("batch_norm" + tail, "batch_norm", [image, *per_channel], grid=grid, record=grid == "32 32")
        out.add("batch_norm_dinput" + tail, "batch_norm_dinput", [image, other, *per_channel], grid=grid,
                record=grid == "32 32")
        out.add("rsqrt_eps" + tail, "rsqrt_eps", ["f32 6 " + words(0, 1, "0x1p-20", "0x1.8p+100", 3, "0x1p-140")],
                nums=("0.00001",),
                grid=grid, checks=list(range(6)), record=grid == "32 32")
        out.add("running_average" + tail, "running_average", ["f32 5 gen 9 120 8", "f32 5 gen 10 120 8"],
                nums=("0.1", "64/63"),
                grid=grid, checks=[0, 1, 2, 3, 4], record=grid == "32 32")
    out.add("rsqrt_eps.special", "rsqrt_eps", [f"f32 {N} " + words(*SPECIAL)], nums=("0.00001",), checks=list(range(N)))
    out.add("rsqrt_eps.negative", "rsqrt_eps", ["f32 3 " + words("-0x1p-2", "-0x1.000002p-2", "-0x1.fffffep-3")],
            nums=("0x1p-2",),
            checks=[0, 1, 2])
    out.add("rsqrt_eps.least", "rsqrt_eps", ["f32 2 " + words(0, "0x1p-149")], nums=("0x1p-1074",), checks=[0, 1])
    out.add("running_average.all_new", "running_average", ["f32 2 " + words("inf", 5), "f32 2 " + words(1, 2)],
            nums=("1", "2"),
            checks=[0, 1])
    out.add("running_average.none_new", "running_average", ["f32 2 " + words(3, "-0"), "f32 2 " + words("nan", 1)],
            nums=("0", "1"),
            checks=[0, 1])
    out.add("batch_norm.special", "batch_norm", ["f32 1x1x2x3 " + words("inf", "-inf", "nan", "-0", "0x1.fffffep+127",
                                                                        "0x1p-149"),
            "f32 1 " + words(1), "f32 1 " + words(2), "f32 1 " + words("-0x1p+0"), "f32 1 " + words(0)],
            checks=[(o, i, None) for o in (0, 1) for i in range(6)])
    out.add("batch_norm_dinput.zero_gamma", "batch_norm_dinput", ["f32 1x1x1x2 " + words(1, "inf"),
                                                                  "f32 1x1x1x2 " + words(1, -1),
            "f32 1 " + words(0), "f32 1 " + words(1), "f32 1 " + words(2), "f32 1 " + words(0)], checks=[0, 1])


SCHEDULES = [  # name, ints {nesterov, schedule, every, warmup, steps}, gamma, steps to look at
    ("constant", (0, 0, 1, 0, 10), "0.1", (1, 10)), ("warmup", (0, 0, 1, 3, 10), "0.1", (1, 2, 3, 4)),
    ("step", (0, 1, 4, 0, 100), "0.1", (1, 4, 5, 9, 100)), ("step.warmup", (0, 1, 3, 2, 20), "0.3", (2, 3, 5, 6, 20)),
    ("cosine", (0, 2, 1, 0, 7), "0.1", (1, 2, 4, 5, 7)), ("cosine.warmup", (0, 2, 1, 5, 1000), "0.1", (5, 6, 503, 1000)),
]


def updates(out):
    w, g, m = "f32 5 gen 11 120 8", "f32 5 gen 12 116 8", "f32 5 gen 13 116 8"
    for grid in ("32 32", "16 32", "32 16"):
        for name, inputs, nesterov in (("plain", [w, g], 0), ("momentum", [w, g, m], 0), ("nesterov", [w, g, m], 1)):
            out.add(f"sgd.{name}.grid{grid.replace(' ', '_')}", "sgd", inputs, (nesterov, 0, 1, 0, 5),
                    ("0.1", "0.9", "0.0005", "0.1"),
                    grid=grid, record=grid == "32 32")
    for name, ints, gamma, steps in SCHEDULES:
        for t in steps:
            out.add(f"sgd.{name}.step{t}", "sgd", [w, g, m], ints, ("0.05", "0.9", "0.0001", gamma), step=t)
    special, others = f"f32 {N} " + words(*SPECIAL), f"f32 {N} " + words(*SPECIAL[3:], *SPECIAL[:3])
    out.add("sgd.special", "sgd", [special, others], (0, 0, 1, 0, 5), ("0.1", "0", "0", "0.1"), checks=list(range(N)))
    out.add("sgd.special.momentum", "sgd", [special, others, special], (1, 0, 1, 0, 5), ("0.1", "0.9", "0.01", "0.1"),
            checks=[(o, i, None) for o in (0, 1) for i in range(N)])


def write_functions():
    """tanh, sigmoid, GELU and their gradients."""
    out = Cases("Ops of tanh, sigmoid and GELU")
    every = list(range(N))
    for name in ("tanh", "sigmoid", "gelu"):
        for grid in GRIDS:
            tail = ".grid" + grid.split()[0]
            out.add(name + tail, name, ["f32 3x4 gen 14 118 12"], grid=grid, record=grid == "32 32", checks=list(range(12)))
            out.add(f"{name}_grad{tail}", f"{name}_grad", ["f32 3x4 gen 15 118 12", "f32 3x4 gen 16 118 10"], grid=grid,
                    record=grid == "32 32", checks=list(range(12)))
        one = f"f32 {N} " + words(*SPECIAL)
        out.add(f"{name}.special", name, [one], checks=every)
        for k in (0, 3, 8):
            out.add(f"{name}_grad.special.{k}", f"{name}_grad", [one, f"f32 {N} " + words(*SPECIAL[k:], *SPECIAL[:k])], checks=every)
        out.add(f"{name}.refused", name, [one, one], refuse=True)
        out.add(f"{name}.refused.attribute", name, [one], (1,), refuse=True)
        out.add(f"{name}_grad.refused", f"{name}_grad", [one, "f32 2 " + words(1, 2)], refuse=True)
    return out.text()


def write():
    out = Cases("Functions of one argument and elementwise ops")
    simple(out)
    norms(out)
    updates(out)
    return out.text()
