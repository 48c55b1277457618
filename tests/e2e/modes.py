# ctest: labels=full timeout=1800
"""Modes exact and pinned: one run root on every platform, instruction set and number of threads.

    modes.py      mlp, LeNet-5 and ResNet-18 on one platform of each kind; with LOCKSTEP_EXHAUSTIVE=1 (test e2e.modes_all) all models on all

1. For each model every platform trains; runs of one nonce must have one root, and no rounding log. A ring of audits
   matches. Twin: the same job with another seed has another root.
2. Gradients that cancel: in mode plain naive ends in other bits than the others, in the two modes nobody does. exact and
   pinned themselves end in different states, else the modes would not be told apart here.
3. The end of a logged run is that of the exact one where no entry overrode R(E).
"""
import os

from harness import Folder, Report, lockstep, noise_data, sets, write_job
from pairs import NONCE, PLATFORMS, cancelling_data, in_parallel, on, usable

ALL = os.environ.get("LOCKSTEP_EXHAUSTIVE") == "1"
SOME = ("portable", "avx2", "avx512", "Haswell", "blis", "naive")
MODES = ("exact", "pinned")
MODELS = [("mlp", 6, 8, ", hidden: [300]"), ("lenet5", 5, 8, ""), ("vgg11", 2, 4, ", width: 0.1"), ("resnet18", 2, 4, ", width: 0.08")]


def train_everywhere(platforms, job, folder, words):
    """Threads from 1 to 4 in turn."""
    return in_parallel([(p[0], lambda p=p, i=i: on(p, 1 + i % 4, "train", job, "--run", folder / p[0], "--nonce", NONCE, *words))
                        for i, p in enumerate(platforms)])


def check_one_root(report, title, runs):
    for name, run in runs.items():
        report.check(run.code == 0, f"{title}: training on {name}", run)
        report.check(run["log_bytes"] == 0 and run["log_entries"] == 0, f"{title}: expected no rounding log on {name}", run)
    roots = {name: run["root"] for name, run in runs.items()}
    report.check(len(set(roots.values())) == 1, f"{title}: expected one root on all platforms: {roots}")


def check_audits(report, title, platforms, folder, words):
    pairs = [(t, platforms[(i + 1) % len(platforms)]) for i, t in enumerate(platforms)]
    audits = in_parallel([((t[0], a[0]), lambda t=t, a=a, i=i: on(a, 1 + i % 4, "audit", folder / t[0], *words))
                          for i, (t, a) in enumerate(pairs)])
    for (trainer, auditor), result in audits.items():
        good = result.code == 0 and result["verdict"] == "match" and result["root"] == result["replayed_root"]
        report.check(good, f"{title}: trained on {trainer}, audited on {auditor}: expected a match", result)
    return audits


def networks(report, folder, platforms, models):
    for arch, steps, batch, words in models:
        job = write_job(folder / f"{arch}.yaml", arch=arch, steps=steps, batch=batch, model=words, every=2)
        for mode in MODES:
            title, place = f"{arch}, {mode}", folder / f"{arch}-{mode}"
            place.mkdir()
            words_of_mode = [*sets(arithmetic__mode=mode), "--data", folder / "wide"]
            runs = train_everywhere(platforms, job, place, words_of_mode)
            check_one_root(report, title, runs)
            audits = check_audits(report, title, platforms, place, ["--data", folder / "wide"])
            other = lockstep("train", job, "--run", place / "seed", "--nonce", NONCE, *words_of_mode, *sets(train__seed=8))
            report.check(other.code == 0 and other["state_root"] != runs[platforms[0][0]]["state_root"], f"{title}: another seed", other)
            print(f"{title}: {len(runs)} platforms, {len(audits)} audits, {next(iter(audits.values()))['elements']} elements, "
                  f"computed from their definition: {sorted({a['exact'] for a in audits.values()})}", flush=True)


def cancelling(report, folder, platforms):
    batch = 40
    cancelling_data(folder / "cancel", batch)
    states = {}
    for mode in ("plain", *MODES):
        job = write_job(folder / f"cancel-{mode}.yaml", arch="logreg", steps=20, batch=batch, lr=0.07, momentum=0.1, mode=mode,
                        mean=128.001)
        (folder / f"cancel-{mode}").mkdir()
        runs = train_everywhere(platforms, job, folder / f"cancel-{mode}", ["--data", folder / "cancel"])
        states[mode] = runs[platforms[0][0]]["state_root"]
        if mode == "plain":
            fast = {run["state_root"] for name, run in runs.items() if name != "naive"}
            report.check(runs["naive"]["state_root"] not in fast, "cancelling, plain: naive agrees with others, so it shows nothing")
        else:
            check_one_root(report, f"cancelling, {mode}", runs)
            audits = check_audits(report, f"cancelling, {mode}", platforms, folder / f"cancel-{mode}", ["--data", folder / "cancel"])
            if mode == "exact":
                report.check(min(a["exact"] for a in audits.values()) > 0, "cancelling, exact: nothing had to be computed exactly")
    report.check(states["exact"] != states["pinned"], f"cancelling: exact and pinned agree, so nothing tells them apart: {states}")


def logged(report, folder):
    """Cancelling gradients: entries there are many, and they are this platform's R(C); the job of part 1 has next to none."""
    job = write_job(folder / "both.yaml", arch="mlp", steps=6, batch=8, model=", hidden: [300]")
    ends = {}
    for mode in ("logged", "exact"):
        run = lockstep("train", job, "--run", folder / f"both-{mode}", "--nonce", NONCE, *sets(arithmetic__mode=mode), "--data", folder / "wide")
        ends[mode] = run
    audit = lockstep("audit", folder / "both-logged", "--platform", "naive", "--data", folder / "wide")
    report.check(ends["logged"]["log_entries"] > 0, "logged: expected entries", ends["logged"])
    if report.check(audit.code == 0 and audit["corrections"] == 0, "logged: an auditor needed no correction", audit):
        report.check(ends["logged"]["state_root"] == ends["exact"]["state_root"], "logged without an override ends as exact does", ends["exact"])
    report.check(ends["logged"]["root"] != ends["exact"]["root"], "but they are different jobs", ends["exact"])


def main():
    report = Report("modes")
    with Folder() as folder:
        noise_data(folder / "noise", 64)
        noise_data(folder / "wide", 64, side=32)
        platforms = usable(report, [p for p in PLATFORMS if ALL or p[0] in SOME], folder)
        networks(report, folder, platforms, [m for m in MODELS if ALL or m[0] != "vgg11"])
        cancelling(report, folder, platforms)
        logged(report, folder)
    report.finish()


main()
