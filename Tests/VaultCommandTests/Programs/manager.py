"""Starts a service as systemd does for a socket unit and a service of Type=notify, with some of the unit's restrictions.

    manager.py path|abstract|deaf SOCKET COMMAND…

Makes SOCKET, starts the command with it, prints what the service tells of its state, line by line, and ends when it does.
NOTIFY_SOCKET of a deaf one names a socket that is not there.
It is no part of vaultfmt. The service gets SIGTERM when standard input ends.
"""

import ctypes
import os
import pathlib
import resource
import select
import signal
import socket
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 38, 65, 1
kind, path, *command = sys.argv[1:]
# systemd's sockets have absolute paths.
path = os.path.abspath(path)
pathlib.Path(path).parent.mkdir(mode=0o700, exist_ok=True)
os.umask(0o177)
listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listening.bind(path)
listening.listen()
os.umask(0o022)
told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name = f"{pathlib.Path(path).parent}/notify" if kind == "path" else f"@vaultfmt-test-{os.getpid()}"
told.bind(name.replace("@", "\0"))
if kind == "deaf":
    name += "-gone"

service = os.fork()
if service == 0:
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # MemoryDenyWriteExecute=; kernels before 6.3 do not know it.
    prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(listening.fileno(), 3)
    # It may have been 3 before, in which case dup2 changes nothing.
    os.set_inheritable(3, True)
    os.environ |= {
        "LISTEN_PID": str(os.getpid()),
        "LISTEN_FDS": "1",
        "LISTEN_FDNAMES": "vaultfmt-agent.socket",
        "NOTIFY_SOCKET": name,
    }
    os.execvp(command[0], command)

ended = os.pidfd_open(service)
inputs = [sys.stdin, told, ended]
while True:
    ready, _, _ = select.select(inputs, [], [])
    if told in ready:
        print(told.recv(4096).decode(), flush=True)
    elif ended in ready:
        break
    elif sys.stdin in ready and not sys.stdin.buffer.read1(1):
        inputs.remove(sys.stdin)
        os.kill(service, signal.SIGTERM)
_, status = os.waitpid(service, 0)
print(f"ended by {os.waitstatus_to_exitcode(status)}", flush=True)
