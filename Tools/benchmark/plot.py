"""Draws what each row costs against the number of items, as SVG that can be read on light and dark backgrounds."""
import html
import math
import re

# Text is of a grey between where nobody says what the background is.
SERIES = ["ours", "peer", "limit"]
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #737a83 }
.title { font-weight: 600 }
.grid { stroke: #8c959f; stroke-opacity: .35; stroke-width: 1 }
.axis { stroke: #656d76; stroke-width: 1 }
.line { fill: none; stroke-width: 2.25; stroke-linejoin: round; stroke-linecap: round }
.ours { stroke: #0969da } .peer { stroke: #bc4c00 } .limit { stroke: #818b98; stroke-dasharray: 2 5 }
circle.ours { fill: #0969da } circle.peer { fill: #bc4c00 } circle.limit { fill: #818b98; stroke-dasharray: none }
@media (prefers-color-scheme: light) { text { fill: #1f2328 } }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .ours { stroke: #4493f8 } .peer { stroke: #f0883e } .limit { stroke: #9198a1 }
  circle.ours { fill: #4493f8 } circle.peer { fill: #f0883e } circle.limit { fill: #9198a1 }
}
"""


def tag(name, text=None, **attributes):
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{written}/>" if text is None else f"<{name}{written}>{html.escape(text)}</{name}>"


def steps(top):
    """Round figures from 0 to at least `top`, about four of them."""
    rough = max(top, 1e-9) / 4
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return [step * index for index in range(math.ceil(top / step - 1e-9) + 1)]


def short(count):
    return f"{count // 1_000_000}M" if count % 1_000_000 == 0 else f"{count // 1000}k" if count % 1000 == 0 else str(count)


def heading(line):
    """What a row is, without what its peer is."""
    return re.sub(r" \(.*\)", "", line["says"]) + f" ({line['unit']})"


def panel(lines, left, top, width, height):
    """One row: axes, and a line for each series that has figures."""
    lines = sorted(lines, key=lambda line: line["items"])
    sizes = [line["items"] for line in lines]
    ticks = steps(max(line[name] for line in lines for name in SERIES if line[name] is not None))
    x0, y0, plot_width, plot_height = left + 48, top + 28, width - 64, height - 52
    low, high = math.log10(sizes[0]), math.log10(sizes[-1])
    x = lambda items: x0 + (plot_width * (math.log10(items) - low) / (high - low) if high > low else plot_width / 2)
    y = lambda value: y0 + plot_height * (1 - value / ticks[-1])
    parts = [tag("text", heading(lines[0]), x=left + 4, y=top + 14, class_="title")]
    for tick in ticks:
        parts.append(tag("line", x1=x0, x2=x0 + plot_width, y1=round(y(tick), 1), y2=round(y(tick), 1), class_="grid" if tick else "axis"))
        parts.append(tag("text", f"{tick:g}", x=x0 - 8, y=round(y(tick) + 4, 1), text_anchor="end"))
    for items in sizes:
        parts.append(tag("text", short(items), x=round(x(items), 1), y=y0 + plot_height + 18, text_anchor="middle"))
    for name in reversed(SERIES):
        points = [(round(x(line["items"]), 1), round(y(line[name]), 1)) for line in lines if line[name] is not None]
        parts.append(tag("polyline", points=" ".join(f"{a},{b}" for a, b in points), class_=f"line {name}"))
        parts += [tag("circle", cx=a, cy=b, r=3.5, class_=name) for a, b in points]
    return parts


def legend(left, top, lines, peer="SQLCipher"):
    parts = []
    for name, says in zip(SERIES, ["vaultfmt", peer, "the bare primitives"]):
        if all(line[name] is None for line in lines):
            continue
        parts.append(tag("line", x1=left, x2=left + 26, y1=top - 4, y2=top - 4, class_=f"line {name}"))
        parts.append(tag("text", says, x=left + 34, y=top))
        left += 60 + 7 * len(says)
    return parts


def page(width, height, parts, title):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    return "\n".join([head, tag("title", title), f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def draw(lines, folder):
    """A plot of each row that has a peer's figures, and all those that have SQLCipher's in one."""
    folder.mkdir(exist_ok=True)
    rows = {}
    for line in lines:
        if line["drawn"] and line["peer"] is not None:
            rows.setdefault(line["row"], []).append(line)
    width, height, columns = 330, 220, 3
    for name, found in rows.items():
        peer = "KeePassXC" if name.startswith("command") else "SQLCipher"
        parts = panel(found, 0, 0, 560, 320) + legend(52, 342, found, peer) + [tag("text", "items", x=540, y=342, text_anchor="end")]
        (folder / f"{name}.svg").write_text(page(560, 354, parts, heading(found[0])))
    parts = []
    rows = {name: found for name, found in rows.items() if not name.startswith("command")}
    for index, found in enumerate(rows.values()):
        parts += panel(found, index % columns * width, index // columns * height, width, height - 12)
    bottom = math.ceil(len(rows) / columns) * height + 14
    parts += legend(52, bottom, lines) + [tag("text", "against the number of items", x=columns * width - 16, y=bottom, text_anchor="end")]
    title = "Cost of each kind of work against the number of items, compared with SQLCipher and the bare primitives"
    (folder / "overview.svg").write_text(page(columns * width, bottom + 12, parts, title))
