"""What must hold. Each check returns nothing, or raises Broken with the states concerned."""

from vault import FIELDS, verdict


class Broken(Exception):
    def __init__(self, name, *states, lost=None):
        super().__init__(name)
        self.name, self.states, self.lost, self.path = name, states, lost, ()


def check_state(s, rules, parents=()):
    """Of one state: what really happened before it, against what it holds."""
    c, t = s.contents, s.truth
    live = {i.id: i for i in c.items}
    if live.keys() & {tomb[0] for tomb in c.tombs}:
        raise Broken("no id is both live and dead", s, *parents)
    if len({i.key for i in c.items}) < len(c.items):
        raise Broken("one key, one item", s, *parents)
    if t.revoked & {str(x).split("/")[0] for x in c.slots}:
        raise Broken("the removal of a slot survives", s, *parents)
    if not c.slots:
        raise Broken("a vault keeps a slot", s, *parents)
    alive = t.writes - t.overwritten - t.deleted
    # A value that two machines wrote, and one of them replaced or removed, is replaced.
    replaced = {w[:3] for w in t.overwritten | t.deleted}
    for id, field, value, _ in alive:
        if (id, field, value) in replaced or id in t.named:
            continue
        if id not in live or not holds(live[id], field, value):
            raise Broken("no acknowledged value is lost", s, *parents, lost=(id, field, value))
    for id, item in live.items():
        # An item with an open conflict is never deleted by a merge; a removal under old keys is not carried out.
        if not any(w[0] == id for w in t.writes - t.deleted) and not item.conflicts and not t.accepted:
            raise Broken("a deletion survives", s, *parents)
        for field in FIELDS:
            check_overwritten(s, item, field, {w for w in alive if w[:3] not in replaced})
    if s.truth.states - {s.chain} != set(s.ancestors()) and rules.least_ancestors >= 1000:
        raise Broken("a merge knows all that it contains", s, *parents)


def holds(item, field, value):
    live = item.plain_key() if field == "key" else getattr(item, field)
    earlier = field == "secret" and any(v.secret == value for v in item.versions)
    return value in (live, getattr(item, field)) or (field, value) in item.conflicts or earlier


def check_overwritten(s, item, field, alive):
    """A value that was overwritten is live only next to a named conflict with what overwrote it."""
    newest = {w[2] for w in alive if w[0] == item.id and w[1] == field}
    value = item.plain_key() if field == "key" else getattr(item, field)
    if item.id in s.truth.named:
        return
    if newest and value is not None and value not in newest and not isinstance(value, tuple):
        if not any(f == field for f, _ in item.conflicts):
            raise Broken("an overwritten value stays overwritten", s)


def kept(s, truths):
    """The items and values that a state keeps, live or in conflict, of those that nobody has replaced."""
    gone = frozenset().union(*(t.overwritten | t.deleted for t in truths))
    replaced = {w[:3] for w in gone}
    writes = frozenset().union(*(t.writes for t in truths)) - gone
    ids = {i.id: i for i in s.contents.items}
    return frozenset(ids), frozenset(w[:3] for w in writes if w[0] in ids and w[:3] not in replaced
                                     and holds(ids[w[0]], *w[1:3]))


def check_pair(a, b, merged, rules):
    """Of two states on machines 0 and 1; `merged` is a memo of merge()."""
    m = merged(a, b, 0)
    n = merged(b, a, 1)
    if m is None or n is None:
        if m is not n:
            raise Broken("both sides refuse", a, b)
        return
    united = not a.contains(b) and not b.contains(a) and a.contents != b.contents
    if united and m.contents != n.contents:
        raise Broken("commutative", a, b, m, n)
    if merged(m, b, 0) is not m or merged(m, a, 0) is not m and a.contents != b.contents:
        raise Broken("idempotent", a, b, m)
    if m is not a and max(a.contents.keys, b.contents.keys, key=lambda k: (len(k), k)) != m.contents.keys:
        raise Broken("a rotation survives", a, b, m)
    if a.contents.keys != b.contents.keys:
        check_old_keys(a, b, m)
    check_verdicts(a, b, m, rules)
    for _ in range(4):
        if a.chain == b.chain:
            return
        a, b = merged(a, b, 0), merged(b, a, 1)
    raise Broken("two machines that merge one pair come to an end", a, b)


def check_old_keys(a, b, m):
    """What was written under old keys has not become a live value."""
    on = a if a.contents.keys == m.contents.keys else b
    if b.contains(a) or a.contains(b):
        return
    for item in on.contents.items:
        after = m.contents.find(item.id)
        if after is None or (after.plain_key(), after.attr, after.secret) != (item.plain_key(), item.attr, item.secret):
            raise Broken("old keys write nothing into the present", a, b, m)


def check_verdicts(a, b, m, rules):
    for s in (a, b):
        contained = s.chain in m.truth.states
        v = verdict(m, s.contents.keys, s.generation, s.chain, rules)
        if v in ("same", "descends") and not contained:
            raise Broken("never descends where it is not contained", s, m)
        whole = rules.least_ancestors >= 1000
        other_rotated = s.contents.keys != m.contents.keys[:len(s.contents.keys)]
        if contained and v not in ("same", "descends") and not other_rotated and (whole or v != "unprovable"):
            raise Broken(f"a state that is contained descends ({v})", s, m)


def check_triple(states, merged, rules):
    """Of three or more machines: associative, and all come to equal contents."""
    n = len(states)
    a, b, c = states[:3]
    orders = []
    for x, y, z in ((a, b, c), (b, c, a), (a, c, b)):
        first = merged(x, y, 0)
        second = first and merged(first, z, 0)
        if second is None:
            return
        orders.append(second)
    if not any(len({s.contents.keys for s in (x, y)}) > 1 for x, y in ((a, b), (b, c))):
        if len({kept(s, [t.truth for t in (a, b, c)]) for s in orders}) > 1 and not any(s.truth.named for s in orders):
            raise Broken("associative in what is kept", a, b, c, *orders)
    converge_in_turn(states, merged, n)
    converge_at_once(states, merged, n)


def converge_in_turn(states, merged, n):
    """One machine after the other merges all others: equal contents, and one head, in n rounds."""
    s = list(states)
    for _ in range(n):
        one_round(s, s, merged)
    if len({seen(x.contents) for x in s}) > 1:
        raise Broken("equal contents in as many rounds as machines (in turn)", *states, *s)
    if len({x.chain for x in s}) > 1:
        raise Broken("one head in as many rounds as machines (in turn)", *states, *s)


def converge_at_once(states, merged, n):
    """All machines merge all others as they were when the round began: equal values in n rounds, equal conflicts one round later, then one
    head. Where files were compacted, a conflict that is none may come up on one machine in the last of the n rounds."""
    s = list(states)
    for _ in range(n):
        one_round(s, list(s), merged)
    if len({values(x.contents) for x in s}) > 1:
        raise Broken("equal contents in as many rounds as machines (at once)", *states, *s)
    one_round(s, list(s), merged)
    if len({seen(x.contents) for x in s}) > 1:
        raise Broken("equal conflicts one round later (at once)", *states, *s)
    for _ in range(n + 1):
        one_round(s, list(s), merged)
    if len({x.chain for x in s}) > 1:
        raise Broken("one head in the end (at once)", *states, *s)


def seen(c):
    """The contents without revisions, which the order of merging can still change until one round later."""
    items = tuple((i.id, i.face(), frozenset(v.secret for v in i.versions)) for i in c.items)
    return items, tuple(t[0] for t in c.tombs), c.slots, c.removed, c.keys


def values(c):
    """The same without the conflicts that are named."""
    items = tuple((i.id, i.key, i.attr, i.secret, frozenset(v.secret for v in i.versions)) for i in c.items)
    return items, tuple(t[0] for t in c.tombs), c.slots, c.removed, c.keys


def one_round(s, others, merged):
    """The greatest head first: then most of the others need no commit (R-8.4)."""
    for i in range(len(s)):
        for other in sorted((t for j, t in enumerate(others) if j != i), key=lambda t: (-t.generation, -t.chain)):
            s[i] = merged(s[i], other, i, True)
