"""Turns cases into lines. Draws come from a Philox stream of its own, so that the files never change by themselves."""
from verifier import draws, vectors
from verifier.numbers import bits64, round64, round_exact

TWIN_TRIES = 12
TWIN_WORDS = 600  # cases with larger inputs have no twin: looking for one takes too long


class Draw:
    """Numbers for choosing cases."""

    def __init__(self, seed):
        self.stream, self.used = draws.Stream(seed, draws.TEST, 99), 0

    def u32(self):
        self.used += 1
        return self.stream.u32(self.used - 1)

    def below(self, n):
        return self.u32() * n >> 32

    def u64(self):
        return self.u32() << 32 | self.u32()


def word(x):
    """The FP32 pattern of a number that is one, or of its hexadecimal text, "nan", "inf", "-0"."""
    if isinstance(x, str):
        special = {"nan": 0x7FC00000, "nan2": 0xFFC00001, "inf": 0x7F800000, "-inf": 0xFF800000, "-0": 0x80000000}
        if x in special:
            return special[x]
        x = float.fromhex(x)
    pattern = round_exact(vectors.numbers.Fraction(x), 32)
    assert vectors.f32(pattern) == x, x
    return pattern


def words(*numbers):
    return "words " + " ".join(f"{word(x):08x}" for x in numbers)


def num(x):
    """An FP64 attribute; a fraction or a decimal text is rounded once."""
    if isinstance(x, str):
        x = float.fromhex(x) if "x" in x or x == "nan" else round64(vectors.numbers.Fraction(x))
    return f"{bits64(float(x)):016x}"


class Cases:
    def __init__(self, title):
        self.lines, self.names = [f"# {title}", "# Written by generate.py; the format is in README.md."], set()

    def add(self, name, op, inputs, ints=(), nums=(), checks=None, record=False, twin=True, refuse=False, **scene):
        """checks: (output, index, entry) triples, or indexes of output 0 without an entry; None checks up to four elements of
        each output."""
        assert name not in self.names, name
        self.names.add(name)
        lines = [f"case {name}"]
        lines += [f"{key} {scene[key]}" for key in ("grid", "mode", "bound", "step") if key in scene]
        lines += [f"input {text}" for text in inputs]
        lines += [f"{key} {scene[key]}" for key in ("samples", "imports") if key in scene]
        lines += [f"op {op} {len(inputs)}"]
        lines += ["ints " + " ".join(map(str, ints))] * bool(ints) + ["nums " + " ".join(map(num, nums))] * bool(nums)
        case = vectors.Case(name)
        for line in lines[1:]:
            key, *rest = line.split(" ")
            assert case.set(key, rest), line
        if refuse:
            case.expect_refusal()
            lines.append("refuse")
        else:
            lines += self._statements(case, checks, record, twin)
        self.lines += ["", *lines]

    def _statements(self, case, checks, record, twin):
        view = case.build()
        values = [view.out(o) for o in range(len(view.op.outputs))]
        types = {number: name for name, number in vectors.TYPES.items()}
        lines = [f"output {types[v.dtype]} {v.bits} {'x'.join(map(str, v.shape))}" for v in values]
        if record:
            lines.append("record " + vectors.merkle.leaf_hash(view.program.record(len(case.inputs))).hex())
        if checks is None:
            checks = [(o, i, None) for o, v in enumerate(values) for i in _some(v.count)]
        for check in checks:
            check = check if isinstance(check, tuple) else (0, check, None)
            meaning, found = case.element(*check)
            case.checks.append((check, (meaning, found)))
            lines.append(f"check {check[0]} {check[1]} {'-' if check[2] is None else check[2]} {meaning} {found:08x}")
        small = sum(len(given) for _, _, given in case.inputs) <= TWIN_WORDS
        return lines + (self._twin(case) if twin and small else [])

    @staticmethod
    def _twin(case):
        """The first bit, from a fixed list of places, whose flip a check notices."""
        for t in range(TWIN_TRIES):
            for i, (dtype, _, given) in enumerate(case.inputs):
                index, bit = t * 7 % len(given), 0 if dtype == 2 else 32 - case.bits[0] + 2 * t
                try:
                    case.expect_twin(i, index, min(bit, 22))
                except ValueError:
                    continue
                return [f"twin {i} {index} {min(bit, 22)}"]
        return []

    def text(self):
        return "\n".join(self.lines) + "\n"


def _some(count):
    return sorted({0, count // 3, count * 2 // 3, count - 1})


class Statements:
    """Lines WORDS… = RESULT, the result by the verifier."""

    def __init__(self, title, table):
        self.table, self.lines = table, [f"# {title}", "# Written by generate.py; the format is in README.md."]

    def about(self, text):
        self.lines += ["", f"# {text}"]

    def add(self, *left, expect=None):
        left = [str(x) for part in left for x in (part if isinstance(part, list) else [part])]
        result = vectors.answer(self.table, left)
        assert expect is None or result == expect, (left, result)
        self.lines.append((" ".join(left) + " = " + result).rstrip())

    def text(self):
        return "\n".join(self.lines) + "\n"
