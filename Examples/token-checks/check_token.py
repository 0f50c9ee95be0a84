"""Checks a token of the trust service: `python check_token.py JWKS-URL ISSUER AUDIENCE APP-ID [ENVIRONMENT] < token`. Needs PyJWT[crypto].

Offline: a revoked key passes until its token expires. Ask /v1/authorize if that is too long.
"""
import sys

import jwt


def check(token: str, jwks_url: str, issuer: str, audience: str, app: str, environment: str = "production") -> dict:
    key = jwt.PyJWKClient(jwks_url).get_signing_key_from_jwt(token)
    claims = jwt.decode(token, key.key, algorithms=["ES256"], issuer=issuer, audience=audience,
                        options={"require": ["exp", "iat", "jti", "sub", "key", "tier", "env", "sim"]})
    if claims["sub"] != app:
        raise jwt.InvalidTokenError("a token of another app")
    if claims["env"] != environment:
        raise jwt.InvalidTokenError("a token of another environment")
    # Simulated devices have an issuer of their own.
    if claims["sim"] is not issuer.endswith("/simulator"):
        raise jwt.InvalidTokenError("a simulated device's token")
    # Only the service knows whether a single-use token is used for the first time: consume it there (POST /v1/tokens/consume).
    if claims.get("singleUse"):
        raise jwt.InvalidTokenError("a single-use token")
    return claims


if __name__ == "__main__":
    try:
        print(check(sys.stdin.read().strip(), *sys.argv[1:])["key"])
    except jwt.PyJWTError as error:
        sys.exit(f"refused: {error}")
