# ctest: labels=full timeout=900
"""A judge without memory says so. Every allocation of `lockstep judge` fails once, over evidence that goes through each kind of turn:
the answer is the verdict, or an error that names the lack of memory, and never another verdict. What a judge that is short of memory
held against the evidence would be the verdict of whoever could make it short.

libcrypto 3.0 dies (SIGSEGV) where an allocation of its own beginning fails, before anything has been read: that is counted apart, and no
death later is accepted.

A sample by default; with LOCKSTEP_EXHAUSTIVE=1 (test e2e.judge_memory_all) every allocation. tests/tools/fault.c makes the faults.
"""
import concurrent.futures
import json
import os
import signal
import subprocess

from disputes import LIES, Court, told
from harness import BUILD, LOCKSTEP, Folder, Report, cheat, environment, lockstep

ALL = os.environ.get("LOCKSTEP_EXHAUSTIVE") == "1"
SHIM, SAMPLE = BUILD / "tests" / "libfault.so", 150
BEGINNING = 150  # allocations until libcrypto stands
# lie, mode: an entry and sums; states of a pinned sum; data and two-level openings; the state; a list of blocks
CASES = [("low-precision", "logged"), ("low-precision", "pinned"), ("poison-pixel", "exact"), ("other-order+text", "exact"),
         ("edit-momentum", "exact"), ("bend-statistics", "exact"), ("forge-entry", "logged")]


def judge(path, **fault):
    env = environment() | {"LD_PRELOAD": str(SHIM)} | {f"LS_FAULT_{key}": str(value) for key, value in fault.items()}
    return subprocess.run([str(LOCKSTEP), "judge", str(path), "--json"], env=env, capture_output=True, text=True, timeout=60, errors="replace")


def evidence(court, name, mode):
    run = court.train(court.job(LIES[name][0], mode, 1), f"{name}-{mode}", "native", name, 4)
    kept, path = run.with_suffix(".kept"), run.with_suffix(".evidence")
    lockstep("audit", run, "--keep", kept, "--key", court.folder / "auditor", "--platform", "naive", *court.data(run))
    done = cheat("dispute", run, kept, "-o", path, "--lie", told(name), "--at", 4, *court.keys, *court.data(run))
    court.report.check(done.code == 1 and path.exists(), f"{name}, {mode}: the dispute", done)
    return path


def verdict(text):
    try:
        said = json.loads(text.splitlines()[-1])
    except (ValueError, IndexError):
        return None
    return [said.get(key) for key in ("verdict", "text", "step", "op", "element")] if "verdict" in said else None


def try_all(report, title, path):
    said = path.with_suffix(".report")
    whole = verdict(judge(path, REPORT=said).stdout)
    report.check(whole and whole[0] == "trainer-wrong", f"{title}: expected trainer-wrong, found {whole}")
    count = int(said.read_text().split()[1])
    step = 1 if ALL else max(1, count // SAMPLE)
    outcomes = {"verdict": 0, "error": 0, "death": 0}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for n, done in zip(range(1, count + 1, step), pool.map(lambda n: judge(path, ALLOC=n), range(1, count + 1, step))):
            found = verdict(done.stdout)
            died = done.returncode == -signal.SIGSEGV and n <= BEGINNING
            outcomes["verdict" if found else "death" if died else "error"] += 1
            report.check(found == whole or died or (not found and done.returncode > 0), f"{title}: allocation {n} fails: expected {whole}, or an error",
                         f"exit {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{title}: of {count} allocations {sum(outcomes.values())} failed once: {outcomes['verdict']} times the verdict, "
          f"{outcomes['error']} times an error, {outcomes['death']} times the end of libcrypto")
    report.check(outcomes["error"] > 0, f"{title}: expected that some allocation is needed")


def main():
    report = Report("judge_memory")
    with Folder() as folder:
        court = Court(folder, report)
        for name, mode in CASES:
            try_all(report, f"{name}, {mode}", evidence(court, name, mode))
    report.finish()


if __name__ == "__main__":
    main()
