"""Has the name of systemd-logind on the system's bus, and answers what an agent asks it.

    logind.py USER    (the number of the user whose sessions begin)

Calls of the interface "org.example.Test" make it do what sessions and machines do. It is no part of vaultfmt, and uses none of it.
"""

import os
import select
import sys

from jeepney import DBusAddress, HeaderFields, MessageType, message_bus, new_error, new_method_return, new_signal
from jeepney.io.blocking import open_dbus_connection

NAME = "org.freedesktop.login1"
ROOT = "/org/freedesktop/login1"
USER = int(sys.argv[1])
bus = open_dbus_connection(bus="SYSTEM", enable_fds=True)
sessions: dict[str, dict[str, tuple]] = {}
# What has been asked about sessions; who asked last; the reading ends of what delays sleep.
asked: list[str] = []
client = ""
delays: list[int] = []


def path(name: str) -> str:
    return f"{ROOT}/session/_3{name}"


def emit(where: str, interface: str, member: str, signature: str = "", values: tuple = ()) -> None:
    bus.send(new_signal(DBusAddress(where, interface=interface), member, signature, values))


def manager(member: str, signature: str, *values: object) -> None:
    emit(ROOT, f"{NAME}.Manager", member, signature, values)


def session(name: str, member: str) -> None:
    emit(path(name), f"{NAME}.Session", member)


def begin(name: str, kind: str, screen: str, seat: str, user: str) -> None:
    user = user or str(USER)
    sessions[name] = {
        "Id": ("s", name),
        "User": ("(uo)", (int(user), f"{ROOT}/user/_{user}")),
        "Class": ("s", kind),
        "Type": ("s", screen),
        "Seat": ("(so)", (seat, f"{ROOT}/seat/{seat}" if seat else "/")),
        "LockedHint": ("b", False),
        "State": ("s", "active"),
    }
    manager("SessionNew", "so", name, path(name))


def hint(name: str, is_locked: bool) -> None:
    sessions[name]["LockedHint"] = ("b", is_locked)
    changed = (f"{NAME}.Session", {"LockedHint": ("b", is_locked)}, [])
    emit(path(name), "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as", changed)


def close(name: str) -> None:
    """Ends a session of which a program goes on: logind does not remove it."""
    sessions[name]["State"] = ("s", "closing")
    changed = (f"{NAME}.Session", {"Active": ("b", False)}, [])
    emit(path(name), "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as", changed)


def end(name: str) -> None:
    del sessions[name]
    manager("SessionRemoved", "so", name, path(name))


def is_delayed() -> bool:
    """Whether somebody has an open end."""
    poll = select.poll()
    for delay in delays:
        poll.register(delay, 0)
    return sum(bool(events & select.POLLHUP) for _, events in poll.poll(0)) < len(delays)


def delay() -> tuple[int]:
    reading, writing = os.pipe()
    delays.append(reading)
    return (writing,)


def answer(message) -> tuple[str, tuple]:
    global client
    fields = message.header.fields
    interface, member = fields[HeaderFields.interface], fields[HeaderFields.member]
    match interface, member, message.body:
        case _, "ListSessions", _:
            client = fields[HeaderFields.sender]
            every = [
                (name, found["User"][1][0], "somebody", found["Seat"][1][0], path(name))
                for name, found in sessions.items()
            ]
            return "a(susso)", (every,)
        case _, "GetAll", _:
            name = fields[HeaderFields.path].rpartition("_3")[2]
            asked.append(name)
            return "a{sv}", (sessions[name],)
        case _, "Inhibit", ("sleep", _, _, "delay"):
            return "h", delay()
        case "org.example.Test", "Begin", values:
            begin(*values)
        case "org.example.Test", "Crowd", (count,):
            for number in range(count):
                begin(f"1{number:04}", "user", "tty", "", "4711")
        case "org.example.Test", "Close", (name,):
            close(name)
        case "org.example.Test", "Lock", (name,):
            session(name, "Lock")
        case "org.example.Test", "Hint", (name, is_locked):
            hint(name, is_locked)
        case "org.example.Test", "End", (name,):
            end(name)
        case "org.example.Test", "Sleep", (is_before,):
            manager("PrepareForSleep", "b", is_before)
        case "org.example.Test", "IsDelayed", _:
            return "b", (is_delayed(),)
        case "org.example.Test", "WasAsked", (name,):
            return "b", (name in asked,)
        case "org.example.Test", "Client", _:
            return "s", (client,)
        case _:
            raise KeyError(member)
    return "", ()


bus.send_and_get_reply(message_bus.RequestName(NAME))
while True:
    received = bus.receive()
    if received.header.message_type != MessageType.method_call:
        continue
    try:
        signature, body = answer(received)
        reply = new_method_return(received, signature, body)
    except (KeyError, TypeError, ValueError) as failure:
        reply = new_error(received, "org.freedesktop.DBus.Error.UnknownMethod", "s", (repr(failure),))
    bus.send(reply)
    if signature == "h":
        os.close(body[0])
