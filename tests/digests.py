#!/usr/bin/env python3
"""The first steps of the example jobs, against the roots in tests/digests.csv.

    digests.py [--tier quick|full] [--jobs NAME,…] [--write] [--run-with "COMMAND …"] [--program FILE] [--isa NAME] [--threads N]

Each run has one nonce, commits to every step, and is compared step by step, so that a complaint names the first step whose
state, or rounding log, is another. The file's columns:

    tier       quick, or full for what takes longer
    job, set   a file of examples/jobs and the fields that are set besides the mode, train.steps and train.commit_every
    mode       exact, logged or pinned
    trainer    `any` where no platform has a say, else whose sums are rounded: native, naive, or a BLAS, with version and core
               type. A BLAS of another version is not compared, and this is said.
    step       0 is the initial state
    state      the state root after the step
    run        the head of the run tree over leaves 0 … step; it covers the rounding log

--write makes the file again: read the difference, and know why, before you keep it. --run-with is what starts the program,
if it is one for another processor; --program another one than lockstep, with its command line; --isa is the LOCKSTEP_ISA to compute with. LOCKSTEP_BUILD names the build folder. Where a data set is missing its jobs are skipped
with a loud line.
"""
import argparse
import concurrent.futures
import csv
import ctypes
import os
import pathlib
import shlex
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "e2e"))
from harness import JOBS, LOCKSTEP, ROOT, SKIPPED, Folder, Report, datasets, merkle_root, read_leaves, run  # noqa: E402

FILE = HERE / "digests.csv"
COLUMNS = ["tier", "job", "set", "mode", "trainer", "step", "state", "run"]
NONCE = "d1" * 32
SMALL = "model.width=0.125 train.batch=4 data.limit=1000"
TEXT = "model.layers=2 model.embedding=36 model.context=33 data.length=33 train.batch=4 schedule.warmup=1"
CASES = [  # tier, job, fields, steps
    ("quick", "digits-csv", "", 5), ("quick", "fashion-logreg", "", 5), ("quick", "fashion-mlp", "", 3),
    ("quick", "fashion-mlp", "model.activation=gelu train.batch=16", 2), ("quick", "fashion-lenet", "", 3),
    ("quick", "fashion-lenet", "model.activation=tanh model.pool=avg train.batch=8", 2),
    ("quick", "gpt2-bytes", TEXT, 3), ("quick", "gpt2-bytes", TEXT + " model.dropout=0.1 train.accumulate=2 optimizer.name=adam", 2),
    ("quick", "cifar-vgg11", SMALL, 2), ("quick", "cifar-resnet18", SMALL, 2),
    ("full", "fashion-resnet18", "train.batch=4", 2), ("full", "cifar-resnet18-quarter", "schedule.warmup=0", 2),
    ("full", "cifar-vgg11", "train.batch=4 data.limit=10000", 2), ("full", "cifar-resnet18", "train.batch=4 data.limit=10000", 2),
    ("full", "cifar-resnet50", "train.batch=2 data.limit=10000", 2),
]
DATA = {"fashion": ("fashion-mnist", "train-images-idx3-ubyte.gz"), "cifar": ("cifar-10-batches-bin", "data_batch_1.bin")}


def version(library, function):
    """What a BLAS says of itself, or None."""
    try:
        ask = getattr(ctypes.CDLL(library), function)
    except (OSError, AttributeError):
        return None
    ask.restype = ctypes.c_char_p
    return next((w for w in ask().decode().split() if w[0].isdigit()), None)


def trainers(foreign):
    """Of mode logged, by name: --platform and environment. The core types are such as every x86-64 of the last decade has."""
    out = {"native": ("native", {}), "naive": ("naive", {})}
    openblas = None if foreign else version("libopenblas.so.0", "openblas_get_config")
    blis = None if foreign else version("libblis.so.4", "bli_info_get_version_str")
    if openblas:
        out[f"openblas-{openblas}-Prescott"] = ("openblas", {"OPENBLAS_CORETYPE": "Prescott"})
    if blis:
        out[f"blis-{blis}-haswell"] = ("blis", {"BLIS_ARCH_TYPE": "3"})
    return out


def runs_of(case, known):
    """(mode, trainer, --platform, environment) of everything that a case runs in."""
    tier = case[0]
    yield "exact", "any", "native", {}
    yield "pinned", "any", "native", {}
    for name, (platform, env) in known.items():
        if platform != "naive" or tier == "quick":  # its loops take minutes on the larger ones
            yield "logged", name, platform, env


def data_of(job, folder):
    """--data, or the line to skip with."""
    if job.startswith("digits"):
        return folder / "digits", None
    if job == "gpt2-bytes":
        return None, None  # the program has the text
    name, file = DATA[job.split("-")[0]]
    return datasets.above(name) / name, datasets.missing(name, file)


class Digests:
    def __init__(self, options, folder):
        self.options, self.folder, self.count = options, folder, 0
        self.known = trainers(bool(options.run_with))
        self.skipped = set()
        self.isa = {"LOCKSTEP_ISA": options.isa} if options.isa else {}

    def train(self, number, case, mode, trainer, platform, env):
        """The rows of one run, or the program's result if there are none."""
        tier, job, fields, steps = case
        data, _ = data_of(job, self.folder)
        out = self.folder / f"{number}-{mode}-{platform}"
        sets = [f"arithmetic.mode={mode}", f"train.steps={steps}", "train.commit_every=1", *fields.split()]
        result = run([*shlex.split(self.options.run_with), self.options.program, "train", JOBS / f"{job}.yaml", "--run", out, "--nonce", NONCE,
                      *(("--data", data) if data else ()), "--platform", platform, "--threads", self.options.threads, "--snapshots", "last:1",
                      *(word for s in sets for word in ("--set", s)), "--json"], {**env, **self.isa}, timeout=self.options.timeout)
        if result.code != 0:
            return [], result
        leaves = read_leaves(out)
        rows = [dict(zip(COLUMNS, (tier, job, fields, mode, trainer, str(i), leaf[state:state + 32].hex(),
                                   merkle_root(leaves[:i + 1]).hex())))
                for i, leaf in enumerate(leaves) for state in (72 if i == 0 else 48,)]
        return rows, result if rows[-1]["run"] != result["root"] else None

    def wanted(self):
        for number, case in enumerate(CASES):
            tier, job = case[:2]
            if self.options.tier not in (None, tier) or (self.options.jobs and job not in self.options.jobs.split(",")):
                continue
            missing = data_of(job, self.folder)[1]
            if missing:
                if missing not in self.skipped:
                    print(missing)
                self.skipped.add(missing)
                continue
            for words in runs_of(case, self.known):
                yield number, case, *words

    def all(self):
        """(what, rows, result) of every run."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            started = [(words, pool.submit(self.train, *words)) for words in self.wanted()]
            for words, future in started:
                rows, result = future.result()
                yield (*words[1][1:3], *words[2:4]), rows, result


def key(row):
    return tuple(row[c] for c in ("job", "set", "mode", "trainer"))


def compare(report, what, rows, expected):
    """Step by step, up to the first difference."""
    title = " ".join(w for w in what if w)
    if not report.check(len(rows) == len(expected), f"{title}: {len(expected)} rows in {FILE.name}, {len(rows)} leaves"):
        return
    for got, want in zip(rows, expected):
        for column in ("state", "run"):
            if not report.check(got[column] == want[column], f"{title}: step {got['step']} has another {column} root: found "
                                f"{got[column]}, expected {want[column]}"):
                return


def twin(report, digests, expected):
    """Another learning rate: another job from the start, another state from step 1 on."""
    tier, job, fields, steps = case = next(c for c in CASES if c[0] == "quick" and c[1].startswith("digits"))
    rows, result = digests.train("twin", (tier, job, f"{fields} optimizer.lr=0.051", steps), "exact", "any", "native", {})
    if report.check(result is None, "the twin's run failed", result):
        same = [[a[c] == b[c] for a, b in zip(rows, expected[(job, fields, "exact", "any")])] for c in ("state", "run")]
        report.check(same == [[True] + [False] * steps, [False] * (steps + 1)], f"{case}: another learning rate goes unseen: {same}")


def check(report, digests, everything):
    expected = {}
    for row in everything:
        expected.setdefault(key(row), []).append(row)
    states, compared = {}, 0
    for what, rows, result in digests.all():
        if not report.check(result is None, f"{what}: the run failed or its head is not that of its leaves", result):
            continue
        if what not in expected:
            report.check(what[3] not in ("any", "native", "naive"), f"{what}: no rows in {FILE.name}")
            print(f"*** NOT COMPARED: {' '.join(what)}: {FILE.name} has rows of other versions only")
            continue
        before = report.failures
        compare(report, what, rows, expected[what])
        if digests.options.run_with:  # which may take hours
            print(f"{' '.join(w for w in what if w)}: {'as stated' if report.failures == before else 'another'}", flush=True)
        compared += 1
        states.setdefault(what[:2], {})[what[2:]] = rows[-1]["state"]
    for case, by_mode in states.items():
        report.check(by_mode[("pinned", "any")] != by_mode[("exact", "any")], f"{case}: exact and pinned end in one state: no evidence")
    twin(report, digests, expected)
    print(f"digests: {compared} runs compared")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", choices=("quick", "full"))
    parser.add_argument("--jobs")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--run-with", default="")
    parser.add_argument("--program", type=pathlib.Path, default=LOCKSTEP)
    parser.add_argument("--isa")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--timeout", type=float, default=900)
    options = parser.parse_args()
    report = Report("digests")
    with Folder() as folder:
        run([sys.executable, ROOT / "scripts" / "make-digits", folder / "digits", "--train", 640, "--test", 100])
        digests = Digests(options, folder)
        if options.write:
            write(report, digests)
        else:
            with open(FILE, newline="") as file:
                check(report, digests, list(csv.DictReader(file)))
    if digests.skipped and not report.checks:
        sys.exit(SKIPPED)
    report.finish()


def write(report, digests):
    """Only a whole file: rows of what was not run would be lost."""
    rows = []
    for what, found, result in digests.all():
        report.check(result is None, f"{what}: failed", result)
        rows += found
    if digests.skipped or digests.options.tier or digests.options.jobs or report.failures:
        sys.exit(f"digests: {FILE.name} stays as it is: not everything was run")
    with open(FILE, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
