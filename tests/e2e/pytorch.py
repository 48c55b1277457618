# ctest: labels=exhaustive timeout=1200
"""The same training as PyTorch's: losses, gradients and weights (tests/torch/compare.py says what, and how near).

PyTorch belongs to the system's Python on Debian, so this asks LOCKSTEP_TORCH_PYTHON, its own interpreter and
/usr/bin/python3, in this order, for one that has it.
"""
import os
import subprocess
import sys

from harness import LOCKSTEP, ROOT, SKIPPED


def has_torch(python):
    try:
        return subprocess.run([python, "-c", "import torch, numpy"], capture_output=True).returncode == 0
    except OSError:
        return False


def torch_python():
    candidates = [os.environ.get("LOCKSTEP_TORCH_PYTHON"), sys.executable, "/usr/bin/python3"]
    return next((p for p in candidates if p and has_torch(p)), None)


def main():
    python = torch_python()
    if not python:
        print("SKIPPED: PyTorch is not installed, so NOTHING was compared with it\n  hint: scripts/install-deps --torch")
        sys.exit(SKIPPED)
    sys.exit(subprocess.run([python, ROOT / "tests" / "torch" / "compare.py", "--lockstep", LOCKSTEP]).returncode)


if __name__ == "__main__":
    main()
