#!/usr/bin/env python3
"""GPT-2 beside PyTorch, from the same weights on the same batches, dropout 0: logits, loss and every gradient tensor of step 1,
all weights after ten steps of AdamW; a model of four layers, and with --large the 124M preset for one step.

    gpt2.py --build FOLDER [--large] [--markdown]

As in compare.py the truth is PyTorch's FP64 run, and the bound a multiple of the *noise*: the largest distance among three (124M:
one) FP64 runs whose weights start off by up to one FP32 rounding each. A block makes about 20 values one after another, each rounded
once, forward and back: √(2·20·L) roundings' noise, 13 for L = 4 and 22 for L = 12. BOUND = 32 covers both. A gradient tensor that is
zero but for rounding (the keys' biases: softmax does not see them) has no relative error; all distances of gradients are therefore
relative to the largest L2 norm among the tensors of its kind, matrices or vectors, per element. Lockstep as a whole must be nearer to
FP64 than PyTorch's FP32 is: over all gradients, and the logits.

Twins that must fall outside: Lockstep on the TF32 grid; labels that are shifted twice; no weight decay.
Exit code 0, 1 for a failure, 77 where torch is missing.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"SKIPPED: no comparison of GPT-2 with PyTorch, {missing}\n  hint: scripts/install-deps --torch, and run this with /usr/bin/python3")
    sys.exit(77)

import gpt2_model
import snapshot

BOUND, LR, DECAY = 32.0, 0.001, 0.1
SMALL = {"sizes": (4, 4, 64, 48, 300), "length": 40, "batch": 4, "steps": 10, "noises": 3,
         "model": "layers: 4, heads: 4, embedding: 64, context: 48, vocab: 300"}
LARGE = {"sizes": (12, 12, 768, 1024, 50257), "length": 64, "batch": 8, "steps": 1, "noises": 1, "model": "preset: 124M"}
JOB = """lockstep: 1
name: {name}
model: {{arch: gpt2, {model}}}
data: {{format: tokens, path: {tokens}, length: {length}, limit: {batch}}}
train: {{steps: {steps}, batch: {batch}, seed: 5}}
optimizer: {{name: adamw, lr: {lr}, weight_decay: {decay}}}
arithmetic: {{mode: exact, grid: {grid}}}
"""


def run(words):
    process = subprocess.run([str(w) for w in words], capture_output=True, text=True, env={k: v for k, v in os.environ.items() if k != "LOCKSTEP_DATA"})
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{process.stdout}{process.stderr}")


def ours(build, folder, name, case, grid=32, decay=DECAY):
    """The batch is the whole data set, so the order of samples changes nothing but sums."""
    place = folder / name
    (place / "step1").mkdir(parents=True)
    vocab = case["sizes"][4]
    tokens = numpy.random.default_rng(7).integers(0, vocab, case["batch"] * case["length"] + 1, dtype=numpy.uint16)
    tokens.tofile(place / "tokens.bin")
    job = place / "job.yaml"
    job.write_text(JOB.format(name=name, tokens=place / "tokens.bin", lr=LR, decay=decay, grid=grid,
                              **{k: case[k] for k in ("model", "length", "batch", "steps")}))
    run([build / "tests" / "dump_step", job, place / "step1"])
    run([build / "lockstep", "train", job, "--run", place / "run", "--snapshots", "all", "--threads", 1])

    def value(key, dtype="<f4"):
        return numpy.fromfile(place / "step1" / key, dtype)
    start = snapshot.read_snapshot(place / "run", 0)
    end = snapshot.read_snapshot(place / "run", case["steps"])
    weights = [n for n in start if ".moment" not in n]
    shape = case["batch"], case["length"]
    return {"x": value("x", "<i4").reshape(shape), "labels": value("x.labels", "<i4").reshape(shape), "stream": tokens,
            "logits": value("logits"), "loss": float(value("loss")[0]), "start": {n: start[n] for n in weights},
            "gradient": {n: value(f"grad.{n}").reshape(start[n].shape) for n in weights}, "end": {n: end[n] for n in weights}}


def theirs(case, mine, dtype, noise=None):
    model = gpt2_model.Gpt2(*case["sizes"]).to(dtype)
    state = {n: torch.tensor(w, dtype=dtype) for n, w in mine["start"].items()}
    if noise is not None:
        generator = torch.Generator().manual_seed(noise)
        state = {n: w * (1 + (2 * torch.rand(w.shape, generator=generator, dtype=dtype) - 1) * 2.0**-24) for n, w in state.items()}
    model.load_state_dict(state)  # strict: names and shapes are the same, or this fails
    optimizer = gpt2_model.optimizer(model, LR, DECAY)
    x, labels = torch.tensor(mine["x"].astype(numpy.int64)), torch.tensor(mine["labels"].astype(numpy.int64))
    found = {}
    for step in range(case["steps"]):
        optimizer.zero_grad()
        logits = model(x)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        loss.backward()
        if not step:
            found = {"logits": logits.detach().double().numpy().ravel(), "loss": loss.item(),
                     "gradient": {n: p.grad.double().numpy().copy() for n, p in model.named_parameters()}}
        optimizer.step()
    return found | {"end": {n: p.detach().double().numpy().copy() for n, p in model.named_parameters()}}


# ---- distances ----

def norm(tensors):
    return sum(float(numpy.sum(numpy.square(t, dtype=numpy.float64))) for t in tensors)**0.5


def typical(tensors):
    """The largest root mean square."""
    return max(norm([t]) / t.size**0.5 for t in tensors)


def distances(found, truth, start):
    out = {"logits": norm([found["logits"] - truth["logits"]]) / norm([truth["logits"]]),
           "loss": abs(found["loss"] - truth["loss"]) / truth["loss"],
           "gradient": norm(found["gradient"][n] - g for n, g in truth["gradient"].items()) / norm(truth["gradient"].values()),
           "weights": norm(found["end"][n] - w for n, w in truth["end"].items()) / norm(w - start[n] for n, w in truth["end"].items())}
    for rank in (1, 2):
        tensors = {n: g for n, g in truth["gradient"].items() if g.ndim == rank}
        scale = typical(tensors.values())
        out |= {f"gradient of {n}": norm([found["gradient"][n] - g]) / g.size**0.5 / scale for n, g in tensors.items()}
    return out


def compare(build, folder, name, case, checks):
    mine = ours(build, folder, name, case)
    start = {n: w.astype(numpy.float64) for n, w in mine["start"].items()}
    check_shift(mine, checks)
    truth = theirs(case, mine, torch.float64)
    single = distances(theirs(case, mine, torch.float32), truth, start)
    noises = [distances(theirs(case, mine, torch.float64, seed), truth, start) for seed in range(case["noises"])]
    noise = {what: max(n[what] for n in noises) for what in noises[0]}
    found = distances(mine, truth, start)
    for what, far in found.items():
        floor = 2.0**-24 if what == "loss" else 0  # a loss is itself rounded once
        # a tensor that is next to nothing keeps the rounding of its neighbours
        limit = BOUND * max(noise[what], noise["gradient"] if what.startswith("gradient of") else 0) + floor
        checks.append((far <= limit, f"{name}: {what} off by {far:.3g}, expected at most {limit:.3g}"))
    for what in ("logits", "gradient"):
        checks.append((found[what] <= single[what], f"{name}: {what} off by {found[what]:.3g}, PyTorch FP32 by only {single[what]:.3g}"))
    tensors = [w for w in found if w.startswith("gradient of")]
    worst = max(tensors, key=lambda w: found[w] / max(noise[w], noise["gradient"]))
    rows = [(name, what, found[what], single[what], noise[what]) for what in ("logits", "loss", "gradient", worst, "weights")]
    print(f"{name}: {len(tensors)} gradient tensors compared, {len(start)} weights")
    return mine, truth, {what: BOUND * n for what, n in noise.items()}, rows


def check_shift(mine, checks):
    """Sequence i is tokens i·T …, its labels the tokens one further: shifted once, in whichever order the sequences came."""
    length = mine["x"].shape[1]
    rows = {tuple(mine["stream"][i * length:(i + 1) * length + 1].tolist()) for i in range(len(mine["x"]))}
    seen = {(*x.tolist(), int(y[-1])) for x, y in zip(mine["x"], mine["labels"])}
    checks.append((rows == seen and bool((mine["x"][:, 1:] == mine["labels"][:, :-1]).all()), "tokens and labels are those of the stream"))


def twins(build, folder, case, mine, truth, limit, checks):
    start = {n: w.astype(numpy.float64) for n, w in mine["start"].items()}
    tf32 = distances(ours(build, folder, "tf32", case, grid=19), truth, start)
    plain = distances(ours(build, folder, "no-decay", case, decay=0), truth, start)
    shifted = dict(mine, labels=numpy.roll(mine["labels"], -1, axis=1))
    twice = distances(theirs(case, shifted, torch.float64), truth, start)
    for twin, found, what in (("TF32 grid", tf32, "logits"), ("TF32 grid", tf32, "gradient"), ("no decay", plain, "weights"),
                              ("labels shifted twice", twice, "gradient")):
        checks.append((found[what] > limit[what], f"{twin}: {what} off by only {found[what]:.3g}, expected more than {limit[what]:.3g}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--large", action="store_true", help="124M instead of the small model")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    checks = []
    with tempfile.TemporaryDirectory(prefix="lockstep-gpt2-") as path:
        folder = pathlib.Path(path)
        name, case = ("124M", LARGE) if options.large else ("4 layers", SMALL)
        mine, truth, limit, rows = compare(options.build, folder, name.replace(" ", "-"), case, checks)
        if not options.large:
            twins(options.build, folder, case, mine, truth, limit, checks)
    mark = "| {} | {} | {:.1e} | {:.1e} | {:.1e} |" if options.markdown else "{:10s} {:55s} Lockstep {:.2e}  PyTorch FP32 {:.2e}  noise {:.2e}"
    for row in rows:
        print(mark.format(*row))
    for good, text in checks:
        if not good:
            print(f"FAILED {text}")
    print(f"gpt2: {len(checks)} checks, {sum(not good for good, _ in checks)} failures")
    sys.exit(0 if checks and all(good for good, _ in checks) else 1)


if __name__ == "__main__":
    main()
