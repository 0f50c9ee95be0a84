"""openssl's `cms` for receipts, with Apple's other steps around it; asn1crypto reads the fields."""
import datetime, os, subprocess, tempfile
from asn1crypto import parser, x509
from adapter import Refused, Unsupported, serve

FOLDER = tempfile.mkdtemp()
TIME = lambda value: datetime.datetime.fromisoformat(value.decode().replace("Z", "+00:00"))


def items(data):
    while data:
        element = parser.parse(data)
        yield element[4]
        data = data[sum(map(len, element[3:6])):]


def judge(q):
    if q["kind"] != "receipt":
        raise Unsupported
    object, root = (os.path.join(FOLDER, name) for name in ("object", "root"))
    open(object, "wb").write(q["object"]), open(root, "w").write(q["receiptRoot"])
    ran = subprocess.run(["openssl", "cms", "-verify", "-binary", "-inform", "DER", "-in", object, "-CAfile", root, "-purpose", "any"], capture_output=True)
    if ran.returncode:
        raise Refused(ran.stderr.decode(errors="replace")[-200:])
    field, now = {int.from_bytes(n, "big"): v for n, _, v in map(items, items(next(items(ran.stdout))))}, datetime.datetime.now(datetime.timezone.utc)
    found = (field[2].decode(), x509.Certificate.load(field[3]).public_key["public_key"].native, field[7], TIME(field[12]) <= now <= TIME(field[21]))
    if found != (q["appId"], q["publicKey"], b"production" if q["environment"] == "production" else b"sandbox", True) or (now - TIME(field[12])).total_seconds() > (q["maximumAgeSeconds"] or 1e12):
        raise Refused("not as expected")


serve(judge)
