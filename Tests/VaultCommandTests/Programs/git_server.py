#!/usr/bin/env python3
"""A web server on loopback before git's own http backend, with basic authentication.

git_server.py ROOT USERS PORT_FILE: repositories below ROOT; USERS is a file of `name:password` lines, read anew for each
request; the port is written to PORT_FILE when the server listens. Each request is a line "STATUS USER PATH" on standard output.
"""

import base64
import os
import pathlib
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT, USERS, PORT_FILE = sys.argv[1:]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.serve(b"")

    def do_POST(self) -> None:
        self.serve(self.body())

    def log_message(self, *_: object) -> None:
        pass

    def user(self) -> str | None:
        scheme, _, encoded = self.headers.get("Authorization", "").partition(" ")
        if scheme != "Basic":
            return None
        given = base64.b64decode(encoded).decode()
        return given.partition(":")[0] if given in pathlib.Path(USERS).read_text().splitlines() else None

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def serve(self, body: bytes) -> None:
        user = self.user()
        if user is None:
            self.answer(401, [("WWW-Authenticate", 'Basic realm="test"')], b"", "-")
            return
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": ROOT,
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": user,
            "REMOTE_ADDR": "127.0.0.1",
        }
        # The backend takes the repository's owner for a stranger where tests run as another user.
        command = ["git", "-c", "safe.directory=*", "http-backend"]
        out = subprocess.run(command, input=body, env=environment, capture_output=True, check=True).stdout
        head, _, content = out.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n")]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200)
        self.answer(status, [(name, value) for name, value in headers if name != "Status"], content, user)

    def answer(self, status: int, headers: list[tuple[str, str]], content: bytes, user: str) -> None:
        print(status, user, self.path, flush=True)
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
partial = pathlib.Path(PORT_FILE + ".new")
partial.write_text(str(server.server_port))
partial.rename(PORT_FILE)
server.serve_forever()
