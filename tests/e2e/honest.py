# ctest: labels=full timeout=900
"""Honest parties are never accused: small jobs drawn at random, trained on one platform and audited on another, in every auditable
mode. Each audit says match, and there is nothing to dispute. The seed of each job is printed; `honest.py SEED …` draws it again.

In make check two seeds per mode; with LOCKSTEP_EXHAUSTIVE=1 (test e2e.honest_all) twenty in every mode.
"""
import os
import random
import sys

from harness import Folder, Report, lockstep, noise_data

ALL = os.environ.get("LOCKSTEP_EXHAUSTIVE") == "1"
MODES = ("logged", "exact", "pinned")
PLATFORMS = ("native", "openblas", "blis", "naive")


def model(draw):
    arch = draw.choice(("logreg", "mlp", "mlp", "lenet5", "lenet5", "resnet18"))  # VGG halves pictures five times, more than 28 pixels bear
    if arch == "mlp":
        return f"{{arch: mlp, classes: 10, hidden: [{', '.join(str(draw.randrange(1, 70)) for _ in range(draw.randrange(1, 4)))}]}}"
    if arch == "resnet18":
        return f"{{arch: {arch}, classes: 10, width: 0.05}}"
    return f"{{arch: {arch}, classes: 10}}"


def optimizer(draw):
    if draw.random() < 0.5:
        momentum = draw.choice((0, 0.9))
        nesterov = ", nesterov: true" if momentum and draw.random() < 0.5 else ""
        return f"{{name: sgd, lr: {draw.choice((0.01, 0.1))}, momentum: {momentum}, weight_decay: {draw.choice((0, 0.001))}{nesterov}}}"
    return f"{{name: {draw.choice(('adam', 'adamw'))}, lr: 0.002}}"


def job(draw, mode, seed):
    """The text of a job file."""
    chosen = model(draw)
    grid = draw.choice((32, 32, 26, 19, 16))
    compute = ", compute: fp32" if mode == "logged" and grid <= 19 and draw.random() < 0.5 else ""
    encoding = f", encoding: {draw.choice(('sparse', 'dense'))}" if mode == "logged" else ""
    schedule = draw.choice(("constant", "cosine"))
    return (f"lockstep: 1\nname: honest-{seed}\nmodel: {chosen}\ndata: {{format: idx, path: data, mean: 70, std: 80}}\n"
            f"train: {{steps: {draw.randrange(1, 7)}, batch: {draw.randrange(1, 17)}, seed: {draw.randrange(2 ** 31)}, "
            f"commit_every: {draw.choice((1, 1, 2, 5))}}}\noptimizer: {optimizer(draw)}\nschedule: {{name: {schedule}}}\n"
            f"arithmetic: {{mode: {mode}, grid: {grid}{compute}{encoding}}}\n")


def check(report, folder, seed, mode):
    draw = random.Random(f"{seed} {mode}")
    path, run = folder / f"{seed}-{mode}.yaml", folder / f"{seed}-{mode}"
    path.write_text(job(draw, mode, seed))
    trainer, auditor = draw.sample(PLATFORMS, 2)
    words = ["--data", folder / "data", "--threads", 1]
    title = f"seed {seed}, {mode}, {trainer} against {auditor}"
    print(title, flush=True)
    done = lockstep("train", path, "--run", run, "--platform", trainer, *words)
    if not report.check(done.code == 0, f"{title}: training\n{path.read_text()}", done):
        return
    kept = run.with_suffix(".kept")
    audit = lockstep("audit", run, "--platform", auditor, "--keep", kept, *words)
    good = audit.code == 0 and audit["verdict"] == "match" and audit["root"] == audit["replayed_root"]
    if not report.check(good, f"{title}: expected a match\n{path.read_text()}", audit):
        return
    done = lockstep("dispute", run, kept, "-o", folder / "none", *words)
    report.check(done.code == 0 and done["verdict"] == "match" and not (folder / "none").exists(), f"{title}: nothing to dispute", done)


def main(seeds):
    report = Report("honest")
    with Folder() as folder:
        noise_data(folder / "data", 64)
        for seed in seeds or range(1, 21 if ALL else 3):
            for mode in MODES:
                check(report, folder, int(seed), mode)
    report.finish()


main(sys.argv[1:])
