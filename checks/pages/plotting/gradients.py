"""Which block of a backward stage visits which pair of tiles, and which tiles of the gradients it writes (`lab owners`)."""
from .registry import figure
from .results import Unusable, short
from .style import BLACK, BLUE, GREEN, ORANGE, PURPLE, arrow, box, canvas

OWNER = [(BLUE, "///"), (ORANGE, "\\\\\\"), (GREEN, ".."), (PURPLE, "xx")]  # a block's colour and hatch
CELL = 0.72


def data_gradients(r, name):
    """Each gradient: which block writes which tile, and how; and the walk of each block."""
    try:
        owners = r.owners[name]
    except KeyError:
        raise Unusable(f"there is no owners/{name}.tsv; make figure-data writes it") from None
    rows = int(owners["rows per tile"])
    tiles = int(owners["shape"].split(",")[2]) // rows
    if tiles != len(OWNER) or owners["keys per tile"] != owners["rows per tile"]:
        raise Unusable(f"owners/{name}.tsv: the figure shows {len(OWNER)} square tiles")
    events = lambda gradient, does: sorted([e["block"], e["tile"]] for e in owners["events"] if (e["gradient"], e["does"]) == (gradient, does))
    return {"stage": owners["stage"], "shape": owners["shape"], "tile": rows, "tiles": tiles, "dq": events("dq", "stores"), "added": events("dq", "adds"),
            "dk": events("dk", "stores"), "dv": events("dv", "stores"), "over_rows": events("dv", "walks over rows"), "over_keys": events("dq", "walks over keys")}


def chip(axes, x, y, block, text="", width=0.3):
    colour, hatch = OWNER[block]
    box(axes, x, y, width, 0.3, text or str(block), 9, 0.8, words={"weight": "bold"}, edgecolor=colour, hatch=hatch, linewidth=1.4)


def grid(plt, axes, left, top, d, walks, down):
    """The pairs of tiles: a pair has the colour of the block that visits it; an arrow shows the way of each block."""
    visited = {(tile, block) if down else (block, tile): block for block, tile in walks}
    for row in range(d["tiles"]):
        axes.text(left - 0.08, top + (row + 0.5) * CELL, f"{row * d['tile']}–{(row + 1) * d['tile'] - 1}", fontsize=8, ha="right", va="center")
        axes.text(left + (row + 0.5) * CELL, top - 0.12, f"{row * d['tile']}–{(row + 1) * d['tile'] - 1}", fontsize=8, ha="center", va="center")
        for key in range(d["tiles"]):
            x, y = left + key * CELL, top + row * CELL
            if (row, key) not in visited:
                box(axes, x, y, CELL, CELL, "masked", 7.5, facecolor="#eeeeee", edgecolor="#bbbbbb")
                continue
            colour, hatch = OWNER[visited[row, key]]
            axes.add_patch(plt.Rectangle((x, y), CELL, CELL, facecolor="white", edgecolor=colour, hatch=hatch, linewidth=0.8))
            axes.add_patch(plt.Rectangle((x, y), CELL, CELL, facecolor="none", edgecolor=BLACK, linewidth=0.8))
    for block in range(d["tiles"]):
        along = sorted(tile for b, tile in walks if b == block)
        first, last, across = along[0] + 0.2, along[-1] + 0.8, block + 0.5
        ends = ((left + across * CELL, top + last * CELL), (left + across * CELL, top + first * CELL)) if down else ((left + last * CELL, top + across * CELL), (left + first * CELL, top + across * CELL))
        arrow(axes, *ends, BLACK, 1.8)
    axes.text(left + d["tiles"] * CELL / 2, top - 0.33, "keys", fontsize=9, ha="center", va="center")
    axes.text(left - 0.08, top - 0.12, "rows", fontsize=9, ha="right", va="center")


def below(axes, left, top, d):
    """Under each column: the block that stores dK and dV of those keys."""
    by = dict((tile, block) for block, tile in d["dk"])
    if sorted(d["dk"]) != sorted(d["dv"]) or len(by) != len(d["dk"]):
        raise Unusable(f"{d['stage']}: the figure shows one block for a tile of dK and of dV")
    y = top + d["tiles"] * CELL
    for tile, block in by.items():
        arrow(axes, (left + (tile + 0.5) * CELL, y + 0.26), (left + (tile + 0.5) * CELL, y))
        chip(axes, left + (tile + 0.5) * CELL - 0.15, y + 0.28, block)
    axes.text(left - 0.65, y + 0.76, "dK and dV of these keys: stored once, by this block", fontsize=8.5, va="center")


def footer(axes, d, y):
    axes.text(0.1, y, f"{short(d['stage'])} on {d['shape']}, one head; tiles of {d['tile']} rows and keys. A block has a colour, a hatch and a number.", fontsize=8, va="center", color="#333333")


@figure("owners-b1", lambda r: data_gradients(r, "b1"))
def draw_owned(plt, d):
    figure, axes = canvas(plt, 4.95)
    left, top = 0.75, 0.95
    axes.text(0.1, 0.2, "key_gradients: a block per 32 keys", fontsize=10, weight="bold", va="center")
    grid(plt, axes, left, top, d, d["over_rows"], True)
    below(axes, left, top, d)
    left = 4.6
    axes.text(left - 0.65, 0.2, "query_gradients: a block per 32 rows", fontsize=10, weight="bold", va="center")
    grid(plt, axes, left, top, d, d["over_keys"], False)
    x = left + d["tiles"] * CELL
    for block, tile in d["dq"]:
        arrow(axes, (x + 0.1, top + (tile + 0.5) * CELL), (x, top + (tile + 0.5) * CELL))
        chip(axes, x + 0.12, top + (tile + 0.5) * CELL - 0.15, block)
    axes.text(left, top + d["tiles"] * CELL + 0.28, "dQ of these rows: stored once, by the block\nat the right", fontsize=8.5, va="center")
    footer(axes, d, 4.8)
    return figure


@figure("owners-b2", lambda r: data_gradients(r, "b2"))
def draw_added(plt, d):
    figure, axes = canvas(plt, 4.95)
    left, top = 0.75, 0.95
    axes.text(0.1, 0.2, "gradients: a block per 32 keys", fontsize=10, weight="bold", va="center")
    grid(plt, axes, left, top, d, d["over_rows"], True)
    below(axes, left, top, d)
    x = left + d["tiles"] * CELL
    axes.text(x + 0.55, top - 0.26, "dQ of these rows: fp32 sums,\neach block adds its part", fontsize=9, va="center")
    for tile in range(d["tiles"]):
        y = top + (tile + 0.5) * CELL
        arrow(axes, (x + 0.5, y), (x, y))
        adders = sorted(block for block, of in d["added"] if of == tile)
        for i, block in enumerate(adders):
            chip(axes, x + 0.55 + 0.58 * i, y - 0.15, block)
            if i + 1 < len(adders):
                axes.text(x + 0.99 + 0.58 * i, y, "+", fontsize=12, weight="bold", ha="center", va="center")
        axes.text(x + 2.95, y, "one part" if len(adders) == 1 else f"{len(adders)} parts,\nin any order", fontsize=8.5, va="center")
    footer(axes, d, 4.8)
    return figure
