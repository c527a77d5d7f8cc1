"""v2c3: which lane computes what of a score, before and after a score got one owner."""
from .registry import figure
from .results import Unusable, short
from .stages_before_hopper import SHUFFLES, plan_of
from .style import BLACK, BLUE, LIGHT, VERMILION, arrow, box, canvas, caption


def data_lanes(r):
    stages = ["v2b_single_warp", "v2c3_scalar_smem"]
    (keys, D), *others = [(plan["tile_n"], plan["D"]) for plan in (plan_of(r, stage) for stage in stages)]
    if others != [(keys, D)]:
        raise Unusable("lane-scores: v2b and v2c3 no longer have the same tile")
    return {"stages": stages, "lanes": 32, "keys": keys, "D": D, "shuffles": SHUFFLES}


@figure("lane-scores", data_lanes)
def draw_lanes(plt, d):
    figure, axes = canvas(plt, 3.95)
    marked, left, high = 5, 0.3, 0.34
    cell, columns = 7.4 / d["lanes"], d["D"] // d["lanes"]
    middle = left + d["lanes"] * cell / 2

    def lanes(y, name, each):
        axes.text(left, y - 0.42, name, fontsize=9.5, weight="bold", va="center")
        for lane in range(d["lanes"]):
            here = lane == marked
            box(axes, left + lane * cell, y, cell, high, str(lane), 7.5, facecolor=LIGHT[1] if here else "white", edgecolor=VERMILION if here else "#777777", linewidth=1.8 if here else 0.6, zorder=2 if here else 1)
        axes.text(left + (marked + 0.5) * cell, y - 0.13, each, fontsize=8.5, color=VERMILION, weight="bold", ha="center", va="center")

    y = 0.65
    lanes(y, f"{short(d['stages'][0])}: {d['lanes']} lanes, one score", f"columns {columns * marked} and {columns * marked + columns - 1} of key 0")
    for lane in range(0, d["lanes"]):
        x = left + (lane + 0.5) * cell
        axes.plot([x, middle + (x - middle) * 0.45], [y + high, y + 0.62], color="#aaaaaa", linewidth=0.6, zorder=0)
    box(axes, middle - 1.7, y + 0.62, 3.4, 0.32, f"{d['shuffles']} shuffles add up the {d['lanes']} parts", 8.5, facecolor=LIGHT[4], edgecolor=BLACK)
    arrow(axes, (middle, y + 1.17), (middle, y + 0.95))
    box(axes, middle - cell, y + 1.18, 2 * cell, 0.3, "key 0", 8, facecolor=LIGHT[0], edgecolor=BLUE)
    axes.text(middle + cell + 0.1, y + 1.33, f"then key 1, and so on: {d['keys']} times", fontsize=8.5, va="center")
    y = 2.85
    lanes(y, f"{short(d['stages'][1])}: {d['lanes']} lanes, {d['lanes']} scores", f"all {d['D']} columns of key {marked}")
    for lane in range(d["lanes"]):
        x = left + (lane + 0.5) * cell
        axes.plot([x, x], [y + high, y + high + 0.13], color=VERMILION if lane == marked else "#aaaaaa", linewidth=1.4 if lane == marked else 0.6, zorder=0)
        box(axes, left + lane * cell, y + high + 0.13, cell, 0.24, str(lane), 7.5, facecolor=LIGHT[0], edgecolor=VERMILION if lane == marked else BLUE, linewidth=1.8 if lane == marked else 0.6, zorder=2 if lane == marked else 1)
    axes.text(left + d["lanes"] * cell, y - 0.13, f"scores of keys 0 to {d['lanes'] - 1}; then of keys {d['lanes']} to {d['keys'] - 1}: {d['keys'] // d['lanes']} times", fontsize=8.5, ha="right", va="center")
    return caption(figure, f"The scores of one row with the {d['keys']} keys of a tile. White: lanes. Blue: the score of that key.")
