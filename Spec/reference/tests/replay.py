"""Plays what the model's machines do (Spec/model) with real files: the reference has to come to what the model says."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from tests.orders import Played, at_end, model
from tests.vaults import OTHER, RAW
from vaultfmt_reference.changes import Edit, added
from vaultfmt_reference.codec import NO_DEVICE, Refused
from vaultfmt_reference.contents import Contents
from vaultfmt_reference.dots import Dot
from vaultfmt_reference.drafts import Now, Revisions
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.holding import Held, Named
from vaultfmt_reference.items import IN_RECORD, SEALED, ItemKey
from vaultfmt_reference.merge import adopt, merge
from vaultfmt_reference.past import ATTRIBUTE_KIND, KEY_FIELD, PLACE_FIELD, SECRET_FIELD, Field, Where
from vaultfmt_reference.reader import Reader
from vaultfmt_reference.replicas import Memory
from vaultfmt_reference.rewrite import NewVault, add_scoped, add_slot, compact, create, grant, remove_slot, rename_slot, rotate
from vaultfmt_reference.sealing import content_of, view_of
from vaultfmt_reference.slots import NewSlot
from vaultfmt_reference.views import sameness
from vaultfmt_reference.writer import Transaction

# A model's revision, and those that the records of a commit take between it and the next.
SCALE = 1 << 16
FIELDS: dict[str, Field] = {
    "key": KEY_FIELD, "place": PLACE_FIELD, "secret": SECRET_FIELD, "sealed": (ATTRIBUTE_KIND, b"x/sealed"),
    "label": (ATTRIBUTE_KIND, b"label"),
}  # fmt: skip
NAMES = {of: name for name, of in FIELDS.items()}
DEVICES = {bytes([number + 1]) * 16: bytes([number + 101]) * 32 for number in range(40)}


class Told(Revisions):
    """The dots that the model made; records take the revisions after them."""

    def __init__(self, told: list[int]) -> None:
        super().__init__(0, int, bytes)
        self.told = told

    def next(self) -> int:
        self.clock = self.told.pop(0) * SCALE if self.told else self.clock + 1
        return self.clock

    def of_record(self) -> int:
        self.told, self.clock = [], self.clock + 1
        return self.clock


class Fixed(Memory):
    """Of one commit: the id and the revisions that the model chose."""

    def __init__(self, replica: int = 0, told: Iterable[int] = ()) -> None:
        super().__init__()
        self.replica, self.told = replica, list(told)

    def choose(self, vector: object, random: object) -> int:
        assert self.replica
        return self.replica

    def revisions(self, clock: int, now: Now, random: object) -> Revisions:
        return Told(list(self.told))

    def check(self, vector: object) -> set[int]:
        return set()


def number(dot: tuple[int, int]) -> bytes:
    """An id of 16 bytes, in the order of the model's: of an item or a slot."""
    return dot[0].to_bytes(8, "big") + dot[1].to_bytes(8, "big")


def real(dot: tuple[int, int]) -> Dot:
    return Dot(dot[0] * SCALE, dot[1])


def where(place: tuple[str, int, int | None]) -> Where:
    group, accessibility, device = place
    return Where(group.encode(), accessibility, NO_DEVICE if device is None else bytes([device + 1]) * 16)


def held(field: str, value: Any, bound: bool) -> Held:
    match field:
        case "key":
            return Held(value=ItemKey(1, (b"service", value.encode())).encode())
        case "place":
            return Held(where=where(value))
        case "secret":
            return Held(value=value.encode(), is_bound=bound)
        case "sealed":
            return Held(SEALED | IN_RECORD, value.encode(), is_bound=bound)
        case _:
            return Held(0, value.encode())


def said(field: Field, value: Held, item: bytes) -> Any:
    """As the model says it."""
    if value.where is not None:
        group, accessibility, device = value.where
        return group.decode(), accessibility, None if device == NO_DEVICE else device[0] - 1
    content = content_of(item, field, value)
    if field == KEY_FIELD:
        account = ItemKey.decode(content).fields[1]
        assert isinstance(account, bytes)
        return account.decode()
    return content.decode()


class Files:
    """The file of each state of the model, by the state's identity."""

    def __init__(self, seed: int, has_all_secrets: bool = True) -> None:
        self.random, self.time = Random(f"replay/{seed}").randbytes, 1000
        self.known: dict[int, tuple[Any, bytes]] = {}
        # Merges that left no full slot, until the user adds one.
        self.waiting: dict[int, tuple[Any, bytes, bytes]] = {}
        self.has_all_secrets = has_all_secrets
        self.devices = DEVICES
        self.checked = 0

    def now(self) -> int:
        self.time += 1
        return self.time

    def reader(self, data: bytes) -> Reader:
        return Reader(data, Factors(raw_key=RAW), self.devices)

    def file(self, state: Any) -> bytes:
        return self.known[id(state)][1]

    def keep(self, state: Any, data: bytes) -> None:
        self.known[id(state)] = state, data

    def transaction(self, state: Any, memory: Memory) -> Transaction:
        return Transaction(self.reader(self.file(state)), self.random, self.now, memory)

    def slot(self, c: tuple[int, int], raw: bytes = RAW) -> NewSlot:
        return NewSlot(Factors(raw_key=raw), name=b"slot", id=number(c))

    def memory(self, event: Any, skip: int = 0) -> Fixed:
        """`skip` is the number of dots that the model made and did not use."""
        return Fixed(event.dot[1], range(event.first + skip, event.dot[0] + 1))

    # What machines do

    def added_slot(self, before: Any, after: Any, event: Any, full: bool, groups: Iterable[str]) -> bytes:
        memory, c = self.memory(event), event.item
        if id(before) in self.waiting:
            _, ours, theirs = self.waiting[id(before)]
            return merge(self.reader(ours), self.reader(theirs), self.random, self.now, memory, self.slot(c)).data
        if id(before) not in self.known:
            return create(NewVault([(self.slot(c), None)], limit=10, devices=self.devices), self.random, self.now, memory)
        transaction = self.transaction(before, memory)
        if full:
            return add_slot(transaction, self.slot(c))
        names = [each.encode() for each in groups]
        for name in names:
            transaction.ring.group(name)
        return add_scoped(transaction, self.slot(c, OTHER), names)

    def granted(self, before: Any, after: Any, event: Any, c: tuple[int, int]) -> bytes:
        transaction = self.transaction(before, self.memory(event))
        names = [each.encode() for each in sorted(after.slots[c].groups())]
        for name in names:
            transaction.ring.group(name)
        return grant(transaction, number(c), names)

    def rotated(self, before: Any, after: Any, event: Any, restart: bool) -> bytes:
        slots: list[tuple[NewSlot, list[bytes] | None]] = []
        for c, each in sorted(before.slots.items()):
            names = None if each.full else [name.encode() for name in sorted(each.groups())]
            slots.append((self.slot(c, RAW if each.full else OTHER), names))
        return rotate(self.transaction(before, self.memory(event)), slots, restart)

    def changed(self, before: Any, event: Any, i: tuple[int, int], given: dict[str, Any]) -> bytes:
        transaction = self.transaction(before, self.memory(event))
        item = transaction.contents.items[number(i)]
        writes, place = given["writes"], given["writes"].get("place")
        bound = (where(place) if place else transaction.view(item).where).is_bound
        names = {(NAMES[of], dot): dot for of, dot in item.names if of in NAMES}
        forget = {(FIELDS[f], self.found(before, item.names, f, d)) for f, d in given["forget"]}
        edit = Edit(
            {FIELDS[f]: held(f, value, bound) for f, value in writes.items()}, {FIELDS[f] for f in given["settle"]},
            {FIELDS[f] for f in given["absent"]}, forget,
        )  # fmt: skip
        assert names
        transaction.edit(number(i), edit)
        return transaction.commit()

    def found(self, before: Any, names: Iterable[Named], field: str, dot: tuple[int, int]) -> Dot:
        """The dot here that is the model's: after a restart of the vector it has no id, and can be another one."""
        exact = real(dot)
        if exact.revision > before.floor * SCALE:
            return exact
        return min((each for of, each in names if of == FIELDS[field]), key=lambda each: abs(each.revision - exact.revision))

    def added(self, before: Any, event: Any, values: dict[str, Any]) -> bytes:
        transaction = self.transaction(before, self.memory(event))
        bound = where(values["place"]).is_bound
        writes = {FIELDS[f]: held(f, value, bound) for f, value in values.items()}
        i = number(event.item)
        transaction.contents.items[i] = added(i, writes, transaction.dot(), self.now(), self.time)
        return transaction.commit()

    def merged(self, ours: bytes, theirs: bytes) -> bytes:
        return merge(self.reader(ours), self.reader(theirs), self.random, self.now).data

    # What a file says

    def contents(self, data: bytes, loose: set[bytes]) -> Any:
        """In the model's terms; of a loose item only what it shows of its name."""
        opened = self.reader(data)
        contents = Contents.of(opened)
        keys = contents.page_keys()
        items = []
        for i, item in sorted(contents.items.items()):
            gone = contents.gone(item)
            same = sameness(item, lambda of, value, i=i: content_of(i, of, value))
            view = view_of(item, gone, contents.limit)
            assert same
            if i in loose:
                items.append((i, keys[i].endswith(i), said(KEY_FIELD, item.values[KEY_FIELD, view.shown[KEY_FIELD]], i)))
                continue
            shown = {NAMES[of]: said(of, item.values[of, dot], i) for of, dot in view.shown.items()}
            marks = {(NAMES[of], said(of, item.values[of, dot], i)) for of, dot in view.marks}
            earlier = {(NAMES[of], said(of, item.values[of, dot], i)) for of, dot in view.earlier}
            siblings = {dot.revision // SCALE for dot in item.siblings if dot.replica}
            items.append((i, keys[i].endswith(i), shown, marks, earlier, siblings))
        slots = {each: set(state.grants) for each, state in contents.slots.items()}
        rows = {replica: revision // SCALE for replica, revision in contents.vector.rows.items()}
        return items, slots, contents.limit, rows

    def expected(self, st: Any, loose: set[bytes]) -> Any:
        names, items = st.names(), []
        for i in sorted(st.items):
            v, is_twin = st.view(i), names[i][1] is not None
            if number(i) in loose:
                items.append((number(i), is_twin, st.value(i, "key", v.shown["key"])))
                continue
            shown = {f: st.value(i, f, d) for f, d in v.shown.items() if d}
            marks = {(f, st.value(i, f, d)) for f, d in v.marks}
            earlier = {(f, st.value(i, f, d)) for f, d in v.earlier}
            siblings = {d[0] for d in st.items[i].siblings if d[0] > st.floor}
            items.append((number(i), is_twin, shown, marks, earlier, siblings))
        slots = {number(c): {name.encode() for name in each.groups()} for c, each in st.slots.items()}
        return items, slots, st.limit[1], dict(st.vv)


Wrapped = Callable[..., Any]


def play(seed: int, with_devices: bool = False, each_state: bool = True) -> Files:
    """One random history: every state is compared, and at its end the copies are merged in all orders."""
    machine, simulate = model("machine"), model("simulate")
    files, loose = Files(seed), set[bytes]()
    kind = machine.Machine
    whole = {name: getattr(kind, name) for name in (
        "change", "add", "remove", "set_limit", "add_slot", "change_slot", "remove_slot", "grant", "rotate", "compact", "merge_in"
    )}  # fmt: skip

    def compare(st: Any) -> None:
        if id(st) in files.waiting or not each_state:
            return
        files.checked += 1
        found, wanted = files.contents(files.file(st), loose), files.expected(st, loose)
        if found != wanted:
            raise Played(f"seed {seed}: {found}\n  instead of {wanted}")

    def of(name: str, make: Callable[..., bytes]) -> Wrapped:
        def wrapped(self: Any, k: int, now: int, *args: Any, **more: Any) -> Any:
            before = self.files[k]
            result = whole[name](self, k, now, *args, **more)
            event = self.world.events[-1]
            files.keep(self.files[k], make(before, self.files[k], event, *args, **more))
            compare(self.files[k])
            return result

        return wrapped

    def loosen(event: Any, places: Iterable[Any]) -> None:
        if any(place and place[2] is not None for place in places):
            loose.add(number(event.item))

    def change(
        before: Any, after: Any, event: Any, i: Any, writes: Any = None, settle: Any = (), forget: Any = (), absent: Any = (),
        kind: Any = None,
    ) -> bytes:  # fmt: skip
        loosen(event, [(writes or {}).get("place")])
        return files.changed(before, event, i, {"writes": writes or {}, "settle": settle, "forget": forget, "absent": absent})

    def add(before: Any, after: Any, event: Any, values: Any) -> bytes:
        loosen(event, [values["place"]])
        return files.added(before, event, values)

    def remove(before: Any, after: Any, event: Any, i: Any) -> bytes:
        transaction = files.transaction(before, files.memory(event))
        transaction.dot()
        del transaction.contents.items[number(i)]
        return transaction.commit()

    def set_limit(before: Any, after: Any, event: Any, limit: int) -> bytes:
        transaction = files.transaction(before, files.memory(event))
        transaction.set_limit(limit)
        return transaction.commit()

    def compacted(self: Any, k: int) -> None:
        whole["compact"](self, k)
        st = self.files[k]
        if id(st) not in files.waiting:
            files.keep(st, compact(files.transaction(st, Fixed())))
            compare(st)

    def merge_in(self: Any, k: int, now: int, theirs: Any, accept: bool = True) -> Any:
        ours, events = self.files[k], len(self.world.events)
        found: list[Any] = []
        original = machine.merge

        def told(x: Any, y: Any) -> Any:
            result = original(x, y)
            found.append(result)
            join(x, y, result)
            return result

        machine.merge = told
        try:
            result = whole["merge_in"](self, k, now, theirs, accept)
        finally:
            machine.merge = original
        if ours.key != theirs.key and id(self.files[k]) not in files.known:
            new = [event for event in self.world.events[events:] if event.kind == "take in"]
            taken = self.files[k]
            memory = files.memory(new[0], int(new[0].first < new[0].dot[0]))
            files.keep(taken, adopt(files.reader(files.file(ours)), files.reader(files.file(theirs)), files.random, files.now, memory).data)
        if id(self.files[k]) in files.known:
            compare(self.files[k])
        return result

    def join(x: Any, y: Any, result: Any) -> None:
        try:
            files.keep(result, files.merged(files.file(x), files.file(y)))
        except Refused as refused:
            if refused.verdict != "last-slot":
                raise
            files.waiting[id(result)] = result, files.file(x), files.file(y)

    replaced: dict[str, Wrapped] = {
        "change": of("change", change), "add": of("add", add), "remove": of("remove", remove), "set_limit": of("set_limit", set_limit),
        "add_slot": of(
            "add_slot", lambda before, after, event, full=True, groups=(): files.added_slot(before, after, event, full, groups)
        ),
        "change_slot": of(
            "change_slot",
            lambda before, after, event, c: rename_slot(files.transaction(before, files.memory(event)), number(c), b"renamed"),
        ),
        "remove_slot": of(
            "remove_slot", lambda before, after, event, c: remove_slot(files.transaction(before, files.memory(event)), number(c))
        ),
        "grant": of("grant", lambda before, after, event, c, group, take=False: files.granted(before, after, event, c)),
        "rotate": of("rotate", lambda before, after, event, restart=False: files.rotated(before, after, event, restart)),
        "compact": compacted, "merge_in": merge_in,
    }  # fmt: skip

    class Replayed(simulate.Run):  # type: ignore[misc,name-defined]
        def random_place(self, m: Any) -> Any:
            place = super().random_place(m)
            return place if with_devices or place[2] is None else (place[0], 1, None)

        def meet(self, m: Any, k: int, theirs: Any) -> None:
            """The model keeps the ids of dots below the floor; a branch without them has more that is not known."""
            if m.files[k].key == theirs.key or not (m.files[k].floor or theirs.floor):
                super().meet(m, k, theirs)

        def end(self) -> None:
            at_end(files, [m.files[k] for m in self.machines for k in range(len(m.files))], self.r, loose)

    for name, function in replaced.items():
        setattr(kind, name, function)
    try:
        Replayed(seed).run()
    finally:
        for name, function in whole.items():
            setattr(kind, name, function)
    return files
