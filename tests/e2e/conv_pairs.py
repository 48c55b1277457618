# ctest: labels=exhaustive timeout=1800
"""Convolutional networks on CIFAR-10: a trainer on one platform, an auditor on another, and equal roots.

1. VGG-11 and ResNet-18 at their full width, ResNet-50 besides; naive, whose loops are slow, on smaller ones. The last
   auditor is of ResNet-50 at its full width on naive, for one step of two samples.
2. Grids of 32, 29 and 26 bits with FP64 sums, from weights under which all gradients nearly cancel; 19 and 16 bits with
   FP32 sums, from fresh weights. Auditors on other platforms need corrections, counted per op. The twin of each, mode
   plain, ends in different states; pairs of platforms that agree all the same are listed as no evidence.
3. The paper's thresholds, fixed and adaptive after a calibration over two platforms, with the dense coding, which costs a
   byte for five elements where sparse costs a small part of that. These runs are marked uncertified everywhere.

Needs CIFAR-10's binary version (tests/tools/datasets.py says where); without it the test says so and is skipped.
"""
import array
import concurrent.futures
import json
import os
import struct
import sys
import time

from harness import JOBS, SKIPPED, Folder, Report, datasets, lockstep, sets

CIFAR = datasets.above("cifar-10-batches-bin") / "cifar-10-batches-bin"
RECORD = 1 + 3 * 32 * 32
SMALL = sets(model__width=0.25)
FAST = ["native", "openblas", "blis"]


class Case:
    """One job, trained on some platforms and audited on others; prints a row per pair."""

    def __init__(self, report, folder, name, arch, words, data=CIFAR):
        self.report, self.folder, self.name, self.data = report, folder / name.replace(" ", "-"), name, data
        self.job = [JOBS / f"cifar-{arch}.yaml", *sets(train__commit_every=1, train__steps=2, train__batch=8), *words]
        self.runs, self.audits, self.plain = {}, {}, {}
        self.folder.mkdir()

    def train(self, platform, extra=(), suffix=""):
        return lockstep("train", *self.job, *extra, "--run", self.folder / f"{platform}{suffix}", "--platform", platform,
                        "--threads", 1, "--data", self.data)

    def audit(self, trainer, auditor):
        return lockstep("audit", self.folder / trainer, "--platform", auditor, "--threads", 1, "--data", self.data)

    def play(self, pairs):
        """Trains once for each trainer in pairs, then audits each pair. Returns the sum of all corrections."""
        self.runs = at_once({t: lambda t=t: self.train(t) for t in dict(pairs)})
        for trainer, run in self.runs.items():
            self.report.check(run.code == 0 and not run["diverged"], f"{self.name}: training on {trainer}", run)
        self.audits = at_once({pair: lambda pair=pair: self.audit(*pair) for pair in pairs})
        return sum(self.check_pair(*pair, result) for pair, result in self.audits.items())

    def check_pair(self, trainer, auditor, result):
        run, corrections = self.runs[trainer], result["corrections"] or 0
        good = result.code == 0 and result["verdict"] == "match" and run["root"] == result["root"] == result["replayed_root"]
        self.report.check(good, f"{self.name}: trained on {trainer}, audited on {auditor}: expected equal roots", result)
        per_op = {op["op"]: op["corrections"] for op in result["ops"] or [] if op["corrections"]}
        self.report.check(sum(per_op.values()) == corrections, f"{self.name}: corrections per op add up", result)
        self.report.check(result["uncertified"] == run["uncertified"], f"{self.name}: says whether it is certified", result)
        most = sorted(per_op, key=per_op.get, reverse=True)[:2]
        print(f"{self.name:<26}{trainer + ' → ' + auditor:<20}{'equal' if good else 'DIFFERENT':<10}{corrections:>6}"
              f"{run['log_entries']:>10}{run['elements']:>12}{run['seconds']:>9.1f}{result['seconds']:>9.1f}  "
              + ", ".join(f"{op} {per_op[op]}" for op in most), flush=True)
        return corrections

    def compare_plain(self, platforms):
        """The same job without a rounding log. Not all platforms may end in one state: else the case shows nothing."""
        mode = sets(arithmetic__mode="plain")
        runs = at_once({p: lambda p=p: self.train(p, mode, "-plain") for p in platforms})
        for platform, run in runs.items():
            self.report.check(run.code == 0, f"{self.name}, plain: training on {platform}", run)
        agree = [f"{a} and {b}" for i, a in enumerate(platforms) for b in platforms[i + 1:]
                 if runs[a]["state_root"] == runs[b]["state_root"]]
        print(f"{'':26}plain: {len({r['state_root'] for r in runs.values()})} states on {len(runs)} platforms; agree anyway, "
              f"no evidence: {'; '.join(agree) or 'none'}", flush=True)
        return len({r["state_root"] for r in runs.values()})


def at_once(calls):
    """Results of a dictionary of functions, two at a time."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = {key: pool.submit(call) for key, call in calls.items()}
        return {key: future.result() for key, future in running.items()}


def ring(platforms):
    return [(t, platforms[(i + 1) % len(platforms)]) for i, t in enumerate(platforms)]


def available(report):
    found = {row["platform"] for row in lockstep("platforms")["platforms"] or [] if row["available"]}
    for name in ("native", "openblas", "blis", "naive"):
        report.check(name in found, f"platform {name} must be here for this test: {sorted(found)}")


# ---- 1: networks at their real size ----

def networks(report, folder):
    for arch in ("vgg11", "resnet18"):
        Case(report, folder, arch, arch, []).play(ring(FAST))
        Case(report, folder, f"{arch} width 0.25", arch, SMALL).play([("naive", "blis")])
    both_ways = [("native", "openblas"), ("openblas", "native"), ("openblas", "blis"), ("blis", "openblas")]
    Case(report, folder, "resnet50", "resnet50", []).play(both_ways)
    Case(report, folder, "resnet50 1 step of 2", "resnet50", sets(train__steps=1, train__batch=2)).play([("native", "naive")])


# ---- 2: grids ----

def cancelling_data(folder, images=2):
    """The first images of CIFAR-10, each ten times, with each label once."""
    records = (CIFAR / "data_batch_1.bin").read_bytes()[:images * RECORD]
    folder.mkdir()
    (folder / "data_batch_1.bin").write_bytes(b"".join(bytes([label]) + records[i * RECORD + 1:(i + 1) * RECORD]
                                                       for i in range(images) for label in range(10)))
    return folder


def scale_tensors(path, names, factor):
    """Multiplies tensors of a safetensors file of FP32."""
    data = bytearray(path.read_bytes())
    start = 8 + struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:start])
    for name in names:
        begin, end = (start + offset for offset in header[name]["data_offsets"])
        data[begin:end] = array.array("f", [factor * x for x in array.array("f", data[begin:end])]).tobytes()
    path.write_bytes(data)


def near_even_weights(report, folder, data, words):
    """ResNet-18's own first weights with a dense layer 2,048 times smaller: every class has a probability close to 0.1, and
    where each image bears each label once, gradients are sums that nearly cancel."""
    words = [*words, *sets(train__steps=1, optimizer__lr=0)]
    case, weights = Case(report, folder, "first weights", "resnet18", words, data), folder / "even.safetensors"
    report.check(case.train("native").code == 0, "a step that changes nothing, to export the first weights")
    exported = lockstep("export", case.folder / "native", "-o", weights)
    report.check(exported.code == 0, "export of ResNet-18", exported)
    scale_tensors(weights, ("fc.weight", "fc.bias"), 2.0 ** -11)
    return weights


def grids(report, folder):
    data = cancelling_data(folder / "cancelling")
    words = [*SMALL, *sets(data__augment="[]", data__limit=20, train__batch=20, optimizer__weight_decay=0)]
    weights = near_even_weights(report, folder, data, words)
    for grid in (32, 29, 26):
        case = Case(report, folder, f"resnet18 FP64 grid {grid}", "resnet18",
                    [*words, *sets(model__init_from=weights, arithmetic__grid=grid)], data)
        report.check(case.play(ring(FAST)) > 0, f"{case.name}: expected corrections between platforms")
        report.check(case.compare_plain(FAST) > 1, f"{case.name}: all plain states are equal, so the inputs show nothing")
    for arch in ("resnet18", "vgg11"):
        for grid in (19, 16):
            case = Case(report, folder, f"{arch} FP32 grid {grid}", arch,
                        [*SMALL, *sets(arithmetic__grid=grid, arithmetic__compute="fp32")])
            pairs = [("native", "blis"), ("openblas", "native"), ("blis", "openblas"), ("naive", "native")]
            report.check(case.play(pairs) > 0, f"{case.name}: expected corrections between platforms")
            report.check(case.compare_plain([*FAST, "naive"]) > 2, f"{case.name}: too few plain states differ")


# ---- 3: thresholds ----

def thresholds(report, folder):
    file, job = folder / "thresholds.json", [JOBS / "cifar-resnet18.yaml", *SMALL, *sets(train__batch=8)]
    made = lockstep("calibrate", *job, "--platforms", "native,blis", "--trials", 1, "-o", file, "--data", CIFAR, "--threads", 2)
    report.check(made.code == 0 and made["covered"] is True, "calibration over native and blis", made)
    taus = {op["kind"]: op["tau"] for op in made["ops"] or []}
    print("calibrated: " + ", ".join(f"{kind} {tau:.5f}" for kind, tau in taus.items()))
    report.check({"conv2d", "conv2d_dinput", "conv2d_dweight", "matmul"} == set(taus), "a tau for each kind of product", made)
    certified = Case(report, folder, "certified sparse", "resnet18", SMALL)
    certified.play([("blis", "native")])
    honest = certified.runs["blis"]
    report.check(honest["uncertified"] is False, "certified is not marked", honest)
    for name, threshold in (("fixed", "{fixed: 0.49}"), ("adaptive", f"{{adaptive: {file}}}")):
        case = Case(report, folder, f"{name} dense", "resnet18", [*SMALL, "--set", f"arithmetic.threshold={threshold}",
                                                                  *sets(arithmetic__encoding="dense")])
        case.play([("blis", "native"), ("native", "openblas")])
        for trainer, run in case.runs.items():
            inspected = lockstep("inspect", case.folder / trainer)
            report.check(run["uncertified"] is True and inspected["uncertified"] is True, f"{case.name} is marked uncertified", run)
            report.check(run["log_bytes"] > run["elements"] / 5, f"{case.name}: a byte for five elements", run)
        report.check(case.runs["blis"]["state_root"] == honest["state_root"], f"{case.name}: the state of the certified run",
                     case.runs["blis"])
        report.check(case.runs["blis"]["job"] != honest["job"], f"{case.name} is another job", case.runs["blis"])
        print(f"{'':26}log of {case.runs['blis']['log_bytes']} bytes; certified sparse {honest['log_bytes']}")
    report.check(honest["log_bytes"] < honest["elements"] / 50, "sparse and certified is a small part of that", honest)


def main():
    missing = datasets.missing(CIFAR.name, "data_batch_1.bin")
    if missing:
        print(missing)
        sys.exit(SKIPPED)
    report, begun = Report("conv_pairs"), time.monotonic()
    print(f"{'case':<26}{'trainer → auditor':<20}{'roots':<10}{'corr.':>6}{'entries':>10}{'elements':>12}{'train s':>9}"
          f"{'audit s':>9}  most corrections")
    with Folder(large=True) as folder:
        available(report)
        for part in (networks, grids, thresholds):
            part(report, folder)
            print(f"-- {part.__name__}: {time.monotonic() - begun:.0f} s in all, of them processor "
                  f"{sum(os.times()[2:4]):.0f} s", flush=True)
    report.finish()


main()
