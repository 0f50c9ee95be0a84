// Checks a token of the trust service: `go run check_token.go JWKS-URL ISSUER AUDIENCE APP-ID [ENVIRONMENT] < token`. Needs the standard library only.
// Offline: a revoked key passes until its token expires. Ask /v1/authorize if that is too long.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"strings"
	"time"
)

type keySet struct {
	Keys []struct{ Kid, X, Y string } `json:"keys"`
}

func check(token string, set keySet, issuer, audience, app, environment string, now time.Time) (map[string]any, error) {
	decode := base64.RawURLEncoding.DecodeString
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("not a token")
	}
	head, body := map[string]any{}, map[string]any{}
	for i, target := range []*map[string]any{&head, &body} {
		if bytes, err := decode(parts[i]); err != nil || json.Unmarshal(bytes, target) != nil {
			return nil, errors.New("not a token")
		}
	}
	signature, err := decode(parts[2])
	if err != nil || len(signature) != 64 || head["alg"] != "ES256" {
		return nil, errors.New("unknown algorithm")
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	for _, key := range set.Keys {
		x, _ := decode(key.X)
		y, _ := decode(key.Y)
		public := ecdsa.PublicKey{Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}
		if key.Kid != head["kid"] || !ecdsa.Verify(&public, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
			continue
		}
		expires, _ := body["exp"].(float64)
		audiences := fmt.Sprint(body["aud"])
		if int64(expires) <= now.Unix() || body["iss"] != issuer || body["sub"] != app || (audiences != audience && audiences != "["+audience+"]") {
			return nil, errors.New("expired, or a token for somebody else")
		}
		// Simulated devices have an issuer of their own.
		if body["env"] != environment || body["sim"] != strings.HasSuffix(issuer, "/simulator") {
			return nil, errors.New("another environment, or a simulated device's token")
		}
		// Only the service knows whether a single-use token is used for the first time: consume it there (POST /v1/tokens/consume).
		if body["singleUse"] == true {
			return nil, errors.New("a single-use token")
		}
		return body, nil
	}
	return nil, errors.New("wrong key or signature")
}

func main() {
	var set keySet
	answer, err := http.Get(os.Args[1])
	if err == nil {
		err = json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&set)
	}
	token, _ := io.ReadAll(io.LimitReader(os.Stdin, 1<<14))
	environment := "production"
	if len(os.Args) > 5 {
		environment = os.Args[5]
	}
	claims, problem := check(strings.TrimSpace(string(token)), set, os.Args[2], os.Args[3], os.Args[4], environment, time.Now())
	if err == nil {
		err = problem
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "refused:", err)
		os.Exit(1)
	}
	fmt.Println(claims["key"])
}
