"""Two rounds of one run: the times move from round to round, the ratio inside a round hardly does."""
from .registry import figure
from .results import short, title
from .style import BLUE, GREY, VERMILION, WIDTH, caption, subplots

SHAPE, PEER, STAGE = "4,16,8192,128,causal", "fa3", "v3k_dynamic"


def data_paired(r):
    rounds = {c["program"]: c["figures"]["graph"]["rounds"] for c in r.ahead["cases"] if c["shape"] == SHAPE and c["program"] in (PEER, STAGE)}
    return {"shape": SHAPE, "source": r.source(r.ahead), "rounds": [[{key: rounds[program][i][key] for key in ("median", "p10", "p90")} for program in (PEER, STAGE)] for i in range(len(rounds[PEER]))]}


@figure("paired", data_paired, lambda r: r.ahead)
def draw_paired(plt, d):
    figure, (times, ratios) = subplots(plt, (WIDTH, 3.0), 1, 2, left=0.085, right=0.985, top=0.88, bottom=0.27, wspace=0.3, gridspec_kw={"width_ratios": [1.6, 1]})
    names, colours, marks = ("FlashAttention-3", short(STAGE)), (VERMILION, BLUE), ("D", "o")
    for column, (name, colour, mark) in enumerate(zip(names, colours, marks)):
        at = [(i, one[column]) for i, one in enumerate(d["rounds"])]
        times.plot([i for i, _ in at], [one["median"] for _, one in at], color=colour, marker=mark, markersize=7, linestyle="--", linewidth=1)
        for i, one in at:
            times.plot([i, i], [one["p10"], one["p90"]], color=colour, linewidth=2)
            times.text(i + 0.07, one["median"], f"{one['median']:.0f}", fontsize=9, va="bottom", color=colour, weight="bold")
        times.text(-0.07, at[0][1]["median"], name, fontsize=9, ha="right", va="center", color=colour)
    for i, (peer, stage) in enumerate(d["rounds"]):
        times.annotate("", (i, stage["median"] + 8), (i, peer["median"] - 8), arrowprops={"arrowstyle": "<->", "color": GREY, "linewidth": 1.2})
        ratio = peer["median"] / stage["median"]
        ratios.plot([i], [ratio], marker="s", markersize=9, color=GREY)
        ratios.text(i, ratio + 0.012, f"{peer['median']:.0f} / {stage['median']:.0f}\n= {ratio:.3f}", fontsize=9, ha="center", va="bottom")
    times.set(xlim=(-0.95, 1.35), ylim=(1570, 1800), title="time of one call, µs")
    ratios.set(xlim=(-0.6, 1.6), ylim=(1.0, 1.15), title="peer over stage, inside a round")
    for axes in (times, ratios):
        axes.set_xticks(range(len(d["rounds"])), [f"round {i + 1}" for i in range(len(d["rounds"]))], fontsize=9)
        axes.title.set_fontsize(9)
    return caption(figure, f"{title(d['shape'])}: medians of a round; the thick line goes from the 10th to the 90th percentile of its samples. The time axis does not begin at 0. {d['source']}.")
