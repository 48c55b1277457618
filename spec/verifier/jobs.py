"""The signed bytes of a job and the text that says the same (spec/encodings.md, section 5)."""
import re
from dataclasses import dataclass
from fractions import Fraction

from . import merkle
from .numbers import Refused
from .reader import Reader, f64, string, u8, u32, u64

VERSION = 1
BYTES_MAX = 65536
NAME, WORD = r"[A-Za-z0-9][A-Za-z0-9._-]*", r"[a-z0-9][a-z0-9_-]*"


@dataclass(frozen=True)
class Field:
    """`low` and `high` bound a number, the items of a list or the length of a text; `default` is what a field holds that the
    job does not read, and what `unset` stands for where it may be left out."""
    path: str
    type: str
    low: float = 0
    high: float = 0
    default: object = None
    words: tuple = ()
    pattern: str = ""
    unset: bool = False
    reads: tuple = ()  # (path of another field, the words of it under which this one is read)


P40, P20 = 1 << 40, 1 << 20
LOGGED = ("arithmetic.mode", ("logged",))
STEP = ("schedule.name", ("step",))

FIELDS = [
    Field("name", "s", 1, 64, pattern=NAME),
    Field("model.arch", "s", 1, 32, pattern=WORD),
    Field("model.classes", "u", 2, 65536),
    Field("model.hidden", "l", 1, 65536, [], unset=True),
    Field("model.pool", "s", words=("max", "avg")),
    Field("model.activation", "s", words=("relu", "tanh", "sigmoid", "gelu")),
    Field("model.width", "r", 0.001, 16),
    Field("model.head", "s", words=("cifar", "torchvision")),
    Field("data.format", "s", 1, 32, pattern=WORD),
    Field("data.limit", "u", 0, P40),
    Field("data.shape", "l", 1, 65536, [], unset=True),
    Field("data.mean", "v", 0, 255),
    Field("data.std", "v", 1, 1000),
    Field("data.augment", "w", default=[], words=("crop", "flip"), unset=True),
    Field("train.steps", "u", 1, P40, 0, unset=True),
    Field("train.epochs", "u", 1, P20, 0, unset=True),
    Field("train.batch", "u", 1, P20),
    Field("train.seed", "u", 0, (1 << 32) - 1),
    Field("train.commit_every", "u", 1, P40),
    Field("optimizer.name", "s", 1, 32, pattern=WORD),
    Field("optimizer.lr", "r", 0, 1000),
    Field("optimizer.momentum", "r", 0, 1),
    Field("optimizer.weight_decay", "r", 0, 1000),
    Field("optimizer.nesterov", "b"),
    Field("schedule.name", "s", words=("constant", "step", "cosine")),
    Field("schedule.warmup", "u", 0, P40),
    Field("schedule.gamma", "r", 0, 1, 0.1, reads=STEP),
    Field("schedule.every", "u", 1, P40, 0, unset=True, reads=STEP),
    Field("arithmetic.mode", "s", words=("logged", "plain", "exact", "pinned")),
    Field("arithmetic.grid", "u", 16, 32),
    Field("arithmetic.state_grid", "u", 16, 32),
    Field("arithmetic.compute", "s", default="fp64", words=("fp64", "fp32"),
          reads=("arithmetic.mode", ("logged", "plain"))),
    Field("arithmetic.threshold", "s", default="certified", words=("certified", "fixed", "adaptive"), reads=LOGGED),
    Field("arithmetic.encoding", "s", default="sparse", words=("sparse", "dense"), reads=LOGGED),
    Field("arithmetic.depth", "u", 0, 1 << 21, 0, reads=LOGGED),
]
TAU = Field("arithmetic.tau", "r", float.fromhex("0x1p-52"), 0.5 - float.fromhex("0x1p-54"))
DIGEST = Field("arithmetic.digest", "s", 64, 64, pattern=r"[0-9a-f]{64}")
FOLLOWS = {"fixed": TAU, "adaptive": DIGEST}
BINDING = ("program", "init", "data", "import", "channels", "height", "width", "samples", "steps", "trainer", "referee")
LISTS_MAX = {"model.hidden": 16, "data.shape": 3, "data.mean": 3, "data.std": 3}


def is_read(field, job):
    return not field.reads or job[field.reads[0]] in field.reads[1]


# ---- values ----

def read_value(r, field):
    if r.take(1) != field.type.encode():
        raise Refused(f"job: {field.path}: another type than {field.type}")
    match field.type:
        case "u": return r.u64()
        case "r": return r.f64()
        case "b": return r.u8()
        case "s": return r.string(1023)
        case "l": return [r.u64() for _ in range(_count(r, field))]
        case "v": return [r.f64() for _ in range(_count(r, field))]
        case "w": return [r.string(32) for _ in range(_count(r, field))]


def _count(r, field):
    n = r.u32()
    if n > LISTS_MAX.get(field.path, len(field.words)):
        raise Refused(f"job: {field.path}: {n} items")
    return n


def value_bytes(field, value):
    kind = field.type.encode()
    match field.type:
        case "u": return kind + u64(value)
        case "r": return kind + f64(value)
        case "b": return kind + u8(value)
        case "s": return kind + string(value)
        case "l": return kind + u32(len(value)) + b"".join(map(u64, value))
        case "v": return kind + u32(len(value)) + b"".join(map(f64, value))
        case "w": return kind + u32(len(value)) + b"".join(map(string, value))


def _within(field, x):
    return field.low <= x <= field.high and not (isinstance(x, float) and x == 0 and f64(x)[7])


def _valid(field, value):
    if field.unset and value == field.default:
        return True
    if field.type == "w":
        return value == [w for w in field.words if w in value]
    if field.words:
        return value in field.words
    if field.type == "s":
        return field.low <= len(value) <= field.high and re.fullmatch(field.pattern, value) is not None
    if field.type == "b":
        return value in (0, 1)
    if field.type in "lv":
        whole = len(value) == 3 if field.path == "data.shape" else bool(value)
        return whole and all(_within(field, x) for x in value)
    return _within(field, value)


def check(job):
    for field in FIELDS:
        if not is_read(field, job):
            if job[field.path] != field.default:
                raise Refused(f"job: {field.path}: not read, and not its default")
        elif not _valid(field, job[field.path]):
            raise Refused(f"job: {field.path}: {job[field.path]!r} is no value of it")
    follows = FOLLOWS.get(job["arithmetic.threshold"])
    if follows and not _valid(follows, job[follows.path]):
        raise Refused(f"job: {follows.path}: {job[follows.path]!r}")
    if bool(job["train.steps"]) == bool(job["train.epochs"]):
        raise Refused("job: train.steps and train.epochs: exactly one must be given")
    if job["schedule.name"] == "step" and not job["schedule.every"]:
        raise Refused("job: schedule.every: missing")
    if job["arithmetic.compute"] == "fp32" and (job["arithmetic.grid"] > 19 or job["arithmetic.depth"]):
        raise Refused("job: fp32 with a grid of more than 19 bits, or with a depth")


def steps_of(job):
    """The steps that fields and number of samples give."""
    samples, batch, limit = job["samples"], job["train.batch"], job["data.limit"] or P40
    if not batch <= samples <= limit:
        raise Refused(f"job: {samples} samples, {batch} to {limit} expected")
    steps = job["train.steps"] or job["train.epochs"] * (samples // batch)
    if steps > P40:
        raise Refused(f"job: {steps} steps")
    return steps


# ---- bytes ----

def encode(job):
    parts = [b"ls1/job", u32(VERSION)]
    for field in FIELDS:
        parts.append(value_bytes(field, job[field.path]))
        if field.path == "arithmetic.threshold" and job[field.path] in FOLLOWS:
            follows = FOLLOWS[job[field.path]]
            parts.append(value_bytes(follows, job[follows.path]))
    parts += [job[key] if isinstance(job[key], bytes) else u64(job[key]) for key in BINDING]
    return b"".join(parts)


def decode(data):
    """A job as a dictionary of fields by path and of the binding's members."""
    if len(data) > BYTES_MAX:
        raise Refused(f"job: {len(data)} bytes")
    r, job = Reader(data, "job"), {}
    r.expect(b"ls1/job")
    if r.u32() != VERSION:
        raise Refused("job: another version")
    for field in FIELDS:
        job[field.path] = read_value(r, field)
        if field.path == "arithmetic.threshold" and job[field.path] in FOLLOWS:
            follows = FOLLOWS[job[field.path]]
            job[follows.path] = read_value(r, follows)
    for key in BINDING:
        job[key] = r.u64() if key in ("channels", "height", "width", "samples", "steps") else r.take(32)
    r.end()
    check(job)
    if steps_of(job) != job["steps"]:
        raise Refused(f"job: {job['steps']} steps in the binding, {steps_of(job)} by the fields")
    if encode(job) != data:
        raise Refused("job: not the canonical bytes")
    return job


def job_id(data):
    return merkle.tagged("ls1/job", data)


# ---- text ----

def real_text(x):
    """The fewest digits that read back."""
    for digits in range(1, 18):
        text = f"{x:.{digits}g}"
        if Fraction(text) == Fraction(x) or float(text) == x:
            return text
    raise Refused(f"job: {x} is no number")


def _text(field, job):
    value = job[field.path]
    match field.type:
        case "r": return real_text(value)
        case "b": return "true" if value else "false"
        case "v": return real_text(value[0]) if len(value) == 1 else "[" + ", ".join(map(real_text, value)) + "]"
        case "l" | "w": return "[" + ", ".join(map(str, value)) + "]"
    if field.path == "arithmetic.threshold" and value == "fixed":
        return "{fixed: " + real_text(job[TAU.path]) + "}"
    if field.path == "arithmetic.threshold" and value == "adaptive":
        return '{adaptive: "thresholds.json"}'
    return str(value)


def yaml_lines(job):
    """The canonical text of a job, without the lines of the two paths, which no byte of the job depends on."""
    lines, section = ["lockstep: 1"], ""
    for field in FIELDS:
        if not is_read(field, job) or field.unset and job[field.path] == field.default:
            continue
        head, _, key = field.path.rpartition(".")
        if head != section and head:
            lines.append(head + ":")
        section = head
        lines.append(("  " if head else "") + f"{key}: {_text(field, job)}")
    return lines


PATH_LINE = re.compile(r'  (?:path|init_from): "(?:[ !#-\[\]-~]|\\["\\]|\\U[0-9A-F]{8})+"')


def check_yaml(text, job):
    """That job.yaml is the canonical text of the job, up to its paths."""
    if not text.endswith("\n"):
        raise Refused("job.yaml: it does not end with a newline")
    lines = [line for line in text[:-1].split("\n") if not PATH_LINE.fullmatch(line)]
    for found, expected in zip(lines + [None], yaml_lines(job) + [None]):
        if found != expected:
            raise Refused(f"job.yaml: found {found!r}, expected {expected!r}")
