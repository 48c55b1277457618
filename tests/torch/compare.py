#!/usr/bin/env python3
"""Trains the same models from the same weights on the same batches with Lockstep and with PyTorch, in FP32 and in FP64,
and says how far Lockstep and PyTorch FP32 come to lie from PyTorch FP64.

    compare.py --lockstep BINARY [--case NAME]... [--markdown]

Three distances to PyTorch's FP64 run, whose own error is negligible here:
  loss      |l - l64| / |l64|
  gradient  of step 1 (the momentum buffer after it, there being no weight decay), L2 over all parameters, relative
  weights   L2 over all parameters and running statistics, relative to how far FP64 has moved them from the start

Where the bound comes from. Training amplifies any disturbance, and by how much nobody knows beforehand. So it is
measured: FP64 runs start from weights that are off by up to one FP32 rounding each (uniformly within 2^-24, relative), and
the largest distance among three of them is the *noise* of one rounding at that step. Lockstep rounds every value once, to
FP32; a pass forward and back through L layers that make V values each is about 2·V·L roundings one after another,
independent ones, whose noise adds up like a random walk: √(2·V·L) times that of one rounding. ResNet-18 has L = 18
convolutions and V = 6 values per layer (product, mean, variance, root, norm, ReLU), so 15 times; VGG-11 has L = 9, V = 3,
so 8 times. BOUND = 16 covers both. Lockstep's gradient must also be nearer to FP64 than PyTorch's FP32 gradient is; the
other quantities of PyTorch FP32 are printed beside. (A loss is stored rounded, and so are weights: where a run has hardly
moved, both lie equally far off.)

A ReLU whose argument changes sign moves a gradient by a jump that says nothing about precision. Batches are small enough
that none is expected: about 10⁵ arguments, 10⁻⁷ of which lie within reach.

Twins that must fall outside the bound: Lockstep on the TF32 grid, and Lockstep with momentum 0.899.
Exit code 0, 1 for a failure, 77 where torch is missing.
"""
import argparse
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"SKIPPED: no comparison with PyTorch, {missing}\n  hint: scripts/install-deps --torch, and run this with /usr/bin/python3")
    sys.exit(77)

import models
import snapshot

BOUND = 16.0
MOMENTUM, LR, MEAN, STD, CLASSES = 0.9, 0.004, 90.0, 80.0, 10
CASES = {  # arch, width, side of the images, batch, steps
    "resnet18-quarter": ("resnet18", 0.25, 16, 8, 10),
    "vgg11-quarter": ("vgg11", 0.25, 32, 16, 10),
    "resnet18": ("resnet18", 1.0, 16, 4, 2),
    "lenet5": ("lenet5", 1.0, 28, 16, 10),
}
JOB = """lockstep: 1
name: {name}
model: {{arch: {arch}, classes: 10, width: {width}}}
data: {{format: idx, path: data{side}, mean: 90, std: 80, limit: {batch}}}
train: {{steps: {steps}, batch: {batch}, seed: 3}}
optimizer: {{name: sgd, lr: 0.004, momentum: 0.9}}
arithmetic: {{mode: logged}}
"""


# ---- Lockstep ----

def write_data(folder, side, count=64):
    """Noise on a ground that depends on the class."""
    draw, labels = numpy.random.default_rng(11), numpy.arange(count) % CLASSES
    images = (draw.integers(0, 120, (count, side, side)) + 12 * labels[:, None, None]).astype(numpy.uint8)
    folder.mkdir()
    for prefix, n in (("train", count), ("t10k", CLASSES)):
        head = struct.pack(">IIII", 0x803, n, side, side)
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(head + images[:n].tobytes())
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, n) + bytes(labels[:n].tolist()))


def train(lockstep, folder, name, case, **fields):
    """Runs a job whose batch is its whole data set, so that the order of samples changes nothing but sums."""
    arch, width, side, batch, steps = case
    job = folder / f"{name}.yaml"
    job.write_text(JOB.format(side=side, name=name, arch=arch, width=width, batch=batch, steps=steps))
    words = [lockstep, "train", job, "--run", folder / name, "--snapshots", "all", "--json"]
    for key, value in fields.items():
        words += ["--set", f"{key.replace('__', '.')}={value}"]
    process = subprocess.run([str(w) for w in words], capture_output=True, text=True, env={**os.environ, "LOCKSTEP_DATA": str(folder)})
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{process.stdout}{process.stderr}")
    return {"loss": snapshot.read_losses(folder / name),
            "state": [snapshot.read_snapshot(folder / name, step) for step in range(steps + 1)]}


# ---- PyTorch ----

def batch_of(folder, case):
    """As op load makes it: FP64 arithmetic on bytes, rounded to FP32."""
    images, labels = snapshot.read_idx(folder / f"data{case[2]}")
    x = ((images[:case[3]].astype(numpy.float64) - MEAN) / STD).astype(numpy.float32)
    return torch.tensor(x[:, None]), torch.tensor(labels[:case[3]].astype(numpy.int64))


def start_from(model, state):
    """Loads exactly the model's tensors; a name or a shape that differs is an error."""
    wanted = {k: v for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")}
    given = {k: v for k, v in state.items() if not k.endswith(".momentum")}
    if wanted.keys() != given.keys():
        raise ValueError(f"names differ: {sorted(wanted.keys() ^ given.keys())}")
    with torch.no_grad():
        for name, tensor in wanted.items():
            if tuple(tensor.shape) != given[name].shape:
                raise ValueError(f"{name}: {tuple(tensor.shape)} and {given[name].shape}")
            tensor.copy_(torch.tensor(given[name]))


def disturb(model, seed):
    """Moves every parameter by at most one rounding to FP32."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1 + (2 * torch.rand(p.shape, generator=generator, dtype=torch.float64) - 1) * 2.0**-24)


def state_of(model, optimizer):
    state = {k: v.detach().double().numpy().copy() for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")}
    for name, p in model.named_parameters():
        buffer = optimizer.state[p].get("momentum_buffer") if optimizer.state else None
        state[name + ".momentum"] = (torch.zeros_like(p) if buffer is None else buffer).double().numpy().copy()
    return state


def torch_run(case, batch, start, dtype, noise=None):
    arch, width, side, _, steps = case
    model = models.build(arch, 1, side, CLASSES, width).to(dtype)
    start_from(model, start)
    if noise is not None:
        disturb(model, noise)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
    x, labels, run = batch[0].to(dtype), batch[1], {"loss": [], "state": [state_of(model, optimizer)]}
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run["loss"].append(loss.item())
        run["state"].append(state_of(model, optimizer))
    return run


# ---- distances ----

def norm(tensors):
    return sum(float(numpy.sum(numpy.square(t, dtype=numpy.float64))) for t in tensors)**0.5


def differences(a, b, names):
    return [a[n].astype(numpy.float64) - b[n].astype(numpy.float64) for n in names]


def distances(run, truth, step):
    """How far `run` lies from `truth` after `step`."""
    a, b, start = run["state"][step], truth["state"][step], truth["state"][0]
    weights = [n for n in b if not n.endswith(".momentum")]
    gradients = [n for n in b if n.endswith(".momentum")]
    loss = truth["loss"][step - 1]
    found = {"loss": abs(run["loss"][step - 1] - loss) / abs(loss),
             "weights": norm(differences(a, b, weights)) / norm(differences(b, start, weights))}
    if step == 1:
        found["gradient"] = norm(differences(a, b, gradients)) / norm(b[n] for n in gradients)
    return found


def compare(lockstep, folder, name, case, checks):
    """Rows (case, step, quantity, Lockstep, PyTorch FP32, noise)."""
    batch, steps = batch_of(folder, case), case[4]
    ours = train(lockstep, folder, name, case)
    start = ours["state"][0]
    truth, single = torch_run(case, batch, start, torch.float64), torch_run(case, batch, start, torch.float32)
    noisy = [torch_run(case, batch, start, torch.float64, seed) for seed in (1, 2, 3)]
    rows = []
    for step in (1, steps):
        mine, theirs = distances(ours, truth, step), distances(single, truth, step)
        noises = [distances(n, truth, step) for n in noisy]
        for what in mine:
            noise = max(n[what] for n in noises)
            floor = 2.0**-24 if what == "loss" else 0  # a loss is itself rounded once
            checks.append((mine[what] <= BOUND * noise + floor,
                           f"{name}, step {step}: {what} off by {mine[what]:.3g}, expected at most {BOUND} × {noise:.3g}"))
            if what == "gradient":
                checks.append((mine[what] <= theirs[what], f"{name}: gradient off by {mine[what]:.3g}, PyTorch FP32 by only {theirs[what]:.3g}"))
            rows.append((name, step, what, mine[what], theirs[what], noise))
    return rows, truth


def check_twins(lockstep, folder, name, case, truth, checks):
    """What is not the same training must not pass for it."""
    noise = [torch_run(case, batch_of(folder, case), read_start(truth), torch.float64, seed) for seed in (1, 2, 3)]
    limit = BOUND * max(distances(n, truth, case[4])["weights"] for n in noise)
    for twin, fields in {"tf32": {"arithmetic__grid": 19}, "momentum": {"optimizer__momentum": 0.899}}.items():
        found = distances(train(lockstep, folder, f"{name}-{twin}", case, **fields), truth, case[4])["weights"]
        checks.append((found > limit, f"{name} with {twin}: weights off by only {found:.3g}, expected more than {limit:.3g}"))


def read_start(truth):
    return {k: v.astype(numpy.float32) for k, v in truth["state"][0].items()}


# ---- report ----

def print_rows(rows, markdown):
    if markdown:
        print("| model | step | | Lockstep | PyTorch FP32 | Lockstep / PyTorch | noise of one rounding |\n|---|---|---|---|---|---|---|")
    for name, step, what, mine, theirs, noise in rows:
        share = f"{mine / theirs:.2f}" if theirs else "-"
        if markdown:
            print(f"| {name} | {step} | {what} | {mine:.1e} | {theirs:.1e} | {share} | {noise:.1e} |")
        else:
            print(f"{name:18s} step {step:2d} {what:9s} Lockstep {mine:.2e}  PyTorch FP32 {theirs:.2e}  ratio {share:>6s}  noise {noise:.2e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", type=pathlib.Path, required=True)
    parser.add_argument("--case", action="append", choices=list(CASES), help="only these")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    checks, rows = [], []
    with tempfile.TemporaryDirectory(prefix="lockstep-torch-") as path:
        folder = pathlib.Path(path)
        for side in {case[2] for case in CASES.values()}:
            write_data(folder / f"data{side}", side)
        for name in options.case or CASES:
            found, truth = compare(options.lockstep, folder, name, CASES[name], checks)
            rows += found
            if name.endswith("-quarter"):
                check_twins(options.lockstep, folder, name, CASES[name], truth, checks)
    print_rows(rows, options.markdown)
    for good, text in checks:
        if not good:
            print(f"FAILED {text}")
    print(f"compare: {len(checks)} checks, {sum(not good for good, _ in checks)} failures")
    sys.exit(0 if checks and all(good for good, _ in checks) else 1)


if __name__ == "__main__":
    main()
