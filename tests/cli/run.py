#!/usr/bin/env python3
"""Runs the command-line tests: tests/cli/cases/NAME.sh, whose output must be NAME.stdout.exact and NAME.stderr.exact.

    run.py --lockstep build/lockstep [--set-exact-output] [NAME …]

Each case is run by sh with tests/cli/prelude.sh in a fresh folder that holds `tiny` (a small IDX data set) and
`tiny.yaml` (a job on it). --set-exact-output writes what a case prints as what it has to print: read the difference
before you keep it. In outputs the folder becomes TMP, a duration TIME, and the n-th distinct hash HASHn, so that equal
hashes stay equal; a case with the line "# hashes: literal" keeps them. A case that cannot run here prints
"SKIPPED: reason" and nothing else.
"""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import datasets  # noqa: E402 (tests/tools)

SKIPPED = 77  # what CTest takes for "skipped"
JOB = """\
# A small job for tests.
lockstep: 1
name: tiny
model: {arch: mlp, hidden: [16], classes: 4}
data: {format: idx, path: tiny}
train: {epochs: 2, batch: 8, seed: 1, commit_every: 3}
optimizer: {name: sgd, lr: 0.1, momentum: 0.9}
"""


def normalised(text, folder, literal):
    text = text.replace(str(folder), "TMP")
    text = re.sub(r"^(train|audit): step [0-9]+ of .*\n", "", text, flags=re.M)  # progress: a slow machine shows some
    text = re.sub(r'("seconds\w*": )[0-9.e+-]+', r"\1TIME", text)
    text = re.sub(r"\b[0-9]+(\.[0-9]+)? (ms|s)\b", "TIME", text)
    if literal:
        return text
    names = {}
    return re.sub(r"\b[0-9a-f]{64}\b", lambda m: names.setdefault(m.group(0), f"HASH{len(names) + 1}"), text)


def prepare(folder, lockstep):
    (folder / "bin").mkdir()
    (folder / "bin/lockstep").symlink_to(lockstep.resolve())
    work = folder / "work"
    work.mkdir()
    subprocess.run([sys.executable, HERE.parent / "tools/make_idx.py", work / "tiny"], check=True)
    (work / "tiny.yaml").write_text(JOB)
    return work


def execute(case, lockstep):
    """Standard output and standard error of the case, normalised."""
    memory = "/dev/shm" if not os.environ.get("TMPDIR") and os.access("/dev/shm", os.W_OK) else None  # runs sync a lot
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-cli-", dir=memory))
    try:
        work = prepare(folder, lockstep)
        env = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        env.update(PATH=f"{folder / 'bin'}:{env['PATH']}", LOCKSTEP_ISA="portable", LC_ALL="C.UTF-8", PYTHON=sys.executable,
                   TESTS=str(HERE.parent), SOURCE=str(HERE.parent.parent),
                   CIFAR10=str(datasets.above("cifar-10-batches-bin")), FASHION=str(datasets.above("fashion-mnist")))
        script = f". '{HERE / 'prelude.sh'}'; . '{case}'"
        done = subprocess.run(["sh", "-eu", "-c", script], cwd=work, env=env, capture_output=True, text=True, timeout=100,
                              stdin=subprocess.DEVNULL)
        literal = "# hashes: literal" in case.read_text()
        out = done.stdout + (f"the script ended with {done.returncode}\n" if done.returncode else "")
        return normalised(out, work, literal), normalised(done.stderr, work, literal)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def says_wrong(case, out):
    """A script's own complaint is never an expected output."""
    wrong = [line for line in out.splitlines() if line.startswith(("WRONG:", "the script ended"))]
    for line in wrong:
        print(f"{case.stem}: {line}")
    return bool(wrong)


def compare(case, stream, got, write):
    path = case.with_suffix(f".{stream}.exact")
    if write:
        if got:
            path.write_text(got)
        else:
            path.unlink(missing_ok=True)
        return True
    expected = path.read_text() if path.exists() else ""
    if got == expected:
        return True
    sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), got.splitlines(True), path.name, "this run"))
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", type=pathlib.Path, required=True)
    parser.add_argument("--set-exact-output", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    cases = [HERE / "cases" / f"{name}.sh" for name in options.names] or sorted((HERE / "cases").glob("*.sh"))
    failed, skipped = [], []
    for case in cases:
        out, err = execute(case, options.lockstep)
        if out.startswith("SKIPPED:"):
            print(f"{case.stem}: {out.strip()}")
            skipped.append(case.stem)
            continue
        streams = [compare(case, "stdout", out, options.set_exact_output), compare(case, "stderr", err, options.set_exact_output)]
        if says_wrong(case, out) or not all(streams):
            failed.append(case.stem)
    print(f"{len(cases)} cases, {len(failed)} failed{': ' if failed else ''}{' '.join(failed)}, {len(skipped)} skipped")
    if failed:
        sys.exit(1)
    sys.exit(SKIPPED if skipped and len(skipped) == len(cases) else 0)


if __name__ == "__main__":
    main()
