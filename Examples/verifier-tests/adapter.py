"""The line protocol of `sealward simulate verifier-tests`, for adapters in Python: one JSON question a line, one JSON answer a line."""
import base64, hashlib, json, sys

ENVIRONMENTS = {"production": b"appattest".ljust(16, b"\0"), "development": b"appattestdevelop"}


class Unsupported(Exception):
    """The verifier does not judge such objects."""


class Refused(Exception):
    """A step of Apple's that the adapter took itself."""


def expect(question, **found):
    """Apple's steps that only compare: what is not there was compared by the verifier."""
    right = {"format": "apple-appattest", "app": hashlib.sha256(question["appId"].encode()).digest(), "counter": 0,
             "environment": ENVIRONMENTS[question["environment"]], "key": question["keyId"]}
    for name, value in found.items():
        if value != right[name]:
            raise Refused(f"another {name}")


def expect_assertion(question, data):
    """The app and the counter in an assertion's authenticator data."""
    expect(question, app=data[:32])
    if int.from_bytes(data[33:37], "big") <= question["previousCounter"]:
        raise Refused("the counter did not grow")


def serve(judge, *refusals):
    """Answers each question with what `judge` does: it returns for accepted, and raises one of `refusals` for refused.

    Any other exception is a failure that the verifier does not call a refusal, and is reported as that.
    """
    for line in sys.stdin:
        question = json.loads(line)
        for name in ("object", "keyId", "clientData", "clientDataHash", "publicKey"):
            question[name] = base64.b64decode(question[name])
        try:
            judge(question)
            answer = {"verdict": "accepted"}
        except Unsupported:
            answer = {"verdict": "unsupported"}
        except (Refused, *refusals) as refusal:
            answer = {"verdict": "refused", "reason": f"{type(refusal).__name__} {refusal}"}
        except Exception as failure:
            answer = {"verdict": "crashed", "reason": f"{type(failure).__name__} {failure}"}
        print(json.dumps(answer), flush=True)
