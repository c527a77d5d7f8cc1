"""What each stage takes, and what each unit of the machine needs for it at least, by the CPU execution's counts."""
from .results import short, title
from .style import BLACK, BLUE, GREEN, GREY, GRID, ORANGE, PURPLE, VERMILION, WIDTH, caption

SHAPES = ["1,8,512,64", "2,8,2048,64"]
SIX = ["v1", "v2b", "v2c6", "v2d", "v3b", "v3j"]  # for the primer: every stage is too many to read the markers
GUESSED = {"v1", "v2b", "v2c3", "v2c5"}  # nvcc leaves out loads that the source has: writeups/counters.md#the-floor
UNITS = {"issue slots": (BLUE, "^"), "shared memory": (VERMILION, "s"), "exponentials": (GREEN, "D"), "tensor cores": (PURPLE, "v"), "L2": (ORANGE, "P")}


def measured(r, stage, shape):
    """None where no run has this kernel."""
    for run in (r.small, r.bench):
        for case in run["cases"] if run else []:
            if case["program"] == stage and case["shape"] == shape and case["status"] == "ok":
                return case["figures"]["graph"]["median"]
    return None


def data_floors(r, only=None):
    return {"source": r.source(), "floors": {shape: [[stage, measured(r, stage, shape), {roof["name"]: roof["us"] for roof in shapes[shape]["floor"]["roofs"]}]
                                                     for stage, shapes in r.counted["stages"].items() if shape in shapes and (only is None or short(stage) in only)] for shape in SHAPES}}


def apart(values, few):
    """How far each mark leaves its row's line, so that marks of nearly the same value do not hide each other. 0 where rows are many."""
    order, up = sorted(range(len(values)), key=lambda i: values[i]), [0.0] * len(values)
    group = []
    for i in order:
        if few and group and values[i] < 1.2 * values[group[-1]]:
            group.append(i)
        else:
            group = [i]
        for place, j in enumerate(group):
            up[j] = 0.21 * (place - (len(group) - 1) / 2) if len(group) > 1 else 0.0
    return up


def draw_floors(plt, d):
    below, rows = 1.48, max(map(len, d["floors"].values()))
    few = rows <= len(SIX)
    high = 2 + (0.46 if few else 0.25) * rows
    figure, panels = plt.subplots(1, 2, figsize=(WIDTH, high))
    figure.subplots_adjust(left=0.06, right=0.985, top=1 - 0.5 / high, bottom=below / high, wspace=0.19)
    for axes, (shape, stages) in zip(panels, d["floors"].items()):
        for y, (stage, time, roofs) in enumerate(stages):
            least = max(roofs.values())
            if few and y % 2:
                axes.axhspan(y - 0.5, y + 0.5, color="#f4f4f4", zorder=0)
            if time:
                axes.plot([least, time], [y, y], color=GREY, linewidth=1.2, zorder=1)
                axes.plot([time], [y], marker="o", markersize=7, color=BLACK, linestyle="")
                axes.text(time * 1.3, y, f"{'≈ ' if short(stage) in GUESSED else ''}{100 * least / time:.0f} %", fontsize=7, va="center")
            for (name, us), up in zip(roofs.items(), apart(list(roofs.values()), few)):
                colour, marker = UNITS[name]
                axes.plot([us], [y + up], marker=marker, markersize=6, color=colour, markerfacecolor=colour if us == least else "none", linestyle="")
        every = [us for _, time, roofs in stages for us in [*roofs.values(), time or 0] if us > 0]
        axes.set_xscale("log")
        axes.set_xlim(0.7 * min(every), 3.4 * max(every))
        ticks = [t for t in (0.1, 1, 3, 10, 30, 100, 300) if 0.7 * min(every) < t < 2.2 * max(every)]
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
        axes.set_yticks(range(len(stages)), [short(s) + (" *" if short(s) in GUESSED else "") for s, *_ in stages], fontsize=8)
        axes.set_ylim(len(stages) - 0.4, -0.7)
        axes.set_xlabel("µs (log)")
        axes.set_title(title(shape), fontsize=10)
        axes.grid(True, axis="x", **GRID)
    marks = [plt.Line2D([], [], color=BLACK, marker="o", markersize=7, linestyle="", label="measured")]
    marks += [plt.Line2D([], [], color=colour, marker=marker, markersize=6, linestyle="", label=name) for name, (colour, marker) in UNITS.items()]
    figure.legend(handles=marks, ncol=6, fontsize=7.5, columnspacing=1.2, handletextpad=0.3, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.72 / high))
    caption(figure, "The least time that each unit of an H200 needs for what the CPU execution counted (writeups/counters.md says at which rates), and the time measured. Filled: the unit that needs most, the floor; "
                    "no kernel with these counts is faster. * A guess and no bound: nvcc leaves out some of the counted loads. Issue slots: of what is counted, which leaves out sums and indices. The grey line up to the measured time is what latencies, waits, sums and indices take; the number says how much of the time the floor is. "
                    f"Measured: medians in a replayed CUDA graph. {d['source']}, and small-*.json for what it has.")
    return figure


def floor_figures(r):
    return {"floors": (data_floors(r), draw_floors), "floors-six": (data_floors(r, SIX), draw_floors)} if r.counted else {}
