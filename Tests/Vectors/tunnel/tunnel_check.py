# Sealward: the open trust stack between Apple apps and their servers.
# SPDX-License-Identifier: Apache-2.0
"""A TLS server and its clients, with a proxy between them: tunnel_check.py PROXY_PORT FOLDER CA.

Prints one line for each thing that went through the tunnel intact.
"""
import base64, hashlib, http.client, os, socket, ssl, subprocess, sys, tempfile, threading, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

proxy, folder, authority = int(sys.argv[1]), sys.argv[2], sys.argv[3]
BIG = os.urandom(10_000_000)
DIGEST = hashlib.sha256(BIG).hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.headers.get("Upgrade") != "websocket":
            return self.answer(BIG if self.path == "/big" else b"small")
        accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode())
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"),
                            ("Sec-WebSocket-Accept", base64.b64encode(accept.digest()).decode())):
            self.send_header(name, value)
        self.end_headers()
        head = self.rfile.read(2)
        length = head[1] & 0x7F
        mask = self.rfile.read(4)
        text = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(length)))
        self.wfile.write(bytes([0x81, length]) + text)
        self.close_connection = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(hashlib.sha256(body).hexdigest().encode())


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{folder}/ip.pem", f"{folder}/rsa2048.key")
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_address[1]
trust = ssl.create_default_context(cafile=authority)

one = http.client.HTTPSConnection("127.0.0.1", proxy, context=trust, timeout=30)
one.set_tunnel("127.0.0.1", port)
one.request("GET", "/big")
kept = one.sock
if hashlib.sha256(one.getresponse().read()).hexdigest() == DIGEST:
    print("10 MB down")
one.request("POST", "/", body=BIG)
if one.getresponse().read().decode() == DIGEST:
    print("10 MB up")
if one.sock is kept:
    print("kept alive")

opener = urllib.request.build_opener(urllib.request.ProxyHandler({"https": f"http://127.0.0.1:{proxy}"}),
                                     urllib.request.HTTPSHandler(context=trust))
if opener.open(f"https://127.0.0.1:{port}/", timeout=30).read() == b"small":
    print("urllib")

def curl(*arguments):
    common = ["curl", "-sS", "-m", "30", "-x", f"http://127.0.0.1:{proxy}", "--cacert", authority]
    return subprocess.run([*common, *arguments], capture_output=True, timeout=40).stdout


if hashlib.sha256(curl(f"https://127.0.0.1:{port}/big")).hexdigest() == DIGEST:
    print("curl 10 MB down")
with tempfile.NamedTemporaryFile() as upload:
    upload.write(BIG)
    upload.flush()
    if curl("--data-binary", "@" + upload.name, f"https://127.0.0.1:{port}/").decode() == DIGEST:
        print("curl 10 MB up")
if curl("-w", " %{num_connects} ", *[f"https://127.0.0.1:{port}/"] * 3) == b"small 1 small 0 small 0 ":
    print("curl kept alive")

plain = socket.create_connection(("127.0.0.1", proxy), timeout=30)
plain.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
answer = b""
while not answer.endswith(b"\r\n\r\n"):
    answer += plain.recv(1)
tls = trust.wrap_socket(plain, server_hostname="127.0.0.1")
tls.sendall(b"GET /socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
upgraded = b""
while not upgraded.endswith(b"\r\n\r\n"):
    upgraded += tls.recv(1)
mask = b"\x01\x02\x03\x04"
tls.sendall(bytes([0x81, 0x85]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(b"hello")))
frame = b""
while len(frame) < 7:
    frame += tls.recv(7 - len(frame))
if b" 101 " in upgraded and b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in upgraded and frame == b"\x81\x05hello":
    print("websocket")
