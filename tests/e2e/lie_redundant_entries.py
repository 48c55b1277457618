# ctest: labels=quick
"""Entries for every rounding, doubtful or not, are odd but honest: nobody may be accused of them."""
from harness import Folder, Report, cheat, lockstep, noise_data, write_job

report = Report("redundant entries")
with Folder() as folder:
    noise_data(folder / "data", 64)
    for every, at in ((1, 1), (3, 2)):
        job, run = write_job(folder / f"every{every}.yaml", steps=7, every=every), folder / f"run-{every}"
        told = cheat("train", job, "--run", run, "--data", folder / "data", "--platform", "openblas", "--threads", 1,
                     "--lie", "redundant-entries", "--at", at)
        report.check(told.code == 0 and told["log_entries"] > 100000, "expected many entries", told)
        for platform in ("native", "naive", "openblas"):
            audit = lockstep("audit", run, "--data", folder / "data", "--platform", platform, "--threads", 1)
            report.check(audit.code == 0 and audit["verdict"] == "match" and audit["root"] == audit["replayed_root"],
                         f"audited on {platform}: expected a match", audit)
            report.check(audit["entries"] == told["log_entries"], "expected every entry to be looked at", audit)
        plain = lockstep("train", job, "--run", folder / f"honest-{every}", "--data", folder / "data", "--platform", "openblas")
        report.check(plain["state_root"] == told["state_root"] and plain["log_bytes"] < told["log_bytes"] // 10,
                     "expected the same state and a far smaller log without them", plain)
report.finish()
