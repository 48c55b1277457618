#!/usr/bin/env python3
"""Heads and proofs beside the Python package pymerkle, which implements RFC 9162's trees: it must find the heads of a run over the
run's leaves, accept the inclusion and consistency proofs of tests/vectors/commit/trees.txt, which the C sources make and read, and
refuse those that the file says must be refused.

    interop_merkle.py --lockstep build/lockstep

pymerkle lays some consistency proofs out otherwise than the RFC (it goes on below a subtree that both trees share); those are not put
to it, and counted. Where the package is not installed, it is put into a virtual environment of its own; where that cannot be done, the
test is skipped, loudly (exit code 77).
"""
import base64
import collections
import struct
import subprocess
import sys

import interop

VECTORS = interop.HERE.parent / "vectors/commit/trees.txt"
JOB = """\
lockstep: 1
name: interop
model: {arch: logreg, classes: 4}
data: {format: idx, path: tiny}
train: {steps: 21, batch: 4, seed: 1}
optimizer: {name: sgd, lr: 0.1}
"""


def find(folder):
    return interop.interpreter(folder, "pymerkle", ["pymerkle==7.0.0"])


def accepts_inclusion(root, size, index, leaf, path):
    from pymerkle.core import _inclusion_path_layout
    from pymerkle.proof import InclusionProof, InvalidProof
    try:
        rule, _ = _inclusion_path_layout(index + 1, size)
        InclusionProof("sha256", True, size, index + 1, rule, [leaf] + path).verify(leaf, root)
        return True
    except InvalidProof:
        return False


def accepts_consistency(root, old_size, old_root, size, path):
    """None where the package's layout of the proof is not the RFC's."""
    from pymerkle.core import _consistency_path_layout
    from pymerkle.proof import ConsistencyProof, InvalidProof
    rule, subset, ranges = _consistency_path_layout(old_size, size)
    if not subset[0]:
        return None
    shared = ranges[0] == (0, old_size)  # the old tree is a subtree of the new one: the RFC leaves its root out
    path = ([old_root] if shared else []) + path
    try:
        ConsistencyProof("sha256", True, size, old_size, rule, subset, path).verify(old_root, root)
        return True
    except InvalidProof:
        return False


def accepted(words):
    kind, *rest = words
    if kind == "inclusion":
        root, size, index, leaf, *path = rest
        size, index = int(size), int(index)
        if not index < size:
            return False
        return accepts_inclusion(bytes.fromhex(root), size, index, bytes.fromhex(leaf), [bytes.fromhex(h) for h in path])
    root, old_size, old_root, size, *path = rest
    old_size, size = int(old_size), int(size)
    if not 0 < old_size <= size:
        return None
    return accepts_consistency(bytes.fromhex(root), old_size, bytes.fromhex(old_root), size, [bytes.fromhex(h) for h in path])


def check_vectors():
    counts = collections.Counter()
    for line in VECTORS.read_text().splitlines():
        statement, _, result = line.partition(" = ")
        words = statement.split()
        if not words or words[0] not in ("inclusion", "consistency"):
            continue
        found = accepted(words)
        assert found is None or found == (result == "ok"), line
        counts[words[0], {None: "left out", True: "accepted", False: "refused"}[found]] += 1
    assert all(counts[kind, what] >= 10 for kind in ("inclusion", "consistency") for what in ("accepted", "refused")), counts
    return ", ".join(f"{kind} proofs {what}: {n}" for (kind, what), n in sorted(counts.items()))


def check_heads(commands):
    """The heads of a run of 21 steps, signed or not, over its leaves, and one changed leaf."""
    from pymerkle import InmemoryTree
    subprocess.run([sys.executable, interop.HERE / "make_idx.py", commands.folder / "tiny"], check=True)
    (commands.folder / "job.yaml").write_text(JOB)
    result = commands.done("train", "job.yaml", "--run", "run")
    data, at, tree, other = (commands.folder / "run/leaves").read_bytes(), 0, InmemoryTree(algorithm="sha256"), InmemoryTree(algorithm="sha256")
    while at < len(data):
        size = struct.unpack_from("<I", data, at)[0]
        leaf, at = data[at + 4:at + 4 + size], at + 4 + size
        tree.append_entry(leaf)
        other.append_entry(leaf if at < len(data) else leaf[:-1] + bytes([leaf[-1] ^ 1]))
    assert tree.get_root().hex() == result["root"] != other.get_root().hex(), result
    heads = sorted(int(path.name) for path in (commands.folder / "run/heads").iterdir())
    for size in heads:
        root = (commands.folder / f"run/heads/{size}").read_text().splitlines()[2]
        assert tree.get_root(size) == base64.b64decode(root), size
    return len(heads)


def exchange(lockstep, folder):
    heads = check_heads(interop.Commands(lockstep, folder))
    return f"heads of a run: {heads}; {check_vectors()}"


if __name__ == "__main__":
    sys.exit(interop.main(__file__, __doc__, "pymerkle", find, exchange))
