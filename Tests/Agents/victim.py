"""A client that uses an ssh agent and a Secret Service until it is killed: victim.py SOCKET BUS. It writes a byte for each request."""

import os
import sys

import sshagent
from secretservice import SERVICE, Refused, ServiceConnection


def main() -> None:
    agent, service = sshagent.AgentConnection(sys.argv[1]), ServiceConnection(sys.argv[2])
    while True:
        agent.identities()
        os.write(1, b".")
        try:
            service.open_session(is_encrypted=True)
            service.search({"service": "s0"})
            service.call(SERVICE, "Service", "GetSecrets", "aoo", [], service.used_session().path)
        except Refused:
            # The vault may be locked.
            pass
        os.write(1, b".")


main()
