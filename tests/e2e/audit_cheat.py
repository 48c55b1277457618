# ctest: labels=full timeout=600
"""One bad step of 200: found by the audit of the whole run, by that of the part it lies in, and by each sample exactly where the
seed draws that part (spec/run.md, *Auditing*, computed here again), which is as often as the audit's own figure says. Then what two
workers of one thread save on two processors, with the verdict of one.

Samples: 20 seeds by audits; with LOCKSTEP_EXHAUSTIVE=1 (test e2e.audit_cheat_all) all of 300, and the workers are timed. 300 seeds, fixed, each drawing 5 of 20 parts, so that the bad one is found with p = 1/4 (the audit says that it misses with
3/4). The number found is binomial; it is accepted between the two quantiles that leave 10⁻⁴ each outside, so that an honest
sampler with other seeds would fail with probability 2·10⁻⁴. A sampler that finds with 2/5 or 1/10 instead is refused with
probability above 0.95 (checked below). The seeds are SHA-256 of their number; the answer is the same at every run.
"""
import hashlib
import math
import os
import struct
import sys
import time

from harness import Folder, Report, cheat, lockstep, noise_data, write_job

ALL = os.environ.get("LOCKSTEP_EXHAUSTIVE") == "1"
STEPS, EVERY, LIE, SEEDS, DRAWN = 200, 10, 137, 300, 5
TAIL = 1e-4


def tail_below(count, n, p):
    """P(X ≤ count) of a binomial."""
    return math.fsum(math.comb(n, k) * p ** k * (1 - p) ** (n - k) for k in range(count + 1))


def accepted(n, p):
    low = next(k for k in range(n + 1) if tail_below(k, n, p) > TAIL)
    high = next(k for k in range(n, -1, -1) if 1 - tail_below(k - 1, n, p) > TAIL)
    return low, high


def parts_drawn(seed):
    """The first places of a shuffle of the parts, numbered from 0."""
    parts = list(range(STEPS // EVERY))
    for i in range(DRAWN):
        random = hashlib.sha256(b"\0ls1/sample" + seed + struct.pack("<Q", i)).digest()
        j = i + int.from_bytes(random[:8], "little") % (len(parts) - i)
        parts[i], parts[j] = parts[j], parts[i]
    return parts[:DRAWN]


def samples(report, lied, data):
    first = None
    found = audited = 0
    for i in range(SEEDS):
        seed = hashlib.sha256(b"seed %d" % i).digest()
        drawn = (LIE - 1) // EVERY in parts_drawn(seed)
        found += drawn
        if not ALL and i >= 20:
            continue
        said = lockstep("audit", lied, "--data", data, "--threads", 1, "--sample", DRAWN, "--seed", seed.hex())
        first = first or said
        audited += said.code == 1
        good = said.code == drawn and said["first_bad_step"] == (LIE if drawn else None)
        report.check(good, f"sample {i}: expected {'the lie' if drawn else 'a match'}", said)
    report.check(0 < audited < (SEEDS if ALL else 20), f"samples that found it and others, found {audited}")
    missed = first["sample"]["missed"]["1"]
    report.check(missed == 1 - DRAWN / (STEPS / EVERY), f"the printed probability, found {missed}", first)
    low, high = accepted(SEEDS, 1 - missed)
    report.check(low <= found <= high, f"{SEEDS} samples found it {found} times, expected {low} to {high}")
    for wrong in (2 / 5, 1 / 10):
        refused = tail_below(low - 1, SEEDS, wrong) + 1 - tail_below(high, SEEDS, wrong)
        report.check(refused > 0.95, f"a sampler with probability {wrong:.3f} is refused with {refused:.3f}")
        print(f"a sampler that finds with {wrong:.3f} would be refused with probability {refused:.3f}")
    print(f"{found} of {SEEDS} samples found the lie; {low} to {high} are accepted around {SEEDS * (1 - missed):.0f}")


def spin(seconds):
    """Work done by one process in so much time."""
    end, done = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        done += sum(range(1000)) > 0
    return done


def processors_at_hand():
    """How much more two processes do here than one, right now: near 2 on two processors with nothing else to do."""
    alone = spin(0.5)
    r, w = os.pipe()
    pids = []
    for _ in range(2):
        pid = os.fork()
        if not pid:
            os.write(w, b"%12d" % spin(0.5))
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    return (int(os.read(r, 12)) + int(os.read(r, 12))) / alone


def seconds_of(report, run, data, workers):
    best = math.inf
    for _ in range(3):
        start = time.monotonic()
        said = lockstep("audit", run, "--data", data, "--threads", 1, "--parallel", workers)
        best = min(best, time.monotonic() - start)
        report.check(said.code == 0 and said["verdict"] == "match", f"{workers} workers", said)
    return best


def speed(report, folder, data):
    job = write_job(folder / "long.yaml", steps=400, batch=64)
    run = folder / "long"
    made = lockstep("train", job, "--run", run, "--data", data, "--snapshots", "every:10")
    report.check(made.code == 0, "a longer run", made)
    before = processors_at_hand()
    one, two = (seconds_of(report, run, data, workers) for workers in (1, 2))
    after = processors_at_hand()
    print(f"one worker {one:.2f} s, two {two:.2f} s: {one / two:.2f} times as fast; two spinning processes did {before:.2f} and "
          f"{after:.2f} times the work of one")
    if min(before, after) < 1.9:
        print("SKIPPED: two processors are not free here: the SPEED of two workers was NOT judged")
        return
    report.check(one / two >= 1.8, f"two workers: expected 1.8 times one's speed or more, found {one / two:.2f}")


def main():
    report = Report("audit_cheat")
    with Folder() as folder:
        data, lied = folder / "data", folder / "lied"
        noise_data(data, 64)
        small = folder / "small"
        noise_data(small, 64, side=8)
        job = write_job(folder / "job.yaml", arch="mlp", steps=STEPS, model=", hidden: [16]")
        told = cheat("train", job, "--run", lied, "--data", small, "--threads", 1, "--snapshots", f"every:{EVERY}", "--lie", "skip-step", "--at", LIE)
        report.check(told.code == 0, "the run with a lie", told)
        for words in ([], ["--steps", "131:140"], ["--parallel", 2]):
            said = lockstep("audit", lied, "--data", small, "--threads", 1, *words)
            report.check(said.code == 1 and said["verdict"] == "mismatch" and said["first_bad_step"] == LIE, f"audit {words}", said)
        said = lockstep("audit", lied, "--data", small, "--threads", 1, "--steps", "141:150")
        report.check(said.code == 0, "the part after it is sound by itself", said)
        samples(report, lied, small)
        if ALL:
            speed(report, folder, data)
    report.finish()


main()
