"""What the tests share that exchange something with a Python package of other people: finding an interpreter that has the package,
or making one, and running the test inside it.

A test calls main(): outside, it finds an interpreter and starts itself again there with --inside; inside, it runs the exchange in a
folder of its own. Where there is no interpreter to be had, the test is skipped, loudly (exit code 77).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


def has(python, modules):
    try:
        return subprocess.run([python, "-c", f"import {modules}"], capture_output=True).returncode == 0
    except OSError:
        return False


def interpreter(folder, modules, packages, candidates=(sys.executable,), bases=(sys.executable,), base_modules="sys"):
    """The first candidate that has the modules; else a virtual environment in the folder, over the first base that has base_modules,
    into which the packages are put; else None."""
    for python in candidates:
        if python and has(python, modules):
            return python
    base = next((p for p in bases if p and has(p, base_modules)), None)
    if not base:
        return None
    python = folder / "venv/bin/python"
    try:
        subprocess.run([base, "-m", "venv", "--system-site-packages", folder / "venv"], check=True, capture_output=True, timeout=200)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, capture_output=True, timeout=600)
    except (subprocess.SubprocessError, OSError):
        return None
    return python if has(python, modules) else None


class Commands:
    """The program under test, run in one folder without settings from outside."""

    def __init__(self, lockstep, folder):
        self.lockstep, self.folder = lockstep, folder

    def run(self, *words):
        env = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        out = subprocess.run([self.lockstep, *map(str, words), "--json"], cwd=self.folder, env=env, capture_output=True, text=True)
        assert out.stdout, out.stderr
        return out.returncode, json.loads(out.stdout.splitlines()[-1])

    def done(self, *words):
        code, result = self.run(*words)
        assert code == 0, (words, result)
        return result


def main(file, doc, package, find, exchange):
    """find(folder) gives an interpreter or None; exchange(lockstep, folder) runs inside it and returns a line about what it did."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", type=pathlib.Path, required=True)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lockstep-interop-") as name:
        folder = pathlib.Path(name)
        if options.inside:
            print(exchange(options.lockstep.resolve(), folder))
            return 0
        python = find(folder)
        if not python:
            print(f"SKIPPED: the Python package {package} is not here and could not be installed, so NOTHING was exchanged with it")
            return SKIPPED
        return subprocess.run([python, file, "--lockstep", options.lockstep, "--inside"]).returncode
