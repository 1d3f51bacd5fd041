"""The decision about replica ids: rows of the vector after ten years, and what clones do. replicas.md has the figures."""

import random
import statistics

import state
from machine import Machine, World
from merging import merge
from oracle import Broken, check
from state import State

YEARS, ROW, CHECKED_ROW = 10, 16, 24

# name: days with changes (share), changes on such a day, days between boots, share of days on two branches at once,
# a program that runs between boots: its changes a day; whether it remembers
MACHINES = {
    "laptop": (0.6, 2, 14, 0.05, 0, True),
    "second laptop": (0.3, 2, 10, 0.2, 0, True),
    "desktop": (0.5, 3, 1, 0, 0, True),
    "server": (0.9, 1, 45, 0, 20, True),
    "phone": (0.4, 1, 21, 0, 0, True),
}
BUILDS = ("a build without memory, one change a week", 1 / 7)
POLICIES = {
    "machine": "one id for a machine (and one more for each branch), continued for ever",
    "run": "one id for a run of the machine: its boot, and where its memory is kept",
    "vouched": "one id for as long as a process lives that has used it (a program, or an agent for a working day)",
    "process": "one id for each process that writes",
}


def rows(policy, seed, builds=False):
    r, count, changes = random.Random(seed), 0, 0
    for writing, most, boot, branches, program, _ in MACHINES.values():
        ids, to_boot, program_id = 0, 0, False
        for _ in range(365 * YEARS):
            to_boot -= 1
            if to_boot < 0:
                to_boot = max(0, round(r.expovariate(1 / boot))) if boot > 1 else 0
                program_id = False
                if policy == "run":
                    count += 0
                    ids = 0  # of this run
            n = sum(r.random() < 0.5 for _ in range(2 * most)) if r.random() < writing else 0
            changes += n + program
            two = n > 1 and r.random() < branches
            if policy in ("machine", "run"):
                if (n or program) and ids == 0:
                    ids, count = 1, count + 1
                if two and ids == 1:
                    ids, count = 2, count + 1
            elif policy == "vouched":
                count += (n > 0) + two
                if program and not program_id:
                    program_id, count = True, count + 1
            else:
                count += n
                if program and not program_id:
                    program_id, count = True, count + 1
    if builds:
        count += round(365 * YEARS * BUILDS[1])
    return count, changes


def table(report):
    report(f"Rows of the vector after {YEARS} years of {len(MACHINES)} machines "
           f"({', '.join(MACHINES)}), {rows('machine', 1)[1]:,} changes:\n")
    report("| ids | rows | bytes | with " + BUILDS[0] + " |")
    report("|---|---|---|---|")
    for policy, text in POLICIES.items():
        n = round(statistics.mean(rows(policy, seed)[0] for seed in range(5)))
        b = round(statistics.mean(rows(policy, seed, True)[0] for seed in range(5)))
        report(f"| *{policy}*: {text} | {n:,} | {n * ROW:,} | {b * ROW:,} |")
    n = round(statistics.mean(rows("machine", seed)[0] for seed in range(5)))
    report(f"| *machine*, with a check value in each row | {n:,} | {n * CHECKED_ROW:,} | |")


# Clones

KINDS = {
    "put back from a backup, or a disk image started twice": False,
    "running on from an image of its memory": True,
}


def clone(policy, live, seed, direct, window=0, spread=2**15):
    """Two machines with one memory change one vault; then they meet, or somebody else merges their files first.

    Returns whether the vector claimed what it had not seen, whether a third machine could tell from the last `window`
    revisions of each id in the rows, whether an owner noticed, whether everything is reachable afterwards, and whether
    it would be if both had put what was merged in the place of their files before they noticed.
    """
    r = random.Random(seed)
    world = World()
    a = Machine(world, r, State(world), 0)
    a.add_slot(0, 1)
    a.spread = spread
    items = [a.add(0, 2 + n, dict(key=f"k{n}", place=("g", 1, None), secret=f"first{n}")) for n in range(3)]
    b = Machine(world, r, a.files[0], 1)
    z = Machine(world, r, a.files[0], 2)
    b.ids, b.log, b.run = {i: list(v) for i, v in a.ids.items()}, {i: set(v) for i, v in a.log.items()}, a.run
    b.spread = z.spread = spread
    shared = next(iter(a.ids))
    if not live and policy in ("run", "vouched"):
        b.run = r.getrandbits(32)
    now, last = 10, {}
    own = {0: sorted(a.log[shared]), 1: sorted(a.log[shared])}
    for _ in range(r.randint(1, 12)):
        m = r.choice((a, b))
        now += r.choice((0, 1, 2))
        i = r.choice(items)
        if policy == "process":
            m.run = r.getrandbits(32)
        m.change(0, now << 16, i, {"secret": f"{m.name}.{now}.{r.random()}"})
        last[m.name, i] = m.files[0].value(i, "secret", m.files[0].view(i).shown["secret"])
        own[m.name] = sorted(m.log.get(shared, ()))
    x, y = a.files[0], b.files[0]
    wrong = any((e in x.truth) != x.seen(e.dot) or (e in y.truth) != y.seen(e.dot) for e in world.events)
    told = False
    p, q = sorted((own[0], own[1]), key=lambda log: log[-1])
    recent = q[-window:] if window else []
    if recent and p[-1] not in recent and p[-1] >= recent[0]:
        told = True
    if direct:
        noticed = a.check_ids(y) | b.check_ids(x)
        meeting = (x, y)
    else:
        z.merge_in(0, now, x)
        z.merge_in(0, now, y)
        noticed = a.check_ids(z.files[0]) | b.check_ids(z.files[0])
        meeting = (x, y, z.files[0])
    reachable = lambda s: {s.value(i, f, d) for i in items if i in s.items for f, d in  # noqa: E731
                           s.view(i).marks | s.view(i).earlier | set(s.view(i).shown.items()) if d}
    late = set(last.values()) <= reachable(meeting[-1] if not direct else merge(x, y))
    if noticed:  # the owner who noticed says so in the vault; its own file still has what it made
        for st in meeting:
            st.split = frozenset(noticed)
    s = meeting[0]
    for t in meeting[1:]:
        s = merge(s, t)
    return wrong, told, bool(noticed), set(last.values()) <= reachable(s), late


def clones(report, trials=400):
    report(f"\nA machine is cloned, both go on, and meet ({trials} trials each):\n")
    report("| ids | the clone was | they meet | harmless | noticed by its owner | of these all reachable | if both took the merged file first | neither |")
    report("|---|---|---|---|---|---|---|---|")
    for policy in POLICIES:
        state.RULES["ids_end_with_the_run"] = policy != "machine"
        for text, live in KINDS.items():
            for direct in (True, False):
                got = [clone(policy, live, seed, direct) for seed in range(trials)]
                harm = [g for g in got if g[0]]
                seen = [g for g in harm if g[2]]
                report(f"| *{policy}* | {text} | {'directly' if direct else 'through a third'} | {trials - len(harm)} | "
                       f"{len(seen)} | {sum(g[3] for g in seen)} | {sum(g[4] for g in seen)} | {len(harm) - len(seen)} |")
    state.RULES["ids_end_with_the_run"] = True
    got = [clone("run", True, seed, True, spread=0) for seed in range(trials)]
    report(f"\nWithout the random part of a revision: neither harmless nor noticed "
           f"{sum(g[0] and not g[2] for g in got)} of {trials}.")
    report("\nWhat a third machine could tell before it merges, if a row listed the id's last revisions:\n")
    report("| revisions in a row | bytes more in a row | told, of those that do harm |")
    report("|---|---|---|")
    for window in (1, 2, 4, 8, 16):
        got = [clone("run", True, seed, False, window) for seed in range(trials)]
        harm = [g for g in got if g[0]]
        report(f"| {window} | {8 * (window - 1)} | {sum(g[1] for g in harm)} of {len(harm)} |")


def replicas(report=print):
    table(report)
    clones(report)
    return 0
