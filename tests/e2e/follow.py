# ctest: labels=full timeout=600
"""An audit that follows a run while it is trained: it ends with the run and with its root, finds a lie while the run goes on, waits
for a trainer that was killed and resumed, ends with one that does not come back, and refuses a head that takes back what an
earlier one promised.
"""
import json
import signal
import subprocess
import time

from harness import CHEAT, LOCKSTEP, Folder, Report, environment, lockstep, noise_data, read_leaves, write_job

STEPS, EVERY, NONCE = 240, 20, "17" * 32


def start(*words):
    return subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True)


def finish(process, seconds=240):
    out, err = process.communicate(timeout=seconds)
    lines = out.strip().splitlines()
    return process.returncode, json.loads(lines[-1]) if lines else {}, err


def wait_for(path, seconds=60):
    deadline = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return path.exists()


def train(job, run, data, *more):
    return start(LOCKSTEP, "train", job, "--run", run, "--data", data, "--threads", 1, "--nonce", NONCE, "--snapshots", f"every:{EVERY}",
                 "--json", *more)


def follow(run, data, *more):
    return start(LOCKSTEP, "audit", run, "--follow", "--data", data, "--threads", 1, "--json", *more)


def replayed(run):
    return len(read_leaves(run)) if (run / "leaves").exists() else 0


def honest(report, folder, job, data):
    run = folder / "honest"
    run.mkdir()
    trainer = train(job, run, data)
    report.check(wait_for(run / "job.bin"), "a run to follow")
    auditor = follow(run, data, "--keep", folder / "kept")
    report.check(wait_for(run / "heads" / str(2 * EVERY + 1)), "heads")
    trainer.send_signal(signal.SIGSTOP)  # until the auditor has caught up
    deadline = time.monotonic() + 120
    while replayed(folder / "kept") <= EVERY and time.monotonic() < deadline:
        time.sleep(0.05)
    trainer.send_signal(signal.SIGCONT)
    code, made, _ = finish(trainer)
    report.check(code == 0 and made.get("complete"), "train", made)
    code, said, err = finish(auditor)
    report.check(code == 0 and said["verdict"] == "match" and said["last"] == STEPS and said["root"] == said["replayed_root"] == made["root"],
                 "followed to the end, the run's root", f"exit {code} {said} {err}")
    report.check(said["follow"]["heads"] >= 1 and said["follow"]["most_behind"] > 0 and said["follow"]["behind"] <= said["follow"]["most_behind"],
                 f"heads came while it replayed, found {said.get('follow')}")
    same = lockstep("diff", run, folder / "kept")
    report.check(same.code == 0, "the replay it kept", same)
    return made["root"]


def liar(report, folder, job, data):
    """Found before the run ends: the verdict comes while the trainer is at work, or held up here."""
    run = folder / "lied"
    at = 130
    trainer = start(CHEAT, "train", job, "--run", run, "--data", data, "--threads", 1, "--snapshots", f"every:{EVERY}", "--lie", "skip-step",
                    "--at", at)
    wait_for(run / "heads" / str(at // EVERY * EVERY + EVERY + 1))
    trainer.send_signal(signal.SIGSTOP)
    auditor = follow(run, data)
    code, said, err = finish(auditor)
    report.check(code == 1 and said["verdict"] == "mismatch" and said["first_bad_step"] == at and not (run / "heads" / str(STEPS + 1)).exists(),
                 "the lie, before the run's end", f"exit {code} {said} {err}")
    trainer.kill()
    trainer.communicate()


def killed_and_resumed(report, folder, job, data, root):
    run = folder / "killed"
    trainer = train(job, run, data)
    wait_for(run / "heads" / str(3 * EVERY + 1))
    auditor = follow(run, data)
    trainer.kill()
    trainer.communicate()
    again = train(job, run, data, "--resume")
    code, made, err = finish(again)
    report.check(code == 0 and made.get("root") == root, "resumed under the eyes of an auditor", f"{made} {err}")
    code, said, err = finish(auditor)
    report.check(code == 0 and said["verdict"] == "match" and said["root"] == root, "followed over a crash", f"exit {code} {said} {err}")


def given_up(report, folder, job, data):
    run = folder / "given-up"
    trainer = train(job, run, data)
    wait_for(run / "heads" / str(2 * EVERY + 1))
    auditor = follow(run, data)
    trainer.send_signal(signal.SIGINT)
    code, made, err = finish(trainer)
    report.check(code == 0 and made["stopped"], "SIGINT: an orderly end", f"exit {code} {made} {err}")
    code, said, err = finish(auditor)
    report.check(code == 1 and said["verdict"] == "mismatch" and said["first_bad_step"] == made["steps"] + 1 and "so far it matches" in said["text"],
                 "a run that stops short ends the audit", f"exit {code} {said} {err}")


def taken_back(report, folder, job, data):
    """Two histories under one run id: the auditor has seen a head of the first, and is shown the second."""
    short = ["--set", "train.steps=20", "--nonce", NONCE]
    lies = lockstep("train", job, "--run", folder / "other", "--data", data, "--threads", 1, *short, "--snapshots", "every:10")
    report.check(lies.code == 0, "the run that is changed", lies)
    run = folder / "other"
    head = (run / "heads" / "21").read_bytes()
    (run / "heads" / "21").unlink()
    holder = start("flock", run / "leaves", "sleep", "60")  # a trainer is at work, as far as anybody can see
    time.sleep(0.2)
    auditor = follow(run, data)
    time.sleep(3)
    lines = head.decode().split("\n")
    lines[2] = lines[2][:4] + ("AAAA" if lines[2][4:8] != "AAAA" else "BBBB") + lines[2][8:]
    forged = "\n".join(lines).encode()
    (run / "heads" / "21.new").write_bytes(forged)
    (run / "heads" / "21.new").rename(run / "heads" / "21")
    code, said, err = finish(auditor)
    holder.kill()
    holder.communicate()
    report.check(code == 1 and said["verdict"] == "damaged" and said["file"] == "heads/21" and "does not continue" in said["text"],
                 "a head that does not continue the one before", f"exit {code} {said} {err}")


def main():
    report = Report("follow")
    with Folder() as folder:
        data = folder / "data"
        noise_data(data, 64)
        job = write_job(folder / "job.yaml", steps=STEPS)
        root = honest(report, folder, job, data)
        liar(report, folder, job, data)
        killed_and_resumed(report, folder, job, data, root)
        given_up(report, folder, job, data)
        taken_back(report, folder, job, data)
    report.finish()


main()
