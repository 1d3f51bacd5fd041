"""Vaults: ways in, errors, transactions, slots, locking and maintenance."""

from __future__ import annotations

import os
import re
import shutil
import threading
from pathlib import Path

import pytest
from conftest import CHEAP, RAW_KEY

import vaultfmt
from vaultfmt import Accessibility, Factors, Vault, Verdict, local


def test_every_status_has_a_class_of_its_name() -> None:
    from vaultfmt._library import ffi, lib
    from vaultfmt.errors import _BY_STATUS

    for status, kind in _BY_STATUS.items():
        name = ffi.string(lib.vaultfmt_status_name(status)).decode().replace("-", "")
        assert name == ("io" if kind is vaultfmt.InputOutput else kind.__name__.lower())
    assert sorted(_BY_STATUS) == list(range(1, len(_BY_STATUS) + 1))
    assert ffi.string(lib.vaultfmt_status_name(len(_BY_STATUS) + 1)) == b"unknown"


def test_ways_in(tmp_path: Path) -> None:
    key_file = vaultfmt.generate_key_file()
    ways = [
        {"passphrase": "Grüße"},
        {"passphrase": b"bytes"},
        {"key_file": key_file},
        {"key_file": b"any file"},
        {"passphrase": "both", "key_file": key_file},
        {"raw_key": RAW_KEY},
    ]
    for number, way in enumerate(ways):
        path = tmp_path / f"{number}.vault"
        vaultfmt.create(path, cost=CHEAP, **way).close()  # type: ignore[arg-type]
        with vaultfmt.open(path, **way) as vault:  # type: ignore[arg-type]
            assert vault.is_owner and not vault.is_writable
        for other in ways[:number] + ways[number + 1 :]:
            with pytest.raises(vaultfmt.NoSlotOpens):
                vaultfmt.open(path, **other)  # type: ignore[arg-type]


def test_a_key_file_is_given_by_its_path_or_its_content(path: Path, tmp_path: Path) -> None:
    content = vaultfmt.generate_key_file()
    key_file = tmp_path / "a.key"
    key_file.write_bytes(content)
    vaultfmt.create(path, cost=CHEAP, passphrase="both", key_file=key_file).close()
    for given in (content, memoryview(content), key_file, str(key_file)):
        vaultfmt.open(path, passphrase="both", key_file=given).close()
    with pytest.raises(FileNotFoundError):
        vaultfmt.open(path, passphrase="both", key_file=tmp_path / "none.key")
    with key_file.open("wb") as longer:
        longer.truncate((64 << 20) + 1)
    with pytest.raises(vaultfmt.KeyFileInvalid):
        vaultfmt.open(path, passphrase="both", key_file=key_file)


def test_what_may_be_done_with_a_vault_is_seen(path: Path) -> None:
    with vaultfmt.create(path, raw_key=RAW_KEY) as vault:
        assert repr(vault) == f"<vaultfmt.Vault {str(path)!r}, writable>" and vault.is_writable
    assert repr(vault) == f"<vaultfmt.Vault {str(path)!r}, closed>"
    with vaultfmt.open(path, raw_key=RAW_KEY) as vault:
        assert repr(vault) == f"<vaultfmt.Vault {str(path)!r}, read-only>" and not vault.is_writable


def test_errors(path: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        vaultfmt.open(path, raw_key=RAW_KEY)
    assert isinstance(missing.value, vaultfmt.NoSuchFile) and missing.value.status == 16
    vaultfmt.create(path, raw_key=RAW_KEY).close()
    with pytest.raises(FileExistsError):
        vaultfmt.create(path, raw_key=RAW_KEY)
    with pytest.raises(vaultfmt.WeakKDF):
        vaultfmt.create(tmp_path / "weak", passphrase="x", cost=vaultfmt.KDFCost(8, 1, 1))
    with pytest.raises(vaultfmt.InvalidArgument):
        vaultfmt.open(path)
    with pytest.raises(vaultfmt.PassphraseInvalid):
        vaultfmt.open(path, passphrase="")
    with pytest.raises(ValueError):
        vaultfmt.open("a\0b", raw_key=RAW_KEY)
    with vaultfmt.open(path, raw_key=RAW_KEY) as vault, pytest.raises(PermissionError):
        vault["s"] = b""
    with pytest.raises(ValueError, match="closed"):
        vault["s"]
    vault.close()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(vaultfmt.VaultError) as damaged:
        vaultfmt.open(path, raw_key=RAW_KEY)
    assert damaged.value.status in (vaultfmt.HeaderInvalid.status, vaultfmt.NotAVault.status)


def test_limits_on_key_derivation(path: Path) -> None:
    vaultfmt.create(path, passphrase="x", cost=CHEAP).close()
    with pytest.raises(vaultfmt.KDFLimit, match="7 KiB"):
        vaultfmt.open(path, passphrase="x", limits=vaultfmt.Limits(memory_kib=7))


def test_a_path_that_is_not_utf8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.vault"
    with pytest.raises(vaultfmt.InvalidArgument, match="UTF-8"):
        vaultfmt.create(path, raw_key=RAW_KEY)


def test_transactions(vault: Vault, path: Path) -> None:
    vault["s", "kept"] = b"1"
    generation = vault.generation
    with vault.transaction():
        vault["s", "a"] = b"a"
        assert vault["s", "a"] == b"a"
        with pytest.raises(vaultfmt.InvalidArgument):
            vault.refresh()
        with pytest.raises(vaultfmt.InvalidArgument):
            list(vault.search())
        del vault["s", "kept"]
    assert vault.generation == generation + 1 and ("s", "kept") not in vault
    with pytest.raises(ZeroDivisionError), vault.transaction():
        vault["s", "b"] = b"b"
        raise ZeroDivisionError
    assert ("s", "b") not in vault and vault.generation == generation + 1
    with vaultfmt.open(path, raw_key=RAW_KEY, writable=True, wait=0.02) as other, vault.transaction(), pytest.raises(TimeoutError):
        other["s", "c"] = b"c"


def test_threads_on_one_vault_lose_nothing(vault: Vault) -> None:
    vault["counter"] = b"0"
    failures: list[BaseException] = []

    def count(number: int) -> None:
        try:
            for step in range(10):
                with vault.transaction():
                    vault["counter"] = str(int(vault["counter"]) + 1).encode()
                vault["own", f"{number}-{step}"] = b"x"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=count, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and vault["counter"] == b"40" and len(vault) == 41


def test_slots(path: Path) -> None:
    with vaultfmt.create(path, passphrase="first", cost=CHEAP, slot_name="first") as vault:
        vault[vaultfmt.GenericPassword("s", group="ci")] = b"for ci"
        vault["s"] = b"own"
        second = vault.add_slot(Factors("second"), cost=CHEAP, name="second").id
        added = vault.add_slot(Factors(raw_key=RAW_KEY), name="machine", groups=["ci"])
        scoped = added.id
        assert second is not None and scoped is not None and added.dropped == () and added.kept == ()
        vault.rename_slot(second, "renamed")
        slots = vault.slots()
        assert [slot.name for slot in slots] == ["first", "renamed", "machine"]
        assert slots[0].opened_this and slots[0].takes_passphrase and slots[0].is_weak and slots[0].cost == CHEAP
        assert slots[2].id == scoped and slots[2].groups == ("ci",) and slots[2].takes_raw_key and slots[2].cost is None
        with vaultfmt.open(path, raw_key=RAW_KEY) as reader:
            assert not reader.is_owner and len(reader) == 2
            assert reader[vaultfmt.GenericPassword("s", group="ci")] == b"for ci"
            with pytest.raises(vaultfmt.NotPermitted):
                reader["s"]
            refused: list[object] = []
            reader.each_secret(lambda item, secret: refused.append(secret), group="")
            assert isinstance(refused[0], vaultfmt.NotPermitted)
        changed = vault.change_slot(Factors("new second"), second, cost=CHEAP)
        assert changed.id == second and second in [slot.id for slot in vault.slots()]
        vault.remove_slot(scoped)
        with pytest.raises(vaultfmt.NoSuchSlot):
            vault.remove_slot(scoped)
        with pytest.raises(vaultfmt.NoSlotOpens):
            vault.rotate(Factors("second"))
        owner, anchor = vault.owner, vault.anchor
        rotated = vault.rotate(Factors("new second"))
        assert rotated.id is None and [slot.name for slot in rotated.dropped] == ["first"] and rotated.kept == ()
        assert vault.owner != owner and vault.verdict(anchor) == Verdict.DESCENDS
        assert [slot.name for slot in vault.slots()] == ["renamed"]
        with pytest.raises(vaultfmt.LastSlot):
            vault.remove_slot(vault.slots()[0].id)
    with vaultfmt.open(path, passphrase="new second") as vault:
        assert vault["s"] == b"own"
    assert "first" not in repr(Factors("first"))


def test_locking_and_devices(path: Path) -> None:
    device = vaultfmt.generate_device()
    with vaultfmt.create(path, raw_key=RAW_KEY, device=device) as vault:
        vault["kept"] = b"1"
        vault.change("kept", accessibility=Accessibility.AFTER_FIRST_UNLOCK)
        vault["wiped"] = b"2"
        vault.set("here", b"3", accessibility=Accessibility.WHEN_UNLOCKED_THIS_DEVICE_ONLY)
        vault.lock()
        assert vault.is_locked and vault["kept"] == b"1"
        with pytest.raises(vaultfmt.Locked):
            vault["wiped"]
        vault.unlock(raw_key=RAW_KEY)
        assert vault["wiped"] == b"2" and vault["here"] == b"3"
    with vaultfmt.open(path, raw_key=RAW_KEY) as vault:
        with pytest.raises(vaultfmt.DeviceBound):
            vault["here"]
        assert vault.item("here").device == device[:16].hex()  # type: ignore[union-attr]


def test_anchors(path: Path, tmp_path: Path) -> None:
    with vaultfmt.create(path, raw_key=RAW_KEY) as vault:
        old = vault.anchor
        shutil.copy(path, tmp_path / "old")
        vault["s"] = b"1"
        new = vault.anchor
        assert vault.verdict(old) == Verdict.DESCENDS and vault.verdict(new) == Verdict.SAME
        parts = old.split(":")
        assert [vault.id, "1", vault.owner, "0"] == [parts[part] for part in (0, 1, 3, 4)] and len(vault.owner) == 64
        assert re.fullmatch("[0-9a-f]{16}=[1-9][0-9]*", parts[5]) and vault.statistics().replicas == 1
        assert vault.verdict(new.replace(vault.owner, "0" * 64)) == Verdict.FOREIGN
    with pytest.raises(vaultfmt.RolledBack):
        vaultfmt.open(tmp_path / "old", raw_key=RAW_KEY, anchor=new)
    with vaultfmt.open(tmp_path / "old", raw_key=RAW_KEY, anchor=old, writable=True, memory=False) as vault:
        assert vault.verdict(new) == Verdict.OLDER
        vault["s"] = b"2"
        assert vault.verdict(new) == Verdict.FORKED


def test_maintenance(vault: Vault, path: Path) -> None:
    for _ in range(3):
        vault["s"] = bytes(1000)
    before, after = vault.compact()
    assert before > after and vault.statistics().items_with_past == 0 and vault.verify().items_with_past == 0
    vault["t"] = b"x"
    report = vault.verify()
    assert report.is_sound and report.items == 2 and report.problems == ()
    assert vault.statistics().items == 2
    inspection = vaultfmt.inspect(path)
    assert inspection.vault_id == vault.id and inspection.slots[0].takes_raw_key and inspection.objects["record"][0] == 2
    vault.forget("s")
    vault.compact()
    vault["u"] = b"x"
    with path.open("r+b") as file:
        file.seek(8192 + 100)
        byte = file.read(1)[0]
        file.seek(8192 + 100)
        file.write(bytes([byte ^ 1]))
    report = vault.verify()
    assert not report.is_sound and report.problems[0][1] == 8192
    with pytest.raises(vaultfmt.AuthenticationFailed) as damaged:
        vault.each_secret(lambda item, secret: None)
    assert damaged.value.offset == 8192 and "at byte 8192" in str(damaged.value)


def test_m1_m4_a_rotation_is_handed_over_to_another_machine_and_not_undone_there(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def machine(name: str) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))

    machine("one")
    with vaultfmt.create(path, raw_key=RAW_KEY) as vault:
        vault["s"] = b"1"
    machine("two")
    vaultfmt.open(path, raw_key=RAW_KEY).close()
    old = path.read_bytes()
    machine("one")
    with vaultfmt.open(path, raw_key=RAW_KEY, writable=True) as vault:
        vault.rotate(Factors(raw_key=RAW_KEY))
    vaultfmt.open(path, raw_key=RAW_KEY).close()
    machine("two")
    with vaultfmt.open(path, raw_key=RAW_KEY) as long_running:
        path.write_bytes(old)
        with pytest.raises(vaultfmt.ForeignOwner):
            vaultfmt.open(path, raw_key=RAW_KEY)
        with pytest.raises(vaultfmt.VaultError):
            long_running.refresh()
    with vaultfmt.open(path, raw_key=RAW_KEY, memory=False) as vault:
        assert vault["s"] == b"1"
    local.accept(path, raw_key=RAW_KEY)
    vaultfmt.open(path, raw_key=RAW_KEY).close()


def test_what_is_said_goes_to_the_logger(
    path: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vaultfmt.create(path, raw_key=RAW_KEY).close()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    with caplog.at_level("INFO", logger="vaultfmt"):
        for _ in range(2):
            vaultfmt.open(path, raw_key=RAW_KEY).close()
    assert all("has not seen this vault before" in record.message for record in caplog.records)
    assert len(caplog.records) == 1


def test_the_owners_public_key_is_insisted_on(path: Path, tmp_path: Path) -> None:
    with vaultfmt.create(path, raw_key=RAW_KEY) as vault:
        owner = vault.owner
        vault.add_slot(Factors("scoped"), cost=CHEAP, groups=[""])
    other = tmp_path / "other.vault"
    with vaultfmt.create(other, raw_key=RAW_KEY) as vault:
        assert vault.owner != owner
    vaultfmt.open(path, raw_key=RAW_KEY, owner=owner).close()
    with vaultfmt.open(path, passphrase="scoped", owner=owner, memory=False) as vault:
        assert not vault.is_owner and vault.owner == owner
    for memory in (True, False):
        with pytest.raises(vaultfmt.ForeignOwner):
            vaultfmt.open(other, raw_key=RAW_KEY, owner=owner, memory=memory)
    with pytest.raises(vaultfmt.ForeignOwner):
        local.accept(other, raw_key=RAW_KEY, owner=owner)
    with pytest.raises(vaultfmt.InvalidArgument):
        vaultfmt.open(path, raw_key=RAW_KEY, owner=owner[2:])
    with pytest.raises(vaultfmt.InvalidArgument):
        vaultfmt.open(path, raw_key=RAW_KEY, owner="")
    with pytest.raises(ValueError, match="hexadecimal"):
        vaultfmt.open(path, raw_key=RAW_KEY, owner="no key")


def test_grants_are_changed_in_one_operation(path: Path) -> None:
    with vaultfmt.create(path, raw_key=RAW_KEY) as vault:
        for group in ("ci", "own"):
            vault[vaultfmt.GenericPassword("s", group=group)] = group.encode()
        scoped = vault.add_slot(Factors("scoped"), cost=CHEAP, groups=["ci"]).id
        assert scoped is not None
        assert vault.grant(scoped, ["own", "new"]).id == scoped
        assert [set(slot.groups or ()) for slot in vault.slots()] == [set(), {"own", "new"}]
        with pytest.raises(vaultfmt.InvalidArgument):
            vault.grant(vault.slots()[0].id, ["ci"])
        with pytest.raises(TypeError):
            vault.grant(scoped, "ci")
    with vaultfmt.open(path, passphrase="scoped") as vault:
        assert vault[vaultfmt.GenericPassword("s", group="own")] == b"own"
        with pytest.raises(vaultfmt.NotPermitted):
            vault[vaultfmt.GenericPassword("s", group="ci")]


def test_a_damaged_tail_is_kept_before_it_is_cut_off(path: Path) -> None:
    with vaultfmt.create(path, raw_key=RAW_KEY) as vault:
        vault["s"] = b"1"
        assert vault.repair() is None
    sound = path.read_bytes()
    damaged = b"vCMT" + (512).to_bytes(4, "little") + bytes(range(252)) * 2
    path.write_bytes(sound + damaged)
    with vaultfmt.open(path, raw_key=RAW_KEY, writable=True) as vault:
        assert vault.tail == vaultfmt.Tail.DAMAGED and vault["s"] == b"1"
        with pytest.raises(vaultfmt.DamagedTail):
            vault["s"] = b"2"
        kept = vault.repair()
        assert kept is not None and Path(kept).read_bytes() == damaged and vault.tail == vaultfmt.Tail.CLEAN
        vault["s"] = b"2"
    path.write_bytes(path.read_bytes() + b"torn")
    with vaultfmt.open(path, raw_key=RAW_KEY, writable=True) as vault:
        assert vault.tail == vaultfmt.Tail.TORN
        vault["s"] = b"3"
        assert vault.tail == vaultfmt.Tail.CLEAN


def test_what_is_kept_open_is_opened_as_asked(path: Path, tmp_path: Path) -> None:
    with vaultfmt.create(path, raw_key=RAW_KEY) as vault:
        vault["s"] = b"1"
        try:
            vault.keep_unlocked(60)
        except vaultfmt.NoKernelKeyring:
            pytest.skip("there is no kernel keyring here")
        owner, anchor = vault.owner, vault.anchor
    try:
        with vaultfmt.open_unlocked(path, owner=owner, anchor=anchor) as kept:
            assert kept["s"] == b"1"
        with pytest.raises(vaultfmt.ForeignOwner):
            vaultfmt.open_unlocked(path, owner="00" * 32)
    finally:
        vaultfmt.end_unlocked(path)
    with pytest.raises(vaultfmt.NoSlotOpens):
        vaultfmt.open_unlocked(path)
