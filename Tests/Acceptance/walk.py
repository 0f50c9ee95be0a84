# Sealward: the open trust stack between Apple apps and their servers.
# SPDX-License-Identifier: Apache-2.0
"""Walks the HTTP contract line by line against `sealward serve`, with a phone and an Apple of its own (phone.py).

    walk.py PROGRAM

Everything is judged from outside, by statuses, headers and members. It ends with 1 where anything differs, and says what.
"""

import base64
import datetime
import json
import os
import subprocess
import sys
import threading

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

import harness
from apple_side import withApple
from harness import APP, Service, b64, check, decode, failures, file, folder, problem, sha, url64
from phone import Apple, Phone


def main(program):
    apple = Apple(datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0))
    aroot, rroot = apple.roots()
    server, admin = {"Authorization": "Bearer srv-token-1-0123456789012345678901234"}, {"Authorization": "Bearer adm-token-1-0123456789012345678901234"}
    base = {
        "listen": "127.0.0.1:0",
        "store": "sqlite:" + os.path.join(folder, "store.sqlite"),
        "serverTokenFile": file("srv", "srv-token-1-0123456789012345678901234\n"),
        "adminTokenFile": file("adm", "adm-token-1-0123456789012345678901234\n"),
        "trustSimulator": {"attestationRoot": file("a.pem", aroot), "receiptRoot": file("r.pem", rroot)},
        "limits": {"requestsPerSecondPerAddress": 100000},
        "tokens": {"issuer": "https://trust.example", "audience": "https://api.example"},
        "apps": [
            {
                "id": "shop",
                "teamId": "ACCPREFIX1",
                "bundleIds": ["com.example.shop"],
                "environments": ["production", "development"],
            },
            {"id": "raw", "teamId": "ACCPREFIX1", "bundleIds": ["com.example.shop"], "binding": "raw"},
            {"id": "data", "teamId": "ACCPREFIX1", "bundleIds": ["com.example.shop"], "binding": "clientData"},
            {"id": "loose", "teamId": "ACCPREFIX1", "bundleIds": ["com.example.shop"], "counterMode": "challenge"},
            {"id": "watch", "teamId": "ACCPREFIX1", "bundleIds": ["com.example.shop"], "mode": "monitor"},
            {"id": "off", "teamId": "ACCPREFIX1", "bundleIds": ["com.example.shop"], "mode": "off"},
            {
                "id": "store",
                "teamId": "ACCPREFIX1",
                "bundleIds": ["com.example.shop"],
                "allowedValidationCategories": [4],
                "allowedBundleVersions": ["1.0"],
                "requireExtensions": True,
            },
            {"id": "ramped", "teamId": "ACCPREFIX1", "bundleIds": ["com.example.shop"], "ramp": {"percent": 50}},
            {
                "id": "paused",
                "teamId": "ACCPREFIX1",
                "bundleIds": ["com.example.shop"],
                "ramp": {"percent": 100, "paused": True},
            },
        ],
    }
    S = Service(program, base)
    call = S.call
    check("startup warns of the simulator", any("simulat" in line.lower() for line in S.lines), S.lines)

    def challenge(purpose="attest", app="shop", headers={}, **more):
        s, d, _ = call("POST", f"/v1/apps/{app}/challenges", {"purpose": purpose, **more}, headers)
        check("challenge 201", s == 201 and set(d) == {"challenge", "expiresAt", "ttlSeconds"}, (s, d))
        return base64.b64decode(d["challenge"])

    def attest(phone, app="shop", c=None, hash=None, headers={}, **more):
        c = c or challenge(app=app)
        body = {
            "keyId": b64(phone.keyId),
            "attestation": b64(phone.attest(hash or sha(c))),
            "challenge": b64(c),
            **more,
        }
        return call("POST", f"/v1/apps/{app}/attestations", body, headers), body

    def new(app="shop", **kw):
        p = Phone(apple, APP, **kw)
        a, _ = attest(p, app, hash=None)
        check(f"attestation in {app}", a[0] == 201, a[:2])
        return p

    def signed(phone, app="shop", payload=None, counter=None, c=None, detached=False):
        c = c or challenge("assert", app)
        if detached:
            data = b"any bytes at all"
            return {
                "keyId": b64(phone.keyId),
                "assertion": b64(phone.sign(sha(data + c), counter)),
                "clientData": b64(data),
                "challenge": b64(c),
            }
        data = json.dumps({"challenge": b64(c), **(payload or {})}).encode()
        return {"keyId": b64(phone.keyId), "assertion": b64(phone.sign(sha(data), counter)), "clientData": b64(data)}

    post = lambda path, body, headers={}: call("POST", path, body, headers)
    A = "/v1/apps/shop"

    # Challenges.
    c = challenge()
    check("challenge at most 64 bytes", len(c) <= 64, len(c))
    s, d, _ = post(A + "/challenges", {"purpose": "assert"})
    check("ttlSeconds 300", d["ttlSeconds"] == 300, d)
    problem("purpose missing", post(A + "/challenges", {}), 400, "request.malformed")
    problem("purpose unknown", post(A + "/challenges", {"purpose": "x"}), 400, "request.malformed")
    problem(
        "user without server token",
        post(A + "/challenges", {"purpose": "attest", "user": "u"}),
        401,
        "caller.unauthorized",
    )
    problem("app unknown", post("/v1/apps/none/challenges", {"purpose": "attest"}), 404, "app.unknown")
    problem("not base64 keyId", post(A + "/challenges", {"purpose": "assert", "keyId": "%%%"}), 400, "malformed.base64")

    # The HTTP layer.
    problem("path unknown", call("GET", "/nothing"), 404, "path.unknown")
    a = call("GET", A + "/challenges")
    problem("method", a, 405, "method.not-allowed")
    check("Allow", "POST" in (a[2].headers["Allow"] or ""), a[2].headers)
    problem(
        "not json", call("POST", A + "/challenges", b"{}", {"Content-Type": "text/plain"}), 415, "body.content-type"
    )
    problem(
        "broken json",
        call("POST", A + "/challenges", b"{", {"Content-Type": "application/json"}),
        400,
        "request.malformed",
    )
    problem(
        "array", call("POST", A + "/challenges", b"[]", {"Content-Type": "application/json"}), 400, "request.malformed"
    )
    problem(
        "duplicate member",
        call(
            "POST", A + "/challenges", b'{"purpose":"attest","purpose":"assert"}', {"Content-Type": "application/json"}
        ),
        400,
        "request.malformed",
    )
    problem("no body", call("POST", A + "/challenges"), 400, "request.malformed")
    problem(
        "65537 bytes",
        call("POST", A + "/challenges", b" " * 65537, {"Content-Type": "application/json"}),
        413,
        "body.too-large",
    )
    s, d, _ = call(
        "POST",
        A + "/challenges",
        b'{"purpose":"attest"}' + b" " * (65536 - 20),
        {"Content-Type": "application/json; charset=utf-8"},
    )
    check("65536 bytes pass", s == 201, (s, d))
    chunked = b"POST /v1/apps/shop/challenges HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    out = S.raw(chunked + b"".join(b"4000\r\n" + b" " * 0x4000 + b"\r\n" for _ in range(5)) + b"0\r\n\r\n")
    check("chunked and too large is 413", b" 413 " in out[:20] and b"body.too-large" in out, out[:200])
    for junk in (
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/apps/shop/challenges HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 70000 + b"\r\n\r\n",
    ):
        out = S.raw(junk)
        check(
            f"junk {junk[:16]}",
            not out or b"application/problem+json" in out.lower() and b'"code"' in out and b" 4" in out[:13],
            out[:200],
        )
    check("HEAD has no body", call("HEAD", "/livez")[0] == 200)
    check("livez", call("GET", "/livez")[0] == 200)
    check("readyz", call("GET", "/readyz")[0] == 200)
    s, d, r = call("GET", "/openapi.yaml")
    check("openapi", s == 200 and d.get("text", "").lstrip().startswith("openapi:"), (s, str(d)[:60]))

    # Attestations.
    for i, ext in enumerate(
        [None, {"apple_bundle_version_01": "1.0", "apple_validation_category_01": (4).to_bytes(4, "little")}]
    ):
        p = Phone(apple, APP, ext, production=i == 1)
        c = challenge()
        (s, d, r), body = attest(p, c=c)
        want = {
            "keyId": b64(p.keyId),
            "environment": ["development", "production"][i],
            "validationCategory": [None, 4][i],
            "bundleVersion": [None, "1.0"][i],
        }
        check(f"attestation {i}", s == 201 and {k: d.get(k) for k in want} == want, (s, d))
        s, d2, _ = post(A + "/attestations", body)
        check("the same object again: 200", s == 200 and d2.get("keyId") == b64(p.keyId), (s, d2))
        q = Phone(apple, APP)
        problem("challenge used", attest(q, c=c)[0], 409, "challenge.used", "new-key")
        again, _ = attest(p)
        problem("another object of the same key", again, 409, "key.exists")
    old = p
    problem("challenge unknown", attest(Phone(apple, APP), c=os.urandom(56))[0], 409, "challenge.unknown", "new-key")
    problem(
        "assert challenge for an attestation",
        attest(Phone(apple, APP), c=challenge("assert"))[0],
        409,
        "challenge.binding",
    )
    problem("other app's challenge", attest(Phone(apple, APP), c=challenge(app="raw"))[0], 409, "challenge.binding")
    problem("nonce", attest(Phone(apple, APP), hash=sha(b"x"))[0], 403, "attest.nonce.mismatch")
    problem("app id", attest(Phone(apple, "ACCPREFIX1.com.example.other"))[0], 403, "attest.app-id.mismatch")
    stranger = Apple(apple.now)
    problem("stranger's root", attest(Phone(stranger, APP))[0], 403, "attest.chain.untrusted")
    p = Phone(apple, APP)
    c = challenge()
    body = {"keyId": b64(p.keyId), "attestation": b64(p.attest(sha(c))), "challenge": b64(c)}
    for missing in body:
        problem(
            f"without {missing}",
            post(A + "/attestations", {k: v for k, v in body.items() if k != missing}),
            400,
            "request.malformed",
        )
    for member in body:
        problem(f"{member} is a number", post(A + "/attestations", {**body, member: 7}), 400, "request.malformed")
    problem("keyId of 31 bytes", post(A + "/attestations", {**body, "keyId": b64(bytes(31))}), 400, "request.malformed")
    problem("base64url", post(A + "/attestations", {**body, "attestation": "-_-_"}), 400, "malformed.cbor")
    problem("no padding", post(A + "/attestations", {**body, "attestation": "AAA"}), 400, "malformed.cbor")
    problem("not CBOR", post(A + "/attestations", {**body, "attestation": b64(b"\xff\xff")}), 400, "malformed.cbor")
    problem(
        "other key's id",
        post(A + "/attestations", {**body, "keyId": b64(os.urandom(32))}),
        403,
        "attest.key-id.mismatch",
    )
    problem(
        "user that the challenge does not name",
        post(A + "/attestations", {**body, "user": "u"}),
        409,
        "challenge.binding",
    )
    check("a failed try does not burn the challenge", post(A + "/attestations", body)[0] == 201)
    # Users.
    cu = challenge(headers=server, user="u1")
    p = Phone(apple, APP)
    problem("challenge of a user, user not given", attest(p, c=cu)[0], 409, "challenge.binding")
    problem("challenge of another user", attest(p, c=cu, user="u2")[0], 409, "challenge.binding")
    a, body = attest(p, c=cu, user="u1")
    check("challenge of the user", a[0] == 201, a[:2])
    problem(
        "the same object by nobody",
        post(A + "/attestations", {k: v for k, v in body.items() if k != "user"}),
        409,
        "challenge.binding",
    )
    c2 = challenge(headers=server, user="u2")
    problem("the key of another user", attest(p, c=c2, user="u2")[0], 409, "key.other-user")
    # Key-bound challenges.
    ck = challenge("assert", keyId=b64(p.keyId))
    problem("challenge of another key", post(A + "/assertions", signed(old, c=ck)), 409, "challenge.binding")

    # Receipts.
    def receipted(change):
        q, c = Phone(apple, APP), challenge()
        return post(
            A + "/attestations",
            {"keyId": b64(q.keyId), "attestation": b64(q.attest(sha(c), change)), "challenge": b64(c)},
        )

    replaced = lambda n, v: lambda f: [(t, v if t == n else x) for t, x in f]
    iso = (
        lambda delta: (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=delta))
        .strftime("%Y-%m-%dT%H:%M:%S.25Z")
        .encode()
    )
    problem("receipt of another app", receipted(replaced(2, b"X.y")), 403, "receipt.app-id.mismatch")
    problem("old receipt", receipted(replaced(12, iso(-330))), 403, "receipt.too-old")
    problem("receipt of type RECEIPT", receipted(replaced(6, b"RECEIPT")), 403, "receipt.type.mismatch")
    problem("receipt of another environment", receipted(replaced(7, b"sandbox")), 403, "receipt.environment.mismatch")
    # Bindings.
    p, c = Phone(apple, APP), challenge(app="raw")
    check("raw binding", attest(p, "raw", c, c)[0][0] == 201)
    p, c = Phone(apple, APP), challenge(app="data")
    data = json.dumps({"challenge": b64(c), "x": 1}).encode()
    problem("clientData missing", attest(p, "data", c, sha(data))[0], 400, "request.malformed")
    problem(
        "clientData without the challenge",
        attest(p, "data", c, sha(b"{}"), clientData=b64(b"{}"))[0],
        400,
        "challenge.missing",
    )
    check("clientData binding", attest(p, "data", c, sha(data), clientData=b64(data))[0][0] == 201)
    # Policy.
    problem("extensions required", attest(Phone(apple, APP), "store")[0], 403, "attest.policy.validation-category")
    problem(
        "category",
        attest(
            Phone(apple, APP, {"apple_bundle_version_01": "1.0", "apple_validation_category_01": b"\x02\0\0\0"}),
            "store",
        )[0],
        403,
        "attest.policy.validation-category",
    )
    problem(
        "bundle version",
        attest(
            Phone(apple, APP, {"apple_bundle_version_01": "2.0", "apple_validation_category_01": b"\x04\0\0\0"}),
            "store",
        )[0],
        403,
        "attest.policy.bundle-version",
    )

    # Assertions.
    p = new()
    body = signed(p)
    s, d, r = post(A + "/assertions", body)
    check("assertion", s == 200 and d.get("counter") == 1 and "tier" in d, (s, d))
    s, d, r = post(A + "/assertions", body)
    check(
        "repeat",
        s == 409 and d["code"] in ("assert.counter.replayed", "challenge.used") and d["retry"] == "new-challenge",
        (s, d),
    )
    check("detached challenge", post(A + "/assertions", signed(p, detached=True))[0] == 200)
    problem(
        "counter equal", post(A + "/assertions", signed(p, counter=2)), 409, "assert.counter.replayed", "new-challenge"
    )
    problem("counter zero", post(A + "/assertions", signed(p, counter=0)), 409, "assert.counter.replayed")
    check("counter gap", post(A + "/assertions", signed(p, counter=10))[1].get("counter") == 10)
    p.counter = 10
    body = signed(p)
    problem(
        "client data changed",
        post(A + "/assertions", {**body, "clientData": b64(base64.b64decode(body["clientData"]) + b" ")}),
        403,
        "assert.signature.invalid",
    )
    check("a failed try does not burn it", post(A + "/assertions", body)[0] == 200)
    for data, code in (
        (b"{}", "challenge.missing"),
        (b"[]", "challenge.missing"),
        (b"x", "challenge.missing"),
        (b'{"challenge":1}', "challenge.missing"),
        (b'{"challenge":"AAAA","challenge":"AAAA"}', "challenge.missing"),
    ):
        problem(f"client data {data}", post(A + "/assertions", {**body, "clientData": b64(data)}), 400, code)
    problem("key unknown", post(A + "/assertions", signed(Phone(apple, APP))), 404, "key.unknown", "new-key")
    problem(
        "attestation as an assertion",
        post(A + "/assertions", {**body, "assertion": b64(p.attest(sha(b"x")))}),
        400,
        "malformed.assertion",
    )
    problem("key of another app", post("/v1/apps/loose/assertions", signed(p, "loose")), 404, "key.unknown")
    problem(
        "attest challenge for an assertion", post(A + "/assertions", signed(p, c=challenge())), 409, "challenge.binding"
    )
    # A race.
    p = new()
    body, got = signed(p), []
    threads = [threading.Thread(target=lambda: got.append(post(A + "/assertions", body)[0])) for _ in range(30)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check("one of thirty", sorted(got) == [200] + [409] * 29, got)
    # Counter mode challenge.
    p = new("loose")
    for n in (5, 3, 4):
        check(f"loose {n}", post("/v1/apps/loose/assertions", signed(p, "loose", counter=n))[0] == 200)
    problem(
        "loose repeat", post("/v1/apps/loose/assertions", signed(p, "loose", counter=3)), 409, "assert.counter.replayed"
    )
    # Modes.
    s, d, _ = post("/v1/apps/watch/assertions", signed(Phone(apple, APP), "watch"))
    check("monitor", s == 200 and d.get("enforcement") == {"decision": "refuse", "code": "key.unknown"}, (s, d))
    s, d, _ = attest(Phone(apple, APP), "watch", hash=sha(b"x"))[0]
    check("monitor attestation", s == 200 and d.get("enforcement", {}).get("code") == "attest.nonce.mismatch", (s, d))
    s, d, _ = post("/v1/apps/off/assertions", signed(Phone(apple, APP), "off"))
    check("off", s == 200, (s, d))

    # Tokens.
    p = new()
    s, d, _ = post(A + "/tokens", signed(p))
    check("token", s == 200 and d.get("expiresIn") == 3600, (s, d))
    h, claims, signature, message = decode(d["token"])
    check("header", h["alg"] == "ES256" and "kid" in h, h)
    check("claims", {"iss", "aud", "sub", "jti", "iat", "exp", "key", "tier", "env", "sim"} <= set(claims), claims)
    check(
        "claims' values",
        claims["iss"] == "https://trust.example/simulator"
        and claims["aud"] == "https://api.example"
        and claims["sub"] == APP
        and claims["sim"] is True
        and claims["env"] == "production"
        and claims["exp"] - claims["iat"] == 3600,
        claims,
    )
    real, simulated = call("GET", "/.well-known/jwks.json")[1], call("GET", "/simulator/.well-known/jwks.json")[1]
    key = [k for k in simulated["keys"] if k["kid"] == h["kid"]]
    check(
        "the production set does not hold it",
        len(key) == 1 and h["kid"] not in [k["kid"] for k in real["keys"]],
        (real, simulated),
    )
    pad = lambda t: int.from_bytes(base64.urlsafe_b64decode(t + "=" * (-len(t) % 4)), "big")
    public = ec.EllipticCurvePublicNumbers(pad(key[0]["x"]), pad(key[0]["y"]), ec.SECP256R1()).public_key()
    public.verify(
        utils.encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")),
        message,
        ec.ECDSA(hashes.SHA256()),
    )
    bearer = {"Authorization": "Bearer " + d["token"]}
    problem("authorize without", call("GET", "/v1/authorize"), 401, "token.missing")
    problem(
        "authorize with junk",
        call("GET", "/v1/authorize", headers={"Authorization": "Bearer a.b.c"}),
        401,
        "token.invalid",
    )
    a = call("GET", "/v1/authorize", headers=bearer)
    check("authorize refuses a simulated key", a[0] in (401, 403), a[:2])
    check("authorize allows it when told", call("GET", "/v1/authorize?simulated=allow", headers=bearer)[0] == 204)
    forged = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=") + "." + d["token"].split(".")[1] + "."
    problem(
        "alg none",
        call("GET", "/v1/authorize?simulated=allow", headers={"Authorization": "Bearer " + forged}),
        401,
        "token.invalid",
    )
    s, single, _ = post(A + "/tokens", {**signed(p), "singleUse": True})
    check("single use", s == 200 and single["expiresIn"] <= 300, (s, single))
    a = call("GET", "/v1/authorize?simulated=allow", headers={"Authorization": "Bearer " + single["token"]})
    check("a single-use token does not authorize", a[0] in (401, 403), a[:2])
    problem(
        "consume without a token", post("/v1/tokens/consume", {"token": single["token"]}), 401, "caller.unauthorized"
    )
    spending = {"token": single["token"], "simulated": "allow", "environment": "any"}
    a = post("/v1/tokens/consume", spending, server)
    check("consume", a[0] == 200 and {"sub", "key", "tier", "jti"} <= set(a[1]), a[:2])
    problem("consume again", post("/v1/tokens/consume", spending, server), 409, "token.spent")
    problem("consume another", post("/v1/tokens/consume", {"token": d["token"]}, server), 400, "token.not-single-use")
    problem("consume junk", post("/v1/tokens/consume", {"token": "x"}, server), 401, "token.invalid")
    problem("singleUse is no flag", post(A + "/tokens", {**signed(p), "singleUse": "yes"}), 400, "request.malformed")

    # Signals and the ramp.
    for kind, code in (("unsupported", "unsupported"), ("clientError", "invalidKey")):
        s, d, _ = post(A + "/signals", {"kind": kind, "code": code, "osVersion": "17.0"})
        check(f"signal {kind}", s == 202, (s, d))
    problem(
        "signal of free text",
        post(A + "/signals", {"kind": "clientError", "code": "my own words", "osVersion": "17"}),
        400,
        "request.malformed",
    )
    problem(
        "signal kind",
        post(A + "/signals", {"kind": "x", "code": "invalidKey", "osVersion": "17"}),
        400,
        "request.malformed",
    )
    places = {i: call("GET", f"/v1/apps/ramped/ramp?installation={i}")[1] for i in range(40)}
    check(
        "ramp",
        {p["attest"] for p in places.values()} == {True, False}
        and all("notBeforeSeconds" in p for p in places.values()),
        places,
    )
    check(
        "the same place", all(call("GET", f"/v1/apps/ramped/ramp?installation={i}")[1] == p for i, p in places.items())
    )
    check("no ramp: all", call("GET", A + "/ramp?installation=1")[1]["attest"] is True)
    check("paused", call("GET", "/v1/apps/paused/ramp?installation=1")[1]["attest"] is False)
    problem("no installation", call("GET", A + "/ramp"), 400, "request.malformed")

    # Operators.
    path = "/v1/keys/" + url64(p.keyId)
    problem("key without a token", call("GET", path), 401, "caller.unauthorized")
    problem("key with a server token", call("GET", path, headers=server), 401, "caller.unauthorized")
    s, d, _ = call("GET", path, headers=admin)
    check(
        "key",
        s == 200
        and {"keyId", "app", "user", "environment", "counter", "revoked", "history"} <= set(d)
        and d["app"] == "shop"
        and d["revoked"] is False
        and all({"at", "kind"} <= set(h) for h in d["history"]),
        (s, d),
    )
    problem("key that nobody knows", call("GET", "/v1/keys/" + url64(bytes(32)), headers=admin), 404, "key.unknown")
    a = call("GET", "/v1/keys/zz", headers=admin)
    check("key id that is none", a[0] in (400, 404), a[:2])
    s, d, _ = call("POST", path + "/revoke", headers=admin)
    check("revoke", s in (200, 204), (s, d))
    problem("revoked", post(A + "/assertions", signed(p)), 403, "key.revoked")
    check("revoked is told", call("GET", path, headers=admin)[1]["revoked"] is True)
    a = call("GET", A + "/risk", headers=admin)
    check("risk", a[0] == 200, a[:2])
    problem("risk without a token", call("GET", A + "/risk"), 401, "caller.unauthorized")
    s, d, r = call("GET", "/metrics")
    check(
        "metrics on loopback",
        s == 200
        and "sealward_http_requests_total" in d.get("text", "")
        and r.headers["Content-Type"].startswith("text/plain"),
        (s, str(d)[:100]),
    )
    check("no ids in metrics", url64(p.keyId)[:12] not in d["text"] and b64(p.keyId)[:12] not in d["text"])
    problem(
        "promotion unknown",
        post(
            "/v1/promotions/none/claim", {"app": "shop", "deviceTokens": ["AA==", "AA=="], "transactionId": "t"}, server
        ),
        404,
        "promotion.unknown",
    )
    a = post("/v1/devicecheck/query", {"app": "shop", "deviceToken": "AAAA", "transactionId": "t"}, server)
    problem("no Apple configured", a, 503, "apple.unavailable")

    # Logs and stop.
    logs = "".join(S.lines)
    check("logs hold no assertion", body["assertion"][:40] not in logs and b64(p.keyId) not in logs)
    check("stops with 0", S.stop() == 0)

    # Limits.
    S = Service(program, {**base, "limits": {"requestsPerSecondPerAddress": 2}, "trustedProxies": ["127.0.0.1/32"]})
    got = [
        S.call("POST", A + "/challenges", {"purpose": "attest"}, {"X-Forwarded-For": "192.0.2.1"}) for _ in range(12)
    ]
    check("limit", got[0][0] == 201 and got[-1][0] == 429, [g[0] for g in got])
    problem("limit", got[-1], 429, "limit.address", "after")
    check(
        "another address passes",
        S.call("POST", A + "/challenges", {"purpose": "attest"}, {"X-Forwarded-For": "192.0.2.2"})[0] == 201,
    )
    check("open routes are not limited", all(S.call("GET", "/livez")[0] == 200 for _ in range(20)))
    S.stop()
    S = Service(program, {**base, "limits": {"requestsPerSecondPerApp": 2, "requestsPerSecondPerAddress": 10000}})
    got = [S.call("POST", A + "/challenges", {"purpose": "attest"}) for _ in range(12)]
    problem("limit of the app", got[-1], 429, "limit.app", "after")
    S.stop()
    # Without token files their routes are off; internalListen moves them.
    bare = {k: v for k, v in base.items() if k not in ("serverTokenFile", "adminTokenFile")}
    S = Service(program, bare)
    problem("routes are off", S.call("GET", path, headers=admin), 404, "path.unknown")
    problem("server routes are off", S.call("POST", "/v1/tokens/consume", {"token": "x"}, server), 404, "path.unknown")
    S.stop()
    S = Service(program, {**base, "internalListen": "127.0.0.1:0"})
    problem("moved", S.call("GET", path, headers=admin), 404, "path.unknown")
    problem("metrics moved", S.call("GET", "/metrics"), 404, "path.unknown")
    check(
        "internal",
        S.call("GET", path, headers=admin, which="internal")[0] == 200
        and S.call("GET", "/metrics", which="internal")[0] == 200,
    )
    S.stop()

    # Configuration.
    def refused(configuration, *parts, env={}):
        f = file("bad.json", configuration if isinstance(configuration, str) else json.dumps(configuration))
        r = subprocess.run(
            [program, "serve", "--config", f, "--check-config"],
            capture_output=True,
            text=True,
            env={**os.environ, **env},
        )
        check(
            f"refused: {parts}",
            r.returncode == 2 and all(any(line.startswith(p) and ": " in line for line in r.stderr.splitlines()) for p in parts),
            (r.returncode, r.stderr),
        )

    refused({**base, "nonsense": 1, "listen": "x", "apps": [{"id": "a"}]}, "nonsense", "listen", "apps")
    refused(
        {**base, "limits": {"bodyBytes": "many", "zzz": 1}, "challenges": {"ttlSeconds": -1}},
        "limits.bodyBytes",
        "limits.zzz",
        "challenges.ttlSeconds",
    )
    refused({**base, "serverTokenFile": "/nowhere"}, "serverTokenFile")
    refused(
        {
            **base,
            "trustSimulator": {"attestationRoot": "/nowhere", "receiptRoot": base["trustSimulator"]["receiptRoot"]},
        },
        "trustSimulator.attestationRoot",
    )
    r = subprocess.run(
        [program, "serve", "--config", file("good.json", json.dumps(base)), "--check-config"],
        capture_output=True,
        text=True,
    )
    check("check-config of a good one", r.returncode == 0, (r.returncode, r.stderr))
    for broken in ("{", "[]", '{"listen":1}'):
        refused(broken)

    withApple(program, base, server, apple)
    print(f"{harness.checks} checks, {len(failures)} differ")
    sys.exit(1 if failures else 0)


main(sys.argv[1])
