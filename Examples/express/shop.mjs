// An Express server with three routes that only real apps can use. Needs Node 18 or newer and express.
//
//   SERVICE=https://trust.example.com ISSUER=https://trust.example.com AUDIENCE=shop-api APP=ABCDE12345.com.example.shop \
//   SERVER_TOKEN=... PORT=3000 node shop.mjs
//
// /price checks the signature alone: fast, but a revoked key passes until its token expires, and a copied token works until then.
// /order also asks the trust service: a revoked key stops at once.
// /prize spends a single-use token: it works once, on any number of servers, and a revoked key stops at once.
import express from "express";
import { createPublicKey, verify } from "node:crypto";

const { SERVICE, ISSUER, AUDIENCE, APP, SERVER_TOKEN, KEYS = "/.well-known/jwks.json", ENVIRONMENT = "production", PORT = "0" } = process.env;
// Simulated devices have an issuer of their own: tests name it, production never does.
const SIMULATED = ISSUER.endsWith("/simulator");

class Refusal extends Error {
  constructor(status, code, pause) { super(code); Object.assign(this, { status, code, pause }); }
}

// The service's keys: kept for ten minutes, and fetched at most once a minute, because anybody can invent key identifiers.
const keys = { known: new Map(), fetched: -Infinity, asked: -Infinity, pending: undefined };
async function keyOf(kid) {
  const now = performance.now() / 1000;
  if ((!keys.known.has(kid) || now - keys.fetched > 600) && now - keys.asked > 60) {
    keys.asked = now;
    keys.pending = fetch(SERVICE + KEYS, { signal: AbortSignal.timeout(5000), redirect: "error" })
      .then((answer) => answer.json())
      .then((set) => { keys.known = new Map(set.keys.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: "jwk" })])); keys.fetched = now; })
      .catch(() => { if (now - keys.fetched > 3600) keys.asked = now - 59; });
  }
  await keys.pending;
  if (now - keys.fetched > 3600) throw new Refusal(503, "token.unchecked", 5);
  return keys.known.get(kid);
}

const invalid = () => new Refusal(401, "token.invalid");
const read = (part) => { try { return JSON.parse(Buffer.from(part, "base64url")); } catch { throw invalid(); } };

// The claims of a token that the service signed for this app, of the kind that the route accepts.
async function signed(token, singleUse) {
  const [head, body, signature, ...rest] = token.split(".");
  if (!signature || rest.length || token.length > 4096) throw invalid();
  const { alg, kid } = read(head);
  const key = alg === "ES256" ? await keyOf(kid) : undefined;
  if (!key || !verify("sha256", Buffer.from(`${head}.${body}`), { key, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"))) throw invalid();
  const claims = read(body);
  if (!(claims.exp > Date.now() / 1000) || claims.iss !== ISSUER || claims.aud !== AUDIENCE) throw invalid();
  if (claims.sub !== APP) throw new Refusal(403, "policy.app");
  if (claims.env !== ENVIRONMENT) throw new Refusal(403, "policy.environment");
  if (claims.sim !== SIMULATED) throw new Refusal(403, "policy.simulated");
  // Only the service can tell a single-use token from its copy; a reusable token is not a single-use token.
  if (Boolean(claims.singleUse) !== singleUse) throw singleUse ? new Refusal(400, "token.not-single-use") : new Refusal(403, "token.single-use");
  return claims;
}

// A call to the trust service: its refusals are passed on, and if it does not answer the route is closed.
async function ask(path, options) {
  const answer = await fetch(SERVICE + path, { ...options, signal: AbortSignal.timeout(5000), redirect: "error" }).catch(() => undefined);
  if (answer?.ok) return;
  if (answer && [401, 403, 409, 429, 503].includes(answer.status)) {
    const problem = await answer.json().catch(() => ({}));
    throw new Refusal(answer.status, problem.code ?? "token.unchecked", answer.headers.get("retry-after"));
  }
  throw new Refusal(503, "token.unchecked", 5);
}

const proofs = {
  signature: (token) => signed(token, false),
  service: async (token) => {
    const claims = await signed(token, false);
    await ask(`/v1/authorize?env=${ENVIRONMENT}${SIMULATED ? "&simulated=allow" : ""}`, { headers: { authorization: `Bearer ${token}` } });
    return claims;
  },
  once: async (token) => {
    const claims = await signed(token, true);
    const headers = { authorization: `Bearer ${SERVER_TOKEN}`, "content-type": "application/json" };
    await ask("/v1/tokens/consume", { method: "POST", headers, body: JSON.stringify({ token, environment: ENVIRONMENT, ...(SIMULATED && { simulated: "allow" }) }) });
    return claims;
  },
};

const attested = (proof) => async (request, response, next) => {
  try {
    const [scheme, token] = (request.headers.authorization ?? "").split(" ");
    if (scheme.toLowerCase() !== "bearer" || !token) throw new Refusal(401, "token.missing");
    request.attested = await proofs[proof](token);
  } catch (error) {
    const { status = 503, code = "token.unchecked", pause } = error;
    if (pause) response.set("Retry-After", String(pause));
    if (status === 401) response.set("WWW-Authenticate", "Bearer");
    return response.status(status).json({ code });
  }
  next();
};

const server = express();
server.get("/price", attested("signature"), (request, response) => response.json({ price: request.attested.tier === "low" ? "10.00" : "8.00" }));
server.get("/order", attested("service"), (request, response) => response.json({ orderedBy: request.attested.key }));
server.get("/prize", attested("once"), (request, response) => response.json({ wonBy: request.attested.key }));
const listening = server.listen(Number(PORT), "127.0.0.1", () => console.error(`listening on http://127.0.0.1:${listening.address().port}`));
