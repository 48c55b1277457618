"""The independent verifier in spec/verifier against the C binary: programs of every model, whole runs of a tiny network in every
mode computed again element by element, and damaged or dishonest runs, which it must refuse.
"""
# ctest: labels=full timeout=900
import shutil
import subprocess
import sys

from harness import ROOT, Folder, Report, cheat, environment, lockstep, noise_data, run, sets

JOB = """lockstep: 1
name: tiny
model: {arch: mlp, classes: 3, hidden: [5]}
data: {format: idx, path: data}
train: {steps: 4, batch: 4, seed: 3, commit_every: 2}
optimizer: {name: sgd, lr: 0.1, momentum: 0.9, weight_decay: 0.001}
"""
MODES = {  # name: fields
    "logged": {}, "logged-bfloat16": {"arithmetic__grid": 16, "arithmetic__compute": "fp32",
                                      "arithmetic__encoding": "dense"},
    "logged-deep": {"arithmetic__grid": 16, "arithmetic__depth": 2097152},
    "logged-tau": {"arithmetic__grid": 16, "arithmetic__compute": "fp32", "arithmetic__threshold": "{fixed: 0.4}"},
    "exact": {"arithmetic__mode": "exact"}, "pinned": {"arithmetic__mode": "pinned"},
    "pinned-tf32": {"arithmetic__mode": "pinned", "arithmetic__grid": 19},
}
JOBS = {  # name: fields; each with the batch and the steps of the mode's run
    "nesterov": {"optimizer__nesterov": "true", "schedule__name": "cosine", "schedule__warmup": 2},
    "drops": {"schedule__name": "step", "schedule__every": 2, "schedule__gamma": 0.5, "optimizer__momentum": 0},
    "augmented": {"data__augment": "[crop, flip]", "data__mean": 72.94, "data__std": 90.02},
    "logreg": {"model__arch": "logreg", "model__hidden": "[]"},
    "tanh": {"model__activation": "tanh"}, "sigmoid": {"model__activation": "sigmoid"}, "gelu": {"model__activation": "gelu"},
}
MODELS = ({"model__arch": "logreg"}, {"model__arch": "mlp", "model__hidden": "[7, 5]"}, {"model__arch": "lenet5"},
          {"model__arch": "lenet5", "model__pool": "avg", "model__activation": "tanh"}, {"model__arch": "vgg11"},
          {"model__arch": "vgg16", "model__head": "torchvision"},
          {"model__arch": "resnet18", "model__width": 0.25}, {"model__arch": "resnet50"})


def verifier(*words):
    return run([sys.executable, "-m", "verifier", *words], {"PYTHONPATH": str(ROOT / "spec")})


def train(report, folder, name, fields):
    out = folder / name
    result = lockstep("train", folder / "job.yaml", "--run", out, "--data", folder / "data", "--snapshots", "all",
                      *sets(**fields))
    return out if report.check(result.code == 0, f"{name}: training", result) else None


def same_run(report, folder, name, fields):
    out = train(report, folder, name, fields)
    if out is None:
        return None
    found = verifier("run", out, "--replay", folder / "data")
    report.check(found.code == 0 and "every element computed again" in found.out,
                 f"{name}: the verifier computes the same run", found)
    root = lockstep("inspect", out)["root"]
    report.check(f"root {root}\n" in found.out, f"{name}: both name the root {root}", found)
    return out


def programs(report, folder):
    """The digests in a job's bytes, made by C, are those of the programs that the verifier builds from the same fields."""
    noise_data(folder / "large", 16, side=32, classes=10)
    script = "import sys; from verifier import jobs, models; models.check_programs(jobs.decode(open(sys.argv[1], 'rb').read()))"
    (folder / "large.yaml").write_text(JOB.replace("classes: 3, hidden: [5]", "classes: 10"))
    for fields in MODELS:
        name = " ".join(str(v) for v in fields.values())
        planned = lockstep("plan", folder / "large.yaml", "--data", folder / "large", "-o", folder / "job.bin",
                           *sets(**fields))
        if report.check(planned.code == 0, f"{name}: plan", planned):
            found = subprocess.run([sys.executable, "-c", script, folder / "job.bin"], capture_output=True, text=True,
                                   env=environment({"PYTHONPATH": str(ROOT / "spec")}))
            report.check(found.returncode == 0, f"{name}: other programs: {found.stderr[-300:]}")
        other = bytearray((folder / "job.bin").read_bytes())
        other[-232] ^= 1  # the binding's first byte, which is that of the step program's digest
        (folder / "job.bin").write_bytes(other)
        found = subprocess.run([sys.executable, "-c", script, folder / "job.bin"], capture_output=True, text=True,
                               env=environment({"PYTHONPATH": str(ROOT / "spec")}))
        report.check(found.returncode != 0 and "digest" in found.stderr, f"{name}: a changed digest is refused")


def flip(path, at, bit=0):
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def damage(report, folder, whole):
    """A flipped bit in each kind of file."""
    places = {"job.bin": (20, -1), "job.yaml": (12, -9), "nonce": (0, 64), "leaves": (0, 30, -1),
              "rounding-log/frames": (0, 20, -1),
              "heads/3": (12, -3), "snapshots/0000000000": (0, 13, -1), "snapshots/0000000004": (60, -5),
              "snapshots/0000000002": (-1,)}
    for name, offsets in places.items():
        for at in offsets:
            refused(report, folder, whole, name, f"byte {at}", lambda path, at=at: flip(path, at))
        if name not in ("snapshots/0000000002",):
            refused(report, folder, whole, name, "missing", lambda path: path.unlink())
        refused(report, folder, whole, name, "cut", lambda path: path.write_bytes(path.read_bytes()[:-1]))
        refused(report, folder, whole, name, "longer", lambda path: path.write_bytes(path.read_bytes() + b"\n"))
    for key in ("loss_bits", "lr", "step", "loss"):
        refused(report, folder, whole, "metrics.jsonl", key, lambda path, key=key: bend_metric(path, key))


def bend_metric(path, key):
    text = path.read_text()
    at = text.index(f'"{key}":') + len(key) + 3
    at += text[at] == '"'
    digit = next(i for i in range(at, len(text)) if text[i] in "0123456789abcdef" and text[i] != "0")
    path.write_text(text[:digit] + ("1" if text[digit] != "1" else "2") + text[digit + 1:])


def refused(report, folder, whole, name, what, change):
    bent = folder / "bent"
    shutil.copytree(whole, bent)
    change(bent / name)
    found = verifier("run", bent)
    report.check(found.code == 1 and found.out.startswith("refused: "), f"{name}: {what}: expected a refusal", found)
    shutil.rmtree(bent)


def lies(report, folder):
    """Consistent with their own roots, but not with the definitions: only computing again tells."""
    (folder / "every.yaml").write_text(JOB.replace("commit_every: 2", "commit_every: 1"))
    for lie in ("poison-label", "drop-batch", "edit-weight", "freeze-layer", "skip-step", "wrong-lr", "low-precision",
                "bend-values",
                "forge-entry", "redundant-entries"):
        out = folder / f"lie-{lie}"
        told = cheat("train", folder / "every.yaml", "--run", out, "--data", folder / "data", "--lie", lie, "--at", 2,
                     *sets(arithmetic__grid=32 if lie == "low-precision" else 16))
        if not report.check(told.code == 0, f"{lie}: the liar's run", told):
            continue
        whole, again = verifier("run", out), verifier("run", out, "--replay", folder / "data")
        report.check(whole.code == 0, f"{lie}: fits its own roots", whole)
        if lie == "redundant-entries":
            report.check(again.code == 0, f"{lie}: allowed", again)
        else:
            report.check(again.code == 1 and again.out.startswith("refused: "), f"{lie}: found by computing again", again)


def main():
    report = Report("verifier")
    with Folder() as folder:
        noise_data(folder / "data", 18, side=6, classes=3)
        (folder / "job.yaml").write_text(JOB)
        runs = {name: same_run(report, folder, name, fields) for name, fields in MODES.items()}
        for name, fields in JOBS.items():
            same_run(report, folder, name, fields | {"arithmetic__grid": 16})
        programs(report, folder)
        if runs["logged-bfloat16"]:
            damage(report, folder, runs["logged-bfloat16"])
        lies(report, folder)
        flip(folder / "data" / "train-images-idx3-ubyte", 40)
        if runs["logged"]:
            other = verifier("run", runs["logged"], "--replay", folder / "data")
            report.check(other.code == 1 and "data: root" in other.out, "another bit of the data is refused", other)
    report.finish()


main()
