"""Functions of one argument and elementwise ops (spec/ops.md)."""
from . import functions
from .numbers import f32, round_to
from .ops import Rule, arity, expect, grid_value, register, state_value
from .ops_sum import channel_size, image


def channel(shape, index):
    return index // (shape[2] * shape[3]) % shape[1]


def per_channel(op, given, images, vectors):
    """All of `images` alike and (N, C, H, W), each of `vectors` (C)."""
    shape = image(op, given[images[0]])
    expect(all(given[i].shape == shape for i in images) and all(given[i].shape == shape[1:2] for i in vectors), op,
           "images of one shape, and one number per channel in the others")
    return shape


class Map(Rule):
    """One input, one output of its shape, no attributes."""

    def infer(self, program, op, given):
        arity(op, 1, 1, 0, 0)
        return [grid_value(program, given[0].shape)]


class MapOfTwo(Rule):
    """Two inputs of one shape, which is the output's, no attributes."""

    def infer(self, program, op, given):
        arity(op, 2, 2, 0, 0)
        expect(given[0].shape == given[1].shape, op, "two tensors of one shape")
        return [grid_value(program, given[0].shape)]


@register
class Add(MapOfTwo):
    kind = "add"

    def element(self, v, output, i):
        return v.round(v.f(0, i) + v.f(1, i))

    def gradient(self, g):
        g.inputs = {0: g.outputs[0], 1: g.outputs[0]}


@register
class Relu(Map):
    kind = "relu"

    def element(self, v, output, i):
        x = v.f(0, i)
        return v.round(x if x > 0 or x != x else 0.0)

    def gradient(self, g):
        g.emit(0, "relu_grad", [g.outputs[0], g.op.outputs[0]])


@register
class ReluGrad(MapOfTwo):
    kind = "relu_grad"

    def element(self, v, output, i):
        return v.round(v.f(0, i) if v.f(1, i) > 0 else 0.0)


def function(name, of_output, slope):
    """The op of a function of one argument, and that of its gradient: dy times a slope, found from the function's output or
    from its input."""

    @register
    class Function(Map):
        kind = name

        def element(self, v, output, i):
            return v.round(f32(getattr(functions, name)(v.word(0, i))))

        def gradient(self, g):
            g.emit(0, f"{name}_grad", [g.outputs[0], g.op.outputs[0] if of_output else g.op.inputs[0]])

    @register
    class FunctionGrad(MapOfTwo):
        kind = f"{name}_grad"

        def element(self, v, output, i):
            return v.round(v.f(0, i) * slope(v.word(1, i)))

    return Function, FunctionGrad


function("tanh", True, lambda y: 1.0 - f32(y) * f32(y))
function("sigmoid", True, lambda y: f32(y) * (1.0 - f32(y)))
function("gelu", False, lambda x: f32(functions.gelu_slope(x)))


@register
class Reshape(Rule):
    kind = "reshape"

    def infer(self, program, op, given):
        expect(len(op.inputs) == 1 and not op.nums and 1 <= len(op.ints) <= 4, op, "one input, 1 to 4 dimensions")
        count = 1
        for d in op.ints:
            expect(d >= 1, op, "dimensions of at least 1")
            count *= d
        expect(count == given[0].count, op, "as many elements as before")
        return [(given[0].dtype, given[0].bits, tuple(op.ints))]

    def element(self, v, output, i):
        return v.word(0, i)

    def gradient(self, g):
        g.emit(0, "reshape", [g.outputs[0]], g.shape(0))


@register
class RsqrtEps(Rule):
    kind = "rsqrt_eps"

    def infer(self, program, op, given):
        arity(op, 1, 1, 0, 1)
        expect(0 < op.nums[0] < 1, op, "an ε between 0 and 1")
        return [grid_value(program, given[0].shape)]

    def element(self, v, output, i):
        return v.round(f32(functions.rsqrt(round_to(v.f(0, i) + v.nums[0], 32))))


@register
class BatchNorm(Rule):
    kind = "batch_norm"
    suffixes = ("", ".normal")

    def infer(self, program, op, given):
        arity(op, 5, 5, 0, 0)
        return [grid_value(program, per_channel(op, given, [0], [1, 2, 3, 4]))] * 2

    def element(self, v, output, i):
        c = channel(v.shape(0), i)
        normal = v.round((v.f(0, i) - v.f(1, c)) * v.f(2, c), 1)
        return normal if output == 1 else v.round(f32(normal) * v.f(3, c) + v.f(4, c))

    def gradient(self, g):
        d, normal = g.outputs[0], g.op.outputs[1]
        expect(d is not None and g.outputs[1] is None and self._own_statistics(g), g.op, "the statistics of its own input")
        s1 = g.append(4, "channel_sum", [d])
        s2 = g.append(3, "channel_dot", [d, normal])
        g.emit(0, "batch_norm_dinput", [d, normal, g.op.inputs[3], g.op.inputs[2], s1, s2])

    def _own_statistics(self, g):
        x, mean, r = (g.program.values[i] for i in g.op.inputs[:3])
        if mean.op < 0 or r.op < 0:
            return False
        stats, root = g.program.ops[mean.op], g.program.ops[r.op]
        return (stats.kind == "channel_stats" and root.kind == "rsqrt_eps" and stats.inputs[0] == g.op.inputs[0] and
                stats.outputs[0] == g.op.inputs[1] and root.inputs[0] == stats.outputs[1])


@register
class BatchNormInput(Rule):
    kind = "batch_norm_dinput"

    def infer(self, program, op, given):
        arity(op, 6, 6, 0, 0)
        return [grid_value(program, per_channel(op, given, [0, 1], [2, 3, 4, 5]))]

    def element(self, v, output, i):
        c, n = channel(v.shape(0), i), channel_size(v.shape(0))
        return v.round((v.f(2, c) * v.f(3, c)) * ((v.f(0, i) - v.f(4, c) / n) - v.f(1, i) * (v.f(5, c) / n)))


@register
class RunningAverage(Rule):
    kind = "running_average"
    suffixes = (".next",)

    def infer(self, program, op, given):
        arity(op, 2, 2, 0, 2)
        expect(given[0].shape == given[1].shape, op, "two tensors of one shape")
        expect(0 <= op.nums[0] <= 1 and 0 <= op.nums[1] <= 2, op, "0 ≤ m ≤ 1 and 0 ≤ f ≤ 2")
        return [state_value(program, given[0].shape)]

    def element(self, v, output, i):
        m, f = v.nums
        return v.round((1.0 - m) * v.f(0, i) + m * f * v.f(1, i))


@register
class CrossEntropyGrad(Rule):
    kind = "cross_entropy_grad"
    labels = (1,)

    def infer(self, program, op, given):
        arity(op, 2, 2, 0, 0)
        expect(len(given[0].shape) == 2 and given[1].count == given[0].shape[0], op, "p (N,D) and one label per row")
        return [grid_value(program, given[0].shape)]

    def element(self, v, output, i):
        rows, width = v.shape(0)
        hit = 1.0 if v.word(1, i // width) == i % width else 0.0
        return v.round((v.f(0, i) - hit) / float(rows))


@register
class Sgd(Rule):
    kind = "sgd"
    suffixes = (".next", ".momentum.next")

    def infer(self, program, op, given):
        arity(op, 2, 3, 5, 4)
        _, schedule, every, warmup, steps = op.ints
        expect(all(g.shape == given[0].shape for g in given), op, "tensors of one shape")
        expect(0 <= schedule <= 2 and every >= 1 and 0 <= warmup < steps, op,
               "a schedule whose warm-up is shorter than the run")
        return [state_value(program, given[0].shape)] * (len(given) - 1)

    def element(self, v, output, i):
        nesterov, schedule, every, warmup, steps = v.ints
        lr, momentum, decay, gamma = v.nums
        bits, w = v.out().bits, v.f(0, i)
        g = f32(round_to(v.f(1, i) + decay * w, bits))
        step = g
        if len(v.op.inputs) == 3:
            m = round_to(momentum * v.f(2, i) + g, bits)
            if output == 1:
                return m
            step = g + momentum * f32(m) if nesterov else f32(m)
        rate = functions.learning_rate(schedule, lr, gamma, every, warmup, steps, v.step)
        return v.round(w - rate * step)
