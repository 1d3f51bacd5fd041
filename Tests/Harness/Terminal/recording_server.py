#!/usr/bin/env python3
"""A web server on loopback that records what it is sent, for the harness part `terminal`.

recording_server.py ROOT USER PASSWORD PORT_FILE LOG: static files below ROOT for who names USER and PASSWORD (repositories over
git's "dumb" protocol). The port is written to PORT_FILE when the server listens; the decoded credentials of each request that has
some are a line of hexadecimal digits in LOG.
"""

import base64
import functools
import pathlib
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

ROOT, USER, PASSWORD, PORT_FILE, LOG = sys.argv[1:]


class Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        header = self.headers.get("Authorization")
        given = b"" if header is None else base64.b64decode(header.partition(" ")[2])
        if header is not None:
            with open(LOG, "a") as log:
                log.write(given.hex() + "\n")
        if given == f"{USER}:{PASSWORD}".encode():
            super().do_GET()
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="test"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Clients are killed; what they leave half done is no news."""


server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=ROOT))
partial = pathlib.Path(PORT_FILE + ".new")
partial.write_text(str(server.server_port))
partial.rename(PORT_FILE)
server.serve_forever()
