"""A signature by the ssh agent as released, with the vault open, compared with the bare signature by libsodium in the same round."""
import os
import socket
import statistics
import struct
import subprocess
import time

from programs import say
from rounds import Samples
from rows import Row, limit, needed, result
from whole import Command

ITEMS, SIGNATURES = 1000, 500
# About what ssh has signed to log in.
DATA = b"d" * 400
LIST, SIGN, IDENTITIES, SIGNATURE = 11, 13, 12, 14


def bare(shape, cost):
    return cost("sign", len(DATA))


SIGNING = Row("signing_us", "sign by the ssh agent, vault open (limit: the bare signature)", "µs", None, lambda n: None, bare, "limit", drawn=False)
# The client's own part, and that of the system, count as the agent's.
OVER = Row("signing_over_us", "the same, beyond the bare signature", "µs", against="bound", bound=lambda n: 2000, drawn=False)


def text(data):
    return struct.pack(">I", len(data)) + data


class Agent:
    """A running agent, and one connection to it."""

    def __init__(self, command):
        runtime = command.programs.folder / "runtime"
        runtime.mkdir(mode=0o700, exist_ok=True)
        arguments = [command.programs.command, "agent", "--raw-key-file", command.key, "--vault", command.vault]
        environment = command.environment | {"XDG_RUNTIME_DIR": str(runtime)}
        self.process = subprocess.Popen(
            [str(part) for part in arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        # It says where its socket is when it answers.
        if not self.process.stdout.readline().startswith("SSH_AUTH_SOCK="):
            raise SystemExit("Tools/bench: the agent did not start")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.fspath(runtime / "vaultfmt/agent.sock"))

    def ask(self, message):
        self.socket.sendall(text(message))
        answer = b""
        while len(answer) < 4 or len(answer) < 4 + int.from_bytes(answer[:4], "big"):
            piece = self.socket.recv(65_536)
            if not piece:
                raise SystemExit("Tools/bench: the agent has gone")
            answer += piece
        return answer[4:]

    def key(self):
        """The only key that it offers."""
        answer = self.ask(bytes([LIST]))
        if answer[:5] != bytes([IDENTITIES, 0, 0, 0, 1]):
            raise SystemExit("Tools/bench: the agent does not offer one key")
        length = int.from_bytes(answer[5:9], "big")
        return answer[9 : 9 + length]

    def signature_us(self):
        """The median of many, each from the request to the answer."""
        message = bytes([SIGN]) + text(self.key()) + text(DATA) + bytes(4)
        times = []
        for _ in range(SIGNATURES):
            start = time.perf_counter()
            answer = self.ask(message)
            times.append((time.perf_counter() - start) * 1e6)
            if answer[0] != SIGNATURE:
                raise SystemExit("Tools/bench: the agent does not sign")
        return statistics.median(times)

    def end(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()


def measure(programs, rounds):
    command = Command(programs, ITEMS)
    command.run("set", "signing", "--ssh-generate", "ed25519", "--vault", command.vault)
    agent = Agent(command)
    samples, limits = Samples(), []
    try:
        for number in range(rounds):
            say(f"signatures by the agent, round {number + 1} of {rounds}")
            known = programs.cost(needed([SIGNING], {}))
            limits.append(limit(SIGNING, {}, known))
            signing = agent.signature_us()
            samples.add("ours", {SIGNING.name: signing, OVER.name: signing - limits[-1]})
    finally:
        agent.end()
        command.clean()
    for row, base in ((SIGNING, limits), (OVER, [OVER.bound(ITEMS)] * rounds)):
        yield result(
            row, ITEMS, samples.median("ours", row.name), limit=statistics.median(limits) if row.limit else None,
            rounds=(samples.all("ours", row.name), base))
