# ctest: labels=quick
"""Signatures that other people's tools accept: a signed head, verified by its own rules with hashlib and openssl; the run
tree over its leaves; statements, verified by openssl (tests/tools/interop_dsse.py puts them to a library)."""
import base64
import hashlib
import json
import shutil
import subprocess

from harness import Folder, Report, lockstep, merkle_root, noise_data, read_leaves, write_job

report = Report("identity")


def openssl_verifies(folder, public, message, signature):
    (folder / "message").write_bytes(message)
    (folder / "signature").write_bytes(signature)
    words = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public, "-in", folder / "message",
             "-sigfile", folder / "signature"]
    return subprocess.run([str(w) for w in words], capture_output=True).returncode == 0


def raw_key(public):
    return base64.b64decode("".join(public.read_text().splitlines()[1:-1]))[-32:]


def check_head(folder, run, public):
    """c2sp.org/signed-note, read anew."""
    leaves = read_leaves(run)
    text = (run / "heads" / str(len(leaves))).read_text()
    body, _, lines = text.partition("\n\n")
    body += "\n"
    origin, size, root = body.splitlines()
    dash, name, seal = lines.rstrip("\n").split(" ")
    seal = base64.b64decode(seal)
    key_id = hashlib.sha256(name.encode() + b"\n\x01" + raw_key(public)).digest()[:4]
    report.check(dash == "\u2014" and name == origin and int(size) == len(leaves), "a signed note of one line")
    report.check(seal[:4] == key_id and len(seal) == 68, "the key id")
    report.check(openssl_verifies(folder, public, body.encode(), seal[4:]), "openssl accepts the head's signature")
    report.check(not openssl_verifies(folder, public, body.replace(size, "9", 1).encode(), seal[4:]), "and not another head's")
    report.check(base64.b64decode(root) == merkle_root(leaves), "the root of the leaves, by the RFC's recursion")
    report.check(base64.b64decode(root) != merkle_root(leaves[:-1]), "and not of fewer")


def check_envelope(folder, envelope, weights, public, role):
    e = json.loads(envelope.read_text())
    payload = base64.b64decode(e["payload"], validate=True)
    signed = b"DSSEv1 %d %s %d %s" % (len(e["payloadType"]), e["payloadType"].encode(), len(payload), payload)
    signature = base64.b64decode(e["signatures"][0]["sig"], validate=True)
    report.check(openssl_verifies(folder, public, signed, signature), f"{role}: openssl accepts the envelope")
    statement = json.loads(payload)
    report.check(statement["_type"] == "https://in-toto.io/Statement/v1" and
                 statement["subject"][0]["digest"]["sha256"] == hashlib.sha256(weights.read_bytes()).hexdigest(),
                 f"{role}: a statement about the weights")
    report.check(statement["predicate"]["role"] == role, f"{role}: says who speaks")


with Folder() as folder:
    if not shutil.which("openssl"):
        print("SKIPPED: there is no openssl command")
        raise SystemExit(77)
    noise_data(folder / "data", 64)
    job, run, weights = write_job(folder / "job.yaml", arch="logreg", steps=5), folder / "run", folder / "model.safetensors"
    for who in ("trainer", "auditor"):
        report.check(lockstep("keygen", "-o", folder / who).code == 0, "keygen")
    where = ["--data", folder / "data"]
    trained = lockstep("train", job, "--run", run, "--key", folder / "trainer", *where)
    report.check(trained.code == 0, "a signed run", trained)
    exported = lockstep("export", run, "-o", weights, "--key", folder / "trainer", "--attest", folder / "trained.json")
    report.check(exported.code == 0, "a trainer's statement", exported)
    audited = lockstep("audit", run, "--key", folder / "auditor", "-o", folder / "audited.json", "--keep", folder / "kept", *where)
    report.check(audited.code == 0, "an auditor's statement", audited)
    check_head(folder, run, folder / "trainer.pub")
    check_head(folder, folder / "kept", folder / "auditor.pub")
    check_envelope(folder, folder / "trained.json", weights, folder / "trainer.pub", "trainer")
    check_envelope(folder, folder / "audited.json", weights, folder / "auditor.pub", "auditor")
report.finish()
