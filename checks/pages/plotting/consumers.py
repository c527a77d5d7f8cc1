"""The query tiles of one shape on the SMs, for two numbers of consumers, as v3h's launcher counts them, and the times of copies that always take so many (h100-consumers.txt)."""
import re
from math import ceil

from .registry import figure
from .results import RESULTS, Unusable, title
from .schedule import GROUP_ROWS, costs
from .style import BLACK, LIGHT, WIDTH, box, caption, subplots

SHAPE, WAYS = "2,8,2048,64", (3, 4)
EVERY = 22  # all SMs would be hairlines
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
    B, H, S, _ = map(int, SHAPE.split(","))
    return {"shape": SHAPE, "multiprocessors": n, "ways": [{"consumers": g, "cost": cost[g], "tiles": ceil(S / (GROUP_ROWS * g)) * B * H, "counted": counted(SHAPE, g, cost[g], n), "us": measured(text, SHAPE, g)} for g in WAYS]}


@figure("consumers", data_consumers, lambda r: TIMES.exists())
def draw_consumers(plt, d):
    figure, rows = subplots(plt, (WIDTH, 3.9), 2, 1, sharex=True, left=0.085, right=0.985, top=0.93, bottom=0.2, hspace=0.3)
    n, most = d["multiprocessors"], max(way["counted"] for way in d["ways"])
    for axes, way, face in zip(rows, d["ways"], (LIGHT[0], LIGHT[2])):
        length, drawn = way["consumers"] * way["cost"], range(0, n, EVERY)
        for y, m in enumerate(drawn):
            for wave in range(ceil(way["tiles"] / n)):
                if wave * n + m < way["tiles"]:
                    box(axes, wave * length, y + 0.06, length, 0.88, f"{GROUP_ROWS * way['consumers']} rows" if y == 0 else "", 8, facecolor=face)
        axes.axvline(way["counted"], color=BLACK, linewidth=1.2, linestyle="--")
        room = way["counted"] < 0.9 * most
        axes.text(way["counted"] + (0.05 if room else -0.05), len(drawn) / 2 + 1, f"counted {way['counted']:.3g}\nmeasured {way['us']:.1f} µs", fontsize=9.5, weight="bold", ha="left" if room else "right", va="center")
        axes.set_title(f"{way['consumers']} consumers: {way['tiles']} query tiles on {n} SMs", fontsize=9.5, loc="left")
        axes.set(ylim=(len(drawn), 0), xlim=(0, 1.01 * most))
        axes.set_yticks([0.5, len(drawn) - 0.5], [f"SM {drawn[0]}", f"SM {drawn[-1]}"], fontsize=8.5)
        axes.tick_params(axis="x", labelsize=8.5)
    rows[-1].set_xlabel("work: 64 rows with all keys = 1, times the cost", fontsize=8.5)
    return caption(figure, f"{title(d['shape'])}, counted and drawn to scale, every {EVERY}nd SM. One box: one query tile. White: no work. Measured: copies of v3h that always take so many consumers, on an H100, 2026-11-26 "
                           "(writeups/results/h100-consumers.txt).")
