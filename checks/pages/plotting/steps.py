"""Figures drawn from traces of steps (`lab trace`): what a block does while copies are in flight."""
import re

from .results import Unusable, short
from .style import BLACK, BLUE, LIGHT, ORANGE, VERMILION, bare, box, caption

COPY, READ = "copy", "read"


def warps_of(trace):
    """Of each warp of the block its slices as [begin, end, name]."""
    tracks = {}
    for e in trace["traceEvents"]:
        if e["ph"] == "X" and e["cat"] != "phase":
            tracks.setdefault(e["tid"], []).append([e["ts"], e["ts"] + e["dur"], e["name"]])
    return [sorted(tracks[w]) for w in sorted(tracks)]


def slots_of(trace, tracks):
    """For each slot of K and V, its first row: when a tile is on its way to it, and when it is read, as [begin, end, what, tile]."""
    begun, slots, count = {}, {}, {}
    for e in trace["traceEvents"]:
        if e["ph"] == "b":
            begun[e["id"]] = e
        elif e["ph"] == "e":
            b = begun.pop(e["id"])
            array, row = re.match(r"(\w+)\[(\d+)", b["args"]["place"]).groups()
            slots.setdefault((array, int(row)), []).append([b["ts"], e["ts"], COPY])
    for array in {array for array, _ in slots}:
        arrivals = sorted((times[0], place) for place, all_times in slots.items() if place[0] == array for times in all_times)
        reads = [s for s in tracks[0] if s[2] == f"read {array}"]
        if len(reads) != len(arrivals):
            raise Unusable(f"the trace of {trace['stage']} has {len(arrivals)} tiles of {array}, and {len(reads)} are read")
        order = {}
        for tile, ((begin, place), read) in enumerate(zip(arrivals, reads)):
            order[place, begin] = tile
            slots[place].append([read[0], read[1], READ, tile])
        for place, times in slots.items():
            if place[0] == array:
                for one in times:
                    if one[2] == COPY:
                        one.append(order[place, one[0]])
    return [[array, row, sorted(times)] for (array, row), times in sorted(slots.items())]


def data_steps(r):
    panels = []
    for name in ("one-slot", "ring"):
        trace = r.steps[name]
        tracks = warps_of(trace)
        if any(track != tracks[0] for track in tracks):
            raise Unusable(f"the warps of {trace['stage']} do not all do the same at the same steps")
        panels.append({"stage": trace["stage"], "shape": trace["shape"], "steps": trace["steps"], "warps": len(tracks), "warp": tracks[0], "slots": slots_of(trace, tracks)})
    return panels


# How a slice of the warp looks, by its name: colour, hatch, text where there is room.
LOOKS = [("copy ", ("#444444", "", "")), ("read sK", (LIGHT[0], "", "Q·K {}")), ("read sV", (LIGHT[4], "", "P·V {}")), ("wait", (VERMILION, "", "")),
         ("__syncthreads", (VERMILION, "", "")), ("", ("#e4e4e4", "", ""))]


def draw_panel(plt, axes, d, end):
    height, rows = 0.8, len(d["slots"])
    axes.set_xlim(-2, end + 2)
    axes.set_ylim(rows + 1.15, -0.2)
    bare(axes)
    axes.spines["bottom"].set_visible(True)
    axes.set_xticks(range(0, end + 1, 100))
    axes.tick_params(labelsize=7)
    axes.grid(True, axis="x", color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    seen = {}
    for begin, stop, name in d["warp"]:
        colour, hatch, text = next(look for prefix, look in LOOKS if name.startswith(prefix))
        number = seen[name] = seen.get(name, -1) + 1
        thin = stop - begin < 3
        axes.add_patch(plt.Rectangle((begin, 0), max(stop - begin, 1), height, facecolor=colour, hatch=hatch, edgecolor=colour if thin else BLACK, linewidth=0 if thin else 0.6))
        if text and stop - begin > 30:
            axes.text((begin + stop) / 2, height / 2, text.format(number), ha="center", va="center", fontsize=6.8)
    axes.text(-6, height / 2, "warp 0", ha="right", va="center", fontsize=8, weight="bold")
    for y, (array, row, times) in enumerate(d["slots"], start=1):
        y += 0.15
        slots = sorted(r for a, r, _ in d["slots"] if a == array)
        axes.text(-6, y + height / 2, f"{array[1]} slot {slots.index(row)}" if len(slots) > 1 else f"{array[1]}, one slot", ha="right", va="center", fontsize=7.5)
        for begin, stop, what, tile in times:
            edge = BLUE if array == "sK" else ORANGE
            if what == COPY:
                axes.add_patch(plt.Rectangle((begin, y + 0.18), stop - begin, height - 0.36, facecolor="white", hatch="/////", edgecolor=edge, linewidth=0.9))
                if stop - begin > 12:
                    axes.text((begin + stop) / 2, y + height / 2, f"{tile}", ha="center", va="center", fontsize=6.8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
            else:
                box(plt, axes, begin, y, stop - begin, height, f"{tile}", 6.8, facecolor=LIGHT[0] if array == "sK" else LIGHT[4], edgecolor=edge)


def draw_in_flight(plt, d):
    rows = [len(one["slots"]) + 1 for one in d]
    figure, all_axes = plt.subplots(2, 1, figsize=(10.4, 5.6), gridspec_kw={"height_ratios": rows})
    figure.subplots_adjust(left=0.075, right=0.995, top=0.95, bottom=0.185, hspace=0.3)
    end = max(one["steps"] for one in d)
    for axes, one, what in zip(all_axes, d, ("one slot each: a copy can start when all are done reading, and has the other product's steps to arrive in",
                                             "a ring of slots: a copy starts two tiles ahead, and has two tiles' steps to arrive in")):
        draw_panel(plt, axes, one, end)
        axes.set_title(f"{short(one['stage'])}, {what}", fontsize=9.5, loc="left")
    all_axes[1].set_xlabel("step (an order of events, not a time)", fontsize=8)
    caption(figure, f"One block of {d[0]['shape']}, {d[0]['warps']} warps, all of which do the same at the same steps. Recorded from the CPU execution (`make stage=S trace`). "
                    "A step is an access to shared memory, a product, a request or a barrier of a warp; arithmetic in registers takes none. Dark: requests for copies. Red: a wait and a block barrier. Plain: a tile is multiplied, in fewer steps where ldmatrix reads it (v2d); "
                    "below, its slot is read. Hatched: the tile is on its way to the slot, from the first request to the wait that covers it; nobody may touch the slot. The copies of all warps for a tile are drawn as one.")
    return figure


def step_figures(r):
    return {"in-flight": (data_steps(r), draw_in_flight)}
