#!/usr/bin/env python3
"""The whole App Attest flow in one file: a simulated phone proves itself to the trust service. Standard library only.

    sealward simulate apple --listen 127.0.0.1:8900 --attestation-root attestation.pem --receipt-root receipt.pem
    sealward serve --config sealward.json        # with trustSimulator naming the two files, and the app below
    python3 client.py http://127.0.0.1:8080 http://127.0.0.1:8900 shop SIMTEAM001.com.example.shop
"""
import base64
import hashlib
import json
import secrets
import sys
import urllib.error
import urllib.request as web


def post(url, body):
    request = web.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with web.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


def expect(wanted, step, answer):
    status, body = answer
    print(f"{step}: {status} {body.get('code', '')}".rstrip())
    return body if status == wanted else sys.exit(f"{step}: expected {wanted}, got {status}: {body}")


def digest(data):
    return base64.b64encode(hashlib.sha256(data).digest()).decode()


def main(service, apple, app, app_id, use="many", environment="production"):
    api, phone = f"{service}/v1/apps/{app}", f"{apple}/device/v1/devices"
    # A name that no earlier run used: a simulated phone's keys follow from it.
    device = expect(201, "phone", post(phone, {"device": f"phone-{secrets.token_hex(4)}", "os": "27.0"}))["device"]
    key = expect(201, "key", post(f"{phone}/{device}/keys", {"app": app_id, "environment": environment}))["keyId"]

    challenge = expect(201, "challenge", post(f"{api}/challenges", {"purpose": "attest"}))["challenge"]
    wish = {"keyId": key, "clientDataHash": digest(base64.b64decode(challenge))}
    attestation = expect(200, "attestKey", post(f"{phone}/{device}/attest", wish))["attestation"]
    proof = {"keyId": key, "attestation": attestation, "challenge": challenge}
    expect(201, "attestation", post(f"{api}/attestations", proof))

    def signed(payload):
        asked = post(f"{api}/challenges", {"purpose": "assert", "keyId": key})
        data = json.dumps({"challenge": expect(201, "challenge", asked)["challenge"], **payload}).encode()
        made = post(f"{phone}/{device}/assert", {"keyId": key, "clientDataHash": digest(data)})
        assertion = expect(200, "generateAssertion", made)["assertion"]
        return {"keyId": key, "assertion": assertion, "clientData": base64.b64encode(data).decode()}

    order = signed({"order": 1})
    expect(200, "assertion", post(f"{api}/assertions", order))
    expect(409, "replay", post(f"{api}/assertions", order))
    wish = {**signed({"order": 2}), "singleUse": use == "single"}
    print(expect(200, "token", post(f"{api}/tokens", wish))["token"])


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (5, 6, 7) else sys.exit(__doc__)
