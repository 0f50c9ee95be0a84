"""fido2, a WebAuthn library: its verifier of Apple's format and of chains, with Apple's other steps around them."""
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate
from fido2 import cbor
from fido2.attestation import AppleAttestation
from fido2.attestation.base import InvalidAttestation, verify_x509_chain
from fido2.cose import ES256
from fido2.utils import sha256
from fido2.webauthn import AuthenticatorData
from adapter import Unsupported, expect, expect_assertion, serve


def judge(q):
    if q["kind"] == "receipt":
        raise Unsupported
    parts = cbor.decode(q["object"])
    if q["kind"] == "assertion":
        key = ES256.from_cryptography_key(EllipticCurvePublicKey.from_encoded_point(SECP256R1(), q["publicKey"]))
        key.verify(sha256(parts["authenticatorData"] + q["clientDataHash"]), parts["signature"])
        return expect_assertion(q, parts["authenticatorData"])
    chain, data = parts["attStmt"]["x5c"], AuthenticatorData(parts["authData"])
    AppleAttestation().verify(parts["attStmt"], data, q["clientDataHash"])
    verify_x509_chain(chain + [load_pem_x509_certificate(q["attestationRoot"].encode()).public_bytes(Encoding.DER)])
    expect(q, format=parts["fmt"], app=data.rp_id_hash, counter=data.counter, environment=bytes(data.credential_data.aaguid), key=data.credential_data.credential_id)


serve(judge, InvalidAttestation, InvalidSignature)
