"""Where the time of one launch goes: what each block has done after how many clocks."""
from .results import short, title
from .style import GRID, HATCHES, LIGHT, WIDTH, caption

# What each stretch is the end of: waiting for bytes, the tensor cores, the exponentials, or the blocks' talk.
KINDS = {"Q is there": "bytes", "K of tile 0 is there, its product begun": "bytes", "K of tile 1 is there, its product begun": "bytes",
         "scores of tile 0": "products", "scores of tile 1": "products", "O": "products", "weights of tile 0": "exponentials",
         "weights of tile 1": "exponentials", "P V of tile 0 is issued": "products", "P V of tile 1 is issued": "products", "sent to the other block": "merge", "received from it": "merge"}
LOOK = {"bytes": (LIGHT[0], HATCHES[0]), "products": (LIGHT[2], HATCHES[1]), "exponentials": (LIGHT[1], HATCHES[2]), "merge": (LIGHT[3], HATCHES[3]), "other": ("#eeeeee", HATCHES[5])}


def launch_figures(r):
    return {f"launch-{short(t['stage'])}": (t, draw_launch) for t in r.phases}


def draw_launch(plt, d):
    figure, axes = plt.subplots(figsize=(WIDTH, 5.0))
    figure.subplots_adjust(left=0.36, right=0.97, top=0.9, bottom=0.235)
    begin = 0
    for y, phase in enumerate(d["phases"]):
        colour, hatch = LOOK[KINDS.get(phase["name"], "other")]
        axes.barh(y, phase["median"] - begin, left=begin, height=0.72, facecolor=colour, hatch=hatch, edgecolor="#555555", linewidth=0.8)
        axes.plot([phase["p10"], phase["p90"]], [y, y], color="black", linewidth=1)
        axes.text(phase["p90"] + 60, y, f"{phase['median']}", va="center", fontsize=8)
        begin = phase["median"]
    axes.set_yticks(range(len(d["phases"])), [phase["name"] for phase in d["phases"]])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.08 * d["phases"][-1]["p90"])
    axes.set_xlabel("clocks since the block began")
    axes.grid(True, axis="x", **GRID)
    axes.set_axisbelow(True)
    above = axes.secondary_xaxis("top", functions=(lambda x: x / d["clock_mhz"], lambda x: x * d["clock_mhz"]))
    above.set_xlabel(f"µs at {d['clock_mhz']} MHz")
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=LOOK[k][0], hatch=LOOK[k][1], edgecolor="#555555", label=k) for k in LOOK]
    axes.legend(handles=handles, fontsize=8, loc="upper right", title="a stretch ends in", title_fontsize=8)
    caption(figure, f"{d['stage']} on {title(d['shape'])}: what thread 0 of a block has done after how many clocks; median of 128 blocks in eight launches, the line from the 10th to the "
                    f"90th percentile. To read the clock costs a few of them. Start and end of the launch itself lie outside. {d['gpu']}, driver {d['driver']}, CUDA {d['cuda']}, {d['date'][:10]}; {d['command']}.")
    return figure
