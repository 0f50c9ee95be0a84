# Sealward: the open trust stack between Apple apps and their servers.
# SPDX-License-Identifier: Apache-2.0
"""The gateways: where their programs are, and how each is started as its folder has it."""
import os
import re
import shutil
import subprocess
import time

from parts import Failed, Talk, folder, free_ports, listens, reachable, start

here = os.path.dirname(os.path.abspath(__file__))
venv = os.path.join(os.path.dirname(os.path.dirname(here)), ".build/gateways")
NGINX_WORDS = ["-p", ".", "-e", "error.log", "-c", "nginx.conf"]
ENVOY_WORDS = ["-c", "envoy.yaml", "--concurrency", "1", "--base-id-path", "base-id", "--use-dynamic-base-id"]


def program(name, *more):
    places = [*more, os.path.join(venv, "bin", name), f"/usr/sbin/{name}", f"/usr/bin/{name}"]
    return next((p for p in places if os.path.exists(p)), shutil.which(name))


def envoy():
    found = [os.path.join(d, "_bin/envoy") for d in
             [os.path.join(venv, "lib", v, "site-packages/envoy") for v in (os.listdir(f"{venv}/lib") if os.path.isdir(f"{venv}/lib") else [])]]
    return next((p for p in found if os.path.exists(p)), shutil.which("envoy"))


# The words with which each program is started in its folder, and those that make it say its version.
GATEWAYS = {
    "nginx": (program("nginx"), NGINX_WORDS, ["-v"]),
    "haproxy": (program("haproxy"), ["-f", "haproxy.cfg"], ["-v"]),
    "apache": (program("apache2"), ["-d", ".", "-f", "httpd.conf", "-DFOREGROUND"], ["-v"]),
    "caddy": (program("caddy"), ["run", "--config", "Caddyfile"], ["version"]),
    "traefik": (program("traefik"), ["--configFile=traefik.yml"], ["version"]),
    **{name: (envoy(), ENVOY_WORDS, ["--version"])
       for name in ("envoy", "ext_authz")},
}


def launch(name, trust, upstream, question, more=("", "")):
    """The gateway as its folder has it, with other addresses and another question; `more` is a line, and the same with another behind it."""
    command, words, _ = GATEWAYS[name]
    place = os.path.join(folder, f"{name}-{time.monotonic_ns()}")
    shutil.copytree(os.path.join(here, name), place)
    for attempt in range(3):
        port, other = free_ports(2)
        for file in os.listdir(os.path.join(here, name)):
            with open(os.path.join(here, name, file)) as source, open(os.path.join(place, file), "w") as target:
                text = source.read()
                text = re.sub(r"\b(8000|8001|8080|9000)\b", r"<\1>", text)
                for old, new in [("8000", port), ("8001", other), ("8080", trust.port), ("9000", upstream.port)]:
                    text = text.replace(f"<{old}>", str(new))
                text = text.replace(*more).replace("?app=shop", question)
                target.write(text)
        for path in [place, *(os.path.join(place, file) for file in os.listdir(place))]:
            if os.geteuid() == 0:
                os.chown(path, 65534, 65534)
        second = other if name == "nginx" else port
        try:
            def ready(log):
                return listens(port) and listens(second) and answers_open(port)
            process, _ = start(f"{place}.log", [reachable(command), *words], ready, cwd=place, ordinary=True)
            return process, port, second, f"{place}.log"
        except Failed as failure:
            if attempt == 2 or "in use" not in str(failure):
                raise
    raise Failed(f"{name}: no port")


def answers_open(port):
    """Whether the gateway has read its routes."""
    talk = Talk(port, "127.0.0.1")
    talk.send(b"GET /open/ready HTTP/1.1\r\nHost: gateway.example\r\nConnection: close\r\n\r\n")
    answer = talk.answer()
    talk.close()
    return answer is not None and answer.status == 200


def version(name):
    command, _, words = GATEWAYS[name]
    done = subprocess.run([command, *words], capture_output=True, text=True)
    return re.search(r"\d+\.\d+\.\d+", done.stdout + done.stderr).group(0)
