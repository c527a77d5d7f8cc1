"""The swizzle by rows: in which banks the first two matrices of an ldmatrix lie, without and with it."""
from .registry import figure
from .results import short
from .style import BLACK, BLUE, LIGHT, VERMILION, box, canvas, caption

PLACES, BANKS = 8, 4  # of a row of 128 bytes, and the banks of one


def data_rows(r):
    """By matrix of the load: [row, chunk] of each lane, and its place and cycle, unswizzled and as the kernel does it."""
    d = r.ldmatrix
    by_how = {one["how"]: one for one in d["banks"]}
    matrices = []
    for first in (0, 8):
        lanes = range(first, first + 8)
        matrices.append({"cells": [[d["rows"][lane], d["columns"][lane] // 8] for lane in lanes],
                         "how": {how: {"place": [by_how[how]["bank"][lane] // BANKS for lane in lanes], "turn": [by_how[how]["turn"][lane] for lane in lanes]} for how in ("plain", "kernel")}})
    return {"stage": d["stage"], "array": d["array"], "matrices": matrices}


@figure("swizzle-rows", data_rows)
def draw_rows(plt, d):
    figure, axes = canvas(plt, 3.95)
    cell, tall, top = 0.375, 0.27, 0.82
    looks = [({"facecolor": LIGHT[1], "edgecolor": VERMILION}, VERMILION), ({"facecolor": LIGHT[0], "edgecolor": BLUE}, BLUE)]
    for left, how, name in ((0.85, "plain", "rows as they are"), (4.75, "kernel", f"{short(d['stage'])}'s swizzle")):
        axes.text(left, 0.18, name, fontsize=9.5, weight="bold", va="center")
        axes.text(left + PLACES * cell / 2, 0.45, "banks", fontsize=8, ha="center", va="center")
        for place in range(PLACES):
            axes.text(left + (place + 0.5) * cell, top - 0.13, f"{BANKS * place}–{BANKS * place + BANKS - 1}", fontsize=6.6, ha="center", va="center")
        for row in range(8):
            axes.text(left - 0.08, top + (row + 0.5) * tall, f"row {row}", fontsize=8, ha="right", va="center")
            for place in range(PLACES):
                box(axes, left + place * cell, top + row * tall, cell, tall, edgecolor="#bbbbbb", linewidth=0.5)
        for matrix, (look, _) in zip(d["matrices"], looks):
            for (row, chunk), place in zip(matrix["cells"], matrix["how"][how]["place"]):
                box(axes, left + place * cell, top + row * tall, cell, tall, str(chunk), 9, linewidth=1.5, zorder=3, words={"zorder": 4}, **look)
        for i, (matrix, (_, colour)) in enumerate(zip(d["matrices"], looks)):
            turns = matrix["how"][how]["turn"]
            cycles = max(turns) - min(turns) + 1
            axes.text(left, top + 8 * tall + 0.2 + 0.22 * i, f"matrix {i}, chunk {matrix['cells'][0][1]} of each row: {cycles} cycle{'s' * (cycles > 1)}", fontsize=8.5, va="center", color=colour, weight="bold")
    return caption(figure, f"The first two matrices of the first load of {d['array']}, at D = 64: a row has eight chunks of 16 bytes. Right: the kernel's own accesses, recorded on the CPU.")
