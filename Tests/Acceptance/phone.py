# Sealward: the open trust stack between Apple apps and their servers.
# SPDX-License-Identifier: Apache-2.0
"""A phone and an Apple of its own: certificates by `cryptography`, CBOR and CMS written here, nothing shared with Sealward."""

import datetime
import hashlib
import os
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DER, PEM = serialization.Encoding.DER, serialization.Encoding.PEM


def head(major, n):
    if n < 24:
        return bytes([major << 5 | n])
    if n < 256:
        return bytes([major << 5 | 24, n])
    if n < 65536:
        return bytes([major << 5 | 25]) + n.to_bytes(2, "big")
    return bytes([major << 5 | 26]) + n.to_bytes(4, "big")


def cbor(v):
    if isinstance(v, int):
        return head(0, v) if v >= 0 else head(1, -1 - v)
    if isinstance(v, bytes):
        return head(2, len(v)) + v
    if isinstance(v, str):
        return head(3, len(v.encode())) + v.encode()
    if isinstance(v, list):
        return head(4, len(v)) + b"".join(map(cbor, v))
    return head(5, len(v)) + b"".join(cbor(k) + cbor(x) for k, x in v.items())


def tlv(tag, *parts):
    body = b"".join(parts)
    n = len(body)
    size = (
        bytes([n])
        if n < 128
        else bytes([0x80 | (n.bit_length() + 7) // 8]) + n.to_bytes((n.bit_length() + 7) // 8, "big")
    )
    return bytes([tag]) + size + body


def oid(text):
    a, b, *rest = map(int, text.split("."))
    out = bytes([a * 40 + b])
    for n in rest:
        part = [n & 127]
        while n := n >> 7:
            part.append(n & 127 | 128)
        out += bytes(reversed(part))
    return tlv(6, out)


def integer(n):
    return tlv(2, n.to_bytes(n.bit_length() // 8 + 1, "big"))


def name(text):
    return x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, text), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Acceptance")]
    )


def certificate(subject, key, issuer, signer, now, days, ca=None, extensions=(), digest=hashes.SHA256()):
    b = x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer)).public_key(key.public_key())
    b = (
        b.serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=days))
    )
    b = b.add_extension(x509.BasicConstraints(ca is not None, ca), True)
    for o, value in extensions:
        b = b.add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier(o), value), False)
    if ca is not None:
        b = b.add_extension(x509.KeyUsage(False, False, False, False, False, True, True, False, False), True)
    else:
        b = b.add_extension(x509.KeyUsage(True, True, True, True, False, False, False, False, False), True)
    return b.sign(signer, digest)


class Apple:
    """The two hierarchies: attestations, and receipts."""

    def __init__(self, now):
        self.now = now
        self.root, self.ca = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
        self.rootCert = certificate("A Root", self.root, "A Root", self.root, now, 3650, 2, digest=hashes.SHA384())
        self.caCert = certificate("A CA", self.ca, "A Root", self.root, now, 1000, 0, digest=hashes.SHA384())
        self.rroot, self.rca, self.rleaf = (
            ec.generate_private_key(c()) for c in (ec.SECP384R1, ec.SECP256R1, ec.SECP256R1)
        )
        self.rrootCert = certificate("R Root", self.rroot, "R Root", self.rroot, now, 3650, 2, digest=hashes.SHA384())
        self.rcaCert = certificate(
            "R CA",
            self.rca,
            "R Root",
            self.rroot,
            now,
            1000,
            0,
            [("1.2.840.113635.100.6.2.3", b"\x05\x00")],
            hashes.SHA384(),
        )
        self.rleafCert = certificate(
            "R Leaf", self.rleaf, "R CA", self.rca, now, 300, None, [("1.2.840.113635.100.12.15", b"\x05\x00")]
        )

    def roots(self):
        return self.rootCert.public_bytes(PEM), self.rrootCert.public_bytes(PEM)

    def receipt(self, fields):
        payload = tlv(0x31, *(tlv(0x30, integer(t), integer(1), tlv(4, v)) for t, v in fields))
        signature = self.rleaf.sign(payload, ec.ECDSA(hashes.SHA256()))
        sha = tlv(0x30, oid("2.16.840.1.101.3.4.2.1"), b"\x05\x00")
        chunks = b"".join(tlv(4, payload[i : i + 1000]) for i in range(0, len(payload), 1000))
        content = b"\x30\x80" + oid("1.2.840.113549.1.7.1") + b"\xa0\x80\x24\x80" + chunks + bytes(6)
        certs = b"".join(c.public_bytes(DER) for c in (self.rleafCert, self.rcaCert, self.rrootCert))
        issuer = tlv(0x30, self.rcaCert.subject.public_bytes(), integer(self.rleafCert.serial_number))
        signer = tlv(0x30, integer(1), issuer, sha, tlv(0x30, oid("1.2.840.10045.4.3.2")), tlv(4, signature))
        signed = (
            b"\x30\x80"
            + integer(1)
            + tlv(0x31, sha)
            + content
            + b"\xa0\x80"
            + certs
            + b"\x00\x00"
            + tlv(0x31, signer)
            + b"\x00\x00"
        )
        return b"\x30\x80" + oid("1.2.840.113549.1.7.2") + b"\xa0\x80" + signed + bytes(4)


class Phone:
    """One key of one device."""

    def __init__(self, apple, app, extensions=None, production=True):
        self.apple, self.app, self.extensions, self.production = apple, app, extensions, production
        self.key, self.counter = ec.generate_private_key(ec.SECP256R1()), 0
        self.point = self.key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        self.keyId = hashlib.sha256(self.point).digest()

    def data(self, counter, credential=b""):
        map = cbor(self.extensions) if self.extensions else b""
        flags = 0xC0 if map else 0x40
        return (
            hashlib.sha256(self.app.encode()).digest() + bytes([flags]) + counter.to_bytes(4, "big") + credential + map
        )

    def attest(self, hash, receipt=lambda f: f):
        aaguid = b"appattest" + bytes(7) if self.production else b"appattestdevelop"
        cose = cbor({1: 2, 3: -7, -1: 1, -2: self.point[1:33], -3: self.point[33:]})
        data = self.data(0, aaguid + b"\x00\x20" + self.keyId + cose)
        nonce = hashlib.sha256(data + hash).digest()
        now = self.apple.now
        leaf = certificate(
            self.keyId.hex(),
            self.key,
            "A CA",
            self.apple.ca,
            now,
            3,
            None,
            [("1.2.840.113635.100.8.2", tlv(0x30, tlv(0xA1, tlv(4, nonce))))],
        )
        leaf = leaf.public_bytes(DER)
        stamp = lambda t: t.strftime("%Y-%m-%dT%H:%M:%S.25Z").encode()
        made = datetime.datetime.now(datetime.timezone.utc)
        fields = [
            (2, self.app.encode()),
            (3, leaf),
            (4, hash),
            (5, os.urandom(64).hex().encode()),
            (6, b"ATTEST"),
            (7, b"production" if self.production else b"sandbox"),
            (12, stamp(made)),
            (21, stamp(made + datetime.timedelta(days=90))),
        ]
        statement = {"x5c": [leaf, self.apple.caCert.public_bytes(DER)], "receipt": self.apple.receipt(receipt(fields))}
        return cbor({"fmt": "apple-appattest", "attStmt": statement, "authData": data})

    def sign(self, hash, counter=None):
        if counter is None:
            self.counter = counter = self.counter + 1
        data = self.data(counter)
        nonce = hashlib.sha256(data + hash).digest()
        return cbor({"signature": self.key.sign(nonce, ec.ECDSA(hashes.SHA256())), "authenticatorData": data})
