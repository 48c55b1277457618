# ctest: labels=full timeout=300
"""Event files of `train --tensorboard`, read back by TensorBoard's own Python package: every step once, with the loss to the bit,
also after a run was killed and resumed; every checksum is right, and a flipped bit is noticed.
"""
import json
import signal
import struct
import subprocess
import sys
import time

from harness import LOCKSTEP, SKIPPED, Folder, Report, environment, lockstep, noise_data, write_job

STEPS = 60


def losses(run):
    """step -> FP32 pattern, from metrics.jsonl."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {m["step"]: int(m["loss_bits"], 16) for m in lines}


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def read(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return events


def check(report, run, what):
    events = read(run / "tensorboard")
    report.check(sorted(events.Tags()["scalars"]) == ["learning rate", "loss", "seconds"], f"{what}: three curves, found {events.Tags()}")
    found = [(e.step, bits(e.value)) for e in events.Scalars("loss")]
    report.check(dict(found) == losses(run) and len(found) == STEPS, f"{what}: each step's loss once, to the bit, found {len(found)} of {STEPS}")
    rates = {e.value for e in events.Scalars("learning rate")}
    report.check(rates == {struct.unpack("<f", struct.pack("<f", 0.05))[0]}, f"{what}: the rate, found {rates}")


def killed(report, job, run, data):
    words = [LOCKSTEP, "train", job, "--run", run, "--data", data, "--threads", 1, "--tensorboard", "--snapshots", "every:7", "--json"]
    process = subprocess.Popen([str(w) for w in words], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (run / "heads" / "22").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(1.1)  # files are named by the second
    again = lockstep(*words[1:-1], "--resume")
    report.check(again.code == 0 and again["complete"], "resumed", again)
    report.check(len(list((run / "tensorboard").iterdir())) >= 1, "a file for each start")


def main():
    report = Report("event_files")
    try:
        import tensorboard
    except ImportError:
        print("SKIPPED: the Python package tensorboard is not there (pip install tensorboard): NO event file was read")
        sys.exit(SKIPPED)
    with Folder() as folder:
        data = folder / "data"
        noise_data(data, 64, side=8)
        job = write_job(folder / "job.yaml", arch="mlp", steps=STEPS, model=", hidden: [16]")
        run = folder / "run"
        made = lockstep("train", job, "--run", run, "--data", data, "--threads", 1, "--tensorboard")
        report.check(made.code == 0, "train", made)
        check(report, run, "a run")
        verified = lockstep("verify", run)
        report.check(verified.code == 0, "events are no part of what is verified", verified)
        killed(report, job, folder / "killed", data)
        check(report, folder / "killed", "a run that was killed and resumed")
        from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
        file = next((run / "tensorboard").iterdir())
        whole = len(list(RawEventFileLoader(str(file)).Load()))
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        try:
            left = len(list(RawEventFileLoader(str(file)).Load()))
        except Exception as why:  # the package has no class of its own for this
            left = f"refused: {why}"
        report.check(whole == STEPS + 2 and left != whole, f"a flipped bit is noticed: {whole} records, then {left}")
    print(f"read with tensorboard {tensorboard.__version__}")
    report.finish()


main()
