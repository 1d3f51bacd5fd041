#!/usr/bin/env python3
"""A mail server on loopback that wants one user's password: smtp_server.py USER PASSWORD PORT_FILE. Writes mails to standard output."""

import base64
import pathlib
import socketserver
import sys

USER, PASSWORD, PORT_FILE = sys.argv[1:]
EXPECTED = base64.b64encode(f"\0{USER}\0{PASSWORD}".encode()).decode()


class Handler(socketserver.StreamRequestHandler):
    def say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")

    def handle(self) -> None:
        is_known = False
        self.say("220 test")
        for raw in self.rfile:
            line = raw.decode().rstrip("\r\n")
            verb, _, rest = line.partition(" ")
            match verb.upper():
                case "EHLO":
                    self.say("250-test\r\n250 AUTH PLAIN")
                case "AUTH":
                    is_known = rest == f"PLAIN {EXPECTED}"
                    self.say("235 welcome" if is_known else "535 wrong")
                case "DATA" if is_known:
                    self.say("354 go on")
                    while (content := self.rfile.readline()) not in (b".\r\n", b""):
                        print(content.decode().rstrip("\r\n"), flush=True)
                    self.say("250 taken")
                case "QUIT":
                    self.say("221 bye")
                    return
                case _:
                    self.say("250 fine" if is_known else "530 log in first")


with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
    partial = pathlib.Path(PORT_FILE + ".new")
    partial.write_text(str(server.server_address[1]))
    partial.rename(PORT_FILE)
    server.serve_forever()
