"""What the model keeps of a vault: items, slots, keys, commits, and what each file still holds.

A state is a commit with everything that it refers to. It never changes. Two states with one chain value are one state.
"""

from hashlib import blake2b
from typing import NamedTuple

FIELDS = ("key", "attr", "secret")
NOBODY = -1  # the device of a revision that a merge makes


class Rules(NamedTuple):
    """The rules under test. False is the rule as first drafted; README.md tells what each one breaks."""

    greatest_clock: bool = True  # 8.7: of all common ancestors; before: the base's
    only_base: bool = True  # 8.7: the base's items decide only if every other common ancestor is one of the base's
    horizon_next_to_tombstone: bool = True  # 8.7: the horizon counts, too, where an older tombstone came in
    tombstone_names: bool = True  # 8.7: a removal that no base confirms is named, although there is a tombstone
    named_beats_base: bool = True  # 8.5: of two values under one revision of which one is named, the greater holds
    same_revision: bool = True  # 8.5: both machines make the same revision; before: each its own
    every_loser_kept: bool = True  # 8.5: every value that loses is in `conflict`; before: a secret is a version only
    smaller_is_kept: bool = True  # 8.5: of two secrets the smaller revision's becomes a version, whichever holds
    same_stamp_named: bool = True  # 8.6: of two versions with one revision, the secret that gives way is named
    suffix_is_no_change: bool = True  # 8.8: an item that a merge renamed counts as unchanged
    suffixes_stay: bool = True  # 8.8: a suffix that both sides have stays until the plain key is free
    last_slot_stays: bool = True  # 8.9: a merge that would leave no slot is refused
    slot_ids_survive_rotation: bool = True  # 7.17: a slot made anew from the same factors keeps its id
    old_keys_new_items: bool = True  # 8.1: what only the branch under old keys has comes in as an item, all in conflict
    ancestor_suffices: bool = True  # 7.8: an anchor that is an ancestor needs no generation below the hand-over's
    smaller_id_keeps_key: bool = True  # 8.8: before: the greater revision keeps it
    generation_orders_heads: bool = True  # 8.4: before: the chain value alone
    agreed_slot: str = ""  # what the users agree on where a merge would leave no slot; "": it is refused
    versions_kept: int = 1  # the setting of earlier values
    least_ancestors: int = 1000  # compaction
    least_merged: int = 126  # merging


class Value(NamedTuple):
    """What an item is or was under a revision."""

    stamp: tuple  # (revision, device)
    key: object
    attr: object
    secret: object
    conflicts: frozenset


class Item(NamedTuple):
    id: tuple
    key: object
    attr: object
    secret: object
    stamp: tuple  # (revision, device)
    versions: frozenset = frozenset()  # of Value
    conflicts: frozenset = frozenset()  # of (field, value): what merges left to settle

    def value(self):
        return Value(self.stamp, self.key, self.attr, self.secret, self.conflicts)

    def values(self):
        """The live one and the earlier ones, by stamp."""
        return {version.stamp: version for version in self.versions} | {self.stamp: self.value()}

    def face(self):
        return self.key, self.attr, self.secret, self.conflicts

    def plain_key(self):
        """The key without the suffix of R-8.8."""
        return self.key[0] if isinstance(self.key, tuple) and self.key[1:] == ("conflict", self.id) else self.key

    def rank(self):
        """Total order of two values of an item: revision, device, then the bytes."""
        return self.stamp, repr((self.key, self.attr, self.secret, sorted(map(repr, self.conflicts))))


class Contents(NamedTuple):
    items: tuple  # of Item, ascending
    tombs: tuple = ()  # of (id, stamp of the removal, stamp of what was removed)
    slots: frozenset = frozenset()
    removed: frozenset = frozenset()  # ids of removed slots
    keys: tuple = ()  # one for each rotation, the newest last
    horizon: int = 0

    def find(self, id):
        for item in self.items:
            if item.id == id:
                return item
        return None


class Truth(NamedTuple):
    """What really happened before a state. The rules never look at it; the properties compare with it."""

    states: frozenset = frozenset()  # chain values of all true ancestors
    writes: frozenset = frozenset()  # (id, field, value, device)
    overwritten: frozenset = frozenset()  # those that a later write replaced
    deleted: frozenset = frozenset()  # those that a later removal took away
    revoked: frozenset = frozenset()  # slots that were removed
    named: frozenset = frozenset()  # ids that a merge deleted on the word of a horizon, and named
    accepted: bool = False  # a branch under old keys was merged on request


class State:
    __slots__ = ("chain", "generation", "clock", "contents", "past", "history", "floor", "handovers", "truth", "_anc")

    def __init__(self, dev, on, generation, clock, contents, past, history, floor, handovers, truth):
        self.generation, self.clock, self.contents = generation, clock, contents
        self.past, self.history, self.floor, self.handovers = past, history, floor, handovers
        self._anc = None
        core = (dev, on.chain if on else 0, generation, clock, repr_contents(contents), floor, handovers,
                tuple(s.chain for s in past), history)
        self.chain = int.from_bytes(blake2b(repr(core).encode(), digest_size=8).digest(), "big")
        self.truth = truth._replace(states=truth.states | {self.chain})

    def ancestors(self):
        """chain value -> (generation, clock): the predecessors in the file, and the history (section 7.2)."""
        if self._anc is None:
            self._anc = {chain: (generation, clock) for generation, chain, clock in self.history}
            self._anc.update((s.chain, (s.generation, s.clock)) for s in self.past)
        return self._anc

    def contains(self, other):
        return other.chain == self.chain or other.chain in self.ancestors()


def repr_contents(c):
    items = [(i[:5], sorted(map(repr, i.versions)), sorted(map(repr, i.conflicts))) for i in c.items]
    return items, c.tombs, sorted(map(str, c.slots)), sorted(map(str, c.removed)), c.keys, c.horizon


def first_state(versions=frozenset()):
    """One item, two slots, generation 1."""
    x = Item(("x",), "k0", "a0", "s0", (1, NOBODY), versions)
    writes = frozenset((x.id, f, getattr(x, f), NOBODY) for f in FIELDS)
    contents = Contents((x,), slots=frozenset(("slot0", "slot1")))
    return State(0, None, 1, 1, contents, (), (), 1, (), Truth(writes=writes))


# What a writer does on one machine. Each returns the new state, or None if there is nothing to do.


def append(state, dev, clock, contents, truth):
    return State(dev, state, state.generation + 1, clock, contents, state.past + (state,), state.history, state.floor,
                 state.handovers, truth)


def replace_file(state, dev, clock, contents, rules, handovers):
    """Compaction and rotation: no predecessor in the file, the ancestors folded into the history (R-5.17)."""
    known = list(state.history) + [(s.generation, s.chain, s.clock) for s in state.past + (state,)]
    kept, floor = fold(known, rules.least_ancestors, state.floor)
    return State(dev, state, state.generation + 1, clock, contents, (), kept, floor, handovers, state.truth)


def fold(known, most, floor):
    """The last `most` ancestors, and a floor above every generation that was left out."""
    seen, order = set(), []
    for entry in known:
        if entry[1] not in seen:
            seen.add(entry[1])
            order.append(entry)
    left_out = order[:-most] if most else order
    return tuple(order[len(left_out):]), max([floor] + [entry[0] + 1 for entry in left_out])


def next_revision(state, now):
    return max(now, state.clock + 1)


def with_item(contents, item):
    return contents._replace(items=tuple(sorted([i for i in contents.items if i.id != item.id] + [item],
                                                key=lambda i: i.id)))


def write(state, dev, id, field, value, rules, now=0):
    """Changes one field of an item, or adds the item."""
    stamp = (next_revision(state, now), dev)
    old = state.contents.find(id)
    item = old._replace(stamp=stamp, **{field: value})
    if field == "key" and any(i.key == value for i in state.contents.items):
        return None
    if field == "secret":
        kept = sorted(old.versions | {old.value()}, key=lambda version: version.stamp)[-rules.versions_kept:]
        item = item._replace(versions=frozenset(kept if rules.versions_kept else ()))
    event = (id, field, value, dev)
    t = state.truth
    past = frozenset(w for w in t.writes if w[0] == id and w[1] == field)
    truth = t._replace(writes=t.writes | {event}, overwritten=t.overwritten | past - {event})
    # A new value settles what merges left open in that field.
    item = item._replace(conflicts=frozenset(c for c in item.conflicts if c[0] != field))
    return append(state, dev, stamp[0], with_item(state.contents, item), truth)


def add(state, dev, id, key, rules, now=0):
    if state.contents.find(id) or any(i.key == key for i in state.contents.items):
        return None
    stamp = (next_revision(state, now), dev)
    item = Item(id, key, ("a", id), ("s", id), stamp)
    events = frozenset((id, f, getattr(item, f), dev) for f in FIELDS)
    truth = state.truth._replace(writes=state.truth.writes | events)
    return append(state, dev, stamp[0], with_item(state.contents, item), truth)


def delete(state, dev, id, rules, now=0):
    old = state.contents.find(id)
    if old is None:
        return None
    stamp = (next_revision(state, now), dev)
    c = state.contents
    contents = c._replace(items=tuple(i for i in c.items if i.id != id),
                          tombs=tuple(sorted(c.tombs + ((id, stamp, old.stamp),))))
    t = state.truth
    truth = t._replace(deleted=t.deleted | frozenset(w for w in t.writes if w[0] == id))
    return append(state, dev, stamp[0], contents, truth)


def remove_slot(state, dev, slot):
    c = state.contents
    if slot not in c.slots or len(c.slots) == 1:
        return None
    contents = c._replace(slots=c.slots - {slot}, removed=c.removed | {slot})
    truth = state.truth._replace(revoked=state.truth.revoked | {slot})
    return append(state, dev, state.clock, contents, truth)


def compact(state, dev, rules):
    """Drops every tombstone, as if all were old, and so raises the horizon above them."""
    c = state.contents
    if not state.past and not c.tombs:
        return None
    horizon = max([c.horizon] + [stamp[0] + 1 for _, stamp, _ in c.tombs])
    return replace_file(state, dev, state.clock, c._replace(tombs=(), horizon=horizon), rules, state.handovers)


def rotate(state, dev, rules):
    """A new vault key: the old one signs a hand-over for its last state (7.3)."""
    c = state.contents
    key = (state.generation, dev, state.chain % 65521)
    slots = c.slots if rules.slot_ids_survive_rotation else frozenset(f"{s}/{key[2]}" for s in c.slots)
    handovers = (state.handovers + ((c.keys, state.generation, state.chain),))[-16:]
    return replace_file(state, dev, state.clock, c._replace(keys=c.keys + (key,), slots=slots), rules, handovers)


def in_one_commit(before, after, dev):
    """The last change made part of the commit before it, which no other machine has: sound for all but verdicts."""
    past = tuple(s for s in after.past if s is not before)
    history = tuple(h for h in after.history if h[1] != before.chain)
    truth = after.truth._replace(states=after.truth.states - {before.chain, after.chain})
    return State(dev, None, before.generation, after.clock, after.contents, past, history, after.floor,
                 after.handovers, truth)


# What a machine remembers (7.2, 7.3).


def verdict(state, anchor_keys, generation, chain, rules):
    if anchor_keys != state.contents.keys:
        lead = hand_overs_lead(state, anchor_keys, generation, chain, rules)
        if lead != "yes":
            return lead
    if (generation, chain) == (state.generation, state.chain):
        return "same"
    if generation >= state.generation:
        return "older"
    if chain in state.ancestors():
        return "descends"
    return "unprovable" if generation < state.floor else "forked"


def hand_overs_lead(state, anchor_keys, generation, chain, rules):
    """R-7.8: "yes", or the verdict."""
    known = state.ancestors()
    chain_of = [h for h in state.handovers if h[0][:len(anchor_keys)] == anchor_keys]
    if not chain_of or chain_of[0][0] != anchor_keys:
        return "foreign"
    _, last_generation, last_chain = chain_of[0]
    is_last = (generation, chain) == (last_generation, last_chain)
    before = chain in known and (rules.ancestor_suffices or generation < last_generation)
    if not is_last and not before:
        return "unprovable" if generation < state.floor else "foreign"
    for _, g, ch in chain_of:
        if ch not in known:
            return "unprovable" if g < state.floor else "foreign"
    return "yes"
