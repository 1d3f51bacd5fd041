"""Earlier values, and attributes with flags and of every size."""

from __future__ import annotations

import dataclasses
import pickle
from datetime import datetime, timezone
from pathlib import Path

import pytest
from conftest import CHEAP, RAW_KEY

import vaultfmt
from vaultfmt import Attribute, AttributeFlags, EarlierValue, Factors, NewEarlierValue, Vault


def secrets(vault: Vault, key: str = "s") -> list[bytes]:
    found = []
    for value in vault.earlier_values(key):
        with vault.open_earlier(key, value) as opened:
            found.append(bytes(opened.secret))
    return found


def test_what_was_overwritten_is_listed_read_and_restored(vault: Vault) -> None:
    vault.set("s", b"one", attributes={"label": "First", "notes": "as they were"}, modified=1000)
    assert vault.earlier_values("s") == ()
    vault.set("s", b"two", attributes={"label": "Second", "notes": None})
    vault["s"] = b"three"
    vault["s"] = b"three"
    first, notes, second = vault.earlier_values("s")
    item = vault.item("s")
    assert item is not None and item.has_past and not item.needs_settling and not item.lacks_secret
    assert item.secret_changed_ms is not None and item.secret_changed_ms >= second.modified_ms
    assert 1000 < first.modified_ms <= second.modified_ms and first.modified <= first.replaced <= second.replaced
    assert abs((datetime.now(timezone.utc) - second.replaced).total_seconds()) < 600
    assert first.revision == notes.revision < second.revision and first.replica == notes.replica == second.replica != 0
    assert (first.attribute, notes.attribute, first.flags, notes.flags) == (None, "notes", 0, AttributeFlags.SEALED)
    assert dict(first.attributes) == {"label": b"First"} and first.unread_attributes == ()
    assert first.attribute_flags == {"label": AttributeFlags(0)} and dict(notes.attributes) == {}
    assert vault.attribute("s", "notes", of=first) is None and vault.attribute("s", "notes") is None
    assert vault.attribute("s", "label", of=first) == b"First" and vault.attribute("s", "none", of=first) is None
    with vault.open_earlier("s", first) as opened:
        view = opened.secret
        assert view == b"one" and view.readonly and dict(opened.value.attributes) == {"label": b"First"}
        with pytest.raises(TypeError):
            pickle.dumps(opened)
    with pytest.raises(ValueError, match="wiped"):
        opened.secret  # noqa: B018
    vault.move("s", "t")
    vault.compact()
    vault.rotate(Factors(raw_key=RAW_KEY))
    vault.move("t", "s")
    vault.restore("s", first)
    assert vault["s"] == b"one" and secrets(vault) == [b"as they were", b"two", b"three"]
    assert vault.attribute("s", "notes") is None and vault.attribute("s", "label") == b"Second"
    vault.restore("s", notes)
    assert vault.attribute("s", "notes") == b"as they were" and secrets(vault) == [b"two", b"three"]


def test_earlier_values_are_forgotten_all_or_none(vault: Vault) -> None:
    for number in range(5):
        vault["s"] = str(number).encode()
    values = vault.earlier_values("s")
    unknown = dataclasses.replace(values[0], replica=values[0].replica ^ 1)
    with pytest.raises(vaultfmt.NoSuchItem):
        vault.forget("s", [values[0], unknown])
    assert len(vault.earlier_values("s")) == 4
    assert vault.forget("s", [values[0], values[2], values[2]]) == 2 and secrets(vault) == [b"1", b"3"]
    assert vault.forget("s", []) == 0 and vault.forget("s") == 2 and vault.forget("s") == 0
    with pytest.raises(vaultfmt.NoSuchItem):
        vault.restore("s", values[1])
    with pytest.raises(vaultfmt.NoSuchItem):
        vault.open_earlier("s", values[1])
    with pytest.raises(vaultfmt.NoSuchItem):
        vault.forget("none")
    for name in ("notes", ""):
        with pytest.raises(vaultfmt.NoSuchItem):
            vault.restore("s", dataclasses.replace(values[0], attribute=name))


def test_an_import_brings_earlier_values_along(vault: Vault) -> None:
    vault["s"] = b"now"
    attributes = {"label": "Imported", "pin": Attribute("1", AttributeFlags.SEALED)}
    new = [NewEarlierValue(b"old", 2), NewEarlierValue(b"", -3, attributes)]
    assert vault.add_earlier("s", new) == 2
    old, newer, pin = vault.earlier_values("s")
    assert (old.replaced_ms, newer.replaced_ms, pin.replaced_ms) == (2, -3, -3) and old.modified_ms > 2
    assert secrets(vault) == [b"old", b"", b"1"] and pin.attribute == "pin" and pin.flags == AttributeFlags.SEALED
    assert dict(newer.attributes) == {"label": b"Imported"} and newer.revision == pin.revision > old.revision
    assert vault.add_earlier("s", [NewEarlierValue(b"private", 4, group="ops")]) == 1
    groups = {}
    for value in vault.earlier_values("s"):
        with vault.open_earlier("s", value) as opened:
            groups[bytes(opened.secret)] = opened.group
    assert groups == {b"old": "", b"": "", b"1": "", b"private": "ops"}
    vault.keep_versions(1)
    assert vault.add_earlier("s", new) == 1 and secrets(vault) == [b"", b"1"]
    assert vault.add_earlier("s", iter([])) == 0
    with pytest.raises(TypeError, match="encode text"):
        vault.add_earlier("s", [NewEarlierValue("text", 2)])  # type: ignore[arg-type]
    with pytest.raises(vaultfmt.InvalidArgument):
        vault.add_earlier("s", [NewEarlierValue(b"x", 1 << 62)])
    with pytest.raises(vaultfmt.InvalidArgument):
        vault.add_earlier("s", [NewEarlierValue(b"x", 1, {"label": None})])  # type: ignore[dict-item]
    with pytest.raises(vaultfmt.NoSuchItem):
        vault.add_earlier("none", new)
    assert "old" not in repr(new)


def test_a_vault_keeps_as_many_as_it_is_told(path: Path, tmp_path: Path) -> None:
    with vaultfmt.create(path, raw_key=RAW_KEY, kept_versions=2) as vault:
        assert vault.kept_versions == 2 and vault.statistics().kept_versions == 2
        for number in range(5):
            vault["s"] = str(number).encode()
        assert secrets(vault) == [b"2", b"3"]
        assert vault.statistics().items_with_past == 1 == vault.verify().items_with_past
        vault.keep_versions(0)
        vault["s"] = b"5"
        vault.compact()
        assert vault.earlier_values("s") == () and vault.kept_versions == 0
        for count in (51, 2**31):
            with pytest.raises(vaultfmt.LimitExceeded):
                vault.keep_versions(count)
    with vaultfmt.create(tmp_path / "default.vault", raw_key=RAW_KEY) as vault:
        assert vault.kept_versions == 10
    with pytest.raises(vaultfmt.LimitExceeded):
        vaultfmt.create(tmp_path / "none.vault", raw_key=RAW_KEY, kept_versions=51)
    with pytest.raises(OverflowError):
        vaultfmt.create(tmp_path / "none.vault", raw_key=RAW_KEY, kept_versions=-1)


def test_a_transaction_sees_its_own_earlier_values(vault: Vault) -> None:
    vault["s"] = b"1"
    with pytest.raises(ZeroDivisionError), vault.transaction():
        vault.set("s", b"2", attributes={"notes": "sealed"})
        vault["s"] = b"3"
        vault.change("s", attributes={"notes": "another"})
        (first, second, notes) = vault.earlier_values("s")
        assert secrets(vault) == [b"1", b"2", b"sealed"] and notes.revision == second.revision
        vault.restore("s", first)
        assert vault["s"] == b"1" and secrets(vault) == [b"2", b"sealed", b"3"] and vault.forget("s") == 3
        vault.keep_versions(0)
        raise ZeroDivisionError
    assert vault["s"] == b"1" and vault.earlier_values("s") == () and vault.kept_versions == 10


def test_nobody_but_an_owner_reads_earlier_values(vault: Vault, path: Path) -> None:
    vault["s"] = b"1"
    vault["s"] = b"2"
    (value,) = vault.earlier_values("s")
    vault.add_slot(Factors("scoped"), cost=CHEAP, groups=[""])
    with vaultfmt.open(path, passphrase="scoped") as reader:
        assert reader["s"] == b"2"
        with pytest.raises(vaultfmt.NotPermitted):
            reader.earlier_values("s")
        with pytest.raises(vaultfmt.NotPermitted):
            reader.open_earlier("s", value)
        with pytest.raises(vaultfmt.NotPermitted):
            reader.attribute("s", "label", of=value)
    vault.lock()
    with pytest.raises(vaultfmt.Locked):
        vault.earlier_values("s")
    with pytest.raises(vaultfmt.Locked):
        vault.forget("s")


def test_revision_replica_and_attribute_identify_an_earlier_value(vault: Vault) -> None:
    vault["s"] = b"1"
    vault["s"] = b"2"
    (value,) = vault.earlier_values("s")
    vault.restore("s", EarlierValue(value.revision, value.replica, None, AttributeFlags(0), 0, 0, {}, {}, ()))
    assert vault["s"] == b"1" and secrets(vault) == [b"2"]


def test_attributes_have_flags(vault: Vault) -> None:
    both = AttributeFlags.SEALED | AttributeFlags.CONCEALED
    pin, blob = Attribute("1234", both), Attribute(b"\xff", AttributeFlags.BINARY)
    vault.add("s", b"x", attributes={"pin": pin, "blob": blob, "otp": "o", "plain": "p"})
    item = vault.item("s")
    assert item is not None and dict(item.attributes) == {"blob": b"\xff", "plain": b"p"}
    assert item.unread_attributes == ("otp", "pin")
    assert item.attribute_flags == {"blob": 4, "otp": 1, "pin": both, "plain": 0}
    hidden = Attribute("hidden", AttributeFlags.SEALED)
    vault.change("s", attributes={"pin": b"4321", "plain": hidden, "otp": Attribute("o")})
    with vault.open("s") as opened:
        assert opened.item.attributes["pin"] == b"4321" and opened.item.unread_attributes == ()
        assert opened.item.attribute_flags == {"blob": 4, "otp": 1, "pin": both, "plain": 1}
    assert {value.attribute for value in vault.earlier_values("s")} == {"pin"}
    with pytest.raises(vaultfmt.InvalidArgument):
        vault.change("s", attributes={"pin": Attribute("1", AttributeFlags(8))})
    with pytest.raises(TypeError):
        vault.change("s", attributes={"pin": Attribute(None)})  # type: ignore[arg-type]
    assert "4321" not in repr(Attribute("4321"))


def test_attributes_have_up_to_16_mib(vault: Vault) -> None:
    for size in (0, 256, 257, 4096, 4097, 100_000, 16 << 20):
        for flags in (AttributeFlags(0), AttributeFlags.SEALED):
            vault.set("s", b"x", attributes={"value": Attribute(bytes([size % 251]) * size, flags)})
            assert vault.attribute("s", "value") == bytes([size % 251]) * size
            with vault.open("s") as opened:
                assert opened.item.unread_attributes == (("value",) if size > 4096 else ())
    with pytest.raises(vaultfmt.LimitExceeded):
        vault.change("s", attributes={"value": bytes((16 << 20) + 1)})
    with pytest.raises(vaultfmt.NoSuchItem):
        vault.attribute("none", "value")
    vault.each_secret(lambda item, secret: None)
    assert vault.verify().is_sound
