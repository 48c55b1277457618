"""A service of spec/http.md in Python, written from that page: it gives out a folder as it lies there, honest or not, and lies
where it is told to. Also servers that misbehave as HTTP goes."""
import http.server
import json
import pathlib
import re
import socket
import struct
import threading
import time


class Mirror(http.server.ThreadingHTTPServer):
    """Serves `folder` under the run id `run`. `lies` maps a path below the run to what is answered instead: bytes, a status, or a
    function of the handler."""
    daemon_threads = True

    def __init__(self, folder, run, lies=None):
        self.folder, self.run, self.lies, self.asked = pathlib.Path(folder), run, lies or {}, []
        super().__init__(("127.0.0.1", 0), MirrorHandler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_):
        pass  # a client that leaves is none

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def leaf_records(self):
        data, at, out = (self.folder / "leaves").read_bytes(), 0, []
        while at < len(data):
            size = struct.unpack_from("<I", data, at)[0] if at + 4 <= len(data) else len(data)
            out.append(data[at:at + 4 + size])
            at += 4 + size
        return out

    def heads(self):
        return sorted(int(p.name) for p in (self.folder / "heads").iterdir() if p.name.isdigit())

    def blocks(self):
        """Offset and length of each block, by the headers between them."""
        data, at, out = (self.folder / "rounding-log" / "frames").read_bytes(), 0, []
        while at + 16 <= len(data):
            size = struct.unpack_from("<Q", data, at + 8)[0]
            if at + 16 + size > len(data):
                break
            out.append((at + 16, size))
            at += 16 + size
        return out


class MirrorHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def part(self, data):
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not asked:
            return self.answer(data)
        first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
        return self.answer(data[first:last + 1], 206) if first <= last else self.answer(b"", 416)

    def do_GET(self):
        server = self.server
        path, _, query = self.path.partition("?")
        given = dict(pair.split("=") for pair in query.split("&") if pair)
        number = lambda name, otherwise: int(given.get(name, otherwise))  # noqa: E731
        if path == "/v1/runs":
            return self.answer(server.lies.get("list", json.dumps({"runs": [{"run": server.run}]}).encode()))
        base = f"/v1/runs/{server.run}"
        name = path[len(base):].strip("/")
        server.asked.append(name)
        lie = server.lies.get(name) if path.startswith(base) else 404
        if callable(lie):
            return lie(self)
        if lie is not None:
            return self.answer(b"", lie) if isinstance(lie, int) else self.part(lie)
        if name == "":
            return self.answer(json.dumps({"being_written": False, "written_step": 0}).encode())
        if name == "heads":
            out = b""
            for size in [s for s in server.heads() if s > number("above", 0)][:256]:
                text = (server.folder / "heads" / str(size)).read_bytes()
                out += struct.pack("<QI", size, len(text)) + text
            return self.answer(out)
        if name == "leaves":
            got = server.leaf_records()[number("first", 0):][:number("count", 4096)]
            return self.answer(b"".join(got)) if got else self.answer(b"", 404)
        if name == "rounding-log/index":
            got = server.blocks()[number("first", 1) - 1:][:number("count", 4096)]
            return self.answer(b"".join(struct.pack("<QQ", *place) for place in got)) if got else self.answer(b"", 404)
        if name == "rounding-log":
            return self.part((server.folder / "rounding-log" / "frames").read_bytes())
        if name == "snapshots":
            return self.answer("".join(f"{int(p.name)}\n" for p in sorted((server.folder / "snapshots").iterdir())).encode())
        file = server.folder / name
        return self.part(file.read_bytes()) if file.is_file() else self.answer(b"", 404)


class Rude:
    """A server that does `manner(connection)` with whoever comes."""

    def __init__(self, manner):
        self.manner, self.over = manner, threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.socket.close()

    def accept(self):
        while not self.over.is_set():
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.receive, args=(connection,), daemon=True).start()

    def receive(self, connection):
        with connection:
            try:
                self.manner(self, connection)
            except OSError:
                pass

    def drip(self, connection, data, seconds):
        for i in range(len(data)):
            if self.over.wait(seconds):
                return
            connection.sendall(data[i:i + 1])


def silence(rude, connection):
    connection.recv(4096)
    rude.over.wait(120)


def deaf(rude, connection):
    rude.over.wait(120)


def drip_headers(rude, connection):
    connection.recv(4096)
    rude.drip(connection, b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 1000, 0.1)


def drip_body(rude, connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    rude.drip(connection, b"{" * 1000, 0.1)


def endless_body(rude, connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not rude.over.is_set():
        connection.sendall(b" " * 65536)


def endless_chunks(rude, connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not rude.over.is_set():
        connection.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")


def endless_headers(rude, connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not rude.over.is_set():
        connection.sendall(b"X-A: " + b"b" * 1000 + b"\r\n")


def endless_line(rude, connection):
    connection.recv(4096)
    while not rude.over.is_set():
        connection.sendall(b"HTTP/1.1 200 " + b"b" * 65536)


def endless_information(rude, connection):
    connection.recv(4096)
    while not rude.over.is_set():
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


def huge_length(rude, connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\n{")
    rude.over.wait(120)


def short_body(rude, connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}")


def garbage(rude, connection):
    connection.recv(4096)
    connection.sendall(bytes(range(256)) * 40)


def not_json(rude, connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + b"[" * 20)


def reset(rude, connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def put_off(rude, connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def redirect(target):
    def manner(rude, connection):
        connection.recv(4096)
        connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())
        time.sleep(0.2)
    return manner
