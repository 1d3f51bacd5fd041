"""Command lines, each run by bash on its own pseudo-terminal; what one exports, and its folder, hold for the next."""

import fcntl
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import tempfile
import termios
import time

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]")


class Failed(Exception):
    pass


class Session:
    """A home folder and a shell's state in it."""

    def __init__(self, environment: dict[str, str], folder: pathlib.Path) -> None:
        handle, name = tempfile.mkstemp(prefix="vaultfmt-pages-state-")
        os.close(handle)
        self.state = pathlib.Path(name)
        words = [f"export {key}={shlex.quote(value)}" for key, value in environment.items()]
        self.state.write_text("\n".join([*words, f"cd {shlex.quote(str(folder))}", ""]))

    def end(self, text: str) -> None:
        """Runs a last script."""
        try:
            self.quietly(text)
        finally:
            self.state.unlink()

    def holds(self, text: str) -> bool:
        """Whether a script succeeds."""
        return (
            subprocess.run(
                self.script(text), check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=600
            ).returncode
            == 0
        )

    def script(self, text: str) -> list[str]:
        """A script that begins where the last one ended. What fails in the middle of a pipe fails."""
        state = shlex.quote(str(self.state))
        ending = f'code=$?\n{{ export -p; printf "cd %q\\n" "$PWD"; }} >{state}\nexit "$code"\n'
        return ["/usr/bin/env", "-i", "/bin/bash", "--norc", "-c", f". {state}\nset -o pipefail\n{text}\n{ending}"]

    def quietly(self, text: str) -> str:
        """Runs a script that asks nothing, every command of which must succeed; returns what it writes."""
        body = f"set -e\n{text}\nset +e\ntrue"
        done = subprocess.run(
            self.script(body),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=600,
            text=True,
        )
        if done.returncode:
            raise Failed(
                f"the script around the line failed with {done.returncode}:\n{text}\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def run(self, text: str, answers: list[tuple[str, str]], seconds: float) -> tuple[int, str]:
        """Runs a line on a terminal, and types an answer where it asks what is expected next.

        Returns its exit code and everything that it wrote.
        """
        pid, master = pty.fork()
        if pid == 0:
            command = self.script(text)
            os.execv(command[0], command)
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        try:
            return Conversation(pid, master, list(answers)).run(time.monotonic() + seconds)
        finally:
            os.close(master)


class Conversation:
    """What is written and typed on a terminal until its first process ends, whatever that leaves running."""

    def __init__(self, pid: int, master: int, answers: list[tuple[str, str]]) -> None:
        self.pid = pid
        self.master = master
        self.answers = answers
        self.written = b""
        self.seen = 0

    def run(self, end: float) -> tuple[int, str]:
        status: int | None = None
        while status is None:
            if time.monotonic() > end:
                os.killpg(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise Failed(f"it had not ended in time; it wrote:\n{left(text(self.written))}")
            ended, code = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                status = code
            while self.read(0 if ended else 0.05):
                pass
            self.answer()
        if self.answers:
            raise Failed(f"it never asked '{self.answers[0][0]}'; it wrote:\n{left(text(self.written))}")
        return os.waitstatus_to_exitcode(status), left(text(self.written))

    def read(self, seconds: float) -> bool:
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            # Nobody has the terminal open: the process has ended, or is about to.
            time.sleep(seconds)
            return False
        self.written += piece
        return bool(piece)

    def answer(self) -> None:
        shown = text(self.written)
        if self.answers and (question := re.compile(self.answers[0][0]).search(shown, self.seen)):
            self.seen = question.end()
            os.write(self.master, self.answers.pop(0)[1].encode() + b"\r")


def text(written: bytes) -> str:
    """What a terminal was sent, without colours and the like."""
    return ESCAPES.sub(b"", written).decode(errors="replace").replace("\r\n", "\n")


def left(shown: str) -> str:
    """What is left of a text on the screen: what a carriage return began to write over, such as progress, is not."""
    return re.sub(r"[^\n]*\r(?!\n)", "", shown)
