"""External keys: providers written in Python, and what they may get wrong."""

from __future__ import annotations

import dataclasses
import itertools
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import CHEAP, RAW_KEY

import vaultfmt
from vaultfmt import ExternalSlot, Factors, Vault, WrappedKey, local


def _mixed(left: bytes, right: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(left, right, strict=True))


@dataclasses.dataclass
class Token:
    """Its key for a slot is its secret, changed by the slot's parameters. Its owners' data make keys without it."""

    secret: bytes = b"t" * 32
    name: str = "example.org/token"
    asked: list[Sequence[ExternalSlot]] = dataclasses.field(default_factory=list)
    wrong: int = 0

    def wrap(self) -> WrappedKey:
        nonce = os.urandom(32)
        return WrappedKey(nonce, self.secret, bytearray(_mixed(self.secret, nonce)))

    def rewrap(self, owners_data: bytes) -> WrappedKey | None:
        return dataclasses.replace(self, secret=owners_data).wrap()

    def unwrap(self, slots: Sequence[ExternalSlot]) -> Iterable[Iterable[bytes]]:
        self.asked.append(slots)
        wrong = [bytes([number]) * 32 for number in range(self.wrong)]
        return ([*wrong, _mixed(self.secret, slot.parameters)] for slot in slots)


class OneWay(Token):
    def rewrap(self, owners_data: bytes) -> WrappedKey | None:
        return None


@pytest.fixture
def token() -> Token:
    return Token()


@pytest.fixture
def external(path: Path, token: Token) -> Iterator[Vault]:
    with vaultfmt.create(path, external=token) as vault:
        vault["s"] = b"1"
        yield vault


def test_a_token_opens_its_slots_alone_or_with_a_passphrase(external: Vault, path: Path, token: Token) -> None:
    external.add_slot(Factors("both", external=token), cost=CHEAP, name="both")
    external.add_slot(Factors(raw_key=RAW_KEY))
    with vaultfmt.open(path, external=Token()) as vault:
        assert vault["s"] == b"1" and vault.is_owner
    with vaultfmt.open(path, external=token, passphrase="both", memory=False) as vault:
        assert [slot.opened_this for slot in vault.slots()] == [False, True, False]
    ((asked,),) = token.asked[-1:]
    alone, both, raw = external.slots()
    assert asked.id == both.id and len(asked.parameters) == 32
    assert alone.takes_external_key and not alone.takes_passphrase and alone.cost is None
    assert both.takes_external_key and both.takes_passphrase and both.cost == CHEAP and both.is_known and both.kind == 1
    assert alone.provider == both.provider == "example.org/token" and raw.provider is None
    for refused in (Token(b"u" * 32), Token(name="example.org/other")):
        with pytest.raises(vaultfmt.NoSlotOpens):
            vaultfmt.open(path, external=refused)
    for passphrase in ("wrong", None):
        with pytest.raises(vaultfmt.NoSlotOpens):
            vaultfmt.open(path, external=Token(b"u" * 32), passphrase=passphrase)
    with pytest.raises(vaultfmt.NoSlotOpens):
        vaultfmt.open(path, passphrase="both")
    with pytest.raises(vaultfmt.InvalidArgument, match="already"):
        external.add_slot(Factors(external=token))
    external.lock()
    external.unlock(external=token)
    local.accept(path, external=token, owner=external.owner)


def test_sixteen_candidates_of_a_slot_count(external: Vault, path: Path) -> None:
    vaultfmt.open(path, external=Token(wrong=15)).close()
    with pytest.raises(vaultfmt.NoSlotOpens):
        vaultfmt.open(path, external=Token(wrong=16))

    class Endless(Token):
        def unwrap(self, slots: Sequence[ExternalSlot]) -> Iterable[Iterable[bytes]]:
            return [itertools.repeat(bytes(32)) for _ in slots]

    with pytest.raises(vaultfmt.NoSlotOpens):
        vaultfmt.open(path, external=Endless())


def test_a_rotation_makes_slots_again_without_anybodys_token(external: Vault, path: Path, token: Token) -> None:
    colleague = Token(b"c" * 32)
    slot = external.add_slot(Factors(external=colleague), name="a colleague").id
    assert slot is not None
    report = external.rotate(Factors(external=token), made_again={slot: token})
    assert report.dropped == () and [each.id for each in external.slots()][1] == slot
    for each in (token, colleague):
        with vaultfmt.open(path, external=each) as vault:
            assert vault["s"] == b"1"
    for wrong in ({"00" * 16: token}, {slot: Token(name="example.org/other")}):
        with pytest.raises((vaultfmt.NoSuchSlot, vaultfmt.InvalidArgument)):
            external.rotate(Factors(external=token), made_again=wrong)
    report = external.rotate(Factors(external=token), made_again={slot: OneWay()})
    assert [each.name for each in report.dropped] == ["a colleague"]
    with pytest.raises(vaultfmt.NoSlotOpens):
        vaultfmt.open(path, external=colleague)
    with pytest.raises(vaultfmt.LastSlot):
        external.rotate(Factors(external=OneWay()))
    external.change_slot(Factors(raw_key=RAW_KEY))
    external.change_slot(Factors(external=token))
    vaultfmt.open(path, external=token).close()


class Removed(Exception):
    pass


@pytest.mark.parametrize("failure", [Removed, KeyboardInterrupt, SystemExit, vaultfmt.NoSlotOpens, StopIteration])
def test_what_a_provider_raises_is_raised(
    external: Vault, path: Path, failure: type[BaseException], tmp_path: Path
) -> None:
    class Failing(Token):
        def wrap(self) -> WrappedKey:
            raise failure("wrap")

        def rewrap(self, owners_data: bytes) -> WrappedKey | None:
            raise failure("rewrap")

    class Unreadable(Token):
        def unwrap(self, slots: Sequence[ExternalSlot]) -> Iterable[Iterable[bytes]]:
            raise failure("unwrap")

    before = external.anchor
    with pytest.raises(failure, match="wrap"):
        vaultfmt.create(tmp_path / "new.vault", external=Failing())
    assert not (tmp_path / "new.vault").exists()
    with pytest.raises(failure, match="unwrap"):
        vaultfmt.open(path, external=Unreadable())
    with pytest.raises(failure, match="unwrap"):
        external.unlock(external=Unreadable())
    with pytest.raises(failure, match="unwrap"):
        local.accept(path, external=Unreadable())
    with pytest.raises(failure, match="wrap"):
        external.add_slot(Factors("with", external=Failing()), cost=CHEAP)
    with pytest.raises(failure, match="unwrap"):
        external.add_slot(Factors(external=Unreadable()))
    with pytest.raises(failure, match="rewrap"):
        external.rotate(Factors(external=Failing()))
    assert external.anchor == before and external["s"] == b"1"


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (WrappedKey(b"", b"", bytes(31)), vaultfmt.InvalidArgument),
        (WrappedKey(b"", b"", "t" * 32), TypeError),  # type: ignore[arg-type]
        (WrappedKey(bytes(16_385), b"", bytes(32)), vaultfmt.LimitExceeded),
        (WrappedKey(b"", bytes(16_385), bytes(32)), vaultfmt.LimitExceeded),
        (WrappedKey(None, b"", bytes(32)), TypeError),  # type: ignore[arg-type]
        (None, AttributeError),
    ],
)
def test_what_a_provider_makes_is_checked(external: Vault, made: Any, error: type[BaseException]) -> None:
    class Wrong(Token):
        def wrap(self) -> WrappedKey:
            return made  # type: ignore[no-any-return]

    with pytest.raises(error):
        external.add_slot(Factors("with", external=Wrong()), cost=CHEAP)


def test_the_largest_parameters_and_data_are_taken(external: Vault, path: Path) -> None:
    class Large(Token):
        def wrap(self) -> WrappedKey:
            return WrappedKey(bytes(16_384), bytes(16_384), self.secret)

        def unwrap(self, slots: Sequence[ExternalSlot]) -> Iterable[Iterable[bytes]]:
            assert [len(slot.parameters) for slot in slots] == [16_384]
            return [[self.secret]]

    large = Large(b"l" * 32, "example.org/large")
    external.add_slot(Factors(external=large))
    with vaultfmt.open(path, external=large) as vault:
        assert vault["s"] == b"1" and vaultfmt.inspect(path).slots[1].provider == "example.org/large"


@pytest.mark.parametrize(
    ("found", "error"),
    [
        ([[bytes(31)]], vaultfmt.InvalidArgument),
        ([["t" * 32]], TypeError),
        ([[None]], TypeError),
        ([], ValueError),
        ([[], []], ValueError),
        (None, TypeError),
        ([bytes(32)], TypeError),
        ([[]], vaultfmt.NoSlotOpens),
    ],
)
def test_what_a_provider_finds_is_checked(external: Vault, path: Path, found: Any, error: type[BaseException]) -> None:
    class Wrong(Token):
        def unwrap(self, slots: Sequence[ExternalSlot]) -> Iterable[Iterable[bytes]]:
            return found  # type: ignore[no-any-return]

    with pytest.raises(error):
        vaultfmt.open(path, external=Wrong())


@pytest.mark.parametrize("name", ["", "with space", "Ä", "x" * 65, "nul\0"])
def test_a_providers_name_is_checked(external: Vault, path: Path, name: str) -> None:
    with pytest.raises(ValueError):
        vaultfmt.open(path, external=Token(name=name))


def test_a_provider_goes_with_a_passphrase_only(external: Vault, path: Path, token: Token) -> None:
    with pytest.raises(vaultfmt.InvalidArgument):
        vaultfmt.open(path, external=token, key_file=b"a file")
    with pytest.raises(vaultfmt.InvalidArgument):
        vaultfmt.open(path, external=token, raw_key=RAW_KEY)


def test_a_provider_that_uses_its_vault_is_refused_and_nobody_hangs(external: Vault, path: Path) -> None:
    refused: list[object] = []

    class Using(Token):
        def unwrap(self, slots: Sequence[ExternalSlot]) -> Iterable[Iterable[bytes]]:
            try:
                external["s"]
            except vaultfmt.InvalidArgument as error:
                refused.append(error)
            return super().unwrap(slots)

    external.unlock(external=Using())
    assert len(refused) == 1 and external["s"] == b"1"
    # Another vault may be used, and the same file by another opening.
    with vaultfmt.open(path, external=Token()) as vault:
        assert vault["s"] == b"1"


def test_threads_have_a_provider_each(external: Vault, path: Path) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(20):
                if number % 2:
                    with pytest.raises(ZeroDivisionError):
                        vaultfmt.open(path, external=Broken(), memory=False)
                else:
                    vaultfmt.open(path, external=Token(), memory=False).close()
        except BaseException as failure:
            failures.append(failure)

    class Broken(Token):
        def unwrap(self, slots: Sequence[ExternalSlot]) -> Iterable[Iterable[bytes]]:
            raise ZeroDivisionError

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
