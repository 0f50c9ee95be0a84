# Sealward: the open trust stack between Apple apps and their servers.
# SPDX-License-Identifier: Apache-2.0
"""What commands need around them to do something real: servers with flaws, a simulated Apple and a service, on free ports of this machine.

Tests/Acceptance/mission, Scripts/check-schemas and Scripts/doc-commands run their commands in it; Benchmarks/tools/soak, Benchmarks/tools/nodes and Benchmarks/tools/failover start theirs with it.
"""
import contextlib, glob, json, os, pathlib, re, shutil, signal, socket, subprocess, sys, time, urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def loopback_address(number):
    """The loopback address of a number: 127.1.0.1, 127.1.0.2 and so on, 250 in each /24 and 250 of those in each /16."""
    return f"127.{1 + number // 62500}.{number // 250 % 250}.{number % 250 + 1}"


def wait(url):
    """Until something answers, or the end of the program after thirty seconds."""
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=5)
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: nothing answers at {url}")


def processor_seconds(process, with_ended=False):
    """Seconds of processor time of a process; with those of its children that have ended, if asked for."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15 if with_ended else 13]) / os.sysconf("SC_CLK_TCK")


def children(process):
    """The processes that a process has started, and theirs."""
    found = []
    for task in glob.glob(f"/proc/{process}/task/*/children"):
        with contextlib.suppress(OSError):
            for child in pathlib.Path(task).read_text().split():
                found += [int(child), *children(int(child))]
    return found


class Fault(Exception):
    pass


class Child:
    """A program that says where it listens, stopped by its id."""

    def __init__(self, name, folder, command, **more):
        self.name, self.log, self.began = name, f"{folder}/{name.replace(' ', '-')}.log", time.monotonic()
        with open(self.log, "a") as out:
            self.start = out.tell()
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, **more)
        self.address = self.wait(lambda: re.findall(r"listening on (?:http://)?(\S+:\d+)", self.text()))[-1]

    def text(self):
        """What it has written since it was started; a program of the same name before it wrote to the same file."""
        with open(self.log, errors="replace") as file:
            file.seek(self.start)
            return file.read()

    def wait(self, ready, patience=60):
        """What is ready, as soon as it is; a fault if the program ends or runs out of patience first."""
        deadline = time.monotonic() + patience
        while not (found := ready()):
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.stop()
                raise Fault(f"{self.name} did not get ready: {self.text()[-2000:]}")
            time.sleep(0.005)
        return found

    def look(self):
        """Resident memory in KiB and open descriptors."""
        base = f"/proc/{self.process.pid}"
        memory = int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(base, "status").read_text())[1])
        return memory, len(os.listdir(f"{base}/fd"))

    def processor(self):
        """Seconds of processor time so far."""
        return processor_seconds(self.process.pid)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Postgres:
    """A cluster of its own on a free port."""

    PROGRAMS = "/usr/lib/postgresql/*/bin"

    @staticmethod
    def is_there():
        return bool(glob.glob(Postgres.PROGRAMS))

    def __init__(self, folder, port=None, primary=None):
        """With a primary, its streaming standby."""
        self.programs = max(glob.glob(Postgres.PROGRAMS), key=lambda path: int(path.split("/")[-2]))
        self.port = port or free_port()
        self.folder = f"{folder}/postgres-{self.port}"
        os.mkdir(self.folder, 0o700)
        # PostgreSQL does not run as root.
        self.user = "postgres" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        if primary:
            self.run("pg_basebackup", "-D", f"{self.folder}/data", "-h", "127.0.0.1", "-p", str(primary.port), "-U", "sealward", "-R", "-X", "stream", "--checkpoint=fast")
        else:
            self.run("initdb", "-D", f"{self.folder}/data", "-A", "trust", "-U", "sealward", "-E", "UTF8")
        self.start()

    def run(self, name, *words):
        done = subprocess.run([f"{self.programs}/{name}", *words], user=self.user, capture_output=True, text=True, cwd="/", stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Fault(f"{name}: {done.stdout}{done.stderr}")
        return done.stdout

    def query(self, text):
        return self.run("psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text, self.url).strip()

    def promote(self):
        """Makes a standby a primary, on a timeline of its own; returns once it takes writes."""
        self.control("promote")

    def freeze(self):
        """Stops all processes where they are: the system still takes connections, and nobody answers. Returns the processes."""
        first = int(pathlib.Path(self.folder, "data/postmaster.pid").read_text().split("\n")[0])
        frozen = [first, *children(first)]
        for process in frozen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        return frozen

    def remove(self):
        """Removes the files of a server that was stopped."""
        shutil.rmtree(self.folder)

    def control(self, *words):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-s", "-l", f"{self.folder}/log", *words)

    def start(self):
        self.control("-o", f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=", "start")

    def stop(self):
        self.control("-m", "immediate", "stop")

    def processor(self):
        """Seconds of processor time so far, of the server and of what it started."""
        first = int(pathlib.Path(self.folder, "data/postmaster.pid").read_text().split("\n")[0])
        return processor_seconds(first, with_ended=True) + sum(processor_seconds(child) for child in children(first))

    @property
    def url(self):
        return f"postgres://sealward@127.0.0.1:{self.port}/postgres"


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
def flawed_servers(*words):
    """Runs Scripts/loopback-servers and gives what it prints; the end of its input stops it."""
    with subprocess.Popen([sys.executable, str(ROOT / "Scripts/loopback-servers"), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as servers:
        line = servers.stdout.readline()
        yield json.loads(line) if line else sys.exit("the servers with flaws did not start")


@contextlib.contextmanager
def surroundings(program, folder):
    """Starts everything, and ends it in the other order."""
    here = Surroundings(program, folder)
    with flawed_servers() as here.known, contextlib.ExitStack() as started:
        def start(*words):
            process = subprocess.Popen([program, *words], stderr=log)
            started.callback(process.wait)
            started.callback(process.terminate)

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
        log = started.enter_context(open(f"{folder}/log", "wb"))
        start("simulate", "apple", "--seed-file", f"{here.trust}/simulator.seed", "--listen", apple, "--team", "SIMTEAM001:SIMKEY0001",
              "--refresh-after", "1")
        start("serve", "--config", str(file))
        wait(f"{here.service}/readyz")
        wait(f"{here.apple}/control/state")
        yield here
