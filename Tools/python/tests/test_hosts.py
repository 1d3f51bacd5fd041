"""Programs that fork, thread, interrupt and run out. C1 to C9 and D11 are defects that trials of 0.1.0 found."""

from __future__ import annotations

import array
import asyncio
import contextlib
import copy
import ctypes
import gc
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import CHEAP, RAW_KEY

import vaultfmt
from vaultfmt import Factors, GenericPassword, Vault

# Seconds that no machine, however busy, needs for what a test waits for.
PATIENCE = 600


def in_child(body: Callable[[], None]) -> int:
    """Runs it in a forked child, which must end within PATIENCE; the exit code, or the negated signal."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(PATIENCE)
            body()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def written(path: Path) -> dict[object, bytes]:
    with vaultfmt.open(path, raw_key=RAW_KEY) as vault:
        assert vault.verify().is_sound
        return {(key.service, key.account): vault[key] for key in vault if isinstance(key, GenericPassword)}


# ---- C1: interrupts ----


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[float], None]]:
    """Gives what has KeyboardInterrupt raised after so many seconds."""

    def strike(*_: object) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, strike)
    try:
        yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds) and None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_c1_an_interrupt_at_any_instant_leaves_no_transaction_open(vault: Vault, path: Path) -> None:
    chance = random.Random(1)
    struck = number = 0
    with interrupts() as interrupt, vaultfmt.open(path, raw_key=RAW_KEY) as other:
        # However few strike within a transaction on this machine, there are as many.
        while struck < 400:
            number += 1
            text = str(number).encode()
            try:
                interrupt(chance.uniform(1e-6, 400e-6))
                with vault.transaction():
                    vault["within"] = text
                interrupt(0)
            except KeyboardInterrupt:
                interrupt(0)
                struck += 1
                # While the traceback still holds every frame.
                vault["after"] = text
                other.refresh()
                assert other["after"] == text


def test_c1_an_interrupt_before_the_first_line_of_exit_ends_the_transaction(vault: Vault, path: Path) -> None:
    import vaultfmt._transaction as module

    ends = module._leave.__code__

    def strike(frame: object, event: str, _: object) -> None:
        if event == "call" and frame.f_code is ends:  # type: ignore[attr-defined]
            sys.setprofile(None)
            raise KeyboardInterrupt

    for fails in (False, True):
        try:
            sys.setprofile(strike)
            with vault.transaction():
                vault["lost"] = b"1"
                if fails:
                    raise ZeroDivisionError
        except KeyboardInterrupt:
            vault["kept"] = b"2"
            assert written(path) == {("kept", ""): b"2"}
        finally:
            sys.setprofile(None)


def test_c1_an_interrupt_while_begin_waits_leaves_nothing(vault: Vault, path: Path) -> None:
    with vaultfmt.open(path, raw_key=RAW_KEY, writable=True) as other, interrupts() as interrupt:
        release = threading.Event()
        held = threading.Event()

        def hold() -> None:
            with other.transaction():
                other["other"] = b"1"
                held.set()
                release.wait(10)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(10)
        threading.Timer(0.1, release.set).start()
        interrupt(0.03)
        with pytest.raises(KeyboardInterrupt), vault.transaction():
            vault["never"] = b"1"
        vault["after"] = b"2"
        thread.join()
    assert written(path) == {("other", ""): b"1", ("after", ""): b"2"}


def test_c1_exit_stacks_and_explicit_calls_end_transactions(vault: Vault, path: Path) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(vault.transaction())
        vault["stack"] = b"1"
    transaction = vault.transaction()
    transaction.__enter__()
    vault["abandoned"] = b"1"
    del transaction
    gc.collect()
    with pytest.raises(ZeroDivisionError), contextlib.ExitStack() as stack:
        stack.enter_context(vault.transaction())
        vault["never"] = b"1"
        raise ZeroDivisionError
    vault["after"] = b"2"
    assert written(path) == {("stack", ""): b"1", ("after", ""): b"2"}


# ---- C2, C3, C4: forks ----


def test_c2_a_child_neither_ends_its_parents_transaction_nor_lets_another_writer_in(vault: Vault, path: Path) -> None:
    def leaves_by_its_end() -> None:
        with pytest.raises(vaultfmt.OtherProcess):
            vault["child"] = b"1"

    def closes() -> None:
        vault.close()
        gc.collect()

    def raises() -> None:
        gc.collect()
        raise SystemExit(0)

    def begins() -> None:
        with pytest.raises(vaultfmt.OtherProcess), vault.transaction():
            vault["child"] = b"1"

    with vaultfmt.open(path, raw_key=RAW_KEY, writable=True, wait=0.05) as other:
        for body in (leaves_by_its_end, closes, raises, begins):
            with vault.transaction():
                vault["parent"] = b"1"
                assert in_child(body) == 0
                with pytest.raises(vaultfmt.Busy):
                    other["other"] = b"1"
                vault["parent"] = b"2"
        other["other"] = b"2"
    assert written(path) == {("parent", ""): b"2", ("other", ""): b"2"}


def test_c2_a_child_that_leaves_the_with_gets_an_error_and_changes_nothing(vault: Vault, path: Path) -> None:
    for fails in (False, True):
        child = None
        try:
            with vault.transaction():
                vault["parent", str(fails)] = b"1"
                child = os.fork()
                if child == 0 and fails:
                    raise ZeroDivisionError
        except vaultfmt.OtherProcess:
            os._exit(7 if child == 0 and not fails else 1)
        except ZeroDivisionError:
            gc.collect()
            os._exit(8 if child == 0 and fails else 1)
        if child == 0:
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (8 if fails else 7)
    assert written(path) == {("parent", "False"): b"1", ("parent", "True"): b"1"}


def test_c3_every_use_of_an_inherited_vault_is_refused(vault: Vault, path: Path) -> None:
    vault["s"] = b"0"
    vault["s"] = b"1"
    earlier = vault.earlier_values("s")[0]
    found = vault.search()
    opened = vault.open("s")
    uses: list[Callable[[], object]] = [
        lambda: vault["s"],
        lambda: vault.item("s"),
        lambda: list(vault.search()),
        lambda: next(found),
        lambda: vault.each_secret(lambda *_: None),
        lambda: vault.set("s", b"2"),
        lambda: vault.add("t", b"2"),
        lambda: vault.change("s", attributes={"a": "b"}),
        lambda: vault.move("s", "t"),
        lambda: vault.remove("s"),
        lambda: vault.transaction().__enter__(),
        vault.refresh,
        vault.lock,
        lambda: vault.unlock(raw_key=RAW_KEY),
        lambda: vault.keep_unlocked(1),
        lambda: vault.anchor,
        lambda: vault.verdict("x"),
        vault.slots,
        lambda: vault.add_slot(Factors(raw_key=bytes(32))),
        lambda: vault.rotate(Factors(raw_key=RAW_KEY)),
        lambda: vault.grant("00" * 16, ["g"]),
        lambda: vault.attribute("s", "label"),
        lambda: vault.earlier_values("s"),
        lambda: vault.open_earlier("s", earlier),
        lambda: vault.attribute("s", "label", of=earlier),
        lambda: vault.restore("s", earlier),
        lambda: vault.forget("s"),
        lambda: vault.add_earlier("s", []),
        lambda: vault.keep_versions(1),
        lambda: vault.kept_versions,
        lambda: vault.repair(),
        vault.compact,
        vault.verify,
        vault.statistics,
    ]

    def child() -> None:
        for number, use in enumerate(uses):
            try:
                use()
            except vaultfmt.OtherProcess:
                continue
            except vaultfmt.InvalidArgument:
                assert "verdict" in str(use.__code__.co_names)
                continue
            raise AssertionError(f"use {number} was not refused")
        # What was given is the child's own, and the child opens for itself.
        assert opened.secret == b"1"
        opened.close()
        with vaultfmt.open(path, raw_key=RAW_KEY, writable=True) as own:
            own["child"] = b"2"
        vault.close()

    assert in_child(child) == 0
    vault["parent"] = b"3"
    assert written(path) == {("s", ""): b"1", ("child", ""): b"2", ("parent", ""): b"3"}


def test_c3_a_pool_of_workers_on_an_inherited_vault_loses_nothing(vault: Vault, path: Path) -> None:
    def work() -> None:
        for number in range(5):
            try:
                vault["pool", f"{os.getpid()} {number}"] = b"lost"
            except vaultfmt.OtherProcess:
                with vaultfmt.open(path, raw_key=RAW_KEY, writable=True) as own:
                    own["pool", f"{os.getpid()} {number}"] = b"kept"

    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            try:
                work()
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    for number in range(20):
        vault["parent", str(number)] = b"kept"
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    found = written(path)
    assert len(found) == 50 and set(found.values()) == {b"kept"}


def test_c4_a_child_of_a_threaded_program_opens_for_itself(vault: Vault, path: Path) -> None:
    vault["s"] = b"1"
    done = threading.Event()
    failures: list[BaseException] = []

    def use() -> None:
        try:
            while not done.is_set():
                with vaultfmt.open(path, raw_key=RAW_KEY) as own:
                    assert own["s"] == b"1"
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()

    def child() -> None:
        with vaultfmt.open(path, raw_key=RAW_KEY) as own:
            assert own["s"] == b"1"

    codes = [in_child(child) for _ in range(60)]
    done.set()
    for thread in threads:
        thread.join()
    assert codes == [0] * 60 and not failures


# ---- C5, D11: buffers ----


class Lying(bytes):
    def __len__(self) -> int:
        return 1 << 20


class LyingText(str):
    def encode(self, *_: object) -> bytes:  # type: ignore[override]
        return b"x"

    def __len__(self) -> int:
        return 1 << 20


def test_c5_d11_buffers_of_any_shape_are_taken_whole(vault: Vault, tmp_path: Path) -> None:
    plain = bytes(range(32))
    buffers = {
        "bytes": plain,
        "bytearray": bytearray(plain),
        "memoryview": memoryview(plain),
        "wide memoryview": memoryview(plain).cast("I"),
        "two dimensions": memoryview(plain).cast("B").cast("I", [2, 4]),
        "array": array.array("I", plain),
        "doubles": array.array("d", plain),
        "ctypes": (ctypes.c_uint32 * 8).from_buffer_copy(plain),
        "structure": (ctypes.c_uint64 * 4).from_buffer_copy(plain),
        "strided": memoryview(bytes(b for one in plain for b in (one, 0)))[::2],
        "reversed": memoryview(plain[::-1])[::-1],
        "lying": Lying(plain),
    }
    for name, buffer in buffers.items():
        vault.set(("buffer", name), buffer, attributes={"small": buffer, "sealed:a": buffer})
        with vault.open(("buffer", name)) as opened:
            assert bytes(opened.secret) == plain, name
            assert opened.item.attributes == {"small": plain, "sealed:a": plain}, name
        with vaultfmt.create(tmp_path / name, raw_key=buffer):
            pass
        vaultfmt.open(tmp_path / name, raw_key=plain).close()
    vault.set(("s", "text"), b"1", attributes={"a": LyingText("whole")})
    found = vault.item(("s", "text"))
    assert found is not None and found.attributes["a"] == b"whole"
    for wrong in ("text", None, 5, [1]):
        with pytest.raises(TypeError):
            vault.set("s", wrong)  # type: ignore[arg-type]


# ---- C6: threads ----


def together(count: int, body: Callable[[int], None]) -> list[BaseException]:
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            body(number)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def test_c6_one_iterator_shared_by_threads_gives_each_item_once_or_an_error(vault: Vault) -> None:
    with vault.transaction():
        for number in range(2000):
            vault["s", str(number)] = b"1"
    for _ in range(5):
        found: list[str] = []
        shared = vault.search()

        def read(_: int, shared: Iterator[vaultfmt.Item] = shared, found: list[str] = found) -> None:
            while True:
                try:
                    found.append(next(shared).id)
                except StopIteration:
                    return
                except vaultfmt.InvalidArgument:
                    time.sleep(0)

        assert together(4, read) == []
        assert len(found) == len(set(found)) == 2000


def test_c6_close_may_race_readers(path: Path) -> None:
    vaultfmt.create(path, raw_key=RAW_KEY).close()
    for _ in range(100):
        vault = vaultfmt.open(path, raw_key=RAW_KEY, writable=True)
        vault["s"] = b"1"
        started = threading.Barrier(4)

        def read(number: int, vault: Vault = vault, started: threading.Barrier = started) -> None:
            started.wait()
            if number == 0:
                time.sleep(0.0005)
                return vault.close()
            with contextlib.suppress(ValueError):
                while True:
                    assert vault["s"] == b"1"
                    assert len(list(vault.search())) == 1

        failures = together(4, read)
        assert failures == []


# ---- C7: transactions, threads and tasks ----


def test_c7_a_transaction_of_a_thread_that_died_is_joined_by_nobody(path: Path) -> None:
    vaultfmt.create(path, raw_key=RAW_KEY).close()
    with vaultfmt.open(path, raw_key=RAW_KEY, writable=True, wait=0.1) as vault:
        kept = []

        def die() -> None:
            kept.append(vault.transaction())
            kept[0].__enter__()
            vault["never"] = b"1"

        thread = threading.Thread(target=die)
        thread.start()
        thread.join()

        def use() -> None:
            started = time.monotonic()
            with pytest.raises(vaultfmt.Busy, match="thread"):
                vault["s"] = b"2"
            with pytest.raises(vaultfmt.Busy):
                vault.anchor  # noqa: B018
            assert time.monotonic() - started < PATIENCE

        # New threads are given the id of the one that died.
        for _ in range(3):
            assert together(1, lambda _: use()) == []
        kept.clear()
        gc.collect()
        vault["after"] = b"3"
    assert written(path) == {("after", ""): b"3"}


def test_c7_another_thread_may_leave_the_with(vault: Vault, path: Path) -> None:
    for kind in (None, ZeroDivisionError):
        transaction = vault.transaction()
        transaction.__enter__()
        vault["s", str(kind)] = b"1"
        assert together(1, lambda _, t=transaction, k=kind: t.__exit__(k, None, None)) == []  # type: ignore[misc]
        vault["after", str(kind)] = b"2"
    assert len(written(path)) == 3


def test_c7_tasks_do_not_join_each_others_transactions(vault: Vault, path: Path) -> None:
    begun, refused, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def long() -> None:
        with contextlib.suppress(ZeroDivisionError), vault.transaction():
            vault["long"] = b"1"
            begun.set()
            await refused.wait()
            vault["long"] = b"2"
            raise ZeroDivisionError
        ended.set()

    async def short() -> None:
        await begun.wait()
        with pytest.raises(vaultfmt.InvalidArgument, match="transaction"):
            vault["short"] = b"1"
        refused.set()
        await ended.wait()
        vault["short"] = b"2"

    async def both() -> None:
        await asyncio.gather(long(), short())

    asyncio.run(both())
    assert written(path) == {("short", ""): b"2"}


def test_c7_a_cancelled_task_leaves_no_transaction(vault: Vault, path: Path) -> None:
    async def run() -> None:
        begun = asyncio.Event()

        async def change() -> None:
            with vault.transaction():
                vault["never"] = b"1"
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(change())
        await begun.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        vault["after"] = b"2"

    asyncio.run(run())
    assert written(path) == {("after", ""): b"2"}


def test_c7_two_vaults_have_a_transaction_each(vault: Vault, tmp_path: Path) -> None:
    with vaultfmt.create(tmp_path / "other", raw_key=RAW_KEY) as other:
        with pytest.raises(ZeroDivisionError), vault.transaction():
            vault["s"] = b"1"
            with other.transaction():
                other["s"] = b"2"
                assert "s" in vault and vault["s"] == b"1"
            other["t"] = b"3"
            raise ZeroDivisionError
        assert "s" not in vault and dict(other.items()) == {GenericPassword("s"): b"2", GenericPassword("t"): b"3"}
        with vault.transaction(), pytest.raises(vaultfmt.InvalidArgument), vault.transaction():
            pass
        vault.close()
        with pytest.raises(vaultfmt.InvalidArgument), other.transaction():
            other["closed"] = b"1"
            other.close()


# ---- C8: what is lent, copied and interrupted ----


def test_c8_each_secret_raises_an_interrupt_wherever_it_strikes(vault: Vault) -> None:
    with vault.transaction():
        for number in range(300):
            vault["s", str(number)] = b"1"
    chance = random.Random(8)
    struck = 0
    with interrupts() as interrupt:
        while struck < 100:
            seen = []
            raised = False
            try:
                interrupt(chance.uniform(1e-5, 8e-3))
                vault.each_secret(lambda item, secret, seen=seen: seen.append(secret))  # type: ignore[misc]
                interrupt(0)
            except KeyboardInterrupt:
                raised = True
            # It may strike after the last item.
            assert raised or len(seen) == 300
            struck += raised


def test_c8_each_secret_raises_what_strikes_before_the_callbacks_first_line(vault: Vault) -> None:
    vault["s"] = b"1"
    vault["t"] = b"2"

    def strike(frame: object, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_qualname.endswith("each_secret.<locals>.call"):  # type: ignore[attr-defined]
            sys.setprofile(None)
            raise KeyboardInterrupt

    seen: list[object] = []
    try:
        sys.setprofile(strike)
        with pytest.raises(KeyboardInterrupt):
            vault.each_secret(lambda item, secret: seen.append(secret))
    finally:
        sys.setprofile(None)
    assert seen == []


def test_c8_what_a_secret_was_lent_as_is_released_or_zeros(vault: Vault) -> None:
    vault["s"] = b"secret"
    with vault.open("s") as opened:
        view = opened.secret
        part = opened.secret[1:3]
        over = memoryview(view)
        wide = view.cast("c")
        assert bytes(view) == b"secret" and bytes(part) == b"ec"
    with pytest.raises(ValueError, match="released"):
        bytes(view)
    with pytest.raises(ValueError, match="wiped"):
        opened.secret  # noqa: B018
    del opened
    gc.collect()
    # Memory that is used again would have something else.
    others = [vault.open("s") for _ in range(100)]
    assert bytes(part) == bytes(2) and bytes(over) == bytes(6) and bytes(wide) == bytes(6)
    for other in others:
        other.close()


def test_c8_open_things_are_not_copied(vault: Vault) -> None:
    vault["s"] = b"1"
    with vault.open("s") as opened:
        for one in (vault, opened, vault.search()):
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError, match="copied"):
                    way(one)


def test_c8_tens_of_thousands_of_opened_secrets_are_held_or_an_error(vault: Vault) -> None:
    vault["small"] = b"1"
    vault["large"] = bytes(40_000)
    held = [vault.open("small") for _ in range(20_000)]
    assert all(one.secret == b"1" for one in held)
    with pytest.raises(vaultfmt.OutOfMemory):
        for _ in range(20_000):
            held.append(vault.open("large"))
    with pytest.raises(MemoryError):
        vault.open("large")
    # Everything else goes on.
    vault["after"] = b"2"
    assert vault["after"] == b"2"
    held.clear()
    assert vault["large"] == bytes(40_000)


# ---- C9, H12: what runs out ----

LIMITED = """
import resource, sys
sys.path[:0] = {path!r}
import vaultfmt
vault = vaultfmt.open({vault!r}, raw_key=bytes(range(32)), writable=True)
{body}
"""


def limited(path: Path, body: str) -> subprocess.CompletedProcess[str]:
    text = LIMITED.format(path=sys.path, vault=str(path), body=body)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE)


def test_c9_h12_no_memory_for_a_large_secret_is_an_error(vault: Vault, path: Path) -> None:
    vault["large"] = bytes(16 << 20)
    body = """
def used():
    return int(open("/proc/self/statm").read().split()[0]) * 4096
secret = bytes(16 << 20)
failed = 0
for room in range(0, 60 << 20, 7 << 20):
    resource.setrlimit(resource.RLIMIT_AS, (used() + room + (4 << 20), resource.RLIM_INFINITY))
    for use in (lambda: vault["large"], lambda: vault.set("new", secret), lambda: vault.verify()):
        try:
            use()
        except MemoryError:
            failed += 1
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert failed > 3, failed
vault["after"] = b"1"
assert vault["after"] == b"1" and vault["large"] == secret and vault.verify().is_sound
print("done")
"""
    result = limited(path, body)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr[:300] + result.stderr[-1500:]


def test_c9_no_memory_that_may_be_locked_is_no_error(vault: Vault, path: Path) -> None:
    vault["s"] = bytes(1 << 20)
    body = """
resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
for number in range(50):
    vault["s", str(number)] = bytes(1 << 17)
assert vault["s"] == bytes(1 << 20)
print("done")
"""
    result = limited(path, body)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr[:300] + result.stderr[-1500:]


def test_c9_a_limit_of_descriptors_is_an_error_and_loses_nothing(vault: Vault, path: Path) -> None:
    vault["s"] = b"1"
    used = len(os.listdir("/proc/self/fd"))
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    kept: list[int] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 40, old[1]))
        with contextlib.suppress(OSError):
            while True:
                kept.append(os.open("/dev/null", os.O_RDONLY))
        for free in range(6):
            changes = (vault.compact, lambda: vault.set("s", b"2"), lambda: vault.change_slot(Factors(raw_key=RAW_KEY)))
            for number, change in enumerate(changes):
                try:
                    change()
                except vaultfmt.OutcomeUnknown:
                    raise AssertionError(f"{free} free descriptors, change {number}") from None
                except vaultfmt.InputOutput as failure:
                    assert free < 4 and "open files" in str(failure), failure
            os.close(kept.pop())
    finally:
        for one in kept:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, old)
    vault["after"] = b"3"
    assert written(path)["after", ""] == b"3"
    # The state folder of the test is beside the vault.
    assert [name for name in os.listdir(path.parent) if name not in (path.name, "state")] == []


def test_c9_an_anchor_with_a_nul_is_refused(vault: Vault, path: Path) -> None:
    anchor = vault.anchor
    vaultfmt.open(path, raw_key=RAW_KEY, anchor=anchor).close()
    for wrong in (anchor + "\0junk", anchor + "\0", "\0" + anchor):
        with pytest.raises(ValueError, match="NUL"):
            vaultfmt.open(path, raw_key=RAW_KEY, anchor=wrong)
        with pytest.raises(ValueError, match="NUL"):
            vault.verdict(wrong)


def test_c9_a_fork_within_the_keyring_backend_leaves_no_child_hanging(home: Path) -> None:
    from vaultfmt.keyring import VaultKeyring

    backend = VaultKeyring()
    backend.set_password("service", "ann", "one")
    done = threading.Event()

    def use() -> None:
        while not done.is_set():
            backend.get_password("service", "ann")

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()

    def child() -> None:
        assert backend.get_password("service", "ann") == "one"

    codes = [in_child(child) for _ in range(20)]
    # Also by the thread that holds it.
    with backend._guard:
        codes.append(in_child(child))
    done.set()
    for thread in threads:
        thread.join()
    assert codes == [0] * 21


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user whom the system does not know")
def test_c9_a_user_without_a_home_is_told_so() -> None:
    # The C library asks the system, not Python's module: a real process with an id that has no entry.
    from vaultfmt import local

    child = os.fork()
    if child == 0:
        code = 1
        try:
            for name in list(os.environ):
                if name == "HOME" or name.startswith(("VAULTFMT_", "XDG_")):
                    del os.environ[name]
            os.setuid(54321)
            try:
                local.default_path()
            except vaultfmt.NoSuchFile as error:
                code = 0 if "home" in str(error).lower() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_thread_needs_a_stack_of_256_kib(path: Path) -> None:
    vaultfmt.create(path, passphrase="x", cost=CHEAP).close()
    old = threading.stack_size(256 << 10)
    try:

        def use(_: int) -> None:
            with vaultfmt.open(path, passphrase="x", writable=True) as vault:
                with vault.transaction():
                    for number in range(300):
                        vault["s", str(number)] = bytes(number * 40)
                vault.each_secret(lambda *_: None)
                vault.compact()
                vault.rotate(Factors(passphrase="x"))
                assert vault.verify().is_sound

        assert together(1, use) == []
    finally:
        threading.stack_size(old)
