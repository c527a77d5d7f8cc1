"""The floors of one kernel, v2d on the short shape, each with the work that it comes from: the primer's first picture."""
from .floors import SHAPES, UNITS, measured
from .registry import figure
from .results import short, title
from .style import BLACK, WIDTH, caption, subplots


def data_v2d(r):
    shape = SHAPES[0]
    stage, counts = next((stage, shapes[shape]) for stage, shapes in r.counted["stages"].items() if short(stage) == "v2d" and shape in shapes)
    totals = counts["totals"]
    return {"source": r.source(), "shape": shape, "blocks": counts["blocks"], "measured": measured(r, stage, shape), "executed": r.profile(stage, shape)["metrics"]["smsp__inst_executed.sum"], "roofs": {roof["name"]: roof["us"] for roof in counts["floor"]["roofs"]},
            "work": {"shared memory": [sum(kind["wavefronts"] for kind in totals.values()), "accesses (wavefronts)"], "tensor cores": [totals["mma"]["instructions"], "products (mma.sync)"],
                     "exponentials": [32 * totals["exponential"]["instructions"], "exponentials"], "L2": [32 * sum(kind["sectors"] for kind in totals.values()), "bytes"]}}


SLOTS_PER_US = 4 * 1980  # of one SM: four schedulers, and the clock of checks/counters/floor.hpp


@figure("floors-v2d", data_v2d, lambda r: r.counted)
def draw_v2d(plt, d):
    names = sorted(d["roofs"], key=d["roofs"].get, reverse=True)
    floor = names[0]
    figure, axes = subplots(plt, (WIDTH, 3.9), left=0.17, right=0.985, top=0.98, bottom=0.245)
    axes.barh(0, d["measured"], 0.62, facecolor=BLACK)
    axes.text(d["measured"] - 0.08, 0, f"{d['measured']:.2f} µs", fontsize=10, color="white", weight="bold", ha="right", va="center")
    for y, name in enumerate(names, 1):
        us = d["roofs"][name]
        axes.barh(y, us, 0.62, facecolor=UNITS[name][0] if name == floor else "white", edgecolor=UNITS[name][0], linewidth=1.6)
        work = "instructions, as far as the CPU counts them" if name not in d["work"] else f"{d['work'][name][0]:,} {d['work'][name][1]}"
        axes.text(us + 0.08, y, f"{us:.2f} µs", fontsize=10, weight="bold" if name == floor else "normal", va="center")
        axes.text(max(d["roofs"].values()) + 1.0, y, work, fontsize=9, color="#333333", va="center")
    slots = names.index("issue slots") + 1.72  # under the counted ones, which are the last: the smallest
    all_of_them = d["executed"] / d["blocks"] / SLOTS_PER_US
    axes.barh(slots, all_of_them, 0.42, facecolor="white", edgecolor=UNITS["issue slots"][0], linewidth=1.6, hatch="////")
    axes.text(all_of_them + 0.08, slots, f"{all_of_them:.2f} µs", fontsize=10, va="center")
    axes.text(max(d["roofs"].values()) + 1.0, slots, f"{d['executed']:,} instructions, by Nsight Compute", fontsize=9, color="#333333", va="center")
    axes.annotate("", (d["measured"], 0.55), (d["roofs"][floor], 0.55), arrowprops={"arrowstyle": "<->", "color": BLACK, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0})
    axes.text(d["measured"] + 0.06, 0.55, "above\nthe floor", fontsize=8, va="center", linespacing=1.1)
    axes.set_yticks(range(len(names) + 1), ["measured time", *names], fontsize=10)
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(len(names) + 1.1, -0.5), xlim=(0, d["measured"] + 0.75))
    axes.set_xlabel("µs")
    return caption(figure, f"v2d on {title(d['shape'])}: {d['blocks']} blocks on {d['blocks']} SMs. A bar: the least time that the unit needs for the work beside it, which the CPU counted for all blocks (hatched: the profiler); rates: writeups/counters.md. "
                           f"Measured: median in a replayed CUDA graph. {d['source']}.")
