"""Which multiprocessor runs which query tile, and when: a block each, started as soon as one is free, or dealt out to blocks that stay (`lab order`)."""
import re

from .heads import ROOT
from .registry import figure
from .results import Unusable, short, title
from .style import BLACK, LIGHT, WIDTH, caption, subplots

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


def data_schedule(r):
    after = next(o for o in r.orders.values() if short(o["stage"]) == "v3h")["stage"]
    multiprocessors = int(r.bench["multiprocessors"])
    columns = []
    for mask in ("", ",causal"):
        shape = "2,8,2048,64" + mask
        panels = []
        for order in r.orders.values():
            if order["shape"] == title(shape):
                one = scheduled(order, costs(after), multiprocessors, 2048, order["stage"] == after)
                panels.append(one | {"us": r.time(one["stage"], shape)})
        columns.append({"shape": shape, "panels": sorted(panels, key=lambda p: p["stage"])})
    return {"multiprocessors": multiprocessors, "date": r.bench["date"][:10], "columns": columns}


def runs(bars):
    """Neighbouring multiprocessors with the same bar, as one: [first, count, begin, end, keys]."""
    merged = []
    for m, begin, end, keys in sorted(bars, key=lambda b: (b[1], b[2], b[3], b[0])):
        if merged and merged[-1][2:] == [begin, end, keys] and merged[-1][0] + merged[-1][1] == m:
            merged[-1][1] += 1
        else:
            merged.append([m, 1, begin, end, keys])
    return merged


@figure("schedule", data_schedule)
def draw_schedule(plt, d):
    figure, rows = subplots(plt, (WIDTH, 5.5), 2, 2, sharex="col", left=0.065, right=0.985, top=0.885, bottom=0.19, wspace=0.1, hspace=0.24)
    shades = plt.get_cmap("Blues")
    for column, panels in zip(d["columns"], zip(*rows)):
        most = max(bar[2] for one in column["panels"] for bar in one["bars"])
        for axes, one in zip(panels, column["panels"]):
            length = max(bar[3] for bar in one["bars"])
            for m, count, begin, end, keys in runs(one["bars"]):
                face = (LIGHT[0] if begin == 0 else LIGHT[4]) if ",causal" not in column["shape"] else shades(0.12 + 0.68 * keys / length)
                axes.add_patch(plt.Rectangle((begin, m), end - begin, count, facecolor=face, edgecolor="#666666", linewidth=0.25, hatch="" if begin == 0 or ",causal" in column["shape"] else "////"))
            last = max(bar[2] for bar in one["bars"])
            axes.axvline(last, color=BLACK, linewidth=1.2, linestyle="--")
            room = most - last > 0.2 * most  # to the right of the line
            axes.text(last + (0.02 * most if room else 0), 66 if room else -3, f"ends at\n{last:.2f}" if room else f"ends at {last:.2f}", fontsize=8, ha="left" if room else "right", va="center" if room else "bottom", weight="bold")
            axes.set(xlim=(0, 1.02 * most), ylim=(d["multiprocessors"], 0))
            axes.set_yticks([0, 66, 132])
            axes.tick_params(labelsize=8)
            axes.text(0, -3, f"{short(one['stage'])}: {len(one['bars'])} query tiles of {one['consumers']} consumers", fontsize=8.5, ha="left", va="bottom")
        panels[0].set_title(title(column["shape"]), fontsize=9.5, loc="left", pad=20, weight="bold")
        panels[-1].set_xlabel("work: 64 rows with all keys = 1, times the cost", fontsize=8.5)
    for axes in rows[:, 0]:
        axes.set_ylabel("multiprocessor", fontsize=8.5)
    return caption(figure, f"To scale: query tiles in the order in which the kernels start them; {d['multiprocessors']} multiprocessors, one block at a time. v3f: a block each, the next one on the multiprocessor that is free first. v3h: dealt out to and fro. "
                           f"Length: consumers × cost × share of the keys that it sees (cost {d['columns'][0]['panels'][0]['cost']:g} for 2 consumers, {d['columns'][0]['panels'][1]['cost']:g} for 4). "
                           f"Left: plain is the first round, hatched the second. Right: the darker, the more keys. " +
                   "; ".join(f"measured on {title(c['shape'])}: {c['panels'][0]['us']:.1f} → {c['panels'][1]['us']:.1f} µs" for c in d["columns"]).capitalize() + f", NVIDIA H200, {d['date']}.")
