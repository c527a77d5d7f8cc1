"""Two rounds of one run: the times move from round to round, the ratio inside a round hardly does."""
from .registry import figure
from .results import FASTEST, RIVALS, fastest, medians, short, title
from .style import BLACK, BLUE, GREY, VERMILION, WIDTH, caption, ranked, subplots

SHAPE, PEER, STAGE = "4,16,8192,128,causal", "fa3", "v3k_dynamic"


def data_paired(r):
    rounds = {(c["program"], c["shape"]): c["figures"]["graph"]["rounds"] for c in r.ahead["cases"]}
    times = medians(r.ahead)
    ratios = []
    for shape in dict.fromkeys(c["shape"] for c in r.ahead["cases"]):
        peer, stage = fastest(times, RIVALS, shape), fastest(times, FASTEST, shape)
        ratios.append([shape, [a["median"] / b["median"] for a, b in zip(rounds[peer, shape], rounds[stage, shape])]])
    both = zip(rounds[PEER, SHAPE], rounds[STAGE, SHAPE])
    return {"shape": SHAPE, "source": r.source(r.ahead), "rounds": [[{key: one[key] for key in ("median", "p10", "p90")} for one in pair] for pair in both], "ratios": ratios}


@figure("paired", data_paired, lambda r: r.ahead)
def draw_paired(plt, d):
    figure, (times, ratios) = subplots(plt, (WIDTH, 3.4), 1, 2, left=0.065, right=0.985, top=0.9, bottom=0.25, wspace=0.62, gridspec_kw={"width_ratios": [1, 1]})
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
    ranked(ratios, [title(shape) for shape, _ in d["ratios"]])
    for y, (shape, (first, second)) in enumerate(d["ratios"]):
        ratios.plot([first, second], [y, y], color=BLACK if shape == d["shape"] else GREY, linewidth=1.2)
        ratios.plot([first], [y], marker="o", markersize=6.5, color=BLACK, markerfacecolor="white", linestyle="", label="round 1" if not y else None)
        ratios.plot([second], [y], marker="o", markersize=6.5, color=BLACK, linestyle="", label="round 2" if not y else None)
    ratios.legend(fontsize=8, loc="center right", frameon=False)
    times.set(xlim=(-1.15, 1.5), ylim=(1570, 1800), title=f"time, µs: {title(d['shape'])}")
    ratios.set(xlim=(1.0, 1.85), title="best peer's time over the stage's, by round")
    times.set_xticks(range(len(d["rounds"])), [f"round {i + 1}" for i in range(len(d["rounds"]))], fontsize=9)
    for axes in (times, ratios):
        axes.title.set_fontsize(9)
    return caption(figure, f"Medians of a round; left, the thick line goes from the 10th to the 90th percentile of its samples. The time axis does not begin at 0. {d['source']}.")
