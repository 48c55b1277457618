"""Audits in parts: several processes come to the verdict that one has, at the same step; samples find a lie exactly where they
look; a run that stops short is no match; the plan's parts, audited one by one, cover the run.
"""
import struct

from harness import Folder, Report, cheat, lockstep, noise_data, read_leaves, write_job, write_leaves

STEPS, EVERY, LIE = 24, 3, 14
SEEDS = [f"{i:064x}" for i in range(12)]


def sampled(run, data, seed, parts):
    return lockstep("audit", run, "--data", data, "--threads", 1, "--platform", "naive", "--sample", parts, "--seed", seed)


def shorten(run, steps):
    """An honest run that was given up after so many steps, a leaf each; a head is there for a snapshot."""
    write_leaves(run, read_leaves(run)[:steps + 1])
    lines = (run / "metrics.jsonl").read_bytes().split(b"\n")
    (run / "metrics.jsonl").write_bytes(b"\n".join(lines[:steps]) + b"\n")
    frames, at = (run / "rounding-log" / "frames").read_bytes(), 0
    for _ in range(steps):
        at += 16 + struct.unpack_from("<Q", frames, at + 8)[0]
    (run / "rounding-log" / "frames").write_bytes(frames[:at])
    for path in [*(run / "heads").iterdir(), *(run / "snapshots").iterdir()]:
        if int(path.name) > steps + (path.parent.name == "heads"):
            path.unlink()


def main():
    report = Report("audit_parts")
    with Folder() as folder:
        data, honest, lied = folder / "data", folder / "honest", folder / "lied"
        noise_data(data, 64)
        job = write_job(folder / "job.yaml", steps=STEPS)
        common = ["--data", data, "--threads", 1, "--snapshots", f"every:{EVERY}"]
        made = lockstep("train", job, "--run", honest, *common)
        told = cheat("train", job, "--run", lied, *common, "--lie", "skip-step", "--at", LIE)
        report.check(made.code == 0 and told.code == 0, "both runs", told)

        for workers in (1, 2, 3, 50):
            same = lockstep("audit", honest, "--data", data, "--threads", 1, "--parallel", workers)
            report.check(same.code == 0 and same["verdict"] == "match" and same["first"] == 1 and same["last"] == STEPS and
                         same["replayed_root"] == same["root"] == made["root"] and same["elements"] > 0, f"{workers} workers: a match", same)
            bad = lockstep("audit", lied, "--data", data, "--threads", 1, "--parallel", workers)
            report.check(bad.code == 1 and bad["verdict"] == "mismatch" and bad["first_bad_step"] == LIE and
                         bad["replayed_root"] != bad["root"], f"{workers} workers: the lie, at its step", bad)

        found = 0
        for seed in SEEDS:
            bad, good = sampled(lied, data, seed, 3), sampled(honest, data, seed, 3)
            report.check(good.code == 0 and good["verdict"] == "match" and good["sample"]["drawn"] == 3, "an honest sample", good)
            report.check(good["sample"]["seed"] == seed and good["sample"]["missed"]["1"] == 1 - 3 / (STEPS / EVERY), "what it says of itself", good)
            report.check(bad.code in (0, 1) and (bad["first_bad_step"] == LIE) == (bad["verdict"] == "mismatch"), "a sample of lies", bad)
            found += bad.code
        report.check(0 < found < len(SEEDS), f"some samples find the lie and some do not, found {found} of {len(SEEDS)}")
        every = sampled(lied, data, SEEDS[0], STEPS)
        report.check(every.code == 1 and every["first_bad_step"] == LIE, "a sample of everything", every)
        drawn = [lockstep("audit", honest, "--data", data, "--sample", 3)["sample"]["seed"] for _ in range(2)]
        report.check(drawn[0] != drawn[1], "a seed that nobody knows before", drawn)

        plan = lockstep("audit", lied, "--plan", "--parts", 3)["parts"]
        verdicts = [lockstep("audit", lied, "--data", data, "--threads", 1, "--steps", part)["verdict"] for part in plan]
        report.check(len(plan) == 3 and plan[0].startswith("1:") and plan[-1].endswith(f":{STEPS}") and sorted(verdicts) == ["match", "match", "mismatch"],
                     f"the parts of a plan, one by one, found {plan}, {verdicts}")

        short = folder / "short"
        lockstep("train", job, "--run", short, *common)
        shorten(short, 9)
        less = lockstep("audit", short, "--data", data, "--threads", 1, "--parallel", 2)
        report.check(less.code == 1 and less["verdict"] == "mismatch" and less["first_bad_step"] == 10, "a run that stops short", less)
    report.finish()


main()
