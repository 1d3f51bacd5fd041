"""A host of the Python package: interrupts at random instants, threads, forks, tasks, closes.

Usage: host.py FOLDER OPERATIONS SEED. Each thread has keys of its own and remembers what was acknowledged; what an interrupt left open is looked
up. Says what is wrong, one line each, and "operations N".
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import signal
import sys
import threading
from pathlib import Path

import vaultfmt
from vaultfmt import Vault

KEY = bytes(range(32))
wrongs: list[str] = []
counts = {"changes": 0, "transactions": 0, "interrupts": 0, "forks": 0, "closes": 0, "tasks": 0, "listings": 0}


def wrong(text: str) -> None:
    if len(wrongs) < 20:
        print(text, flush=True)
    wrongs.append(text)


class Interrupted(KeyboardInterrupt):
    """What the timer raises; on the main thread only, as all signal handlers."""


def strike(*_: object) -> None:
    raise Interrupted


class Worker:
    def __init__(self, vault: Vault, path: Path, name: str, seed: int) -> None:
        self.vault = vault
        self.path = path
        self.name = name
        self.chance = random.Random(seed)
        self.known: dict[str, bytes] = {}
        self.next = 0

    def value(self) -> bytes:
        self.next += 1
        return f"{self.name} {self.next}".encode()

    def account(self) -> str:
        return f"{self.name}-{self.chance.randrange(12)}"

    def compare(self, account: str, *possible: bytes | None) -> None:
        """One of these must be there; it is known from then on."""
        try:
            found: bytes | None = self.vault["host", account]
        except vaultfmt.NoSuchItem:
            found = None
        if found not in possible:
            wrong(f"{account} is {found!r}, not {possible!r}")
        self.known.pop(account, None)
        if found is not None:
            self.known[account] = found

    # ---- Operations ----

    def change(self) -> None:
        account, value = self.account(), self.value()
        self.vault["host", account] = value
        self.known[account] = value
        counts["changes"] += 1

    def transact(self) -> None:
        new: dict[str, bytes] = {}
        fails = self.chance.random() < 0.3
        with contextlib.suppress(ZeroDivisionError), self.vault.transaction():
            for _ in range(self.chance.randrange(1, 4)):
                account, value = self.account(), self.value()
                self.vault["host", account] = value
                new[account] = value
                if self.vault["host", account] != value:
                    wrong(f"{account} is not seen in its transaction")
            if self.chance.random() < 0.1:
                self.fork(within=True)
            if fails:
                raise ZeroDivisionError
        if not fails:
            self.known.update(new)
        counts["transactions"] += 1

    def interrupted(self) -> None:
        """A change or a transaction, struck at some instant of it: it is whole or absent, and what follows is durable."""
        one, other = f"{self.name}-one", f"{self.name}-other"
        old, value = self.known.get(one), self.value()
        is_struck = False
        try:
            signal.setitimer(signal.ITIMER_REAL, 10 ** self.chance.uniform(-6, -2))
            if self.chance.random() < 0.7:
                with self.vault.transaction():
                    self.vault["host", one] = value
                    self.vault["host", other] = value
            else:
                self.vault["host", one] = value
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupted:
            signal.setitimer(signal.ITIMER_REAL, 0)
            is_struck = True
            # The traceback still holds every frame.
            after = self.value()
            self.vault["host", f"{self.name}-after"] = after
            self.known[f"{self.name}-after"] = after
            with vaultfmt.open(self.path, raw_key=KEY) as fresh:
                if fresh["host", f"{self.name}-after"] != after:
                    wrong("a change after an interrupt was not written")
        self.compare(one, value, *([old] if is_struck else []))
        self.compare(other, value, self.known.get(other))
        counts["interrupts"] += is_struck

    def fork(self, within: bool = False) -> None:
        account, value = self.account(), self.value()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.alarm(600)
                try:
                    self.vault["host", account] = b"child"
                except vaultfmt.OtherProcess:
                    code = 2
                if code == 2 and not within:
                    self.vault.close()
                    gc.collect()
                    with vaultfmt.open(self.path, raw_key=KEY, writable=True, wait=60) as own:
                        own["host", account] = value
                if code == 2:
                    code = 0
            except BaseException:  # noqa: BLE001
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(code)
        end = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if end != 0:
            wrong(f"a child ended with {end}")
        elif not within:
            self.known[account] = value
            self.vault.refresh()
        counts["forks"] += 1

    def close_while_read(self) -> None:
        own = vaultfmt.open(self.path, raw_key=KEY, writable=True, wait=60)
        account, value = self.account(), self.value()

        def read() -> None:
            with contextlib.suppress(ValueError):
                while True:
                    own.item(("host", account))
                    next(own.search(), None)

        threads = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        own["host", account] = value
        self.known[account] = value
        own.close()
        for thread in threads:
            thread.join()
        self.vault.refresh()
        counts["closes"] += 1

    def tasks(self) -> None:
        account, other, value = self.account(), f"{self.name}-task", self.value()

        async def long() -> None:
            with contextlib.suppress(ZeroDivisionError), self.vault.transaction():
                self.vault["host", account] = value
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                raise ZeroDivisionError

        async def short() -> None:
            await asyncio.sleep(0)
            with contextlib.suppress(vaultfmt.InvalidArgument):
                self.vault["host", other] = value
                self.known[other] = value

        async def both() -> None:
            await asyncio.gather(long(), short())

        asyncio.run(both())
        counts["tasks"] += 1

    def list(self) -> None:
        found = {item.key.account for item in self.vault.search(service="host") if item.key.account.startswith(self.name + "-")}  # type: ignore[union-attr]
        if found != set(self.known):
            wrong(f"{self.name} lists {sorted(found ^ set(self.known))} wrongly")
        counts["listings"] += 1

    def step(self) -> None:
        choice = self.chance.random()
        if choice < 0.4:
            self.change()
        elif choice < 0.6:
            self.transact()
        elif choice < 0.75 and threading.current_thread() is threading.main_thread():
            self.interrupted()
        elif choice < 0.82:
            self.fork()
        elif choice < 0.85:
            self.close_while_read()
        elif choice < 0.9:
            self.tasks()
        else:
            self.list()
        account = self.account()
        self.compare(account, self.known.get(account))


def main() -> None:
    path = Path(sys.argv[1]) / "host.vault"
    operations, seed = int(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGALRM, strike)
    vault = vaultfmt.create(path, raw_key=KEY, wait=60)
    workers = [Worker(vault, path, f"w{number}", seed * 10 + number) for number in range(3)]

    def run(worker: Worker) -> None:
        try:
            for _ in range(operations // len(workers)):
                if wrongs:
                    return
                worker.step()
        except BaseException as failure:
            wrong(f"{worker.name}: {type(failure).__name__}: {failure}")
            raise

    threads = [threading.Thread(target=run, args=(worker,)) for worker in workers[1:]]
    for thread in threads:
        thread.start()
    run(workers[0])
    for thread in threads:
        thread.join()
    vault.close()
    with vaultfmt.open(path, raw_key=KEY) as fresh:
        if not fresh.verify().is_sound:
            wrong("the file is not sound")
        for worker in workers:
            worker.vault = fresh
            for account, value in list(worker.known.items()):
                worker.compare(account, value)
            worker.list()
    print(f"operations {operations} in Python: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))


main()
