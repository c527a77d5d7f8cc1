"""Figures drawn from traces of steps (`lab trace`): what a block does while copies are in flight."""
import re

from .registry import figure
from .results import Unusable, short
from .style import BLACK, BLUE, LIGHT, ORANGE, VERMILION, WIDTH, bare, box, subplots

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
    begun, slots = {}, {}
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


# What a slice of the warp is, by its name: a product has room for a text, the rest is a mark in a row of its own.
PRODUCTS = {"read sK": (LIGHT[0], "QK {}"), "read sV": (LIGHT[4], "PV {}")}
MARKS = {"copy ": ("request", BLACK, "|"), "wait": ("wait", VERMILION, "v"), "__syncthreads": ("block barrier", BLUE, "D")}
HEIGHT = 0.8


def draw_panel(plt, axes, d, end):
    rows = len(d["slots"])
    axes.set(xlim=(-2, end + 2), ylim=(rows + 2.05, -0.1))
    bare(axes)
    axes.spines["bottom"].set_visible(True)
    axes.set_xticks(range(0, end + 1, 100))
    axes.tick_params(labelsize=7)
    axes.grid(True, axis="x", color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    seen = {}
    for begin, stop, name in d["warp"]:
        colour, text = PRODUCTS.get(name, ("#e4e4e4", ""))
        number = seen[name] = seen.get(name, -1) + 1
        kind = next((mark for prefix, mark in MARKS.items() if name.startswith(prefix)), None)
        if kind:
            axes.plot([(begin + stop) / 2], [{"request": 1.1, "wait": 1.35, "block barrier": 1.6}[kind[0]]], color=kind[1], marker=kind[2], markersize=5, linestyle="")
        else:
            axes.add_patch(plt.Rectangle((begin, 0), stop - begin, HEIGHT, facecolor=colour, edgecolor=BLACK, linewidth=0.6))
        if text:
            axes.text((begin + stop) / 2, HEIGHT / 2, text.format(number), ha="center", va="center", fontsize=7)
    axes.text(-8, HEIGHT / 2, "warp 0", ha="right", va="center", fontsize=7.5, weight="bold")
    axes.text(-8, 1.35, "requests,\nwaits", ha="right", va="center", fontsize=7, linespacing=0.95)
    for y, (array, row, times) in enumerate(d["slots"], start=2):
        slots = sorted(r for a, r, _ in d["slots"] if a == array)
        axes.text(-8, y + HEIGHT / 2, f"{array[1]} slot {slots.index(row)}" if len(slots) > 1 else f"{array[1]}, one slot", ha="right", va="center", fontsize=7.5)
        for begin, stop, what, tile in times:
            edge = BLUE if array == "sK" else ORANGE
            if what == COPY:
                axes.add_patch(plt.Rectangle((begin, y + 0.15), stop - begin, HEIGHT - 0.3, facecolor="white", hatch="/////", edgecolor=edge, linewidth=0.9))
                if stop - begin > 12:
                    axes.text((begin + stop) / 2, y + HEIGHT / 2, f"{tile}", ha="center", va="center", fontsize=7, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
            else:
                box(axes, begin, y, stop - begin, HEIGHT, f"{tile}", 7, facecolor=LIGHT[0] if array == "sK" else LIGHT[4], edgecolor=edge)


@figure("in-flight", data_steps)
def draw_in_flight(plt, d):
    rows = [len(one["slots"]) + 2 for one in d]
    figure, all_axes = subplots(plt, (WIDTH, 5.7), 2, 1, gridspec_kw={"height_ratios": rows}, left=0.095, right=0.995, top=0.95, bottom=0.135, hspace=0.3)
    end = max(one["steps"] for one in d)
    for axes, one, what in zip(all_axes, d, ("one slot each; a copy starts when all warps have read the tile before", "a ring of slots; a copy starts two tiles ahead")):
        draw_panel(plt, axes, one, end)
        axes.set_title(f"{short(one['stage'])}: {what}", fontsize=9, loc="left", x=-0.09)
    all_axes[1].set_xlabel("step (an order of events, not a time)", fontsize=8)
    marks = [plt.Line2D([], [], color=colour, marker=marker, markersize=6, linestyle="", label=name) for name, colour, marker in MARKS.values()]
    marks += [plt.Rectangle((0, 0), 1, 1, facecolor="white", hatch="/////", edgecolor=BLUE, label="requested, not yet waited for"), plt.Rectangle((0, 0), 1, 1, facecolor=LIGHT[0], edgecolor=BLUE, label="the slot is read")]
    figure.legend(handles=marks, fontsize=7.5, ncol=5, loc="lower left", frameon=False, bbox_to_anchor=(0.0, 0.0))
    return figure
