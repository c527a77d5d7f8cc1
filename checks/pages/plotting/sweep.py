"""The map of a sweep: which stage is the fastest on a shape, and how it stands to the fastest peer there."""
import math

from .registry import figure
from .results import RIVALS, comparable, fastest, short
from .style import BLACK, WIDTH, caption, frameless, subplots

PANELS = [(64, False), (64, True), (128, False), (128, True)]
MOST = 2.0  # the colour's ends: twice as fast, twice as slow


def data_sweep(r):
    cells = []
    for shape, times in r.sweep["shapes"].items():
        B, H, S, D = map(int, shape.split(",")[:4])
        stages, peers = comparable(times), [p for p in RIVALS if p in times]
        if stages and peers:
            stage, peer = fastest(times, stages), fastest(times, peers)
            cells.append([D, shape.endswith("causal"), B * H, S, stage, times[peer] / times[stage]])
    return {"cells": cells, "source": f"{r.sweep_file}, {r.sweep['gpu']}, {r.sweep['date'][:10]}"}


def colour(ratio):
    """Blue ahead, vermilion behind, white level; the text says the same without colour."""
    strength = min(1.0, abs(math.log(ratio)) / math.log(MOST)) * 0.85
    end = (0.0, 0.447, 0.698) if ratio >= 1 else (0.835, 0.369, 0.0)
    return tuple(1 + (e - 1) * strength for e in end), strength > 0.6


@figure("sweep", data_sweep, lambda r: r.sweep)
def draw_sweep(plt, d):
    figure, panels = subplots(plt, (WIDTH, 5.2), 2, 2, left=0.07, right=0.99, top=0.95, bottom=0.15, wspace=0.12, hspace=0.3)
    heads, lengths = sorted({c[2] for c in d["cells"]}), sorted({c[3] for c in d["cells"]})
    for axes, (D, causal) in zip(panels.flat, PANELS):
        for _, _, BH, S, stage, ratio in (c for c in d["cells"] if (c[0], c[1]) == (D, causal)):
            x, y = lengths.index(S), heads.index(BH)
            fill, dark = colour(ratio)
            axes.add_patch(plt.Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=fill, edgecolor="white"))
            axes.text(x, y, f"{ratio:.2f}\n{short(stage)}", fontsize=7.5, ha="center", va="center", linespacing=1.1,
                      color="white" if dark else BLACK, weight="bold" if ratio < 0.98 else "normal")
        axes.set(xlim=(-0.5, len(lengths) - 0.5), ylim=(len(heads) - 0.5, -0.5))
        axes.set_xticks(range(len(lengths)), [str(S) for S in lengths], fontsize=7.5)
        axes.set_yticks(range(len(heads)), [str(BH) for BH in heads], fontsize=7.5)
        axes.tick_params(length=0)
        axes.set_title(f"D = {D}{', causal' if causal else ''}", fontsize=9, loc="left")
        frameless(axes)
    for axes in panels[1]:
        axes.set_xlabel("S, rows a head", fontsize=8)
    for axes in panels[:, 0]:
        axes.set_ylabel("B · H, heads", fontsize=8)
    return caption(figure, "The fastest peer's time over the fastest stage's, and that stage: blue above 1, where a stage is ahead; vermilion and bold below 0.98, where a peer is. "
                           f"Calls in a replayed graph, one quick round. {d['source']}.")
