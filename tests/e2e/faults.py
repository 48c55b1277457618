# ctest: labels=full timeout=900
"""Every call that changes a file, failing in every way. A run is cut off by SIGKILL or by a loss of power at its n-th such
call, before it, in the midst of it and after it; or the call fails with a full disk or a broken one, once or from then on;
or the n-th allocation fails. A later --resume has to end in the root of an undisturbed run and verify, and a failure has to be
said and to end in exit code 3.

A sample by default; with LOCKSTEP_EXHAUSTIVE=1 (test e2e.faults_all) every place. tests/tools/fault.c makes the faults.
"""
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys

from harness import BUILD, LOCKSTEP, Folder, Report, environment, noise_data, tree_digest, write_job

ALL = os.environ.get("LOCKSTEP_EXHAUSTIVE") == "1"
DEATHS = ("kill", "torn", "after", "power", "zeros")
FAILURES = ("ENOSPC", "EIO")
ONCE, SHIM = BUILD / "tests" / "train_once", BUILD / "tests" / "libfault.so"
POLICIES = ("all", "last:2", "every:4")


def call(words, fault=None):
    env = environment()
    if fault:
        env["LD_PRELOAD"] = str(SHIM)
        env.update({f"LS_FAULT_{key}": str(value) for key, value in fault.items()})
    return subprocess.run([str(w) for w in words], env=env, capture_output=True, text=True, timeout=120, errors="replace")


class Tries:
    """Runs of one job, each with one fault, in parallel."""

    def __init__(self, report, folder, data, job):
        self.report, self.folder, self.data, self.job = report, folder, data, job
        self.whole = self.train(folder / "whole", "all").stdout.strip()
        self.count = 0
        self.starts = {}

    def train(self, run, policy, **fault):
        return call([ONCE, self.job, self.data, run, policy], fault and {"UNDER": run, **fault})

    def counts(self, run, policy, start=None):
        """How many calls and allocations a run makes."""
        shutil.rmtree(run, ignore_errors=True)
        if start:
            shutil.copytree(start, run)
        said = self.folder / f"{run.name}.report"
        done = self.train(run, policy, REPORT=said)
        self.report.check(done.returncode == 0 and done.stdout.strip() == self.whole, f"an undisturbed run under {policy}", done)
        shutil.rmtree(run, ignore_errors=True)
        return [int(n) for n in said.read_text().split()]

    def must_recover(self, run, policy, what):
        """--resume without a fault ends as if nothing had happened."""
        again = self.train(run, policy)
        self.report.check(again.returncode == 0 and again.stdout.strip() == self.whole,
                          f"{what}: expected --resume to end in the same root", f"exit {again.returncode} {again.stdout}{again.stderr}")
        verified = call([ONCE, "--verify", run])
        self.report.check(verified.returncode == 0 and verified.stdout == f"match {self.whole}\n", f"{what}: expected it to verify",
                          verified.stdout + verified.stderr)
        left = [p.name for p in run.rglob("*") if p.name.endswith(".tmp")]
        self.report.check(not left, f"{what}: expected nothing half written to stay, found {left}")
        shutil.rmtree(run, ignore_errors=True)

    def before(self, run):
        return tree_digest(self.starts[run]) if self.starts[run] else tree_digest(run / "nothing")

    def one(self, policy, start, fault, check):
        self.count += 1
        run = self.folder / f"run{self.count:05}"
        self.starts[run] = start
        if start:
            shutil.copytree(start, run)
        what = f"{policy}, {'resumed' if start else 'new'}, " + " ".join(f"{k}={v}" for k, v in fault.items())
        return lambda: check(run, policy, what, self.train(run, policy, **fault))

    def death(self, run, policy, what, done):
        self.report.check(done.returncode == -9, f"{what}: expected the process to be killed", f"exit {done.returncode}")
        self.must_recover(run, policy, what)

    def failure(self, run, policy, what, done):
        good = done.returncode == 3 and ("could not" in done.stderr)
        self.report.check(good, f"{what}: expected exit code 3 and a reason", f"exit {done.returncode} {done.stdout}{done.stderr}")
        self.must_recover(run, policy, what)

    def nothing(self, run, policy, what, done):
        self.report.check(done.returncode == 0 and done.stdout.strip() == self.whole, f"{what}: expected nothing to be noticed",
                          f"exit {done.returncode} {done.stdout}{done.stderr}")
        self.must_recover(run, policy, what)

    def no_memory(self, run, policy, what, done):
        """What libraries can do without, they may do without. libcrypto 3.0 crashes where its own first steps meet no memory;
        that is let pass where nothing of the run was touched yet."""
        good = (done.returncode == 3 and "memory" in done.stderr or done.returncode == 0 and done.stdout.strip() == self.whole
                or done.returncode == -11 and self.before(run) == tree_digest(run))
        self.report.check(good, f"{what}: expected exit code 3 and a word on memory, or the run's root",
                          f"exit {done.returncode} {done.stdout}{done.stderr}")
        self.must_recover(run, policy, what)


def places(count, most, draw):
    every = range(1, count + 1)
    return every if ALL or count <= most else sorted(draw.sample(every, most))


def interrupted(tries, at):
    """A run that was killed, to be resumed under faults."""
    run = tries.folder / f"killed{at}"
    tries.train(run, "all", AT=at, DO="kill")
    return run


def tasks_of(tries, draw):
    starts = [None, interrupted(tries, 60), interrupted(tries, 75)]
    for policy in POLICIES:
        for start in starts if policy == "all" else starts[:2]:
            calls, allocations = tries.counts(tries.folder / "counted", policy, start)
            tries.report.check(calls > 10, f"{policy}: expected calls to count, found {calls}")
            for death in DEATHS:
                for at in places(calls, 8, draw):
                    yield tries.one(policy, start, {"AT": at, "DO": death}, tries.death)
            for name in FAILURES:
                for at in places(calls, 5, draw):
                    yield tries.one(policy, start, {"AT": at, "DO": name}, tries.failure)
                    yield tries.one(policy, start, {"AT": at, "DO": name, "FOREVER": 1}, tries.failure)
            for at in places(calls, 5, draw):
                yield tries.one(policy, start, {"AT": at, "DO": "short"}, tries.nothing)
            for at in places(allocations, 12, draw) if policy == "all" else ():
                yield tries.one(policy, start, {"ALLOC": at}, tries.no_memory)


def on_the_command_line(report, tries):
    """The whole program says the same things."""
    run = tries.folder / "cli"
    words = [LOCKSTEP, "train", tries.job, "--run", run, "--data", tries.data, "--threads", 1, "--nonce", "07" + 31 * "00"]
    done = call(words, {"UNDER": run, "AT": 40, "DO": "EIO"})
    report.check(done.returncode == 3 and "Input/output error" in done.stderr, "lockstep: expected exit code 3", done.stderr)
    done = call([*words, "--resume", "--json"])
    report.check(done.returncode == 0 and f'"root": "{tries.whole}"' in done.stdout, "lockstep: expected --resume to finish", done.stdout + done.stderr)


def main():
    report = Report("faults")
    if not SHIM.exists():
        print(f"SKIPPED: {SHIM} is not there: NO fault was played")
        sys.exit(77)
    draw = random.Random(5)
    with Folder() as folder:
        data = folder / "data"
        noise_data(data, 48, side=8)
        job = write_job(folder / "job.yaml", arch="logreg", steps=8, every=2)
        tries = Tries(report, folder, data, job)
        report.check(len(tries.whole) == 64, "the undisturbed run", tries.whole)
        on_the_command_line(report, tries)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in concurrent.futures.as_completed([pool.submit(task) for task in tasks_of(tries, draw)]):
                done.result()
        print(f"{tries.count} faults{'' if ALL else ', a sample: all with LOCKSTEP_EXHAUSTIVE=1'}")
    report.finish()


main()
