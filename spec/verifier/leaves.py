"""The bytes of every leaf, and heads (spec/encodings.md, sections 2, 4, 6, 7 and 8)."""
import base64
import re

from . import merkle
from .numbers import Refused
from .reader import Reader, string, u8, u32, u64, words

F32, I32, ROOT = 1, 2, 3
CHUNK = 256
FRAME = 65536


# ---- tensors and state ----

def chunk_leaf(values):
    if not 1 <= len(values) <= CHUNK:
        raise Refused(f"chunk: {len(values)} words, 1 to {CHUNK} expected")
    return b"ls1/chunk" + words(values)


def tensor_root(values):
    return merkle.head([chunk_leaf(values[i:i + CHUNK]) for i in range(0, len(values), CHUNK)])


def tensor_entry(name, dtype, shape, root):
    if not 1 <= len(name.encode("utf-8", "surrogateescape")) <= 255:
        raise Refused(f"tensor: a name of {len(name)} bytes")
    return string(name) + u8(dtype) + u8(len(shape)) + b"".join(map(u64, shape)) + root


def state_root(entries):
    """Of (name, dtype, shape, tensor root), which must ascend strictly by the bytes of the names."""
    names = [e[0].encode("utf-8", "surrogateescape") for e in entries]
    for a, b in zip(names, names[1:]):
        if a >= b:
            raise Refused(f"state: {b.decode(errors='replace')} after {a.decode(errors='replace')}")
    return merkle.head([b"ls1/state" + tensor_entry(*e) for e in entries])


def step_leaf(op, outputs):
    return b"ls1/step" + u32(op) + u32(len(outputs)) + b"".join(tensor_entry(*o) for o in outputs)


# ---- data ----

def data_root(form, samples, shape, parts):
    """`parts`: (name, bytes)."""
    first = b"ls1/data\0" + string(form) + u64(samples) + u8(len(shape)) + b"".join(map(u64, shape)) + u32(len(parts))
    first += b"".join(string(name) + u64(len(data)) for name, data in parts)
    chunks = [b"ls1/data\1" + data[i:i + 1024] for _, data in parts for i in range(0, len(data), 1024)]
    return merkle.head([first, *chunks])


# ---- rounding log and run ----

def log_leaf(step, op, frame, data):
    return b"ls1/log" + u64(step) + u32(op) + u32(frame) + data


def start_leaf(job, run, state):
    return b"ls1/run\0" + job + run + state


def run_leaf(run, step, state, log, metrics):
    return b"ls1/run\1" + run + u64(step) + state + log + metrics


def read_leaf(data):
    """A run leaf as a dictionary."""
    r = Reader(data, "run leaf")
    r.expect(b"ls1/run")
    kind = r.u8()
    if kind == 0:
        leaf = {"step": 0, "job": r.take(32), "run": r.take(32), "state": r.take(32)}
    elif kind == 1:
        leaf = {"run": r.take(32), "step": r.u64(), "state": r.take(32), "log": r.take(32), "metrics": r.take(32)}
        if leaf["step"] < 1:
            raise Refused("run leaf: step 0 in a leaf of a step")
    else:
        raise Refused(f"run leaf: kind {kind}")
    r.end()
    return leaf


def run_id(job, trainer, nonce):
    return merkle.tagged("ls1/runid", job + trainer + nonce)


# ---- heads ----

def head_text(run, size, root):
    return f"lockstep/{run.hex()}\n{size}\n{base64.b64encode(root).decode()}\n".encode()


def read_head(text):
    """(run id, size, root) of a head; one spelling for each."""
    match = re.fullmatch(rb"lockstep/([0-9a-f]{64})\n([1-9][0-9]{0,19})\n([A-Za-z0-9+/]{43}=)\n", text)
    if not match:
        raise Refused("head: other than three lines: lockstep/ and run id, number of leaves, root")
    run, size, root = bytes.fromhex(match[1].decode()), int(match[2]), base64.b64decode(match[3])
    if size >> 64 or head_text(run, size, root) != text:
        raise Refused("head: a spelling that is not canonical")
    return run, size, root
