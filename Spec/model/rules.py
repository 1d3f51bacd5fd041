"""Turns each rule off, one at a time, and says which scenarios and how many random sequences break."""

import state
from scenarios import ALL
from oracle import Broken
from simulate import Run


def rules(sequences, report=print):
    needless = []
    for rule, text in state.ALL_RULES.items():
        state.RULES[rule] = False
        broken, found = [], {}
        for number, (_, f) in ALL.items():
            if number not in ("G5", "G9"):  # they take long, and others break with them
                try:
                    f()
                except (Broken, KeyError, AssertionError):
                    broken.append(number)
        for seed in range(1, sequences + 1):
            try:
                Run(seed).run()
            except Broken as b:
                found[b.name] = found.get(b.name, 0) + 1
            except (KeyError, AssertionError):
                found["the model"] = found.get("the model", 0) + 1
        state.RULES[rule] = True
        most = ", ".join(f"{name} {n}" for name, n in sorted(found.items(), key=lambda x: -x[1])[:3])
        report(f"| `{rule}` | {text} | {', '.join(broken) or '–'} | {sum(found.values())}{': ' + most if most else ''} |",
               flush=True)
        if not broken and not found:
            needless.append(rule)
    report(f"{len(state.ALL_RULES)} rules; without consequence: {', '.join(needless) or 'none'}")
    return 1 if needless else 0
