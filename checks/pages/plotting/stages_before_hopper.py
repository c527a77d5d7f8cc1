"""Figures of single stages from v1 to v2c9: what a lane, a warp and a slot do there, from traces, plans and counters."""
from .pipeline import numbers, touching
from .registry import figure
from .results import short
from .style import BLACK, BLUE, GREEN, LIGHT, ORANGE, VERMILION, arrow, box, canvas, caption

SHAPE = "1,1,512,64"
SHUFFLES = 5  # of a reduction over 32 lanes


def plan_of(r, stage, S=512):
    return next(p for p in r.plans["plans"] if p["stage"] == stage and not p["bug"] and p["S"] == S and p["D"] == 64)


# --- v2b: one block walks over the keys; v1: one row of a tile, by the 32 lanes of its warp -----------------------------------


def data_walk(r, stage):
    plan = plan_of(r, stage)
    return {"M": plan["tile_m"], "N": plan["tile_n"], "D": plan["D"], "S": plan["S"], "rows": plan["rows_per_warp"], "slots": plan["slots"], "blocks": plan["grid"][0], "warps": plan["block"][0] // 32}


NOW = 4  # the tile that both figures show


def tiles_of(axes, d, left, top, wide, high):
    """The key tiles in a row, with the one that is computed."""
    for n in range(d["S"] // d["N"]):
        now = n == NOW
        box(axes, left + n * wide, top, wide, high, f"tile {n}", 8, facecolor=LIGHT[4] if now else "white", edgecolor=BLACK if now else "#999999", linewidth=1.4 if now else 0.6, zorder=2 if now else 1)


@figure("walk", lambda r: data_walk(r, "v2b_single_warp"))
def draw_walk(plt, d):
    figure, axes = canvas(plt, 4.2)
    warp, copies = 3, d["warps"] - 1
    left, wide, band = 1.0, 0.78, 0.135  # of a tile; the rows of a warp
    sx, sy, tall = left + NOW * wide, 2.35, band * d["warps"]
    axes.text(left, 0.16, f"K and V in global memory: {d['S']} keys, in {d['S'] // d['N']} tiles of {d['N']}", fontsize=8.5, weight="bold", va="center")
    tiles_of(axes, d, left, 0.3, wide, 0.36)
    axes.text(sx - 0.1, 1.3, "shared memory", fontsize=8.5, weight="bold", ha="right", va="center")
    for ahead, what in ((0, "all warps\nread it"), (1, f"warp {copies}\ncopies it")):
        x = sx + ahead * wide
        arrow(axes, (x + wide / 2, 1.0), (x + wide / 2, 0.68), **({"linestyle": "--"} if ahead else {}))
        box(axes, x + 0.03, 1.02, wide - 0.06, 0.6, f"slot {(NOW + ahead) % d['slots']}:\ntile {NOW + ahead}", 8, facecolor="white" if ahead else LIGHT[4], edgecolor=BLACK, linewidth=1.4, linestyle="--" if ahead else "-")
        axes.text(x + wide / 2, 1.79, what, fontsize=8, ha="center", va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1}, zorder=3)
    arrow(axes, (sx + wide / 2, sy - 0.22), (sx + wide / 2, 1.97))
    ox = sx + wide + 1.15
    for x, width, name, shade in ((left, wide, "Q", 0), (sx, wide, "scores", 2), (ox, 0.16, "m", 3), (ox + 0.2, 0.16, "l", 3), (ox + 0.4, wide, "O", 1)):
        for w in range(d["warps"]):
            box(axes, x, sy + w * band, width, band, facecolor=LIGHT[shade], edgecolor="#aaaaaa", linewidth=0.5)
        box(axes, x, sy + warp * band, width, band, facecolor="none", edgecolor=VERMILION, linewidth=1.8, zorder=3)
        axes.add_patch(plt.Rectangle((x, sy), width, tall, facecolor="none", edgecolor=BLACK, linewidth=1.0))
        axes.text(x + width / 2, sy - 0.11, name, fontsize=9, weight="bold", ha="center", va="center")
    middle = sy + (warp + 0.5) * band
    axes.text(left - 0.08, middle, f"warp {warp}: rows\n{warp * d['rows']} to {(warp + 1) * d['rows'] - 1}", fontsize=8, color=VERMILION, weight="bold", ha="right", va="center")
    for tip, tail in ((sx - 0.05, left + wide + 0.05), (ox - 0.05, sx + wide + 0.05)):
        arrow(axes, (tip, middle), (tail, middle), VERMILION)
    axes.text(left, sy + tall + 0.14, f"{d['M']} rows,\n{d['rows']} per warp", fontsize=8, va="top")
    axes.text(sx, sy + tall + 0.14, f"of tile {NOW} only:\n{d['M']} rows × {d['N']} keys", fontsize=8, va="top")
    axes.text(ox, sy + tall + 0.14, f"before tile {NOW} is added:\nthe sums of tiles 0 to {NOW - 1}", fontsize=8, va="top")
    return caption(figure, f"One of the {d['blocks']} blocks that share a head of {d['S']} rows. Heights are not to scale.")


@figure("row-of-v1", lambda r: data_walk(r, "v1_scalar"))
def draw_row(plt, d):
    figure, axes = canvas(plt, 3.3)
    lanes, marked, left, wide, high = 32, 5, 1.0, 6.7, 0.3
    cell, tile, top = wide / d["N"], wide / (d["S"] // d["N"]), 0.75
    mine = [n for n in range(d["N"]) if n % lanes == marked]
    label = lambda y, text: axes.text(left - 0.1, y, text, fontsize=9, weight="bold", ha="right", va="center")

    def row(y, name, each, after):
        label(y + high / 2, name)
        for n in range(d["N"]):
            box(axes, left + n * cell, y, cell, high, facecolor=LIGHT[4] if n in mine else "white", edgecolor="#999999", linewidth=0.5)
        for n in mine:
            box(axes, left + n * cell, y, cell, high, facecolor="none", edgecolor=VERMILION, linewidth=1.8, zorder=3)
            axes.text(left + (n + 0.5) * cell, y - 0.11, f"{each} {n}", fontsize=8.5, ha="center", va="center", color=VERMILION, weight="bold")
        axes.text(left + wide, y - 0.11, after, fontsize=8.5, ha="right", va="center")

    label(0.25, "step 1")
    tiles_of(axes, d, left, 0.1, tile, high)
    for corner, end in ((left + NOW * tile, left), (left + (NOW + 1) * tile, left + wide)):
        axes.plot([corner, end], [0.1 + high, top], color=BLACK, linewidth=0.8, linestyle=":", zorder=0)
    row(top + 0.25, "step 2", "key", f"the {d['N']} keys of tile {NOW}, for one row of Q")
    arrow(axes, (left + wide / 2, top + 0.85), (left + wide / 2, top + 0.57))
    label(top + 1.02, "step 3")
    box(axes, left + 0.9, top + 0.87, wide - 1.8, 0.32, f"all {lanes} lanes together: the largest score, the {d['N']} weights, their sum", 8.5, facecolor=LIGHT[3], edgecolor=BLACK)
    arrow(axes, (left + wide / 2, top + 1.68), (left + wide / 2, top + 1.2))
    row(top + 1.7, "step 4", "column", f"{d['D']} columns of O, of the same row")
    return caption(figure, f"A head of {d['S']} keys. A warp has {d['rows']} rows of Q and takes them one after the other. Orange: what lane {marked} computes alone.")


# --- v2b: the sum of 32 lanes by shuffles ---------------------------------------------------------------------------------------


def data_sum(r):
    lanes = 32
    return {"lanes": lanes, "columns": plan_of(r, "v2b_single_warp")["D"] // lanes, "distances": [lanes >> i for i in range(1, SHUFFLES + 1)]}


@figure("warp-sum", data_sum)
def draw_sum(plt, d):
    """What lane 5 holds after each of warp_sum's shuffles: the parts of which lanes."""
    figure, axes = canvas(plt, 3.55)
    marked, left, cell, high, step = 5, 1.75, 5.1 / d["lanes"], 0.24, 0.45
    holds = {marked}
    for i, distance in enumerate([0, *d["distances"]]):
        y, partner = 0.45 + i * step, marked ^ distance
        if distance:
            holds |= {lane ^ distance for lane in holds}
        axes.text(left - 0.1, y + high / 2, f"shuffle {i}, distance {distance}" if distance else f"{d['columns']} columns per lane", fontsize=8, ha="right", va="center")
        for lane in range(d["lanes"]):
            box(axes, left + lane * cell, y, cell, high, facecolor=LIGHT[4] if lane in holds else "white", edgecolor="#999999", linewidth=0.5)
        for lane in {marked, partner}:
            box(axes, left + lane * cell, y, cell, high, str(lane), 7, facecolor="none", edgecolor=VERMILION if lane == marked else BLUE, linewidth=1.8, zorder=3)
        axes.text(left + d["lanes"] * cell + 0.1, y + high / 2, f"{len(holds)} part{'s' if len(holds) > 1 else ''}" + (", the score" if len(holds) == d["lanes"] else ""), fontsize=8, va="center")
    axes.text(left, 0.26, f"the lanes whose parts lane {marked} has added up (shaded), and the lane that it reads (blue)", fontsize=8, va="center")
    return caption(figure, f"One score of v2b. All {d['lanes']} lanes execute each shuffle, and each ends with the same sum. Each shuffle waits for the addition before it.")


# --- v2c5: which rows of the score tile a warp owns ---------------------------------------------------------------------------


def rows_written(trace, array):
    """[first row, last row] of `array` by warp."""
    rows = {}
    for e in touching(trace, "write", array):
        rows.setdefault(e["warp"], [e["first row"], e["last row"]])
    return rows


def data_stripes(r):
    scalar, wmma = r.traces["score-rows"], r.traces["score-stripes"]
    warps = {e["warp"] for e in wmma["events"]}
    copies = {e["warp"] for e in touching(wmma, "copy", "sK")}
    owns = rows_written(wmma, "S_scores")
    rows, per_warp, keys, _ = numbers(wmma)
    return {"stages": [scalar["stage"], wmma["stage"]], "rows": rows, "stripe": per_warp, "keys": keys, "D": 64, "scalar": sorted(rows_written(scalar, "S_scores").items()), "wmma": sorted(owns.items()),
            "copies": sorted(copies - set(owns)), "parked": sorted(warps - copies - set(owns))}


@figure("score-stripes", data_stripes)
def draw_stripes(plt, d):
    figure, axes = canvas(plt, 4.45)
    side, gap, left, top = 1.64, 0.16, 1.75, 0.34
    unit = side / d["rows"]
    sx, sy = left + side + gap, top + side + gap  # of the score tile
    warp, block = 1, 1  # shown: the 16x16 block of this warp and these keys
    first, stripe = dict(d["wmma"])[warp][0], d["stripe"]
    shown = {"facecolor": LIGHT[1], "edgecolor": VERMILION}
    # K transposed, above; Q, left; both in steps of 16 columns of D.
    for step in range(d["D"] // 16):
        box(axes, left + step * 16 * unit, sy + first * unit, 16 * unit, stripe * unit, f"A {step}", 8.5, linewidth=1.2, **shown)
        box(axes, sx + block * 16 * unit, top + step * 16 * unit, 16 * unit, 16 * unit, f"B {step}", 8.5, linewidth=1.2, **shown)
    for owner, (low, high) in d["wmma"]:
        axes.text(left - 0.08, sy + (low + high + 1) / 2 * unit, f"warp {owner}: rows {low}–{high}", fontsize=8.5, ha="right", va="center", color=VERMILION if owner == warp else BLACK, weight="bold" if owner == warp else "normal")
        for n in range(d["keys"] // 16):
            box(axes, sx + n * 16 * unit, sy + low * unit, 16 * unit, (high - low + 1) * unit, edgecolor="#777777", linewidth=0.6)
        axes.plot([left, left + side], [sy + low * unit] * 2, color="#777777", linewidth=0.6, zorder=0)
    box(axes, sx + block * 16 * unit, sy + first * unit, 16 * unit, stripe * unit, "S", 10, linewidth=2, zorder=3, words={"zorder": 4, "weight": "bold"}, **shown)
    for x, y in ((left, sy), (sx, top), (sx, sy)):
        axes.add_patch(plt.Rectangle((x, y), side, side, facecolor="none", edgecolor=BLACK, linewidth=1.2))
    axes.text(sx + side / 2, top - 0.14, f"Kᵀ: {d['D']} columns of D × {d['keys']} keys", fontsize=8.5, ha="center", va="center", weight="bold")
    axes.text(left + side / 2, sy - 0.14, f"Q: {d['rows']} rows × {d['D']} columns", fontsize=8.5, ha="center", va="center", weight="bold")
    axes.text(sx + side / 2, sy + side + 0.14, f"scores: {d['rows']} rows × {d['keys']} keys", fontsize=8.5, ha="center", va="center", weight="bold")
    keys = (16 * block, 16 * block + 15)
    axes.text(sx + side + 0.2, sy + (first + stripe / 2) * unit, f"S = A 0 · B 0 + A 1 · B 1\n      + A 2 · B 2 + A 3 · B 3\nrows {first}–{first + stripe - 1}, keys {keys[0]}–{keys[1]}", fontsize=8.5, va="center", linespacing=1.5)
    names = lambda warps: ("warp " if len(warps) == 1 else "warps ") + ", ".join(map(str, warps))
    axes.text(left - 0.08, sy + side + 0.14, f"{names(d['parked'])}: no rows\n{names(d['copies'])}: copies K and V", fontsize=8.5, ha="right", va="top", linespacing=1.5)
    return caption(figure, f"One tile of {short(d['stages'][1])}. A small box has {stripe} × 16 numbers. The warps' rows are recorded from the CPU execution.")


def data_readings(_):
    """[k][j] of B -> (key, dimension) of the tile, for a corner of 4 keys and 4 dimensions, by both orders of reading."""
    side = 4
    at = {"row_major": lambda k, j: k * side + j, "col_major": lambda k, j: j * side + k}
    return {"side": side, "readings": [[name, [[divmod(of(k, j), side) for j in range(side)] for k in range(side)]] for name, of in at.items()]}


@figure("k-readings", data_readings)
def draw_readings(plt, d):
    figure, axes = canvas(plt, 2.95)
    side, cell, tall = d["side"], 0.47, 0.3
    axes.text(0.1, 0.18, f"Memory: the rows of {side} keys, {side} dimensions each, one after the other (ldm = {side}). In a cell: key, dimension.", fontsize=8.5, va="center")
    for key in range(side):
        for x in range(side):
            box(axes, 0.1 + (key * side + x) * 0.485, 0.36, 0.485, tall, f"{key}, {x}", 8, facecolor=LIGHT[(0, 4, 2, 3)[key]], edgecolor="#777777", linewidth=0.6)
    means = {"row_major": ("its rows are the keys: K", "scores = Q · K: wrong"), "col_major": ("its columns are the keys: Kᵀ", "scores = Q · Kᵀ: right")}
    for left, (name, grid) in zip((0.55, 4.3), d["readings"]):
        top = 1.28
        axes.text(left, top - 0.3, f"B read as {name}", fontsize=9, weight="bold", va="center")
        for k, line in enumerate(grid):
            axes.text(left - 0.07, top + (k + 0.5) * tall, f"k = {k}", fontsize=7.5, ha="right", va="center")
            for j, (key, x) in enumerate(line):
                box(axes, left + j * cell, top + k * tall, cell, tall, f"{key}, {x}", 8, facecolor=LIGHT[(0, 4, 2, 3)[key]], edgecolor="#777777", linewidth=0.6)
        for j in range(side):
            axes.text(left + (j + 0.5) * cell, top - 0.1, f"j = {j}", fontsize=7.5, ha="center", va="center")
        for i, text in enumerate(means[name]):
            axes.text(left + side * cell + 0.12, top + 0.45 + 0.26 * i, text, fontsize=8, va="center")
    axes.text(0.1, 2.72, "The bytes are the same; only the order of reading differs. B(k, j) meets column k of Q and gives score column j.", fontsize=7.5, va="center")
    return figure


# --- v2c7: who copies and who multiplies ---------------------------------------------------------------------------------------

COPY, BARRIER, IDLE = 0.1, 0.1, "#bbbbbb"
WORK = {"sK": ("scores", 1.0), "scratch": ("softmax", 1.0), "sV": ("P V", 1.0)}


def works(e):
    """The work that an event begins: scores read K, the softmax reads scores (floats), P V reads V."""
    return e["event"] == "read" and (e["array"] != "scratch" or e["bytes each"] == 4)


def data_slots(r):
    """Of each stage: the boxes of work and copies by warp, barriers, and when each slot is on its way or read. x is an order, not a time."""
    panels = []
    for name in ("three-slots-each", "one-slot-each"):
        trace = r.traces[name]
        keys = numbers(trace)[2]
        warps = sorted({e["warp"] for e in trace["events"]})
        last = max(e["period"] for e in trace["events"])
        boxes, barriers, slots, at = [], [], {}, 0.0
        groups = {w: [] for w in warps}  # by warp: for each commit the copies in it, as (array, slot, begin)
        open_copies = {w: [] for w in warps}
        tile = {}
        for period in range(last + 1):
            ends, waits = [at], []
            for w in warps:
                x, done = at, set()
                for e in trace["events"]:
                    if e["period"] != period or e["warp"] != w:
                        continue
                    if e["event"] == "copy":
                        boxes.append([w, x, x + COPY, "copy"])
                        open_copies[w].append((e["array"], e["first row"] // keys, x))
                        x += COPY
                    elif e["event"] == "commit":
                        groups[w].append(open_copies[w])
                        open_copies[w] = []
                    elif e["event"] == "wait":
                        waits.append((w, len(groups[w]) - e["bytes each"]))
                    elif works(e) and e["array"] not in done:
                        done.add(e["array"])
                        what, width = WORK[e["array"]]
                        number = tile[w, what] = tile.get((w, what), -1) + 1
                        boxes.append([w, x, x + width, what, number])
                        if e["array"] != "scratch":
                            slots.setdefault((e["array"], e["first row"] // keys), set()).add((x, x + width, "read", number))
                        x += width
                ends.append(x)
            at = max(ends)
            for w, landed in waits:
                for group in groups[w][:max(landed, 0)]:
                    for array, slot, begin in group:
                        slots.setdefault((array, slot), set()).add((begin, at, "copy"))
                    group.clear()
            if period < last:
                barriers.append(at + BARRIER / 2)
                at += BARRIER
        lanes = {}
        for w in warps:  # warps that do the same are one line
            lanes.setdefault(str([b[1:] for b in boxes if b[0] == w]), []).append(w)
        panels.append({"stage": trace["stage"], "smem": plan_of(r, trace["stage"], 2048)["smem"], "slots": [[array, slot, sorted(times)] for (array, slot), times in sorted(slots.items())], "barriers": barriers, "end": at,
                       "lines": [[ws, [b[1:] for b in boxes if b[0] == ws[0]]] for ws in lanes.values()]})
    return panels


def merged(times):
    """Copies of one tile by several warps, or reads, as one bar."""
    bars = []
    for one in sorted(times, key=lambda t: (t[2], t[0])):
        if bars and bars[-1][2] == one[2] and one[0] < bars[-1][1] - 1e-9:
            bars[-1] = [min(bars[-1][0], one[0]), max(bars[-1][1], one[1]), *bars[-1][2:]]
        else:
            bars.append(list(one))
    return bars


@figure("slots", data_slots)
def draw_slots(plt, d):
    figure, axes = canvas(plt, 4.2)
    left, row, shown = 0.95, 0.27, 2  # tiles
    y = 0.3
    for one, what in zip(d, ("three slots each", "one slot each")):
        last = max(end for _, boxes in one["lines"] for _, end, kind, *number in boxes if kind == "P V" and number[0] < shown)
        end_of_view = min([x for x in one["barriers"] if x > last - 1e-9], default=last) + BARRIER / 2
        scale, blocks = 6.95 / end_of_view, 228 * 1024 // (one["smem"] + 1024)  # of an H200's SM; CUDA reserves 1 KiB per block
        axes.text(0.05, y - 0.12, f"{short(one['stage'])}: {what} ({one['smem'] / 1024:g} KiB: {blocks} blocks per SM)", fontsize=9, weight="bold", va="center")
        y += 0.05
        top = y
        for warps, boxes in one["lines"]:
            boxes = [b for b in boxes if b[2] != "copy" and b[0] < end_of_view - 1e-9]
            if not boxes:  # a warp that only copies, or only meets the barriers
                continue
            axes.text(left - 0.08, y + row / 2 - 0.02, f"warps {warps[0]}–{warps[-1]}", fontsize=8, ha="right", va="center")
            for begin, end, kind, number in boxes:
                face = {"scores": LIGHT[0], "softmax": "white", "P V": LIGHT[4]}[kind]
                box(axes, left + begin * scale, y, (end - begin) * scale, row - 0.05, f"{kind} {number}", 8, facecolor=face, linewidth=0.6)
            y += row
        for array, slot, times in one["slots"]:
            several = sum(a == array for a, _, _ in one["slots"]) > 1
            axes.text(left - 0.08, y + row / 2 - 0.02, f"slot {slot} of {array[1]}" if several else f"slot of {array[1]}", fontsize=8, ha="right", va="center")
            edge = BLUE if array == "sK" else ORANGE
            bars = [[begin, min(end, end_of_view), *rest] for begin, end, *rest in sorted(merged(times)) if begin < end_of_view - 1e-9]
            for (_, end, kind, *_), (begin, *_) in zip(bars, bars[1:]):
                if kind == "copy" and begin - end > BARRIER + 1e-9:
                    box(axes, left + end * scale, y + 0.04, (begin - end) * scale, row - 0.13, facecolor=IDLE, edgecolor=edge)
            for begin, end, kind, *number in bars:
                face = (LIGHT[0] if array == "sK" else LIGHT[4]) if kind == "read" else "white"
                box(axes, left + begin * scale, y + (0 if kind == "read" else 0.04), (end - begin) * scale, row - (0.05 if kind == "read" else 0.13), f"{array[1]}({number[0]}) is read" if number else "", 8,
                    facecolor=face, edgecolor=edge, hatch="" if kind == "read" else "/////")
            y += row
        for x in one["barriers"]:
            if x > end_of_view:
                continue
            axes.plot([left + x * scale] * 2, [top - 0.03, y], color=VERMILION, linewidth=1.1, linestyle="--", zorder=0.5)
        y += 0.38
    y -= 0.2
    x = 0.95
    for look, text, width in (({"facecolor": "white", "edgecolor": BLUE, "hatch": "/////"}, "tile on its way", 1.4), ({"facecolor": IDLE, "edgecolor": BLUE}, "arrived, not read yet", 1.75)):
        box(axes, x, y, 0.16, 0.14, **look)
        axes.text(x + 0.22, y + 0.07, text, fontsize=7.5, va="center")
        x += width
    axes.plot([x, x + 0.2], [y + 0.07] * 2, color=VERMILION, linewidth=1.1, linestyle="--")
    axes.text(x + 0.26, y + 0.07, "block barrier", fontsize=7.5, va="center")
    return caption(figure, "The first two tiles, recorded from the CPU execution: an order of events, not a time; widths mean nothing. Of the warps, those that compute. In brackets: shared memory of a block on (2,8,2048,64).")


# --- v2c9: one B operand, two products ---------------------------------------------------------------------------------------


def data_two_stripes(r):
    stages = []
    for stage in ("v2c8_mma_sync", "v2c9_two_stripes"):
        plan, counted = plan_of(r, stage), r.counted["stages"][stage][SHAPE]["totals"]
        through_shared = any(a["name"] == "sQ" for a in plan["arrays"])
        q = plan["S"] // 16 * (plan["D"] // 16) * 4 if through_shared else 0  # four registers of each A of 16 x 16
        stages.append({"stage": stage, "stripes": plan["rows_per_warp"] // 16, "loads": counted["shared load"]["instructions"], "q": q, "products": counted["mma"]["instructions"]})
    return stages


@figure("two-stripes", data_two_stripes)
def draw_two_stripes(plt, d):
    figure, axes = canvas(plt, 4.45)
    for left, one in zip((0.25, 4.25), d):
        n = one["stripes"]
        axes.text(left, 0.2, f"{short(one['stage'])}: {16 * n} rows per warp", fontsize=9.5, weight="bold", va="center")
        box(axes, left + 1.0, 0.42, 0.55, 0.62, "B", 11, facecolor=LIGHT[1], edgecolor=VERMILION, linewidth=1.6)
        axes.text(left + 1.65, 0.73, "loaded from shared memory:\n2 loads for 8 keys of K,\n4 loads for 8 columns of V", fontsize=7.5, va="center")
        for i in range(n):
            y = 1.35 + i * 0.75
            box(axes, left, y, 0.62, 0.6, f"A: rows\n{16 * i}–{16 * i + 15}", 7.5, facecolor=LIGHT[0], edgecolor=BLUE)
            axes.text(left + 0.78, y + 0.3, "×", fontsize=12, ha="center", va="center")
            box(axes, left + 1.0, y, 0.55, 0.6, "B", 10, facecolor="white", edgecolor=VERMILION, linestyle="--")
            axes.text(left + 1.72, y + 0.3, "→", fontsize=12, ha="center", va="center")
            box(axes, left + 1.92, y, 0.42, 0.6, f"C\n{i}", 8, facecolor=LIGHT[2], edgecolor=GREEN)
            axes.text(left + 2.45, y + 0.3, f"product {i + 1}\nwith this B", fontsize=7.5, va="center")
        arrow(axes, (left + 1.275, 1.33), (left + 1.275, 1.05), VERMILION, 1.4)
    y, most = 3.1, max(one["loads"] for one in d)
    axes.text(0.25, y, f"Shared loads of ({SHAPE}), counted: {d[0]['products']:,} products in both", fontsize=9, weight="bold", va="center")
    for one in d:
        y += 0.32
        axes.text(0.25, y, short(one["stage"]), fontsize=8, va="center")
        wide = 4.6 / most
        box(axes, 0.75, y - 0.11, (one["loads"] - one["q"]) * wide, 0.22, facecolor=LIGHT[1], edgecolor=VERMILION)
        if one["q"]:
            box(axes, 0.75 + (one["loads"] - one["q"]) * wide, y - 0.11, one["q"] * wide, 0.22, facecolor=LIGHT[0], edgecolor=BLUE)
        b = one["loads"] - one["q"]
        axes.text(0.82 + one["loads"] * wide, y, f"{b:,} of B: {b / one['products']:g} per product" + (f"; {one['q']} of Q" if one["q"] else ""), fontsize=8, va="center")
    return caption(figure, "B is loaded once in both stages; in v2c9 the registers that hold it serve a second product, with the A of the warp's second stripe. The dashed B is the same registers. "
                           "Loads and products from the counters of the CPU execution.")
