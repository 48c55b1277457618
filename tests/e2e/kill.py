# ctest: labels=full timeout=900
"""A run that is killed again and again. SIGKILL comes after a random time, --resume goes on, until the run is finished: it ends in
the root of a run that nobody disturbed, and verifies. Between two kills the run is read like any other: what `verify` says of
it is a match or damage, not an error.

200 kills; with LOCKSTEP_EXHAUSTIVE=1 (test e2e.kill_all) 1000. Which snapshots are kept changes from kill to kill.
"""
import os
import random
import signal
import subprocess
import time

from harness import BUILD, Folder, Report, environment, lockstep, noise_data, write_job

KILLS = 1000 if os.environ.get("LOCKSTEP_EXHAUSTIVE") == "1" else 200
ONCE = BUILD / "tests" / "train_once"
POLICIES = ("all", "every:40", "last:2", "every:7")


def words_of(job, data, run, policy):
    return [str(w) for w in (ONCE, job, data, run, policy)]


def kill_after(words, seconds):
    """True where the process lived until it was killed."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), text=True)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    return process.returncode == -signal.SIGKILL, said


def readable(report, run, what):
    """Whoever reads a run that was cut off is told so, and no more."""
    said = lockstep("verify", run)
    report.check(said.code == 0 or said.code == 1 and said["verdict"] == "damaged" or not (run / "heads" / "1").exists(),
                 f"{what}: verify", said)


def main():
    report, draw = Report("kill"), random.Random(11)
    with Folder() as folder:
        data = folder / "data"
        noise_data(data, 64, side=8)
        job = write_job(folder / "job.yaml", arch="mlp", steps=3000, model=", hidden: [32]", lr=0.01)
        whole = subprocess.run(words_of(job, data, folder / "whole", "last:2"), capture_output=True, text=True, env=environment())
        root = whole.stdout.strip()
        report.check(whole.returncode == 0 and len(root) == 64, "the undisturbed run", whole.stderr)
        twin = subprocess.run(words_of(write_job(folder / "twin.yaml", arch="mlp", steps=3000, model=", hidden: [32]", lr=0.02), data,
                                       folder / "twin", "last:2"), capture_output=True, text=True, env=environment())
        report.check(twin.stdout.strip() not in ("", root), "another job ends in another root")
        kills = runs = 0
        while kills < KILLS:
            run = folder / f"run{runs}"
            runs += 1
            for _ in range(40):
                policy = draw.choice(POLICIES)
                killed, said = kill_after(words_of(job, data, run, policy), draw.uniform(0.0, 0.25))
                kills += killed
                if not killed:
                    break
                if draw.random() < 0.05:
                    readable(report, run, f"run {runs}, kill {kills}")
            end = subprocess.run(words_of(job, data, run, "last:2"), capture_output=True, text=True, env=environment())
            report.check(end.returncode == 0 and end.stdout.strip() == root, f"run {runs}, {kills} kills: expected the same root",
                         f"exit {end.returncode} {end.stdout}{end.stderr}")
            verified = subprocess.run([str(ONCE), "--verify", str(run)], capture_output=True, text=True)
            report.check(verified.stdout == f"match {root}\n", f"run {runs}: expected it to verify", verified.stdout + verified.stderr)
        print(f"{kills} kills over {runs} runs")
    report.finish()


main()
