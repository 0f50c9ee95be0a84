"""sealward itself, by its command line: SEALWARD names the program."""
import base64, os, subprocess, tempfile
from adapter import Refused, serve

PROGRAM, FOLDER = os.environ.get("SEALWARD", "sealward"), tempfile.mkdtemp()


def judge(q):
    path = lambda name: os.path.join(FOLDER, name)
    for name in ("object", "attestationRoot", "receiptRoot"):
        with open(path(name), "wb") as file:
            file.write(q[name] if name == "object" else q[name].encode())
    text = lambda name: base64.b64encode(q[name]).decode()
    told = ["--client-data-hash", text("clientDataHash")]
    words = {
        "attestation": ["attest", "verify", path("object"), "--environment", q["environment"], "--key-id", text("keyId"), *told,
                        "--trust-root", path("attestationRoot"), "--receipt", "ignore"],
        "assertion": ["attest", "verify-assertion", path("object"), "--public-key", text("publicKey"), *told, "--counter", str(q["previousCounter"])],
        "receipt": ["receipt", "verify", path("object"), "--public-key", text("publicKey"), "--environment", q["environment"],
                    "--trust-root", path("receiptRoot")],
    }[q["kind"]] + (["--max-age", str(q["maximumAgeSeconds"])] if q["maximumAgeSeconds"] else [])
    ran = subprocess.run([PROGRAM, *words, "--app-id", q["appId"]], capture_output=True, text=True)
    if ran.returncode == 1:
        raise Refused(ran.stdout.split("\n")[1].strip())
    assert ran.returncode == 0, ran.stderr


serve(judge)
