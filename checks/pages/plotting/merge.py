"""The merge of two blocks of a cluster, from the plan of the stage that splits keys."""
from .registry import figure
from .results import Unusable, short, title
from .style import BLACK, BLUE, LIGHT, VERMILION, arrow, box, canvas

FLOAT = 4


def data_merge(r):
    """Of the first plan with partial results of another block: bytes of each array, and the columns that a block finishes."""
    for plan in r.plans["plans"]:
        arrays = {a["name"]: a for a in plan["arrays"]}
        if "merged" in arrays:
            break
    else:
        raise Unusable("no plan has an mbarrier 'merged'; which stage merges two blocks?")
    rows, D, threads = plan["tile_m"], plan["D"], plan["block"][0]
    columns = arrays["sO"]["bytes"] // (rows * FLOAT)
    if D % columns or D // columns != 2:
        raise Unusable(f"{plan['stage']}: sO holds {columns} of {D} columns, and the figure shows two blocks")
    return {"stage": plan["stage"], "shape": f"{plan['B']},{plan['H']},{plan['S']},{D}", "rows": rows, "D": D, "threads": threads, "columns": columns, "keys": plan["S"] // 2,
            "tiles": -(-plan["S"] // 2 // plan["tile_n"]), "tile_n": plan["tile_n"], "sO": arrays["sO"]["bytes"], "sRows": arrays["sRows"]["bytes"]}


@figure("merge", data_merge)
def draw_merge(plt, d):
    figure, axes = canvas(plt, 5.35)
    width, half = 3.1, d["columns"]
    send = d["sO"] // d["threads"]
    for block, left in ((0, 0.25), (1, 4.65)):
        first = block * d["keys"]
        axes.text(left, 0.2, f"block {block} of the cluster", fontsize=11, weight="bold", va="center")
        axes.text(left, 0.46, f"keys {first} to {first + d['keys'] - 1}: {d['tiles']} tiles of {d['tile_n']}", fontsize=8.5, va="center")
        axes.text(left, 0.78, f"registers: O, {d['rows']} rows × {d['D']} columns; m and l", fontsize=8.5, va="center")
        for part in (0, 1):
            own = part == block
            x = left + part * width / 2
            axes.add_patch(plt.Rectangle((x, 0.95), width / 2, 0.95, facecolor=LIGHT[0] if own else LIGHT[4], edgecolor=BLACK, hatch="" if own else "////", linewidth=1))
            axes.text(x + width / 4, 1.42, f"columns {part * half} to {part * half + half - 1}\n{'keeps' if own else 'sends'}", fontsize=8.5, ha="center", va="center", weight="bold" if own else "normal",
                      bbox=None if own else {"facecolor": "white", "edgecolor": "none", "pad": 1.5})
        box(axes, left, 3.0, width, 0.62, f"sO: {d['sO']} B for columns {block * half} to {block * half + half - 1}\nsRows: {d['sRows']} B for m and l", 8.5, facecolor=LIGHT[4])
        axes.text(left, 2.86, "its shared memory", fontsize=8.5, va="center")
        box(axes, left, 3.72, width, 0.36, f"mbarrier merged: expects {d['sO'] + d['sRows']} B", 8.5, facecolor="white")
        arrow(axes, (left + width / 2, 4.4), (left + width / 2, 4.1))
        box(axes, left, 4.42, width, 0.62, f"waits for the phase, merges, divides by l,\nstores columns {block * half} to {block * half + half - 1}", 8.5, facecolor=LIGHT[0])
    for start, end, by in ((0.25 + 0.75 * width, 4.65 + 0.6 * width, 0), (4.65 + 0.25 * width, 0.25 + 0.7 * width, 1)):
        arrow(axes, (end, 2.98), (start, 1.92), VERMILION if by == 0 else BLUE, 2, linestyle="-" if by == 0 else "--")
    for x in (2.9, 5.95):
        axes.text(x, 2.48, "half of O; m, l", fontsize=8.5, ha="center", va="center")
    axes.text(4.0, 1.42, "st.async,\nthread i\nto thread i", fontsize=8.5, ha="center", va="center")
    axes.text(4.0, 3.42, f"each way:\n{send} B of O\nper thread,\n{d['sRows'] // (d['threads'] // 4)} B of m and l\nper quad", fontsize=8.5, ha="center", va="center")
    axes.text(0.25, 5.22, f"{short(d['stage'])} on {title(d['shape'])}, one query tile", fontsize=7.5, va="center", color="#333333")
    return figure
