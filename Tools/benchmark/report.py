"""The table: for people, for machines, and as part of a page."""
import json


def number(value):
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def ratio(line):
    """With the interval that the rounds give, where that is not the same."""
    if line["ratio"] is None:
        return "–"
    shown, low, high = (f"{line[name]:.2f}" for name in ("ratio", "low", "high"))
    return shown if low == high else f"{shown} ({low}–{high})"


def goal(line):
    if line["goal"] is None:
        return "–"
    if line["against"] == "bound":
        return f"≤ {number(line['bound'] * line['goal'])}{'' if line['unit'] == '×' else ' ' + line['unit']}"
    return f"≤ {line['goal']:.2f}×" + (" limit" if line["against"] == "limit" else "")


def verdict(line):
    return {True: "reached", False: "MISSED", None: "–"}[line["reached"]]


HEAD = ["items", "work", "", "ours", "peer", "ratio", "goal", "", "limit"]


def cells(line):
    return [
        f"{line['items']:,}", line["says"], line["unit"], number(line["ours"]), number(line["peer"]), ratio(line), goal(line),
        verdict(line), number(line["limit"]),
    ]


def text(lines, notes):
    table = [HEAD, *map(cells, lines)]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEAD))]
    left = {1, 2, 7}
    shown = [
        "  ".join(cell.ljust(width) if column in left else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, widths))).rstrip()
        for row in table
    ]
    return "\n".join([*shown, "", *notes])


def markdown(lines, notes):
    """One table for each number of items."""
    parts = []
    for items in dict.fromkeys(line["items"] for line in lines):
        parts += [f"### {items:,} item{'' if items == 1 else 's'}", ""]
        parts += ["| work | unit | ours | peer | ratio | goal | | limit |", "|---|---|---|---|---|---|---|---|"]
        parts += ["| " + " | ".join(cells(line)[1:]) + " |" for line in lines if line["items"] == items]
        parts.append("")
    return "\n".join([*parts, *(f"- {note}" for note in notes)]) + "\n"


def machine(lines):
    return json.dumps(lines, indent=1) + "\n"


BEGIN, END = "<!-- figures: written by Tools/bench --markdown -->", "<!-- end of figures -->"


def put_into(path, figures):
    """Replaces what stands between the markers of a page."""
    page = path.read_text()
    before, rest = page.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{BEGIN}\n\n{figures}\n{END}{after}")
