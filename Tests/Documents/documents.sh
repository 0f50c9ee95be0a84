#!/usr/bin/env bash
# Prints JSON documents of every kind of docs/schemas. Scripts/check-schemas runs it in an empty folder, between the servers of
# Scripts/loopback-servers, a simulated Apple and a service, and validates what it prints.
set -uo pipefail

# A command whose exit status is at most 2, and 2 only with a document, unless its file may be malformed.
document() {
    local status=0
    sealward "$@" --format json > out 2> err || status=$?
    cat out
    if [ "$status" -gt 2 ] || { [ ! -s out ] && [ "${malformed:-}" = "" ]; }; then
        echo "documents.sh: 'sealward $*' ended with $status: $(cat err)" >&2
        exit 1
    fi
}
# The arguments that lead to servers of these kinds.
on() {
    python3 - "$@" << 'END'
import json, os, sys
places = json.load(open(os.environ["SERVERS"]))["kinds"]
for place in (places[kind] for kind in sys.argv[1:] or places):
    host, port = place["host"], place["port"]
    print(f"https://{host}:{port}/ --resolve {host}:{port}:127.0.0.1 --resolve www.example.com:{port}:127.0.0.1")
END
}
# A member of a JSON document.
member() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

# App Transport Security
read -ra all <<< "$(on | tr '\n' ' ')"
read -ra modern <<< "$(on modern)"
read -ra static <<< "$(on suite-static-aes128-gcm-sha256)"
plist() { echo "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>NSAppTransportSecurity</key><dict>$1</dict></dict></plist>"; }
cat > ats.json << 'END'
{"NSAllowsLocalNetworking": true,
 "NSPinnedDomains": {"b.example": {"NSPinnedCAIdentities": [{"SPKI-SHA256-BASE64": "r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E="}]}},
 "NSExceptionDomains": {"api.example.com": {"NSIncludesSubdomains": true, "NSExceptionAllowsInsecureHTTPLoads": true}}}
END
plist '<key>NSAllowArbitraryLoads</key><true/><key>NSAllowsArbitraryLoads</key><true/>' > Info.plist
plist '<key>NSExceptionDomains</key><dict><key>api.example.com</key><dict><key>NSExceptionRequiresForwardSecrecy</key><false/></dict><key>dead.example</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string></dict></dict>' > Exceptions.plist
echo '<plist><dict>' > broken.plist
mkdir net
cp Info.plist net
echo '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net9.0-ios</TargetFramework><UseNativeHttpHandler>false</UseNativeHttpHandler></PropertyGroup></Project>' > net/App.csproj
cat > console.txt << 'END'
2026-11-22 10:00:01.123 Shop[412:9] Task <6A1B>.<1> finished with error [-1022] Error Domain=NSURLErrorDomain Code=-1022 UserInfo={NSErrorFailingURLStringKey=http://api.example.com/}
2026-11-22 10:00:02.000 Shop[412:9] Task <6A1B>.<2> finished with error [-1200] Error Domain=NSURLErrorDomain Code=-1200 "x" UserInfo={NSErrorFailingURLStringKey=https://b.example/, _kCFStreamErrorCodeKey=-9802, _kCFStreamErrorDomainKey=3}
2026-11-22 10:00:03.000 Shop[412:9] [boringssl] boringssl_context_handle_fatal_alert(2091) [C1] read alert, level: fatal, description: protocol version
END
for system in ios9 ios17 macos26 published; do
    document ats explain http://a.example/ https://api.example.com/ http://192.0.2.1/ https://b.example/ http://h.local/ --ats-json ats.json --os "$system"
done
document ats explain http://a.example/ --loader dotnet-managed
document ats check "${all[@]}" --ca-file "$CA" --timeout 10 --expires-within 4000
document ats check "${all[@]}" --timeout 10 --info-plist Exceptions.plist --systems ios12,ios26,macos26
document ats check "${modern[@]}" "${static[@]}" --ca-file "$CA" --for managed
document ats check http://api.example.com:9/ --resolve api.example.com:9:127.0.0.1
sealward ats check "${all[@]}" --ca-file "$CA" --timeout 10 --format jsonl
sealward ats check "${all[@]}" --ca-file "$CA" --timeout 10 --format jsonl --shard 1/1 --history fleet.sqlite
document ats check "${all[@]}" --timeout 10 --shard 1/1 --history fleet.sqlite
document ats history fleet.sqlite
for kind in modern suite-static-aes128-gcm-sha256 expired refused redirect-http-other-host; do
    read -ra server <<< "$(on "$kind")"
    document ats fetch "${server[@]}" --ca-file "$CA"
    document ats minimize "${server[@]}" --ca-file "$CA" --info-plist Exceptions.plist
done
document ats fetch http://a.example/
mapfile -t chains < <(grep -l 'BEGIN CERTIFICATE' "$(member folder < "$SERVERS")"/*.pem | awk 'NR % 3 == 1')
for chain in "${chains[@]}"; do document ats certificate "$chain" --host api.example.com --ca-file "$CA"; done
document doctor Info.plist net
document ats lint Info.plist Exceptions.plist net
document ats lint Info.plist --against Exceptions.plist --minimum-os ios9
document ats lint Info.plist broken.plist --justify
document ats lint Info.plist --baseline baseline.json --update-baseline
cat baseline.json
document ats rules
document ats rules ATS011
document ats systems
document ats log console.txt
sealward ats check "${static[@]}" --ca-file "$CA" --format nscurl --verbose | sed '0,/PASS/s//FAIL/' > transcript.txt
document ats compare transcript.txt "${static[@]:1}" --ca-file "$CA"
port="$(echo "${modern[0]}" | tr -dc 0-9)"
sealward ats proxy --listen "$PROXY" --ca-file "$CA" --resolve "*:$port:127.0.0.1" --format json 2> proxy.log &
until grep -q listening proxy.log; do sleep 0.05; done
for target in "https://api.example.com:$port/" http://a.example/; do curl -s -o out --cacert "$CA" -x "http://$PROXY" "$target"; done
kill %1
wait

# Attestations, assertions and receipts
vector="$ROOT/Tests/Vectors/appattest/apple-guide-2026-ios27.json"
member attestation < "$vector" > attestation.b64
python3 -c 'import json, sys; print(json.load(sys.stdin)["attestationReceipt"]["der_or_ber"])' < "$vector" > receipt.b64
app=(--app-id 1234567890.com.example.myapp)
known=("${app[@]}" --key-id zgSY9YSD+7TaDXssY6WlOPVS1K3Lmk+pFhlcSWE+ZV0= --environment production --at 2026-04-21T18:13:12Z)
document attest inspect attestation.b64
document attest verify attestation.b64 "${known[@]}" --client-data-hash ZXhhbXBsZV9zZXJ2ZXJfY2hhbGxlbmdl
document attest verify attestation.b64 "${known[@]}" --challenge another
document receipt inspect receipt.b64
document receipt verify receipt.b64 "${app[@]}" --at 2026-04-21T18:13:13Z
document receipt verify receipt.b64 "${app[@]}" --at 2027-04-21T18:13:13Z
sealward simulate verifier-tests --export cases > out
cat cases/cases.json
# The words of every fourth question, one a line, and its root as root-ID.pem.
python3 - << 'END' > questions
import json, shlex
for case in json.load(open("cases/cases.json"))["cases"][::4]:
    kind, file, pem = case["kind"], f"cases/{case['id']}.bin", f"root-{case['id']}.pem"
    root = case.get("receiptRoot" if kind == "receipt" else "attestationRoot")
    if root:
        open(pem, "w").write(root)
    verify = {
        "attestation": ["attest", "verify", file, "--environment", case.get("environment"), "--key-id", case.get("keyId"), "--client-data-hash", case.get("clientDataHash"), "--trust-root", pem],
        "assertion": ["attest", "verify-assertion", file, "--public-key", case.get("publicKey"), "--client-data-hash", case.get("clientDataHash"), "--counter", str(case.get("previousCounter"))],
        "receipt": ["receipt", "verify", file, "--trust-root", pem],
    }[kind]
    print("receipt" if kind == "receipt" else "attest", file, shlex.join([*verify, "--app-id", case["appId"]]))
END
while read -r noun file words; do
    malformed=1 document "$noun" inspect "$file"
    eval "document $words"
done < questions
cat > adapter.py << 'END'
import sys
for line in sys.stdin:
    open("asked", "a").write(line)
    print('{"verdict": "accepted"}', flush=True)
END
document simulate verifier-tests --command "python3 adapter.py"
cat asked
document simulate faults
for code in ats.tls.version-too-low token.spent; do document explain "$code"; done
document explain
document ramp --daily-users 1000000
document init another

# The service
by=(--url "$SERVICE" --token-file "$TRUST/admin.token")
document simulate fleet --service "$SERVICE" --apple "$APPLE" --app shop --app-id SIMTEAM001.com.example.shop --devices 30 \
    --server-token-file "$TRUST/server.token" --admin-token-file "$TRUST/admin.token"
ask() { curl -s -H "Content-Type: application/json" "$@"; }
# Problem documents of every layer, with the members that some of them have.
ask "$SERVICE/nowhere"
ask "$SERVICE/v1/apps/none/challenges" -d '{"purpose": "attestation"}'
ask "$SERVICE/v1/apps/shop/challenges" -d '{"purpose": 1}'
ask "$SERVICE/v1/apps/shop/challenges" -d '{"purpose": "attestation"}' -H "Content-Type: text/plain"
ask "$SERVICE/v1/apps/shop/attestations" -d '{"keyId": "x", "attestation": "x", "challenge": "x"}'
ask "$SERVICE/v1/apps/shop/assertions" -d "{\"keyId\": \"$(printf 'A%.0s' {1..43})=\", \"assertion\": \"oA==\", \"clientData\": \"e30=\"}"
ask "$SERVICE/v1/keys" -H "Authorization: Bearer wrong"
ask "$SERVICE/v1/authorize"
ask "$SERVICE/metrics" -d '{}' -H "Authorization: Bearer $(cat "$TRUST/admin.token")"
document keys list "${by[@]}" --app shop
document keys list "${by[@]}" | tee keys.json
key="$(python3 -c 'import json; print(json.load(open("keys.json"))["keys"][0]["keyId"])')"
document keys revoke "${by[@]}" "$key"
document keys restore "${by[@]}" "$key"
document keys revoke "${by[@]}" --app shop --simulated
document keys delete "${by[@]}" "$key"
document secrets rotate challenges "${by[@]}"
document secrets rotate untrusted-tokens "${by[@]}"
document audit "${by[@]}"
document store check "${by[@]}"
document store check --store "sqlite:$TRUST/sealward.sqlite"
document tokens new --name ci --scope server:shop
document tokens new --name ci --scope admin --expires 2027-06-30
ask "$APPLE/device/v1/devices" -d '{"device": "phone"}' > out
ask "$APPLE/device/v1/devices/phone/token" -d '{"app": "SIMTEAM001.com.example.shop"}' | member deviceToken > token.txt
echo AAAA > wrong.txt
devicecheck() { document devicecheck "$@" --team-id SIMTEAM001 --key-id SIMKEY0001 --key-file "$TRUST/AuthKey_SIMKEY0001.p8" --base-url "$APPLE"; }
for token in token.txt wrong.txt; do devicecheck query --device-token-file "$token"; done
devicecheck update --device-token-file token.txt --bit0 true --bit1 false
devicecheck query --device-token-file token.txt
devicecheck validate --device-token-file token.txt
