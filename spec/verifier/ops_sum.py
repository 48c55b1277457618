"""Sums: everything that is an rsum (spec/ops.md)."""
from . import functions
from .numbers import NAN, divide, f32, rne32, round_to
from .ops import Rule, arity, expect, grid_value, register, unflat
from .ops_product import extent, fits
from .sums import block_sum, blocks_of, column_sum, join, join_columns, rsum


def channel_runs(shape, channel):
    """Flat indexes of a channel of (N, C, H, W): one run per image."""
    plane = shape[2] * shape[3]
    return [range((n * shape[1] + channel) * plane, (n * shape[1] + channel + 1) * plane) for n in range(shape[0])]


def channel_size(shape):
    return float(shape[0] * shape[2] * shape[3])


def image(op, value):
    expect(len(value.shape) == 4, op, "an image (N,C,H,W)")
    return value.shape


class LongSum(Rule):
    """An element that is made of blocks of an rsum: a dispute shows their sums, and then the terms of one of them. `blocks`
    says how many there are, `block` sums one (where it must, by way of sums of earlier ones), `whole` is the word that all
    of them make."""

    def element(self, v, output, index):
        sums = []
        for number in range(self.blocks(v, output)):
            sums.append(self.block(v, output, index, number, sums))
        return self.whole(v, output, index, sums)


class ChannelLongSum(LongSum):
    def per_channel(self, v):
        x = v.shape(0)
        return x[0] * len(blocks_of(x[2] * x[3]))

    def blocks(self, v, output):
        return self.per_channel(v)

    def places(self, v, channel, number):
        """Flat indexes of the terms of a block: a part of one image's plane."""
        sizes = blocks_of(v.shape(0)[2] * v.shape(0)[3])
        image_number, part = divmod(number, len(sizes))
        run = channel_runs(v.shape(0), channel)[image_number]
        return run[sum(sizes[:part]):sum(sizes[:part + 1])]


@register
class ChannelSum(ChannelLongSum):
    kind = "channel_sum"

    def infer(self, program, op, given):
        arity(op, 1, 1, 0, 0)
        expect(len(given[0].shape) in (2, 4), op, "(N,C) or (N,C,H,W)")
        return [grid_value(program, given[0].shape[1:2])]

    def term(self, v, i):
        return v.f(0, i)

    def blocks(self, v, output):
        return len(blocks_of(v.shape(0)[0])) if len(v.shape(0)) == 2 else self.per_channel(v)

    def block(self, v, output, c, number, sums):
        x = v.shape(0)
        if len(x) == 2:
            rows = range(number * 256, min(number * 256 + 256, x[0]))
            return column_sum([self.term(v, n * x[1] + c) for n in rows])
        return block_sum([self.term(v, i) for i in self.places(v, c, number)])

    def whole(self, v, output, c, sums):
        return v.round((join_columns if len(v.shape(0)) == 2 else join)(sums))


@register
class ChannelStats(ChannelLongSum):
    kind = "channel_stats"
    suffixes = (".mean", ".var")

    def infer(self, program, op, given):
        arity(op, 1, 1, 0, 0)
        return [grid_value(program, image(op, given[0])[1:2])] * 2

    def blocks(self, v, output):
        return (1 + output) * self.per_channel(v)  # the variance needs the mean first

    def mean(self, v, sums):
        return v.round(join(sums[:self.per_channel(v)]) / channel_size(v.shape(0)))

    def block(self, v, output, c, number, sums):
        n = self.per_channel(v)
        if number < n:
            return block_sum([v.f(0, i) for i in self.places(v, c, number)])
        mean = f32(self.mean(v, sums))
        centred = [rne32(v.f(0, i) - mean) for i in self.places(v, c, number - n)]
        return block_sum([x * x for x in centred])

    def whole(self, v, output, c, sums):
        if output == 0:
            return self.mean(v, sums)
        return v.round(join(sums[self.per_channel(v):]) / channel_size(v.shape(0)), 1)


@register
class ChannelDot(ChannelSum):
    kind = "channel_dot"

    def infer(self, program, op, given):
        arity(op, 2, 2, 0, 0)
        expect(len(given[0].shape) in (2, 4) and given[0].shape == given[1].shape, op, "two tensors (N,C) or (N,C,H,W)")
        return [grid_value(program, given[0].shape[1:2])]

    def term(self, v, i):
        return v.f(0, i) * v.f(1, i)


# ---- softmax and loss ----

def largest(values):
    """The first largest FP32 number, a NaN counting as larger than all."""
    most = values[0]
    for x in values[1:]:
        if x > most or (x != x and most == most):
            most = x
    return most


@register
class Softmax(Rule):
    kind = "softmax"
    suffixes = ("", ".max", ".sum")

    def infer(self, program, op, given):
        arity(op, 1, 1, 0, 0)
        expect(len(given[0].shape) == 2, op, "a matrix")
        row = grid_value(program, given[0].shape[:1])
        return [grid_value(program, given[0].shape), row, row]

    def element(self, v, output, index):
        width = v.shape(0)[1]
        row, j = divmod(index, width) if output == 0 else (index, 0)
        x = [v.f(0, row * width + i) for i in range(width)]
        m = largest(x)
        if output == 1:
            return v.round(m, 1)
        e = [f32(functions.exp(round_to(value - m, 32))) for value in x]
        s = v.round(rsum(e), 2)
        return s if output == 2 else v.round(divide(e[j], f32(s)))


IGNORED = 0xFFFFFFFF  # the label −1


def parts_fit(op):
    expect(not op.ints or len(op.ints) == 1 and 2 <= op.ints[0] < 1 << 31, op, "no int, or 2 or more parts")


def divisor(v, labels):
    """What a mean over the rows that count divides by, and the other parts' share of it."""
    counted = sum(v.word(labels, i) != IGNORED for i in range(v.value(labels).count))
    return float(counted * (v.ints[0] if v.ints else 1))


@register
class CrossEntropy(LongSum):
    kind = "cross_entropy"
    suffixes = ("", ".terms")
    labels = (4,)

    def infer(self, program, op, given):
        arity(op, 5, 5, len(op.ints), 0)
        parts_fit(op)
        x = given[0].shape
        expect(len(x) == 2 and given[1].shape == x and all(g.count == x[0] for g in given[2:]), op,
               "x and p (N,D), and one m, s and label per row")
        return [grid_value(program, (1,)), grid_value(program, (x[0],))]

    def _term(self, v, row):
        width, label = v.shape(0)[1], v.word(4, row)
        if label == IGNORED:
            return 0
        if label >= width:
            return NAN
        return v.round((v.f(2, row) - v.f(0, row * width + label)) + f32(functions.log(v.word(3, row))), 1)

    def blocks(self, v, output):
        return 0 if output else 2 * len(blocks_of(v.shape(0)[0]))  # the rows that count, then the terms

    def block(self, v, output, index, number, sums):
        rows, terms = v.shape(0)[0], number - self.blocks(v, output) // 2
        first = 256 * (number if terms < 0 else terms)
        run = range(first, min(first + 256, rows))
        return block_sum([float(v.word(4, t) != IGNORED) if terms < 0 else f32(self._term(v, t)) for t in run])

    def whole(self, v, output, index, sums):
        if output == 1:
            return self._term(v, index)
        half = len(sums) // 2
        return v.round(divide(join(sums[half:]), join(sums[:half]) * (v.ints[0] if v.ints else 1)))

    def gradient(self, g):
        expect(not any(o is not None for o in g.outputs), g.op, "the loss to be what is differentiated")
        g.emit(0, "cross_entropy_grad", [g.op.inputs[1], g.op.inputs[4]], g.op.ints)


# ---- pools ----

def window(ints, shape, i, j):
    """Rows and columns of output (i, j)'s window that lie in the image."""
    kernel, stride, pad = ints[:3]
    y, x = i * stride - pad, j * stride - pad
    return range(max(y, 0), min(y + kernel, shape[2])), range(max(x, 0), min(x + kernel, shape[3]))


def adaptive_window(shape, out, i, j):
    return (range(i * shape[2] // out[2], -(-(i + 1) * shape[2] // out[2])),
            range(j * shape[3] // out[3], -(-(j + 1) * shape[3] // out[3])))


def pool_shape(program, op, given):
    arity(op, 1, 1, 3, 0)
    x, (kernel, stride, pad) = image(op, given[0]), op.ints
    expect(1 <= kernel <= 1024 and 1 <= stride <= 1024 and 0 <= 2 * pad <= kernel, op,
           "kernel and stride from 1 to 1024, pad at most half the kernel")
    expect(min(x[2:]) + 2 * pad >= kernel, op, "an image no smaller than the window")
    return [grid_value(program, (*x[:2], *(extent(d, kernel, stride, pad) for d in x[2:])))]


def pool_made(op, x, dy):
    """Whether the pool makes dy's shape of x's."""
    kernel, stride, pad = op.ints[:3]
    expect(len(x) == len(dy) == 4 and x[:2] == dy[:2], op, "dy and x (N,C,·,·)")
    expect(kernel <= 1024 and 0 <= 2 * pad <= kernel and fits(x[2], kernel, stride, pad, dy[2]) and
           fits(x[3], kernel, stride, pad, dy[3]), op, "the extent of the pool's output")


def plane(shape, n, c):
    return (n * shape[1] + c) * shape[2] * shape[3]


def window_words(shape, n, c, rows, columns):
    return [plane(shape, n, c) + y * shape[3] + x for y in rows for x in columns]


def average(v, place, rows, columns):
    terms = [v.f(0, i) for i in window_words(v.shape(0), *place, rows, columns)]
    return v.round(rsum(terms) / float(len(terms)))


def spread(v, index, windows):
    """rsum over the windows that hold element `index` of dy/size."""
    x, dy = v.out().shape, v.shape(0)
    n, c, y, z = unflat(x, index)
    terms = []
    for i in range(dy[2]):
        for j in range(dy[3]):
            rows, columns = windows(i, j)
            if y in rows and z in columns:
                terms.append(v.f(0, plane(dy, n, c) + i * dy[3] + j) / float(len(rows) * len(columns)))
    return v.round(rsum(terms))


@register
class AvgPool(Rule):
    kind = "avgpool"
    infer = staticmethod(pool_shape)

    def element(self, v, output, index):
        n, c, i, j = unflat(v.out().shape, index)
        return average(v, (n, c), *window(v.ints, v.shape(0), i, j))

    def gradient(self, g):
        g.emit(0, "avgpool_grad", [g.outputs[0]], [*g.op.ints, *g.shape(0)[2:]])


@register
class AvgPoolGrad(Rule):
    kind = "avgpool_grad"

    def infer(self, program, op, given):
        arity(op, 1, 1, 5, 0)
        x = (*image(op, given[0])[:2], *op.ints[3:])
        pool_made(op, x, given[0].shape)
        return [grid_value(program, x)]

    def element(self, v, output, index):
        return spread(v, index, lambda i, j: window(v.ints, v.out().shape, i, j))


@register
class AdaptiveAvgPool(Rule):
    kind = "adaptive_avgpool"

    def infer(self, program, op, given):
        arity(op, 1, 1, 2, 0)
        x = image(op, given[0])
        expect(max(x[2:]) <= 32768 and all(1 <= d <= 32768 for d in op.ints), op, "extents from 1 to 32768")
        return [grid_value(program, (*x[:2], *op.ints))]

    def element(self, v, output, index):
        n, c, i, j = unflat(v.out().shape, index)
        return average(v, (n, c), *adaptive_window(v.shape(0), v.out().shape, i, j))

    def gradient(self, g):
        g.emit(0, "adaptive_avgpool_grad", [g.outputs[0]], g.shape(0)[2:])


@register
class AdaptiveAvgPoolGrad(Rule):
    kind = "adaptive_avgpool_grad"

    def infer(self, program, op, given):
        arity(op, 1, 1, 2, 0)
        dy = image(op, given[0])
        expect(max(dy[2:]) <= 32768 and all(1 <= d <= 32768 for d in op.ints), op, "extents from 1 to 32768")
        return [grid_value(program, (*dy[:2], *op.ints))]

    def element(self, v, output, index):
        return spread(v, index, lambda i, j: adaptive_window(v.out().shape, v.shape(0), i, j))


def first_maximum(v, shape, i, n, c, rows, columns):
    """Flat index in input i of the window's first maximum."""
    places = window_words(shape, n, c, rows, columns)
    most = largest([v.f(i, p) for p in places])
    return next(p for p in places if v.f(i, p) == most or (most != most and v.f(i, p) != v.f(i, p)))


@register
class MaxPool(Rule):
    kind = "maxpool"
    infer = staticmethod(pool_shape)

    def element(self, v, output, index):
        n, c, i, j = unflat(v.out().shape, index)
        return v.round(v.f(0, first_maximum(v, v.shape(0), 0, n, c, *window(v.ints, v.shape(0), i, j))))

    def gradient(self, g):
        g.emit(0, "maxpool_grad", [g.outputs[0], g.op.inputs[0]], g.op.ints)


@register
class MaxPoolGrad(Rule):
    kind = "maxpool_grad"

    def infer(self, program, op, given):
        arity(op, 2, 2, 3, 0)
        pool_made(op, given[1].shape, given[0].shape)
        return [grid_value(program, given[1].shape)]

    def element(self, v, output, index):
        dy, x = v.shape(0), v.shape(1)
        n, c, y, z = unflat(x, index)
        terms = []
        for i in range(dy[2]):
            for j in range(dy[3]):
                rows, columns = window(v.ints, x, i, j)
                if y in rows and z in columns and first_maximum(v, x, 1, n, c, rows, columns) == index:
                    terms.append(v.f(0, plane(dy, n, c) + i * dy[3] + j))
        return v.round(rsum(terms))
