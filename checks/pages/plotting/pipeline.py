"""Figures drawn from traces: a block, its ring of slots, a scratch row, overlapping stripes."""
import re

from .registry import figure
from .results import Unusable, short
from .style import BLACK, BLUE, GREEN, LIGHT, ORANGE, PURPLE, SKY, VERMILION, WIDTH, bare, box, caption, frameless, subplots

TILE_COLOURS = [BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION]


def numbers(trace):
    """rows per block, rows per warp, keys per tile, slots."""
    rows, per_warp = map(int, re.findall(r"\d+", trace["rows"]))
    return rows, per_warp, int(trace["keys per tile"]), int(trace["slots"])


def touching(trace, event, array):
    return [e for e in trace["events"] if e["event"] == event and e["array"] == array]


def tiles_of(trace):
    """For each K/V tile: its slot, and in which period it is issued, waited for and read, and by whom."""
    _, _, keys, _ = numbers(trace)
    producer = touching(trace, "copy", "sK")[0]["warp"]
    tiles, commits, landed = [], 0, 0
    for e in trace["events"]:
        if e["warp"] == producer and e["event"] == "copy" and e["array"] == "sK":
            tiles.append({"slot": e["first row"] // keys, "issued": e["period"], "group": commits, "read": [], "readers": []})
        elif e["warp"] == producer and e["event"] == "commit":
            commits += 1
        elif e["warp"] == producer and e["event"] == "wait":
            landed = max(landed, commits - e["bytes each"])
            for tile in tiles:
                if tile["group"] < landed and "waited" not in tile:
                    tile["waited"] = e["period"]
        elif e["event"] == "read" and e["array"] == "sK":
            waiting = [t for t in tiles if t["slot"] == e["first row"] // keys and t.get("waited", 99) < e["period"]]
            waiting[-1]["read"].append(e["period"])
            waiting[-1]["readers"].append(e["warp"])
    if any("waited" not in t or not t["read"] for t in tiles):
        raise Unusable(f"the trace of {trace['stage']} has a tile that is never waited for or read")
    return producer, tiles


def timeline_of(trace):
    producer, tiles = tiles_of(trace)
    return {"stage": trace["stage"], "shape": trace["shape"], "block": trace["block"], "slots": numbers(trace)[3], "producer": producer, "tiles": tiles,
            "copying": len({e["warp"] for e in touching(trace, "copy", "sK")}), "periods": max(e["period"] for e in trace["events"])}


def data_timelines(r, *names):
    return [timeline_of(r.traces[name]) for name in names]


def draw_timeline(plt, axes, d):
    """x: periods between block barriers. In each, the producer first issues, then computes, then waits, as in the trace."""
    issue_at, wait_at = 0.1, 0.9
    slots, periods = d["slots"], d["periods"]
    axes.set(xlim=(-0.05, periods + 1.02), ylim=(slots + 0.55, -1.65))
    bare(axes)
    for x in range(1, periods + 1):
        axes.plot([x, x], [-1.1, slots + 0.05], color=BLACK, linewidth=1.6)
    axes.text(1, slots + 0.12, "block\nbarrier", ha="center", va="top", fontsize=7)
    axes.text(-0.08, -1.36, "all warps read", ha="right", va="center", fontsize=7.5)
    # The producer's row.
    axes.text(-0.08, -0.78, f"warp {d['producer']} issues tile" if d["copying"] == 1 else "each warp issues tile", ha="right", va="center", fontsize=7.5)
    axes.text(-0.08, -0.3, "and waits", ha="right", va="center", fontsize=7.5)
    issued = {}
    for n, tile in enumerate(d["tiles"]):
        issued.setdefault(tile["issued"], []).append(n)
    for period, numbers_ in issued.items():
        for i, n in enumerate(numbers_):
            x = period + issue_at + 0.3 * i
            axes.annotate("", (x, d["tiles"][n]["slot"] + 0.12), (x, -0.66), arrowprops={"arrowstyle": "->", "color": BLACK, "linewidth": 0.9})
            axes.text(x, -0.72, f"{n}", ha="center", va="bottom", fontsize=7)
    for n, tile in enumerate(d["tiles"]):
        axes.text(tile["waited"] + wait_at + 0.05, -0.24, f"for tile {n}", ha="right", va="bottom", fontsize=7, color=VERMILION)
        axes.plot([tile["waited"] + wait_at] * 2, [-0.2, tile["slot"] + 0.12], color=VERMILION, linewidth=0.9, linestyle=":")
    read = {period: n for n, tile in enumerate(d["tiles"]) for period in tile["read"]}
    for period, n in read.items():
        axes.text(period + 0.5, -1.3, f"tile {n}", ha="center", fontsize=7.5)
    axes.text(min(read) / 2, -1.3, "prologue", ha="center", fontsize=7.5)
    # The slots.
    for slot in range(slots):
        axes.text(-0.08, slot + 0.5, f"slot {slot}", ha="right", va="center", fontsize=8)
        axes.add_patch(plt.Rectangle((0, slot + 0.12), periods + 1, 0.76, facecolor="#f2f2f2", edgecolor="none"))
    for n, tile in enumerate(d["tiles"]):
        y = tile["slot"] + 0.12
        start, end = tile["issued"] + issue_at + 0.3 * issued[tile["issued"]].index(n), tile["waited"] + wait_at
        colour = TILE_COLOURS[n % len(TILE_COLOURS)]
        box(axes, start, y, end - start, 0.76, f"tile {n}\non its way", 7, 1, edgecolor=colour, hatch="////", linewidth=1)
        first, last = min(tile["read"]), max(tile["read"])
        box(axes, first, y, last - first + 1, 0.76, f"tile {n}\nis read", 7, words={"color": "white" if colour in (BLUE, GREEN, VERMILION) else BLACK, "weight": "bold"}, facecolor=colour, edgecolor=colour, linewidth=1)
    axes.set_title(f"{slots} slots: {d['shape']}, block {d['block']} of {short(d['stage'])}, {len(d['tiles'])} key tiles", fontsize=9.5, loc="left")


def draw_timelines(plt, d, text):
    figure, rows = subplots(plt, (WIDTH, 6.4), 2, 1, height_ratios=[4.2, 5.2], left=0.158, right=0.995, top=0.955, bottom=0.12, hspace=0.1)
    for axes, one in zip(rows, d):
        draw_timeline(plt, axes, one)
    return caption(figure, text)


def draw_one(plt, d, height, text):
    """One timeline; its slots and tiles are named on it, the rest is in the caption."""
    figure, axes = subplots(plt, (WIDTH, height), left=0.158, right=0.995, top=0.99, bottom=0.62 / height)
    draw_timeline(plt, axes, d)
    axes.set_title("")
    return caption(figure, f"Drawn from a recording of the CPU execution ({short(d['stage'])}, block {d['block']} of {d['shape']}: {len(d['tiles'])} key tiles). Lengths are not times. {text}")


@figure("pipeline", lambda r: timeline_of(r.traces["pipeline-2-slots"]))
def draw_pipeline(plt, d):
    return draw_one(plt, d, 3.3, "A tile may be read from the barrier after its wait; its slot may be filled again after the next barrier.")


@figure("pipeline-three-slots", lambda r: timeline_of(r.traces["pipeline-3-slots"]))
def draw_three_slots(plt, d):
    return draw_one(plt, d, 3.9, "A copy has the work of two tiles to arrive in.")


@figure("ring", lambda r: data_timelines(r, "ring-2-slots", "ring-3-slots"))
def draw_ring(plt, d):
    return draw_timelines(plt, d, f"Drawn from a recording of the CPU execution: lengths are not times. All {d[0]['copying']} warps copy, each a part of every tile, and all {d[0]['copying']} compute; shown are the copies and waits of "
                           f"warp {d[0]['producer']}. Each warp waits for its own part; the barrier after it covers all parts. After that barrier tile t may be read and the slot of tile t − 1 filled. (The first barrier is Q's.) "
                           "With two slots a copy has one tile's work to arrive in, with three it has two.")


# --- one block ------------------------------------------------------------------------------------------------------------


def owners(trace):
    """[first row, last row, warp] of the rows of Q that each warp reads."""
    spans = {}
    for e in touching(trace, "read", "sQ"):
        first, last = spans.get(e["warp"], (e["first row"], e["last row"]))
        spans[e["warp"]] = min(first, e["first row"]), max(last, e["last row"])
    return [[first, last, warp] for warp, (first, last) in sorted(spans.items())]


def data_block(r):
    two = r.traces["pipeline-2-slots"]
    producer, tiles = tiles_of(two)
    return {"stage": two["stage"], "owners": owners(two), "rows": numbers(two)[0], "keys": numbers(two)[2], "slots": numbers(two)[3],
            "producer": producer, "tiles": [t["slot"] for t in tiles], "shape": two["shape"], "block": two["block"], "now": 3,
            "reading": [n for n, t in enumerate(tiles) if 3 in t["read"]], "coming": [n for n, t in enumerate(tiles) if t["issued"] <= 3 <= t["waited"]]}


@figure("block", data_block)
def draw_block(plt, d):
    figure, axes = subplots(plt, (WIDTH, 5.6), left=0.01, right=0.99, top=0.995, bottom=0.125)
    bare(axes)
    axes.set(xlim=(0, 100), ylim=(69, -4.5))
    # Q and its owners.
    spans = d["owners"]
    axes.text(18, -2, f"Q tile in {short(d['stage'])}", ha="center", fontsize=9)
    for first, last, warp in spans:
        box(axes, 8, first, 20, last - first + 1, f"warp {warp}" + (" (and copies)" if warp == d["producer"] else ""), size=8,
            facecolor=(LIGHT + ["#eeeeee", "white"])[warp % 8], hatch="")
        axes.text(7.4, first + 0.9, f"row {first}", ha="right", va="center", fontsize=7)
    axes.text(18, d["rows"] + 2.2, f"{len(spans)} warps × {spans[0][1] - spans[0][0] + 1} rows", ha="center", fontsize=7.5)
    # K/V tiles in global memory, marching through the slots.
    axes.text(49, -2, "K and V, in tiles", ha="center", fontsize=9)
    height = d["rows"] / len(d["tiles"])
    for n, slot in enumerate(d["tiles"]):
        state = "being read" if n in d["reading"] else "on its way" if n in d["coming"] else "done" if n < min(d["reading"]) else ""
        look = {"facecolor": TILE_COLOURS[n % 6] if n in d["reading"] else "white", "edgecolor": TILE_COLOURS[n % 6], "linewidth": 1.4, "hatch": "////" if n in d["coming"] else ""}
        axes.add_patch(plt.Rectangle((41.5, n * height + 0.4), 15, height - 0.8, **look))
        axes.text(49, (n + 0.5) * height, f"tile {n}: keys {n * d['keys']}–{(n + 1) * d['keys'] - 1}", ha="center", va="center", fontsize=7, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.2})
        axes.text(49, (n + 0.5) * height + 2.6, state, ha="center", va="center", fontsize=6.5, color="#444444", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5} if state else None)
    slot_height = d["rows"] / d["slots"]
    axes.text(78, -2, f"shared memory: {d['slots']} slots for K and V", ha="center", fontsize=9)
    for slot in range(d["slots"]):
        holds = [n for n in d["reading"] + d["coming"] if d["tiles"][n] == slot]
        n = holds[0]
        reading = n in d["reading"]
        axes.add_patch(plt.Rectangle((68, slot * slot_height + 1), 20, slot_height - 2, facecolor="white", edgecolor=TILE_COLOURS[n % 6], linewidth=1.6, hatch="" if reading else "////"))
        axes.text(78, (slot + 0.5) * slot_height, f"slot {slot}: tile {n}\n" + ("read by all warps,\neach for its own rows" if reading else f"being copied by warp {d['producer']},\nnot to be read yet"),
                  ha="center", va="center", fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 2})
    for n, slot in enumerate(d["tiles"]):
        live = n in d["reading"] + d["coming"]
        axes.annotate("", (67.6, (slot + 0.5) * slot_height), (56.9, (n + 0.5) * height),
                      arrowprops={"arrowstyle": "->", "color": TILE_COLOURS[n % 6] if live else "#bbbbbb", "linewidth": 1.8 if live else 0.8, "linestyle": "-" if live else ":"})
    return caption(figure, f"One block, recorded from the CPU execution of {d['shape']}, block {d['block']}: {d['rows']} query rows stay in shared memory, each row owned by one warp, and K and V pass by in tiles. "
                           f"Tile t goes to slot t mod {d['slots']}. Shown is the moment when tile {d['reading'][0]} is read and tile {d['coming'][-1]} is on its way.")


# --- a scratch row ----------------------------------------------------------------------------------------------------------


LANE = 6  # the one whose keys the figure follows


def data_scratch(r):
    trace = r.traces["stripes"]
    array = trace["arrays"]["scratch"]
    steps = []
    for e in trace["events"]:
        if e["warp"] != 0 or e["array"] != "scratch":
            if e["warp"] == 0 and e["event"] == "sync" and steps and steps[-1] != "sync":
                steps.append("sync")
            continue
        steps.append([e["event"], e["bytes each"], e["first byte"], e["last byte"], e["first row"], e["last row"]])
    keys = numbers(trace)[2]
    # A lane owns keys lane, lane + 32, ... (`32 * j + lane` in the kernel).
    return {"stage": trace["stage"], "pitch": array["pitch"] * 4, "steps": [s for s in steps if s != "sync"], "keys": keys, "lane": LANE, "owns": list(range(LANE, keys, 32))}


@figure("scratch-row", data_scratch)
def draw_scratch(plt, d):
    what = {("write", 4): ("a  store_matrix_sync\n    writes scores, floats", BLUE), ("read", 4): ("b  a lane reads the\n    scores of its keys", BLUE),
            ("write", 2): ("c  it writes weights,\n    fp16, from the start", ORANGE), ("read", 2): ("d  load_matrix_sync\n    reads matrix_a", ORANGE)}
    figure, axes = subplots(plt, (WIDTH, 4.3), left=0.01, right=0.99, top=0.97, bottom=0.265)
    steps = d["steps"]
    axes.set(xlim=(-62, d["pitch"] + 2), ylim=(len(steps) + 0.05, -0.45))
    frameless(axes)
    axes.set_yticks([])
    axes.set_xticks(range(0, d["pitch"] + 1, 32))
    axes.tick_params(labelsize=7)
    axes.set_xlabel("byte of the row", fontsize=8, loc="right")
    for y, (event, size, first, last, *_) in enumerate(steps):
        text, colour = what[event, size]
        axes.text(-62, y + 0.4, text, fontsize=8, va="center")
        axes.add_patch(plt.Rectangle((0, y + 0.12), d["pitch"], 0.56, facecolor="#f2f2f2", edgecolor="#999999", linewidth=0.6))
        if size == 2:
            box(axes, last + 1, y + 0.12, d["keys"] * 4 - last - 1, 0.56, "old scores of keys 32–63: no longer used", 7, 1, edgecolor="#999999", hatch="\\\\", linewidth=0.6)
        for at in range(first, last + 1, size):
            axes.add_patch(plt.Rectangle((at, y + 0.12), size, 0.56, facecolor=colour if event == "write" else "white", edgecolor=colour if event == "read" else "white", linewidth=0.35))
        if y in (1, 2):  # the softmax is by lanes; WMMA does not say which lane holds what
            for key in d["owns"]:
                axes.add_patch(plt.Rectangle((first + size * key, y + 0.12), size, 0.56, facecolor=VERMILION, edgecolor=VERMILION, linewidth=1.2, zorder=3))
                text = f"lane {d['lane']}: {'score' if y == 1 else 'weight'} of key {key}"
                axes.text(first + size * (key + 0.5), y + 0.1, text, ha="left" if y == 1 or key > 31 else "center", va="bottom", fontsize=7, color=VERMILION)
            hit = d["lane"] // 2  # the key whose score the lane's first weight overwrites: framed in b, and its bytes in c
            axes.add_patch(plt.Rectangle((4 * hit, y + 0.12), 4, 0.56, facecolor=GREEN if y == 1 else "none", edgecolor=GREEN, linewidth=1.6, zorder=4))
            text = f"lane {hit}: score of key {hit}" if y == 1 else f"bytes of key {hit}'s score"
            axes.text(4 * hit, y + 0.7, text, ha="left", va="top", fontsize=7, color=GREEN)
        else:
            for key, side in ((0, "left"), (32, "left"), (63, "right")):
                axes.text(first + size * (key + (side == "right")), y + 0.1, f"key {key}", ha=side, va="bottom", fontsize=7)
        axes.text((d["pitch"] + d["keys"] * 4) / 2, y + 0.4, "pad", ha="center", va="center", fontsize=7)
    syncs = "A __syncwarp separates each step from the next."
    return caption(figure, f"One row of a warp's scratch in {short(d['stage'])}, {d['pitch']} bytes: {d['keys']} floats and 4 of padding. Four bytes of score become two of weight, in place. {syncs} "
                           "The reload's pitch is twice the scratch's: it counts fp16, not floats. "
                           "Recorded from the CPU execution.")


# --- partial_stripe -----------------------------------------------------------------------------------------------------------


def data_partial(r):
    trace = r.traces["partial-stripe"]
    end = trace["arrays"]["S_scores"]["rows"]
    pitch = trace["arrays"]["S_scores"]["pitch"] * 4, trace["arrays"]["O_accum"]["pitch"] * 4
    own = {e["warp"]: [e["first row"], e["last row"]] for e in touching(trace, "read", "S_scores")}
    stored, spilled = {}, {}
    for e in touching(trace, "write", "S_scores"):
        rows = [e["first row"], e["last row"]]
        if e["warp"] not in stored or rows[1] - rows[0] > stored[e["warp"]][1] - stored[e["warp"]][0]:
            stored[e["warp"]] = rows
    last_warp = max(stored)
    for e in touching(trace, "write", "O_accum"):  # the last warp's stores into rows that are not its own
        if e["period"] > 0 and e["warp"] == last_warp and e["first row"] < own[last_warp][0] and e["last row"] < own[last_warp][0]:
            spilled = [e["first row"], e["last row"], (e["last row"]) * pitch[1] + e["last byte"] + 1]
    return {"stage": trace["stage"], "rows": end, "own": [own[w] for w in sorted(own)], "stored": [stored[w] for w in sorted(stored)], "spilled": spilled, "score pitch": pitch[0]}


@figure("partial-stripe", data_partial)
def draw_partial(plt, d):
    figure, axes = subplots(plt, (WIDTH, 5.6), left=0.085, right=0.985, top=0.95, bottom=0.2)
    past = 8 if d["spilled"] else 0
    axes.set(xlim=(-0.1, len(d["own"]) + 0.1), ylim=(d["rows"] + past + 1.5, -1))
    for warp, ((own_first, own_last), (first, last)) in enumerate(zip(d["own"], d["stored"])):
        end = last + 1 + (past if warp == len(d["own"]) - 1 else 0)
        axes.add_patch(plt.Rectangle((warp + 0.12, first), 0.76, end - first, facecolor="white", edgecolor=VERMILION, hatch="////", linewidth=1.2))
        box(axes, warp + 0.12, own_first, 0.76, own_last - own_first + 1, f"owns\n{own_first}–{own_last}", 7.5, facecolor=LIGHT[0], edgecolor=BLUE, linewidth=1.2)
        axes.text(warp + 0.5, own_last + 5, f"stores\n{own_last + 1}–{end - 1}", ha="center", va="center", fontsize=7.5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
    axes.axhline(d["rows"], color=BLACK, linewidth=1.6)
    axes.text(0.02, d["rows"] + 1.2, "S_scores ends here; what follows is O_accum", fontsize=8, va="top")
    axes.set_xticks([w + 0.5 for w in range(len(d["own"]))], [f"warp {w}" for w in range(len(d["own"]))], fontsize=8)
    axes.set_yticks(range(0, d["rows"] + past + 1, 8))
    axes.grid(True, axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_ylabel("row of S_scores")
    spill = f" The last warp's second half goes past the end, into rows {d['spilled'][0]}–{d['spilled'][1]} of O_accum, over output that warp 0 has in hand." if d["spilled"] else ""
    return caption(figure, "partial_stripe (v2c5): each warp owns 8 rows (blue), but a WMMA tile has 16, and it stores them all (hatched): the rows below its own belong to the next warp, which may already have turned its scores into "
                           f"weights.{spill} Recorded from the CPU execution of the planted kernel.")


# --- one tile of v2b: wait, barrier, issue -----------------------------------------------------------------------------------

TILES_SHOWN = 2  # whole tiles between barriers


def data_ahead(r):
    one = timeline_of(r.traces["pipeline-2-slots"])
    trace = r.traces["pipeline-2-slots"]
    warps = sorted({e["warp"] for e in trace["events"]})
    producer = [e["warp"] for e in touching(trace, "copy", "sK")][0]
    return {"stage": trace["stage"], "shape": trace["shape"], "slots": one["slots"], "tiles": one["tiles"], "first": min(w for w in warps if w != producer), "last": max(w for w in warps if w != producer), "producer": producer}


@figure("ahead", data_ahead)
def draw_ahead(plt, d):
    """The work between barriers 2 and 4 of the block: x in units of a tile's work; in each, the producer issues, computes, and waits, as in the trace."""
    figure, axes = subplots(plt, (WIDTH, 4.1), left=0.115, right=0.99, top=1.0, bottom=0.13)
    frameless(axes)
    axes.set_xticks([])
    axes.set_yticks([])
    start, issue, wait = 2, 0.16, 0.22
    end = start + TILES_SHOWN
    axes.set(xlim=(start - 0.42, end + 0.45), ylim=(5.05, -0.95))
    rows = {"others": 0.0, "producer": 1.0, **{slot: 2.35 + 0.95 * slot for slot in range(d["slots"])}}
    high = 0.66
    label = lambda y, text: axes.text(start - 0.45, y + high / 2, text, ha="right", va="center", fontsize=8.5)
    label(rows["others"], f"warps {d['first']}–{d['last']}")
    label(rows["producer"], f"warp {d['producer']}")
    cell = lambda x, y, width, text, face, edge="black", hatch="", size=8, bold="normal": (axes.add_patch(plt.Rectangle((x, y), width, high, facecolor=face, edgecolor=edge, hatch=hatch, linewidth=0.9)),
                                                                                      axes.text(x + width / 2, y + high / 2, text, ha="center", va="center", fontsize=size, weight=bold,
                                                                                                color="white" if face == "black" else "black", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1} if hatch else None))
    for n, tile in enumerate(d["tiles"]):
        for period in sorted(set(tile["read"])):
            if start <= period < end:
                cell(period, rows["others"], 1, f"computes with tile {n}", "#e4e4e4")
                cell(period + issue, rows["producer"], 1 - issue - wait, f"computes with tile {n}", "#e4e4e4")
                cell(period, rows[tile["slot"]], 1, f"tile {n} is read", LIGHT[0])
        if start <= tile["issued"] < end:
            cell(tile["issued"], rows["producer"], issue, "3", "black", size=9, bold="bold")
        if start - 1 <= tile["waited"] < end:
            x = tile["waited"] + 1 - wait
            cell(x, rows["producer"], wait, "1", "white", VERMILION, "////", 9, "bold")
        if tile["issued"] < end and tile["waited"] >= start - 1:
            begin, stop = max(tile["issued"] + issue / 2, start - 0.4), tile["waited"] + 1
            cell(begin, rows[tile["slot"]], stop - begin, f"tile {n} on its way" if stop - begin > 0.6 else "", "white", ORANGE, "////")
    for x in range(start, end + 1):
        axes.plot([x, x], [-0.3, rows[d["slots"] - 1] + high + 0.12], color="black", linewidth=3, solid_capstyle="butt")
        axes.text(x, -0.5, "2", fontsize=9, weight="bold", ha="center", va="center")
    for slot in range(d["slots"]):
        label(rows[slot], f"slot {slot}")
    for i, (x, text) in enumerate(((start - 0.42, "1 wait: this tile has arrived"), (start + 0.5, "2 block barrier: all can read it"), (start + 1.45, "3 issue: copies of the next tile"))):
        axes.text(x, 4.62, text, fontsize=8.5, va="center", weight="bold")
    return caption(figure, f"Two tiles of {short(d['stage'])} with two slots, recorded from the CPU execution of {d['shape']}, block 5. The order within a warp and the barriers are the kernel's; widths are not times. The next copies may start only after the barrier: "
                           "until then a warp may still read the slot that they fill.")
