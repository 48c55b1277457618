"""Reads what a Lockstep run left behind (spec/run.md), as NumPy arrays."""
import gzip
import json
import pathlib
import struct

import numpy

TAGS = {b"ls1/snapshot": False, b"ls1/by-piece": True}  # both of one length; are large tensors in files of their own?
INLINE_WORDS, PIECE_WORDS = 1 << 14, 1 << 20


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        piece = self.data[self.at:self.at + size]
        if len(piece) != size:
            raise ValueError(f"snapshot ends after {len(self.data)} bytes, expected {self.at + size} or more")
        self.at += size
        return piece

    def number(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize(code)))[0]


def read_pieces(run, data, count):
    """A large tensor's bytes, from the files that its roots name."""
    out = b""
    for _ in range(0, count, PIECE_WORDS):
        out += (pathlib.Path(run) / "pieces" / data.take(32).hex()).read_bytes()  # not there where the run was trained with --compress
    if len(out) != 4 * count:
        raise ValueError(f"{run}: pieces of {len(out)} bytes, expected {4 * count}")
    return out


def read_snapshot(run, step):
    """name -> FP32 array: the state after `step`."""
    data = Bytes((pathlib.Path(run) / "snapshots" / f"{step:010d}").read_bytes())
    tag = data.take(len(next(iter(TAGS))))
    if tag not in TAGS or data.number("Q") != step:
        raise ValueError(f"{run}: no snapshot of step {step}")
    state = {}
    for _ in range(data.number("I")):
        name = data.take(data.number("I")).decode()
        data.number("B")  # FP32 is the only kind of number in a state
        shape = [data.number("Q") for _ in range(data.number("B"))]
        count = int(numpy.prod(shape, dtype=numpy.int64))
        words = read_pieces(run, data, count) if TAGS[tag] and count > INLINE_WORDS else data.take(4 * count)
        state[name] = numpy.frombuffer(words, "<f4").reshape(shape)
    return state


def read_losses(run):
    """The loss of steps 1, 2, ... as the FP32 numbers that the run commits to."""
    losses = []
    for line in (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines():
        losses.append(struct.unpack(">f", bytes.fromhex(json.loads(line)["loss_bits"]))[0])
    return losses


def plain_or_gzip(path):
    return path.read_bytes() if path.exists() else gzip.decompress(pathlib.Path(f"{path}.gz").read_bytes())


def read_idx(folder, prefix="train"):
    """Images (N, H, W) of bytes and labels (N)."""
    folder = pathlib.Path(folder)
    images, labels = (plain_or_gzip(folder / f"{prefix}-{part}-ubyte") for part in ("images-idx3", "labels-idx1"))
    count, rows, columns = struct.unpack_from(">III", images, 4)
    return (numpy.frombuffer(images, numpy.uint8, offset=16).reshape(count, rows, columns),
            numpy.frombuffer(labels, numpy.uint8, offset=8))
