// Checks a token of the trust service: `node check-token.mjs JWKS-URL ISSUER AUDIENCE APP-ID [ENVIRONMENT] < token`. Needs nothing but Node 18.
// Offline: a revoked key passes until its token expires. Ask /v1/authorize if that is too long.
import { createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";

export function check(token, { keys }, issuer, audience, app, environment = "production", now = Date.now() / 1000) {
  const [head, body, signature, ...rest] = token.split(".");
  if (!signature || rest.length) throw new Error("not a token");
  const read = (part) => JSON.parse(Buffer.from(part, "base64url"));
  const { alg, kid } = read(head);
  const jwk = keys.find((key) => key.kid === kid);
  if (alg !== "ES256" || !jwk) throw new Error("unknown algorithm or key");
  const key = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" };
  if (!verify("sha256", Buffer.from(`${head}.${body}`), key, Buffer.from(signature, "base64url"))) throw new Error("wrong signature");
  const claims = read(body);
  if (!(claims.exp > now)) throw new Error("expired");
  if (claims.iss !== issuer || ![].concat(claims.aud).includes(audience) || claims.sub !== app) throw new Error("a token for somebody else");
  // Simulated devices have an issuer of their own.
  if (claims.env !== environment || claims.sim !== issuer.endsWith("/simulator")) throw new Error("another environment, or a simulated device's token");
  // Only the service knows whether a single-use token is used for the first time: consume it there (POST /v1/tokens/consume).
  if (claims.singleUse) throw new Error("a single-use token");
  return claims;
}

const [url, ...expected] = process.argv.slice(2);
try {
  console.log(check(readFileSync(0, "utf8").trim(), await (await fetch(url)).json(), ...expected).key);
} catch (error) {
  console.error(`refused: ${error.message}`);
  process.exit(1);
}
