"""A real service with a simulated Apple and a phone, for the checks of the examples. Standard library and openssl only."""
import atexit, base64, json, os, re, signal, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, f"{ROOT}/Examples/python-client")
import client  # noqa: E402

APP = "SIMTEAM001.com.example.shop"
ISSUER, AUDIENCE = "https://trust.example.com", "shop-api"
SERVER_TOKEN, ADMIN_TOKEN = "server-token-of-the-examples-0123456789", "admin-token-of-the-examples-0123456789"


def post(url, body):
    status, answer = client.post(url, body)
    return answer if status in (200, 201) else sys.exit(f"{url}: {status} {answer}")


def claims(token):
    return json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))


class Service:
    """Runs until ``stop`` or the end; ``base`` and ``apple`` are its addresses. `words` go to `serve`, `settings` into its configuration."""

    def __init__(self, program, folder, *words, **settings):
        self.program, self.folder, self.running = os.path.abspath(program), folder, []
        atexit.register(self.stop)
        self.apple = self.start([self.program, "simulate", "apple", "--listen", "127.0.0.1:0", "--attestation-root", "a.pem", "--receipt-root", "r.pem"])
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{folder}/k.ec"], check=True)
        subprocess.run(["openssl", "pkcs8", "-topk8", "-nocrypt", "-in", f"{folder}/k.ec", "-out", f"{folder}/token.pem"], check=True)
        for name, token in [("server", SERVER_TOKEN), ("admin", ADMIN_TOKEN)]:
            with open(os.open(f"{folder}/{name}.token", os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write(token)
        os.chmod(f"{folder}/token.pem", 0o600)
        self.settings = {"listen": "127.0.0.1:0", "store": f"sqlite:{folder}/s.sqlite",
                         "serverTokenFile": f"{folder}/server.token", "adminTokenFile": f"{folder}/admin.token",
                         "trustSimulator": {"attestationRoot": f"{folder}/a.pem", "receiptRoot": f"{folder}/r.pem"},
                         "tokens": {"issuer": ISSUER, "audience": AUDIENCE, "keyFiles": [f"{folder}/token.pem"]},
                         "apps": [{"id": "shop", "teamId": "SIMTEAM001", "bundleIds": ["com.example.shop"], "binding": "challenge",
                                   "environments": ["production", "development"], "untrusted": "allow"}]}
        self.serve(*words, **settings)

    def serve(self, *words, **settings):
        """Starts the service; `settings` replace those of before."""
        self.settings.update(settings)
        with open(f"{self.folder}/sealward.json", "w") as file:
            json.dump(self.settings, file)
        self.base = self.start([self.program, "serve", "--config", f"{self.folder}/sealward.json", *words])

    def end(self):
        """Stops what was started last, as a supervisor does."""
        process = self.running.pop()
        process.terminate()
        process.wait(30)

    def start(self, words, pattern=r"(http://127\.0\.0\.1:\d+)", **more):
        """Starts a program and waits until it names its address; `log` is the file of what it says."""
        self.log = log = os.path.join(self.folder, f"log{len(self.running)}")
        with open(log, "w") as errors:
            process = subprocess.Popen(words, stderr=errors, stdout=errors, cwd=more.pop("cwd", self.folder), **more)
        self.running.append(process)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if found := re.search(r"(?:listening|running) on " + pattern, open(log).read()):
                return found.group(1)
            time.sleep(0.05)
        sys.exit(f"{' '.join(words)} did not start:\n{open(log).read()}")

    def token(self, use, environment="production", app="shop"):
        """A token of a new key: for `many` uses or a `single` one."""
        done = subprocess.run([sys.executable, f"{ROOT}/Examples/python-client/client.py", self.base, self.apple, app, f"SIMTEAM001.com.example.{app}",
                               use, environment], capture_output=True, text=True)
        return sys.exit(done.stdout + done.stderr) if done.returncode else done.stdout.split()[-1]

    def untrusted_token(self, app="shop"):
        """A token of a caller that cannot attest."""
        app = f"{self.base}/v1/apps/{app}"
        challenge = post(f"{app}/challenges", {"purpose": "attest"})["challenge"]
        return post(f"{app}/tokens/untrusted", {"reason": "unsupported", "challenge": challenge})["token"]

    def app_check_token(self, app):
        """A token that a new key gets as App Check's client in Objective-C asks for it, and the key."""
        phones, app = f"{self.apple}/device/v1/devices", f"{self.base}/v1/{app}"
        phone = f"{phones}/{post(phones, {'os': '27.0'})['device']}"
        key = post(f"{phone}/keys", {"app": APP})["keyId"]
        challenge = post(f"{app}:generateAppAttestChallenge", {})["challenge"]
        made = post(f"{phone}/attest", {"keyId": key, "clientDataHash": client.digest(base64.b64decode(challenge))})
        body = {"key_id": key, "attestation_statement": made["attestation"], "challenge": challenge}
        return post(f"{app}:exchangeAppAttestAttestation", body)["appCheckToken"]["token"], key

    def stop(self):
        for process in self.running:
            process.send_signal(signal.SIGKILL)
            process.wait()
