"""Programs: values, ops, records, digests (spec/ops.md and spec/encodings.md, section 3)."""
from dataclasses import dataclass, field
from math import prod

from . import merkle
from .leaves import F32, I32, ROOT
from .numbers import Refused
from .reader import Reader, f64, string, u8, u32, u64

NAME_MAX = 95
ELEMENTS_MAX = 1 << 40


@dataclass
class Value:
    name: str
    dtype: int
    bits: int
    shape: tuple
    op: int = -1     # −1: a tensor of the state before the step
    output: int = 0  # which output of the op; for the state its place

    @property
    def count(self):
        return prod(self.shape)


@dataclass
class Op:
    kind: str
    ints: list
    nums: list
    inputs: list  # numbers of values
    outputs: list = field(default_factory=list)


class Program:
    def __init__(self, bits=32, state_bits=32):
        for b in (bits, state_bits):
            if not 16 <= b <= 32:
                raise Refused(f"program: a grid of {b} bits, 16 to 32 expected")
        self.bits, self.state_bits, self.values, self.ops, self.states = bits, state_bits, [], [], 0
        self.names = {}

    def _add(self, value):
        if value.name in self.names or not 1 <= len(value.name.encode()) <= NAME_MAX:
            raise Refused(f"program: the name '{value.name}' is used twice, empty or too long")
        if len(value.shape) > 4 or any(d < 1 for d in value.shape) or value.count > ELEMENTS_MAX:
            raise Refused(f"program: '{value.name}' of shape {value.shape}")
        self.names[value.name] = len(self.values)
        self.values.append(value)
        return len(self.values) - 1

    def find(self, name):
        return self.names.get(name, -1)

    def add_state(self, name, shape):
        if self.ops or self.values and self.values[-1].name.encode() >= name.encode():
            raise Refused(f"program: state '{name}' after an op or out of order")
        self.states += 1
        return self._add(Value(name, F32, self.state_bits, tuple(shape), -1, self.states - 1))

    def add_given(self, name, dtype, shape):
        """An op without a meaning that stands for a value given from outside: what vectors read."""
        return self.add_op(Op("given", [], [], []), [(name, dtype, self.bits if dtype == F32 else 32, shape)])

    def add_op(self, op, outputs):
        """Appends an op whose outputs (name, dtype, bits, shape) are known. Returns the number of the first."""
        index = len(self.ops)
        self.ops.append(op)
        op.outputs = [self._add(Value(name, dtype, bits, tuple(shape), index, o))
                      for o, (name, dtype, bits, shape) in enumerate(outputs)]
        return op.outputs[0]

    def append(self, kind, name, inputs, ints=(), nums=()):
        """Appends an op by its shape rule. Returns the number of its first output."""
        from .ops import find
        rule = find(kind)
        given = [self.values[i] for i in inputs]
        for i, value in enumerate(given):
            if value.dtype != (I32 if i in rule.labels else F32):
                raise Refused(f"{kind}: input {i} holds another type of number than the op reads")
        op = Op(kind, list(ints), [float(x) for x in nums], list(inputs))
        outputs = rule.infer(self, op, given)
        if rule.product and prod(outputs[0][2]) >> 32:
            raise Refused(f"{kind}: 2^32 output elements or more")
        return self.add_op(op, [(name + suffix, *output) for suffix, output in zip(rule.suffixes, outputs)])

    # ---- records ----

    def reference(self, value):
        v = self.values[value]
        return v.op + 1, v.output

    def record(self, index):
        op = self.ops[index]
        parts = [b"ls1/op", u32(index), string(op.kind), u32(len(op.ints)), *map(u64, op.ints), u32(len(op.nums)),
                 *map(f64, op.nums), u32(len(op.inputs))]
        for i in op.inputs:
            parts += map(u32, self.reference(i))
        parts.append(u32(len(op.outputs)))
        for o in op.outputs:
            v = self.values[o]
            parts += [string(v.name), u8(v.dtype), u8(v.bits), u8(len(v.shape)), *map(u64, v.shape)]
        return b"".join(parts)

    def digest(self):
        return merkle.head([self.record(i) for i in range(len(self.ops))])


def read_record(data):
    """A record as a dictionary, each field within its bounds."""
    r = Reader(data, "op record")
    r.expect(b"ls1/op")
    record = {"index": r.u32(), "kind": r.string(23)}
    record["ints"] = [r.i64() for _ in range(_at_most(r, 12))]
    record["nums"] = [r.f64() for _ in range(_at_most(r, 12))]
    record["inputs"] = [(r.u32(), r.u32()) for _ in range(_at_most(r, 1 << 16))]
    record["outputs"] = [_read_output(r) for _ in range(_at_most(r, 4))]
    r.end()
    return record


def _at_most(r, most):
    n = r.u32()
    if n > most:
        raise Refused(f"op record: byte {r.at - 4}: a count of {n}, at most {most} expected")
    return n


def _read_output(r):
    name, dtype, bits, rank = r.string(NAME_MAX), r.u8(), r.u8(), r.u8()
    if dtype not in (F32, I32, ROOT) or rank > 4 or not (16 <= bits <= 32 if dtype == F32 else bits == 32):
        raise Refused(f"op record: output '{name}': type {dtype}, {bits} bits, rank {rank}")
    return name, dtype, bits, tuple(r.u64() for _ in range(rank))


def read_program(records, state, bits, state_bits):
    """A program from its records and the state's (name, shape); every shape rule must give what the record says."""
    from .ops import find
    program = Program(bits, state_bits)
    for name, shape in state:
        program.add_state(name, shape)
    for index, data in enumerate(records):
        record = read_record(data)
        if record["index"] != index:
            raise Refused(f"op record: index {record['index']} in place {index}")
        inputs = [_resolve(program, *reference) for reference in record["inputs"]]
        if not record["outputs"]:
            raise Refused(f"op record {index}: no output")
        name = record["outputs"][0][0].removesuffix(find(record["kind"]).suffixes[0])
        program.append(record["kind"], name, inputs, record["ints"], record["nums"])
        if program.record(index) != data:
            raise Refused(f"op record {index} ({record['kind']}): its outputs are not those of the op's shape rule")
    if not program.ops or program.ops[-1].kind != "commit":
        raise Refused("program: it does not end in commit")
    return program


def _resolve(program, source, place):
    if source == 0 and place < program.states:
        return place
    if 1 <= source <= len(program.ops) and place < len(program.ops[source - 1].outputs):
        return program.ops[source - 1].outputs[place]
    raise Refused(f"op record: an input ({source}, {place}) that does not exist")
