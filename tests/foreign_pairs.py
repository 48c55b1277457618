#!/usr/bin/env python3
"""Runs that this machine trains and another kind of processor audits, and the other way round; called by scripts/foreign.

    foreign_pairs.py --build DIR --run-with "qemu-ARCH -L SYSROOT" [--networks mlp,…]   (LOCKSTEP_BUILD: the build for this machine)

1. Mode logged: each side trains small networks, on native and on naive, here also on openblas; the other side's replay has the
   trainer's root. A bfloat16 job with FP32 sums must need corrections, else it shows nothing.
2. Modes exact and pinned: the two sides' own runs have one root.
3. A lie told here is found there, at its step; forged entries under their name.

The emulated program is build/tests/untested, lockstep without the self-test, which scripts/foreign has run before.
"""
import argparse
import pathlib
import shlex

from digests import NONCE
from harness import CHEAT, LOCKSTEP, Folder, Report, noise_data, run, sets, write_job

NETWORKS = [  # arch, steps, batch, more of model
    ("mlp", 3, 8, ", hidden: [300]"), ("lenet5", 2, 4, ", activation: tanh"), ("vgg11", 1, 2, ", width: 0.1"),
    ("resnet18", 1, 2, ", width: 0.08"),
]
COARSE = sets(arithmetic__grid=16, arithmetic__compute="fp32")


class Sides:
    def __init__(self, build, run_with):
        self.here = [LOCKSTEP]
        self.there = [*shlex.split(run_with), pathlib.Path(build) / "tests" / "untested"]

    def call(self, side, *words):
        return run([*side, *words, "--threads", 1, "--json"], timeout=7200)


def crosswise(report, sides, folder, job, data, words, trainers):
    """Every trainer's run, audited on the other side; returns all corrections."""
    corrections = 0
    for number, (trainer, auditor, platform, other) in enumerate(trainers):
        out = folder / f"{job.stem}-{number}-{len(words)}"
        made = sides.call(trainer, "train", job, "--run", out, "--nonce", NONCE, "--data", data, "--platform", platform, *words)
        what = f"{job.stem} {' '.join(map(str, words))}, {platform} {'here' if trainer is sides.here else 'there'}"
        if not report.check(made.code == 0 and made["complete"], f"{what}: training", made):
            continue
        audit = sides.call(auditor, "audit", out, "--data", data, "--platform", other)
        good = audit.code == 0 and audit["verdict"] == "match" and made["root"] == audit["replayed_root"]
        report.check(good, f"{what}: expected the auditor's root on {other} on the other side to be the trainer's", audit)
        corrections += audit["corrections"] or 0
    return corrections


def same_roots(report, sides, folder, job, data):
    for mode in ("exact", "pinned"):
        roots = []
        for number, side in enumerate((sides.here, sides.there)):
            made = sides.call(side, "train", job, "--run", folder / f"{job.stem}-{mode}-{number}", "--nonce", NONCE, "--data", data,
                              *sets(arithmetic__mode=mode))
            report.check(made.code == 0 and made["root"], f"{job.stem}, {mode}: training", made)
            roots.append((made["root"], made["state_root"]))
        report.check(roots[0] == roots[1], f"{job.stem}, {mode}: expected one root on both sides: {roots}")
        other = sides.call(sides.there, "train", job, "--run", folder / f"{job.stem}-{mode}-twin", "--nonce", NONCE, "--data", data,
                           *sets(arithmetic__mode=mode, train__seed=8))
        report.check(other.code == 0 and other["state_root"] != roots[0][1], f"{job.stem}, {mode}: another seed, another state", other)


def lies(report, sides, folder, job, data):
    for lie, verdicts in (("forge-entry", ("forged-rounding-log",)), ("edit-weight", ("mismatch", "forged-rounding-log"))):
        out = folder / f"lie-{lie}"
        told = run([CHEAT, "train", job, "--run", out, "--data", data, "--platform", "native", "--threads", 1, "--lie", lie, "--at", 2, "--json"])
        if report.check(told.code == 0, f"{lie}: telling it", told):
            audit = sides.call(sides.there, "audit", out, "--data", data)
            report.check(audit.code == 1 and audit["verdict"] in verdicts and audit["first_bad_step"] == 2, f"{lie}: expected {verdicts} in step 2", audit)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--run-with", required=True)
    parser.add_argument("--networks", default=",".join(n[0] for n in NETWORKS))
    options = parser.parse_args()
    sides, report = Sides(options.build, options.run_with), Report("foreign_pairs")
    here, there = sides.here, sides.there
    with Folder() as folder:
        noise_data(folder / "small", 40)
        noise_data(folder / "wide", 40, side=32)
        for arch, steps, batch, words in (n for n in NETWORKS if n[0] in options.networks.split(",")):
            data = folder / ("small" if arch in ("mlp", "lenet5") else "wide")
            job = write_job(folder / f"{arch}.yaml", arch=arch, steps=steps, batch=batch, model=words)
            pairs = [(here, there, "openblas", "native"), (there, here, "native", "openblas")]
            if arch == "mlp":
                pairs += [(here, there, "naive", "native"), (there, here, "naive", "native"), (here, there, "native", "naive")]
            crosswise(report, sides, folder, job, data, [], pairs)
            same_roots(report, sides, folder, job, data)
            if arch == "mlp":
                corrections = crosswise(report, sides, folder, job, data, COARSE, pairs[2:])
                report.check(corrections > 0, f"{arch} with FP32 sums: expected corrections, else this shows nothing")
                print(f"{arch} with FP32 sums on bfloat16: {corrections} corrections")
                lies(report, sides, folder, job, data)
            print(f"{arch}: both ways", flush=True)
    report.finish()


if __name__ == "__main__":
    main()
