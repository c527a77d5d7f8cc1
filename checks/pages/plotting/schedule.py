"""Which multiprocessor runs which query tile, and when: a block each, started as soon as one is free, or assigned to blocks that stay (`lab order`)."""
import re

from .heads import ROOT
from .registry import figure
from .results import Unusable, short, title
from .style import BLACK, WIDTH, caption, subplots

GROUP_ROWS = 64  # of a consumer warpgroup
ALWAYS = float("inf")  # rounds


def costs(stage):
    """The launcher's cost of 64 rows with all keys, by the number of consumers in the block."""
    found = re.search(r"COST\[\] = \{([^}]*)\}", (ROOT / "stages" / stage / "kernel.cu").read_text())
    if not found:
        raise Unusable(f"{stage}'s launcher has no COST")
    return [float(x) for x in found[1].split(",")]


def ends(order, multiprocessors, dealt, cost=1):
    """[multiprocessor, begin, end, keys] of each query tile: `dealt` rounds to and fro, then each to the multiprocessor that is free first. A key takes `cost`."""
    free, bars = {m: 0 for m in range(multiprocessors)}, []
    for i, tile in enumerate(order["events"]):
        turn, place = divmod(i, multiprocessors)
        m = (place if turn % 2 == 0 else multiprocessors - 1 - place) if turn < dealt else min(free, key=lambda m: (free[m], m))
        begin = free[m]
        free[m] = round(begin + cost * tile["keys"], 6)
        bars.append([m, begin, free[m], tile["keys"]])
    return bars


def scheduled(order, cost, multiprocessors, S, stays):
    """A panel: blocks that stay are dealt all their query tiles."""
    consumers = int(order["rows per block"]) // GROUP_ROWS
    bars = ends(order, multiprocessors, ALWAYS if stays else 0, consumers * cost[consumers] / S)
    return {"stage": order["stage"], "consumers": consumers, "cost": cost[consumers], "bars": bars}


def draw_end(plt, axes, bars, every, offset, longest, multiprocessors, scale=1):
    """The bars of every so many multiprocessors, the darker the longer, and a line where the last one ends; returns that place."""
    shades = plt.get_cmap("Blues")
    for m, begin, end, keys in bars:
        if m % every == offset % every:
            axes.add_patch(plt.Rectangle((begin / scale, m - every // 2), (end - begin) / scale, 0.8 * every, facecolor=shades(0.12 + 0.68 * keys / longest), edgecolor="#666666", linewidth=0.25))
    last = max(bar[2] for bar in bars) / scale
    axes.axvline(last, color=BLACK, linewidth=1.2, linestyle="--")
    axes.set_ylim(multiprocessors, 0)
    axes.set_yticks([0, 66, 132])
    axes.tick_params(labelsize=8)
    axes.set_ylabel("SM", fontsize=8.5)
    return last


def data_schedule(r, shape):
    after = next(o for o in r.orders.values() if short(o["stage"]) == "v3h")["stage"]
    multiprocessors = int(r.bench["multiprocessors"])
    panels = []
    for order in r.orders.values():
        if order["shape"] == title(shape):
            one = scheduled(order, costs(after), multiprocessors, 2048, order["stage"] == after)
            panels.append(one | {"us": r.time(one["stage"], shape)})
    return {"multiprocessors": multiprocessors, "source": r.source(), "shape": shape, "panels": sorted(panels, key=lambda p: p["stage"])}


@figure("schedule", lambda r: data_schedule(r, "2,8,2048,64,causal"))
def draw_schedule(plt, d):
    figure, rows = subplots(plt, (WIDTH, 4.9), 2, 1, sharex=True, left=0.07, right=0.985, top=0.945, bottom=0.225, hspace=0.26)
    most, last_to_end = max((bar[2], bar[0]) for one in d["panels"] for bar in one["bars"])
    every = 9  # all 132 would be hairlines; the last to end is among those that are drawn
    for axes, one in zip(rows, d["panels"]):
        last = draw_end(plt, axes, one["bars"], every, last_to_end, max(bar[3] for bar in one["bars"]), d["multiprocessors"])
        room = most - last > 0.2 * most  # to the right of the line
        axes.text(last + (0.01 * most if room else 0), 66 if room else -3, f"ends at {last:.2f}", fontsize=9, ha="left" if room else "right", va="center" if room else "bottom", weight="bold")
        axes.set_xlim(0, 1.01 * most)
        axes.text(0, -3, f"{short(one['stage'])}: {len(one['bars'])} query tiles of {one['consumers']} consumers" + f", on every {every}th SM" + (", longest first, to and fro" if one is d["panels"][-1] else ""), fontsize=9, ha="left", va="bottom")
    rows[-1].set_xlabel("work: 64 rows with all keys = 1, times the cost", fontsize=8.5)
    before, after = d["panels"]
    cost = f"cost {before['cost']:g} for {before['consumers']} consumers" + (f", {after['cost']:g} for {after['consumers']}" if after["consumers"] != before["consumers"] else "")
    return caption(figure, f"{title(d['shape'])}, to scale: query tiles in the order in which the kernels start them; {d['multiprocessors']} SMs, every ninth drawn, one block at a time. v3f: a block each, the next one on the SM that is free first. v3h: assigned to blocks that stay. "
                           f"Length: consumers × cost × share of the keys that it sees ({cost}). The darker, the more keys. "
                   f"The whole step, blocks that stay too, measured: {before['us']:.1f} → {after['us']:.1f} µs. {d['source']}.")


START = 56_000  # keys: where the panels of `draws` begin


def data_draws(r):
    static, dynamic = r.orders["v3j-long"], r.orders["v3k-long"]
    n, first = int(r.bench["multiprocessors"]), dynamic["events"][0]["tile"]
    bunch = next(i for i, tile in enumerate(dynamic["events"]) if tile["tile"] != first)  # it begins with the longest tile of each of its heads
    ways = [("v3j: head by head, assigned", static, ALWAYS), ("the same order, drawn", static, 2), (f"v3k: bunches of {bunch} heads, drawn", dynamic, 2)]
    return {"shape": static["shape"], "multiprocessors": n, "mean": sum(tile["keys"] for tile in static["events"]) / n, "longest": max(tile["keys"] for tile in static["events"]),
            "ways": [{"name": name, "bars": [bar for bar in ends(order, n, dealt) if bar[2] > START]} for name, order, dealt in ways]}


@figure("draws", data_draws, lambda r: "v3k-long" in r.orders)
def draw_draws(plt, d):
    figure, rows = subplots(plt, (WIDTH, 4.6), 3, 1, sharex=True, left=0.07, right=0.985, top=0.94, bottom=0.2, hspace=0.38)
    for axes, way in zip(rows, d["ways"]):
        last = draw_end(plt, axes, way["bars"], 6, 0, d["longest"], d["multiprocessors"], 1000)
        axes.text(last + 0.1, 66, f"{1000 * last:,.0f}:\n{1000 * last / d['mean']:.3f} times\nthe mean", fontsize=8.5, ha="left", va="center", weight="bold")
        axes.text(START / 1000, -8, way["name"], fontsize=9, ha="left", va="bottom")
        axes.set(xlim=(START / 1000, 72.5), ylim=(d["multiprocessors"], -3))  # the first bar is that of multiprocessor 0, around its place
    rows[-1].set_xlabel("keys computed by an SM since the launch, thousands", fontsize=8.5)
    return caption(figure, f"The end of a launch on {d['shape']}, to scale, if every key takes the same time: every sixth of {d['multiprocessors']} SMs, one bar per query tile, the darker the longer. White at the right: idle. Dashed: the last one ends. The axis begins at {START // 1000} thousand.")
