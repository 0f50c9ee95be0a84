# Sealward: the open trust stack between Apple apps and their servers.
# SPDX-License-Identifier: Apache-2.0
"""What commands need around them to do something real: servers with flaws, a simulated Apple and a service, on free ports of this machine.

Scripts/requirements, Scripts/check-schemas and Scripts/cli-pages run their commands in it; Scripts/soak takes its ports.
"""
import contextlib, json, os, pathlib, socket, subprocess, sys, time, urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait(url):
    """Until something answers, or the end of the program after thirty seconds."""
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=5)
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: nothing answers at {url}")


class Surroundings:
    """Where everything is: `known` is what Scripts/loopback-servers printed; `environment` has the same places for a shell."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.trust = f"{folder}/trust"
        ports = free_port(), free_port()
        self.service, self.apple = (f"http://127.0.0.1:{port}" for port in ports)
        names = pathlib.Path(folder, "bin")
        names.mkdir()
        (names / "sealward").symlink_to(program)
        self.environment = {
            **os.environ, "NO_COLOR": "1", "PATH": f"{names}:{os.environ['PATH']}:/usr/sbin:/sbin", "ROOT": str(ROOT), "TRUST": self.trust,
            "SERVICE": self.service, "APPLE": self.apple, "PROXY": f"127.0.0.1:{free_port()}",
        }

    def on(self, kind):
        """The arguments that lead a command to one of the servers with flaws, its root not among them."""
        place = self.known["kinds"][kind]
        host, port = place["host"], place["port"]
        return [f"https://{host}:{port}/", "--resolve", f"{host}:{port}:127.0.0.1", "--resolve", f"www.example.com:{port}:127.0.0.1"]


@contextlib.contextmanager
def surroundings(program, folder):
    """Starts everything, and ends it in the other order."""
    here, started = Surroundings(program, folder), []
    try:
        servers = subprocess.Popen([sys.executable, str(ROOT / "Scripts/loopback-servers")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(servers)
        here.known = json.loads(servers.stdout.readline())
        pathlib.Path(folder, "servers.json").write_text(json.dumps(here.known))
        here.environment |= {"SERVERS": f"{folder}/servers.json", "CA": here.known["ca"]}
        service, apple = (address.removeprefix("http://") for address in (here.service, here.apple))
        subprocess.run([program, "init", here.trust, "--listen", service, "--apple", apple], check=True, stdout=subprocess.DEVNULL)
        # Receipts are renewed at once, and the tests play several addresses.
        file = pathlib.Path(here.trust, "sealward.json")
        settings = json.loads(file.read_text())
        settings["receipts"] = {"refreshAfterSeconds": 1, "pollSeconds": 1}
        settings["trustedProxies"] = ["127.0.0.1"]
        settings["limits"] = {"requestsPerSecondPerAddress": 100000}
        file.write_text(json.dumps(settings))
        log = open(f"{folder}/log", "wb")
        started.append(subprocess.Popen(
            [program, "simulate", "apple", "--seed-file", f"{here.trust}/simulator.seed", "--listen", apple, "--team", "SIMTEAM001:SIMKEY0001",
             "--refresh-after", "1"], stderr=log))
        started.append(subprocess.Popen([program, "serve", "--config", str(file)], stderr=log))
        wait(f"{here.service}/readyz")
        wait(f"{here.apple}/control/state")
        yield here
    finally:
        for process in reversed(started):
            if process.stdin:
                process.stdin.close()
            else:
                process.terminate()
            process.wait()
