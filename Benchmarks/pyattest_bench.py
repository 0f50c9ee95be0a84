#!/usr/bin/env python3
"""pyattest on the objects of `attest-bench --export FOLDER`: milliseconds for each. It judges at the present time, so export just before.

    swift run -c release --package-path Benchmarks attest-bench --export /tmp/objects && Benchmarks/pyattest_bench.py /tmp/objects
"""
import asyncio
import base64
import json
import pathlib
import sys
import time

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from pyattest.assertion import Assertion
from pyattest.attestation import Attestation
from pyattest.configs.apple import AppleConfig

document = json.loads((pathlib.Path(sys.argv[1]) / "objects.json").read_text())
items = document["items"]
decode = base64.b64decode


def measure(name, body, rounds):
    body(items[0])
    start = time.perf_counter()
    for _ in range(rounds):
        for item in items:
            body(item)
    spent = time.perf_counter() - start
    print(f"pyattest {name:12} {spent / rounds / len(items) * 1000:8.3f} ms")


def config(item):
    return AppleConfig(decode(item["keyId"]), document["appId"], True, document["root"].encode())


def attestation(item):
    # It hashes the challenge itself, so it gets the challenge and not its hash.
    result = Attestation(decode(item["attestation"]), decode(item["challenge"]), config(item)).verify()
    if asyncio.iscoroutine(result):
        asyncio.run(result)


def assertion(item):
    key = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), decode(item["publicKey"]))
    Assertion(decode(item["assertion"]), decode(item["clientDataHash"]), key, config(item)).verify()


measure("attestation", attestation, 4)
measure("assertion", assertion, 40)
