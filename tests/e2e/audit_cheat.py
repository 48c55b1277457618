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
import statistics
import struct
import subprocess
import time

from harness import LOCKSTEP, Folder, Report, cheat, environment, lockstep, noise_data, write_job

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


def seconds_of(report, run, data, workers, at_once=1):
    """Of `at_once` audits, begun together."""
    start = time.monotonic()
    words = [str(w) for w in (LOCKSTEP, "audit", run, "--data", data, "--threads", 1, "--parallel", workers, "--json")]
    audits = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment()) for _ in range(at_once)]
    said = [audit.communicate()[0] for audit in audits]
    seconds = time.monotonic() - start
    report.check(all('"verdict": "match"' in text for text in said), f"{workers} workers", said)
    return seconds


def speed(report, folder, data):
    """In turn: one worker, two, and two audits of one worker each, which say what two processors are worth here and now."""
    job = write_job(folder / "long.yaml", steps=400, batch=64)
    run = folder / "long"
    made = lockstep("train", job, "--run", run, "--data", data, "--snapshots", "every:10")
    report.check(made.code == 0, "a longer run", made)
    rounds = [(seconds_of(report, run, data, 1), seconds_of(report, run, data, 2), seconds_of(report, run, data, 1, 2)) for _ in range(5)]
    faster, worth = (statistics.median(found) for found in zip(*((one / two, 2 * one / both) for one, two, both in rounds)))
    print(f"two workers are {faster:.2f} times as fast as one, two audits at once do {worth:.2f} times the work of one; rounds: "
          f"{', '.join(' '.join(f'{t:.2f}' for t in times) for times in rounds)} s")
    if worth < 1.9:
        print("SKIPPED: two processors are not free here: the SPEED of two workers was NOT judged")
        return
    report.check(faster >= 1.8, f"two workers: expected 1.8 times one's speed or more, found {faster:.2f}")


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
