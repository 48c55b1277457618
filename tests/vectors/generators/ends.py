"""What begins a program, and what shape rules refuse."""
from .writer import Cases


def load(out):
    unit = ("0", "1")
    for name, samples, batch, shuffle, step in (("in_order", 10, 3, 0, 2), ("second_epoch", 10, 3, 0, 4),
                                                ("shuffled", 100, 8, 1, 1),
                                                ("shuffled.later", 100, 8, 1, 30), ("one_sample", 1, 1, 1, 9),
                                                ("whole_set", 7, 7, 1, 3)):
        out.add(f"load.{name}", "load", [], (samples, batch, 7, shuffle, 1, 3, 4), ("72.94", "90.02"), samples=3, step=step,
                record=name == "shuffled", twin=False)
    out.add("load.seed", "load", [], (100, 8, 4294967295, 1, 1, 2, 2), unit, samples=3, step=1, twin=False)
    out.add("load.channels", "load", [], (9, 2, 1, 1, 3, 2, 3), ("1", "2.5", "3", "4", "5", "0.6"), samples=4, twin=False)
    out.add("load.bfloat16", "load", [], (9, 2, 1, 1, 1, 2, 3), ("127.5", "3"), samples=4, grid="16 32", twin=False)
    every = list(range(2 * 2 * 4 * 3))
    for crop, flip in ((4, 1), (1, 0), (0, 1), (256, 1)):
        for step in (1, 2, 5):
            out.add(f"load.crop{crop}.flip{flip}.step{step}", "load", [], (20, 2, 9, 1, 2, 4, 3, crop, flip),
                    ("0", "0", "1", "2"),
                    samples=5, step=step, checks=every, record=step == 1 and crop == 4, twin=False)


def initial(out):
    for kind, value in (("init_uniform", "0.125"), ("init_normal", "0.02"), ("init_const", "0.1")):
        for grid in ("32 32", "32 16"):
            out.add(f"{kind}.{grid.split()[1]}", kind, [], (1, 3, 4, 5), (value,), grid=grid, record=grid == "32 32",
                    twin=False,
                    checks=[0, 1, 2, 3, 7, 19])
        out.add(f"{kind}.far", kind, [], (4294967295, 9000000000, 1 << 20, 1 << 19), (value,), twin=False,
                checks=[0, 4294967296 * 4, (1 << 39) - 1])
    out.add("init_const.negative_zero", "init_const", [], (1, 0, 2), ("-0x0p+0",), twin=False)
    out.add("init_const.negative", "init_const", [], (0, 0, 2), ("-3",), twin=False)
    out.add("import", "import", [], (1, -2, 3, -4, 2, 3, 5), imports=6, record=True, twin=False)
    out.add("import.bfloat16", "import", [], (0, 0, 0, 1, 0, 7), imports=6, grid="32 16", twin=False)
    out.add("commit", "commit", ["f32 3 gen 1 120 8", "f32 2x2 gen 2 120 8"], checks=[], record=True, twin=False)


def write():
    out = Cases("The ends of a program: load, initial values")
    load(out)
    initial(out)
    return out.text()


X, W = "f32 1x2x5x5 gen 1 120 8", "f32 3x2x3x3 gen 2 120 8"
M23, M34 = "f32 2x3 gen 1 120 8", "f32 3x4 gen 2 120 8"
V3 = "f32 3 gen 3 120 8"

REFUSALS = [  # op, inputs, ints, nums
    ("matmul", [M23, M34], (0,), ()), ("matmul", [M23, M34], (0, 0, 0), ()), ("matmul", [M23, M34], (0, 2), ()),
    ("matmul", [M23, M34], (-1, 0), ()), ("matmul", [M23, M34], (1, 0), ()), ("matmul", [M23, M34], (0, 0), ("1",)),
    ("matmul", [M23], (0, 0), ()), ("matmul", [M23, M34, V3], (0, 0), ()), ("matmul", [M23, V3], (0, 0), ()),
    ("matmul", [M23, "i32 3x4 below 1 5"], (0, 0), ()),
    ("conv2d", [X, W], (0, 1), ()), ("conv2d", [X, W], (1025, 1), ()), ("conv2d", [X, W], (1, 3), ()),
            ("conv2d", [X, W], (1, -1), ()),
    ("conv2d", [X, "f32 3x1x3x3 gen 1 120 8"], (1, 1), ()), ("conv2d", [X, "f32 3x2x6x3 gen 1 120 8"], (1, 0), ()),
    ("conv2d", [X, W, "f32 2 gen 1 120 8"], (1, 1), ()), ("conv2d", [M23, W], (1, 1), ()),
    ("conv2d_dinput", ["f32 1x3x5x5 gen 1 120 8", W], (1, 1, 5, 6), ()),
            ("conv2d_dinput", ["f32 1x3x5x5 gen 1 120 8", W], (1, 1, 5), ()),
    ("conv2d_dinput", ["f32 1x3x5x5 gen 1 120 8", W], (1, 1, 0, 5), ()),
            ("conv2d_dinput", ["f32 1x2x5x5 gen 1 120 8", W], (1, 1, 5, 5), ()),
    ("conv2d_dweight", ["f32 1x3x5x5 gen 1 120 8", X], (1, 1, 3, 4), ()),
            ("conv2d_dweight", ["f32 2x3x5x5 gen 1 120 8", X], (1, 1, 3, 3), ()),
    ("conv2d_dweight", ["f32 1x3x5x5 gen 1 120 8", X], (0, 1, 3, 3), ()),
    ("channel_sum", [V3], (), ()), ("channel_sum", ["f32 2x3x4 gen 1 120 8"], (), ()), ("channel_sum", [M23], (1,), ()),
    ("channel_stats", [M23], (), ()), ("channel_dot", [X, W], (), ()), ("channel_dot", [M23, M23], (), ()),
    ("softmax", [X], (), ()), ("softmax", [M23, M23], (), ()),
    ("cross_entropy", [M23, M23, "f32 2 gen 1 120 8", "f32 2 gen 1 120 8", "i32 3 below 1 3"], (), ()),
    ("cross_entropy", [M23, M34, "f32 2 gen 1 120 8", "f32 2 gen 1 120 8", "i32 2 below 1 3"], (), ()),
    ("cross_entropy", [M23, M23, "f32 2 gen 1 120 8", "f32 2 gen 1 120 8", "f32 2 gen 1 120 8"], (), ()),
    ("cross_entropy_grad", [M23, "f32 2 gen 1 120 8"], (), ()), ("cross_entropy_grad", [M23, "i32 3 below 1 3"], (), ()),
    ("avgpool", [X], (0, 1, 0), ()), ("avgpool", [X], (2, 0, 0), ()), ("avgpool", [X], (2, 1, 2), ()),
            ("avgpool", [X], (6, 1, 0), ()),
    ("avgpool", [X], (2, 1), ()), ("avgpool", [M23], (2, 1, 0), ()), ("maxpool", [X], (1025, 1, 512), ()),
            ("maxpool", [X], (2, 1, -1), ()),
    ("avgpool_grad", [X], (2, 1, 0, 5, 6), ()), ("avgpool_grad", [X], (2, 1, 0, 6), ()),
            ("avgpool_grad", [X], (2, 1, 0, 7, 6), ()),
    ("maxpool_grad", [X, X], (2, 1, 0), ()), ("maxpool_grad", [X, M23], (1, 1, 0), ()),
    ("adaptive_avgpool", [X], (0, 1), ()), ("adaptive_avgpool", [X], (1, 32769), ()), ("adaptive_avgpool", [X], (1,), ()),
    ("adaptive_avgpool_grad", [X], (0, 5), ()), ("adaptive_avgpool_grad", [M23], (5, 5), ()),
    ("add", [M23, M34], (), ()), ("add", [M23, M23], (1,), ()), ("relu", [M23, M23], (), ()), ("relu", [M23], (), ("1",)),
    ("relu_grad", [M23, M34], (), ()), ("reshape", [M23], (7,), ()), ("reshape", [M23], (0, 6), ()),
            ("reshape", [M23], (), ()),
    ("reshape", [M23], (1, 1, 1, 1, 6), ()), ("reshape", [M23], (-2, -3), ()),
    ("rsqrt_eps", [V3], (), ("0",)), ("rsqrt_eps", [V3], (), ("1",)), ("rsqrt_eps", [V3], (), ()),
            ("rsqrt_eps", [V3], (), ("nan",)),
    ("batch_norm", [X, V3, V3, V3, V3], (), ()), ("batch_norm", [M23, V3, V3, V3, V3], (), ()),
            ("batch_norm_dinput", [X, W, *[V3] * 4], (), ()),
    ("running_average", [V3, M23], (), ("0.1", "1")), ("running_average", [V3, V3], (), ("1.5", "1")),
    ("running_average", [V3, V3], (), ("0.1", "2.5")), ("running_average", [V3, V3], (), ("-0.1", "1")),
    ("sgd", [V3, V3], (0, 3, 1, 0, 5), ("0.1", "0", "0", "0.1")), ("sgd", [V3, V3], (0, 0, 0, 0, 5),
                                                                   ("0.1", "0", "0", "0.1")),
    ("sgd", [V3, V3], (0, 0, 1, 5, 5), ("0.1", "0", "0", "0.1")), ("sgd", [V3, V3], (0, 0, 1, -1, 5),
                                                                   ("0.1", "0", "0", "0.1")),
    ("sgd", [V3, M23], (0, 0, 1, 0, 5), ("0.1", "0", "0", "0.1")), ("sgd", [V3], (0, 0, 1, 0, 5), ("0.1", "0", "0", "0.1")),
    ("load", [], (10, 11, 1, 1, 1, 2, 2), ("0", "1")), ("load", [], (10, 0, 1, 1, 1, 2, 2), ("0", "1")),
    ("load", [], (10, 2, 4294967296, 1, 1, 2, 2), ("0", "1")), ("load", [], (10, 2, -1, 1, 1, 2, 2), ("0", "1")),
    ("load", [], (10, 2, 1, 1, 0, 2, 2), ()), ("load", [], (10, 2, 1, 1, 7, 2, 2), ("1",) * 12),
            ("load", [], (10, 2, 1, 1, 1, 2, 2), ("0", "0")),
    ("load", [], (10, 2, 1, 1, 1, 2, 2), ("0", "-1")), ("load", [], (10, 2, 1, 1, 1, 2, 2), ("0",)),
            ("load", [], (10, 2, 1, 1, 1, 0, 2), ("0", "1")),
    ("load", [], (10, 2, 1, 1, 1, 2, 2, 0, 0), ("0", "1")), ("load", [], (10, 2, 1, 1, 1, 2, 2, 257, 0), ("0", "1")),
    ("load", [], (10, 2, 1, 1, 1, 2, 2, 4, 2), ("0", "1")), ("load", [], (10, 2, 1, 1, 1, 2, 2, 4), ("0", "1")),
    ("load", [V3], (10, 2, 1, 1, 1, 2, 2), ("0", "1")),
    ("init_uniform", [], (1, 0), ("1",)), ("init_uniform", [], (-1, 0, 5), ("1",)), ("init_normal", [], (1, 0, 5), ()),
    ("init_normal", [], (1, 0, 0), ("1",)), ("init_const", [], (1, 0, 2, 2, 2, 2, 2), ("1",)),
            ("init_const", [V3], (1, 0, 2), ("1",)),
    ("init_const", [], (1, 0, 1 << 20, 1 << 20, 2), ("1",)), ("init_const", [], (4294967296, 0, 2), ("1",)),
    ("import", [], (0, 0, 0, 0, 0), ()), ("import", [], (0, 0, 0, 0, -1, 2), ()),
            ("import", [], (0, 0, 0, 0, 2147483648, 2), ()),
    ("import", [], (0, 0, 0, 0, 0, 2), ("1",)), ("commit", [], (), ()), ("commit", [V3], (1,), ()),
    ("no_such_op", [V3], (), ()), ("", [V3], (), ()),
]


def write_refusals():
    out = Cases("What the shape rules refuse")
    for i, (op, inputs, ints, nums) in enumerate(REFUSALS):
        out.add(f"refused.{op or 'nameless'}.{i}", op or "-", inputs, ints, nums, refuse=True)
    out.add("refused.terms", "matmul", ["f32 1x2097152 int 1 1", "f32 2097152x1 int 1 1"], (0, 0), refuse=True)
    return out.text()


