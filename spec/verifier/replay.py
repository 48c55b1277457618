"""Computes a run's steps again, element by element from the definitions: for very small runs, as a check of everything at once.

Reads IDX data sets, plain or compressed with gzip.
"""
import gzip
import json
import pathlib
import struct

from . import functions, leaves, merkle
from .numbers import Refused
from .ops import View, element
from .products import Bound
from .reader import f64, u32, u64


class Idx:
    """A training set as two parts, images and labels, without file headers."""

    def __init__(self, folder, job):
        if job["data.format"] != "idx":
            raise Refused(f"replay: data of format {job['data.format']}, only idx is read here")
        header, images = self.read(pathlib.Path(folder), "train-images-idx3-ubyte", 16)
        _, self.labels = self.read(pathlib.Path(folder), "train-labels-idx1-ubyte", 8)
        _, count, rows, columns = struct.unpack(">IIII", header)
        count = min(count, job["data.limit"] or count)
        self.size, self.shape = rows * columns, (1, rows, columns)
        self.images, self.labels = images[:count * self.size], self.labels[:count]
        self.count = count

    @staticmethod
    def read(folder, name, header):
        path = folder / name
        data = path.read_bytes() if path.exists() else gzip.decompress((folder / f"{name}.gz").read_bytes())
        return data[:header], data[header:]

    def root(self):
        return leaves.data_root("idx", self.count, self.shape, [("images", self.images), ("labels", self.labels)])

    def bytes(self, index):
        return self.images[index * self.size:(index + 1) * self.size]

    def label(self, index):
        return self.labels[index]


def no_imports(tensor, index):
    raise Refused("replay: imported weights are not read here")


class Replay:
    def __init__(self, run, data):
        self.run, self.job = run, run.job
        self.data = Idx(data, run.job)
        if self.data.root() != run.job["data"]:
            raise Refused(f"data: root {self.data.root().hex()}, the job's is {run.job['data'].hex()}")
        self.thresholds = {}
        if self.job["arithmetic.threshold"] == "adaptive":
            self.thresholds = json.loads(run.read("thresholds.json"))["tau"]

    def bound(self, kind):
        job = self.job
        if job["arithmetic.threshold"] == "fixed":
            return Bound(tau=job["arithmetic.tau"])
        if kind in self.thresholds:
            return Bound(tau=float(self.thresholds[kind]))
        return Bound(depth=job["arithmetic.depth"], fp32=job["arithmetic.compute"] == "fp32")

    def compute(self, program, step, state, log):
        """All values of one step."""
        values = list(state) + [None] * (len(program.values) - len(state))
        for index, op in enumerate(program.ops):
            if op.kind == "commit":
                break
            view = View(program, index, [values[i] for i in op.inputs], step, self.data, no_imports)
            found, bound = log.get((step, index), {}), self.bound(op.kind)
            for o, value in enumerate(op.outputs):
                values[value] = [self.element(view, o, i, bound, found.get(i)) for i in range(program.values[value].count)]
        return values

    def element(self, view, output, index, bound, bit):
        meaning, word = element(view, output, index, self.job["arithmetic.mode"], bound, bit)
        if meaning == "forged":
            raise Refused(f"rounding-log/frames: step {view.step}, op {view.op.kind} {view.out().name}, element {index}: the entry "
                          f"{bit} is forged, the value is {word:08x}")
        return word

    def state_root(self, state):
        return leaves.state_root([(v.name, v.dtype, v.shape, leaves.tensor_root(words))
                                  for v, words in zip(self.run.step.values, state)])

    def all(self):
        """Replays every leaf; raises Refused at the first that differs."""
        if self.job["arithmetic.mode"] == "plain":
            raise Refused("replay: a plain run has no one right result")
        init, step_program = self.run.init, self.run.step
        values = self.compute(init, 0, [], {})
        state = [values[i] for i in init.ops[-1].inputs]
        self.compare(0, self.state_root(state), b"")
        for leaf in range(1, len(self.run.leaf)):
            first, last = self.run.steps(leaf)
            metrics = b""
            for step in range(first, last + 1):
                values = self.compute(step_program, step, state, self.run.log[leaf - 1])
                state = [values[i] for i in step_program.ops[-1].inputs]
                metrics += u64(step) + u32(values[step_program.find("loss")][0]) + f64(self.rate(step))
            self.compare(leaf, self.state_root(state), merkle.tagged("ls1/metrics", metrics))

    def compare(self, leaf, state, metrics):
        given = self.run.leaf[leaf]
        if state != given["state"]:
            raise Refused(f"leaves: leaf {leaf}: state root {given['state'].hex()}, by the definitions {state.hex()}")
        if leaf and metrics != given["metrics"]:
            raise Refused(f"leaves: leaf {leaf}: another metrics digest than by the definitions")

    def rate(self, step):
        job = self.job
        return functions.learning_rate(("constant", "step", "cosine").index(job["schedule.name"]), job["optimizer.lr"],
                                       job["schedule.gamma"], job["schedule.every"] or 1, job["schedule.warmup"],
                                       job["steps"], step)
