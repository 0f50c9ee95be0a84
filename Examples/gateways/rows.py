# Sealward: the open trust stack between Apple apps and their servers.
# SPDX-License-Identifier: Apache-2.0
"""The requests, and what every gateway has to make of them."""
import base64
import concurrent.futures
import hashlib
import json
import os
import subprocess
import time

from parts import PATIENCE, Answer, Talk

BODY = b"0123456789abcdef" * (10 * 1024 * 1024 // 16)


class Context:
    """One gateway while the requests are sent to it."""

    def __init__(self, name, number, trust, upstream, port, second):
        self.name, self.number, self.trust, self.upstream, self.port, self.second = name, number, trust, upstream, port, second
        self.observed = ""
        self.identity = sorted([("x-sealward-app", "SIMTEAM001.com.example.shop"), ("x-sealward-environment", "production"),
                                ("x-sealward-key", trust.key), ("x-sealward-tier", trust.tier)])

    def identity_of(self, row):
        """What the upstream has to find: who the token of the row is."""
        if row.bare is not None:
            return sorted(row.bare)
        own = self.trust.others.get(row.who)
        return sorted([("x-sealward-key", own)] + [pair for pair in self.identity if pair[0] != "x-sealward-key"]) if own else self.identity

    def mark(self, row):
        return f"{self.name}-{row.mark}-"

    def address(self, row):
        """Each row comes from an address of its own, because the service counts what is refused by address."""
        return f"127.0.{self.number + 1}.{int(row.mark)}"

    def bearer(self, kind):
        return f"Authorization: Bearer {self.trust.tokens[kind]}"

    @property
    def forged(self):
        """The names of the headers in use, with the values of a good key: the best that somebody without a token can write."""
        return [f"{name.title()}: {value}" for name, value in self.identity]


class Row:
    """One request: its name in the table, which answers are allowed, whether it may reach what is protected, and how it is sent. `asks` is how
    the gateway asks (USUAL, STRICT, OBSERVE, NONE), `bare` the identity that the upstream finds where the token names no key."""

    def __init__(self, name, allowed, send, passes=False, asks="usual", also=None, who="good", bare=None):
        self.name, self.allowed, self.send = name, set(allowed), send
        self.passes, self.asks, self.also, self.who, self.bare, self.mark = passes, asks, also, who, bare, "?"


def simple(headers=lambda c: [], path="/api/{}", method="GET", body=b"", first=True):
    """Sends one request as it is written, and reads the answer."""
    def send(context, row):
        target = path.format(context.mark(row))
        lines = [f"{method} {target} HTTP/1.1", "Host: gateway.example", "Connection: close" if first else None, *headers(context)]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        talk = Talk(context.port, context.address(row))
        try:
            talk.send("\r\n".join(filter(None, lines)).encode("latin-1") + b"\r\n\r\n" + body)
            return talk.answer(method)
        finally:
            talk.close()
    return send


def token(kind, *more):
    return lambda context: [context.bearer(kind), *more]


def app_check(kind):
    return lambda context: [f"X-Firebase-AppCheck: {context.trust.tokens[kind]}"]


def trick(path):
    """A path that some server reads as one below /api/, with headers that look like a good key's and no token."""
    return simple(lambda context: context.forged, path)


def until_limited(headers):
    """The same request, ten at a time, until an answer is no 401 any more: the limit is two at once for each address, then one a second."""
    def send(context, row):
        with concurrent.futures.ThreadPoolExecutor(10) as many:
            for _ in range(5):
                answers = list(many.map(lambda _: simple(headers)(context, row), range(10)))
                if others := [answer for answer in answers if answer is None or answer.status != 401]:
                    return others[0]
        return answers[0]
    return send


def says_when(context, answer, seen):
    if not (answer.get("retry-after") or "").isdigit():
        return "no Retry-After"



def smuggle(context, row):
    """Two lengths, and a second request in what one of them takes for the body. Both ends are complete for both readings."""
    inner = f"GET /api/{context.mark(row)} HTTP/1.1\r\nHost: gateway.example\r\n" + "\r\n".join(context.forged) + "\r\n\r\n"
    body = b"0\r\n\r\n" + inner.encode()
    talk = Talk(context.port, context.address(row))
    try:
        talk.send(f"POST /open/{context.mark(row)} HTTP/1.1\r\nHost: gateway.example\r\nContent-Length: {len(body)}\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n".encode() + body)
        answer = talk.answer()
        if answer and answer.status == 200:
            talk.socket.settimeout(2)  # The second answer, if the gateway took it for a request of its own.
            talk.head()
        return answer
    finally:
        talk.close()


def trailer(context, row):
    talk = Talk(context.port, context.address(row))
    try:
        talk.send(f"POST /api/{context.mark(row)} HTTP/1.1\r\nHost: gateway.example\r\n{context.bearer('good')}\r\nTrailer: X-Sealward-Key\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Sealward-Key: forged\r\n\r\n".encode())
        return talk.answer()
    finally:
        talk.close()


def h2c(context, row):
    """An upgrade that many backends accept; what is sent behind it is no request for the gateway any more."""
    talk = Talk(context.port, context.address(row))
    try:
        talk.send(f"GET /open/{context.mark(row)} HTTP/1.1\r\nHost: gateway.example\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                  "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n".encode())
        answer = talk.head()
        talk.socket.settimeout(2)
        talk.send(f"GET /api/{context.mark(row)} HTTP/1.1\r\nHost: gateway.example\r\n\r\n".encode())
        try:
            talk.stream.read(65536)
        except OSError:
            pass
        return answer
    finally:
        talk.close()


def websocket(kind):
    def send(context, row):
        talk = Talk(context.port, context.address(row))
        try:
            lines = [f"GET /api/{context.mark(row)} HTTP/1.1", "Host: gateway.example", "Connection: Upgrade", "Upgrade: websocket",
                     "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode()]
            talk.send("\r\n".join(lines + ([context.bearer(kind)] if kind else context.forged)).encode() + b"\r\n\r\n")
            answer = talk.head()
            if answer and answer.status == 101:
                talk.send(b"\x81\x84abcd\x00\x00\x00\x00")
                answer.body = talk.stream.read(10)
            return answer
        finally:
            talk.close()
    return send


def http2(headers):
    def send(context, row):
        words = ["curl", "-s", "-o", "-", "-w", "\n%{http_version} %{http_code}", "--http2-prior-knowledge", "--interface", context.address(row),
                 "--max-time", str(PATIENCE), *[word for line in headers(context) for word in ("-H", line)],
                 f"http://127.0.0.1:{context.second}/api/{context.mark(row)}"]
        text = subprocess.run(words, capture_output=True, text=True).stdout
        protocol, status = text.rsplit("\n", 1)[-1].split(" ")
        return Answer(int(status), [("protocol", protocol)], text.encode()) if status != "000" else None
    return send


def events(context, row):
    talk = Talk(context.port, context.address(row))
    try:
        talk.socket.settimeout(PATIENCE / 4)
        talk.send(f"GET /api/{context.mark(row)}/sse HTTP/1.1\r\nHost: gateway.example\r\n{context.bearer('good')}\r\n\r\n".encode())
        answer = talk.head()
        if answer and answer.status == 200:
            try:
                part = talk.chunk if answer.get("transfer-encoding") else lambda: talk.stream.read1(65536)
                while more := part():
                    answer.body += more
                    if b"data: 1\n\n" in answer.body:
                        context.upstream.go_on.set()
            except (OSError, ValueError):
                pass
        return answer
    finally:
        talk.close()


def whole_body(context, answer, seen):
    if [(s.length, s.digest) for s in seen] != [(len(BODY), hashlib.sha256(BODY).hexdigest())]:
        return f"of {len(BODY)} bytes {[s.length for s in seen]} arrived"


def of(condition, what):
    return lambda context, answer, seen: None if condition(context, answer) else what


def observed(what):
    """The service counted the request in this class, by app and route."""
    def also(context, answer, seen):
        app = "none" if what == "none" else "shop"
        line = f'sealward_observed_total{{app="{app}",class="{what}",route="{context.name}"}} 1'
        return None if context.observed and line in context.observed.splitlines() else f"/metrics has no line {line}"
    return also


UNTRUSTED = [("x-sealward-app", "SIMTEAM001.com.example.shop"), ("x-sealward-environment", "production"), ("x-sealward-key", "none"), ("x-sealward-tier", "none")]
PATHS = [400, 401, 403, 404]
REFUSED = Row("The service is gone", [502, 503, 504], simple(token("good")))
DOWN = Row("The service answers 503", [503], simple(token("good")), also=says_when)
ROWS = [
    Row("Good token", [200], simple(token("good")), True,
        also=of(lambda c, a: json.loads(a.body)["target"] == f"/api/{c.name}-01-", "another target")),
    Row("No token", [401], simple()),
    Row("Expired token", [401], simple(token("expired"))),
    Row("Single-use token", [403], simple(token("single"))),
    Row("Token of another app", [403], simple(token("bank"))),
    Row("The same with `?app=bank&env=any` in the request's own query", [403], simple(token("bank"), "/api/{}?app=bank&env=any")),
    Row("Token of a development key", [403], simple(token("development"))),
    Row("Token of a simulated device, where `simulated=allow` is not said", [403], simple(token("good")), asks="strict"),
    Row("Token of a revoked key", [403], simple(token("revoked"))),
    Row("Over the limit of the address", [429], until_limited(token("wrong")), also=says_when),
    Row("Over it, with an `X-Forwarded-For` of the client's", [429],
        until_limited(lambda c: [c.bearer("wrong"), f"X-Forwarded-For: 10.0.{time.monotonic_ns() % 250}.{time.monotonic_ns() // 250 % 250}"]), also=says_when),
    Row("Token of a key whose quota is used up", [429], simple(token("greedy")), also=says_when),
    Row("App Check token in `X-Firebase-AppCheck`", [200], simple(app_check("appcheck")), True, who="appcheck"),
    Row("A forged App Check token", [401], simple(app_check("forged"))),
    Row("Good token and an App Check token", [400], simple(lambda c: [c.bearer("good"), *app_check("appcheck")(c)])),
    DOWN,
    REFUSED,
    Row("Good token and forged `X-Sealward-*`", [200],
        simple(token("good", *[f"X-Sealward-{n}: forged" for n in ("App", "Environment", "Key", "Tier")], "x-sealward-key: forged")), True),
    Row("No token and `X-Sealward-*` of a good key", [401], simple(lambda c: c.forged)),
    Row("`X-Sealward-*` of a good key where nobody is asked", [200], simple(lambda c: c.forged, "/open/{}")),
    Row("Good token and forged `X_Sealward_App`, `x-sealward_key`, `X.Sealward.Tier`", [200, 400],
        simple(token("good", "X_Sealward_App: forged", "x-sealward_key: forged", "X.Sealward.Tier: forged")), True),
    Row("Good token and a forged `X-Sealward-Key` behind the body, as a trailer", [200, 400], trailer, True),
    Row("Good token and `Connection: X-Sealward-Key, X-Sealward-App`", [200, 400, 404],
        simple(token("good", "Connection: close, X-Sealward-Key, X-Sealward-App"), first=False), True),
    Row("A wrong token and a good one in two `Authorization` fields", [200, 400, 401],
        simple(lambda c: [c.bearer("wrong"), c.bearer("good")]), True),
    Row("Good token and a header of 100 kB", [200, 400, 413, 431], simple(token("good", "X-Long: " + "b" * 100_000)), True),
    Row("No token: `//api/…`", PATHS, trick("//api/{}")),
    Row("No token: `/open/../api/…`", PATHS, trick("/open/../api/{}")),
    Row("No token: `/open/%2e%2e/api/…`", PATHS, trick("/open/%2e%2e/api/{}")),
    Row("No token: `/open/..%2fapi/…`", PATHS, trick("/open/..%2fapi/{}")),
    Row("No token: `/open/..;/api/…`", PATHS, trick("/open/..;/api/{}")),
    # Envoy forwards `/open/api/…`, which is open.
    Row("No token: `/open/\\..\\api/…`", [*PATHS, 200], trick("/open/\\..\\api/{}")),
    Row("No token: `/open/%252e%252e/api/…`", PATHS, trick("/open/%252e%252e/api/{}")),
    Row("No token: `/%61PI/…`", PATHS, trick("/%61PI/{}")),
    Row("No token: `/open/%09../api/…`", PATHS, trick("/open/%09../api/{}")),
    Row("No token: `/open/%ef%bc%8e%ef%bc%8e/api/…`", PATHS, trick("/open/%ef%bc%8e%ef%bc%8e/api/{}")),
    Row("No token: `/open/` and overlong dots, `/api/…`", PATHS, trick("/open/\xc0\xae\xc0\xae/api/{}")),
    Row("No token: `/open/x#/../../api/…`", PATHS, trick("/open/x#/../../api/{}")),
    Row("No token: `GET http://other.example/open/../api/…`", PATHS, trick("http://other.example/open/../api/{}")),
    Row("No token: `TRACE`", [400, 401, 403, 404, 405, 501], simple(lambda c: c.forged, method="TRACE")),
    Row("No token: `CONNECT` to the upstream", [400, 401, 403, 404, 405, 501],
        lambda c, r: simple(lambda c: [], f"127.0.0.1:{c.upstream.port}", method="CONNECT")(c, r)),
    Row("No token: `POST` with `X-HTTP-Method-Override`, `X-Original-URL`, `X-Forwarded-Uri`", [401],
        simple(lambda c: [*c.forged, "X-HTTP-Method-Override: OPTIONS", "X-Original-URL: /open/x", "X-Rewrite-URL: /open/x",
                          "X-Forwarded-Uri: /open/x", "X-Forwarded-Method: OPTIONS"], method="POST", body=b"{}")),
    Row("`Content-Length` with `Transfer-Encoding`, a request for `/api/` in the body", [200, 400], smuggle),
    Row("Upgrade to `h2c`, a request for `/api/` behind it", [200, 400, 403, 404], h2c),
    Row("WebSocket, good token", [101], websocket("good"), True, also=of(lambda c, a: a.body == b"\x81\x84abcd\x00\x00\x00\x00", "no echo")),
    Row("WebSocket, no token", [401], websocket(None)),
    Row("HTTP/2, good token and forged `x-sealward-*`", [200],
        http2(token("good", "x-sealward-key: forged", "x-sealward-app: forged", "x-sealward-tier: forged")), True,
        also=of(lambda c, a: a.get("protocol") == "2", "not HTTP/2")),
    Row("10 MB to `/api/`, good token", [200], simple(token("good"), method="POST", body=BODY), True, also=whole_body),
    Row("Server-sent events, good token", [200], events, True,
        also=of(lambda c, a: a.body == b"data: 1\n\ndata: 2\n\n", "the first event did not come before the second was sent")),
    Row("Untrusted token", [401, 403], simple(token("untrusted"))),
    Row("`tier=none`: untrusted token", [200], simple(token("untrusted", "X-Sealward-Key: forged")), True, asks="none", bare=UNTRUSTED),
    Row("`tier=none`: no token", [401], simple(lambda c: c.forged), asks="none"),
    Row("`mode=observe`: good token", [200], simple(token("good")), True, asks="observe", bare=[], also=observed("verified")),
    Row("`mode=observe`: no token and `X-Sealward-*` of a good key", [200], simple(lambda c: c.forged), True, asks="observe", bare=[], also=observed("none")),
    Row("`mode=observe`: untrusted token", [200], simple(token("untrusted")), True, asks="observe", bare=[], also=observed("untrusted")),
]
for place, row in enumerate(ROWS):
    row.mark = f"{place + 1:02d}"
GONE = [REFUSED, DOWN]

# What a gateway cannot do: why a row is not as it should be.
CANNOT = {
    ("haproxy", "Good token and a forged `X-Sealward-Key` behind the body, as a trailer"):
        "it passes trailers on and cannot remove one; do not let the backend treat trailers as headers",
    ("traefik", "Good token and forged `X_Sealward_App`, `x-sealward_key`, `X.Sealward.Tier`"):
        "it removes headers by their exact name: those with `_` are listed, others (`X.Sealward.Tier`) arrive; have the backend read the exact names",
    ("ext_authz", "The service answers 503"):
        "the filter treats every 5xx as its own error and answers without `Retry-After`",
    ("traefik", "The service is gone"):
        "ForwardAuth answers 500 if it cannot reach the service; the request is refused anyway",
}
