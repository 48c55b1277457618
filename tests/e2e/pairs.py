# ctest: labels=full timeout=1800
"""The matrix of platforms: a trainer on one, an auditor on another, and the same bits.

    pairs.py [--quick]      --quick: fewer models and platforms

1. Fashion-MNIST (noise where it is not installed), mode logged: for each model every platform trains and every platform
   audits. All roots must be equal to their replays, all states to each other.
2. Inputs whose gradients cancel over the batch, so that the sums hang on their last bits. In mode plain, where every
   platform keeps its own sum, naive MUST end in other bits than each of the others: else the inputs prove nothing. Pairs that
   agree all the same are listed as no evidence. In mode logged the same job must give equal bits on all platforms, and must
   have needed exact recomputation.

An OpenBLAS core type is fixed when the library is loaded, so each is a process of its own, as is each instruction set.
"""
import concurrent.futures
import random
import sys

from harness import DATASETS, JOBS, Folder, Report, fashion_mnist, lockstep, noise_data, sets, write_idx, write_job

# column head, --platform, environment, what the program must then say it runs on
PLATFORMS = [
    ("portable", "native", {"LOCKSTEP_ISA": "portable"}, "native portable"),
    ("avx2", "native", {"LOCKSTEP_ISA": "avx2"}, "native avx2"),
    ("avx512", "native", {"LOCKSTEP_ISA": "avx512"}, "native avx512"),
    ("Prescott", "openblas", {"OPENBLAS_CORETYPE": "Prescott"}, "openblas Prescott"),
    ("Haswell", "openblas", {"OPENBLAS_CORETYPE": "Haswell"}, "openblas Haswell"),
    ("SkylakeX", "openblas", {"OPENBLAS_CORETYPE": "SkylakeX"}, "openblas SkylakeX"),
    ("blis", "blis", {}, "blis "),
    ("naive", "naive", {}, "naive"),
]
NONCE = "5a" * 32
WIDTH = 11


def on(platform, threads, *words):
    return lockstep(*words, "--platform", platform[1], "--threads", threads, env=platform[2])


def in_parallel(calls):
    """Results of (key, function) pairs, two at a time."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = [(key, pool.submit(call)) for key, call in calls]
        return {key: future.result() for key, future in running}


def usable(report, platforms, folder):
    """Platforms that exist here, asked for by a run of one step. What is missing is said aloud."""
    job, found = write_job(folder / "probe.yaml", arch="logreg", steps=1), []
    for platform in platforms:
        result = on(platform, 1, "train", job, "--run", folder / f"probe-{platform[0]}", "--data", folder / "noise")
        if result.code == 0 and str(result["platform"]).startswith(platform[3]):
            found.append(platform)
        else:
            said = result["platform"] or result["error"] or result.err.strip()
            print(f"*** NOT TESTED: {platform[3]}: the program said: {said}")
    report.check({"native", "openblas", "naive"} <= {p[1] for p in found}, f"native, openblas and naive must be here: {found}")
    return found


def print_table(title, names, rows, cell):
    print(f"\n{title}")
    print(" " * 20 + "".join(f"{name:>{WIDTH}}" for name in names))
    for row in rows:
        print(f"  {row:<18}" + "".join(f"{cell(row, name):>{WIDTH}}" for name in names))


def train_all(platforms, job, folder, words):
    """Trains on every platform, with one and with two threads in turn."""
    return in_parallel([(p[0], lambda p=p, i=i: on(p, 1 + i % 2, "train", job, "--run", folder / p[0], "--nonce", NONCE, *words))
                        for i, p in enumerate(platforms)])


def audit_all(pairs, folder, words):
    return in_parallel([((t[0], a[0]), lambda t=t, a=a, i=i: on(a, 2 - i % 2, "audit", folder / t[0], *words))
                        for i, (t, a) in enumerate(pairs)])


def check_matrix(report, title, platforms, pairs, folder, runs, words):
    """Every audit matches; every trainer reached the same state. Returns the audits."""
    for name, result in runs.items():
        report.check(result.code == 0, f"{title}: training on {name}", result)
    report.check(len({r["state_root"] for r in runs.values()}) == 1, f"{title}: expected one state root on all platforms: "
                 f"{ {name: r['state_root'] for name, r in runs.items()} }")
    audits = audit_all(pairs, folder, words)
    for (trainer, auditor), result in audits.items():
        good = result.code == 0 and result["verdict"] == "match" and result["root"] == result["replayed_root"] == runs[trainer]["root"]
        report.check(good, f"{title}: trained on {trainer}, audited on {auditor}: expected a match", result)
    names = [p[0] for p in platforms]

    def cell(trainer, auditor):
        result = audits.get((trainer, auditor))
        return "" if result is None else f"= {result['corrections']}" if result["verdict"] == "match" else "DIFFERENT"
    print_table(f"{title}: rows train, columns audit; = equal roots, and corrections made by the auditor", names, names, cell)
    return audits


# ---- 1: ordinary training ----

MODELS = [("logreg", 20), ("mlp", 10), ("lenet5", 8)]


def fashion_job(arch, steps, folder):
    """Words that name the job, and those that name its data."""
    name = {"lenet5": "lenet"}.get(arch, arch)
    if fashion_mnist():
        return [JOBS / f"fashion-{name}.yaml", *sets(train__steps=steps, data__limit=2000)], ["--data", DATASETS / "fashion-mnist"]
    return [write_job(folder / f"{arch}.yaml", arch=arch, steps=steps, model=", hidden: [32]" if arch == "mlp" else "")], \
        ["--data", folder / "noise"]


def ordinary(report, platforms, folder, models):
    """naive is slow: it trains one run for all auditors, and audits two."""
    fast = [p for p in platforms if p[1] != "naive"]
    naive = [p for p in platforms if p[1] == "naive"]
    pairs = [(t, a) for t in platforms for a in fast] + [(t, a) for t in (fast[0], fast[-1]) for a in naive]
    for arch, steps in models:
        runs_in = folder / arch
        runs_in.mkdir()
        job, data = fashion_job(arch, steps, folder)
        runs = train_all(platforms, job[0], runs_in, [*job[1:], *data])
        check_matrix(report, f"{arch}, {steps} steps, logged", platforms, pairs, runs_in, runs, data)


# ---- 2: cancelling gradients ----

def cancelling_data(folder, batch, side=28):
    """Groups of ten equal images, one of each class: a softmax that says 0.1 everywhere is right on average, so every
    gradient is a sum that cancels. Pixels are bright, dark or within 10⁻⁵ of the mean, so the terms' sizes differ widely and
    their sums are rounded on the way, in each order in another place."""
    draw, groups = random.Random(3), batch // 10
    patterns = [bytes(draw.choice((128, draw.randrange(200, 256), draw.randrange(56))) for _ in range(side * side))
                for _ in range(groups)]
    write_idx(folder, "train", [patterns[i % groups] for i in range(batch)], [i // groups for i in range(batch)], side, side)


def compare_plain(report, title, runs):
    names = list(runs)

    def same(a, b):
        return runs[a]["state_root"] == runs[b]["state_root"]
    for name in names:
        report.check(runs[name].code == 0, f"{title}: training on {name}", runs[name])
        if name != "naive":
            report.check(not same(name, "naive"), f"{title}: {name} and naive ended in the same bits, so the inputs show nothing")
    print_table(f"{title}: final states", names, names, lambda a, b: "" if a == b else "equal" if same(a, b) else "differ")
    agree = [f"{a} and {b}" for i, a in enumerate(names) for b in names[i + 1:] if same(a, b)]
    print(f"  agree anyway: no evidence: {'; '.join(agree) or 'none'}")


def cancelling(report, platforms, folder, batch, lr, steps):
    data = folder / f"cancel-{batch}"
    cancelling_data(data, batch)
    where = ["--data", data]
    jobs = {mode: write_job(folder / f"cancel-{batch}-{mode}.yaml", arch="logreg", steps=steps, batch=batch, lr=lr, momentum=0.1,
                            mode=mode, mean=128.001) for mode in ("plain", "logged")}
    for mode in jobs:
        (folder / f"{mode}-{batch}").mkdir()
    plain = train_all(platforms, jobs["plain"], folder / f"plain-{batch}", where)
    compare_plain(report, f"cancelling, batch {batch}, plain", plain)
    blamed = on(PLATFORMS[0], 1, "audit", folder / f"plain-{batch}" / "naive", *where)
    report.check(blamed.code == 1 and blamed["verdict"] == "not-reproducible", "a plain run that differs: nobody is blamed", blamed)
    logged = train_all(platforms, jobs["logged"], folder / f"logged-{batch}", where)
    pairs = [(t, a) for t in platforms for a in platforms]
    audits = check_matrix(report, f"cancelling, batch {batch}, logged", platforms, pairs, folder / f"logged-{batch}", logged, where)
    exact = [r["exact"] or 0 for r in audits.values()]
    report.check(min(exact) > 0, f"expected exact recomputation in every audit, found {exact}")
    print(f"  recomputed exactly: {min(exact)} to {max(exact)} of {next(iter(audits.values()))['elements']} elements; "
          f"entries: {sorted({r['log_entries'] for r in logged.values()})}")


def main():
    report, quick = Report("pairs"), "--quick" in sys.argv
    with Folder() as folder:
        noise_data(folder / "noise", 64)
        platforms = usable(report, PLATFORMS[1:4] + PLATFORMS[6:] if quick else PLATFORMS, folder)
        ordinary(report, platforms, folder, MODELS[:1] if quick else MODELS)
        cancelling(report, platforms, folder, 40, 0.07, 20)
        if not quick:
            cancelling(report, platforms, folder, 160, 0.15, 40)
    report.finish()


if __name__ == "__main__":
    main()
