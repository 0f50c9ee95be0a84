// A Go server with three routes that only real apps can use. Needs the standard library only (Go 1.19 or newer).
//
//	SERVICE=https://trust.example.com ISSUER=https://trust.example.com AUDIENCE=shop-api APP=ABCDE12345.com.example.shop \
//	SERVER_TOKEN=... PORT=3000 go run shop.go
//
// /price checks the signature and the list of revoked keys: fast, a revoked key stops within two minutes, and a copied token works until it expires.
// /order also asks the trust service: a revoked key stops at once.
// /prize spends a single-use token: it works once, on any number of servers, and a revoked key stops at once.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var service, issuer, audience, app = os.Getenv("SERVICE"), os.Getenv("ISSUER"), os.Getenv("AUDIENCE"), os.Getenv("APP")

// Simulated devices have an issuer of their own: tests name it, production never does.
var environment, simulated = setting("ENVIRONMENT", "production"), strings.HasSuffix(os.Getenv("ISSUER"), "/simulator")

// Redirects are not followed: they would carry a token to somebody else.
var client = &http.Client{Timeout: 5 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

type claims struct {
	Iss, Aud, Sub, Key, Tier, Env string
	Exp                           int64
	Sim, SingleUse                bool
}

// refusal is what the client gets: a status, a code of the service, and when to try again.
type refusal struct {
	status      int
	code, pause string
}

func (r refusal) Error() string { return r.code }

var invalid, unchecked = refusal{401, "token.invalid", ""}, refusal{503, "token.unchecked", "5"}

// keySet has the service's keys: kept for ten minutes, and fetched at most once a minute, because anybody can invent key identifiers.
type keySet struct {
	sync.Mutex
	path           string
	known          map[string]*ecdsa.PublicKey
	fetched, asked time.Time
}

func (set *keySet) key(kid string) (*ecdsa.PublicKey, error) {
	set.Lock()
	defer set.Unlock()
	now := time.Now()
	if (set.known[kid] == nil || now.Sub(set.fetched) > 10*time.Minute) && now.Sub(set.asked) > time.Minute {
		set.asked = now
		if known, err := fetched(set.path); err == nil {
			set.known, set.fetched = known, now
		} else if now.Sub(set.fetched) > time.Hour {
			set.asked = now.Add(-59 * time.Second)
		}
	}
	if now.Sub(set.fetched) > time.Hour {
		return nil, unchecked
	}
	if set.known[kid] == nil {
		return nil, invalid
	}
	return set.known[kid], nil
}

func fetched(path string) (map[string]*ecdsa.PublicKey, error) {
	answer, err := client.Get(service + path)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var set struct {
		Keys []struct{ Kid, Kty, Crv, X, Y string }
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&set); err != nil || answer.StatusCode != 200 {
		return nil, errors.New("no keys")
	}
	known := map[string]*ecdsa.PublicKey{}
	for _, entry := range set.Keys {
		x, wrongX := base64.RawURLEncoding.DecodeString(entry.X)
		y, wrongY := base64.RawURLEncoding.DecodeString(entry.Y)
		key := &ecdsa.PublicKey{Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}
		if entry.Kty == "EC" && entry.Crv == "P-256" && wrongX == nil && wrongY == nil && key.IsOnCurve(key.X, key.Y) {
			known[entry.Kid] = key
		}
	}
	return known, nil
}

const productionKeys = "/.well-known/jwks.json"

// The list of revoked keys is signed by the keys of production tokens, also for simulated devices.
var keys, signers = &keySet{path: setting("KEYS", productionKeys)}, &keySet{path: productionKeys}

// verified reads what one of these keys signed: a list of revoked keys, or anything else.
func verified(text string, set *keySet, isList bool, body any) error {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return invalid
	}
	var head struct{ Alg, Kid, Typ string }
	for i, target := range []any{&head, body} {
		if data, err := base64.RawURLEncoding.DecodeString(parts[i]); err != nil || json.Unmarshal(data, target) != nil {
			return invalid
		}
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 || head.Alg != "ES256" || (head.Typ == "revoked+jwt") != isList {
		return invalid
	}
	key, err := set.key(head.Kid)
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return invalid
	}
	return nil
}

// revokedKeys is the list of revoked keys, fetched once a minute; without one that is valid the route is closed.
type revokedKeys struct {
	sync.Mutex
	marks    map[string]bool
	complete bool
	ends     int64
	asked    time.Time
}

var revoked revokedKeys

// check refuses a revoked key, and says whether the list names all revoked keys, so that the service need not be asked.
func (list *revokedKeys) check(key string) (bool, error) {
	list.Lock()
	defer list.Unlock()
	wait := 5 * time.Second
	if time.Now().Unix() < list.ends {
		wait = pause
	}
	if time.Since(list.asked) > wait {
		list.asked = time.Now()
		list.fetch()
	}
	if time.Now().Unix() >= list.ends {
		return false, unchecked
	}
	id, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return false, invalid
	}
	digest := sha256.Sum256(id)
	if list.marks[base64.RawURLEncoding.EncodeToString(digest[:12])] {
		return false, refusal{403, "key.revoked", ""}
	}
	return list.complete, nil
}

func (list *revokedKeys) fetch() {
	answer, err := client.Get(service + "/v1/revoked")
	if err != nil {
		return
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	body := struct {
		Iss      string
		Exp      int64
		Keys     []string
		Complete *bool
	}{}
	if err != nil || answer.StatusCode != 200 || verified(string(text), signers, true, &body) != nil || body.Iss != strings.TrimSuffix(issuer, "/simulator") {
		return
	}
	list.marks = map[string]bool{}
	for _, mark := range body.Keys {
		list.marks[mark] = true
	}
	list.complete, list.ends = body.Complete == nil || *body.Complete, body.Exp
}

// pause is the time between two looks at the list.
var pause = func() time.Duration {
	seconds, err := strconv.ParseFloat(setting("REVOKED_SECONDS", "60"), 64)
	if err != nil {
		log.Fatal("REVOKED_SECONDS: ", err)
	}
	return time.Duration(seconds * float64(time.Second))
}()

// signed returns the claims of a token that the service signed for this app, of the kind that the route accepts.
func signed(token string, singleUse bool) (claims, error) {
	if len(token) > 4096 {
		return claims{}, invalid
	}
	var body claims
	if err := verified(token, keys, false, &body); err != nil {
		return claims{}, err
	}
	if body.Exp <= time.Now().Unix() || body.Iss != issuer || body.Aud != audience {
		return claims{}, invalid
	}
	if body.Sub != app {
		return claims{}, refusal{403, "policy.app", ""}
	}
	if body.Env != environment {
		return claims{}, refusal{403, "policy.environment", ""}
	}
	if body.Sim != simulated {
		return claims{}, refusal{403, "policy.simulated", ""}
	}
	// Only the service can tell a single-use token from its copy; a reusable token is not a single-use token.
	if singleUse && !body.SingleUse {
		return claims{}, refusal{400, "token.not-single-use", ""}
	}
	if body.SingleUse && !singleUse {
		return claims{}, refusal{403, "token.single-use", ""}
	}
	return body, nil
}

// ask calls the trust service: its refusals are passed on, and if it does not answer the route is closed.
func ask(ctx context.Context, method, path, bearer string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, service+path, bytes.NewReader(body))
	if err != nil {
		return unchecked
	}
	request.Header.Set("Authorization", "Bearer "+bearer)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := client.Do(request)
	if err != nil {
		return unchecked
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case 200, 204:
		return nil
	case 401, 403, 409, 429, 503:
		problem := struct{ Code string }{"token.unchecked"}
		_ = json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&problem)
		return refusal{answer.StatusCode, problem.Code, answer.Header.Get("Retry-After")}
	}
	return unchecked
}

func checked(ctx context.Context, token string) (claims, error) {
	body, err := signed(token, false)
	if err != nil {
		return body, err
	}
	isComplete, err := revoked.check(body.Key)
	if err == nil && !isComplete {
		return authorized(ctx, token)
	}
	return body, err
}

func authorized(ctx context.Context, token string) (claims, error) {
	body, err := signed(token, false)
	if err == nil {
		query := "?env=" + environment
		if simulated {
			query += "&simulated=allow"
		}
		err = ask(ctx, "GET", "/v1/authorize"+query, token, nil)
	}
	return body, err
}

func spent(ctx context.Context, token string) (claims, error) {
	body, err := signed(token, true)
	if err == nil {
		wanted := map[string]string{"token": token, "environment": environment}
		if simulated {
			wanted["simulated"] = "allow"
		}
		sent, _ := json.Marshal(wanted)
		err = ask(ctx, "POST", "/v1/tokens/consume", os.Getenv("SERVER_TOKEN"), sent)
	}
	return body, err
}

// attested lets a request through to its route only with a token that the proof accepts.
func attested(proof func(context.Context, string) (claims, error), route func(claims) any) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		var who claims
		var err error = refusal{401, "token.missing", ""}
		if scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "bearer") && token != "" {
			who, err = proof(request.Context(), token)
		}
		writer.Header().Set("Content-Type", "application/json")
		if err == nil {
			_ = json.NewEncoder(writer).Encode(route(who))
			return
		}
		why := unchecked
		errors.As(err, &why)
		if why.pause != "" {
			writer.Header().Set("Retry-After", why.pause)
		}
		if why.status == 401 {
			writer.Header().Set("WWW-Authenticate", "Bearer")
		}
		writer.WriteHeader(why.status)
		_ = json.NewEncoder(writer).Encode(map[string]string{"code": why.code})
	}
}

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func main() {
	routes := http.NewServeMux()
	routes.HandleFunc("/price", attested(checked, func(who claims) any {
		price := map[bool]string{true: "10.00", false: "8.00"}
		return map[string]string{"price": price[who.Tier == "low"]}
	}))
	routes.HandleFunc("/order", attested(authorized, func(who claims) any { return map[string]string{"orderedBy": who.Key} }))
	routes.HandleFunc("/prize", attested(spent, func(who claims) any { return map[string]string{"wonBy": who.Key} }))
	listener, err := net.Listen("tcp", "127.0.0.1:"+setting("PORT", "0"))
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", listener.Addr())
	server := http.Server{Handler: routes, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}
