"""Items through the mapping and through the functions that know more."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from conftest import ODD, RAW_KEY

import vaultfmt
from vaultfmt import Accessibility, Certificate, GenericPassword, Identity, InternetPassword, KeyItem, Vault


def test_a_vault_is_a_mapping(vault: Vault) -> None:
    vault["s", "a"] = b"one"
    vault[GenericPassword("s", "b")] = bytearray(b"two")
    vault["alone"] = memoryview(b"three")
    assert vault["s", "a"] == b"one" and vault["alone", ""] == b"three"
    assert ("s", "a") in vault and ("s", "c") not in vault and 7 not in vault
    assert len(vault) == 3
    assert list(vault) == [GenericPassword("alone"), GenericPassword("s", "a"), GenericPassword("s", "b")]
    assert vault.get(("s", "c")) is None and vault.get(("s", "c"), b"x") == b"x"
    assert dict(vault.items())[GenericPassword("s", "b")] == b"two"
    assert vault.pop(("s", "a")) == b"one"
    with pytest.raises(KeyError):
        del vault["s", "a"]
    with pytest.raises(KeyError):
        vault["s", "a"]
    with pytest.raises(TypeError):
        vault["s", "a"] = "text"  # type: ignore[assignment]
    before = vault.generation
    vault.clear()
    assert len(vault) == 0 and list(vault) == [] and vault.generation == before + 1


def test_reading_and_changing_is_one_transaction(vault: Vault) -> None:
    before = vault.generation
    assert vault.setdefault("a", b"1") == b"1" and vault.setdefault("a", b"2") == b"1"
    assert vault.pop("b", None) is None and vault.generation == before + 1
    with pytest.raises(KeyError):
        vault.pop("b")
    with vault.transaction():
        assert vault.setdefault("b", b"2") == b"2" and vault.pop("a") == b"1"
    assert vault.popitem() == (GenericPassword("b"), b"2")
    with pytest.raises(KeyError):
        vault.popitem()


@pytest.mark.parametrize("text", [*ODD, "nul\x00inside"], ids=ascii)
def test_names_and_secrets_of_any_characters(vault: Vault, text: str) -> None:
    vault[text, text] = text.encode()
    assert vault[text, text] == text.encode()
    (item,) = vault.search(service=text, account=text)
    assert item.key == GenericPassword(text, text)
    del vault[text, text]
    assert vault.item((text, text)) is None


@pytest.mark.parametrize(
    "key",
    [
        GenericPassword("s", "a", group="g", synchronizable=True),
        InternetPassword("host", "a", "https", 8443, "/p", "realm", "basic"),
        Certificate(3, b"\x30\x00\xff", b"\x00"),
        KeyItem(1, 42, b"\x00label", b"", 2048, 2047),
        Identity(3, b"\x30\x00\xff", b"\x00"),
    ],
    ids=lambda key: type(key).__name__,
)
def test_every_class(vault: Vault, key: vaultfmt.ItemKey) -> None:
    vault.add(key, b"\x00\xff")
    with pytest.raises(vaultfmt.DuplicateItem):
        vault.add(key, b"")
    assert vault[key] == b"\x00\xff"
    assert [item.key for item in vault.search(item_class=type(key))] == [key]
    assert hash(key) == hash(next(iter(vault)))


def test_attributes_dates_and_accessibility(vault: Vault) -> None:
    created = datetime(1970, 1, 1, 1, 0, 1, tzinfo=timezone(timedelta(hours=1)))
    vault.add(
        "s", b"x", attributes={"label": "Grüße", "comment": b"\xff", "sealed:totp": "seed"}, created=created, modified=-1,
        accessibility=Accessibility.ALWAYS,
    )  # fmt: skip
    item = vault.item("s")
    assert item is not None and item.label == "Grüße" and item.unread_attributes == ("sealed:totp",)
    assert dict(item.attributes) == {"comment": b"\xff", "label": "Grüße".encode()}
    assert item.accessibility == Accessibility.ALWAYS and (item.created_ms, item.modified_ms) == (1000, -1)
    assert item.created.isoformat() == "1970-01-01T00:00:01+00:00"
    with vault.open("s") as opened:
        assert opened.item.attributes["sealed:totp"] == b"seed" and opened.item.id == item.id
    vault.set("s", b"y", attributes={"comment": None})
    vault.change("s", attributes={"new": "1"})
    assert set(vault.item("s").attributes) == {"label", "new"}  # type: ignore[union-attr]
    vault.change("s", attributes={"only": ""}, replace_attributes=True)
    with vault.open("s") as opened:
        assert dict(opened.item.attributes) == {"only": b""} and bytes(opened.secret) == b"y"
    with pytest.raises(vaultfmt.InvalidArgument):
        vault.change("s", created=1)
    with pytest.raises(ValueError, match="time zone"):
        vault.set("s", b"", created=datetime(2026, 1, 1))
    with pytest.raises(vaultfmt.NoSuchItem):
        vault.change("none", attributes={})
    with pytest.raises(TypeError):
        vault.set("s", b"", atributes={})
    vault.move("s", ("s", "renamed"))
    assert vault.item(("s", "renamed")).id == item.id  # type: ignore[union-attr]


def test_an_opened_secret_ends_with_its_with(vault: Vault) -> None:
    vault["s"] = b"secret"
    with vault.open("s") as opened:
        view = opened.secret
        assert view == b"secret" and view.readonly
    with pytest.raises(ValueError, match="wiped"):
        opened.secret  # noqa: B018
    with pytest.raises(ValueError, match="released"):
        bytes(view)


def test_filters(vault: Vault) -> None:
    with vault.transaction():
        for number in range(100):
            vault[f"service-{number % 2}", f"account-{number // 2}"] = b"x"
        vault[InternetPassword("host", "Ann", "ssh", 22)] = b"x"
    assert len(list(vault.search(service="service-1"))) == 50
    assert len(list(vault.search(service="service-1", account="account-7"))) == 1
    assert len(list(vault.search(pattern="COUNT-49"))) == 2
    assert len(list(vault.search(port=22))) == 1 and len(list(vault.search(port=23))) == 0
    assert len(list(vault.search(synchronizable=True))) == 0
    assert len(list(vault.search(group="", accessibility=Accessibility.WHEN_UNLOCKED))) == 101
    keys = [item.encoded_key for item in vault.search()]
    assert keys == sorted(keys)
    with pytest.raises(TypeError, match="servce"):
        vault.search(servce="x")
    with pytest.raises(vaultfmt.InvalidArgument):
        vault.search(port=1 << 32)


def test_a_search_that_is_left_or_outlives_its_vault(path: Path) -> None:
    with vaultfmt.create(path, raw_key=RAW_KEY) as vault:
        with vault.transaction():
            for number in range(10):
                vault["s", str(number)] = b"x"
        next(vault.search())
        left = vault.search()
        next(left)
        vault["s", "later"] = b"x"
    assert len(list(left)) == 9
    assert next(left, None) is None


def test_reading_every_secret(vault: Vault) -> None:
    with vault.transaction():
        for number in range(3000):
            vault["s", f"{number:04}"] = str(number).encode()
    found: list[bytes | vaultfmt.VaultError] = []
    vault.each_secret(lambda item, secret: found.append(secret))
    assert found == [str(number).encode() for number in range(3000)]
    found.clear()
    vault.each_secret(lambda item, secret: found.append(vault["s", "0000"]), account="2999")
    assert found == [b"0"]
    with pytest.raises(ZeroDivisionError):
        vault.each_secret(lambda item, secret: 1 / 0)


def test_limits(vault: Vault) -> None:
    vault["s"] = bytes(16 << 20)
    with pytest.raises(vaultfmt.LimitExceeded):
        vault["s"] = bytes((16 << 20) + 1)
    with pytest.raises(vaultfmt.LimitExceeded):
        vault["x" * 4097] = b""
    with pytest.raises(vaultfmt.InvalidArgument):
        vault["\ud800"] = b""
    assert len(vault["s"]) == 16 << 20
