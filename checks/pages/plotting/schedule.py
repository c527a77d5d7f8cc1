"""Which multiprocessor runs which query tile, and when: a block each, started as soon as one is free, or dealt out to blocks that stay (`lab order`)."""
import re

from .heads import ROOT
from .registry import figure
from .results import Unusable, short, title
from .style import BLACK, WIDTH, caption, subplots

GROUP_ROWS = 64  # of a consumer warpgroup


def costs(stage):
    """The launcher's cost of 64 rows with all keys, by the number of consumers in the block."""
    found = re.search(r"COST\[\] = \{([^}]*)\}", (ROOT / "stages" / stage / "kernel.cu").read_text())
    if not found:
        raise Unusable(f"{stage}'s launcher has no COST")
    return [float(x) for x in found[1].split(",")]


def scheduled(order, cost, multiprocessors, S, stays):
    """[multiprocessor, begin, end, keys] of each query tile: the next one goes to the multiprocessor that is free first, or to and fro."""
    consumers = int(order["rows per block"]) // GROUP_ROWS
    free = {m: 0.0 for m in range(multiprocessors)}
    bars = []
    for i, block in enumerate(order["events"]):
        turn, place = divmod(i, multiprocessors)
        m = (place if turn % 2 == 0 else multiprocessors - 1 - place) if stays else min(free, key=lambda m: (free[m], m))
        begin = free[m]
        free[m] = round(begin + consumers * cost[consumers] * block["keys"] / S, 6)
        bars.append([m, begin, free[m], block["keys"]])
    return {"stage": order["stage"], "consumers": consumers, "cost": cost[consumers], "bars": bars}


def data_schedule(r, shape):
    after = next(o for o in r.orders.values() if short(o["stage"]) == "v3h")["stage"]
    multiprocessors = int(r.bench["multiprocessors"])
    panels = []
    for order in r.orders.values():
        if order["shape"] == title(shape):
            one = scheduled(order, costs(after), multiprocessors, 2048, order["stage"] == after)
            panels.append(one | {"us": r.time(one["stage"], shape)})
    return {"multiprocessors": multiprocessors, "date": r.bench["date"][:10], "shape": shape, "panels": sorted(panels, key=lambda p: p["stage"])}


@figure("schedule", lambda r: data_schedule(r, "2,8,2048,64,causal"))
def draw_schedule(plt, d):
    figure, rows = subplots(plt, (WIDTH, 4.9), 2, 1, sharex=True, left=0.07, right=0.985, top=0.945, bottom=0.225, hspace=0.26)
    shades = plt.get_cmap("Blues")
    most, last_to_end = max((bar[2], bar[0]) for one in d["panels"] for bar in one["bars"])
    every = 9  # all 132 would be hairlines; the last to end is among those that are drawn
    for axes, one in zip(rows, d["panels"]):
        length = max(bar[3] for bar in one["bars"])
        drawn = [bar for bar in one["bars"] if bar[0] % every == last_to_end % every]
        for m, count, begin, end, keys in [[m - every // 2, 0.8 * every, begin, end, keys] for m, begin, end, keys in drawn]:
            axes.add_patch(plt.Rectangle((begin, m), end - begin, count, facecolor=shades(0.12 + 0.68 * keys / length), edgecolor="#666666", linewidth=0.25))
        last = max(bar[2] for bar in one["bars"])
        axes.axvline(last, color=BLACK, linewidth=1.2, linestyle="--")
        room = most - last > 0.2 * most  # to the right of the line
        axes.text(last + (0.01 * most if room else 0), 66 if room else -3, f"ends at {last:.2f}", fontsize=9, ha="left" if room else "right", va="center" if room else "bottom", weight="bold")
        axes.set(xlim=(0, 1.01 * most), ylim=(d["multiprocessors"], 0))
        axes.set_yticks([0, 66, 132])
        axes.tick_params(labelsize=8)
        axes.text(0, -3, f"{short(one['stage'])}: {len(one['bars'])} query tiles of {one['consumers']} consumers" + f", on every {every}th multiprocessor" + (", longest first, to and fro" if one is d["panels"][-1] else ""), fontsize=9, ha="left", va="bottom")
        axes.set_ylabel("multiprocessor", fontsize=8.5)
    rows[-1].set_xlabel("work: 64 rows with all keys = 1, times the cost", fontsize=8.5)
    before, after = d["panels"]
    cost = f"cost {before['cost']:g} for {before['consumers']} consumers" + (f", {after['cost']:g} for {after['consumers']}" if after["consumers"] != before["consumers"] else "")
    return caption(figure, f"{title(d['shape'])}, to scale: query tiles in the order in which the kernels start them; {d['multiprocessors']} multiprocessors, every ninth drawn, one block at a time. v3f: a block each, the next one on the multiprocessor that is free first. v3h: dealt out to blocks that stay. "
                           f"Length: consumers × cost × share of the keys that it sees ({cost}). The darker, the more keys. "
                   f"The whole step, blocks that stay too, measured: {before['us']:.1f} → {after['us']:.1f} µs, NVIDIA H200, {d['date']}.")


def ends(order, multiprocessors, dealt):
    """[multiprocessor, begin, end, keys] of each query tile: `dealt` rounds to and fro, then each to the multiprocessor that is free first."""
    free, bars = {m: 0 for m in range(multiprocessors)}, []
    for i, tile in enumerate(order["events"]):
        turn, place = divmod(i, multiprocessors)
        m = (place if turn % 2 == 0 else multiprocessors - 1 - place) if turn < dealt else min(free, key=lambda m: (free[m], m))
        bars.append([m, free[m], free[m] + tile["keys"], tile["keys"]])
        free[m] += tile["keys"]
    return bars


def data_draws(r):
    n, always = int(r.bench["multiprocessors"]), 10**6
    static, dynamic = r.orders["v3j-long"], r.orders["v3k-long"]
    ways = [("v3j: head by head, dealt out", static, always), ("the same order, drawn", static, 2), ("v3k: bunches of 8 heads, drawn", dynamic, 2)]
    return {"shape": static["shape"], "multiprocessors": n, "mean": sum(tile["keys"] for tile in static["events"]) / n,
            "ways": [{"name": name, "bars": [bar for bar in ends(order, n, dealt) if bar[2] > 56000]} for name, order, dealt in ways]}


@figure("draws", data_draws, lambda r: "v3k-long" in r.orders)
def draw_draws(plt, d):
    figure, rows = subplots(plt, (WIDTH, 4.6), 3, 1, sharex=True, left=0.07, right=0.985, top=0.94, bottom=0.2, hspace=0.38)
    shades, every = plt.get_cmap("Blues"), 6
    for axes, way in zip(rows, d["ways"]):
        for m, begin, end, keys in way["bars"]:
            if m % every == 0:
                axes.add_patch(plt.Rectangle((begin / 1000, m), (end - begin) / 1000, 0.8 * every, facecolor=shades(0.12 + 0.68 * keys / 8192), edgecolor="#666666", linewidth=0.25))
        last = max(bar[2] for bar in way["bars"])
        axes.axvline(last / 1000, color=BLACK, linewidth=1.2, linestyle="--")
        axes.text(last / 1000 + 0.1, 66, f"{last:,}:\n{last / d['mean']:.3f} times\nthe mean", fontsize=8.5, ha="left", va="center", weight="bold")
        axes.text(56, -5, way["name"], fontsize=9, ha="left", va="bottom")
        axes.set(xlim=(56, 72.5), ylim=(d["multiprocessors"], 0))
        axes.set_yticks([0, 66, 132])
        axes.tick_params(labelsize=8)
        axes.set_ylabel("multiprocessor", fontsize=8.5)
    rows[-1].set_xlabel("keys computed by a multiprocessor since the launch, thousands", fontsize=8.5)
    return caption(figure, f"The end of a launch on {d['shape']}, to scale, if every key takes the same time: every sixth of {d['multiprocessors']} multiprocessors, one bar per query tile, the darker the longer. White at the right: idle. Dashed: the last one ends.")
