"""The lazily moved reference of one row, tile by tile (`lab trace-reference`)."""
import math
import re

from .heads import ROOT
from .registry import figure
from .results import Unusable, short
from .style import BLUE, GRID, LIGHT, VERMILION, WIDTH, caption, subplots


def largest_sum(stage):
    """The kernel's LARGEST_SUM: a lane's weights of a tile fit if their sum is not larger."""
    found = re.search(r"LARGEST_SUM = ([\d.]+)f", (ROOT / "stages" / stage / "kernel.cu").read_text())
    if not found:
        raise Unusable(f"{stage}'s kernel has no LARGEST_SUM")
    return float(found[1])


def data_reference(r):
    panels = []
    for trace in sorted(r.references.values(), key=lambda t: float(t["amplitude"])):
        largest = [float(e["largest score"]) for e in trace["events"]]
        moves = [bool(e["raised"] or e["scored again"]) for e in trace["events"]]
        panels.append({"amplitude": trace["amplitude"], "largest": largest, "moves": moves, "reference": [float(e["r"]) for e in trace["events"]]})
    return {"stage": trace["stage"], "shape": trace["shape"], "row": trace["row"], "keys": trace["keys per tile"], "fits": math.log(largest_sum(trace["stage"])), "panels": panels}


@figure("reference", data_reference)
def draw_reference(plt, d):
    figure, panels = subplots(plt, (WIDTH, 3.75), 1, len(d["panels"]), left=0.065, right=0.99, top=0.80, bottom=0.285, wspace=0.13)
    for axes, one in zip(panels, d["panels"]):
        tiles = len(one["largest"])
        edges = [t - 0.5 for t in range(tiles + 1)]
        met = [one["reference"][0], *one["reference"]]  # that the tile meets; tile 0 sets its own; the last: after all tiles
        band = axes.fill_between(edges, met, [x + d["fits"] for x in met], step="post", facecolor=LIGHT[0], edgecolor="none")
        line = axes.step(edges, met, where="post", color=BLUE, linewidth=2)[0]
        dots = axes.plot(range(tiles), one["largest"], "o", color="black", markersize=5, linestyle="none")[0]
        high = max(*one["largest"], one["reference"][-1] + d["fits"])
        for t, moves in enumerate(one["moves"]):
            if moves:
                ring = axes.plot([t], [one["largest"][t]], "s", markerfacecolor="none", markeredgecolor=VERMILION, markeredgewidth=1.8, markersize=11, linestyle="none")[0]
                axes.annotate(f"a sum in tile {t} is too large:\nr is raised to {one['reference'][t]:.1f}", (t - 0.45, one["largest"][t]), (t - 1.3, one["largest"][t] + 0.1 * high), ha="right", va="center", fontsize=8,
                              arrowprops={"arrowstyle": "-|>", "color": VERMILION, "linewidth": 1})
        axes.set(xlim=(-0.7, tiles - 0.3), ylim=(min(one["largest"]) - 0.06 * high, 1.05 * high))
        axes.set_xticks(range(0, tiles, 2))
        axes.set_xlabel(f"tile of {d['keys']} keys", fontsize=8.5)
        axes.tick_params(labelsize=8)
        axes.grid(True, **GRID)
        axes.set_axisbelow(True)
        moves = sum(one["moves"])
        axes.set_title(f"q, k of N(0,1) times {float(one['amplitude']):g}: " + ("r is set once, in tile 0" if not moves else f"r moves {'once' if moves == 1 else f'{moves} times'}"), fontsize=9, loc="left")
    panels[0].set_ylabel("score, q·k / √D", fontsize=8.5)
    figure.legend([dots, line, band, ring], ["largest score of the row in a tile", "reference r", f"a weight fits: up to r + {d['fits']:.1f}", "does not fit"], ncol=4, fontsize=8.5, loc="upper left", bbox_to_anchor=(0.005, 1.0), frameon=False, columnspacing=1.6)
    return caption(figure, f"Row {d['row']} of {short(d['stage'])} on {d['shape']}, recorded on the CPU; scores in natural units. A weight is e^(score − r). It is rounded to fp16, so it may not "
                           f"be large: one score up to r + {d['fits']:.1f} fits if the lane's other weights are small. A score above r costs nothing as long as it fits (left).")
