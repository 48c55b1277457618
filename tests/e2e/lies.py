"""One lie of lockstep-cheat, told in the first, a middle and the last step, with a leaf per step and one per three steps;
audited on another platform. What must hold:

  - the auditor exits 1, blames the leaf that holds the lie, and has another root than the trainer;
  - a mismatch is dated to the leaf's first step, a forged entry to its own step;
  - the steps before the lie, audited alone, match: the accusation is not a habit (the twin);
  - the same trainer without the lie matches (the other twin, once per cadence);
  - nothing is wrong with the bytes: `verify` alone would not have noticed;
  - in modes exact and pinned the same, for every lie that needs no rounding log.
"""
from harness import CHEAT, Folder, Report, cheat, lockstep, noise_data, write_job

STEPS, FIRST, MIDDLE, LAST = 7, 1, 5, 7
PLATFORMS = [("openblas", "native"), ("native", "naive"), ("native", "openblas")]


def leaf_of(step, every):
    first = (step - 1) // every * every + 1
    return first, min(first + every - 1, STEPS)


def audit_lie(report, name, run, auditor, at, every, verdicts):
    first, last = leaf_of(at, every)
    what = f"{name} in step {at}, commit_every {every}, audited on {auditor}"
    result = lockstep("audit", run, "--platform", auditor, "--threads", 1, "--data", run.parent / "data")
    good = report.check(result.code == 1 and result["verdict"] in verdicts, f"{what}: expected exit 1 and {verdicts}", result)
    if not good:
        return
    step = result["first_bad_step"]
    expected = (first, first) if result["verdict"] == "mismatch" else (at, last)
    report.check(expected[0] <= step <= expected[1], f"{what}: expected first_bad_step in {expected}", result)
    report.check(result["root"] != result["replayed_root"] and result["text"], f"{what}: expected two roots and a reason", result)
    verify = lockstep("verify", run)
    report.check(verify.code == 0, f"{what}: expected whole bytes", verify)
    if first > 1:
        before = lockstep("audit", run, "--platform", auditor, "--threads", 1, "--data", run.parent / "data", "--steps", f"1:{first - 1}")
        report.check(before.code == 0 and before["verdict"] == "match", f"{what}: expected the steps before to match", before)


def check_mode(report, name, folder, mode, every, verdicts, times):
    """The honest twin, and the lie at each of `times`."""
    job = write_job(folder / f"{mode}-every{every}.yaml", steps=STEPS, every=every, mode=mode)
    honest = folder / f"honest-{mode}-{every}"
    lockstep("train", job, "--run", honest, "--data", folder / "data", "--platform", "openblas", "--threads", 1)
    twin = lockstep("audit", honest, "--platform", "native", "--threads", 1, "--data", folder / "data")
    report.check(twin.code == 0 and twin["verdict"] == "match" and twin["root"] == twin["replayed_root"],
                 f"honest twin, mode {mode}, commit_every {every}", twin)
    for (trainer, auditor), at in times:
        run = folder / f"{name}-{mode}-{every}-{at}"
        told = cheat("train", job, "--run", run, "--data", folder / "data", "--platform", trainer, "--threads", 1, "--lie", name, "--at", at)
        if report.check(told.code == 0 and told["changed"], f"{name} in step {at}, mode {mode}: expected it to be told", told):
            audit_lie(report, name, run, auditor, at, every, verdicts)


def check_lie(name, verdicts=("mismatch", "forged-rounding-log"), verdicts_k1=None, needs_log=False):
    """verdicts_k1: what is possible where every step has its leaf. A lie that needs no rounding log is also told in the modes
    without one, where it can be nothing but a mismatch."""
    report = Report(f"lie {name}")
    times = list(zip(PLATFORMS, (FIRST, MIDDLE, LAST)))
    with Folder() as folder:
        noise_data(folder / "data", 64)
        for every in (1, 3):
            check_mode(report, name, folder, "logged", every, verdicts_k1 if every == 1 and verdicts_k1 else verdicts, times)
        for mode, every in (("exact", 3), ("pinned", 1)) if not needs_log else ():
            check_mode(report, name, folder, mode, every, ("mismatch",), times[1:2])
    report.finish()
