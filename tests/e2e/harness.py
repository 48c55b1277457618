"""What the end-to-end tests share: running the programs, small data sets, counting what went wrong.

The build folder comes from LOCKSTEP_BUILD (CTest sets it), else it is build/ of the repository. Only Python's own library
is used. A test is a script that ends in `sys.exit(Report.finish())`-style code 0 or 1; 77 tells CTest that it was skipped.
"""
import gzip
import hashlib
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LOCKSTEP_BUILD", ROOT / "build"))
LOCKSTEP, CHEAT = BUILD / "lockstep", BUILD / "lockstep-cheat"
JOBS = ROOT / "examples" / "jobs"
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import datasets  # noqa: E402 (tests/tools)

DATASETS = datasets.above("fashion-mnist")
SKIPPED = 77


class Result:
    """One finished program: exit code, texts, and the last JSON object of its standard output."""

    def __init__(self, process, words):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.words = " ".join(map(str, words))
        lines = [line for line in self.out.splitlines() if line.strip()]
        try:
            self.json = json.loads(lines[-1]) if lines else {}
        except ValueError:
            self.json = {}

    def __getitem__(self, key):
        return self.json.get(key)

    def __str__(self):
        return f"{self.words}\n  exit {self.code}\n  stdout {self.out.strip()[:600]}\n  stderr {self.err.strip()[:600]}"


def environment(extra=None):
    env = {k: v for k, v in os.environ.items() if k not in ("LOCKSTEP_ISA", "OPENBLAS_CORETYPE")}
    env.setdefault("LOCKSTEP_DATA", str(DATASETS))
    env.update(extra or {})
    return env


def run(words, env=None, timeout=600):
    words = [str(w) for w in words]
    process = subprocess.run(words, capture_output=True, text=True, env=environment(env), timeout=timeout, errors="replace")
    return Result(process, words)


def lockstep(*words, env=None):
    return run([LOCKSTEP, *words, "--json"], env)


def cheat(*words, env=None):
    return run([CHEAT, *words, "--json"], env)


def sets(**fields):
    """train__steps=3 becomes --set train.steps=3."""
    out = []
    for key, value in fields.items():
        out += ["--set", f"{key.replace('__', '.')}={value}"]
    return out


class Report:
    """Counts checks; every failure prints what was expected and what the program said."""

    def __init__(self, name):
        self.name, self.checks, self.failures = name, 0, 0

    def check(self, good, what, result=None):
        self.checks += 1
        if not good:
            self.failures += 1
            print(f"FAILED {what}")
            if result is not None:
                print(f"  {result}")
        return good

    def finish(self):
        print(f"{self.name}: {self.checks} checks, {self.failures} failures")
        sys.exit(1 if self.failures or not self.checks else 0)


def in_memory():
    """Where a test's files lie best: runs sync a lot, and no test needs a disk. TMPDIR says otherwise."""
    return None if os.environ.get("TMPDIR") or not os.access("/dev/shm", os.W_OK) else "/dev/shm"


class Folder:
    """A temporary folder that stays where it is if LOCKSTEP_KEEP is set; `large` ones are on the disk."""

    def __init__(self, large=False):
        self.place = None if large else in_memory()

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-e2e-", dir=self.place))
        return self.path

    def __exit__(self, *_):
        if os.environ.get("LOCKSTEP_KEEP"):
            print(f"kept {self.path}")
        else:
            shutil.rmtree(self.path, ignore_errors=True)


# ---- data sets ----

def write_idx(folder, prefix, images, labels, rows, columns, compress=False):
    folder.mkdir(parents=True, exist_ok=True)
    parts = {
        f"{prefix}-images-idx3-ubyte": struct.pack(">IIII", 0x803, len(images), rows, columns) + b"".join(images),
        f"{prefix}-labels-idx1-ubyte": struct.pack(">II", 0x801, len(labels)) + bytes(labels),
    }
    for name, data in parts.items():
        if compress:
            (folder / f"{name}.gz").write_bytes(gzip.compress(data, mtime=0))
        else:
            (folder / name).write_bytes(data)


def noise_data(folder, count, side=28, classes=10, seed=1):
    """Images of noise on a ground that depends on the class."""
    draw = random.Random(seed)
    labels = [i % classes for i in range(count)]
    images = []
    for label in labels:
        ground = 20 + 20 * label
        images.append(bytes(min(255, ground + draw.randrange(60)) if draw.random() < 0.6 else 0 for _ in range(side * side)))
    write_idx(folder, "train", images, labels, side, side)
    write_idx(folder, "t10k", images[:classes], labels[:classes], side, side)


def fashion_mnist():
    """Whether it is at hand; says so loudly if not."""
    missing = datasets.missing("fashion-mnist", "train-images-idx3-ubyte.gz")
    if missing:
        print(missing)
    return not missing


JOB = """lockstep: 1
name: {name}
model: {{arch: {arch}, classes: 10{model}}}
data: {{format: idx, path: data, mean: {mean}, std: 80}}
train: {{steps: {steps}, batch: {batch}, seed: 7, commit_every: {every}}}
optimizer: {{name: sgd, lr: {lr}, momentum: {momentum}}}
arithmetic: {{mode: {mode}}}
"""


def write_job(path, arch="lenet5", steps=7, batch=8, every=1, lr=0.05, momentum=0.9, mode="logged", model="", mean=70):
    path.write_text(JOB.format(name=path.stem, arch=arch, steps=steps, batch=batch, every=every, lr=lr, momentum=momentum,
                               mode=mode, model=model, mean=mean))
    return path


TEXT_JOB = """lockstep: 1
name: {name}
model: {{arch: gpt2, layers: 1, heads: 2, embedding: 12, context: 16, vocab: 256, dropout: 0.1}}
data: {{format: text, path: "builtin:verses", length: 16}}
train: {{steps: {steps}, batch: {batch}, seed: 7, commit_every: {every}}}
optimizer: {{name: adamw, lr: 0.003}}
arithmetic: {{mode: {mode}}}
"""


def write_text_job(path, steps=7, batch=8, every=1, mode="logged"):
    path.write_text(TEXT_JOB.format(name=path.stem, steps=steps, batch=batch, every=every, mode=mode))
    return path


# ---- run directories ----

def tree_digest(folder):
    """Digest of every name and byte below a folder."""
    h = hashlib.sha256()
    for path in sorted(p for p in pathlib.Path(folder).rglob("*")):
        h.update(str(path.relative_to(folder)).encode() + b"\0")
        if path.is_file():
            h.update(path.read_bytes())
    return h.hexdigest()


def read_leaves(run_dir):
    data, at, leaves = (pathlib.Path(run_dir) / "leaves").read_bytes(), 0, []
    while at < len(data):
        size = struct.unpack_from("<I", data, at)[0]
        leaves.append(data[at + 4:at + 4 + size])
        at += 4 + size
    return leaves


def write_leaves(run_dir, leaves):
    (pathlib.Path(run_dir) / "leaves").write_bytes(b"".join(struct.pack("<I", len(leaf)) + leaf for leaf in leaves))


def merkle_root(leaves):
    """RFC 9162, section 2.1.1, as it is written there."""
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return hashlib.sha256(b"\1" + merkle_root(leaves[:k]) + merkle_root(leaves[k:])).digest()


INLINE, PIECE = 1 << 14, 1 << 20  # words: what stands in a snapshot itself, and in a piece


def snapshot_tensors(data):
    """(name, count, the bytes where its words or roots lie) of a snapshot."""
    at, out = 24, []
    for _ in range(struct.unpack_from("<I", data, 20)[0]):
        size = struct.unpack_from("<I", data, at)[0]
        name, at = data[at + 4:at + 4 + size].decode(), at + 4 + size
        rank = data[at + 1]
        count = 1
        for dim in struct.unpack_from(f"<{rank}Q", data, at + 2):
            count *= dim
        start = at + 2 + 8 * rank
        at = start + (4 * count if data[:12] == b"ls1/snapshot" or count <= INLINE else 32 * -(-count // PIECE))
        out.append((name, count, slice(start, at)))
    return out


def piece_roots(data):
    """Names of the pieces that a snapshot refers to."""
    return {data[s][i:i + 32].hex() for _, count, s in snapshot_tensors(data) if count > INLINE for i in range(0, s.stop - s.start, 32)}


def remove_snapshot(run, step):
    """With the pieces that no other one refers to."""
    (run / "snapshots" / f"{step:010}").unlink(missing_ok=True)
    needed = set().union(*(piece_roots(p.read_bytes()) for p in (run / "snapshots").iterdir()))
    for piece in (run / "pieces").glob("*"):
        if piece.name[:64] not in needed:
            piece.unlink()
