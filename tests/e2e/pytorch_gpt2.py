# ctest: labels=exhaustive timeout=1800
"""GPT-2 as PyTorch computes it (tests/torch/gpt2.py says what, and how near): four layers, ten steps; 124M, one step."""
import subprocess
import sys

from harness import BUILD, ROOT, SKIPPED
from pytorch import torch_python


def main():
    python = torch_python()
    if not python:
        print("SKIPPED: PyTorch is not installed, so GPT-2 was NOT compared with it\n  hint: scripts/install-deps --torch")
        sys.exit(SKIPPED)
    script = [python, ROOT / "tests" / "torch" / "gpt2.py", "--build", BUILD]
    sys.exit(max(subprocess.run([*script, *more]).returncode for more in ([], ["--large"])))


main()
