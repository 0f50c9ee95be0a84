// An Express server with three routes that only real apps can use. Needs Node 18 or newer and express.
//
//   SERVICE=https://trust.example.com ISSUER=https://trust.example.com AUDIENCE=shop-api APP=ABCDE12345.com.example.shop \
//   SERVER_TOKEN=... PORT=3000 node shop.mjs
//
// /price checks the signature and the list of revoked keys: fast, a revoked key stops within two minutes, and a copied token works until it expires.
// /order also asks the trust service: a revoked key stops at once.
// /prize spends a single-use token: it works once, on any number of servers, and a revoked key stops at once.
import express from "express";
import { createHash, createPublicKey, verify } from "node:crypto";

const PRODUCTION_KEYS = "/.well-known/jwks.json";
const { SERVICE, ISSUER, AUDIENCE, APP, SERVER_TOKEN, KEYS = PRODUCTION_KEYS, ENVIRONMENT = "production", REVOKED_SECONDS = "60", PORT = "0" } = process.env;
// Simulated devices have an issuer of their own: tests name it, production never does.
const SIMULATED = ISSUER.endsWith("/simulator");

class Refusal extends Error {
  constructor(status, code, pause) { super(code); Object.assign(this, { status, code, pause }); }
}

// The service's keys: kept for ten minutes, and fetched at most once a minute, because anybody can invent key identifiers.
function keySet(path) {
  const keys = { known: new Map(), fetched: -Infinity, asked: -Infinity, pending: undefined };
  return async (kid) => {
    const now = performance.now() / 1000;
    if ((!keys.known.has(kid) || now - keys.fetched > 600) && now - keys.asked > 60) {
      keys.asked = now;
      keys.pending = fetch(SERVICE + path, { signal: AbortSignal.timeout(5000), redirect: "error" })
        .then((answer) => answer.json())
        .then((set) => { keys.known = new Map(set.keys.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: "jwk" })])); keys.fetched = now; })
        .catch(() => { if (now - keys.fetched > 3600) keys.asked = now - 59; });
    }
    await keys.pending;
    if (now - keys.fetched > 3600) throw new Refusal(503, "token.unchecked", 5);
    return keys.known.get(kid);
  };
}
const keyOf = keySet(KEYS);

const invalid = () => new Refusal(401, "token.invalid");
const read = (part) => { try { return JSON.parse(Buffer.from(part, "base64url")); } catch { throw invalid(); } };

// The claims of what one of these keys signed for this issuer and what has not expired.
async function verified(text, keyOf, issuer, type) {
  const [head, body, signature, ...rest] = text.split(".");
  if (!signature || rest.length) throw invalid();
  const { alg, kid, typ } = read(head);
  const key = alg === "ES256" && (typ === "revoked+jwt") === (type === "revoked+jwt") ? await keyOf(kid) : undefined;
  if (!key || !verify("sha256", Buffer.from(`${head}.${body}`), { key, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"))) throw invalid();
  const claims = read(body);
  if (!(claims.exp > Date.now() / 1000) || claims.iss !== issuer) throw invalid();
  return claims;
}

// The claims of a token that the service signed for this app, of the kind that the route accepts.
async function signed(token, singleUse) {
  if (token.length > 4096) throw invalid();
  const claims = await verified(token, keyOf, ISSUER, "JWT");
  if (claims.aud !== AUDIENCE) throw invalid();
  if (claims.sub !== APP) throw new Refusal(403, "policy.app");
  if (claims.env !== ENVIRONMENT) throw new Refusal(403, "policy.environment");
  if (claims.sim !== SIMULATED) throw new Refusal(403, "policy.simulated");
  // Only the service can tell a single-use token from its copy; a reusable token is not a single-use token.
  if (Boolean(claims.singleUse) !== singleUse) throw singleUse ? new Refusal(400, "token.not-single-use") : new Refusal(403, "token.single-use");
  return claims;
}

// The list of revoked keys, fetched once a minute; without one that is valid the route is closed. Production keys sign it, also for simulated devices.
const listed = { marks: new Set(), complete: true, ends: 0, asked: -Infinity, pending: undefined };
const signerOf = SIMULATED ? keySet(PRODUCTION_KEYS) : keyOf;
async function fetchRevoked() {
  const answer = await fetch(`${SERVICE}/v1/revoked`, { signal: AbortSignal.timeout(5000), redirect: "error" });
  const claims = await verified(await answer.text(), signerOf, ISSUER.replace(/\/simulator$/, ""), "revoked+jwt");
  if (Array.isArray(claims.keys)) Object.assign(listed, { marks: new Set(claims.keys), complete: claims.complete ?? true, ends: claims.exp });
}

// Refuses a revoked key; whether the list names all revoked keys, so that the service need not be asked.
async function isListComplete(key) {
  const now = performance.now() / 1000;
  const isValid = () => listed.ends > Date.now() / 1000;
  if (now - listed.asked > (isValid() ? Number(REVOKED_SECONDS) : 5)) {
    listed.asked = now;
    listed.pending = fetchRevoked().catch(() => {});
  }
  await listed.pending;
  if (!isValid()) throw new Refusal(503, "token.unchecked", 5);
  if (listed.marks.has(createHash("sha256").update(Buffer.from(key, "base64")).digest().subarray(0, 12).toString("base64url"))) throw new Refusal(403, "key.revoked");
  return listed.complete;
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
  signature: async (token) => {
    const claims = await signed(token, false);
    return await isListComplete(claims.key) ? claims : proofs.service(token);
  },
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
