"""Runs that are interrupted. SIGTERM ends a run after the present leaf with a snapshot; SIGKILL ends it anywhere; both go on
with --resume and end in the very bytes of a run that nobody interrupted.
"""
import json
import shutil
import signal
import subprocess
import time

from harness import LOCKSTEP, Folder, Report, environment, lockstep, noise_data, read_leaves, write_job

STEPS, NONCE = 400, "17" * 32


def lines_in(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def interrupted(job, run, data, signal_number, after):
    """Starts a run, waits until `after` steps are on disk, sends the signal; gives exit code and last JSON line."""
    words = [LOCKSTEP, "train", job, "--run", run, "--data", data, "--threads", "1", "--nonce", NONCE, "--snapshots", "every:40",
             "--json"]
    process = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment())
    deadline = time.monotonic() + 60
    while lines_in(run / "metrics.jsonl") < after and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal_number)
    out, _ = process.communicate(timeout=60)
    lines = out.decode().splitlines()
    return process.returncode, json.loads(lines[-1]) if lines else {}


def resume(report, job, run, data, whole, what):
    again = lockstep("train", job, "--run", run, "--data", data, "--platform", "openblas", "--threads", 2, "--resume")
    report.check(again.code == 0 and again["complete"] and again["steps"] == STEPS, f"{what}: expected --resume to finish", again)
    report.check(again["state_root"] == whole["state_root"], f"{what}: expected the state of the whole run", again)
    for command in (["verify", run], ["audit", run, "--data", data, "--steps", f"1:{STEPS}"]):
        result = lockstep(*command)
        report.check(result.code == 0 and result["verdict"] == "match", f"{what}: {command[0]} of the resumed run", result)


def terminate(report, job, folder, data, whole):
    run = folder / "terminated"
    code, said = interrupted(job, run, data, signal.SIGTERM, 50)
    report.check(code in (0, 3) and said.get("stopped") and not said.get("complete") and 50 <= said.get("steps", 0) < STEPS,
                 f"SIGTERM: expected an orderly end before step {STEPS}, found exit {code}, {said}")
    step = said.get("steps", 0)
    report.check((run / "snapshots" / f"{step:010}").exists() and len(read_leaves(run)) == step + 1,
                 "SIGTERM: expected a snapshot and a leaf of the last step")
    verify = lockstep("verify", run)
    report.check(verify.code == 0, "SIGTERM: expected a run that verifies as far as it goes", verify)
    refused = lockstep("train", job, "--run", run, "--data", data)
    report.check(refused.code == 2, "SIGTERM: without --resume nothing is overwritten", refused)
    other = lockstep("train", job, "--run", run, "--data", data, "--resume", "--set", "train.seed=8")
    report.check(other.code == 2, "SIGTERM: --resume of another job is refused", other)
    resume(report, job, run, data, whole, "SIGTERM")
    done = lockstep("train", job, "--run", run, "--data", data, "--resume")
    report.check(done.code == 0 and done["state_root"] == whole["state_root"], "--resume of a finished run gives its result", done)


def kill(report, job, folder, data, whole):
    for after in (1, 45, 130):
        run = folder / f"killed-{after}"
        code, _ = interrupted(job, run, data, signal.SIGKILL, after)
        report.check(code == -signal.SIGKILL and lines_in(run / "metrics.jsonl") < STEPS, f"killed after {after}: expected it to be cut off")
        torn = folder / f"torn-{after}"
        shutil.copytree(run, torn)
        resume(report, job, run, data, whole, f"SIGKILL after {after} steps")
        with open(torn / "leaves", "ab") as leaves:
            leaves.write(b"\x9c\0\0")  # half a record, as a power cut leaves it
        with open(torn / "rounding-log" / "frames", "ab") as frames:
            frames.write(b"\1\2\3")
        again = lockstep("train", job, "--run", torn, "--data", data, "--resume")
        report.check(again.code == 0 and again["state_root"] == whole["state_root"], f"torn after {after}: expected the same end", again)


def main():
    report = Report("resume")
    with Folder() as folder:
        data = folder / "data"
        noise_data(data, 64)
        job = write_job(folder / "job.yaml", steps=STEPS)
        whole = lockstep("train", job, "--run", folder / "whole", "--data", data, "--threads", 1, "--nonce", NONCE)
        report.check(whole.code == 0 and whole["complete"], "the whole run", whole)
        twin = lockstep("train", job, "--run", folder / "twin", "--data", data, "--set", "train.seed=8")
        report.check(twin.code == 0 and twin["state_root"] != whole["state_root"], "another seed ends elsewhere", twin)
        terminate(report, job, folder, data, whole)
        kill(report, job, folder, data, whole)
    report.finish()


main()
