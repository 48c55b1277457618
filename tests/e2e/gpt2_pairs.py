# ctest: labels=full timeout=1800
"""GPT-2 between platforms: a trainer on one, auditors on others, the same bits; dropout on, in every mode that can be audited.

    gpt2_pairs.py [SHAPE…]      these shapes only; "heads" has to be among them for the third part
    gpt2_pairs.py 124M          the last part only

Without words two of the shapes and the parts 1 to 3; with LOCKSTEP_EXHAUSTIVE=1 (test e2e.gpt2_pairs_all) everything.

1. Small models of every shape that matters: several heads and one, odd sizes, sequences beyond the 256 terms of a block, a
   batch in parts with clipped gradients. Every platform trains, a ring of others audits. Twins: another seed, another share
   of dropout, and no dropout end in other states.
2. FP32 sums on the bfloat16 grid, mode logged: auditors on other platforms need corrections, and match. Its twin, mode
   plain, ends apart.
3. A text that a run's model writes is the same on every platform; another seed gives another one.
4. The 124M preset, two steps of 8 sequences of 64 tokens, between native and OpenBLAS: in every mode either trains and the other
   audits; in exact and pinned both end in one state. Plain ends apart. Tokens are noise; about 4 GB of memory and of disk.
"""
import os
import random
import shutil
import struct
import sys

from harness import LOCKSTEP, Folder, Report, lockstep, noise_data, run, sets
from pairs import NONCE, PLATFORMS, in_parallel, on, usable

JOB = """lockstep: 1
name: {name}
model: {{arch: gpt2, layers: {layers}, heads: {heads}, embedding: {embedding}, context: {context}, vocab: 256, dropout: 0.1}}
data: {{format: text, path: "builtin:verses", length: {length}, holdout: 0.1}}
train: {{steps: {steps}, batch: {batch}, seed: 3, commit_every: 2, accumulate: {parts}}}
optimizer: {{name: {optimizer}, lr: 0.003, weight_decay: 0.1, clip: {clip}}}
schedule: {{name: linear, warmup: 1}}
"""
SHAPES = {
    "heads": {"layers": 2, "heads": 4, "embedding": 32, "context": 40, "length": 33, "batch": 4, "steps": 4},
    "one-head": {"layers": 1, "heads": 1, "embedding": 21, "context": 19, "length": 19, "batch": 3, "steps": 3, "optimizer": "adam"},
    "long": {"layers": 1, "heads": 2, "embedding": 12, "context": 300, "length": 300, "batch": 2, "steps": 2},
    "parts": {"layers": 2, "heads": 2, "embedding": 16, "context": 16, "length": 16, "batch": 6, "steps": 4, "parts": 3, "clip": 0.5},
}


def write(folder, name, **fields):
    path = folder / f"{name}.yaml"
    path.write_text(JOB.format(**{"name": name, "parts": 1, "clip": 0, "optimizer": "adamw"} | fields))
    return path


def train(platforms, job, folder, words):
    return in_parallel([(p[0], lambda p=p, i=i: on(p, 1 + i % 2, "train", job, "--run", folder / p[0], "--nonce", NONCE, *words))
                        for i, p in enumerate(platforms)])


def audit_ring(report, title, platforms, folder):
    """Every run by the next two platforms in the list. Returns the corrections."""
    pairs = [(t, platforms[(i + k) % len(platforms)]) for i, t in enumerate(platforms) for k in (1, 2)]
    audits = in_parallel([((t[0], a[0]), lambda t=t, a=a: on(a, 2, "audit", folder / t[0])) for t, a in pairs])
    for (trainer, auditor), result in audits.items():
        good = result.code == 0 and result["verdict"] == "match" and result["root"] == result["replayed_root"]
        report.check(good, f"{title}: trained on {trainer}, audited on {auditor}: expected a match", result)
    return sum(result["corrections"] or 0 for result in audits.values())


def shapes(report, folder, platforms, names):
    for name in names:
        fields = SHAPES[name]
        job = write(folder, name, **fields)
        for mode in ("logged", "exact", "pinned"):
            place, words = folder / f"{name}-{mode}", sets(arithmetic__mode=mode)
            place.mkdir()
            runs = train(platforms, job, place, words)
            for platform, run in runs.items():
                report.check(run.code == 0, f"{name}, {mode}: training on {platform}", run)
            states = {platform: run["state_root"] for platform, run in runs.items()}
            report.check(len(set(states.values())) == 1, f"{name}, {mode}: expected one state on all platforms: {states}")
            corrections = audit_ring(report, f"{name}, {mode}", platforms, place)
            print(f"{name:<9} {mode:<7} {len(runs)} platforms, {2 * len(runs)} audits, corrections {corrections}", flush=True)
            twins(report, f"{name}, {mode}", job, place, words, set(states.values()))


def twins(report, title, job, place, words, states):
    for twin in ({"train__seed": 4}, {"model__dropout": 0.2}, {"model__dropout": 0}):
        run = lockstep("train", job, "--run", place / f"twin{len(states)}", "--nonce", NONCE, *words, *sets(**twin))
        report.check(run.code == 0 and run["state_root"] not in states, f"{title}: expected another state with {twin}", run)
        states.add(run["state_root"])


def grids(report, folder, platforms):
    job = write(folder, "bfloat16", **SHAPES["heads"])
    words = sets(arithmetic__grid=16, arithmetic__compute="fp32")
    for mode in ("logged", "plain"):
        place = folder / f"bfloat16-{mode}"
        place.mkdir()
        runs = train(platforms, job, place, [*words, *sets(arithmetic__mode=mode)])
        for platform, run in runs.items():
            report.check(run.code == 0, f"bfloat16, {mode}: training on {platform}", run)
        if mode == "logged":
            corrections = audit_ring(report, "bfloat16", platforms, place)
            report.check(corrections > 0, "bfloat16: expected corrections between platforms")
            print(f"bfloat16  FP32 sums: corrections {corrections}", flush=True)
        else:
            report.check(len({run["state_root"] for run in runs.values()}) > 1, "bfloat16, plain: all platforms agree, so nothing shows")


def texts(report, folder, platforms):
    words = ("sample", folder / "heads-exact" / platforms[0][0], "--prompt", "The ", "--tokens", 40, "--temperature", 0.9, "--top-k", 60)
    written = {p[0]: on(p, 1, *words)["text"] for p in platforms}
    report.check(len(set(written.values())) == 1 and len(next(iter(written.values())) or "") > 30, f"one text everywhere: {written}")
    other = on(platforms[0], 1, *words, "--seed", 2)["text"]
    report.check(other and other not in written.values(), "another seed, another text")


LARGE = """lockstep: 1
name: gpt2-124m
model: {{arch: gpt2, preset: 124M, dropout: 0.1}}
data: {{format: tokens, path: {tokens}, length: 64}}
train: {{steps: 2, batch: 8, seed: 1, commit_every: 1}}
optimizer: {{name: adamw, lr: 5.0e-5, weight_decay: 0.01}}
"""


def patiently(platform, *words):
    """A step takes ten seconds of a processor, and minutes where others use it, too."""
    return run([LOCKSTEP, *words, "--platform", platform[1], "--threads", 1, "--json"], platform[2], timeout=1800)


def large_run(report, folder, job, mode, trainer, auditor):
    """The state that the trainer ends in; nothing of its run stays."""
    place = folder / f"124M-{mode}-{trainer[0]}"
    trained = patiently(trainer, "train", job, "--run", place, "--nonce", NONCE, "--snapshots", "last:1", *sets(arithmetic__mode=mode))
    report.check(trained.code == 0 and trained["steps"] == 2, f"124M, {mode}: training on {trainer[0]}", trained)
    if auditor:
        result = patiently(auditor, "audit", place)
        good = result.code == 0 and result["verdict"] == "match" and result["root"] == result["replayed_root"]
        report.check(good, f"124M, {mode}: trained on {trainer[0]}, audited on {auditor[0]}: expected a match", result)
        print(f"124M      {mode:<7} {trainer[0]} -> {auditor[0]}: {result['verdict']}, {trained['log_entries'] or 0} entries in "
              f"{trained['log_bytes'] or 0} bytes, corrections {result['corrections'] or 0}", flush=True)
    shutil.rmtree(place, ignore_errors=True)
    return trained["state_root"]


def large(report, folder, platforms):
    native, blas = ([p for p in platforms if p[1] == name][-1] for name in ("native", "openblas"))  # the widest instructions
    draw = random.Random(7)
    (folder / "tokens.bin").write_bytes(b"".join(struct.pack("<H", draw.randrange(50257)) for _ in range(64 * 64 + 1)))
    job = folder / "124M.yaml"
    job.write_text(LARGE.format(tokens=folder / "tokens.bin"))
    ends = {}
    for mode in ("exact", "pinned", "plain", "logged"):
        audited = mode != "plain"
        both = [large_run(report, folder, job, mode, native, audited and blas),
                large_run(report, folder, job, mode, blas, audited and native)]
        ends[mode] = set(both)
        if mode != "logged":  # where each trainer has its own log, and may have rounded an element the other way
            report.check((len(ends[mode]) == 1) == audited, f"124M, {mode}: found the states {both}")
    report.check(ends["exact"] != ends["pinned"], "124M: exact and pinned end in one state, so nothing shows")


def main():
    report = Report("gpt2_pairs")
    words, everything = sys.argv[1:], os.environ.get("LOCKSTEP_EXHAUSTIVE") == "1"
    with Folder(large=True) as folder:
        noise_data(folder / "noise", 64)
        platforms = usable(report, [p for p in PLATFORMS if p[0] in ("avx2", "avx512", "Haswell", "Prescott", "naive")], folder)
        if words != ["124M"]:
            shapes(report, folder, platforms, words or (SHAPES if everything else ["heads", "parts"]))
            grids(report, folder, platforms)
            texts(report, folder, platforms)
        if everything or words == ["124M"]:
            large(report, folder, platforms)
    report.finish()


if __name__ == "__main__":
    main()
