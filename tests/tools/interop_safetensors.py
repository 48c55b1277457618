#!/usr/bin/env python3
"""Exchanges weights with the Python package safetensors: what `lockstep export` writes must read back there, and what the
package writes must start a job with the same weights.

    interop_safetensors.py --lockstep build/lockstep

Where the package is not installed, it is put into a virtual environment of its own; where that cannot be done, the test is
skipped, loudly (exit code 77).
"""
import subprocess
import sys

import interop

JOB = """\
lockstep: 1
name: interop
model: {arch: mlp, hidden: [16], classes: 4}
data: {format: idx, path: tiny}
train: {epochs: 2, batch: 8, seed: 1}
optimizer: {name: sgd, lr: 0.1, momentum: 0.9}
"""


def find(folder):
    return interop.interpreter(folder, "numpy, safetensors.numpy", ["numpy", "safetensors"])


class Exchange(interop.Commands):
    def __init__(self, lockstep, folder):
        super().__init__(lockstep, folder)
        subprocess.run([sys.executable, interop.HERE / "make_idx.py", folder / "tiny"], check=True)
        (folder / "job.yaml").write_text(JOB)

    def import_root(self, tensors, metadata=None):
        """Root of the weights that the package wrote, as a job binds it."""
        from safetensors.numpy import save_file
        save_file(tensors, self.folder / "theirs.safetensors", metadata)
        code, plan = self.run("plan", "job.yaml", "--set", "model.init_from=theirs.safetensors")
        assert code == 0, plan
        return plan["import"]

    def check(self):
        import numpy
        from safetensors import safe_open
        from safetensors.numpy import load_file
        assert self.run("train", "job.yaml", "--run", "run")[0] == 0
        assert self.run("export", "run", "-o", "ours.safetensors")[0] == 0
        tensors = load_file(self.folder / "ours.safetensors")
        assert {name: t.shape for name, t in tensors.items()} == {
            "fc1.weight": (16, 64), "fc1.bias": (16,), "fc2.weight": (4, 16), "fc2.bias": (4,)}
        assert all(t.dtype == numpy.float32 and numpy.isfinite(t).all() and t.any() for t in tensors.values())
        assert safe_open(self.folder / "ours.safetensors", "np").metadata() == {"format": "pt"}

        code, plan = self.run("plan", "job.yaml", "--set", "model.init_from=ours.safetensors")
        assert code == 0, plan
        root = plan["import"]
        assert self.import_root(tensors) == root
        assert self.import_root(tensors, {"format": "pt", "who": "test"}) == root
        other = {name: t.copy() for name, t in tensors.items()}
        other["fc2.bias"][0] = numpy.nextafter(other["fc2.bias"][0], numpy.float32(9))
        assert self.import_root(other) != root

        halves = {name: t.astype(numpy.float16) for name, t in tensors.items()}
        wide = {name: t.astype(numpy.float32) for name, t in halves.items()}
        assert self.import_root(halves) == self.import_root(wide) != root

        # a run from them begins where the first one ended
        assert self.run("train", "job.yaml", "--set", "model.init_from=ours.safetensors", "--set", "optimizer.lr=0",
                        "--run", "still")[0] == 0
        assert self.run("export", "still", "-o", "still.safetensors")[0] == 0
        assert (self.folder / "still.safetensors").read_bytes() == (self.folder / "ours.safetensors").read_bytes()


def exchange(lockstep, folder):
    Exchange(lockstep, folder).check()
    return "weights went both ways"


if __name__ == "__main__":
    sys.exit(interop.main(__file__, __doc__, "safetensors", find, exchange))
