"""v3h's work of an SM for 1 to 4 consumers, as its launcher counts it, beside the times of copies that always take so many (h100-consumers.txt)."""
import re
from math import ceil

from .registry import figure
from .results import RESULTS, Unusable, title
from .schedule import GROUP_ROWS, costs
from .style import BLACK, BLUE, WIDTH, caption, subplots

SHAPES = "2,8,2048,64", "4,16,8192,64,causal"
TIMES = RESULTS / "h100-consumers.txt"


def counted(shape, groups, cost, multiprocessors):
    """work_per_sm of common/hopper/tile_choice.cuh."""
    B, H, S, _, *causal = shape.split(",")
    waves = ceil(int(S) / (GROUP_ROWS * groups)) * int(B) * int(H) / multiprocessors
    return groups * cost * (max(waves / 2, 1) if causal else ceil(waves))


def measured(text, shape, groups):
    """Microseconds, the mean over the rounds."""
    heads = re.search(r"^ +1,8,512.*$", text, re.M)
    row = re.search(rf"^v3h, always {groups}\D.*$", text, re.M)
    if not heads or not row:
        raise Unusable(f"{TIMES.name} has no times of v3h, always {groups}")
    column = heads[0].split().index(shape.replace("causal", "c"))
    rounds = re.findall(r"[\d./]+", row[0].split("  ", 1)[1])[column].split("/")
    return sum(map(float, rounds)) / len(rounds)


def data_consumers(r):
    cost, text, n = costs("v3h_persistent"), TIMES.read_text(), int(r.bench["multiprocessors"])
    return {"panels": [{"shape": shape, "counted": [counted(shape, g, cost[g], n) for g in range(1, 5)], "measured": [measured(text, shape, g) for g in range(1, 5)]} for shape in SHAPES]}


@figure("consumers", data_consumers, lambda r: TIMES.exists())
def draw_consumers(plt, d):
    figure, grid = subplots(plt, (WIDTH, 2.9), 1, 2, left=0.05, right=0.99, top=0.91, bottom=0.26, wspace=0.08)
    for axes, panel in zip(grid.flat, d["panels"]):
        for side, (what, face) in enumerate((("counted", "white"), ("measured", BLUE))):
            least = min(panel[what])
            for x, value in enumerate(panel[what]):
                best = value == least
                axes.bar(x + 0.36 * side, value / least, 0.34, facecolor=face, edgecolor=BLACK, linewidth=2 if best else 0.8, label=what if x == 0 else None)
                axes.text(x + 0.36 * side, value / least, f"{value / least:.2f}", fontsize=8, ha="center", va="bottom", weight="bold" if best else "normal")
        axes.set_title(title(panel["shape"]), fontsize=9.5, loc="left")
        axes.set_xticks([x + 0.18 for x in range(4)], ["1 consumer", "2", "3", "4"], fontsize=8.5)
        axes.set(yticks=[], ylim=(0, 1.12 * max(v / min(panel[w]) for w in ("counted", "measured") for v in panel[w])))
    grid.flat[0].set_ylabel("relative to the least", fontsize=8.5)
    grid.flat[1].legend(fontsize=8.5, frameon=False, loc="upper right")
    return caption(figure, "Each panel: counted work of an SM, least = 1, and measured time, least = 1 (bold). Measured: copies of v3h that always take 1, 2, 3 or 4 consumers, on an H100, 2026-11-26 "
                           "(writeups/results/h100-consumers.txt). Counted: work_per_sm with the kernel's costs.")
