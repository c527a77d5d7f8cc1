"""Two runs with different warm-ups: which of the four times may be divided."""
from .registry import figure
from .results import medians, short, title
from .style import BLUE, GREY, VERMILION, WIDTH, caption, subplots

SHAPE, PEER, STAGE = "2,8,2048,128", "fa3", "v3j_shorter_loop"
RUNS = ["run A: 200 ms of warm-up", "run B: 20 ms of warm-up"]  # as `lab bench` and peers.py do, without quick=1 and with it


def data_paired(r):
    thorough, quick = medians(r.ahead), r.sweep["shapes"][SHAPE]
    return {"shape": SHAPE, "sources": [r.source(r.ahead), r.source(r.sweep)], "runs": [[thorough[PEER, SHAPE], thorough[STAGE, SHAPE]], [quick[PEER], quick[STAGE]]]}


@figure("paired", data_paired, lambda r: r.ahead and r.sweep)
def draw_paired(plt, d):
    figure, times = subplots(plt, (WIDTH, 3.3), left=0.085, right=0.985, top=0.9, bottom=0.2)
    (peer, stage), (peer2, stage2) = d["runs"]
    for values, name, colour, mark in (((peer, peer2), "FlashAttention-3", VERMILION, "D"), ((stage, stage2), short(STAGE), BLUE, "o")):
        times.plot([0, 1], values, color=colour, marker=mark, markersize=9, linestyle="", zorder=3)
        times.text(-0.06, values[0], f"{name}: {values[0]:.2f}", fontsize=9.5, ha="right", va="center", color=colour, weight="bold")
        times.text(1.06, values[1], f"{values[1]:.2f}", fontsize=9.5, ha="left", va="center", color=colour, weight="bold")
    arrows = [((0, peer), (0, stage), True), ((1, peer2), (1, stage2), True), ((0, peer), (1, stage2), False), ((1, peer2), (0, stage), False)]
    for (x, y), (x2, y2), fair in arrows:
        times.annotate("", (x2, y2), (x, y), arrowprops={"arrowstyle": "-|>", "color": "black" if fair else GREY, "linewidth": 2 if fair else 1.2, "linestyle": "-" if fair else "--", "shrinkA": 7, "shrinkB": 7})
        if fair:
            times.text(x + (0.05 if x else -0.05), (y + y2) / 2, f"{y / y2:.2f}", fontsize=10, ha="left" if x else "right", va="center", weight="bold")
        else:  # left of the point where the arrows cross
            at = 0.3 if x == 0 else 0.7
            times.text(x + (x2 - x) * at, y + (y2 - y) * at, f"{y / y2:.2f}  no", fontsize=9.5, ha="center", va="center", color="#555555", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})
    lowest, highest = min(stage, stage2), max(peer, peer2)
    times.set(xlim=(-0.75, 1.45), ylim=(lowest - 0.12 * (highest - lowest), highest + 0.12 * (highest - lowest)), ylabel="µs per call")
    times.set_xticks([0, 1], RUNS, fontsize=9.5)
    times.set_title(f"{title(d['shape'])}: FlashAttention-3's time over {short(STAGE)}'s", fontsize=9.5, loc="left")
    first, second = d["sources"]
    return caption(figure, f"Medians. The axis does not begin at 0. {first}" + ("." if first == second else f" (A); {second} (B)."))
