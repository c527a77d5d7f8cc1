"""Where the time of one launch goes: what each block has done after how many clocks."""
from .floors import measured
from .registry import figure, figures
from .results import short, title
from .style import BLACK, GRID, HATCHES, LIGHT, WIDTH, box, canvas, caption, subplots

# What each stretch is the end of: waiting for bytes, the tensor cores, the exponentials, or the blocks' talk.
KINDS = {"Q is there": "bytes", "K of tile 0 is there, its product begun": "bytes", "K of tile 1 is there, its product begun": "bytes",
         "scores of tile 0": "products", "scores of tile 1": "products", "O": "products", "weights of tile 0": "exponentials",
         "weights of tile 1": "exponentials", "P V of tile 0 is issued": "products", "P V of tile 1 is issued": "products", "sent to the other block": "merge", "received from it": "merge"}
LOOK = {"bytes": (LIGHT[0], HATCHES[0]), "products": (LIGHT[2], HATCHES[1]), "exponentials": (LIGHT[1], HATCHES[2]), "merge": (LIGHT[3], HATCHES[3]), "other": ("#eeeeee", HATCHES[5])}


def data_order(r):
    """How often a launch follows the one before, of the stage whose block was timed and of the one after it, and how long a block runs."""
    timed = r.phases[0]
    stages = [timed["stage"], "v4c_early_launch"]
    B, H, S, _ = map(int, timed["shape"].split(","))
    return {"shape": timed["shape"], "block": timed["phases"][-1]["median"] / timed["clock_mhz"], "clusters": B * H * -(-S // 64), "gpus": [timed["gpu"], r.small["gpu"]], "every": [[stage, measured(r, stage, timed["shape"])] for stage in stages]}


@figure("launch-order", data_order, lambda r: r.phases and r.small)
def draw_order(plt, d):
    """One row per cluster and its two multiprocessors; blocks of launch n end one after the other, the last in the last row."""
    figure, axes = canvas(plt, 4.05)
    left, setup, ends, gap, right = 0.95, 0.75, (3.6, 4.2, 5.0), 0.75, 7.9
    over = ends[-1]
    for y, (stage, every) in zip((0.25, 2.1), d["every"]):
        early = stage != d["every"][0][0]
        axes.text(0.1, y, f"{short(stage)}: a launch every {every:.2f} µs", fontsize=10, weight="bold", va="center")
        for row, end in enumerate(ends):
            top = y + 0.2 + 0.47 * row
            axes.text(0.1, top + 0.19, f"SMs {2 * row}, {2 * row + 1}", fontsize=9, va="center")
            box(axes, left, top, setup, 0.38, "set up", 8.5, facecolor=LIGHT[1])
            box(axes, left + setup, top, end - left - setup, 0.38, "n: requests … store", 8.5, facecolor=LIGHT[0])
            x = end if early else over + gap
            box(axes, x, top, setup, 0.38, "set up", 8.5, facecolor=LIGHT[1])
            x += setup
            if early and x < over + 0.1:
                box(axes, x, top, over + 0.1 - x, 0.38, hatch="////")
            begin = max(x, over + 0.1)
            box(axes, begin, top, right - begin, 0.38, "n + 1: requests …", 8.5, facecolor=LIGHT[4])
        axes.plot([over, over], [y + 0.1, y + 1.62], color=BLACK, linewidth=1.2, linestyle=":", zorder=0.5)
        axes.text(over, y - 0.02, "n has ended", fontsize=8.5, ha="center", va="center")
        if not early:
            axes.text(over + gap / 2, y + 0.86, "grid\nn + 1\nstarts", fontsize=8.5, ha="center", va="center")
    axes.text(0.1, 3.91, f"Hatched: waits for launch n. An order of events, not to scale; a row is the two SMs of one cluster, three of {d['clusters']} clusters are shown.\n"
                         f"{title(d['shape'])}; a block of {short(d['every'][0][0])} runs for {d['block']:.2f} µs ({d['gpus'][0]}); launches: medians in a CUDA graph ({d['gpus'][1]}).", fontsize=7.5, va="center", color="#333333")
    return figure


def draw_launch(plt, d):
    figure, axes = subplots(plt, (WIDTH, 5.0), left=0.36, right=0.97, top=0.9, bottom=0.235)
    begin = 0
    for y, phase in enumerate(d["phases"]):
        colour, hatch = LOOK[KINDS.get(phase["name"], "other")]
        axes.barh(y, phase["median"] - begin, left=begin, height=0.72, facecolor=colour, hatch=hatch, edgecolor="#555555", linewidth=0.8)
        axes.plot([phase["p10"], phase["p90"]], [y, y], color="black", linewidth=1)
        axes.text(phase["p90"] + 60, y, f"{phase['median']}", va="center", fontsize=8)
        begin = phase["median"]
    axes.set_yticks(range(len(d["phases"])), [phase["name"].replace("asked for", "requested") for phase in d["phases"]])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.08 * d["phases"][-1]["p90"])
    axes.set_xlabel("clocks since the block began")
    axes.grid(True, axis="x", **GRID)
    axes.set_axisbelow(True)
    above = axes.secondary_xaxis("top", functions=(lambda x: x / d["clock_mhz"], lambda x: x * d["clock_mhz"]))
    above.set_xlabel(f"µs at {d['clock_mhz']} MHz")
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=LOOK[k][0], hatch=LOOK[k][1], edgecolor="#555555", label=k) for k in LOOK]
    axes.legend(handles=handles, fontsize=8, loc="upper right", title="a stretch ends in", title_fontsize=8)
    return caption(figure, f"{d['stage']} on {title(d['shape'])}: what thread 0 of a block has done after how many clocks; median of 128 blocks in eight launches, the line from the 10th to the "
                           f"90th percentile. To read the clock costs a few of them. Start and end of the launch itself lie outside. {d['gpu']}, driver {d['driver']}, CUDA {d['cuda']}, {d['date'][:10]}; {d['command']}.")


@figures
def launches(r):
    return {f"launch-{short(t['stage'])}": (t, draw_launch) for t in r.phases}
