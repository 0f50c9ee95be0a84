"""pyattest: attestations, and the signature of assertions; app and counter of an assertion are its caller's affair."""
import asyncio
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from pyattest.assertion import Assertion
from pyattest.attestation import Attestation
from pyattest.configs.apple import AppleConfig
from pyattest.exceptions import PyAttestException
from adapter import Unsupported, expect_assertion, serve


def judge(q):
    config = AppleConfig(key_id=q["keyId"], app_id=q["appId"], production=q["environment"] == "production",
                         root_ca=q["attestationRoot"].encode())
    if q["kind"] == "attestation":
        asyncio.run(Attestation(q["object"], q["clientData"], config).verify())
    elif q["kind"] == "assertion":
        key = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), q["publicKey"])
        assertion = Assertion(q["object"], q["clientDataHash"], key, config)
        assertion.verify()
        expect_assertion(q, assertion.data["authenticator_data"])
    else:
        raise Unsupported


serve(judge, PyAttestException, InvalidSignature)
