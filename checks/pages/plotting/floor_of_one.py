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
            "work": {"shared memory": [sum(kind["wavefronts"] for kind in totals.values()), "accesses of 128 bytes"], "tensor cores": [totals["mma"]["instructions"], "products (mma.sync)"],
                     "exponentials": [32 * totals["exponential"]["instructions"], "exponentials"], "L2": [32 * sum(kind["sectors"] for kind in totals.values()), "bytes"]}}


SLOTS_PER_US = 4 * 1980  # of one SM: four schedulers, and the clock of checks/counters/floor.hpp


@figure("floors-v2d", data_v2d, lambda r: r.counted)
def draw_v2d(plt, d):
    roofs = d["roofs"] | {"issue slots": d["executed"] / d["blocks"] / SLOTS_PER_US}  # the CPU does not count arithmetic: the profiler's instructions
    work = {name: f"{count:,} {kind}" for name, (count, kind) in d["work"].items()} | {"issue slots": f"{d['executed']:,} instructions"}
    names = sorted(roofs, key=roofs.get, reverse=True)
    figure, axes = subplots(plt, (WIDTH, 3.3), left=0.17, right=0.985, top=0.98, bottom=0.26)
    axes.barh(0, d["measured"], 0.62, facecolor=BLACK)
    axes.text(d["measured"] - 0.08, 0, f"{d['measured']:.2f} µs", fontsize=10, color="white", weight="bold", ha="right", va="center")
    for y, name in enumerate(names, 1):
        us, first = roofs[name], name == names[0]
        axes.barh(y, us, 0.62, facecolor=UNITS[name][0] if first else "white", edgecolor=UNITS[name][0], linewidth=1.6)
        axes.text(us + 0.08, y, f"{us:.2f} µs" + (f", {100 * us / d['measured']:.0f} % of the time" if first else ""), fontsize=10, weight="bold" if first else "normal", va="center")
        axes.text(roofs[names[0]] + 2.75, y, work[name], fontsize=9, color="#333333", va="center")
    axes.set_yticks(range(len(names) + 1), ["measured time", *names], fontsize=10)
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(len(names) + 0.6, -0.5), xlim=(0, d["measured"] + 0.75))
    axes.set_xlabel("µs")
    return caption(figure, f"v2d on {title(d['shape'])}: {d['blocks']} blocks on {d['blocks']} SMs. A bar: the work beside it / the unit's rate (writeups/counters.md). The work was counted on the CPU, the instructions by Nsight Compute. "
                           f"Measured: median of calls that one CUDA graph launches. {d['source']}.")
