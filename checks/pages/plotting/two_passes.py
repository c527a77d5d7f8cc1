"""v2c3: one warp's work at one tile, before and after the loop over its rows was cut in two."""
from .registry import figure
from .results import Unusable, short
from .stages_before_hopper import plan_of, rows_written
from .style import BLUE, LIGHT, ORANGE, VERMILION, arrow, box, canvas, caption


def data_passes(r):
    """Rows and keys of a warp, of both stages alike; and that the recorded v2c3 writes all scores of a warp before its second barrier, and reads them after it."""
    stages = ["v2b_single_warp", "v2c3_scalar_smem"]
    (rows, keys), *others = [(plan["rows_per_warp"], plan["tile_n"]) for plan in (plan_of(r, stage) for stage in stages)]
    trace = r.traces["score-rows"]
    own = rows_written(trace, "S_scores")[0]
    mine = [(e["period"], e["event"], e["first row"], e["last row"]) for e in trace["events"] if e["warp"] == 0 and e["array"] == "S_scores"]
    if others != [(rows, keys)] or trace["stage"] != stages[1] or own != [0, rows - 1] or mine[0] != (1, "write", *own) or any(one[0] != 2 or one[2:] != tuple(own) for one in mine[1:]):
        raise Unusable("two-passes: v2c3 no longer writes a warp's scores in one period and reads them in the next")
    return {"stages": stages, "rows": rows, "keys": keys}


SCORES, REST = (LIGHT[0], BLUE), (LIGHT[4], ORANGE)


@figure("two-passes", data_passes)
def draw_passes(plt, d):
    figure, axes = canvas(plt, 3.55)
    left, end, gap, high = 0.75, 7.9, 0.5, 0.36
    scores, rest = 0.33, (end - left - gap) / d["rows"] - 0.33  # widths: no times

    def step(x, y, row, kind):
        face, edge = SCORES if kind == "s" else REST
        box(axes, x, y, scores if kind == "s" else rest, high, f"{kind} {row}", 8, facecolor=face, edgecolor=edge, linewidth=0.9)

    y = 0.55
    axes.text(left, y - 0.2, f"{short(d['stages'][0])}: row after row", fontsize=9, weight="bold", va="center")
    for row in range(d["rows"]):
        step(left + row * (scores + rest), y, row, "s")
        step(left + row * (scores + rest) + scores, y, row, "p")
    y = 1.6
    axes.text(left, y - 0.2, f"{short(d['stages'][1])}: pass 1", fontsize=9, weight="bold", va="center")
    middle = left + d["rows"] * scores
    axes.text(middle + gap, y - 0.2, "pass 2", fontsize=9, weight="bold", va="center")
    for row in range(d["rows"]):
        step(left + row * scores, y, row, "s")
        step(middle + gap + row * rest, y, row, "p")
    axes.plot([middle + gap / 2] * 2, [y - 0.32, y + high + 0.1], color=VERMILION, linewidth=2)
    axes.text(middle + gap / 2, y - 0.42, "block barrier", fontsize=8, ha="center", va="center", color=VERMILION)
    top, wide = 2.55, 2.9
    at = middle + gap / 2 - wide / 2
    box(axes, at, top, wide, 0.55, f"S_scores, in shared memory:\nthis warp's {d['rows']} rows × {d['keys']} keys", 8.5, facecolor=LIGHT[0], edgecolor=BLUE, linewidth=1.2)
    arrow(axes, (at + 0.45, top - 0.03), (at + 0.45, y + high + 0.04), BLUE)
    axes.text(at + 0.38, (top + y + high) / 2, "writes", fontsize=8, ha="right", va="center")
    arrow(axes, (at + wide - 0.45, y + high + 0.04), (at + wide - 0.45, top - 0.03), ORANGE)
    axes.text(at + wide - 0.38, (top + y + high) / 2, "reads", fontsize=8, va="center")
    for y, (face, edge), text in ((2.62, SCORES, "s 0: scores of row 0"), (2.9, REST, "p 0: softmax and P·V of row 0")):
        box(axes, 5.5, y, 0.18, 0.16, facecolor=face, edgecolor=edge, linewidth=0.9)
        axes.text(5.74, y + 0.08, text, fontsize=8, va="center")
    return caption(figure, "Warp 0 at one tile, from left to right. Widths are not times. Writes and reads as recorded from the CPU execution.")
