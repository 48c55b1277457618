# ctest: labels=full timeout=600
"""A run's memory does not grow with its length: what the process takes after 600 steps and from 1,900 on, with a snapshot and a
head every 10 steps and event files; the same of an audit. Leaves lie in the file; what stays in memory is 40 bytes for every 256
of them (the head of their subtree, the place of their blocks) in arrays that double, and 8 bytes for every snapshot while a list of
them is read. For 1,300 steps that is 1 KiB, and the heap grows by pages of 4 KiB: 16 KiB are allowed. Before step 600 the buffer of
the last 256 leaves is touched for the first time. Behind the last step nothing is measured: the run is read once more for what is
printed, and a process that ends gives back what it had. The same program keeping 24 bytes more at each leaf shows what growth
looks like. Blocks of 64 KiB and more get pages of their own (MALLOC_MMAP_THRESHOLD_): what the self-test of platforms frees would otherwise
stay in the heap, and growth would go into it unseen.
"""
import subprocess
import sys
import time

from harness import BUILD, LOCKSTEP, SKIPPED, Folder, Report, environment, lockstep, noise_data, read_leaves, write_job

STEPS, EARLY, LATE = 2000, 600, 1900
SLACK = 16  # KiB


def resident(pid):
    """KiB of a process's own: pages of files come and go as the system likes."""
    fields = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
    return sum(int(fields.get(name, "0 kB").split()[0]) for name in ("RssAnon", "VmSwap"))


def lines_in(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def watch(words, progress, fault=None):
    """(KiB at the first look behind EARLY, most KiB from LATE to the last step) of a program, which `progress` tells the step of."""
    process = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=environment({"MALLOC_MMAP_THRESHOLD_": "65536"} | (fault or {})))
    early = late = 0
    while process.poll() is None:
        step = progress()
        try:
            now = resident(process.pid)
        except OSError:
            break
        if step >= EARLY and not early and now:
            early = now
        late = max(late, now if LATE <= step < STEPS else 0)
        time.sleep(0.01)
    return process.wait(), early, late


def flat(report, what, code, early, late):
    report.check(code == 0 and early and late and late - early <= SLACK, f"{what}: {early} KiB after {EARLY} steps, {late} KiB after {LATE} or more, exit {code}")
    print(f"{what}: {early} KiB after {EARLY} steps, {late} KiB at the end")


def main():
    report = Report("memory")
    if not sys.platform.startswith("linux"):
        print("SKIPPED: no /proc here: NO memory was measured")
        sys.exit(SKIPPED)
    with Folder() as folder:
        data = folder / "data"
        noise_data(data, 64, side=8)
        job = write_job(folder / "job.yaml", arch="mlp", steps=STEPS, batch=8, model=", hidden: [260]", lr=0.001)
        run, kept = folder / "run", folder / "kept"
        words = [LOCKSTEP, "train", job, "--run", run, "--data", data, "--threads", 1, "--snapshots", "every:10", "--tensorboard"]
        flat(report, "train", *watch(words, lambda: lines_in(run / "metrics.jsonl")))
        words = [LOCKSTEP, "audit", run, "--data", data, "--threads", 1, "--keep", kept]
        flat(report, "audit", *watch(words, lambda: lines_in(kept / "metrics.jsonl")))
        leaky = folder / "leaky"
        words = [LOCKSTEP, "train", job, "--run", leaky, "--data", data, "--threads", 1]
        fault = {"LD_PRELOAD": str(BUILD / "tests" / "libfault.so"), "LS_FAULT_UNDER": str(leaky), "LS_FAULT_LEAK": "24"}
        code, early, late = watch(words, lambda: lines_in(leaky / "metrics.jsonl"), fault)
        report.check(code == 0 and late - early > SLACK, f"the twin that keeps 24 bytes at each leaf: {early} KiB, then {late} KiB")
        print(f"twin that leaks: {early} KiB after {EARLY} steps, {late} KiB at the end")
        report.check(lockstep("verify", run).code == 0 and len(read_leaves(run)) == STEPS + 1, "the run is whole")
    report.finish()


main()
