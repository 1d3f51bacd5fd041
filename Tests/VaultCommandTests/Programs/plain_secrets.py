"""Stores a secret in many items of the Secret Service, and asks for all of them in one call, in a session without encryption.

    plain_secrets.py COUNT SECRET

Prints how many secrets the answer has that are this one. It is no part of vaultfmt, and uses none of it.
"""

import sys

from jeepney import DBusAddress, new_method_call
from jeepney.io.blocking import open_dbus_connection

NAME = "org.freedesktop.secrets"
ITEM = "org.freedesktop.Secret.Item"
count, secret = int(sys.argv[1]), sys.argv[2].encode()
bus = open_dbus_connection(bus="SESSION")


def call(path: str, interface: str, member: str, signature: str, *values: object) -> tuple:
    where = DBusAddress(path, bus_name=NAME, interface=f"org.freedesktop.Secret.{interface}")
    return bus.send_and_get_reply(new_method_call(where, member, signature, values)).body


def serve(member: str, signature: str, *values: object) -> tuple:
    return call("/org/freedesktop/secrets", "Service", member, signature, *values)


_, session = serve("OpenSession", "sv", "plain", ("s", ""))
for number in range(count):
    attributes = {"kind": "many", "number": str(number)}
    properties = {f"{ITEM}.Label": ("s", f"item {number}"), f"{ITEM}.Attributes": ("a{ss}", attributes)}
    item, prompt = call(
        "/org/freedesktop/secrets/aliases/default", "Collection", "CreateItem", "a{sv}(oayays)b",
        properties, (session, b"", secret, "text/plain"), False)
    assert prompt == "/", item
items, _ = serve("SearchItems", "a{ss}", {"kind": "many"})
(secrets,) = serve("GetSecrets", "aoo", items, session)
print(sum(bytes(value) == secret for _, _, value, _ in secrets.values()))
