"""webauthn, a WebAuthn library: its readers and its verifier of Apple's format, with Apple's other steps around them."""
import hashlib
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from webauthn.helpers import parse_attestation_object, parse_cbor
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.registration.formats.apple import verify_apple
from adapter import Unsupported, expect, expect_assertion, serve


def judge(q):
    if q["kind"] == "attestation":
        parts = parse_attestation_object(q["object"])
        data, credential = parts.auth_data, parts.auth_data.attested_credential_data
        verify_apple(attestation_statement=parts.att_stmt, attestation_object=q["object"], client_data_json=q["clientData"],
                     credential_public_key=credential.credential_public_key, pem_root_certs_bytes=[q["attestationRoot"].encode()])
        expect(q, format=parts.fmt, app=data.rp_id_hash, counter=data.sign_count, environment=credential.aaguid, key=credential.credential_id)
    elif q["kind"] == "assertion":
        parts, key = parse_cbor(q["object"]), EllipticCurvePublicKey.from_encoded_point(SECP256R1(), q["publicKey"])
        raw = parts["authenticatorData"]
        key.verify(parts["signature"], hashlib.sha256(raw + q["clientDataHash"]).digest(), ECDSA(SHA256()))
        expect_assertion(q, raw)
    else:
        raise Unsupported


serve(judge, WebAuthnException, InvalidSignature)
