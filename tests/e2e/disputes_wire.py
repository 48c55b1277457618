# ctest: labels=full timeout=900
"""Disputes between processes: a referee's and a trainer's `lockstep serve`, an auditor's `lockstep dispute`, over HTTP on this
machine, on different platforms. What must hold:

  - lies of trainers and of auditors end as they do between two folders (disputes.py): right side, step, op and value; both judges;
    no byte of the evidence may change;
  - whoever is killed (SIGKILL) at every turn, before or after it reached the court, is started again and goes on: the verdict is
    the same, and nobody has signed two turns;
  - silence loses by the referee's receipts; a court that is not there is no verdict;
  - garbage, floods and slow peers hurt nobody: the dispute goes on beside them; a court that changes what it tells is not believed;
  - honest pairs have nothing to dispute.

In make check four lies; with LOCKSTEP_EXHAUSTIVE=1 (test e2e.disputes_wire_all) every one at every time, kills in every mode, and
every byte of a file.
"""
import http.server
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from disputes import EVERY, FIRST, LAST, LIES, LOGGED_ONLY, MIDDLE, PLATFORMS, Court, python_judge, told
from harness import CHEAT, LOCKSTEP, Folder, Report, cheat, environment, lockstep

import json

ALL = os.environ.get("LOCKSTEP_EXHAUSTIVE") == "1"
SAMPLE = ("poison-pixel", "edit-weight", "low-precision", "forge-entry", "other-order+text")


class Process:
    """One of the parties; `words` start it again as often as it is killed."""

    def __init__(self, words, log, url=True):
        self.words, self.log, self.has_url = [str(w) for w in words], log, url
        self.lock, self.ended = threading.Lock(), False
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=open(self.log, "ab"), text=True, env=environment())
        self.url = json.loads(self.process.stdout.readline())["url"] if self.has_url else None

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def kill(self):
        """For good: a restart that another thread is about to make finds it ended."""
        with self.lock:
            self.ended = True
            self.end()

    def restart(self):
        with self.lock:
            if not self.ended:
                self.end()
                self.start()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        return self.process.returncode


class Proxy:
    """Stands between the parties and the court. `on_turn(n)` is called around the n-th turn that is handed in, and says whether it is
    to be lost on the way there ("there"), on the way back ("back"), or not at all (None); `change` alters what the court tells."""

    def __init__(self):
        self.target, self.on_turn, self.change, self.turns = None, None, None, 0
        self.lock = threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def forward(self, body):
                request = urllib.request.Request(proxy.target() + self.path, data=body, method=self.command)
                try:
                    with urllib.request.urlopen(request, timeout=20) as answer:
                        return answer.status, answer.read()
                except urllib.error.HTTPError as error:
                    return error.code, error.read()

            def handle_one(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) if self.command == "POST" else None
                turn = body is not None and self.path.endswith("/turns")
                with proxy.lock:
                    number = proxy.turns
                    proxy.turns += turn
                lost = proxy.on_turn(number) if turn and proxy.on_turn else None
                if lost == "there":
                    return self.close()
                try:
                    status, data = self.forward(body)
                except (urllib.error.URLError, OSError):
                    return self.close()
                if lost == "back":
                    return self.close()
                if proxy.change:
                    data = proxy.change(self.path, status, data)
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def close(self):
                self.close_connection = True
                self.connection.close()

            def do_GET(self):
                try:
                    self.handle_one()
                except (BrokenPipeError, ConnectionResetError, ValueError):
                    self.close_connection = True

            do_POST = do_GET

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Wire(Court):
    def __init__(self, folder, report):
        super().__init__(folder, report)
        self.number = 0

    def referee(self, book="court.db", deadline=600):
        return Process([LOCKSTEP, "serve", "--referee", self.folder / "referee", "--book", self.folder / book, "--deadline", deadline,
                        "--listen", "127.0.0.1:0", "--log", self.folder / "court.log", "--rate", 0, "--json"], self.folder / "court.err")

    def trainer(self, run, court, platform="native", lie=None, at=None):
        """With a lie: one who stays with it in the dispute, too; else one who is held to what its run says."""
        words = ["--court", court, "--trainer-key", self.folder / "trainer", "--book", run.with_suffix(".trainer.db"), "--platform", platform, *self.data(run)]
        if lie:
            return Process([CHEAT, "defend", run, "--lie", told(lie), "--at", at, *words], self.folder / "trainer.err", url=False)
        return Process([LOCKSTEP, "serve", run, *words, "--listen", "127.0.0.1:0", "--log", self.folder / "trainer.log", "--json"], self.folder / "trainer.err")

    def words(self, run, kept, court, path, *more):
        return ["dispute", run, kept, "--court", court, "-o", path, "--auditor-key", self.folder / "auditor", *self.data(run), *more]

    def liar(self, name, at, every, mode, pair, stays=True):
        """A run with a lie and its replay."""
        network, kind, value = LIES[name]
        at = 0 if name == "other-weights" else at
        self.number += 1
        run = self.train(self.job(network, mode, every), f"{self.number}-{name}-{mode}", pair[0], name, at)
        kept = run.with_suffix(".kept")
        audit = lockstep("audit", run, "--keep", kept, "--key", self.folder / "auditor", "--platform", pair[1], *self.data(run))
        self.report.check(audit.code == 1, f"{name}: expected the audit to find it", audit)
        return run, kept, at, kind if stays else None, value if stays else None

    # ---- lies ----

    def trainer_lie(self, referee, name, at, every, mode, pair, stays):
        title = f"{name}, {mode}, step {at}, a leaf per {every}, {pair[0]} against {pair[1]}, {'stays' if stays else 'held to its run'}"
        run, kept, at, kind, value = self.liar(name, at, every, mode, pair, stays)
        trainer = self.trainer(run, referee.url, pair[0], name if stays else None, at)
        path = run.with_suffix(".evidence")
        done = lockstep(*self.words(run, kept, referee.url, path, "--platform", pair[1]))
        trainer.kill()
        if self.report.check(done.code == 1 and path.exists(), title, done):
            steps = [at] if stays else range(at, max(1, -(-at // every)) * every + 1)
            self.evidence(title, path, "trainer-wrong", steps, kind, value)
        return path

    def auditor_lie(self, referee, name, at, mode):
        title = f"{name} by the auditor, {mode}, step {at}"
        network, kind, value = LIES[name]
        self.number += 1
        run = self.train(self.job(network, mode, 1), f"{self.number}-honest-{name}-{mode}", "native")
        kept, path = run.with_suffix(".kept"), run.with_suffix(".evidence")
        cheat("audit", run, "--keep", kept, "--key", self.folder / "auditor", "--lie", told(name), "--at", at, *self.data(run))
        trainer = self.trainer(run, referee.url, "openblas")
        done = cheat(*self.words(run, kept, referee.url, path), "--lie", told(name), "--at", at)
        if self.report.check(done.code == 1 and path.exists(), title, done):
            self.evidence(title, path, "auditor-wrong", [at], kind, value)
        # garbage after a lie: an auditor who executes honestly is held to the replay it signed, and loses as well
        again = run.with_suffix(".again")
        done = lockstep(*self.words(run, kept, referee.url, again))
        self.report.check(done.code == 1 and done["verdict"] == "auditor-wrong", f"{title}, again", done)
        trainer.kill()

    def lies(self, referee, names):
        for i, name in enumerate(names):
            modes = ("logged",) * 3 if name in LOGGED_ONLY else ("logged", "exact", "pinned")
            times = [(2 if name == "repeat-batch" else FIRST, 1), (MIDDLE, EVERY), (LAST, 1)]
            for j, (at, every) in enumerate(times):
                if not ALL and j != i % 3:
                    continue
                for stays in (True, False) if ALL else (i % 2 == 0,):
                    self.trainer_lie(referee, name, at, every, modes[(i + j) % 3], PLATFORMS[(i + j) % 3], stays)
            if name not in (*LOGGED_ONLY, "other-weights") and (ALL or i == 1):
                self.auditor_lie(referee, name, MIDDLE, modes[i % 3])

    def honest(self, referee):
        self.number += 1
        run = self.train(self.job("lenet5", "logged", 1), f"{self.number}-honest", "native")
        kept, path = run.with_suffix(".kept"), run.with_suffix(".evidence")
        lockstep("audit", run, "--keep", kept, "--key", self.folder / "auditor", "--platform", "openblas", *self.data(run))
        done = lockstep(*self.words(run, kept, referee.url, path))
        self.report.check(done.code == 0 and done["verdict"] == "match" and not path.exists(), "honest pair", done)

    # ---- kills ----

    def killed(self, who, name, mode, every, at):
        """`who` is killed at every turn that passes, alternately before and after the court has it."""
        title = f"{who} killed at every turn, {name}, {mode}"
        run, kept, at, kind, value = self.liar(name, at, every, mode, PLATFORMS[0])
        proxy = Proxy()
        referee = self.referee(f"{self.number}.db")
        proxy.target = lambda: referee.url
        trainer = self.trainer(run, proxy.url, "native", name, at)
        path = run.with_suffix(".evidence")
        words = [str(w) for w in [LOCKSTEP, *self.words(run, kept, proxy.url, path, "--timeout", 5, "--json")]]
        kills, auditor = [], []

        def on_turn(number):
            kills.append(number)
            if who == "referee":
                referee.restart()
            elif who == "trainer":
                threading.Thread(target=trainer.restart).start()
            else:
                auditor[-1].kill()
            return ("there", "back")[number % 2] if number < 60 else None

        proxy.on_turn = on_turn
        deadline, out = time.time() + 240, ""
        while time.time() < deadline:
            auditor.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()))
            out, _ = auditor[-1].communicate()
            if auditor[-1].returncode == 1 and path.exists():
                break
        trainer.kill()
        referee.stop()
        proxy.stop()
        if self.report.check(path.exists(), f"{title}: no end after {len(kills)} kills, {len(auditor)} auditors: {out[-300:]}"):
            self.evidence(title, path, "trainer-wrong", [at], kind, value)
        self.report.check(len(kills) >= 8, f"{title}: only {len(kills)} kills")

    # ---- silence ----

    def silence(self):
        run, kept, *_ = self.liar("edit-weight", MIDDLE, 1, "logged", PLATFORMS[0])
        referee = self.referee("silence.db", deadline=2)
        reader = Process([LOCKSTEP, "serve", run, "--listen", "127.0.0.1:0", "--log", self.folder / "reader.log", "--json"], self.folder / "reader.err")
        path = run.with_suffix(".evidence")
        done = lockstep(*self.words(kept, reader.url, referee.url, path))  # REPLAY URL: the run is read over the wire, too
        if self.report.check(done.code == 1 and path.exists(), "a trainer who answers reads and no turns", done):
            ours, theirs = lockstep("judge", path), python_judge(path)
            for judge in (ours.json, theirs):
                self.report.check(judge.get("verdict") == "trainer-wrong", f"silence of the trainer: {judge}")
            self.report.check("silent" in ours["text"], "silence of the trainer", ours)
        self.report.check(reader.stop() == 0, "the reader's process ends in order")
        referee.stop()
        if ALL:  # unit.court has it at a clock of its own; here the trainer needs time to answer before the auditor's runs out
            self.silent_auditor()

    def silent_auditor(self):
        """Makes its claim, and is not seen again."""
        deadline = 30
        referee = self.referee("silent.db", deadline)
        run, kept, at, *_ = self.liar("edit-weight", MIDDLE, 1, "exact", PLATFORMS[0])
        trainer = self.trainer(run, referee.url, "native", "edit-weight", at)
        proxy = Proxy()
        proxy.target = lambda: referee.url
        gone = []

        def on_turn(number):
            if number:
                gone.append(number)
                auditor.kill()
            return "there" if number else None

        proxy.on_turn = on_turn
        path = run.with_suffix(".evidence")
        words = [str(w) for w in [LOCKSTEP, *self.words(run, kept, proxy.url, path)]]
        auditor = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        auditor.wait()
        time.sleep(deadline + 1)
        done = lockstep(*self.words(run, kept, referee.url, path))
        self.report.check(gone and done["verdict"] == "auditor-wrong" and "silent" in done["text"], "silence of the auditor", done)
        trainer.kill()
        proxy.stop()
        referee.stop()

    # ---- peers without manners ----

    def garbage(self, url, stop):
        """Until told to stop: what no party would send."""
        count = 0
        host, port = url.removeprefix("http://").split(":")
        slow = [socket.create_connection((host, int(port))) for _ in range(20)]
        for s in slow:
            s.sendall(b"POST /v1/disputes HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n")
        while not stop.is_set():
            size = self.draw.choice((0, 1, 77, 200, 5000, 300000, 2000000))
            target = self.draw.choice(("/v1/disputes", f"/v1/disputes/{'ab' * 32}/turns", "/v1/disputes/x/y", "/v1/disputes/../../etc", "/v1/disputes?run=" + "a" * 900))
            try:
                urllib.request.urlopen(urllib.request.Request(url + target, data=os.urandom(size), method="POST"), timeout=5).read()
                self.report.check(False, f"garbage was answered with 200: {target}, {size} bytes")
            except urllib.error.HTTPError as error:
                self.report.check(400 <= error.code < 500, f"garbage was answered with {error.code}: {target}, {size} bytes")
            except (urllib.error.URLError, OSError):
                pass  # cut off in the middle of a body that is too long
            count += 1
        for s in slow:
            s.close()
        return count

    def two_versions(self, run, kept, proxy):
        """A turn that the auditor has heard, told otherwise later: both are kept. No trainer is there, so the first process has to be killed."""
        path = run.with_suffix(".twice")
        words = self.words(run, kept, proxy.url, path, "--patience", 2, "--timeout", 2)
        first = Process([LOCKSTEP, *words], self.folder / "twice.err", url=False)
        for _ in range(100):
            time.sleep(0.1)
            if os.path.exists(f"{path}.book") and sqlite3.connect(f"{path}.book").execute("SELECT count(*) FROM heard").fetchone()[0]:
                break
        first.kill()

        def change(target, status, data):
            return data[:60] + bytes([data[60] ^ 1]) + data[61:] if status == 200 and "/turns" in target and len(data) > 60 else data

        proxy.change = change
        done = lockstep(*words)
        rows = sqlite3.connect(f"{path}.book").execute("SELECT h.bytes <> c.bytes FROM heard h JOIN contradicted c USING (dispute, number)").fetchall()
        self.report.check(done.code == 2 and "another one than it told before" in (done["error"] or "") and rows == [(1,)],
                          f"expected a turn in two versions, found {rows}", done)

    def manners(self, referee):
        stop, counts = threading.Event(), []
        flood = [threading.Thread(target=lambda: counts.append(self.garbage(referee.url, stop))) for _ in range(4)]
        for f in flood:
            f.start()
        self.trainer_lie(referee, "freeze-layer", MIDDLE, 1, "exact", PLATFORMS[1], True)
        stop.set()
        for f in flood:
            f.join()
        self.report.check(sum(counts) > 20, f"only {counts} messages of garbage")
        run, kept, *_ = self.liar("edit-weight", MIDDLE, 1, "logged", PLATFORMS[0])
        path = run.with_suffix(".evidence")
        # a court that changes what it tells, first while no turn has been made (byte 10 of that page: the number of its first turn)
        trainer, proxy = None, Proxy()
        proxy.target = lambda: referee.url
        self.two_versions(run, kept, proxy)
        for where, at in (("/v1/disputes", 50), ("/turns", 10), ("/turns", 60), ("/turns", -3)):
            def change(target, status, data):
                if status == 200 and where in target and len(data) > abs(at):
                    data = bytearray(data)
                    data[at] ^= 1
                return bytes(data)
            proxy.change = change
            if at == 60:
                trainer = self.trainer(run, referee.url, PLATFORMS[0][0], "edit-weight", MIDDLE)
            start = time.time()
            done = lockstep(*self.words(run, kept, proxy.url, run.with_suffix(f".{where[-1]}{at}"), "--patience", 3, "--timeout", 2))
            self.report.check(done.code == 2 and time.time() - start < 60, f"a court that changes byte {at} of {where}", done)
        proxy.stop()
        trainer.kill()
        # a court that is not there, or never answers
        silent = socket.socket()
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        port = silent.getsockname()[1]
        start = time.time()
        done = lockstep(*self.words(run, kept, f"http://127.0.0.1:{port}", path, "--patience", 1, "--timeout", 1))
        self.report.check(done.code == 3 and time.time() - start < 60 and not path.exists(), "a court that never answers", done)
        silent.close()
        done = lockstep(*self.words(run, kept, f"http://127.0.0.1:{port}", path, "--patience", 0))
        self.report.check(done.code == 3 and not path.exists(), "no court", done)

    def every_byte(self, path):
        data = path.read_bytes()
        for at in range(len(data)):
            changed = bytearray(data)
            changed[at] ^= 1 << at % 8
            path.with_suffix(".changed").write_bytes(changed)
            again = lockstep("judge", path.with_suffix(".changed"))
            self.report.check(again["verdict"] == "evidence-invalid", f"byte {at} changed", again)
            if at % 199 == 0:
                again = python_judge(path.with_suffix(".changed"))
                self.report.check(again["verdict"] == "evidence-invalid", f"byte {at} changed, for the Python verifier: {again}")
        self.report.check(lockstep("judge", path)["verdict"] == "trainer-wrong", "the twin: nothing changed")


def main(parts):
    """`parts` of: lies, honest, manners, silence, killed; none: all."""
    report = Report("disputes over a wire")
    with Folder() as folder:
        wire = Wire(folder, report)
        referee = wire.referee()
        if not parts or "lies" in parts:
            wire.lies(referee, LIES if ALL else SAMPLE)
        if not parts or "honest" in parts:
            wire.honest(referee)
        if not parts or "manners" in parts:
            wire.manners(referee)
        if not parts or "silence" in parts:
            wire.silence()
        if not parts or "killed" in parts:
            for i, who in enumerate(("referee", "trainer", "auditor")):
                for mode in ("logged", "exact", "pinned") if ALL else ("logged",):
                    wire.killed(who, "low-precision", mode, 1 if i else EVERY, MIDDLE)
        if ALL and (not parts or "bytes" in parts):
            wire.every_byte(wire.trainer_lie(referee, "edit-weight", MIDDLE, 1, "exact", PLATFORMS[0], True))
        report.check(referee.stop() == 0, "the referee's process ends in order")
        print(f"{wire.count} evidence files, the largest of {wire.bytes} bytes")
    report.finish()


main(sys.argv[1:])
