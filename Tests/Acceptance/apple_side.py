# Sealward: the open trust stack between Apple apps and their servers.
# SPDX-License-Identifier: Apache-2.0
"""DeviceCheck and promotions, with `sealward simulate apple` as Apple."""

import base64
import datetime
import http.client
import json
import os
import subprocess
import threading

from harness import APP, Service, b64, check, children, folder, problem, sha
from phone import Phone


def withApple(program, base, server, own):
    """DeviceCheck, promotions and receipts against `sealward simulate apple`, whose phone gives device tokens."""
    stand = subprocess.Popen(
        [
            program,
            "simulate",
            "apple",
            "--seed",
            "5",
            "--team",
            "ACCPREFIX1:SIMKEY0001",
            "--key-folder",
            folder,
            "--single-use-tokens",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    children.append(stand)
    seen = []
    while "http://" not in "".join(seen[-1:]):
        seen.append(stand.stdout.readline())
    port = int("".join(c for c in seen[-1].split("http://")[1].split(":")[1].split()[0] if c.isdigit()))
    threading.Thread(target=stand.stdout.read, daemon=True).start()

    def ask(method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        c.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        r = c.getresponse()
        raw = r.read()
        return r.status, json.loads(raw) if raw[:1] == b"{" else raw.decode()

    phone = ask("POST", "/device/v1/devices", {"os": "27.0"})[1]["device"]
    token = lambda: ask("POST", f"/device/v1/devices/{phone}/token", {"app": APP})[1]["deviceToken"]
    here = f"http://127.0.0.1:{port}"
    S = Service(
        program,
        {
            **base,
            "apple": {
                "teamId": "ACCPREFIX1",
                "keyId": "SIMKEY0001",
                "keyFile": os.path.join(folder, "AuthKey_SIMKEY0001.p8"),
                "dataBaseURL": here,
                "dataDevelopmentBaseURL": here + "/development",
                "deviceCheckBaseURL": here,
                "deviceCheckDevelopmentBaseURL": here + "/development",
            },
            "deviceCheck": {
                "bits": [{"bit": 0, "name": "welcome"}, {"bit": 1, "name": "fraud", "resetAfterMonths": 12}]
            },
        },
    )
    month = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m")
    ask_service = lambda what, body, headers=server: S.call(
        "POST", "/v1/devicecheck/" + what, {"app": "shop", "transactionId": "t", **body}, headers
    )
    problem("query without a token", ask_service("query", {"deviceToken": token()}, {}), 401, "caller.unauthorized")
    s, d, _ = ask_service("query", {"deviceToken": token()})
    check(
        "never set",
        s == 200 and d == {"bits": {"welcome": False, "fraud": False}, "lastUpdate": None, "set": False},
        (s, d),
    )
    s, d, _ = ask_service("update", {"deviceToken": token(), "bits": {"welcome": True, "fraud": False}})
    check(
        "update",
        s == 200 and d == {"bits": {"welcome": True, "fraud": False}, "lastUpdate": month, "set": True},
        (s, d),
    )
    s, d, _ = ask_service("query", {"deviceToken": token()})
    check(
        "set", s == 200 and d == {"bits": {"welcome": True, "fraud": False}, "lastUpdate": month, "set": True}, (s, d)
    )
    check("validate", ask_service("validate", {"deviceToken": token()})[0] == 204)
    problem(
        "bad device token", ask_service("query", {"deviceToken": b64(b"nothing at all")}), 400, "deviceToken.invalid"
    )
    problem("device token that is no base64", ask_service("query", {"deviceToken": "%%"}), 400, "deviceToken.invalid")
    problem(
        "unknown bit",
        ask_service("update", {"deviceToken": token(), "bits": {"other": True}}),
        400,
        "request.malformed",
    )
    problem("no bits", ask_service("update", {"deviceToken": token()}), 400, "request.malformed")
    problem(
        "no transaction",
        S.call("POST", "/v1/devicecheck/query", {"app": "shop", "deviceToken": token()}, server),
        400,
        "request.malformed",
    )
    spent = token()
    ask_service("query", {"deviceToken": spent})
    problem("device token twice", ask_service("query", {"deviceToken": spent}), 400, "deviceToken.invalid")
    problem(
        "app unknown",
        S.call("POST", "/v1/devicecheck/query", {"app": "none", "deviceToken": token(), "transactionId": "t"}, server),
        404,
        "app.unknown",
    )
    # Promotions: the bit is set already on this phone, and not on another. A claim reads each token before and after it writes.
    check("tokens can be used again", ask("PUT", "/control/device-tokens", {"singleUse": False})[0] == 200)
    claim = lambda t, name="welcome": S.call(
        "POST",
        f"/v1/promotions/{name}/claim",
        {"app": "shop", "transactionId": t, "deviceTokens": [token(), token()]},
        server,
    )
    s, d, _ = claim("t1")
    check("refused claim", s == 200 and d == {"granted": False, "firstClaim": False, "lastUpdate": month}, (s, d))
    phone = ask("POST", "/device/v1/devices", {"os": "27.0"})[1]["device"]
    s, first, _ = claim("t2")
    check(
        "granted claim",
        s == 200 and first.get("granted") is True and first.get("firstClaim") is True and "lastUpdate" in first,
        (s, first),
    )
    check("the same transaction again", claim("t2")[1] == first)
    check("another transaction", claim("t3")[1].get("granted") is False)
    ask("POST", f"/device/v1/devices/{phone}/erase", {})
    check("after an erase", claim("t4")[1].get("granted") is False)
    problem(
        "one token",
        S.call(
            "POST",
            "/v1/promotions/welcome/claim",
            {"app": "shop", "transactionId": "t9", "deviceTokens": [token()]},
            server,
        ),
        400,
        "request.malformed",
    )
    problem("promotion unknown", claim("t", "other"), 404, "promotion.unknown")
    # The claim by the app: an assertion over all of it.
    phone = ask("POST", "/device/v1/devices", {"os": "27.0"})[1]["device"]
    key, api = Phone(own, APP), "/v1/apps/shop"
    asked = lambda purpose: base64.b64decode(S.call("POST", api + "/challenges", {"purpose": purpose})[1]["challenge"])
    c = asked("attest")
    check(
        "key",
        S.call(
            "POST",
            api + "/attestations",
            {"keyId": b64(key.keyId), "attestation": b64(key.attest(sha(c))), "challenge": b64(c)},
        )[0]
        == 201,
    )

    def claimed(change={}, name="welcome"):
        data = {
            "challenge": b64(asked("assert")),
            "promotion": "welcome",
            "transactionId": "a1",
            "deviceTokens": [token(), token()],
        }
        data = json.dumps({**data, **change}).encode()
        return S.call(
            "POST",
            f"{api}/promotions/{name}/claim",
            {"keyId": b64(key.keyId), "assertion": b64(key.sign(sha(data))), "clientData": b64(data)},
        )

    s, first, _ = claimed()
    check("claim by the app", s == 200 and first.get("granted") is True, (s, first))
    check("its transaction again", claimed()[1] == first)
    check("its second claim", claimed({"transactionId": "a2"})[1].get("granted") is False)
    problem("client data of another promotion", claimed({"promotion": "fraud"}), 400, "request.malformed")
    problem("client data without tokens", claimed({"deviceTokens": None}), 400, "request.malformed")
    stand.terminate()
    stand.wait(15)
    a = ask_service("query", {"deviceToken": spent})
    problem("Apple is away", a, 503, "apple.unavailable")
    check("when to come back", isinstance(a[1].get("retryAfterSeconds"), int) and a[1].get("retry") == "after", a[1])
    check("stops with 0", S.stop() == 0)
