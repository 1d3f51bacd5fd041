"""Copies of a vault that were changed independently: merged, refused, and settled."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import RAW_KEY

import vaultfmt
from vaultfmt import Accessibility, Field, GenericPassword, MergeOutcome, NoteKind, Place, Vault


def copy(vault: Vault, path: Path) -> Vault:
    """A copy that another machine changes."""
    shutil.copy(str(vault.path), path)
    return vaultfmt.open(path, raw_key=RAW_KEY, writable=True, memory=False)


def test_copies_are_merged_and_a_conflict_is_settled(vault: Vault, tmp_path: Path) -> None:
    vault["both"] = b"first"
    vault["gone"] = b"g"
    with copy(vault, tmp_path / "copy.vault") as other:
        vault["both"] = b"from ours"
        other["both"] = b"from theirs"
        other["theirs"] = b"t"
        del other["gone"]
        assert vault.merge(other, rehearsal=True).added == (GenericPassword("theirs"),)
        assert "theirs" not in vault
        report = vault.merge(other)
        assert report.outcome is MergeOutcome.MERGED and report.has_conflicts and not report.has_damage
        assert report.added == (GenericPassword("theirs"),) and report.removed == (GenericPassword("gone"),)
        assert report.changed == (GenericPassword("both"),) and report.supplemented == ()
        assert [(note.kind, note.key, note.slot) for note in report.notes] == [(NoteKind.CONFLICT, GenericPassword("both"), None)]
        assert vault.merge(other).outcome is MergeOutcome.OURS
    (conflict,) = vault.conflicts()
    (value,) = conflict.values
    assert conflict.key == GenericPassword("both") and conflict.place == Place("", Accessibility.WHEN_UNLOCKED, None)
    assert (value.field, value.value, value.attribute, value.place) == (Field.SECRET, b"from ours", None, None)
    assert "from ours" not in repr(conflict)
    with pytest.raises(vaultfmt.InvalidArgument):
        vault.settle("both", [value, value])
    with vault.transaction():
        vault.settle("both", [value])
        vault["with it"] = b"w"
    assert vault["both"] == b"from ours" and vault.conflicts() == ()
    with vault.open_earlier("both", vault.earlier_values("both")[-1]) as lost:
        assert bytes(lost.secret) == b"from theirs"
    with pytest.raises(vaultfmt.NoSuchItem):
        vault.settle("both", [value])
    vault.settle("both")


def test_every_field_can_be_left_to_settle(vault: Vault, tmp_path: Path) -> None:
    vault.set("s", b"0", attributes={"label": "0", "notes": "0"})
    with copy(vault, tmp_path / "copy.vault") as other:
        for one, name in ((vault, "ours"), (other, "theirs")):
            one.set("s", name.encode(), attributes={"label": name, "notes": name})
            one.move("s", GenericPassword("s", name, group=name))
        vault.merge(other)
    (conflict,) = vault.conflicts()
    values = {(value.field, value.attribute): value for value in conflict.values}
    assert set(values) == {
        (Field.SECRET, None), (Field.ATTRIBUTE, "label"), (Field.ATTRIBUTE, "notes"), (Field.KEY, None), (Field.PLACE, None),
    }  # fmt: skip
    assert conflict.key == GenericPassword("s", "theirs", group="theirs")
    assert values[Field.KEY, None].key == GenericPassword("s", "ours")
    ours = Place("ours", Accessibility.WHEN_UNLOCKED, None)
    assert values[Field.PLACE, None].place == ours
    # What is as secret as a secret says where it was set; a label is in the index.
    assert values[Field.SECRET, None].place == ours and values[Field.ATTRIBUTE, "notes"].place == ours
    assert values[Field.ATTRIBUTE, "label"].place is None and values[Field.ATTRIBUTE, "label"].value == b"ours"
    vault.settle(conflict.key, conflict.values)
    key = GenericPassword("s", "ours", group="ours")
    assert vault[key] == b"ours" and vault.attribute(key, "notes") == b"ours" and vault.conflicts() == ()


def test_what_is_refused_changes_nothing(vault: Vault, tmp_path: Path) -> None:
    vault["a"] = b"a"
    with vaultfmt.create(tmp_path / "stranger.vault", raw_key=RAW_KEY) as stranger, pytest.raises(vaultfmt.InvalidArgument):
        vault.merge(stranger)
    with copy(vault, tmp_path / "copy.vault") as other:
        other["b"] = b"b"
        with vault.transaction(), pytest.raises(vaultfmt.InvalidArgument):
            vault.merge(other)
        with vaultfmt.open(vault.path, raw_key=RAW_KEY) as reading, pytest.raises(vaultfmt.ReadOnly):
            reading.merge(other)
        vault.rotate(vaultfmt.Factors(raw_key=RAW_KEY))
        with pytest.raises(vaultfmt.ForeignOwner):
            vault.merge(other)
        assert "b" not in vault
        report = vault.merge(other, accept_old_keys=True)
        assert report.outcome is MergeOutcome.ADOPTED and report.added == (GenericPassword("b"),)


def test_what_was_dropped_on_this_machine_comes_back_only_if_asked_for(vault: Vault, tmp_path: Path) -> None:
    shutil.copy(str(vault.path), tmp_path / "old.vault")
    vault["dropped"] = b"d"
    vault.close()
    shutil.copy(str(vault.path), tmp_path / "new.vault")
    shutil.copy(tmp_path / "old.vault", str(vault.path))
    vaultfmt.local.accept(vault.path, raw_key=RAW_KEY)
    with vaultfmt.open(tmp_path / "new.vault", raw_key=RAW_KEY, memory=False) as other:
        with vaultfmt.open(vault.path, raw_key=RAW_KEY, writable=True) as again:
            with pytest.raises(vaultfmt.Forked):
                again.merge(other)
            again.merge(other, take_dropped=True)
            assert again["dropped"] == b"d"
        unwatched = vaultfmt.open(vault.path, raw_key=RAW_KEY, writable=True, memory=False)
        with unwatched, pytest.raises(vaultfmt.InvalidArgument):
            unwatched.merge(other, take_dropped=True)
