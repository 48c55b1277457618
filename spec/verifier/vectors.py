"""Reading and checking test vectors; the format is described beside them, in tests/vectors/README.md."""
import pathlib

from . import draws, entries, functions, jobs, leaves, merkle, models, numbers, products, sums
from .numbers import Refused, bits64, f32, f64
from .ops import View, element
from .program import Program

TYPES = {"f32": leaves.F32, "i32": leaves.I32, "root": leaves.ROOT}


# ---- words ----

def shape_of(text):
    return tuple(map(int, text.split("x")))


def bytes_of(text):
    return b"" if text == "-" else bytes.fromhex(text)


def gen_word(w, low, span, bits=32):
    field = low + (w >> 23 & 255) % span
    return w & numbers.SIGN | field << 23 | w & 0x7FFFFF & -(1 << 32 - bits)


def test_stream(seed, step=0):
    return draws.Stream(seed, draws.TEST, step)


def source(words, count, bits):
    kind, *rest = words
    if kind == "words":
        if len(rest) != count:
            raise ValueError(f"{len(rest)} words for {count} elements")
        return [int(w, 16) for w in rest]
    seed, *rest = map(int, rest)
    stream = test_stream(seed)
    if kind == "gen":
        return [gen_word(stream.u32(i), *rest, bits) for i in range(count)]
    if kind == "int":
        return [numbers.round_to(float(stream.u32(i) % (2 * rest[0] + 1) - rest[0]), 32) for i in range(count)]
    if kind == "below":
        return [stream.below(i, rest[0]) for i in range(count)]
    raise ValueError(f"source {kind}")


class Words:
    """Words of an input, made when the first is asked for: shape rules need none."""

    def __init__(self, words, count, bits):
        self.given, self.count, self.made = (words, count, bits), count, None

    def __len__(self):
        return self.count

    def list(self):
        if self.made is None:
            self.made = source(*self.given)
        return self.made

    def __getitem__(self, index):
        return self.list()[index]

    def __setitem__(self, index, word):
        self.list()[index] = word


class Samples:
    def __init__(self, seed, size):
        self.pixels, self.labels, self.size = test_stream(seed, 1), test_stream(seed, 2), size

    def bytes(self, index):
        return bytes(self.pixels.u32(index * self.size + j) & 255 for j in range(self.size))

    def label(self, index):
        return self.labels.below(index, 10)


def bound_of(words):
    if words[0] == "depth":
        return products.Bound(depth=int(words[1]))
    return products.Bound(fp32=True) if words[0] == "fp32" else products.Bound(tau=f64(int(words[1], 16)))


# ---- cases of elements ----

class Case:
    """A case as it is read; `build` appends the op and may raise Refused."""

    def __init__(self, name):
        self.name, self.bits, self.mode, self.bound, self.step = name, (32, 32), "exact", products.Bound(), 1
        self.inputs, self.samples, self.imports = [], None, None
        self.op, self.ints, self.nums, self.checks, self.view, self.outputs = None, [], [], [], None, 0

    def set(self, key, words):
        match key:
            case "grid": self.bits = tuple(map(int, words))
            case "mode": self.mode = words[0]
            case "bound": self.bound = bound_of(words)
            case "step": self.step = int(words[0])
            case "input": self.add_input(words)
            case "samples": self.samples = int(words[0])
            case "imports": self.imports = int(words[0])
            case "op": self.op = words[0], int(words[1])
            case "ints": self.ints = list(map(int, words))
            case "nums": self.nums = [f64(int(w, 16)) for w in words]
            case _: return False
        return True

    def add_input(self, words):
        shape = shape_of(words[1])
        count = 1
        for d in shape:
            count *= d
        self.inputs.append((TYPES[words[0]], shape, Words(words[2:], count, self.bits[0])))

    def build(self):
        if self.view:
            return self.view
        program = Program(*self.bits)
        kind, count = self.op
        for i, (dtype, shape, _) in enumerate(self.inputs):
            program.add_given(f"x{i}", dtype, shape)
        program.append(kind, "y", list(range(count)), self.ints, self.nums)
        samples = Samples(self.samples, self.ints[4] * self.ints[5] * self.ints[6]) if self.samples is not None else None
        self.view = View(program, count, [words for _, _, words in self.inputs], self.step, samples, self.imported)
        return self.view

    def imported(self, tensor, index):
        return gen_word(test_stream(self.imports, 3 + tensor).u32(index), 120, 8, self.bits[1])

    def element(self, output, index, bit):
        return element(self.build(), output, index, self.mode, self.bound, bit)

    def state(self, key, words):
        """A statement; raises ValueError where it does not hold."""
        if key == "refuse":
            return self.expect_refusal()
        view = self.build()
        if key == "output":
            v, self.outputs = view.out(self.outputs), self.outputs + 1
            return agree(f"{[t for t in TYPES if TYPES[t] == v.dtype][0]} {v.bits} {'x'.join(map(str, v.shape))}",
                         " ".join(words))
        if key == "record":
            return agree(merkle.leaf_hash(view.program.record(len(self.inputs))).hex(), words[0])
        if key == "twin":
            return self.expect_twin(*map(int, words))
        if key != "check":
            raise ValueError(f"unknown statement {key}")
        output, index, entry, meaning, word = words
        check = int(output), int(index), None if entry == "-" else int(entry)
        self.checks.append((check, (meaning, int(word, 16))))
        found = self.element(*check)
        agree(f"{found[0]} {found[1]:08x}", f"{meaning} {word}")

    def expect_refusal(self):
        try:
            self.build()
        except Refused:
            return
        raise ValueError("expected a refusal")

    def expect_twin(self, i, index, bit):
        words = self.inputs[i][2]
        words[index] ^= 1 << bit
        same = all(self.element(*check) == expected for check, expected in self.checks)
        words[index] ^= 1 << bit
        if same:
            raise ValueError("a flipped bit went unseen")


def agree(found, expected):
    if found != expected:
        raise ValueError(f"found {found}, expected {expected}")


# ---- statements about numbers and commitments: WORDS… = RESULT ----

def word_text(w):
    return f"{w:08x}"


def f64_text(x):
    return f"{bits64(x):016x}"


def gen_values(words, count, first=0):
    seed, low, span = map(int, words[:3])
    stream = test_stream(seed)
    return [gen_word(stream.u32(first + i), low, span) for i in range(count)]


def _rsum(a):
    lengths, runs, at = list(map(int, a[3:])), [], 0
    for n in lengths:
        runs.append([f32(w) for w in gen_values(a, n, at)])
        at += n
    return f64_text(sums.rsum(*runs))


def _within(a):
    n, bits, c = int(a[3]), int(a[4]), f64(int(a[-1], 16))
    v = gen_values(a, 2 * n)
    both = products.sums(list(zip(v[::2], v[1::2])))
    return str(int(products.within(both, c, n, bits, bound_of(a[5:-1]))))


def _stream(a):
    return draws.Stream(*map(int, a[:3])), int(a[3])


def _frame(a):
    found = entries.decode(bytes_of(a[2]), int(a[1]), a[0])
    return " ".join(f"{i}:{b}" for i, b in found)


NUMBERS = {
    "round": lambda a: word_text(numbers.round_to(f64(int(a[1], 16)), int(a[0]))),
    "length": lambda a: f64_text(float(numbers.two_to(numbers.step_exponent(numbers.Fraction(f64(int(a[1], 16))),
                                                                            int(a[0]))))),
    "log64": lambda a: f64_text(functions.log64(f32(int(a[0], 16)))),
    "cospi": lambda a: f64_text(functions.cospi(f64(int(a[0], 16)))),
    "sqrt": lambda a: f64_text(numbers.square_root(f64(int(a[0], 16)))),
    "fma": lambda a: f64_text(numbers.fused(*(f64(int(w, 16)) for w in a))),
    "fma32": lambda a: word_text(numbers.fused32(*(int(w, 16) for w in a))),
    "rsum": _rsum,
    "strided": lambda a: f64_text(sums.strided([f32(w) for w in gen_values(a, int(a[3]))])),
    "within": _within,
    "philox": lambda a: " ".join(map(word_text, draws.philox([int(w, 16) for w in a[:4]], [int(w, 16) for w in a[4:]]))),
    "u32": lambda a: word_text(_stream(a)[0].u32(int(a[3]))),
    "below": lambda a: str(_stream(a)[0].below(int(a[3]), int(a[4]))),
    "uniform": lambda a: f64_text(_stream(a)[0].uniform(int(a[3]))),
    "normal": lambda a: f64_text(_stream(a)[0].normal(int(a[3]))),
    "order": lambda a: str(draws.order(*map(int, a))),
    "rate": lambda a: f64_text(functions.learning_rate(int(a[0]), f64(int(a[1], 16)), f64(int(a[2], 16)),
                                                       *map(int, a[3:]))),
    "frame": _frame,
}
for _name in ("exp", "log", "rsqrt", "tanh", "sigmoid", "gelu", "gelu_slope"):
    NUMBERS[_name] = lambda a, f=getattr(functions, _name): word_text(f(int(a[0], 16)))


def tensors(a):
    """NAME TYPE SHAPE hash, four words each."""
    return [(a[i], TYPES[a[i + 1]], shape_of(a[i + 2]), bytes.fromhex(a[i + 3])) for i in range(0, len(a), 4)]


def hashes(a):
    return [bytes.fromhex(h) for h in a]


def ok(check):
    def answer(a):
        check(a)
        return "ok"
    return answer


def _multiproof(a):
    count = int(a[2])
    given = {int(a[3 + 2 * i]): bytes.fromhex(a[4 + 2 * i]) for i in range(count)}
    merkle.check_multiproof(bytes.fromhex(a[0]), int(a[1]), given, hashes(a[3 + 2 * count:]))


def _job(a):
    jobs.decode(bytes_of(a[0]))
    return jobs.job_id(bytes_of(a[0])).hex()


COMMITMENTS = {
    "tree": lambda a: merkle.head([bytes_of(b) for b in a]).hex(),
    "tensor": lambda a: leaves.tensor_root(gen_values(a, int(a[3]))).hex(),
    "chunk": lambda a: merkle.leaf_hash(leaves.chunk_leaf(gen_values(a, int(a[3])))).hex(),
    "state": lambda a: leaves.state_root(tensors(a)).hex(),
    "log": lambda a: merkle.leaf_hash(leaves.log_leaf(*map(int, a[:3]), bytes_of(a[3]))).hex(),
    "step": lambda a: merkle.leaf_hash(leaves.step_leaf(int(a[0]), tensors(a[1:]))).hex(),
    "data": lambda a: leaves.data_root(a[0], int(a[1]), shape_of(a[2]),
                                       [(a[i], bytes_of(a[i + 1])) for i in range(3, len(a), 2)]).hex(),
    "digest": lambda a: merkle.tagged(a[0], bytes_of(a[1])).hex(),
    "inclusion": ok(lambda a: merkle.check_inclusion(bytes.fromhex(a[0]), int(a[1]), int(a[2]), bytes.fromhex(a[3]),
                                                     hashes(a[4:]))),
    "consistency": ok(lambda a: merkle.check_consistency(bytes.fromhex(a[0]), int(a[1]), bytes.fromhex(a[2]), int(a[3]),
                                                         hashes(a[4:]))),
    "multiproof": ok(_multiproof),
    "runleaf": ok(lambda a: leaves.read_leaf(bytes_of(a[0]))),
    "job": _job,
    "programs": ok(lambda a: models.check_programs(jobs.decode(bytes_of(a[0])))),
    "head": ok(lambda a: leaves.read_head(bytes_of(a[0]))),
}


def answer(table, words):
    """What the verifier says to a statement's left side."""
    try:
        return table[words[0]](words[1:])
    except Refused:
        return "refuse"


def state(table, words):
    at = words.index("=")
    agree(answer(table, words[:at]), " ".join(words[at + 1:]))


# ---- files ----

def check_file(path, table=None):
    """(statements, complaints) of one file; without a table it is one of cases."""
    case, statements, complaints = None, 0, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split(" ")
        if not line or line[0] == "#":
            continue
        try:
            if table is None and words[0] == "case":
                case = Case(words[1])
            elif table is not None or not case.set(words[0], words[1:]):
                statements += 1
                state(table, words) if table is not None else case.state(words[0], words[1:])
        except (ValueError, KeyError, IndexError, TypeError, Refused) as why:
            complaints.append(f"{path}:{number}: {case.name + ': ' if case else ''}{type(why).__name__}: {why}")
    return statements, complaints


def check_folder(folder):
    folder = pathlib.Path(folder)
    statements, complaints = 0, []
    for part, table in (("elements", None), ("num", NUMBERS), ("commit", COMMITMENTS)):
        for path in sorted((folder / part).glob("*.txt")):
            n, found = check_file(path, table)
            statements, complaints = statements + n, complaints + found
    if not statements:
        complaints.append(f"{folder}: no vectors in it")
    return statements, complaints
