"""Figures of which lane of a warp holds which element of a matrix fragment."""
from .registry import figure
from .style import BLACK, LIGHT, VERMILION, WIDTH, bare, caption, subplots

MARKED = 5  # the lane whose elements are outlined


def cells(one):
    """[row][column] -> (lane, first element index held there)."""
    grid = [[None] * one["columns"] for _ in range(one["rows"])]
    for lane, held in enumerate(one["held"]):
        for element, at in enumerate(held):
            grid[at // one["columns"]][at % one["columns"]] = (lane, element)
    return grid


def draw_fragment(plt, axes, one):
    grid = cells(one)
    rows, columns = one["rows"], one["columns"]
    bare(axes)
    axes.set(xlim=(-0.1, columns + 0.1), ylim=(rows + 0.1, -0.1))
    axes.set_aspect("equal")
    for top in range(0, rows, 8):
        for left in range(0, columns, 8):  # the same pair of every lane fills eight rows and columns
            pairs = {grid[r][c][1] // 2 for r in range(top, top + 8) for c in range(left, left + 8)}
            if len(pairs) == 1:
                axes.add_patch(plt.Rectangle((left, top), 8, 8, facecolor=LIGHT[pairs.pop() % len(LIGHT)], edgecolor="none", zorder=1))
    for r in range(rows):
        for c in range(columns):
            lane, element = grid[r][c]
            if element % 2 == 0:  # an even element and the odd one after it lie side by side, or one under the other
                across = c + 1 < columns and grid[r][c + 1] == (lane, element + 1)
                width, height = (2, 1) if across else (1, 2)
                axes.add_patch(plt.Rectangle((c, r), width, height, facecolor="none", edgecolor="#777777", linewidth=0.5, zorder=2))
                letter = one["name"][4:] if one["name"].startswith("mma_") else ""  # as in the PTX manual: a0, b0, c0
                text = str(lane) if lane != MARKED else f"{letter}{element}{', ' if across else chr(10)}{letter}{element + 1}"
                axes.text(c + width / 2, r + height / 2, text, ha="center", va="center", fontsize=6.5, weight="bold" if lane == MARKED else "normal", zorder=4)
                if lane == MARKED:
                    axes.add_patch(plt.Rectangle((c, r), width, height, facecolor="white", edgecolor=VERMILION, linewidth=2, zorder=3))
    for at in (8,):
        if columns > at:
            axes.plot([at, at], [0, rows], color=BLACK, linewidth=1.3, zorder=2.5)
        if rows > at:
            axes.plot([0, columns], [at, at], color=BLACK, linewidth=1.3)
    axes.add_patch(plt.Rectangle((0, 0), columns, rows, facecolor="none", edgecolor=BLACK, linewidth=1.3))
    for c in range(0, columns, 2):
        axes.text(c + 0.5, -0.25, str(c), ha="center", va="bottom", fontsize=6.5)
    for r in range(0, rows, 2):
        axes.text(-0.25, r + 0.5, str(r), ha="right", va="center", fontsize=6.5)
    axes.set_title(one["title"], fontsize=9, pad=14)


KEY = (f"The number in a cell is the lane that holds this pair of elements; the colour says which of the lane's pairs it is. Outlined: all that lane {MARKED} holds, by its "
       "element numbers. ")


def fragments(r, *names):
    named = {one["name"]: one for one in r.layouts["fragments"]}
    return [named[name] for name in names]


@figure("fragment-lanes", lambda r: fragments(r, "wmma_a", "wmma_b", "wmma_acc"))
def draw_wmma(plt, d):
    figure, row = subplots(plt, (WIDTH, 3.75), 1, 3, left=0.03, right=0.99, top=0.87, bottom=0.2, wspace=0.14)
    for axes, one in zip(row, d):
        draw_fragment(plt, axes, one)
    return caption(figure, KEY + "From common/wmma_layout.hpp, as measured on an H200. matrix_a and accumulator keep their elements in the same places there, which CUDA promises nowhere. "
                                 "A lane's x[8] to x[15] of matrix_a and matrix_b repeat x[0] to x[7].")


@figure("mma-lanes", lambda r: fragments(r, "mma_a", "mma_b", "mma_c"))
def draw_mma(plt, d):
    figure, row = subplots(plt, (WIDTH, 4.7), 1, 3, width_ratios=[16, 8, 8], left=0.025, right=0.985, top=0.9, bottom=0.15, wspace=0.16)
    for axes, one in zip(row, d):
        draw_fragment(plt, axes, one)
    return caption(figure, KEY + "mma.sync.m16n8k16, as the PTX manual defines it; a pair of halves is one register. C's pairs, rounded to halves, lie where A wants them: "
                                 "two neighbouring C tiles are one A tile without a shuffle.")
