"""What a later version of the format may leave in a vault; Spec/reference makes it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import CHEAP, RAW_KEY

import vaultfmt
from vaultfmt import Factors, OtherItem, Vault

ROOT = Path(__file__).resolve().parents[3]
LATER = OtherItem(17, ("relying party", "Grüße"), group="group")


@pytest.fixture
def later(path: Path) -> Path:
    """A vault with a slot of the raw key, four of unknown kinds or factors, and an item of class 17."""
    python = ROOT / ".python/bin/python"
    command = [str(python) if python.exists() else "/usr/bin/python3", str(ROOT / "Tests/C/programs/later.py"), str(path), RAW_KEY.hex()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "Spec/reference"), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, env=environment, check=True)
    return path


def kinds(vault: Vault) -> list[int]:
    return [slot.kind for slot in vault.slots()]


def test_slots_of_a_later_version_are_shown_and_kept_until_nobody_can(later: Path) -> None:
    assert [slot.is_known for slot in vaultfmt.inspect(later).slots] == [True, False, False, False, False]
    with vaultfmt.open(later, raw_key=RAW_KEY, writable=True) as vault:
        main, factor, kind, epoch, other = vault.slots()
        assert main.is_known and main.is_full and main.name == "main"
        assert factor.is_full and not factor.takes_passphrase and factor.cost is None and factor.name == "later"
        assert kinds(vault) == [1, 1, 3, 0x83, 4] and not kind.is_full and other.provider is None and epoch.groups is None
        vault.rename_slot(factor.id, "renamed")
        with pytest.raises(vaultfmt.InvalidArgument):
            vault.change_slot(Factors("x"), factor.id, cost=CHEAP)
        vault.compact()
        report = vault.add_slot(Factors("scoped"), cost=CHEAP, groups=["group"])
        assert [slot.kind for slot in report.dropped] == [0x83] and kinds(vault) == [1, 1, 3, 4, 0x82]
        report = vault.rotate(Factors(raw_key=RAW_KEY))
        assert [slot.kind for slot in report.dropped] == [1, 3, 4, 0x82] and report.dropped[0].name == "renamed"
        assert vault["service", "account"] == b"secret"


def test_items_of_a_later_class_are_read_moved_and_removed_and_not_made(later: Path) -> None:
    with vaultfmt.open(later, raw_key=RAW_KEY, writable=True) as vault:
        assert list(vault) == [vaultfmt.GenericPassword("service", "account"), LATER]
        assert vault[LATER] == b"of a later class" and [item.key for item in vault.search(item_class=17)] == [LATER]
        assert LATER in vault
        moved = OtherItem(17, (), group="group")
        vault.move(LATER, moved)
        assert vault[moved] == b"of a later class" and LATER not in vault
        with pytest.raises(vaultfmt.InvalidArgument):
            vault[LATER] = b"x"
        with pytest.raises(ValueError, match="number"):
            vault.search(item_class=OtherItem)
        for wrong in (OtherItem(64, ()), OtherItem(6, ("x",) * 16)):
            with pytest.raises(vaultfmt.InvalidArgument):
                vault.item(wrong)
        with pytest.raises(ValueError, match="type of its own"):
            vault.item(OtherItem(1, ("s", "a")))
        del vault[moved]
        assert list(vault.search(item_class=17)) == []
