"""Products: matmul and the three directions of a convolution."""
from .ops import Rule, arity, expect, flat, grid_value, register, unflat
from .products import TERMS_MAX


def extent(size, kernel, stride, pad):
    return (size + 2 * pad - kernel) // stride + 1


def fits(size, kernel, stride, pad, out):
    """Whether the forward convolution would make `out` places of `size`."""
    return (1 <= size < 1 << 31 and 1 <= kernel < 1 << 31 and 1 <= stride <= 1024 and 0 <= pad < kernel and
            size + 2 * pad >= kernel and extent(size, kernel, stride, pad) == out)


class Product(Rule):
    product = True


@register
class Matmul(Product):
    kind = "matmul"

    def infer(self, program, op, given):
        arity(op, 2, 3, 2, 0)
        (a, b), (ta, tb) = (given[0].shape, given[1].shape), op.ints
        expect(len(a) == len(b) == 2 and ta in (0, 1) and tb in (0, 1), op, "two matrices and transposes of 0 or 1")
        rows, k = (a[1], a[0]) if ta else a
        k2, columns = (b[1], b[0]) if tb else b
        expect(k == k2 and k + (len(given) == 3) < TERMS_MAX, op, "inner sizes that agree, fewer than 2^21 terms")
        expect(len(given) == 2 or given[2].shape == (columns,), op, "one bias per column")
        return [grid_value(program, (rows, columns))]

    def terms(self, v, index):
        i, j = unflat(v.out().shape, index)
        (a, b), (ta, tb) = (v.shape(0), v.shape(1)), v.ints
        terms = [(v.word(0, k * a[1] + i if ta else i * a[1] + k), v.word(1, j * b[1] + k if tb else k * b[1] + j))
                 for k in range(a[0] if ta else a[1])]
        return terms, v.word(2, j) if len(v.op.inputs) == 3 else None

    def gradient(self, g):
        (a, b), d, (ta, tb) = g.op.inputs[:2], g.outputs[0], g.op.ints
        g.emit(0, "matmul", [b, d] if ta else [d, b], [tb, 1] if ta else [0, 1 - tb])
        g.emit(1, "matmul", [d, a] if tb else [a, d], [1, ta] if tb else [1 - ta, 0])
        if len(g.op.inputs) == 3:
            g.emit(2, "channel_sum", [d])


@register
class Conv2d(Product):
    kind = "conv2d"

    def infer(self, program, op, given):
        arity(op, 2, 3, 2, 0)
        (x, w), (stride, pad) = (given[0].shape, given[1].shape), op.ints
        expect(len(x) == len(w) == 4 and x[1] == w[1], op, "x (N,C,H,W) and w (O,C,KH,KW)")
        expect(1 <= stride <= 1024 and 0 <= pad < min(w[2:]), op, "1 ≤ stride ≤ 1024 and 0 ≤ pad < kernel")
        expect(x[2] + 2 * pad >= w[2] and x[3] + 2 * pad >= w[3], op, "an image no smaller than the kernel")
        expect(w[1] * w[2] * w[3] + (len(given) == 3) < TERMS_MAX, op, "fewer than 2^21 terms")
        expect(len(given) == 2 or given[2].shape == (w[0],), op, "one bias per output channel")
        return [grid_value(program, (x[0], w[0], extent(x[2], w[2], stride, pad), extent(x[3], w[3], stride, pad)))]

    def terms(self, v, index):
        n, o, i, j = unflat(v.out().shape, index)
        x, w, (stride, pad) = v.shape(0), v.shape(1), v.ints
        terms = []
        for c in range(w[1]):
            for ky in range(w[2]):
                for kx in range(w[3]):
                    y, z = i * stride - pad + ky, j * stride - pad + kx
                    inside = 0 <= y < x[2] and 0 <= z < x[3]
                    terms.append((v.word(1, flat(w, (o, c, ky, kx))), v.word(0, flat(x, (n, c, y, z)))) if inside else None)
        return terms, v.word(2, o) if len(v.op.inputs) == 3 else None

    def gradient(self, g):
        d, (x, w) = g.outputs[0], g.op.inputs[:2]
        g.emit(0, "conv2d_dinput", [d, w], [*g.op.ints, *g.shape(0)[2:]])
        g.emit(1, "conv2d_dweight", [d, x], [*g.op.ints, *g.shape(1)[2:]])
        if len(g.op.inputs) == 3:
            g.emit(2, "channel_sum", [d])


@register
class Conv2dInput(Product):
    kind = "conv2d_dinput"

    def infer(self, program, op, given):
        arity(op, 2, 2, 4, 0)
        (dy, w), (stride, pad, height, width) = (given[0].shape, given[1].shape), op.ints
        expect(len(dy) == len(w) == 4 and dy[1] == w[0], op, "dy (N,O,OH,OW) and w (O,C,KH,KW)")
        expect(fits(height, w[2], stride, pad, dy[2]) and fits(width, w[3], stride, pad, dy[3]), op,
               "the extent of the forward convolution's output")
        expect(w[0] * w[2] * w[3] < TERMS_MAX, op, "fewer than 2^21 terms")
        return [grid_value(program, (dy[0], w[1], height, width))]

    def terms(self, v, index):
        n, c, y, x = unflat(v.out().shape, index)
        dy, w, (stride, pad, _, _) = v.shape(0), v.shape(1), v.ints
        terms = []
        for o in range(w[0]):
            for ky in range(w[2]):
                for kx in range(w[3]):
                    i, a = divmod(y + pad - ky, stride)
                    j, b = divmod(x + pad - kx, stride)
                    term = not a and not b and 0 <= i < dy[2] and 0 <= j < dy[3]
                    terms.append((v.word(1, flat(w, (o, c, ky, kx))), v.word(0, flat(dy, (n, o, i, j)))) if term else None)
        return terms, None


@register
class Conv2dWeight(Product):
    kind = "conv2d_dweight"

    def infer(self, program, op, given):
        arity(op, 2, 2, 4, 0)
        (dy, x), (stride, pad, kh, kw) = (given[0].shape, given[1].shape), op.ints
        expect(len(dy) == len(x) == 4 and dy[0] == x[0], op, "dy (N,O,OH,OW) and x (N,C,H,W)")
        expect(fits(x[2], kh, stride, pad, dy[2]) and fits(x[3], kw, stride, pad, dy[3]), op,
               "the extent of the forward convolution's output")
        expect(dy[0] * dy[2] * dy[3] < TERMS_MAX, op, "fewer than 2^21 terms")
        return [grid_value(program, (dy[1], x[1], kh, kw))]

    def terms(self, v, index):
        o, c, ky, kx = unflat(v.out().shape, index)
        dy, x, (stride, pad, _, _) = v.shape(0), v.shape(1), v.ints
        terms = []
        for n in range(dy[0]):
            for i in range(dy[2]):
                for j in range(dy[3]):
                    y, z = i * stride - pad + ky, j * stride - pad + kx
                    inside = 0 <= y < x[2] and 0 <= z < x[3]
                    terms.append((v.word(0, flat(dy, (n, o, i, j))), v.word(1, flat(x, (n, c, y, z)))) if inside else None)
        return terms, None
