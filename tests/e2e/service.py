# ctest: labels=full timeout=300
"""`lockstep serve`, as its peers and its operator meet it.

  - answers: every route gives what lies in the folder; ranges; errors; health, metrics and log;
  - peers without manners: slow or endless headers, silence, bodies, a thousand connections, bad ranges, paths that lead elsewhere;
    others are served meanwhile, and nothing stays behind;
  - 200 readers at once: no error, and memory that does not grow with them;
  - TLS; a rate; an end in the middle of an answer; a run that is being trained, followed to its end.

With LOCKSTEP_EXHAUSTIVE=1 (test e2e.service_all) 200 whole audits at once, and more of the rest.
"""
import concurrent.futures
import hashlib
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from harness import LOCKSTEP, Folder, Report, environment, lockstep, merkle_root, noise_data, read_leaves, tree_digest, write_job

from remote_audit import Served, audit, id_of

ALL = os.environ.get("LOCKSTEP_EXHAUSTIVE") == "1"
STEPS, READERS, BIG = 6, 200, 64 << 20


def address(url):
    return re.fullmatch(r"https?://([^:]+):(\d+)", url).group(1, 2)


def get(url, path, headers=None, method="GET", body=None, source=None):
    host, port = address(url)
    connection = http.client.HTTPConnection(host, int(port), timeout=30, source_address=source and (source, 0))
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def raw(url, data, seconds=10, source=None):
    """What comes back for bytes as they are, and after how long the server ended it."""
    host, port = address(url)
    begun = time.monotonic()
    with socket.create_connection((host, int(port)), timeout=seconds, source_address=source and (source, 0)) as connection:
        try:
            connection.sendall(data)
            out = b""
            while chunk := connection.recv(65536):
                out += chunk
        except TimeoutError:
            return out, None
        except ConnectionError:
            pass
    return out, time.monotonic() - begun


def metric(url, name):
    for line in get(url, "/metrics", source="127.0.0.9")[2].decode().splitlines():  # not the address that misbehaves
        if line.split(" ")[0] == name:
            return float(line.split(" ")[1])
    return None


def memory(process):
    """KB in use, of the process's own."""
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"RssAnon:\s+(\d+)", status.read())[1])


def settles(what, seconds=10):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


# ---- answers ----

def proof_root(leaf, index, size, path):
    """RFC 9162, section 2.1.3.2."""
    fn, sn, r = index, size - 1, hashlib.sha256(b"\0" + leaf).digest()
    for p in (path[i:i + 32] for i in range(0, len(path), 32)):
        if fn & 1 or fn == sn:
            r = hashlib.sha256(b"\1" + p + r).digest()
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = hashlib.sha256(b"\1" + r + p).digest()
        fn, sn = fn >> 1, sn >> 1
    return r


def consistent(old, new, path):
    """RFC 9162, section 2.1.4.2."""
    hashes = [path[i:i + 32] for i in range(0, len(path), 32)]
    first, second = merkle_root(old), merkle_root(new)
    if len(old) == len(new):
        return not hashes and first == second
    if len(old) & (len(old) - 1) == 0:
        hashes.insert(0, first)
    fn, sn = len(old) - 1, len(new) - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = hashes[0]
    for c in hashes[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = hashlib.sha256(b"\1" + c + fr).digest(), hashlib.sha256(b"\1" + c + sr).digest()
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = hashlib.sha256(b"\1" + sr + c).digest()
        fn, sn = fn >> 1, sn >> 1
    return fr == first and sr == second and sn == 0


def answers(report, folder, server, run):
    base = f"/v1/runs/{id_of(run)}"
    leaves = read_leaves(run)
    same = [(name, run / name) for name in ("job.bin", "job.yaml", "nonce", "leaves", "metrics.jsonl", "heads/1", f"heads/{STEPS + 1}", "statements/word.json",
                                            f"snapshots/{STEPS:010}", *(f"pieces/{p.name}" for p in (run / "pieces").iterdir()))]
    same += [("rounding-log", run / "rounding-log" / "frames"), ("head", run / "heads" / str(STEPS + 1))]
    for name, file in same:
        status, _, body = get(server.url, f"{base}/{name}")
        report.check(status == 200 and body == file.read_bytes(), f"{name}: expected the file, found {status} and {len(body)} bytes")
    for size in range(1, len(leaves) + 1):
        for index in range(size):
            status, _, path = get(server.url, f"{base}/inclusion?leaf={index}&size={size}")
            report.check(status == 200 and proof_root(leaves[index], index, size, path) == merkle_root(leaves[:size]), f"inclusion of {index} in {size}")
            report.check(index == 0 or proof_root(leaves[index - 1], index, size, path) != merkle_root(leaves[:size]), f"inclusion of another than {index}")
        for old in range(1, size + 1):
            status, _, path = get(server.url, f"{base}/consistency?from={old}&to={size}")
            report.check(status == 200 and consistent(leaves[:old], leaves[:size], path), f"consistency of {old} and {size}")
            report.check(old == size or not consistent(leaves[1:old + 1], leaves[:size], path), f"consistency of another than {old}")
    status, _, body = get(server.url, f"{base}/leaves?first=2&count=2")
    report.check(body == b"".join(struct.pack("<I", len(leaf)) + leaf for leaf in leaves[2:4]), "leaves 2 and 3")
    said = json.loads(get(server.url, base)[2])
    report.check(said["root"] == merkle_root(leaves).hex() and said["leaves"] == len(leaves) and said["written_step"] == STEPS and not said["being_written"],
                 f"the state of the run: {said}")
    frames = (run / "rounding-log" / "frames").read_bytes()
    for asked, code, want in (("bytes=3-9", 206, frames[3:10]), ("bytes=5-", 206, frames[5:]), ("bytes=-7", 206, frames[-7:]), ("lines=1-2", 200, frames),
                              (f"bytes={len(frames)}-", 416, None), ("bytes=9-3", 416, None), ("bytes=0-1,4-5", 416, None), ("bytes=x", 416, None)):
        status, headers, body = get(server.url, f"{base}/rounding-log", {"Range": asked})
        report.check(status == code and (want is None or body == want), f"{asked}: found {status} and {len(body)} bytes")
        report.check(code != 206 or headers["Content-Range"].endswith(f"/{len(frames)}"), f"{asked}: {headers}")
    for path, code in (("/", 404), ("/v1", 404), (f"{base}/nothing", 404), (f"{base}/leaves?first=99", 404), (f"{base}/heads/0", 404), (f"{base}/heads/99", 404),
                       (f"{base}/inclusion?leaf=9&size=3", 404), (f"{base}/consistency?from=0", 404), (f"{base}/leaves?first=-1", 400),
                       (f"{base}/leaves?first=1&first=2", 400), (f"{base}/snapshots/3", 404), (f"{base}/snapshots/0000000003", 404), (f"/v1/runs/{'0' * 64}", 404),
                       (f"{base}/statements/link", 404), (f"{base}/statements/.hidden", 404)):
        status, _, body = get(server.url, path)
        report.check(status == code and "error" in json.loads(body), f"{path}: expected {code}, found {status} {body}")
    for method, path, code in (("POST", base, 405), ("DELETE", base, 405), ("PUT", f"{base}/job.bin", 405), ("HEAD", f"{base}/job.bin", 200)):
        status, headers, body = get(server.url, path, method=method, body=b"" if method == "POST" else None)
        report.check(status == code and (method == "HEAD" or headers["Allow"] == "GET, HEAD"), f"{method}: {status} {headers}")
        report.check(method != "HEAD" or (not body and int(headers["Content-Length"]) == (run / "job.bin").stat().st_size), "HEAD has no body")
    names = get(server.url, f"{base}/statements")[2].decode().split("\n")
    report.check("word.json" in names and ".hidden" not in names, f"statements: {names}")


def operator(report, folder, server, run):
    report.check(get(server.url, "/healthz")[::2] == (200, b"ok\n"), "healthz")
    text = get(server.url, "/metrics")[2].decode()
    for line in text.splitlines():
        report.check(line.startswith("# ") or re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.]+', line), f"metrics: {line}")
    report.check(f'lockstep_run_leaves{{run="{id_of(run)}"}} {STEPS + 1}\n' in text and
                 re.search(r'lockstep_http_requests_total\{method="GET",route="/v1/runs/\{run\}/leaves",code="2xx"\} [1-9]', text), "metrics of the run and of routes")
    report.check(settles(lambda: metric(server.url, "lockstep_http_requests_active") == 1), "one request at a time: that for the metrics")
    lines = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    keys = {"time", "address", "method", "target", "status", "bytes", "seconds", "end"}
    report.check(len(lines) > 50 and all(keys <= set(line) <= keys | {"error"} for line in lines), "the log's lines")
    report.check(any(line["status"] == 206 and line["bytes"] == 7 for line in lines) and any(line["status"] == 404 and line["error"] for line in lines),
                 "the log tells ranges and errors")


# ---- peers without manners ----

TRAVERSALS = ["/v1/runs/../../etc/passwd", "/../../../../etc/passwd", "//etc/passwd", "/v1/runs/{id}/../nonce", "/v1/runs/{id}/..%2f..%2fetc%2fpasswd",
              "/v1/runs/{id}/statements/../nonce", "/v1/runs/{id}/statements/%2e%2e%2fnonce", "/v1/runs/{id}/statements/..", "/v1/runs/{id}/pieces/../nonce",
              "/v1/runs/{id}/snapshots/..%00", "/v1/runs/{id}/statements/word.json%00", "/v1/runs/{id}/heads/../nonce", "/v1/runs/{id}/.tmp", "/v1/runs/..",
              "/v1/runs/{id}\\nonce", "http://127.0.0.1/v1/runs", "/v1/runs/{id}/nonce/..", "/v1/runs/%7Bid%7D"]


def drip(url, lines, report, what):
    """A byte each tenth of a second: ended by the server, though it is never silent."""
    host, port = address(url)
    begun = time.monotonic()
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        try:
            for i in range(600):
                connection.sendall(lines[i % len(lines):i % len(lines) + 1])
                time.sleep(0.1)
        except OSError:
            pass
    report.check(time.monotonic() - begun < 10, f"{what}: ended after {time.monotonic() - begun:.1f} s")


def takes_nothing(url, path, report):
    """Asks for much and reads nothing."""
    host, port = address(url)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((host, int(port)))
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        report.check(settles(lambda: metric(url, "lockstep_http_requests_active") == 1, 30), "a peer that reads nothing is left")


def thousand(url, report):
    """A thousand connections from one address: others come through, and it does, too, when they are gone."""
    host, port = address(url)
    held = []
    for _ in range(1000):
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex((host, int(port)))
        held.append(connection)
    others = [get(url, "/healthz", source="127.0.0.9")[0] for _ in range(5)]
    report.check(others == [200] * 5, f"another address among a thousand connections: {others}")
    for connection in held:
        connection.close()
    report.check(settles(lambda: get(url, "/healthz")[0] == 200), "the same address afterwards")


def swallow(call):
    try:
        return call()
    except OSError:
        return None


def bad_peers(report, folder, run):
    base, before = f"/v1/runs/{id_of(run)}", tree_digest(run)
    options = ["--timeout", 1, "--rate", 0, "--connections", 128, "--per-address", 64, "--log", folder / "bad-log"]
    with Served(run, options=options) as server:
        url = server.url
        get(url, "/healthz")
        memory_before = memory(server.process)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            waiting = [pool.submit(drip, url, b"GET /healthz HTTP/1.1\r\nX-A: " + b"b" * 1000, report, "slow headers"),
                       pool.submit(drip, url, b"\r\n", report, "empty lines"),
                       pool.submit(takes_nothing, url, f"{base}/statements/big", report)]
            silent = [pool.submit(raw, url, data) for data in (b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"GET")]
            for path in TRAVERSALS:
                out, _ = raw(url, f"GET {path.replace('{id}', id_of(run))} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
                report.check(re.match(rb"HTTP/1.1 40[04] ", out) and b"root:" not in out, f"{path}: found {out[:80]}")
            for what, data, code in (
                    ("a body", b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n" + b"x" * 100000, rb"413"),
                    ("chunks", b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", rb"413"),
                    ("two lengths", b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", rb"4\d\d"),
                    ("a length of -1", b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", rb"4\d\d"),
                    ("huge headers", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: " + b"b" * 100000 + b"\r\n\r\n", rb"4\d\d"),
                    ("many headers", b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 20000 + b"\r\n", rb"4\d\d"),
                    ("a long target", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", rb"4\d\d"),
                    ("a target of 2000", b"GET /" + b"a/" * 1000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", rb"4\d\d"),
                    ("nonsense", bytes(range(256)) * 100, rb"4\d\d|5\d\d"),
                    ("TLS", bytes.fromhex("160301020001000001fc0303") + os.urandom(500), rb"4\d\d|5\d\d"),
                    ("another version", b"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n", rb"4\d\d|5\d\d|200")):
                out, ended = swallow(lambda d=data: raw(url, d)) or (b"", 0)
                report.check((not out or re.match(rb"HTTP/1.[01] (" + code + rb") ", out)) and ended is not None, f"{what}: found {out[:80]}, ended {ended}")
            for task in silent:
                out, ended = task.result()
                report.check(ended is not None and ended < 8, f"a silent peer: ended {ended}, {out[:60]}")
            for task in waiting:
                task.result()
        thousand(url, report)
        for i in range(200 if not ALL else 5000):  # connections that end in every which way
            with swallow(lambda: socket.create_connection(address(url), timeout=5)) or socket.socket() as connection:
                swallow(lambda c=connection, n=i: c.sendall(b"GET /v1/runs HTTP/1.1\r\nHost: x\r\n\r\n"[:n % 40]))
        report.check(settles(lambda: metric(url, "lockstep_http_connections") <= 2), "connections are all over")
        report.check(metric(url, "lockstep_http_over_time_total") >= 2, "some were ended for being late")
        grown = memory(server.process) - memory_before
        report.check(grown < 16_384, f"memory: {grown} KB more than before")
        whole = audit(url, folder / "data")
        report.check(whole.code == 0, "an audit afterwards", whole)
        stopped = server.stop()
        report.check(stopped[0] == 0, f"the end: {stopped}")
    report.check(tree_digest(run) == before, "expected the folder as it was")


# ---- many readers ----

def read_all(url, base, wanted):
    """One reader over one connection: everything that an audit asks for."""
    host, port = address(url)
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    try:
        for path, digest in wanted.items():
            connection.request("GET", f"{base}/{path}")
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200 or hashlib.sha256(body).digest() != digest:
                return f"{path}: {answer.status}, {len(body)} bytes"
    except OSError as error:
        return str(error)
    finally:
        connection.close()
    return None


def readers(report, folder, run):
    base = f"/v1/runs/{id_of(run)}"
    files = {"job.bin": "job.bin", "head": f"heads/{STEPS + 1}", "leaves": "leaves", "rounding-log": "rounding-log/frames",
             f"snapshots/{STEPS:010}": f"snapshots/{STEPS:010}"}
    files.update({f"pieces/{p.name}": f"pieces/{p.name}" for p in (run / "pieces").iterdir()})
    wanted = {path: hashlib.sha256((run / file).read_bytes()).digest() for path, file in files.items()}
    with Served(run, options=["--per-address", 256, "--connections", 256, "--rate", 0, "--log", folder / "readers-log"]) as server:
        read_all(server.url, base, wanted)
        before, most = memory(server.process), [0]
        over = threading.Event()

        def watch():
            while not over.wait(0.02):
                most[0] = max(most[0], memory(server.process))
        watcher = threading.Thread(target=watch)
        watcher.start()
        together = threading.Barrier(READERS)

        def reader():
            together.wait()
            return read_all(server.url, base, wanted)
        with concurrent.futures.ThreadPoolExecutor(READERS) as pool:
            wrong = [task.result() for task in [pool.submit(reader) for _ in range(READERS)]]
        over.set()
        watcher.join()
        wrong = [w for w in wrong if w]
        report.check(not wrong, f"{READERS} readers: {len(wrong)} failed, {wrong[:3]}")
        report.check(most[0] - before < 32_768, f"memory: {before} KB before, {most[0]} KB under {READERS} readers")
        print(f"{READERS} readers: {before} KB before, at most {most[0]} KB")
        count = READERS if ALL else 4
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            codes = [task.result().code for task in [pool.submit(audit, server.url, folder / "data") for _ in range(count)]]
        report.check(codes == [0] * count, f"{count} audits at once: {codes}")


def rate(report, folder, run):
    with Served(run, options=["--rate", 3, "--log", folder / "rate-log"]) as server:
        found = [get(server.url, "/healthz") for _ in range(60)]
        report.check([f[0] for f in found[:20]] == [200] * 20 and any(f[0] == 429 and f[1].get("Retry-After") for f in found), "more than its rate")
        report.check(get(server.url, "/healthz", source="127.0.0.7")[0] == 200, "another address")
        slow = audit(server.url, folder / "data")
        report.check(slow.code == 0, "an audit that is put off", slow)


# ---- TLS, ends, runs that grow ----

def tls(report, folder, run):
    def certificate(name, alternative):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                        "-addext", f"subjectAltName={alternative}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"],
                       check=True, capture_output=True)
        return ["--cert", folder / f"{name}.pem", "--key", folder / f"{name}.key", "--log", folder / "tls-log"]
    data = folder / "data"
    with Served(run, options=certificate("here", "IP:127.0.0.1")) as server:
        report.check(server.url.startswith("https://"), f"{server.said}")
        good = audit(server.url, data, "--ca", folder / "here.pem")
        report.check(good.code == 0 and good["verdict"] == "match", "over TLS", good)
        stranger = audit(server.url, data)
        report.check(stranger.code == 3 and "certificate" in (stranger["error"] or ""), "a certificate that nobody vouches for", stranger)
        clear = audit(server.url.replace("https", "http"), data, "--timeout", 2)
        report.check(clear.code == 3, "in the clear to a server with TLS", clear)
        out, ended = raw(server.url, b"GET /healthz HTTP/1.1\r\n\r\n")
        report.check(b"ok" not in out and ended is not None, f"no TLS at all: {out[:60]}")
    with Served(run, options=certificate("elsewhere", "DNS:elsewhere.example")) as server:
        other = audit(server.url, data, "--ca", folder / "elsewhere.pem")
        report.check(other.code == 3, "another host's certificate", other)
    broken = lockstep("serve", run, "--listen", "127.0.0.1:0", "--cert", folder / "here.key", "--key", folder / "here.pem")
    report.check(broken.code == 2 and "--cert" in broken["error"], "certificate and key exchanged", broken)


def orderly_end(report, folder, run):
    """SIGTERM while an answer is on its way: it comes whole, nobody else is accepted, and the exit code is 0."""
    server = Served(run, options=["--log", folder / "end-log"])
    host, port = address(server.url)
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(f"GET /v1/runs/{id_of(run)}/statements/big HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        got = len(connection.recv(65536))
        server.process.send_signal(signal.SIGTERM)
        report.check(settles(lambda: swallow(lambda: socket.create_connection((host, int(port)), timeout=2).close() or True) is None), "nobody else is accepted")
        while chunk := connection.recv(1 << 20):
            got += len(chunk)
    code = server.process.wait(30)
    out = server.process.stdout.read()
    report.check(got > BIG, f"the answer: {got} bytes of {BIG} and headers")
    report.check(code == 0 and json.loads(out.splitlines()[-1]) == {"stopped": True}, f"exit {code}: {out}")
    report.check(any(json.loads(line)["bytes"] == BIG and json.loads(line)["end"] == "whole" for line in (folder / "end-log").read_text().splitlines()), "its line in the log")
    server.process.stderr.close()
    idle = Served(run, options=["--log", folder / "end-log"])
    held = socket.create_connection(address(idle.url))  # a peer that says nothing does not hold it up
    begun = time.monotonic()
    report.check(idle.stop()[0] == 0 and time.monotonic() - begun < 8, "an end beside a silent peer")
    held.close()


def growing(report, folder):
    """Served from its first head on; followed to the trainer's root, and only what a head promises is given out meanwhile."""
    job, run = write_job(folder / "long.yaml", arch="lenet5", steps=150), folder / "growing"
    trainer = subprocess.Popen([str(w) for w in (LOCKSTEP, "train", job, "--run", run, "--data", folder / "data", "--threads", 1, "--snapshots", "every:25", "--json")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    report.check(settles(lambda: (run / "heads" / "1").exists(), 60), "a run that begins")
    with Served(run, options=["--log", folder / "growing-log"]) as server:
        follower = subprocess.Popen([str(w) for w in (LOCKSTEP, "audit", server.url, "--follow", "--data", folder / "data", "--threads", 1, "--json")],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        seen = set()
        while trainer.poll() is None:
            said = json.loads(get(server.url, f"/v1/runs/{id_of(run)}")[2])
            seen.add(said["leaves"])
            report.check(said["leaves"] % 25 == 1 and said["written_step"] >= said["steps"], f"as far as a head promises: {said}")
            time.sleep(0.05)
        made = json.loads(trainer.communicate()[0].splitlines()[-1])
        out, err = follower.communicate(timeout=120)
        said = json.loads(out.splitlines()[-1])
        report.check(follower.returncode == 0 and said["verdict"] == "match" and said["root"] == made["root"] and said["last"] == 150, f"followed: {said} {err}")
        report.check(len(seen) > 1, f"heads came meanwhile: {sorted(seen)}")


def wrong_words(report, folder, run):
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    for words, code in (([folder / "nothing"], 2), ([run, run], 2), ([run, "--listen", "nowhere"], 2), ([run, "--listen", f"127.0.0.1:{port}"], 3),
                        ([run, "--cert", "x"], 2), ([run, "--connections", "0"], 2), ([run, "--log", folder / "no" / "log"], 3)):
        result = lockstep("serve", *words)
        report.check(result.code == code and result["error"], f"serve {words[1:]}: expected exit {code}", result)
    taken.close()


def main():
    report = Report("service")
    with Folder() as folder:
        noise_data(folder / "data", 64)
        job, run = write_job(folder / "job.yaml", arch="lenet5", steps=STEPS), folder / "run"
        made = lockstep("train", job, "--run", run, "--data", folder / "data", "--threads", 1)
        report.check(made.code == 0, "training", made)
        statements = run / "statements"
        statements.mkdir()
        (statements / "word.json").write_text("{}\n")
        (statements / ".hidden").write_text("no\n")
        (statements / "link").symlink_to("/etc/passwd")
        with open(statements / "big", "wb") as big:
            big.truncate(BIG)
        parts = [wrong_words, bad_peers, readers, rate, tls, orderly_end]
        names = sys.argv[1:]
        if not names or "answers" in names:
            with Served(run, options=["--log", folder / "log", "--rate", 0]) as server:
                answers(report, folder, server, run)
                operator(report, folder, server, run)
        for part in parts:
            if not names or part.__name__ in names:
                part(report, folder, run)
        if not names or "growing" in names:
            growing(report, folder)
    report.finish()


if __name__ == "__main__":
    main()
