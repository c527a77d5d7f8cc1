"""The order of events in the backward stages b3 to b8: drawn from the lists below, which follow each kernel's text. Lengths are no times, but b8's are."""
from .registry import figure
from .results import RESULTS
from .style import BLACK, GREY, HATCHES, LIGHT, VERMILION, arrow, box, canvas

# What a stretch is: a matrix product, the threads' arithmetic, additions or stores to global memory, other, a wait.
LOOK = {"product": (LIGHT[0], ""), "threads": (LIGHT[1], ""), "memory": (LIGHT[2], HATCHES[1]), "other": ("#eeeeee", ""), "wait": None}
NAMES = {"product": "matrix product", "threads": "arithmetic of the threads", "memory": "additions, stores to global memory", "other": "other", "wait": "waits"}
ROW, BAR = 0.46, 0.32

# [row, [begin, end, text, kind], ...]; unit: any. `marks`: [x, text] across all rows of a group; `gaps`: room and a heading before a row.
B4 = {"unit": 0.128, "rows": [
    ["tensor cores", [0, 8, "1  Sᵀ = K Qᵀ", "product"], [8, 18, "2  dPᵀ = V dOᵀ", "product"], [18, 29, "4  dV += Pᵀ dO", "product"], [35, 41, "7 dQ = dS K", "product"], [41, 49, "8 dK += dSᵀ Q", "product"]],
    ["threads", [0, 8, "", "wait"], [8, 15, "3 P", "threads"], [15, 18, "", "wait"], [18, 26, "5 dS", "threads"], [26, 34, "6 store, barrier", "other"], [35, 41, "", "wait"], [41, 46, "9 add dQ", "memory"], [46, 49, "", "wait"]]],
    "marks": [[34.5, "the tile's only barrier: the dS of both warpgroups is stored"]]}
B5 = {"unit": 0.104, "rows": [
    ["keys 0–63", [0, 8, "exp 1", "threads"], [8, 17, "dP dV 1", "product"], [17, 22, "dS 1", "threads"], [22, 31, "dK 1, S 2", "product"], [31, 39, "exp 2", "threads"], [39, 48, "dP dV 2", "product"], [48, 53, "dS 2", "threads"], [53, 61, "dK 2, S 3", "product"]],
    ["third warpgroup", [0, 7, "dQ 0", "product"], [7, 12, "add", "memory"], [12, 30, "", "wait"], [30, 38, "dQ 1", "product"], [38, 43, "add", "memory"], [43, 61, "", "wait"]],
    ["keys 64–127", [0, 8, "dK 0, S 1", "product"], [8, 16, "exp 1", "threads"], [16, 25, "dP dV 1", "product"], [25, 30, "dS 1", "threads"], [30, 39, "dK 1, S 2", "product"], [39, 47, "exp 2", "threads"], [47, 56, "dP dV 2", "product"], [56, 61, "dS 2", "threads"]]],
    "row": 0.62, "arrows": [[22, 0, 30, 1, "ds_full", 23.4, 0.05], [30, 2, 30, 1, "ds_full", 29.4, 0.07], [7, 1, 58, 2, "ds_empty", 50.5, -0.06]],
    "arrow": "arrives at an mbarrier. ds_full: dS is stored. ds_empty: dS has been read (the same for keys 0–63)"}

def b6_block(name, tiles, begin):
    """A block whose first addition begins at `begin`: its third warpgroup's products (1 long) and additions (3.2)."""
    items = [[0, 1, "", "product"], [1, begin, "", "wait"], [begin, begin + 3.2, f"tile {tiles[0]}", "memory"]]
    for n, t in enumerate(tiles[1:], 1):
        at = begin - 1 + 4.2 * n
        items += [[at, at + 1, "", "product"], [at + 1, at + 4.2, f"tile {t}", "memory"]]
    return [name, *[item for item in items if item[1] > item[0]]]


B6 = {"unit": 0.236, "rows": [b6_block(f"block {j}", range(j, 4), 1) for j in (3, 2, 1, 0)] + [b6_block(f"block {j}", range(4), 1 + 3.2 * (3 - j)) for j in (3, 2, 1, 0)],
      "arrows": [[4.2 * n + 4.2, row, 4.2 * n + 5.2, row + 1] for row in range(3) for n in range(row + 1)] + [[4.2 + 3.2 * row, 4 + row, 4.2 + 3.2 * row, 5 + row] for row in range(3)],
      "gaps": {0: "causal mask: each block starts at a tile of its own", 4: "no mask: all four start at tile 0"}}
B7 = {"unit": 0.218, "rows": [
    ["keys 0–127", *[[6 * t, 6 * t + 6, f"tile {t}", "product"] for t in range(4)], [24, 26, "store", "memory"]],
    ["last kernel", [0, 26, "", "wait"], [26, 29, "round dQ", "memory"]],
    *[[f"keys 0–127, part {t}", [0, 6, f"tile {t}", "product"], [6, 8.6, "store", "memory"]] for t in range(4)],
    ["last kernel", [0, 8.6, "", "wait"], [8.6, 15.6, "add up four parts, round", "memory"]]],
    "gaps": {0: "b5: one block", 2: "b7: four blocks, at the same time"}}
def b8_rows():
    """The end of a call and the next one, in b7 and b8, on (1,8,512,64): microseconds from h100-early.txt."""
    rows, call, first = [], {}, 3.5  # first: where a call's row_terms begins its work
    for line in (RESULTS / "h100-early.txt").read_text().splitlines():
        words = line.split()
        if line.startswith(("b7 1,8,512,64 ", "b8 1,8,512,64 ")) and words[-1] == "gap":
            call[words[0]] = []
        elif line.startswith("call ") and len(call[max(call)]) < 4:
            call[max(call)].append([int(x) / 1000 for x in words[3:6]])
    for stage, (terms, gradients, sums, following) in sorted(call.items()):
        before = [x - following[1] for x in sums]  # of the call before
        early = terms[0] < -0.1
        texts = ["δ, zeros", "K, V, then the tiles of Q and dO", "add up, round"]
        for name, (start, begin, end), text in zip(("row_terms", "gradients", "round_sums"), (terms, gradients, sums), texts):
            items = [[first + start, first + begin, "", "wait" if early else "other"]] if begin - start > 0.1 else []
            rows.append([name, *items, [first + begin, first + end, "" if name == "row_terms" else text, "product" if name == "gradients" else "memory"]])
        rows[-1][1:1] = [[first + before[1], first + before[2], "call before", "memory"]]
        for row, gap, end in ((-3, gradients[1] - terms[2], terms[2]), (-2, sums[1] - gradients[2], gradients[2]), (-1, following[1] - sums[2], before[2])):
            rows[row].append([first + end, first + end, f"gap {gap:.1f} µs", "note"])
    return rows


B8_HEADINGS = {0: "b7: each kernel starts after the end of the one before", 3: "b8: kernels start early and wait for the end of the one before"}


@figure("order-b4", lambda r: B4)
@figure("order-b5", lambda r: B5)
@figure("order-b6", lambda r: B6)
@figure("order-b7", lambda r: B7)
@figure("order-b8", lambda r: {"unit": 0.345, "rows": b8_rows(), "gaps": B8_HEADINGS, "axis": "time"})
def draw_order(plt, d):
    left, gaps = 1.5, {int(row): text for row, text in d.get("gaps", {}).items()}
    top, tops = 0.42 if d.get("marks") else 0.15, []
    for row in range(len(d["rows"])):
        top += 0.42 if row in gaps else 0
        tops.append(top)
        top += d.get("row", ROW)
    figure, axes = canvas(plt, top + (0.9 if d.get("arrow") else 0.62))
    for row, text in gaps.items():
        axes.text(0.15, tops[row] - 0.2, text, fontsize=9, weight="bold", va="center")
    for (name, *items), y in zip(d["rows"], tops):
        axes.text(left - 0.12, y + BAR / 2, name, fontsize=8.5, ha="right", va="center")
        for begin, end, text, kind in items:
            x, width = left + begin * d["unit"], (end - begin) * d["unit"]
            if kind == "note":
                axes.text(x + 0.06, y + BAR / 2, text, fontsize=8, va="center", color=VERMILION)
                continue
            if kind == "wait":
                axes.plot([x, x + width], [y + BAR / 2] * 2, color=GREY, linewidth=1.6, linestyle=":")
                continue
            colour, hatch = LOOK[kind]
            box(axes, x, y, width, BAR, text, 7.5, 0.6, behind=colour, facecolor=colour, hatch=hatch)
    for x, text in d.get("marks", []):
        at = left + x * d["unit"]
        axes.plot([at, at], [tops[0] - 0.1, tops[-1] + BAR + 0.08], color=VERMILION, linewidth=2.2)
        axes.text(at, tops[0] - 0.22, text, fontsize=8.5, ha="center", va="center", color=VERMILION)
    for from_x, from_row, to_x, to_row, *label in d.get("arrows", []):
        down = to_row > from_row
        ends = (left + to_x * d["unit"], tops[to_row] + (0 if down else BAR)), (left + from_x * d["unit"], tops[from_row] + (BAR if down else 0))
        arrow(axes, *ends, VERMILION, 1.3)
        for text, text_x, lower in [label] if label else []:  # the text ends at text_x
            middle = (min(tops[from_row], tops[to_row]) + BAR + max(tops[from_row], tops[to_row])) / 2
            axes.text(left + text_x * d["unit"], middle + lower, text, fontsize=8, ha="right", va="center", color=VERMILION)
    if d.get("arrow"):
        arrow(axes, (0.46, top + 0.63), (0.2, top + 0.63), VERMILION, 1.3)
        axes.text(0.54, top + 0.63, d["arrow"], fontsize=8, va="center")
    kinds = [kind for kind in LOOK if any(item[3] == kind for _, *items in d["rows"] for item in items)]
    x, y = 0.2, top + 0.1
    axes.annotate("", (7.8, top), (left, top), arrowprops={"arrowstyle": "-|>", "color": BLACK, "linewidth": 1})
    axes.text(left - 0.12, top, d.get("axis", "order of events"), fontsize=8, ha="right", va="center")
    for kind in kinds:
        if LOOK[kind]:
            axes.add_patch(plt.Rectangle((x, y + 0.16), 0.26, 0.18, facecolor=LOOK[kind][0], hatch=LOOK[kind][1], edgecolor=BLACK, linewidth=0.8))
        else:
            axes.plot([x, x + 0.26], [y + 0.25] * 2, color=GREY, linewidth=1.6, linestyle=":")
        axes.text(x + 0.34, y + 0.25, NAMES[kind], fontsize=8, va="center")
        x += 0.5 + 0.062 * len(NAMES[kind])
    return figure


# --- b3: which operand lies where ------------------------------------------------------------------------------------------------

# name: [x, y, width, text, place]; arrows: [from, to, label].
FLOW = {"boxes": {
    "sK": [0.2, 0.5, 0.75, "K", "shared"], "sV": [3.1, 0.5, 0.75, "V", "shared"],
    "S": [1.35, 0.5, 1.4, "Sᵀ = scale K Qᵀ", "registers"], "dP": [4.25, 0.5, 1.4, "dPᵀ = V dOᵀ", "registers"],
    "P": [1.35, 1.45, 1.4, "Pᵀ = exp(Sᵀ − L)", "registers"], "dS": [4.25, 1.45, 1.75, "dSᵀ = Pᵀ (dPᵀ − δ)", "registers"],
    "dV": [1.35, 2.4, 1.4, "dV += Pᵀ dO", "registers"], "dK": [3.35, 2.4, 1.4, "dK += dSᵀ Q", "registers"],
    "sdS": [5.25, 2.4, 0.9, "dS", "shared"], "dQ": [6.5, 2.4, 1.25, "dQ = dS K", "registers"], "sum": [6.5, 3.3, 1.25, "sums of dQ", "global"]},
    "arrows": [["sK", "S", "A"], ["sV", "dP", "A"], ["S", "P", ""], ["dP", "dS", ""], ["P", "dS", ""], ["P", "dV", "A"], ["dS", "dK", "A"], ["dS", "sdS", "barrier"], ["sdS", "dQ", "A"], ["dQ", "sum", "atomicAdd"]]}
PLACES = {"registers": (LIGHT[0], "", "registers of one warp"), "shared": (LIGHT[4], HATCHES[1], "shared memory"), "global": ("#eeeeee", "", "global memory")}
HIGH = 0.42


@figure("flow-b3", lambda r: FLOW)
def draw_flow(plt, d):
    figure, axes = canvas(plt, 4.0)
    for x, y, width, text, place in d["boxes"].values():
        colour, hatch, _ = PLACES[place]
        box(axes, x, y, width, HIGH, text, 8.5, 0.8, behind=colour, facecolor=colour, hatch=hatch, linewidth=0.9)
    for a, b, label in d["arrows"]:
        (ax, ay, aw, *_), (bx, by, bw, *_) = d["boxes"][a], d["boxes"][b]
        if ay == by:
            ends = (bx, by + HIGH / 2), (ax + aw, ay + HIGH / 2)
            at = ((bx + ax + aw) / 2, ay + HIGH / 2 - 0.11)
        else:
            middle = lambda x, w, other, ow: max(x + 0.15, min(x + w - 0.15, other + ow / 2))
            ends = (middle(bx, bw, ax, aw), by), (middle(ax, aw, bx, bw), ay + HIGH)
            at = ((ends[0][0] + ends[1][0]) / 2 + 0.08, (ends[0][1] + ends[1][1]) / 2)
        arrow(axes, *ends)
        axes.text(*at, label, fontsize=8, va="center", ha="center" if ay == by else "left", color=VERMILION)
    x = 0.2
    for colour, hatch, name in PLACES.values():
        box(axes, x, 3.66, 0.26, 0.18, facecolor=colour, hatch=hatch)
        axes.text(x + 0.34, 3.75, name, fontsize=8, va="center")
        x += 1.9
    axes.text(0.2, 0.24, "one warp's part of a tile; A: the product's first operand", fontsize=9, weight="bold", va="center")
    axes.text(0.2, 3.3, "dS is without the scale: dK and dQ are multiplied by it once, at the end", fontsize=8.5, va="center")
    return figure
