# Sealward: the open trust stack between Apple apps and their servers.
# SPDX-License-Identifier: Apache-2.0
"""What `check` is made of: processes, an upstream that reads paths and names as carelessly as any, and a client that sends what it is told."""
import atexit
import base64
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

IDENTITY = ["x-sealward-app", "x-sealward-environment", "x-sealward-key", "x-sealward-tier"]
PATIENCE = 60
folder = tempfile.mkdtemp(prefix="sealward-gateways-")
os.chmod(folder, 0o755)
children = []


@atexit.register
def clean():
    for child in children:
        stop(child)
    shutil.rmtree(folder, ignore_errors=True)


def stop(child):
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


class Failed(Exception):
    pass


def start(log, command, ready, cwd=folder, ordinary=False):
    """A process that runs until it is stopped by its id; `ready` gets its log and says what it waited for."""
    with open(log, "w") as out:
        # Never as root: the configurations have to do without.
        who = {"user": 65534, "group": 65534, "extra_groups": [], "env": {**os.environ, "HOME": cwd}} if ordinary and os.geteuid() == 0 else {}
        child = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=cwd, **who)
    children.append(child)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and child.poll() is None:
        if found := ready(open(log, errors="replace").read()):
            return child, found
        time.sleep(0.02)
    stop(child)
    raise Failed(f"{command[0]} did not start:\n{open(log, errors='replace').read()[-3000:]}")


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def free_ports(count):
    held = []
    for _ in range(count):
        held.append(socket.socket())
        held[-1].bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def reachable(program):
    """The program where an ordinary user can run it: itself, or a copy."""
    program, parent = os.path.realpath(program), os.path.realpath(program)
    if os.geteuid() != 0:
        return program
    while (parent := os.path.dirname(parent)) != "/":
        if not os.stat(parent).st_mode & 1:
            copy = os.path.join(folder, os.path.basename(program))
            return copy if os.path.exists(copy) else shutil.copy(program, copy)
    return program


class Seen:
    """One request as the upstream read it."""

    def __init__(self, head):
        lines = re.split("\r?\n", head.decode("latin-1"))
        self.words, self.headers, self.length = lines[0].split(" "), [], 0
        self.target = self.words[1] if len(self.words) > 1 else lines[0]
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers.append((name.strip().lower(), value.strip()))

    def get(self, name):
        return next((value for key, value in self.headers if key == name), "")

    @property
    def path(self):
        """The path as the most careless server reads it: decoded until nothing changes, `\\` as `/`, no `;...`, no `..`, no case."""
        text = re.sub(r"^[a-z]+://[^/]*", "", self.target, flags=re.I)
        text = re.split(r"[?#]", text)[0]
        while (decoded := urllib.parse.unquote(text)) != text:
            text = decoded
        parts = []
        for part in text.replace("\\", "/").split("/"):
            part = part.split(";")[0]
            if part == "..":
                del parts[-1:]
            elif part not in ("", "."):
                parts.append(part.lower())
        return "/" + "/".join(parts)

    @property
    def identity(self):
        """Every field that some server takes for one of ours: with CGI and WSGI `_` is as good as `-`, with some any other character too."""
        names = [(re.sub("[^a-z0-9]", "-", key), value) for key, value in self.headers]
        return sorted(pair for pair in names if "sealward" in pair[0])


class Upstream:
    """Answers 200 to everything, accepts every upgrade, and keeps what it saw."""

    def __init__(self):
        self.seen, self.go_on = [], threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=[peer], daemon=True).start()

    def serve(self, peer):
        peer.settimeout(PATIENCE)
        try:
            with peer, peer.makefile("rb") as stream:
                while self.answer(peer, stream):
                    pass
        except (OSError, ValueError):
            pass

    def answer(self, peer, stream):
        head = b""
        while not head.endswith((b"\n\r\n", b"\n\n")):
            line = stream.readline(1 << 20)
            if not line:
                return False
            head += line if head or line.strip() else b""
        request = Seen(head.rstrip(b"\r\n"))
        upgrade = request.get("upgrade").lower()
        if upgrade:
            self.seen.append(request)
            accept = base64.b64encode(hashlib.sha1(
                (request.get("sec-websocket-key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
            peer.sendall(f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {upgrade}\r\n"
                         f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
            while part := stream.read1(65536):
                if upgrade != "websocket":
                    self.seen.append(Seen(part))
                peer.sendall(part)
            return False
        digest = hashlib.sha256()

        def take(count):
            while count > 0:
                part = stream.read(min(count, 65536))
                if not part:
                    raise ValueError("the body ended early")
                digest.update(part)
                request.length, count = request.length + len(part), count - len(part)

        if "chunked" in request.get("transfer-encoding").lower():
            while size := int(stream.readline().split(b";")[0], 16):
                take(size)
                stream.readline()
            while line := stream.readline().strip():
                # Some servers take a trailer for a header.
                request.headers += Seen(b"\n" + line).headers
        else:
            take(int(request.get("content-length") or 0))
        request.digest = digest.hexdigest()
        self.seen.append(request)
        if request.path.endswith("/sse"):
            # No length and no chunks: the end of the connection is the end of the events.
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n")
            # The second event only once the client has the first: a gateway that collects answers is found out.
            if self.go_on.wait(PATIENCE / 2):
                peer.sendall(b"data: 2\n\n")
            return False
        body = json.dumps({"target": request.target, "length": request.length, "digest": request.digest}).encode()
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
                     + (b"" if request.words[0] == "HEAD" else body))
        return True


class Stand_in:
    """Answers as the service does while its store is down, on the address that the service had."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.answer, args=[peer], daemon=True).start()

    def answer(self, peer):
        with peer:
            head = b""
            while b"\r\n\r\n" not in head and (part := peer.recv(65536)):
                head += part
            body = b'{"type":"about:blank","title":"The store does not answer.","status":503,"code":"store.unavailable"}'
            peer.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 5\r\n"
                         b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def get(self, name):
        return next((value for key, value in self.headers if key == name), None)


class Talk:
    """One connection; what is sent is sent as it is."""

    def __init__(self, port, address):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE, source_address=(address, 0))
        self.stream = self.socket.makefile("rb")

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass  # A refusal may come before the last byte is taken; it is read all the same.

    def head(self):
        """The first answer that is not 100; None where the connection ends without one."""
        try:
            while True:
                words = self.stream.readline(65536).decode("latin-1").split(" ")
                if len(words) < 2 or not words[1].strip().isdigit():
                    return None
                headers = []
                while line := self.stream.readline(65536).decode("latin-1").strip():
                    name, _, value = line.partition(":")
                    headers.append((name.strip().lower(), value.strip()))
                if words[1] != "100":
                    return Answer(int(words[1]), headers, b"")
        except OSError:
            return None

    def chunk(self):
        size = int(self.stream.readline().split(b";")[0] or b"0", 16)
        data = self.stream.read(size)
        self.stream.readline()
        return data

    def answer(self, method="GET"):
        answer = self.head()
        if answer is None or answer.status in (101, 204, 304) or method == "HEAD":
            return answer
        try:
            if "chunked" in (answer.get("transfer-encoding") or ""):
                while part := self.chunk():
                    answer.body += part
            elif (length := answer.get("content-length")) is not None:
                answer.body = self.stream.read(int(length))
            else:
                answer.body = self.stream.read()
        except (OSError, ValueError):
            pass
        return answer

    def close(self):
        self.stream.close()
        self.socket.close()
