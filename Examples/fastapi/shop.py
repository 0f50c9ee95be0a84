"""A FastAPI server with three routes that only real apps can use. Needs fastapi, uvicorn and PyJWT[crypto].

    SERVICE=https://trust.example.com ISSUER=https://trust.example.com AUDIENCE=shop-api APP=ABCDE12345.com.example.shop \
    SERVER_TOKEN=... uvicorn shop:server

/price checks the signature and the list of revoked keys: fast, a revoked key stops within two minutes, and a copied token works until it expires.
/order also asks the trust service: a revoked key stops at once.
/prize spends a single-use token: it works once, on any number of servers, and a revoked key stops at once.
"""
import base64
import hashlib
import json
import os
import threading
import time
import urllib.error
import urllib.request

import jwt
from fastapi import Depends, FastAPI, Header, HTTPException

SERVICE, ISSUER, AUDIENCE, APP = (os.environ[name] for name in ("SERVICE", "ISSUER", "AUDIENCE", "APP"))
ENVIRONMENT = os.environ.get("ENVIRONMENT", "production")
# Simulated devices have an issuer of their own: tests name it, production never does.
SIMULATED = ISSUER.endswith("/simulator")
KEYS = os.environ.get("KEYS", "/.well-known/jwks.json")
# How old the list of revoked keys may be. Tests make it shorter.
REVOKED_SECONDS = float(os.environ.get("REVOKED_SECONDS", "60"))


class Keys:
    """The service's keys: kept for ten minutes, and fetched at most once a minute, because anybody can invent key identifiers."""

    def __init__(self, path):
        self.path, self.known, self.fetched, self.asked, self.lock = path, {}, -3600.0, -3600.0, threading.Lock()

    def key(self, identifier):
        with self.lock:
            now = time.monotonic()
            if (identifier not in self.known or now - self.fetched > 600) and now - self.asked > 60:
                self.asked = now
                try:
                    with urllib.request.urlopen(SERVICE + self.path, timeout=5) as answer:
                        entries = jwt.PyJWKSet.from_dict(json.loads(answer.read(65536))).keys
                    self.known, self.fetched = {entry.key_id: entry.key for entry in entries}, now
                except (OSError, ValueError, jwt.PyJWTError):
                    if now - self.fetched > 3600:
                        self.asked = now - 59
                        raise HTTPException(503, "the keys cannot be fetched", {"Retry-After": "5"}) from None
            return self.known.get(identifier)


class RevokedKeys:
    """The service's list of revoked keys: fetched at most once a minute, and used until it ends while no newer one can be had.

    Without a valid list nobody passes. To let revoked keys pass until their tokens expire instead, return False in place of the 503.
    """

    def __init__(self, issuer, signers):
        self.issuer, self.signers, self.lock = issuer, signers, threading.Lock()
        self.marks, self.complete, self.ends, self.asked = frozenset(), True, 0, -3600.0

    def knows(self, key):
        """Refuses a revoked key; whether the list names all revoked keys, so that the service need not be asked."""
        with self.lock:
            now = time.monotonic()
            if now - self.asked > (REVOKED_SECONDS if time.time() < self.ends else 5):
                self.asked = now
                self.fetch()
            if time.time() >= self.ends:
                raise HTTPException(503, "the list of revoked keys cannot be fetched", {"Retry-After": "5"})
            mark = base64.urlsafe_b64encode(hashlib.sha256(base64.b64decode(key)).digest()[:12]).decode()
            if mark in self.marks:
                raise HTTPException(403, "key.revoked")
            return self.complete

    def fetch(self):
        try:
            with urllib.request.urlopen(SERVICE + "/v1/revoked", timeout=5) as answer:
                text = answer.read(4 << 20).decode()
            head = jwt.get_unverified_header(text)
            if head.get("typ") != "revoked+jwt":
                return
            claims = jwt.decode(text, self.signers.key(head.get("kid")), algorithms=["ES256"], issuer=self.issuer,
                                options={"require": ["iss", "exp", "iat", "keys"], "verify_aud": False})
            self.marks, self.complete, self.ends = frozenset(claims["keys"]), claims.get("complete", True), claims["exp"]
        except (OSError, ValueError, TypeError, jwt.PyJWTError, HTTPException):
            return


keys = Keys(KEYS)
# The list is signed by the keys of production tokens, also for simulated devices.
revoked = RevokedKeys(ISSUER.removesuffix("/simulator"), Keys("/.well-known/jwks.json") if SIMULATED else keys)


def ask(request):
    """A call to the trust service: its refusals are passed on, and if it does not answer the route is closed."""
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 409, 429, 503):
            pause = error.headers.get("Retry-After")
            raise HTTPException(error.code, json.loads(error.read(65536) or b"{}").get("code"), {"Retry-After": pause} if pause else None) from None
        raise HTTPException(503, "the token cannot be checked", {"Retry-After": "5"}) from None
    except OSError:
        raise HTTPException(503, "the token cannot be checked", {"Retry-After": "5"}) from None


def bearer(authorization: str = Header("")):
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise HTTPException(401, "token.missing", {"WWW-Authenticate": "Bearer"})
    return token


def signed(token, single_use):
    """The claims of a token that the service signed for this app, of the kind that the route accepts."""
    try:
        key = keys.key(jwt.get_unverified_header(token).get("kid"))
        if key is None:
            raise jwt.InvalidTokenError("an unknown key")
        claims = jwt.decode(token, key, algorithms=["ES256"], issuer=ISSUER, audience=AUDIENCE,
                            options={"require": ["exp", "iat", "jti", "sub", "key", "tier", "env", "sim"]})
    except jwt.PyJWTError:
        raise HTTPException(401, "token.invalid", {"WWW-Authenticate": "Bearer"}) from None
    if claims["sub"] != APP:
        raise HTTPException(403, "policy.app")
    if claims["env"] != ENVIRONMENT:
        raise HTTPException(403, "policy.environment")
    if claims["sim"] is not SIMULATED:
        raise HTTPException(403, "policy.simulated")
    # Only the service can tell a single-use token from its copy; a reusable token is not a single-use token.
    if bool(claims.get("singleUse")) != single_use:
        raise HTTPException(400, "token.not-single-use") if single_use else HTTPException(403, "token.single-use")
    return claims


def checked(token: str = Depends(bearer)):
    claims = signed(token, single_use=False)
    return claims if revoked.knows(claims["key"]) else authorized(token)


def authorized(token: str = Depends(bearer)):
    claims = signed(token, single_use=False)
    query = f"?env={ENVIRONMENT}" + ("&simulated=allow" if SIMULATED else "")
    ask(urllib.request.Request(f"{SERVICE}/v1/authorize{query}", headers={"Authorization": "Bearer " + token}))
    return claims


def spent(token: str = Depends(bearer)):
    claims = signed(token, single_use=True)
    headers = {"Authorization": "Bearer " + os.environ["SERVER_TOKEN"], "Content-Type": "application/json"}
    wanted = {"token": token, "environment": ENVIRONMENT, **({"simulated": "allow"} if SIMULATED else {})}
    ask(urllib.request.Request(SERVICE + "/v1/tokens/consume", json.dumps(wanted).encode(), headers))
    return claims


server = FastAPI()


@server.get("/price")
def price(claims=Depends(checked)):
    return {"price": "10.00" if claims["tier"] == "low" else "8.00"}


@server.get("/order")
def order(claims=Depends(authorized)):
    return {"orderedBy": claims["key"]}


@server.get("/prize")
def prize(claims=Depends(spent)):
    return {"wonBy": claims["key"]}
