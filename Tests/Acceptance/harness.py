# Sealward: the open trust stack between Apple apps and their servers.
# SPDX-License-Identifier: Apache-2.0
"""The service as a process, requests to it, and the book of what differs."""

import atexit
import base64
import hashlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

b64 = lambda b: base64.b64encode(b).decode()
url64 = lambda b: base64.urlsafe_b64encode(b).decode().rstrip("=")
sha = lambda b: hashlib.sha256(b).digest()
failures, checks = [], 0
folder = tempfile.mkdtemp()
children = []
APP = "ACCPREFIX1.com.example.shop"


def check(what, ok, seen=""):
    global checks
    checks += 1
    if not ok:
        failures.append(what)
        print(f"DIFFERS {what}: {str(seen)[:400]}")


@atexit.register
def clean():
    for child in children:
        if child.poll() is None:
            child.kill()
            child.wait()
    shutil.rmtree(folder, ignore_errors=True)


def file(name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())
    return path


class Service:
    def __init__(self, program, configuration, environment={}):
        path = file(f"c{time.monotonic_ns()}.json", json.dumps(configuration))
        self.process = subprocess.Popen(
            [program, "serve", "--config", path], stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
        )
        children.append(self.process)
        self.lines, self.ports = [], {}
        ready = threading.Event()

        def read():
            for line in self.process.stderr:
                self.lines.append(line)
                if line.startswith("listening on http://"):
                    self.ports["public"] = int(line.rsplit(":", 1)[1])
                    ready.set()
                if line.startswith("internal listening on http://"):
                    self.ports["internal"] = int(line.rsplit(":", 1)[1])
            ready.set()

        threading.Thread(target=read, daemon=True).start()
        ready.wait(20)
        if "public" not in self.ports:
            sys.exit("did not start: " + "".join(self.lines))

    def call(self, method, path, body=None, headers={}, which="public"):
        c = http.client.HTTPConnection("127.0.0.1", self.ports[which], timeout=20)
        headers = dict(headers)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        c.request(method, path, body, headers)
        r = c.getresponse()
        raw = r.read()
        c.close()
        try:
            document = json.loads(raw) if raw else {}
        except ValueError:
            document = {"text": raw.decode(errors="replace")}
        return r.status, document, r

    def raw(self, data, close=True):
        s = socket.create_connection(("127.0.0.1", self.ports["public"]), 15)
        s.sendall(data)
        out = b""
        try:
            while part := s.recv(65536):
                out += part
                if not close and b"\r\n\r\n" in out:
                    break
        except OSError:
            pass
        s.close()
        return out

    def stop(self):
        self.process.terminate()
        return self.process.wait(15)


def problem(what, answer, status, code, retry=None):
    s, d, r = answer
    check(what, s == status and d.get("code") == code, (s, d))
    if d.get("code") == code:
        check(
            what + ": content type", r.headers["Content-Type"] == "application/problem+json", r.headers["Content-Type"]
        )
        check(
            what + ": members", {"type", "title", "status", "code", "correlationId"} <= set(d) and d["status"] == s, d
        )
        if retry:
            check(what + ": retry", d.get("retry") == retry, d)
        if s == 429 or d.get("retryAfterSeconds"):
            check(what + ": Retry-After", r.headers["Retry-After"] == str(d.get("retryAfterSeconds")), d)


def decode(token):
    h, p, s = token.split(".")
    pad = lambda t: base64.urlsafe_b64decode(t + "=" * (-len(t) % 4))
    return json.loads(pad(h)), json.loads(pad(p)), pad(s), f"{h}.{p}".encode()
