"""Two rounds of one run: which of the four times may be divided."""
from .registry import figure
from .results import short, title
from .style import BLUE, GREY, VERMILION, WIDTH, caption, subplots

SHAPE, PEER, STAGE = "4,16,8192,128,causal", "fa3", "v3k_dynamic"


def data_paired(r):
    rounds = {(c["program"], c["shape"]): c["figures"]["graph"]["rounds"] for c in r.ahead["cases"]}
    both = zip(rounds[PEER, SHAPE], rounds[STAGE, SHAPE])
    return {"shape": SHAPE, "source": r.source(r.ahead), "rounds": [[one["median"] for one in pair] for pair in both]}


@figure("paired", data_paired, lambda r: r.ahead)
def draw_paired(plt, d):
    figure, times = subplots(plt, (WIDTH, 3.3), left=0.085, right=0.985, top=0.9, bottom=0.2)
    (peer, stage), (peer2, stage2) = d["rounds"]
    for values, name, colour, mark in (((peer, peer2), "FlashAttention-3", VERMILION, "D"), ((stage, stage2), short(STAGE), BLUE, "o")):
        times.plot([0, 1], values, color=colour, marker=mark, markersize=9, linestyle="", zorder=3)
        times.text(-0.06, values[0], f"{name}: {values[0]:.0f}", fontsize=9.5, ha="right", va="center", color=colour, weight="bold")
        times.text(1.06, values[1], f"{values[1]:.0f}", fontsize=9.5, ha="left", va="center", color=colour, weight="bold")
    arrows = [((0, peer), (0, stage), True), ((1, peer2), (1, stage2), True), ((0, peer), (1, stage2), False), ((1, peer2), (0, stage), False)]
    for (x, y), (x2, y2), fair in arrows:
        times.annotate("", (x2, y2), (x, y), arrowprops={"arrowstyle": "-|>", "color": "black" if fair else GREY, "linewidth": 2 if fair else 1.2, "linestyle": "-" if fair else "--", "shrinkA": 7, "shrinkB": 7})
        if fair:
            times.text(x + (0.05 if x else -0.05), (y + y2) / 2, f"{y / y2:.2f}", fontsize=10, ha="left" if x else "right", va="center", weight="bold")
        else:  # a quarter of the way, where the arrows do not cross
            times.text(x + (x2 - x) / 4, y + (y2 - y) / 4, f"{y / y2:.2f}  no", fontsize=9.5, ha="center", va="center", color="#555555", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})
    times.set(xlim=(-0.75, 1.45), ylim=(min(stage, stage2) - 25, max(peer, peer2) + 25), ylabel="µs per call")
    times.set_xticks([0, 1], ["round 1", "round 2"], fontsize=9.5)
    times.set_title(f"{title(d['shape'])}: FlashAttention-3's time over {short(STAGE)}'s", fontsize=9.5, loc="left")
    return caption(figure, f"Medians of a round. The axis does not begin at 0. {d['source']}.")
