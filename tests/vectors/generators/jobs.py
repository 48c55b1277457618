"""Signed bytes of jobs: every model's programs, every field at and beyond its bounds, other spellings."""
from verifier import jobs, models
from verifier.numbers import Refused, round64
from verifier.vectors import COMMITMENTS, numbers

from .writer import Statements

BASE = {"name": "n", "model.arch": "mlp", "model.classes": 3, "model.hidden": [4], "model.pool": "max",
        "model.activation": "relu", "model.width": 1.0, "model.head": "cifar",
        "data.format": "idx", "data.limit": 0, "data.mean": [0.0], "data.std": [255.0],
        "train.steps": 5,
        "train.batch": 2, "train.seed": 1, "train.commit_every": 1, "optimizer.name": "sgd", "optimizer.lr": 0.125,
        "optimizer.momentum": 0.5, "optimizer.weight_decay": 0.0, "optimizer.nesterov": 0, "schedule.name": "constant",
        "schedule.warmup": 0, "arithmetic.mode": "logged", "arithmetic.grid": 32, "arithmetic.state_grid": 32}
DIGESTS = ("program", "init", "data", "import", "trainer", "referee")
SIZES = {"channels": 1, "height": 4, "width": 5, "samples": 8, "steps": 5}


def make(**changes):
    """A job with the digests of its own programs, where it has any."""
    job = {field.path: field.default for field in jobs.FIELDS} | BASE | {key: bytes(32) for key in DIGESTS} | SIZES
    job |= {"data": bytes(range(32))} | {key.replace("__", "."): value for key, value in changes.items()}
    try:
        init, step = models.programs(job)
        job |= {"init": init.digest(), "program": step.digest()}
    except (Refused, ValueError, ArithmeticError):
        pass
    return job


IMAGE = {"channels": 3, "height": 32, "width": 32, "model__hidden": []}
GOOD = [
    {}, {"model__hidden": [7, 1, 2]}, {"model__arch": "logreg", "model__hidden": []}, {"model__arch": "lenet5", **IMAGE},
    {"model__arch": "lenet5", "model__pool": "avg", "model__activation": "tanh", **IMAGE}, {"model__activation": "sigmoid"},
    {"model__activation": "gelu", "model__hidden": [5, 3]}, {"model__arch": "lenet5", "model__pool": "avg", **IMAGE},
    {"model__arch": "vgg11", "model__width": 0.25, **IMAGE},
    {"model__arch": "vgg16", "model__head": "torchvision", **IMAGE}, {"model__arch": "resnet18", **IMAGE},
    {"model__arch": "resnet50", "model__width": 0.03, **IMAGE, "data__augment": ["crop", "flip"]},
    {"model__arch": "resnet18", "model__width": 2.5, **IMAGE, "optimizer__momentum": 0.0, "import": bytes(range(1, 33))},
    {"data__mean": [1.0, 2.0, 3.0], "data__std": [1.5, 2.5, 3.5], **IMAGE, "model__hidden": [3], "data__augment": ["flip"]},
    {"train__steps": 0, "train__epochs": 3, "steps": 12}, {"optimizer__momentum": 0.0}, {"optimizer__nesterov": 1},
    {"schedule__name": "step", "schedule__every": 3, "schedule__gamma": 0.3},
    {"schedule__name": "cosine", "schedule__warmup": 4},
    {"arithmetic__grid": 16, "arithmetic__state_grid": 24, "arithmetic__compute": "fp32"},
    {"arithmetic__mode": "plain"}, {"arithmetic__mode": "plain", "arithmetic__compute": "fp32", "arithmetic__grid": 19},
    {"arithmetic__mode": "exact"}, {"arithmetic__mode": "pinned"}, {"arithmetic__encoding": "dense",
                                                                    "arithmetic__depth": 1 << 21},
    {"arithmetic__threshold": "fixed", "arithmetic__tau": round64(numbers.Fraction(2, 5))},
    {"arithmetic__threshold": "adaptive", "arithmetic__digest": "0123456789abcdef" * 4},
    {"name": "A.b_c-9" + "x" * 57, "train__seed": 4294967295, "data__limit": 8, "data__shape": [1, 4, 5]},
    {"train__batch": 8, "train__commit_every": 1 << 40}, {"trainer": b"\1" * 32, "referee": b"\2" * 32},
]
BAD = [
    {"name": ""}, {"name": "x" * 65}, {"name": "-a"}, {"name": "a b"}, {"model__arch": "MLP"}, {"model__arch": ""},
    {"model__arch": "m" * 33},
    {"model__classes": 1}, {"model__classes": 65537}, {"model__hidden": [0]}, {"model__hidden": [65537]},
    {"model__hidden": [1] * 17},
    {"model__activation": "elu"},
    {"model__width": 0.0}, {"model__width": 17.0}, {"data__limit": (1 << 40) + 1}, {"data__limit": 7},
    {"data__shape": [1, 4]},
    {"data__shape": [0, 4, 5]}, {"data__mean": []}, {"data__mean": [1.0] * 4}, {"data__mean": [-1.0]},
    {"data__mean": [256.0]},
    {"data__mean": [-0.0]}, {"data__mean": [float("nan")]}, {"data__std": [0.5]}, {"data__std": [1001.0]},
    {"data__augment": ["flip", "crop"]},
    {"data__augment": ["crop", "crop"]}, {"data__augment": ["turn"]}, {"train__steps": 0}, {"train__epochs": 1},
    {"train__steps": (1 << 40) + 1},
    {"train__batch": 0}, {"train__batch": 9}, {"train__seed": 1 << 32}, {"train__commit_every": 0}, {"optimizer__lr": -1.0},
    {"optimizer__lr": 1001.0}, {"optimizer__lr": float("inf")}, {"optimizer__momentum": 1.5}, {"optimizer__nesterov": 2},
    {"schedule__name": "linear"}, {"schedule__name": "step"}, {"schedule__every": 2}, {"schedule__gamma": 0.5},
    {"schedule__name": "step", "schedule__every": 1, "schedule__gamma": 1.5}, {"arithmetic__mode": "fast"},
    {"arithmetic__grid": 15},
    {"arithmetic__grid": 33}, {"arithmetic__state_grid": 0}, {"arithmetic__compute": "fp32"},
    {"arithmetic__compute": "fp32", "arithmetic__grid": 16, "arithmetic__depth": 600}, {"arithmetic__depth": (1 << 21) + 1},
    {"arithmetic__mode": "pinned", "arithmetic__compute": "fp32", "arithmetic__grid": 16},
    {"arithmetic__mode": "exact", "arithmetic__depth": 600},
    {"arithmetic__mode": "plain", "arithmetic__encoding": "dense"}, {"arithmetic__mode": "plain",
                                                                     "arithmetic__threshold": "fixed",
                                                                     "arithmetic__tau": 0.4},
    {"arithmetic__threshold": "fixed", "arithmetic__tau": 0.5}, {"arithmetic__threshold": "fixed", "arithmetic__tau": 0.0},
    {"arithmetic__threshold": "adaptive", "arithmetic__digest": "0123456789abcdeF" * 4},
    {"arithmetic__threshold": "adaptive", "arithmetic__digest": "00"},
    {"samples": 1}, {"samples": (1 << 40) + 1}, {"steps": 6}, {"steps": 0},
]
OTHER_PROGRAMS = [  # good bytes, but not what the fields expand to
    {"model__arch": "unknown"}, {"optimizer__name": "adam"}, {"model__arch": "mlp", "model__hidden": []},
                  {"model__pool": "avg"}, {"model__arch": "logreg", "model__hidden": [], "model__activation": "tanh"},
    {"model__arch": "vgg11", "model__hidden": []}, {"model__arch": "logreg"}, {"data__mean": [1.0, 2.0]},
                  {"schedule__warmup": 5},
]


def write():
    out = Statements("The signed bytes of jobs", COMMITMENTS)
    out.about("good ones: their id, and that their programs have the digests in the binding")
    for changes in GOOD:
        data = jobs.encode(make(**changes)).hex()
        out.add("job", data, expect=jobs.job_id(bytes.fromhex(data)).hex())
        out.add("programs", data, expect="ok")
    out.about("fields beyond their bounds, not at their default where they are not read, or at odds with each other")
    for changes in BAD:
        out.add("job", jobs.encode(make(**changes)).hex(), expect="refuse")
    spellings(out)
    out.about("programs that are not those of the fields, or that the fields cannot have")
    for changes in OTHER_PROGRAMS:
        out.add("programs", jobs.encode(make(**changes)).hex(), expect="refuse")
    for key in ("program", "init"):
        job = make()
        out.add("programs", jobs.encode(job | {key: bytes(31) + b"\1"}).hex(), expect="refuse")
    for other in ({"channels": 2}, {"height": 5}, {"samples": 9}, {"import": b"\1" * 32}, {"train__seed": 2},
                  {"optimizer__lr": 0.25}):
        job = make() | {key.replace("__", "."): value for key, value in other.items()}
        out.add("programs", jobs.encode(job).hex(), expect="refuse")
    return out.text()


def spellings(out):
    out.about("bytes in another form: cut, longer, another tag, version or type")
    data = jobs.encode(make())
    for other in (data[:-1], data + b"\0", b"", data[:7], b"ls1/jot" + data[7:], data[:7] + b"\2" + data[8:],
                  data[:11] + b"u" + data[12:],
                  data[:12] + b"\xff\xff\xff\xff" + data[16:], data[:-231] + data[-232:], data[:16] + b"\0" + data[17:]):
        out.add("job", other.hex() or "-", expect="refuse")
