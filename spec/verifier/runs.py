"""A run directory against its own roots (spec/run.md)."""
import json
import pathlib
import re

from . import entries, jobs, leaves, merkle, models
from .numbers import Refused, f32, is_finite
from .ops import find
from .reader import Reader, f64 as f64_bytes, u32, u64

FILES = ("job.yaml", "job.bin", "nonce", "leaves", "rounding-log/frames", "metrics.jsonl")
METRICS = ("step", "loss", "loss_bits", "lr", "seconds", "platform")


class Run:
    """The bytes of a run. Every check raises Refused, beginning with the file that does not fit."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.file = {name: self.read(name) for name in FILES}
        self.read_identity()
        self.read_leaves()
        self.init, self.step = guard("job.bin", lambda: models.check_programs(self.job))
        self.products = [i for i, op in enumerate(self.step.ops) if find(op.kind).product]

    def read(self, name):
        path = self.folder / name
        if not path.is_file():
            raise Refused(f"{name}: missing")
        return path.read_bytes()

    def read_identity(self):
        self.job = guard("job.bin", lambda: jobs.decode(self.file["job.bin"]))
        text = guard("job.yaml", lambda: self.file["job.yaml"].decode())
        guard("job.yaml", lambda: jobs.check_yaml(text, self.job))
        if self.job["arithmetic.threshold"] == "adaptive":
            if merkle.tagged("ls1/thresholds", self.read("thresholds.json")).hex() != self.job["arithmetic.digest"]:
                raise Refused("thresholds.json: not the file whose digest the job holds")
        if not re.fullmatch(rb"[0-9a-f]{64}\n", self.file["nonce"]):
            raise Refused("nonce: not 64 lower-case hex digits and a newline")
        self.job_id = jobs.job_id(self.file["job.bin"])
        self.id = leaves.run_id(self.job_id, self.job["trainer"], bytes.fromhex(self.file["nonce"].decode()))

    def steps(self, leaf):
        """First and last step of leaf i ≥ 1."""
        k = self.job["train.commit_every"]
        return (leaf - 1) * k + 1, min(leaf * k, self.job["steps"])

    def read_leaves(self):
        r, self.leaf_bytes, self.leaf = Reader(self.file["leaves"], "leaves"), [], []
        most = -(-self.job["steps"] // self.job["train.commit_every"]) + 1
        while not r.done():
            data = r.take(r.u32())
            leaf = guard("leaves", lambda: leaves.read_leaf(data))
            i = len(self.leaf)
            if i == most:
                raise Refused("leaves: more than the job allows")
            if leaf["run"] != self.id or ("job" in leaf) != (i == 0) or leaf.get("job", self.job_id) != self.job_id:
                raise Refused(f"leaves: leaf {i}: of another run, job or kind")
            if leaf["step"] != (self.steps(i)[1] if i else 0):
                raise Refused(f"leaves: leaf {i}: step {leaf['step']}")
            self.leaf_bytes.append(data)
            self.leaf.append(leaf)
        if not self.leaf:
            raise Refused("leaves: none")
        self.root = merkle.head(self.leaf_bytes)

    def logged(self):
        return self.job["arithmetic.mode"] == "logged"

    # ---- heads ----

    def check_heads(self):
        sizes = sorted(int(p.name) for p in (self.folder / "heads").glob("*") if re.fullmatch("[1-9][0-9]*", p.name))
        for size in sizes:
            name = f"heads/{size}"
            run, found, root = guard(name, lambda: leaves.read_head(self.read(name)))
            if run != self.id or found != size:
                raise Refused(f"{name}: of another run or size")
            if size > len(self.leaf):
                raise Refused(f"leaves: {len(self.leaf)}, and {name} promises {size}")
            if merkle.head(self.leaf_bytes[:size]) != root:
                raise Refused(f"leaves: the first {size} do not hash to {name}")
        if len(self.leaf) not in sizes:
            raise Refused(f"heads: none over all {len(self.leaf)} leaves")

    # ---- rounding log ----

    def read_log(self):
        """Per leaf ≥ 1 a dictionary (step, op) → {element: bit}, each block checked against its leaf."""
        r, out = Reader(self.file["rounding-log/frames"], "rounding-log/frames"), []
        for i in range(1, len(self.leaf)):
            if r.u64() != i:
                raise Refused(f"rounding-log/frames: the block of leaf {i} does not begin at byte {r.at - 8}")
            out.append(self.read_block(i, r.take(r.u64())))
        r.end()
        return out

    def read_block(self, i, data):
        r, found, hashed = Reader(data, f"rounding-log/frames: leaf {i}"), {}, []
        first, last = self.steps(i)
        for step in range(first, last + 1) if self.logged() else ():
            for op in self.products:
                found[step, op] = self.read_frames(r, step, op, hashed)
        r.end()
        if merkle.head(hashed) != self.leaf[i]["log"]:
            raise Refused(f"rounding-log/frames: the block of leaf {i} does not hash to the leaf's log root")
        return found

    def read_frames(self, r, step, op, hashed):
        count, found = self.step.values[self.step.ops[op].outputs[0]].count, {}
        for frame in range(-(-count // leaves.FRAME)):
            data, start = r.take(r.u32()), frame * leaves.FRAME
            for index, bit in entries.decode(data, min(leaves.FRAME, count - start), self.job["arithmetic.encoding"]):
                found[start + index] = bit
            hashed.append(leaves.log_leaf(step, op, frame, data))
        return found

    # ---- metrics ----

    def check_metrics(self):
        lines = self.file["metrics.jsonl"].split(b"\n")
        if lines.pop() != b"" or len(lines) != self.leaf[-1]["step"]:
            raise Refused(f"metrics.jsonl: not one line for each of {self.leaf[-1]['step']} steps")
        for i in range(1, len(self.leaf)):
            first, last = self.steps(i)
            data = b"".join(self.metrics_bytes(step, lines[step - 1]) for step in range(first, last + 1))
            if merkle.tagged("ls1/metrics", data) != self.leaf[i]["metrics"]:
                raise Refused(f"metrics.jsonl: steps {first} to {last} do not hash to leaf {i}'s metrics digest")

    @staticmethod
    def metrics_bytes(step, line):
        try:
            m = json.loads(line)
        except ValueError as why:
            raise Refused(f"metrics.jsonl: line {step}: {why}") from None
        good = isinstance(m, dict) and tuple(m) == METRICS and m["step"] == step
        if not good or not re.fullmatch("[0-9a-f]{8}", str(m["loss_bits"])):
            raise Refused(f"metrics.jsonl: line {step}: other members than {', '.join(METRICS)} of step {step}")
        loss = int(m["loss_bits"], 16)
        if m["loss"] != (f32(loss) if is_finite(loss) else None) or not isinstance(m["lr"], float):
            raise Refused(f"metrics.jsonl: line {step}: loss and loss_bits, or the rate")
        return u64(step) + u32(loss) + f64_bytes(m["lr"])

    # ---- snapshots ----

    def check_snapshots(self):
        steps = sorted(int(p.name) for p in (self.folder / "snapshots").glob("*") if re.fullmatch("[0-9]{10}", p.name))
        last = self.leaf[-1]["step"]
        if 0 not in steps or (last == self.job["steps"] and last not in steps):
            raise Refused("snapshots: that of step 0 or of the last step is missing")
        for step in steps:
            self.check_snapshot(step)
        return steps

    def check_snapshot(self, step):
        name = f"snapshots/{step:010}"
        state = [leaf["state"] for leaf in self.leaf if leaf["step"] == step]
        if not state:
            raise Refused(f"{name}: the run has no leaf after step {step}")
        tensors = self.read_snapshot(name, step)
        entry = [(v.name, v.dtype, v.shape, leaves.tensor_root(words)) for v, words in zip(self.step.values, tensors)]
        if leaves.state_root(entry) != state[0]:
            raise Refused(f"{name}: its state root is not that of its leaf")
        return tensors

    def read_snapshot(self, name, step):
        r, out = Reader(self.read(name), name), []
        r.expect(b"ls1/snapshot" + u64(step) + u32(self.step.states))
        for v in self.step.values[:self.step.states]:
            r.expect(leaves.tensor_entry(v.name, v.dtype, v.shape, b""))
            data = r.take(4 * v.count)
            out.append([int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4)])
        r.end()
        return out


def guard(name, check):
    """Names the file in what `check` refuses."""
    try:
        return check()
    except (Refused, UnicodeDecodeError) as why:
        raise Refused(f"{name}: {why}") from None


def check_run(folder):
    """The run, everything of it checked that can be without data and without computing a step."""
    run = Run(folder)
    run.check_heads()
    run.check_metrics()
    run.log = run.read_log()
    run.snapshots = run.check_snapshots()
    return run
