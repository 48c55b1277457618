# ctest: labels=full timeout=2400
"""Disputes over every lie of lockstep-cheat, between two folders; told in the first, a middle or the last step, a leaf per step
or per five, in each mode that can be judged; trained and audited on different platforms; all parties have keys and the job
names a referee.

Each lie is disputed twice: against a trainer who stays with it, where step, op and element are the lie's own, and against one
who executes honestly and is held to what it committed, which may be a later step of the same leaf. What must hold: trainer-wrong;
`judge` and the Python verifier say the same; neither accepts the file with any byte changed. Auditors who lie in the same ways
are found wrong; honest pairs have nothing to dispute.

    disputes.py [NAME …]      only these lies

Each lie is told at one of three times, each in another mode; with LOCKSTEP_EXHAUSTIVE=1 (test e2e.disputes_all) at all of them.
"""
import json
import os
import random
import subprocess
import sys

from harness import ROOT, Folder, Report, cheat, lockstep, noise_data, write_job, write_text_job

ALL = os.environ.get("LOCKSTEP_EXHAUSTIVE") == "1"
STEPS, EVERY = 7, 5
FIRST, MIDDLE, LAST = 1, 4, 7
NETWORKS = {"lenet5": "", "resnet18": ", width: 0.05"}
PLATFORMS = [("native", "naive"), ("openblas", "native"), ("naive", "openblas")]

# lie, with "+text" where it is told of one: the network, and kind of op and value at which a trainer is caught who stays with it
LIES = {
    "poison-label": ("lenet5", "load", "x.labels"),
    "poison-pixel": ("lenet5", "load", "x"),
    "drop-batch": ("lenet5", "load", None),
    "repeat-batch": ("lenet5", "load", None),
    "other-order": ("lenet5", "load", None),
    "half-batch": ("lenet5", "load", None),
    "other-weights": ("lenet5", "init_uniform", None),
    "edit-weight": ("lenet5", "sgd", None),
    "edit-momentum": ("lenet5", "sgd", None),
    "freeze-layer": ("lenet5", "sgd", None),
    "skip-step": ("lenet5", "sgd", None),
    "wrong-lr": ("lenet5", "sgd", None),
    "low-precision": ("lenet5", "conv2d", "conv1"),
    "bend-values": ("lenet5", "reshape", "logits"),
    "bend-gradient": ("lenet5", "cross_entropy_grad", None),
    "bend-statistics": ("resnet18", "channel_stats", None),
    "forge-entry": ("lenet5", "conv2d", "conv1"),
    "invert-log": ("lenet5", "conv2d", None),
    "other-order+text": ("gpt2", "load_tokens", None),
    "poison-label+text": ("gpt2", "load_tokens", "x.labels"),
    "drop-batch+text": ("gpt2", "load_tokens", None),
}
LOGGED_ONLY = ("forge-entry", "invert-log")


def told(name):
    """What lockstep-cheat calls it."""
    return name.partition("+")[0]


sys.path.insert(0, str(ROOT / "spec"))
from verifier.evidence import judge  # noqa: E402 (spec)


def python_judge(path):
    ruling, reason, known = judge(path.read_bytes())
    return {"verdict": ruling, "text": reason, **known}


def python_command(path):
    """The same as a program; it costs an interpreter's start, so only some files go through it."""
    done = subprocess.run([sys.executable, "-m", "verifier", "judge", str(path)], cwd=ROOT / "spec", capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"verdict": f"no verdict: {done.stderr[-400:]}"}


class Court:
    def __init__(self, folder, report):
        self.folder, self.report, self.draw = folder, report, random.Random(7)
        noise_data(folder / "data", 64)
        for who in ("trainer", "auditor", "referee"):
            report.check(lockstep("keygen", "-o", folder / who).code == 0, "keygen")
        self.keys = ["--trainer-key", folder / "trainer", "--auditor-key", folder / "auditor", "--referee-key", folder / "referee"]
        self.count, self.bytes = 0, 0

    def data(self, run):
        """Where a run's data are; its name says what lie is told. Text is part of the program."""
        return ["--threads", 1] if "+text" in str(run) else ["--data", self.folder / "data", "--threads", 1]

    def job(self, network, mode, every):
        path = self.folder / f"{network}-{mode}-{every}.yaml"
        if network == "gpt2":
            write_text_job(path, steps=STEPS, every=every, mode=mode)
        elif not path.exists():
            write_job(path, arch=network, steps=STEPS, batch=8, every=every, mode=mode, model=NETWORKS[network])
        return path

    def train(self, job, name, platform, lie=None, at=None):
        run = self.folder / name
        words = ["train", job, "--run", run, "--platform", platform, "--key", self.folder / "trainer", *self.data(run)]
        if lie:
            done = cheat(*words, "--lie", told(lie), "--at", at, "--referee", self.folder / "referee.pub")
        else:
            order = self.folder / f"{name}.order"
            lockstep("plan", job, "-o", order, "--referee", self.folder / "referee.pub", *self.data(run)[:-2])
            done = lockstep(*words, "--job", order)
        self.report.check(done.code == 0, f"{name}: training", done)
        return run

    def evidence(self, title, path, verdict, step, kind=None, value=None):
        """Both judges, and neither of them on a file with a byte changed."""
        ours, theirs = lockstep("judge", path), python_judge(path)
        good = ours["verdict"] == verdict and ours["step"] in step and (not kind or ours["kind"] == kind) and \
            (not value or ours["value"] == value)
        self.report.check(good, f"{title}: expected {verdict} in {step}, {kind} {value}", ours)
        self.report.check(ours["trainer_signed"] and ours["auditor_signed"] and ours["refereed"], f"{title}: expected signatures", ours)
        if self.count % 8 == 0:
            said = python_command(path)
            self.report.check(said == theirs, f"{title}: python3 -m verifier judge says {said}, in one process it says {theirs}")
        same = all(theirs.get(key) == ours[key] for key in ("verdict", "step", "op", "element"))
        self.report.check(same, f"{title}: the Python verifier says {theirs}", ours)
        data = path.read_bytes()
        self.count, self.bytes = self.count + 1, max(self.bytes, len(data))
        self.report.check(len(data) <= 500_000, f"{title}: {len(data)} bytes of evidence")
        for n in range(8):
            changed = bytearray(data)
            changed[self.draw.randrange(len(data))] ^= 1 << self.draw.randrange(8)
            path.with_suffix(".changed").write_bytes(changed)
            again = lockstep("judge", path.with_suffix(".changed"))
            self.report.check(again["verdict"] == "evidence-invalid", f"{title}: a byte changed", again)
            if n == 0:
                again = python_judge(path.with_suffix(".changed"))
                self.report.check(again["verdict"] == "evidence-invalid", f"{title}: a byte changed, for the Python verifier: {again}")

    def trainer_lies(self, name, at, every, mode, pair):
        network, kind, value = LIES[name]
        at = 0 if name == "other-weights" else at
        title = f"{name}, {mode}, step {at}, a leaf per {every}, {pair[0]} against {pair[1]}"
        run = self.train(self.job(network, mode, every), f"{name}-{mode}-{at}-{every}", pair[0], name, at)
        kept = run.with_suffix(".kept")
        audit = lockstep("audit", run, "--keep", kept, "--key", self.folder / "auditor", "--platform", pair[1], *self.data(run))
        if not self.report.check(audit.code == 1, f"{title}: expected the audit to find it", audit):
            return
        for stubborn in (True, False):
            path = run.with_suffix(f".evidence{int(stubborn)}")
            words = ["dispute", run, kept, "-o", path, *self.keys, *self.data(run)]
            done = cheat(*words, "--lie", told(name), "--at", at) if stubborn else lockstep(*words)
            if self.report.check(done.code == 1 and path.exists(), f"{title}: the dispute", done):
                self.evidence(f"{title}, {'stubborn' if stubborn else 'honest'} player", path, "trainer-wrong",
                              [at] if stubborn else range(at, max(1, -(-at // every)) * every + 1), kind if stubborn else None, value if stubborn else None)

    def auditor_lies(self, name, at, mode):
        network, kind, value = LIES[name]
        title = f"{name} by the auditor, {mode}, step {at}"
        run = self.train(self.job(network, mode, 1), f"honest-{name}-{mode}-{at}", "native")
        kept, path = run.with_suffix(".kept"), run.with_suffix(".evidence")
        cheat("audit", run, "--keep", kept, "--key", self.folder / "auditor", "--lie", told(name), "--at", at, *self.data(run))
        done = cheat("dispute", run, kept, "-o", path, "--side", "auditor", "--lie", told(name), "--at", at, *self.keys, *self.data(run))
        if self.report.check(done.code == 1 and path.exists(), f"{title}: the dispute", done):
            self.evidence(title, path, "auditor-wrong", [at], kind, value)

    def honest(self, network, mode, every):
        title = f"honest, {network}, {mode}, a leaf per {every}"
        run = self.train(self.job(network, mode, every), f"honest-{network}-{mode}-{every}", "native")
        kept, path = run.with_suffix(".kept"), run.with_suffix(".evidence")
        audit = lockstep("audit", run, "--keep", kept, "--key", self.folder / "auditor", "--platform", "openblas", *self.data(run))
        done = lockstep("dispute", run, kept, "-o", path, *self.keys, *self.data(run))
        self.report.check(audit["verdict"] == "match" and done.code == 0 and done["verdict"] == "match" and not path.exists(), title, done)


def main(names):
    report = Report("disputes")
    with Folder() as folder:
        court = Court(folder, report)
        for i, name in enumerate(names or LIES):
            modes = ("logged",) * 3 if name in LOGGED_ONLY else ("logged", "exact", "pinned")
            times = [(FIRST, 1), (MIDDLE, EVERY), (LAST, 1)]
            if name == "repeat-batch":
                times[0] = (2, 1)
            for j, (at, every) in enumerate(times):
                if not ALL and j != i // 3 % 3:
                    continue
                court.trainer_lies(name, at, every, modes[(i + j) % 3], PLATFORMS[(i + j) % 3])
            if name not in (*LOGGED_ONLY, "other-weights"):
                court.auditor_lies(name, MIDDLE, modes[i % 3])
        if not names:
            for mode in ("logged", "exact", "pinned"):
                court.honest("lenet5", mode, 1)
                court.honest("resnet18", mode, EVERY)
        print(f"{court.count} evidence files, the largest of {court.bytes} bytes")
    report.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
