"""Ops of models that read text: tokens, layer normalisation, attention, dropout, clipped gradients, Adam (spec/ops.md)."""
from . import functions
from .draws import DROPOUT, Stream, order
from .leaves import I32
from .numbers import NAN, Fraction, divide, f32, rne32, round64, round_to, square_root
from .ops import Rule, arity, expect, flat, grid_value, register, state_value, unflat
from .ops_product import Product
from .ops_sum import LongSum, largest
from .products import TERMS_MAX
from .sums import block_sum, blocks_of, join, rsum, strided


MILLIONTH = round64(Fraction(1, 10 ** 6))


def matrix(op, value):
    expect(len(value.shape) == 2, op, "a matrix")
    return value.shape


# ---- tokens ----

@register
class LoadTokens(Rule):
    kind = "load_tokens"
    suffixes = ("", ".labels")

    def infer(self, program, op, given):
        arity(op, 0, 0, 7, 0)
        samples, batch, seed, _, length, first, rows = op.ints
        expect(1 <= batch <= samples <= 1 << 40 and 1 <= length <= 1 << 20 and 0 <= seed < 1 << 32, op,
               "a batch no larger than the data set, a seed of 32 bits, 1 to 2^20 tokens")
        expect(first >= 0 and rows >= 1 and first + rows <= batch, op, "rows of the batch")
        return [(I32, 32, (rows, length))] * 2

    def element(self, v, output, index):
        samples, batch, seed, shuffle, length, first, _ = v.ints
        row, t = divmod(index, length)
        epoch, place = divmod(v.step - 1, samples // batch)
        sequence = place * batch + first + row
        if shuffle:
            sequence = order(seed, epoch, sequence, samples)
        return v.samples.token(sequence * length + t + output)


@register
class Embedding(Rule):
    kind = "embedding"
    labels = (1,)

    def infer(self, program, op, given):
        arity(op, 2, 2, 0, 0)
        return [grid_value(program, (given[1].count, matrix(op, given[0])[1]))]

    def element(self, v, output, index):
        (rows, columns), (n, c) = v.shape(0), unflat(v.out().shape, index)
        token = v.word(1, n)
        return v.round(v.f(0, token * columns + c)) if token < rows else NAN

    def gradient(self, g):
        g.emit(0, "embedding_grad", [g.outputs[0], g.op.inputs[1]], [g.shape(0)[0]])


@register
class EmbeddingGrad(Rule):
    kind = "embedding_grad"
    labels = (1,)

    def infer(self, program, op, given):
        arity(op, 2, 2, 1, 0)
        rows, columns = matrix(op, given[0])
        expect(given[1].count == rows and 1 <= op.ints[0] < 1 << 31, op, "a token per row, a table of 1 to 2^31 - 1 rows")
        return [grid_value(program, (op.ints[0], columns))]

    def element(self, v, output, index):
        row, c = unflat(v.out().shape, index)
        rows, columns = v.shape(0)
        return v.round(strided([v.f(0, n * columns + c) for n in range(rows) if v.word(1, n) == row]))


@register
class PositionAdd(Rule):
    kind = "position_add"

    def infer(self, program, op, given):
        arity(op, 2, 2, 1, 0)
        x, table, length = matrix(op, given[0]), matrix(op, given[1]), op.ints[0]
        expect(x[1] == table[1] and 1 <= length <= table[0] and x[0] % length == 0, op,
               "whole sequences, no longer than the table")
        return [grid_value(program, x)]

    def element(self, v, output, index):
        n, c = unflat(v.shape(0), index)
        return v.round(v.f(0, index) + v.f(1, flat(v.shape(1), (n % v.ints[0], c))))

    def gradient(self, g):
        g.inputs[0] = g.outputs[0]
        g.emit(1, "position_grad", [g.outputs[0]], [g.op.ints[0], g.shape(1)[0]])


@register
class PositionGrad(Rule):
    kind = "position_grad"

    def infer(self, program, op, given):
        arity(op, 1, 1, 2, 0)
        (rows, columns), (length, positions) = matrix(op, given[0]), op.ints
        expect(1 <= length <= positions and rows % length == 0, op, "whole sequences, no longer than the table")
        return [grid_value(program, (positions, columns))]

    def element(self, v, output, index):
        t, c = unflat(v.out().shape, index)
        rows, columns = v.shape(0)
        if t >= v.ints[0]:
            return 0
        return v.round(strided([v.f(0, n * columns + c) for n in range(t, rows, v.ints[0])]))


# ---- columns and factors ----

@register
class SplitColumns(Rule):
    kind = "split_columns"
    suffixes = ("", ".second", ".third", ".fourth")

    def infer(self, program, op, given):
        arity(op, 1, 1, 1, 0)
        (rows, columns), (parts,) = matrix(op, given[0]), op.ints
        expect(2 <= parts <= 4 and columns % parts == 0, op, "columns that fall into 2 to 4 equal parts")
        return [grid_value(program, (rows, columns // parts))] * parts

    def element(self, v, output, index):
        n, c = unflat(v.out().shape, index)
        return v.round(v.f(0, flat(v.shape(0), (n, output * v.out().shape[1] + c))), output)

    def gradient(self, g):
        expect(all(o is not None for o in g.outputs), g.op, "a gradient of every part")
        g.emit(0, "join_columns", list(g.outputs))


@register
class JoinColumns(Rule):
    kind = "join_columns"

    def infer(self, program, op, given):
        arity(op, 2, 4, 0, 0)
        rows, columns = matrix(op, given[0])
        expect(all(value.shape == (rows, columns) for value in given), op, "matrices of one shape")
        return [grid_value(program, (rows, columns * len(given)))]

    def element(self, v, output, index):
        n, place = unflat(v.out().shape, index)
        part, c = divmod(place, v.shape(0)[1])
        return v.round(v.f(part, flat(v.shape(0), (n, c))))


@register
class Scale(Rule):
    kind = "scale"

    def infer(self, program, op, given):
        arity(op, 1, 1, 0, 1)
        expect(op.nums[0] - op.nums[0] == 0, op, "a finite factor")
        return [grid_value(program, given[0].shape)]

    def element(self, v, output, index):
        return v.round(v.f(0, index) * v.nums[0])

    def gradient(self, g):
        g.emit(0, "scale", [g.outputs[0]], g.op.ints, g.op.nums)


@register
class ScaleBy(Rule):
    kind = "scale_by"

    def infer(self, program, op, given):
        arity(op, 2, 2, 0, 0)
        expect(given[1].count == 1, op, "a factor of one element")
        return [grid_value(program, given[0].shape)]

    def element(self, v, output, index):
        return v.round(v.f(0, index) * v.f(1, 0))


@register
class Dropout(Rule):
    kind = "dropout"

    def infer(self, program, op, given):
        arity(op, 1, 1, 2, 1)
        seed, site = op.ints
        expect(0 <= seed < 1 << 32 and 0 <= site < 1 << 20 and 0 < op.nums[0] < 1, op,
               "a seed of 32 bits, a site below 2^20, a share between 0 and 1")
        return [grid_value(program, given[0].shape)]

    def element(self, v, output, index):
        (seed, site), keep = v.ints, 1.0 - v.nums[0]
        number = Stream(seed, DROPOUT, v.step).u32((site << 40) + index)
        return v.round(v.f(0, index) * (1.0 / keep)) if number < int(keep * float(1 << 32)) else 0

    def gradient(self, g):
        g.emit(0, "dropout", [g.outputs[0]], g.op.ints, g.op.nums)


# ---- layer normalisation ----

def rows_fit(op, given, matrices, per_column, per_row):
    shape = matrix(op, given[0])
    expect(all(given[i].shape == shape for i in matrices) and all(given[i].shape == shape[1:] for i in per_column) and
           all(given[i].shape == shape[:1] for i in per_row), op, "matrices of one shape, numbers per column and per row")
    return shape


def row_places(shape, row):
    return range(row * shape[1], (row + 1) * shape[1])


@register
class RowStats(Rule):
    kind = "row_stats"
    suffixes = (".mean", ".var")

    def infer(self, program, op, given):
        arity(op, 1, 1, 0, 0)
        return [grid_value(program, matrix(op, given[0])[:1])] * 2

    def element(self, v, output, row):
        x, n = [v.f(0, i) for i in row_places(v.shape(0), row)], float(v.shape(0)[1])
        mean = v.round(rsum(x) / n)
        if output == 0:
            return mean
        centred = [rne32(value - f32(mean)) for value in x]
        return v.round(rsum([c * c for c in centred]) / n, 1)


@register
class LayerNorm(Rule):
    kind = "layer_norm"
    suffixes = ("", ".normal")

    def infer(self, program, op, given):
        arity(op, 5, 5, 0, 0)
        return [grid_value(program, rows_fit(op, given, [], [1, 2], [3, 4]))] * 2

    def element(self, v, output, index):
        n, c = unflat(v.shape(0), index)
        normal = v.round((v.f(0, index) - v.f(3, n)) * v.f(4, n), 1)
        return normal if output == 1 else v.round(f32(normal) * v.f(1, c) + v.f(2, c))

    def gradient(self, g):
        d, normal, (_, gamma, _, _, r) = g.outputs[0], g.op.outputs[1], g.op.inputs
        expect(d is not None and g.outputs[1] is None and self._own_statistics(g), g.op, "the statistics of its own input")
        g.emit(1, "channel_dot", [d, normal])
        g.emit(2, "channel_sum", [d])
        if g.wanted[0]:
            sums = g.program.append("layer_norm_sums", g.name(4), [d, normal, gamma])
            g.emit(0, "layer_norm_dinput", [d, normal, gamma, r, sums, sums + 1])

    def _own_statistics(self, g):
        mean, r = (g.program.values[g.op.inputs[i]] for i in (3, 4))
        if mean.op < 0 or r.op < 0:
            return False
        stats, root = g.program.ops[mean.op], g.program.ops[r.op]
        return (stats.kind == "row_stats" and root.kind == "rsqrt_eps" and stats.inputs[0] == g.op.inputs[0] and
                stats.outputs[0] == g.op.inputs[3] and root.inputs[0] == stats.outputs[1])


@register
class LayerNormSums(Rule):
    kind = "layer_norm_sums"
    suffixes = (".even", ".slope")

    def infer(self, program, op, given):
        arity(op, 3, 3, 0, 0)
        return [grid_value(program, rows_fit(op, given, [1], [2], [])[:1])] * 2

    def element(self, v, output, row):
        places = row_places(v.shape(0), row)
        scaled = [v.f(0, i) * v.f(2, c) for c, i in enumerate(places)]
        if output == 0:
            return v.round(rsum(scaled))
        return v.round(rsum([s * v.f(1, i) for s, i in zip(scaled, places)]), 1)


@register
class LayerNormInput(Rule):
    kind = "layer_norm_dinput"

    def infer(self, program, op, given):
        arity(op, 6, 6, 0, 0)
        return [grid_value(program, rows_fit(op, given, [1], [2], [3, 4, 5]))]

    def element(self, v, output, index):
        n, c = unflat(v.shape(0), index)
        width = float(v.shape(0)[1])
        even = v.f(0, index) * v.f(2, c) - v.f(4, n) / width
        return v.round(v.f(3, n) * (even - v.f(1, index) * (v.f(5, n) / width)))


# ---- attention: matrices (B·T, C) of B sequences, H heads side by side in the columns; squares (B, H, T, T) ----

def heads_of(op, shape, batch, heads):
    """(B, H, T, D)."""
    expect(batch >= 1 and heads >= 1 and shape[0] % batch == 0 and shape[1] % heads == 0, op, "whole sequences and heads")
    sizes = batch, heads, shape[0] // batch, shape[1] // heads
    expect(max(sizes[2:]) < TERMS_MAX, op, "fewer than 2^21 terms")
    return sizes


def squares(op, value):
    expect(len(value.shape) == 4 and value.shape[2] == value.shape[3], op, "squares (B,H,T,T)")
    return value.shape


def place_of(shape, sizes, b, h, t, d):
    """Of element d of head h at position t of sequence b, in a matrix."""
    return flat(shape, (b * sizes[2] + t, h * sizes[3] + d))


@register
class AttentionScores(Product):
    kind = "attention_scores"

    def infer(self, program, op, given):
        arity(op, 2, 2, 2, 0)
        shape = matrix(op, given[0])
        expect(given[1].shape == shape, op, "two matrices of one shape")
        batch, heads, length, _ = heads_of(op, shape, *op.ints)
        return [grid_value(program, (batch, heads, length, length))]

    def terms(self, v, index):
        shape, (b, h, t, s) = v.shape(0), unflat(v.out().shape, index)
        sizes = (*v.out().shape[:3], shape[1] // v.out().shape[1])
        if s > t:
            return [None] * sizes[3], None
        return [(v.word(0, place_of(shape, sizes, b, h, t, d)), v.word(1, place_of(shape, sizes, b, h, s, d)))
                for d in range(sizes[3])], None

    def gradient(self, g):
        g.emit(0, "attention_mix", [g.outputs[0], g.op.inputs[1]], [0])
        g.emit(1, "attention_mix", [g.outputs[0], g.op.inputs[0]], [1])


@register
class AttentionMix(Product):
    kind = "attention_mix"

    def infer(self, program, op, given):
        arity(op, 2, 2, 1, 0)
        batch, heads, length, _ = squares(op, given[0])
        expect(op.ints[0] in (0, 1), op, "a transpose attribute of 0 or 1")
        shape = matrix(op, given[1])
        expect(heads_of(op, shape, batch, heads)[2] == length, op, "sequences of the squares' length")
        return [grid_value(program, shape)]

    def terms(self, v, index):
        shape, square = v.shape(1), v.shape(0)
        sizes = (*square[:3], shape[1] // square[1])
        (row, column), length = unflat(shape, index), square[2]
        (b, t), (h, d) = divmod(row, length), divmod(column, sizes[3])
        terms = []
        for s in range(length):
            p = (b, h, s, t) if v.ints[0] else (b, h, t, s)
            terms.append((v.word(0, flat(square, p)), v.word(1, place_of(shape, sizes, b, h, s, d))) if p[3] <= p[2] else None)
        return terms, None

    def gradient(self, g):
        expect(not g.op.ints[0], g.op, "no gradient of a gradient")
        g.emit(0, "attention_scores", [g.outputs[0], g.op.inputs[1]], g.shape(0)[:2])
        g.emit(1, "attention_mix", [g.op.inputs[0], g.outputs[0]], [1])


@register
class CausalSoftmax(Rule):
    kind = "causal_softmax"
    suffixes = ("", ".max", ".sum")

    def infer(self, program, op, given):
        arity(op, 1, 1, 0, 0)
        shape = squares(op, given[0])
        row = grid_value(program, shape[:3])
        return [grid_value(program, shape), row, row]

    def element(self, v, output, index):
        length = v.shape(0)[3]
        row, s = divmod(index, length) if output == 0 else (index, 0)
        t = row % length
        if s > t:
            return 0
        z = [v.f(0, row * length + i) for i in range(t + 1)]
        m = largest(z)
        if output == 1:
            return v.round(m, 1)
        e = [f32(functions.exp(round_to(value - m, 32))) for value in z]
        total = v.round(rsum(e), 2)
        return total if output == 2 else v.round(divide(e[s], f32(total)))

    def gradient(self, g):
        p, (batch, heads) = g.op.outputs[0], g.shape(0)[:2]
        mix = self._only_reader(g, p)
        if mix and mix.kind == "dropout":
            mix = self._only_reader(g, mix.outputs[0])
        good = mix and mix.kind == "attention_mix" and not mix.ints[0] and g.outputs[0] is not None
        expect(good and g.outputs[1] is g.outputs[2] is None and mix.outputs[0] in g.grads, g.op, "p read by one attention_mix")
        if g.wanted[0]:
            d_mixed = g.grads[mix.outputs[0]]
            dot = g.program.append("head_dot", g.program.values[d_mixed].name[:80] + ".dot", [d_mixed, mix.outputs[0]],
                                   [batch, heads])
            g.emit(0, "causal_softmax_grad", [g.outputs[0], p, dot])

    @staticmethod
    def _only_reader(g, value):
        readers = [op for op in g.forward for i in op.inputs if i == value]
        return readers[0] if len(readers) == 1 else None


@register
class HeadDot(Rule):
    kind = "head_dot"

    def infer(self, program, op, given):
        arity(op, 2, 2, 2, 0)
        shape = matrix(op, given[0])
        expect(given[1].shape == shape, op, "two matrices of one shape")
        return [grid_value(program, heads_of(op, shape, *op.ints)[:3])]

    def element(self, v, output, index):
        (b, h, t), shape = unflat(v.out().shape, index), v.shape(0)
        sizes = (*v.out().shape, shape[1] // v.out().shape[1])
        places = [place_of(shape, sizes, b, h, t, d) for d in range(sizes[3])]
        return v.round(rsum([v.f(0, i) * v.f(1, i) for i in places]))


@register
class CausalSoftmaxGrad(Rule):
    kind = "causal_softmax_grad"

    def infer(self, program, op, given):
        arity(op, 3, 3, 0, 0)
        shape = squares(op, given[0])
        expect(given[1].shape == shape and given[2].shape == shape[:3], op, "squares of one shape, one number per row")
        return [grid_value(program, shape)]

    def element(self, v, output, index):
        row, s = divmod(index, v.shape(0)[3])
        if s > row % v.shape(0)[3]:
            return 0
        return v.round(v.f(1, index) * (v.f(0, index) - v.f(2, row)))


# ---- clipping and Adam ----

@register
class SquareSum(LongSum):
    kind = "square_sum"

    def infer(self, program, op, given):
        arity(op, 1, 1, 0, 0)
        return [state_value(program, (1,))]

    def blocks(self, v, output):
        return len(blocks_of(v.value(0).count))

    def block(self, v, output, index, number, sums):
        run = range(256 * number, min(256 * number + 256, v.value(0).count))
        return block_sum([v.f(0, i) * v.f(0, i) for i in run])

    def whole(self, v, output, index, sums):
        return v.round(join(sums))


@register
class ClipScale(Rule):
    kind = "clip_scale"

    def infer(self, program, op, given):
        expect(given and not op.ints and len(op.nums) == 1 and op.nums[0] > 0, op, "parts, and a positive norm")
        expect(all(value.count == 1 for value in given), op, "parts of one element")
        return [state_value(program, (1,))]

    def element(self, v, output, index):
        norm = square_root(rsum([v.f(i, 0) for i in range(len(v.op.inputs))]))
        scale = v.nums[0] / (norm + MILLIONTH)
        return v.round(1.0 if scale > 1.0 else scale)


@register
class Adam(Rule):
    kind = "adam"
    suffixes = (".next", ".moment1.next", ".moment2.next")

    def infer(self, program, op, given):
        arity(op, 4, 4, 5, 6)
        _, schedule, every, warmup, steps = op.ints
        _, beta1, beta2, epsilon, _, _ = op.nums
        expect(all(value.shape == given[0].shape for value in given), op, "tensors of one shape")
        expect(0 <= beta1 < 1 and 0 <= beta2 < 1 and epsilon > 0, op, "betas from 0 to below 1, and a positive epsilon")
        expect(0 <= schedule <= 3 and every >= 1 and 0 <= warmup < steps, op, "a schedule whose warm-up is shorter than the run")
        return [state_value(program, given[0].shape)] * 3

    def element(self, v, output, i):
        decoupled, schedule, every, warmup, steps = v.ints
        lr, beta1, beta2, epsilon, decay, gamma = v.nums
        bits, w, g = v.out().bits, v.f(0, i), v.f(1, i)
        if not decoupled:
            g = f32(round_to(g + decay * w, bits))
        m = round_to(beta1 * v.f(2, i) + (1.0 - beta1) * g, bits)
        s = round_to(beta2 * v.f(3, i) + (1.0 - beta2) * (g * g), bits)
        if output:
            return m if output == 1 else s
        root = square_root(f32(s) / (1.0 - functions.power(beta2, v.step)))
        u = divide(f32(m) / (1.0 - functions.power(beta1, v.step)), root + epsilon)
        rate = functions.learning_rate(schedule, lr, gamma, every, warmup, steps, v.step)
        return v.round(w - rate * (u + decay * w if decoupled else u))
