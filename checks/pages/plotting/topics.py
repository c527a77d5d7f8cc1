"""Figures of the pages on single subjects: two tiles of an online softmax, stores and reads of a score, and the special function unit's square."""
import re

from .heads import ROOT, Unusable
from .registry import figure
from .style import BLACK, BLUE, GREY, LIGHT, ORANGE, VERMILION, WIDTH, arrow, box, canvas, caption, frameless, subplots

# --- online softmax: the example of the page, by its own recurrence ------------------------------------------------------------

SCORES, VALUES, TILE = (1, 2, 4, 3), (8, 4, 2, 6), 2  # scores in units of ln 2


def data_two_tiles(_):
    """After each tile: the maximum, the factor for everything earlier, every weight so far relative to that maximum, l and O."""
    m, l, o, weights, steps = None, 0.0, 0.0, [], []
    for first in range(0, len(SCORES), TILE):
        scores = SCORES[first:first + TILE]
        new = max(scores) if m is None else max(m, *scores)
        factor = 0.0 if m is None else 2.0 ** (m - new)
        fresh = [2.0 ** (s - new) for s in scores]
        weights = [w * factor for w in weights] + fresh
        l = l * factor + sum(fresh)
        o = o * factor + sum(p * v for p, v in zip(fresh, VALUES[first:]))
        m = new
        steps.append({"m": m, "factor": factor, "weights": weights, "l": l, "O": o})
    whole = [2.0 ** (s - max(SCORES)) for s in SCORES]
    if whole != steps[-1]["weights"]:
        raise Unusable("two-tiles: the weights after the last tile are not those of all keys at once")
    return {"scores": SCORES, "values": VALUES, "tile": TILE, "steps": steps}


@figure("two-tiles", data_two_tiles)
def draw_two_tiles(plt, d):
    figure, panels = subplots(plt, (WIDTH, 3.9), 1, 2, sharey=True, left=0.085, right=0.99, top=0.79, bottom=0.235, wspace=0.12)
    for index, (axes, step) in enumerate(zip(panels, d["steps"])):
        for key, weight in enumerate(step["weights"]):
            earlier = key < len(step["weights"]) - d["tile"]
            axes.bar(key, weight, width=0.62, facecolor=LIGHT[0] if not earlier else LIGHT[4], edgecolor=BLUE if not earlier else ORANGE, hatch="" if not earlier else "////", linewidth=1.1)
            if earlier:
                before = d["steps"][index - 1]["weights"][key]
                axes.bar(key, before, width=0.62, facecolor="none", edgecolor=GREY, linestyle="--", linewidth=1.1)
                arrow(axes, (key, weight + 0.1), (key, before), VERMILION, 1.4)
                axes.text(key, before + 0.03, f"× {step['factor']:g}", fontsize=9, color=VERMILION, ha="center")
            axes.text(key, weight + 0.03, f"{weight:g}", ha="center", fontsize=9, weight="bold", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6} if earlier else None)
        axes.set_xticks(range(len(d["scores"])), [f"key {k}\nscore {s}\nv = {v}" for k, (s, v) in enumerate(zip(d["scores"], d["values"]))], fontsize=8)
        axes.set(xlim=(-0.6, len(d["scores"]) - 0.4), ylim=(0, 1.18))
        axes.tick_params(axis="both", length=0, labelsize=8)
        axes.text(0.0, 1.19, f"after the {('first', 'second')[index]} tile: m = {step['m']}", fontsize=10, weight="bold", transform=axes.transAxes, va="center")
        axes.text(0.0, 1.08, f"l = {step['l']:g},  O = {step['O']:g}" + (f",  O / l = {step['O'] / step['l']:.4f}" if index else ""), fontsize=9, transform=axes.transAxes, va="center")
        if not index:
            axes.text(2.5, 0.3, "not seen yet", ha="center", fontsize=8.5, style="italic", color="#555555")
    panels[0].set_ylabel("weight relative to m", fontsize=8.5)
    return caption(figure, "Scores in units of ln 2, so a weight is 2^(score − m). Hatched: weights that the kernel no longer has; they live on inside l and O.")


# --- seeing races: who stores a score, and who reads it --------------------------------------------------------------------------

FIRST, COLUMN, STORES, READS = 48, 53, 2, 21  # the last block of a row's 64 scores; a column of it; the lanes that store and read it in row 0


def data_stored(r):
    """The lane that stores each score of a 16x16 block (the accumulator's layout); lane l then reads columns l and l + 32 of a row."""
    held = next(f for f in r.layouts["fragments"] if f["name"] == "wmma_acc")["held"]
    lanes = [[0] * 16 for _ in range(16)]
    for lane, places in enumerate(held):
        for place in places:
            lanes[place // 16][place % 16] = lane
    if lanes[0][COLUMN - FIRST] != STORES or COLUMN % 32 != READS:
        raise Unusable(f"lane {STORES} does not store column {COLUMN} of row 0, or lane {READS} does not read it")
    return {"lanes": lanes, "stores": STORES, "reads": READS, "first": FIRST, "column": COLUMN}


@figure("scores-stored-and-read", data_stored, lambda r: r.layouts)
def draw_stored(plt, d):
    figure, axes = canvas(plt, 3.55)
    left, top, side, first = 0.5, 0.6, 0.17, d["first"]
    axes.text(0.08, 0.16, f"Columns {first} to {first + 15}: which lane stores", fontsize=10, weight="bold", va="center")
    for i, row in enumerate(d["lanes"]):
        for c, lane in enumerate(row):
            box(axes, left + c * side, top + i * side, side, side, str(lane), 7, facecolor=LIGHT[0] if lane == d["stores"] else "white", edgecolor=GREY, linewidth=0.6)
        if i % 8 == 0:
            axes.text(left - 0.06, top + (i + 0.5) * side, f"row {i}", fontsize=7, ha="right", va="center")
    for c in (0, 5, 15):
        axes.text(left + (c + 0.5) * side, top - 0.1, str(first + c), fontsize=7, ha="center", va="center")
    x, y, cell = 3.9, 1.15, 0.245
    axes.text(x, 0.16, "Row 0: which lane stores, which lane reads", fontsize=10, weight="bold", va="center")
    at = x + (d["column"] - first + 0.5) * cell
    axes.text(at, y - 0.14, f"column {d['column']}", fontsize=8.5, ha="center", va="center", color=VERMILION)
    for line, (name, lanes) in enumerate((("stored by lane", d["lanes"][0]), ("read by lane", [(first + c) % 32 for c in range(16)]))):
        axes.text(x, y - 0.14 + 0.95 * line, name, fontsize=8.5, va="center")
        for c, lane in enumerate(lanes):
            look = (LIGHT[0] if not line else LIGHT[4]) if first + c == d["column"] else "white"
            box(axes, x + c * cell, y + 0.95 * line, cell, cell, str(lane), 8, facecolor=look, edgecolor=GREY, linewidth=0.6)
    axes.plot([at, at], [y + cell + 0.03, y + 0.92], color=VERMILION, linewidth=1.8)
    axes.text(at + 0.12, y + 0.6, "which comes first?", fontsize=8.5, va="center", color=VERMILION)
    axes.plot([left, left + 16 * side, left + 16 * side, left, left], [top, top, top + side, top + side, top], color=BLACK, linewidth=1.6)
    axes.text(x, 2.75, "CUDA does not document this layout; it was read off an H200.", fontsize=8, va="center", color="#555555")
    return figure


# --- the same bits: which partial products of r * r the unit keeps --------------------------------------------------------------


def short_square(rows, low_bits, shift, r):
    high, low = r >> low_bits, r & ((1 << low_bits) - 1)
    return 2 * high * high + sum((high >> j & 1) * (low >> (shift - j)) for j in range(rows))


def data_square(_):
    """By the constants of common/emulator/special_functions.cpp: for each pair of bits, how many units of 2^19 their product adds."""
    path = ROOT / "common/emulator/special_functions.cpp"
    code = re.search(r"short_square_by_rows\(std::uint32_t r\) \{(.*?)\n\}", path.read_text(), re.S)
    found = code and [re.search(pattern, code[1]) for pattern in (r"j < (\d+)", r"r >> (\d+)", r"low >> \((\d+) - j\)")]
    if not found or not all(found):
        raise Unusable(f"{path.name}: short_square_by_rows is not what the figure 'short-square' can read")
    rows, low_bits, shift = (int(one[1]) for one in found)
    bits = low_bits + rows
    alone = [short_square(rows, low_bits, shift, 1 << i) for i in range(bits)]
    pair = lambda i, j: alone[i] if i == j else short_square(rows, low_bits, shift, 1 << i | 1 << j) - alone[i] - alone[j]
    return {"bits": bits, "low": low_bits, "kept": [[pair(i, j) for j in range(i + 1)] for i in range(bits)]}


EXAMPLE_R = 5000  # the page asks for its square


@figure("short-square", data_square)
def draw_square(plt, d):
    figure, axes = subplots(plt, (WIDTH, 5.0), left=0.09, right=0.66, top=0.93, bottom=0.13)
    n = d["bits"]
    for i, row in enumerate(d["kept"]):
        for j, units in enumerate(row):
            kept = units > 0
            axes.add_patch(plt.Rectangle((j, i), 1, 1, facecolor=LIGHT[0] if kept else "#eeeeee", edgecolor=BLUE if kept else "white", linewidth=0.7))
            if kept:
                axes.text(j + 0.5, i + 0.5, f"{units.bit_length() - 1}", ha="center", va="center", fontsize=7)
    example = [k for k in range(n) if EXAMPLE_R >> k & 1]
    for i in example:
        for j in (j for j in example if j <= i):
            kept = d["kept"][i][j] > 0
            frame = {"edgecolor": BLACK, "linewidth": 1.8} if kept else {"edgecolor": "#777777", "linewidth": 0.8, "linestyle": ":"}
            axes.add_patch(plt.Rectangle((j + 0.06, i + 0.06), 0.88, 0.88, fill=False, **frame))
    at = d["low"]
    axes.plot([0, n], [at, at], color=VERMILION, linewidth=1.6)
    axes.plot([at, at], [at, n], color=VERMILION, linewidth=1.6)
    axes.set(xlim=(0, n), ylim=(n, 0))
    axes.set_aspect("equal")
    axes.set_xticks([k + 0.5 for k in range(n)], range(n), fontsize=7)
    axes.set_yticks([k + 0.5 for k in range(n)], range(n), fontsize=7)
    axes.tick_params(length=0)
    frameless(axes)
    axes.set_xlabel("bit j of r", fontsize=8.5)
    axes.set_ylabel("bit i of r", fontsize=8.5)
    axes.set_title("partial products of r · r, i ≥ j", fontsize=10, loc="left")
    kept = sum(units > 0 for row in d["kept"] for units in row)
    total = n * (n + 1) // 2
    text = figure.text
    text(0.67, 0.80, f"{kept} of {total} are kept (blue).\nA number k: the product adds 2^k\nto r² / 2^19.", fontsize=9, va="center", linespacing=1.4)
    text(0.67, 0.60, f"Thick lines: the {n - d['low']} high and\nthe {d['low']} low bits meet.\nHigh × high: all kept.\nLow × low: none kept.", fontsize=9, va="center", linespacing=1.4)
    text(0.67, 0.22, f"Frames: the products of bits that\nare set in r = {EXAMPLE_R}. Black: kept.\nGrey, dotted: left out.", fontsize=9, va="center", linespacing=1.4)
    text(0.67, 0.39, "High × low: kept where\ni + j + 1 is at least 19,\nso the border is a diagonal.", fontsize=9, va="center", linespacing=1.4)
    return caption(figure, "Drawn from short_square_by_rows in common/emulator/special_functions.cpp, the function that computes 2^x and 1/x on the CPU with an H200's bits.")
