# ctest: labels=full timeout=300
"""One bit that flips in memory. With --guard the step, the value, the op and the word are named before the bit can do harm, and the
run goes on from its last snapshot to the root it would have had. Without, the run is another one, which an audit finds at that
step; and an auditor whose own memory flips a bit accuses nobody.
"""
import re
import subprocess

from harness import BUILD, Folder, Report, environment, lockstep, noise_data, write_job

FLIP = BUILD / "tests" / "flip"
STEPS, AT = 9, 6


def flip(*words):
    return subprocess.run([str(w) for w in (FLIP, *words)], capture_output=True, text=True, env=environment())


def named(text, value, element, bit):
    """The complaint says which word it was, and the two words differ in that bit."""
    m = re.search(r"step (\d+), value '([^']*)' of (.*), before op (\d+) \((\w+)\): element (\d+): found ([0-9a-f]{8}), expected ([0-9a-f]{8})", text)
    return bool(m) and m[1] == str(AT) and m[2] == value and m[6] == str(element) and int(m[7], 16) ^ int(m[8], 16) == 1 << bit


def main():
    report = Report("bad_memory")
    with Folder() as folder:
        data = folder / "data"
        noise_data(data, 64, side=8)
        job = write_job(folder / "job.yaml", arch="mlp", steps=STEPS, batch=8, model=", hidden: [24, 12]")
        whole = flip("train", job, data, folder / "whole", 0, "loss", 0, 0, "guard")
        trusting = flip("train", job, data, folder / "trusting", 0, "loss", 0, 0, "trust")
        report.check(whole.returncode == 0 and whole.stdout == trusting.stdout and len(whole.stdout) == 65, "no flip: nothing is noticed", whole)
        root = whole.stdout
        # a weight, what the optimizer keeps, an activation that the backward pass reads, a gradient; first and last words
        places = [("fc1.weight", 0, 3), ("fc1.weight", 1535, 30), ("fc2.bias", 5, 22), ("fc1.weight.momentum", 700, 31), ("relu1", 11, 0), ("fc1", 3, 12)]
        places = [(v, e, b) for v, e, b in places if "found no value" not in flip("audit", folder / "whole", data, 1, v, e, b, "trust").stderr]
        report.check(len(places) >= 5, f"values to flip, found {places}")
        for number, (value, element, bit) in enumerate(places):
            run, where = folder / f"run{number}", f"{value}[{element}] bit {bit}"
            stopped = flip("train", job, data, run, AT, value, element, bit, "guard")
            report.check(stopped.returncode == 3 and named(stopped.stderr, value, element, bit), f"{where}: named, and exit code 3", stopped)
            again = flip("train", job, data, run, 0, value, 0, 0, "guard")
            report.check(again.returncode == 0 and again.stdout == root, f"{where}: resumed to the same root", again)
            bad = folder / f"bad{number}"
            other = flip("train", job, data, bad, AT, value, element, bit, "trust")
            report.check(other.returncode == 0 and other.stdout != root, f"{where}: without the guard another run", other)
            found = lockstep("audit", bad, "--data", data, "--threads", 1)
            report.check(found.code == 1 and found["verdict"] in ("mismatch", "forged-rounding-log") and found["first_bad_step"] == AT,
                         f"{where}: which an audit finds", found)
            mine = flip("audit", folder / "whole", data, AT, value, element, bit, "guard")
            report.check(mine.returncode == 3 and named(mine.stderr, value, element, bit), f"{where}: the auditor's own, with the guard", mine)
            mine = flip("audit", folder / "whole", data, AT, value, element, bit, "trust")
            report.check(mine.returncode == 3 and f"step {AT}: this machine computed it twice" in mine.stderr and "the second is the run's" in mine.stderr,
                         f"{where}: the auditor's own, without: nobody is accused", mine)
            both = flip("audit", bad, data, 0, value, 0, 0, "trust")
            report.check(both.returncode == 1 and both.stdout.split()[1] == str(AT), f"{where}: the twin, a run that is wrong, is accused", both)
        guarded = lockstep("train", job, "--run", folder / "guarded", "--data", data, "--nonce", "07" + 31 * "00", "--guard")
        report.check(guarded.code == 0 and guarded["root"] == root.strip(), "train --guard gives the same root", guarded)
        audited = lockstep("audit", folder / "guarded", "--data", data, "--guard")
        report.check(audited.code == 0, "audit --guard", audited)
    report.finish()


main()
