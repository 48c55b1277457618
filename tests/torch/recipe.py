"""A Lockstep job of pictures, trained in PyTorch in FP32: the same initial weights (from the run's snapshot of step 0), the same
samples in the same order, the same crops and mirrors, the same schedule and optimizer. What differs is the arithmetic alone.

The job is read from the run's job.bin; order and random numbers are the definitions of spec/arithmetic.md, sections 6 and 7,
for whole arrays at once, and are held against spec/verifier's at every start.
"""
import pathlib
import sys

import numpy
import torch

import models
import snapshot

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "spec"))
from verifier import draws, jobs  # noqa: E402 (spec/)

WORD = numpy.uint64(0xFFFFFFFF)
HALF = numpy.uint64(32)
CROP, EVAL_BATCH = 4, 250


# ---- random numbers ----

def philox(counter, key):
    """draws.philox of arrays."""
    c, k = [numpy.asarray(w, numpy.uint64) for w in counter], list(key)
    for _ in range(10):
        p, q = numpy.uint64(0xD2511F53) * c[0], numpy.uint64(0xCD9E8D57) * c[2]
        c = [(q >> HALF) ^ c[1] ^ numpy.uint64(k[0]), q & WORD, (p >> HALF) ^ c[3] ^ numpy.uint64(k[1]), p & WORD]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def order(seed, epoch, n):
    """draws.order of every position of an epoch."""
    half = next(h for h in range(1, 33) if 1 << 2 * h >= n)
    shift, mask = numpy.uint64(half), numpy.uint64((1 << half) - 1)
    zero, x = numpy.zeros(n, numpy.uint64), numpy.arange(n, dtype=numpy.uint64)
    walking = numpy.ones(n, bool)
    while walking.any():
        left, right = x >> shift, x & mask
        for i in range(6):
            word = philox((right, zero + numpy.uint64(i), zero + numpy.uint64(epoch), zero), (seed, draws.ORDER))[0]
            left, right = right, left ^ (word & mask)
        x = numpy.where(walking, left << shift | right, x)
        walking &= x >= n
    return x.astype(numpy.int64)


def numbers(seed, purpose, step, count):
    """The first `count` numbers of a stream."""
    blocks = numpy.arange(-(-count // 4), dtype=numpy.uint64)
    zero = numpy.zeros_like(blocks)
    words = philox((blocks, zero, zero + numpy.uint64(step), zero), (seed, purpose))
    return numpy.stack(words, 1).ravel()[:count].astype(numpy.int64)


def check_draws():
    """Fast and slow forms agree, and another seed does not."""
    some = [draws.order(3, 1, p, 1000) for p in range(40)]
    stream = draws.Stream(3, draws.AUGMENT, 7)
    good = (order(3, 1, 1000)[:40].tolist() == some and order(4, 1, 1000)[:40].tolist() != some
            and numbers(3, draws.AUGMENT, 7, 30).tolist() == [stream.u32(i) for i in range(30)])
    if not good:
        raise ArithmeticError("random numbers differ from spec/verifier's")


# ---- data ----

def read_pictures(job, folder, test):
    """Bytes (N, C, H, W) and labels (N)."""
    folder = pathlib.Path(folder)
    if job["data.format"] == "idx":
        images, labels = snapshot.read_idx(folder, "t10k" if test else "train")
        images = images[:, None]
    elif job["data.format"] == "cifar10":
        files = [folder / "test_batch.bin"] if test else sorted(folder.glob("data_batch_*.bin"))
        records = numpy.concatenate([numpy.fromfile(f, numpy.uint8) for f in files]).reshape(-1, 3073)
        images, labels = records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]
    else:
        raise LookupError(f"no reader for data.format '{job['data.format']}'")
    limit = None if test else job["data.limit"] or None
    return images[:limit], labels[:limit].astype(numpy.int64)


def scale(job, images):
    """As op load does it: FP64 arithmetic on bytes, rounded to FP32."""
    shape = (1, -1, 1, 1)
    mean, std = (numpy.array(job[f"data.{k}"], numpy.float64).reshape(shape) for k in ("mean", "std"))
    return torch.from_numpy(((images.astype(numpy.float64) - mean) / std).astype(numpy.float32))


def augment(job, images, step):
    """Op load's crop and flip (spec/ops.md): three numbers for each row of the batch."""
    crop, flip = ("crop" in job["data.augment"]) * CROP, "flip" in job["data.augment"]
    if not crop and not flip:
        return images
    drawn = numbers(job["train.seed"], draws.AUGMENT, step, 3 * len(images)).reshape(-1, 3)
    height, width = images.shape[2:]
    framed = numpy.pad(images, ((0, 0), (0, 0), (crop, crop), (crop, crop)))
    out = []
    for image, (down, right, mirror) in zip(framed, drawn):
        y, x = (down * (2 * crop + 1)) >> 32, (right * (2 * crop + 1)) >> 32
        piece = image[:, y:y + height, x:x + width]
        out.append(piece[:, :, ::-1] if flip and mirror < 1 << 31 else piece)
    return numpy.stack(out)


# ---- training ----

def rate(job, step):
    """spec/ops.md, op sgd: constant and cosine."""
    lr, warmup, total = job["optimizer.lr"], job["schedule.warmup"], job["steps"]
    if step <= warmup:
        return lr * (step / warmup)
    if job["schedule.name"] == "constant":
        return lr
    if job["schedule.name"] != "cosine":
        raise LookupError(f"no PyTorch form of schedule '{job['schedule.name']}'")
    return lr * (0.5 * (1 + numpy.cos(numpy.pi * ((step - 1 - warmup) / (total - warmup)))))


def start(job, run, shape):
    """The model with exactly the run's initial weights."""
    model = models.build(job["model.arch"], shape[0], shape[1], job["model.classes"], job["model.width"], pool=job["model.pool"])
    given = {k: torch.from_numpy(v.copy()) for k, v in snapshot.read_snapshot(run, 0).items() if not k.endswith(".momentum")}
    missing, unexpected = model.load_state_dict(given, strict=False)
    if unexpected or [k for k in missing if not k.endswith("num_batches_tracked")]:
        raise ValueError(f"names differ: {missing} {unexpected}")
    return model


@torch.no_grad()
def accuracy(job, model, data):
    model.eval()
    images, labels = read_pictures(job, data, test=True)
    found = [model(scale(job, images[i:i + EVAL_BATCH])).argmax(1) for i in range(0, len(images), EVAL_BATCH)]
    return float((torch.cat(found).numpy() == labels).mean())


def train(run, data):
    """Trains the job of `run` to its end; returns the trained model's accuracy on the test split and every step's loss."""
    check_draws()
    job = jobs.decode((pathlib.Path(run) / "job.bin").read_bytes())
    images, labels = read_pictures(job, data, test=False)
    model, batch = start(job, run, images.shape[1:]), job["train.batch"]
    optimizer = torch.optim.SGD(model.parameters(), lr=job["optimizer.lr"], momentum=job["optimizer.momentum"],
                                weight_decay=job["optimizer.weight_decay"], nesterov=job["optimizer.nesterov"])
    model.train()
    per_epoch, losses = len(images) // batch, []
    for step in range(1, job["steps"] + 1):
        epoch, place = divmod(step - 1, per_epoch)
        if not place:
            turn = order(job["train.seed"], epoch, len(images))
        chosen = turn[place * batch:(place + 1) * batch]
        for group in optimizer.param_groups:
            group["lr"] = rate(job, step)
        loss = torch.nn.functional.cross_entropy(model(scale(job, augment(job, images[chosen], step))), torch.from_numpy(labels[chosen]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return accuracy(job, model, data), losses
