"""The merge of two blocks of a cluster, from the plan of the stage that splits keys."""
from .registry import figure
from .results import Unusable, short, title
from .style import BLUE, LIGHT, VERMILION, arrow, box, canvas

FLOAT = 4


def data_merge(r):
    """Of the first plan with partial results of another block: the rows and keys of a block, and the columns that a block finishes."""
    for plan in r.plans["plans"]:
        arrays = {a["name"]: a for a in plan["arrays"]}
        if "merged" in arrays:
            break
    else:
        raise Unusable("no plan has an mbarrier 'merged'; which stage merges two blocks?")
    rows, D = plan["tile_m"], plan["D"]
    columns = arrays["sO"]["bytes"] // (rows * FLOAT)
    if D % columns or D // columns != 2:
        raise Unusable(f"{plan['stage']}: sO holds {columns} of {D} columns, and the figure shows two blocks")
    return {"stage": plan["stage"], "shape": f"{plan['B']},{plan['H']},{plan['S']},{D}", "rows": rows, "columns": columns, "keys": plan["S"] // 2}


@figure("merge", data_merge)
def draw_merge(plt, d):
    """Each block's columns of O on top: it keeps half of them, the other half goes into the other block's shared memory."""
    figure, axes = canvas(plt, 4.0)
    width, half = 3.3, d["columns"]
    name = lambda block: f"{block * half} to {block * half + half - 1}"
    lefts = (0.25, 4.45)
    for block, left in enumerate(lefts):
        first = block * d["keys"]
        axes.text(left, 0.2, f"block {block}: keys {first} to {first + d['keys'] - 1}", fontsize=12, weight="bold", va="center")
        axes.text(left, 0.52, "its O in registers, over these keys:", fontsize=9.5, va="center")
        for part in (0, 1):
            own = part == block
            box(axes, left + part * width / 2, 0.7, width / 2, 0.66, f"columns {name(part)}\n{'keeps' if own else 'sends'}", 9.5, None if own else 2, words={} if not own else {"weight": "bold"},
                facecolor=LIGHT[0] if own else LIGHT[4], hatch="" if own else "////")
        box(axes, left, 2.3, width, 0.55, f"shared memory of block {block}:\ncolumns {name(block)} and m, l of block {1 - block}", 9.5, facecolor=LIGHT[4])
        box(axes, left, 3.22, width, 0.42, f"merges and stores columns {name(block)}", 9.5, facecolor=LIGHT[0], words={"weight": "bold"})
        arrow(axes, (left + width / 2, 3.21), (left + width / 2, 2.86))
        axes.text(left + width / 2 + 0.1, 3.03, "waits at its mbarrier", fontsize=9, va="center")
    for block, colour, line in ((0, VERMILION, "-"), (1, BLUE, "--")):
        tail, tip = lefts[block] + (0.75 - block / 2) * width, lefts[1 - block] + (0.3 + 0.4 * block) * width
        arrow(axes, (tip, 2.28), (tail, 1.37), colour, 2.2, linestyle=line)
    axes.text(4.0, 1.5, "st.async", fontsize=9.5, ha="center", va="center")
    axes.text(0.25, 3.86, f"{short(d['stage'])} on {title(d['shape'])}, one query tile of {d['rows']} rows. m and l of the rows go with the columns.", fontsize=7.5, va="center", color="#333333")
    return figure
