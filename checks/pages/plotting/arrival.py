"""The start of a block of a cluster: what stands before its requests, with an arrival that is a release and with one that is relaxed."""
from .floors import measured
from .registry import figure
from .results import short, title
from .style import BLACK, LIGHT, VERMILION, arrow, box, canvas

SHAPE = "1,8,512,64"
INIT, REQUEST, SYNC, WAIT, WORK, MERGE = ("initialise\nmbarriers", 0.85, LIGHT[1]), ("request\nQ, K, V", 0.85, LIGHT[4]), ("block\nbarrier", 0.7, "white"), ("wait for\nQ and K", 0.8, LIGHT[5]), ("scores … O", 1.05, LIGHT[0]), ("send,\nmerge", 0.8, LIGHT[2])
FENCE, ARRIVE = ("arrive, release:\na fence for the GPU", 1.5, VERMILION), ("arrive,\nrelaxed", 0.7, "white")
ORDER = {"v4a_split_keys": [INIT, FENCE, SYNC, REQUEST, WAIT, WORK, MERGE], "v4b_no_waiting": [INIT, REQUEST, ARRIVE, SYNC, WAIT, WORK, MERGE]}


def data_arrival(r):
    return {"shape": SHAPE, "us": [[stage, measured(r, stage, SHAPE)] for stage in ORDER], "gpu": r.bench["gpu"]}


@figure("arrival", data_arrival)
def draw_arrival(plt, d):
    """One row per stage, thread 0's steps from left to right; the arrow goes from the arrival to where the other block's is waited for."""
    figure, axes = canvas(plt, 3.05)
    for y, (stage, us) in zip((0.25, 1.65), d["us"]):
        axes.text(0.1, y, f"{short(stage)}: {us:.2f} µs per launch", fontsize=10, weight="bold", va="center")
        x, top, ends = 0.1, y + 0.2, {}
        for step in ORDER[stage]:
            text, width, colour = step
            fence = step is FENCE
            box(axes, x, top, width, 0.5, text, 8.5, pad=1.5 if fence else None, facecolor=LIGHT[1] if fence else colour, hatch="////" if fence else "", edgecolor=colour if fence else BLACK)
            ends[text] = (x, width)
            x += width
        begin, width = ends[(FENCE if FENCE in ORDER[stage] else ARRIVE)[0]]
        tip, tail = ends[MERGE[0]][0] + 0.1, begin + width / 2
        axes.plot([tail, tail, tip], [top + 0.5, top + 0.72, top + 0.72], color=BLACK, linewidth=1)
        arrow(axes, (tip, top + 0.5), (tip, top + 0.73), width=1)
        axes.text((tail + tip) / 2, top + 0.84, "the other block waits for this arrival only here", fontsize=8.5, ha="center", va="center")
    axes.text(0.1, 2.93, f"Steps of thread 0 in their order, not to scale. Times: {title(d['shape'])}, {d['gpu']}, medians in a CUDA graph.", fontsize=7.5, va="center", color="#333333")
    return figure
