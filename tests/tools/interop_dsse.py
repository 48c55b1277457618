#!/usr/bin/env python3
"""Statements beside the Python package securesystemslib (the library of TUF and in-toto): it must accept what a trainer and an
auditor sign, and refuse another statement, or another's key.

    interop_dsse.py --lockstep build/lockstep

Where the package is not installed, it is put into a virtual environment of its own; where that cannot be done, the test is skipped,
loudly (exit code 77).
"""
import base64
import json
import subprocess
import sys

import interop

JOB = """\
lockstep: 1
name: interop
model: {arch: logreg, classes: 4}
data: {format: idx, path: tiny}
train: {steps: 5, batch: 4, seed: 1}
optimizer: {name: sgd, lr: 0.1}
"""


def find(folder):
    return interop.interpreter(folder, "securesystemslib.dsse, securesystemslib.signer, cryptography",
                               ["securesystemslib==1.6.0", "cryptography"])


def public_key(path, keyid):
    from securesystemslib.signer import SSlibKey
    raw = base64.b64decode("".join(path.read_text().splitlines()[1:-1]))[-32:]
    return SSlibKey(keyid, "ed25519", "ed25519", {"public": raw.hex()})


def accepts(envelope, key):
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError
    try:
        return bool(Envelope.from_dict(json.loads(json.dumps(envelope))).verify([key], 1))
    except VerificationError:
        return False


def check(folder, name, who, other):
    envelope = json.loads((folder / name).read_text())
    keyid = envelope["signatures"][0]["keyid"]
    assert accepts(envelope, public_key(folder / f"{who}.pub", keyid)), f"{name} refused"
    assert not accepts(envelope, public_key(folder / f"{other}.pub", keyid)), f"{name} accepted with the key of the {other}"
    payload = base64.b64decode(envelope["payload"], validate=True)
    changed = payload.replace(b'"steps":5', b'"steps":6')
    assert changed != payload, payload
    envelope["payload"] = base64.b64encode(changed).decode()
    assert not accepts(envelope, public_key(folder / f"{who}.pub", keyid)), f"{name} accepted with another statement"


def exchange(lockstep, folder):
    commands = interop.Commands(lockstep, folder)
    subprocess.run([sys.executable, interop.HERE / "make_idx.py", folder / "tiny"], check=True)
    (folder / "job.yaml").write_text(JOB)
    for who in ("trainer", "auditor"):
        commands.done("keygen", "-o", who)
    commands.done("train", "job.yaml", "--run", "run", "--key", "trainer")
    commands.done("export", "run", "-o", "model.safetensors", "--key", "trainer", "--attest", "trained.json")
    commands.done("audit", "run", "--key", "auditor", "-o", "audited.json", "--keep", "kept")
    check(folder, "trained.json", "trainer", "auditor")
    check(folder, "audited.json", "auditor", "trainer")
    return "two statements accepted, each refused when changed and with the other's key"


if __name__ == "__main__":
    sys.exit(interop.main(__file__, __doc__, "securesystemslib", find, exchange))
