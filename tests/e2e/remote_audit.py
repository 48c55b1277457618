# ctest: labels=full timeout=300
"""`lockstep audit URL`, beside the same audit of the folder.

  - an honest run behind `lockstep serve`: the same JSON, but for the seconds, in whole, in parts, sampled, by several processes, kept;
  - every damage that the folder's tests know, given out by a server in Python (mirror.py): the same verdict, or, where something is
    missing, `withheld` and its name; so too each lie of the cheat, another run under the id that was asked for, and what only a server
    can tell wrongly: places, lists, ranges;
  - servers that are silent, slow, endless or talk nonsense: a clear error in bounded time and memory.

A sample by default; with LOCKSTEP_EXHAUSTIVE=1 (test e2e.remote_audit_all) every damage and every lie.
"""
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import time

import mirror
from damage import harmless, mutations, read_run
from harness import CHEAT, LOCKSTEP, Folder, Report, cheat, environment, lockstep, noise_data, run, tree_digest, write_job

ALL = os.environ.get("LOCKSTEP_EXHAUSTIVE") == "1"
STEPS, SEED, NONCE = 6, "ab" * 32, "5c" * 32
LIES = ["bend-values", "forge-entry", "skip-step", "wrong-lr"] if not ALL else None


class Served:
    """`lockstep serve` over folders; `url` once it listens."""

    def __init__(self, *runs, options=()):
        self.process = subprocess.Popen([str(w) for w in (LOCKSTEP, "serve", *runs, "--listen", "127.0.0.1:0", "--json", *options)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        self.said = json.loads(self.process.stdout.readline() or "{}")
        self.url = self.said.get("url")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


def in_turn(work, cases):
    """Two at once: most of an audit of a small run is the platform's self-test."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda case: work(*case), cases))


def audit(target, data, *more):
    return lockstep("audit", target, "--data", data, "--threads", 1, *more)


def same(folder, url):
    """All that both said, but the time."""
    a, b = dict(folder.json), dict(url.json)
    return folder.code == url.code and {**a, "seconds": 0} == {**b, "seconds": 0}


def id_of(run_dir):
    return (run_dir / "heads" / "1").read_text().split("\n")[0].split("/")[1]


def equal(report, folder, name, runs):
    """Every way of auditing that there is."""
    data, order = folder / "data", folder / "order.bin"
    lockstep("plan", folder / "job.yaml", "-o", order, "--data", data)
    ways = [[], ["--steps", "3:5"], ["--steps", "4:"], ["--sample", 2, "--seed", SEED], ["--parallel", 2], ["--platform", "naive"], ["--plan"],
            ["--guard"], ["--steps", "1:99"], ["--job", folder / "job.yaml"]]
    if not ALL:
        ways.remove(["--platform", "naive"])
    if name == "signed":  # the other is what was ordered
        ways = [[], ["--job", order], ["--steps", "5:6"]]
    run_dir = runs[name]
    before = tree_digest(run_dir)
    with Served(run_dir, options=["--log", folder / f"{name}.jsonl"]) as server:
        def both(*way):
            here, there = audit(run_dir, data, *way), audit(server.url, data, *way)
            report.check(same(here, there) and here.out, f"{name} {way}: expected the same from both; the folder gave {here}", there)
        in_turn(both, ways)
        keep = audit(server.url, data, "--keep", folder / f"{name}.kept")
        report.check(keep.code == 0 and lockstep("diff", run_dir, folder / f"{name}.kept").code == 0, f"{name}: the replay that was kept", keep)
        named = audit(f"{server.url}/v1/runs/{id_of(run_dir)}/", data)
        report.check(named.code == 0 and named["verdict"] == "match", f"{name}: by its id", named)
        nobody = audit(f"{server.url}/v1/runs/{'0' * 64}", data)
        report.check(nobody.code == 1 and nobody["verdict"] == "withheld" and nobody["file"] == "job.bin", f"{name}: a run that is not there", nobody)
        stopped = server.stop()
        report.check(stopped[0] == 0 and not stopped[2], f"{name}: the server's end {stopped}")
    report.check(tree_digest(run_dir) == before, f"{name}: expected the folder as it was")


def several(report, folder, runs):
    with Served(*runs.values()) as server:
        which = audit(server.url, folder / "data")
        report.check(which.code == 2 and "/v1/runs/RUN" in (which["error"] or ""), "which of the runs?", which)
        for name, run_dir in runs.items():
            one = audit(f"{server.url}/v1/runs/{id_of(run_dir)}", folder / "data")
            report.check(one.code == 0, f"{name}, one of several", one)


# ---- what a server may give out ----

def damaged(report, folder, source, name, what, change):
    """A damage of the folder's tests; verify and report read metrics.jsonl, an audit does not."""
    run_dir = folder / "damaged" / f"{abs(hash((name, what)))}"
    shutil.copytree(source, run_dir)
    if change is None:
        (run_dir / name).unlink()
    else:
        (run_dir / name).write_bytes(change((run_dir / name).read_bytes()))
    here = audit(run_dir, folder / "data")
    with mirror.Mirror(run_dir, id_of(source)) as server:
        there = audit(server.url, folder / "data")
    shutil.rmtree(run_dir)
    title = f"{name}: {what}: the folder gave {here['verdict']} {here['file']}"
    if harmless(name, what):
        return report.check(there.code == here.code, title, there)
    if there["verdict"] == "withheld" and here.code == 1:
        return report.check(there.code == 1 and there["file"], title, there)
    # a run that was exchanged is noticed by its id, which a folder has not; the rest of a record that is cut is not asked for
    good = there.code == here.code and (there["verdict"] == here["verdict"] or (name == "metrics.jsonl" and there.code == 0) or
                                        (there["file"] == "nonce" and "which was asked for" in there["text"]))
    return report.check(good, title, there)


def damages(report, folder, runs):
    files, other = read_run(runs["plain"]), read_run(runs["other"])
    wanted = {n: d for n, d in files.items() if n != "metrics.jsonl" and not (n.startswith("heads/") and n not in ("heads/1", "heads/7"))}
    slim = {n: d for n, d in wanted.items() if not n.startswith("snapshots/") or n[-1] in "06"}
    cases = list(mutations({**slim, "snapshots/0000000005": files["snapshots/0000000005"], "metrics.jsonl": files["metrics.jsonl"]}, other))
    in_turn(lambda *case: damaged(report, folder, runs["plain"], *case), cases if ALL else cases[::24])


def lies(report, folder):
    names = LIES or [line.split()[0] for line in run([CHEAT, "--list"]).out.splitlines() if line.strip()]

    def tell(name):
        run_dir = folder / f"lie-{name}"
        told = cheat("train", folder / "job.yaml", "--run", run_dir, "--data", folder / "data", "--threads", 1, "--lie", name, "--at", 4)
        if told.code != 0:
            return report.check(ALL, f"{name}: training", told)  # some lies need another network
        here = audit(run_dir, folder / "data")
        with Served(run_dir) as server:
            there = audit(server.url, folder / "data")
        report.check(same(here, there), f"{name}: expected the same from both; the folder gave {here}", there)
        return report.check(there.code == (0 if name == "redundant-entries" else 1), f"{name}: expected it to be caught", there)
    in_turn(tell, [[name] for name in names])


def untrue_answers(report, folder, runs):
    """(what is told wrongly, below which name, what must be found)"""
    run_dir, run_id = runs["plain"], id_of(runs["plain"])
    frames = (run_dir / "rounding-log" / "frames").read_bytes()
    places = mirror.Mirror(run_dir, run_id)
    block = places.blocks()
    places.server_close()
    index = lambda change: b"".join(a.to_bytes(8, "little") + n.to_bytes(8, "little") for a, n in change)  # noqa: E731
    piece = next((run_dir / "pieces").iterdir()).name
    end = f"snapshots/{STEPS:010}"
    cases = [
        ("places one byte on", {"rounding-log/index": index([(a + 1, n) for a, n in block])}, 1, "damaged"),
        ("blocks in another order", {"rounding-log/index": index(block[::-1])}, 1, "damaged"),
        ("a block beyond the end", {"rounding-log/index": index([(1 << 40, 5)] + block[1:])}, 1, None),
        ("a block beyond any file", {"rounding-log/index": index([((1 << 64) - 1, 5)] + block[1:])}, 2, None),
        ("a huge block", {"rounding-log/index": index([(16, 1 << 40)] + block[1:])}, 1, "damaged"),
        ("fewer places", {"rounding-log/index": index(block[:-1])}, 1, "withheld"),
        ("no places", {"rounding-log/index": 404}, 1, "withheld"),
        ("no rounding log", {"rounding-log": 404}, 1, "withheld"),
        ("a short rounding log", {"rounding-log": frames[:-1]}, 1, "withheld"),
        ("a rounding log all at once", {"rounding-log": lambda h: h.answer(frames)}, 2, None),
        ("no leaves", {"leaves": 404}, 1, None),
        ("leaves that are forbidden", {"leaves": 403}, 1, None),
        ("leaves without end", {"leaves": (run_dir / "leaves").read_bytes() * 100}, 1, "damaged"),
        ("no heads", {"heads": 404}, 1, None),
        ("heads that are none", {"heads": b"x" * 50}, 2, None),
        ("a head of 2^63 leaves", {"heads": (1 << 63).to_bytes(8, "little") + (3).to_bytes(4, "little") + b"abc"}, 1, "damaged"),
        ("no job", {"job.bin": 404}, 1, "withheld"),
        ("a job that is too large", {"job.bin": b"x" * 100000}, 1, "damaged"),
        ("an endless job", {"job.yaml": b"#" * 65537}, 1, "damaged"),
        ("no end snapshot", {end: 404}, 1, "withheld"),
        ("an end snapshot that is too large", {end: (run_dir / end).read_bytes() * 2}, 1, "damaged"),
        ("no piece", {f"pieces/{piece}": 404}, 1, "withheld"),
        ("another piece", {f"pieces/{piece}": b"\0" * len((run_dir / "pieces" / piece).read_bytes())}, 1, "damaged"),
        ("snapshots that go down", {"snapshots": b"5\n4\n"}, 2, None),
        ("snapshots that are none", {"snapshots": b"x\n"}, 2, None),
        ("no snapshots", {"snapshots": 404}, 0, "match"),
        ("a list that is none", {"list": b"[1, 2]"}, 2, None),
        ("a list with another's name", {"list": b'{"runs": [{"run": "../../etc/passwd"}]}'}, 2, None),
        ("an error", {"nonce": 500}, 3, None),
        ("teapots", {"nonce": 418}, 2, None),
    ]

    def tell(what, told, code, verdict):
        with mirror.Mirror(run_dir, run_id, told) as server:
            there = audit(server.url, folder / "data", "--steps", f"{STEPS}:") if "snapshots" in told else audit(server.url, folder / "data")
        good = there.code == code and (verdict is None or there["verdict"] == verdict)
        good = good and (there["error"] if code > 1 else there["verdict"] == "match" or there["file"])
        report.check(good, f"{what}: expected exit {code} and {verdict}", there)
    in_turn(tell, cases if ALL else cases[::2])
    with mirror.Mirror(runs["other"], run_id) as server:
        there = audit(server.url, folder / "data")
        report.check(there.code == 1 and there["verdict"] == "damaged" and "which was asked for" in there["text"], "another run under the id", there)


# ---- servers without manners ----

def rude(report, folder, name, manner, codes):
    """An error in bounded time and memory, however long the server would go on."""
    with mirror.Rude(manner) as server:
        begun = time.monotonic()
        words = [str(w) for w in (LOCKSTEP, "audit", server.url, "--data", folder / "data", "--timeout", 1, "--json")]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment())
        killer = __import__("threading").Timer(30, process.kill)
        killer.start()
        out = process.stdout.read()
        _, state, usage = os.wait4(process.pid, 0)
        killer.cancel()
        code, seconds = os.waitstatus_to_exitcode(state), time.monotonic() - begun
        process.returncode = code
    text = out.decode(errors="replace")
    report.check(code in codes and '"error"' in text, f"{name}: expected exit {codes}, found {code}: {text}")
    report.check(seconds < 20, f"{name}: took {seconds:.1f} s")
    report.check(usage.ru_maxrss < 150_000, f"{name}: took {usage.ru_maxrss} KB")


def all_rude(report, folder):
    cases = [("silence", mirror.silence, (3,)), ("deaf", mirror.deaf, (3,)), ("slow headers", mirror.drip_headers, (3,)),
             ("slow body", mirror.drip_body, (3,)), ("endless body", mirror.endless_body, (2,)), ("endless chunks", mirror.endless_chunks, (2,)),
             ("endless headers", mirror.endless_headers, (2, 3)), ("endless line", mirror.endless_line, (2, 3)),
             ("endless information", mirror.endless_information, (2, 3)), ("huge length", mirror.huge_length, (2,)),
             ("short body", mirror.short_body, (3,)), ("garbage", mirror.garbage, (3,)), ("no JSON", mirror.not_json, (2,)),
             ("reset", mirror.reset, (3,)), ("put off for ever", mirror.put_off, (3,)), ("redirect to a file", mirror.redirect("file:///etc/passwd"), (2,)),
             ("redirect to itself", mirror.redirect("/"), (2,)), ("redirect elsewhere", mirror.redirect("http://127.0.0.1:1/"), (2,))]
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        list(pool.map(lambda case: rude(report, folder, *case), cases))
    nobody = lockstep("audit", "http://127.0.0.1:1", "--data", folder / "data")
    report.check(nobody.code == 3 and "http://127.0.0.1:1" in (nobody["error"] or ""), "nobody there", nobody)
    for url in ("ftp://127.0.0.1/", "file:///tmp/x", "http://user:word@127.0.0.1", "https://"):
        wrong = lockstep("audit", url, "--data", folder / "data")
        report.check(wrong.code == 2, f"{url}: expected to be refused", wrong)
    inspect = lockstep("inspect", "http://127.0.0.1:1")
    report.check(inspect.code == 2 and "lockstep audit" in inspect["error"], "other commands", inspect)


def main():
    report = Report("remote_audit")
    with Folder() as folder:
        os.environ["TMPDIR"] = str(folder / "tmp")  # of the programs: nothing may stay there
        (folder / "tmp").mkdir()
        (folder / "damaged").mkdir()
        noise_data(folder / "data", 64)
        job = write_job(folder / "job.yaml", arch="lenet5", steps=STEPS)
        lockstep("keygen", "-o", folder / "key")
        runs = {name: folder / name for name in ("plain", "other", "signed")}
        for name, more in (("plain", ["--nonce", NONCE]), ("other", ["--set", "train.seed=8"]), ("signed", ["--key", folder / "key", "--compress"])):
            result = lockstep("train", job, "--run", runs[name], "--data", folder / "data", "--threads", 1, "--snapshots", "all", *more)
            report.check(result.code == 0, f"training {name}", result)
        all_rude(report, folder)
        for name in ("plain", "signed"):
            equal(report, folder, name, runs)
        several(report, folder, runs)
        untrue_answers(report, folder, runs)
        damages(report, folder, runs)
        lies(report, folder)
        report.check(not list((folder / "tmp").iterdir()), f"left behind: {list((folder / 'tmp').iterdir())}")
    report.finish()


if __name__ == "__main__":
    main()
