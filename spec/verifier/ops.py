"""The table of ops, and what their definitions share. One class per op: `infer` is the shape rule, `gradient` appends the
ops of the backward pass, `element` (for products `terms`) defines one output element. See spec/ops.md."""
from .leaves import F32
from .numbers import Refused, f32, round_to
from .products import Bound, element as product_element

TABLE = {}


class Rule:
    kind = ""
    suffixes = ("",)
    labels = ()      # inputs that are int32
    product = False
    gradient = None  # nothing flows back


def register(rule):
    TABLE[rule.kind] = rule()
    return rule


def find(kind):
    if kind not in TABLE:
        raise Refused(f"there is no op '{kind}'")
    return TABLE[kind]


def expect(condition, op, what):
    if not condition:
        raise Refused(f"{op.kind}: ints {op.ints}, nums {op.nums}: expected {what}")


def arity(op, least, most, ints, nums):
    expect(least <= len(op.inputs) <= most and len(op.ints) == ints and len(op.nums) == nums, op,
           f"{least} to {most} inputs, {ints} ints, {nums} nums")


def grid_value(program, shape):
    return F32, program.bits, tuple(shape)


def state_value(program, shape):
    return F32, program.state_bits, tuple(shape)


def strides(shape):
    out, step = [], 1
    for d in reversed(shape):
        out.append(step)
        step *= d
    return out[::-1]


def flat(shape, place):
    return sum(i * s for i, s in zip(place, strides(shape)))


def unflat(shape, index):
    place = []
    for s in strides(shape):
        place.append(index // s)
        index %= s
    return tuple(place)


class View:
    """What one element is defined from: record, step, single words of inputs."""

    def __init__(self, program, index, words, step=1, samples=None, imports=None):
        self.program, self.op, self.words = program, program.ops[index], words
        self.step, self.samples, self.imports = step, samples, imports
        self.ints, self.nums = self.op.ints, self.op.nums

    def value(self, i):
        return self.program.values[self.op.inputs[i]]

    def shape(self, i):
        return self.value(i).shape

    def out(self, o=0):
        return self.program.values[self.op.outputs[o]]

    def word(self, i, index):
        return self.words[i][index]

    def f(self, i, index):
        return f32(self.words[i][index])

    def round(self, x, o=0):
        return round_to(x, self.out(o).bits)


def element(view, output, index, mode="exact", bound=Bound(), bit=None):
    """(kind, word) of one element; kind says what the entry means, "value" where there is none."""
    rule = find(view.op.kind)
    if rule.product:
        terms, bias = rule.terms(view, index)
        return product_element(mode, terms, bias, view.out().bits, bound, bit)
    return "value", rule.element(view, output, index)


class Gradient:
    """What a gradient rule sees: gradients of outputs (or None), which inputs want one; `set` takes those of inputs."""

    def __init__(self, program, op, outputs, wanted):
        self.program, self.op, self.outputs, self.wanted, self.inputs = program, op, outputs, wanted, {}

    def shape(self, i):
        return self.program.values[self.op.inputs[i]].shape

    def name(self, i):
        base = "d." + self.program.values[self.op.inputs[i]].name[:80]
        name, n = base, 2
        while self.program.find(name) >= 0:
            name, n = f"{base}#{n}", n + 1
        return name

    def append(self, i, kind, inputs, ints=()):
        self.inputs[i] = self.program.append(kind, self.name(i), inputs, ints)
        return self.inputs[i]

    def emit(self, i, kind, inputs, ints=()):
        if self.wanted[i]:
            self.append(i, kind, inputs, ints)


from . import ops_ends, ops_map, ops_product, ops_sum  # noqa: E402  their rules enter the table
