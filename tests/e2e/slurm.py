# ctest: labels=exhaustive timeout=900
"""An audit as a Slurm job array (scripts/slurm-audit.sh): the verdict and the first bad step of one process, a part that cannot be
audited passes for no match. Slurm runs on this one node, started and ended by the test: munge, slurmctld and slurmd of Debian's
slurm-wlm, as root, with all their files in a folder of the test's own.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

from harness import LOCKSTEP, ROOT, SKIPPED, Folder, Report, cheat, environment, lockstep, noise_data, write_job

SCRIPT = ROOT / "scripts" / "slurm-audit.sh"
NEEDED = ("munged", "mungekey", "slurmctld", "slurmd", "sbatch", "sinfo")
STEPS, LIE = 40, 27
CONF = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={port}
SlurmdPort={next}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SchedulerParameters=sched_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports():
    """Two that follow each other and that nobody listens on."""
    for port in range(26817, 27817, 2):
        try:
            for number in (port, port + 1):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", number))
            return port
        except OSError:
            continue
    return 0


class Slurm:
    """A cluster of this machine."""

    def __init__(self, folder):
        self.folder, self.started = folder, []
        folder.chmod(0o755)
        for name in ("state", "spool", "munge"):
            (folder / name).mkdir()
        (folder / "munge").chmod(0o700)
        self.env = environment({"SLURM_CONF": str(folder / "slurm.conf")})
        port = free_ports()
        self.host = socket.gethostname().split(".")[0]
        (folder / "slurm.conf").write_text(CONF.format(host=self.host, folder=folder, port=port, next=port + 1, cpus=os.cpu_count()))

    def start(self, *words):
        log = open(self.folder / f"{pathlib.Path(words[0]).name}.out", "w")
        self.started.append(subprocess.Popen([str(w) for w in words], env=self.env, stdout=log, stderr=log))

    def up(self):
        munge = self.folder / "munge"
        subprocess.run(["mungekey", "--create", f"--keyfile={munge}/key"], check=True)
        self.start("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", f"--key-file={munge}/key",
                   f"--log-file={munge}/log", f"--pid-file={munge}/pid", f"--seed-file={munge}/seed")
        self.start("slurmctld", "-D", "-i")
        self.start("slurmd", "-D", "-N", self.host)
        for _ in range(120):
            said = subprocess.run(["sinfo", "-h", "-o", "%T"], env=self.env, capture_output=True, text=True)
            if said.stdout.strip() in ("idle", "mixed", "allocated"):
                return True
            time.sleep(0.5)
        print(said.stdout, said.stderr)
        for log in self.folder.glob("*.log"):
            print(log.read_text()[-2000:])
        return False

    def down(self):
        for process in reversed(self.started):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    def audit(self, run, out, parts, *words):
        env = {**self.env, "LOCKSTEP": str(LOCKSTEP)}
        return subprocess.run([str(w) for w in (SCRIPT, run, out, parts, *words)], env=env, capture_output=True, text=True, timeout=600)


def check(report, slurm, folder):
    data, honest, lied = folder / "data", folder / "honest", folder / "lied"
    noise_data(data, 64)
    job = write_job(folder / "job.yaml", steps=STEPS)
    common = ["--data", data, "--threads", 1, "--snapshots", "every:5"]
    made = lockstep("train", job, "--run", honest, *common)
    told = cheat("train", job, "--run", lied, *common, "--lie", "skip-step", "--at", LIE)
    report.check(made.code == 0 and told.code == 0, "both runs", told)
    options = ["--data", data, "--threads", 1]

    good = slurm.audit(honest, folder / "out1", 4, *options)
    report.check(good.returncode == 0 and good.stdout.startswith("match") and f"steps 1 to {STEPS} of {STEPS}" in good.stdout and
                 made["root"] in good.stdout, "the honest run matches", good)
    verdicts = sorted(p.name for p in (folder / "out1").glob("*.json"))
    report.check(verdicts == [f"part-{k}.json" for k in range(1, 5)], f"a verdict for each of four tasks, found {verdicts}")
    bad = slurm.audit(lied, folder / "out2", 8, *options, "--platform", "naive")
    alone = lockstep("audit", lied, *options)
    report.check(alone.code == 1 and alone["first_bad_step"] == LIE, "the verdict of one process", alone)
    report.check(bad.returncode == 1 and bad.stdout.startswith("mismatch") and f"first bad step  {LIE}" in bad.stdout, "the same from the array", bad)
    none = slurm.audit(honest, folder / "out3", 4, "--data", folder / "nowhere", "--threads", 1)
    report.check(none.returncode == 2 and "match" not in none.stdout and "no verdict" in none.stderr, "tasks without data give no verdict", none)
    again = slurm.audit(honest, folder / "out1", 4, *options)
    report.check(again.returncode == 2 and "not empty" in again.stderr, "old verdicts are not mixed with new ones", again)


def main():
    report = Report("slurm")
    missing = [name for name in NEEDED if not shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")]
    if missing or os.geteuid() != 0:
        print(f"SKIPPED: {', '.join(missing) or 'root'} is not there (scripts/install-deps --slurm): NO Slurm array was tried")
        sys.exit(SKIPPED)
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    with Folder() as folder:
        (folder / "slurm").mkdir()
        folder.chmod(0o755)
        slurm = Slurm(folder / "slurm")
        try:
            if report.check(slurm.up(), "Slurm on this machine"):
                check(report, slurm, folder)
        finally:
            slurm.down()
    report.finish()


main()
