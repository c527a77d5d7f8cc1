"""Figures of which lane of a warp holds which element of a matrix fragment."""
from .registry import figure
from .results import Unusable
from .style import BLACK, LIGHT, VERMILION, WIDTH, arrow, bare, box, canvas, caption, subplots

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
                if lane == MARKED and letter in ("a", "b"):  # a pair of halves is one register, and that is what the kernels name
                    text = f"{letter}[{element // 2}]"
                axes.text(c + width / 2, r + height / 2, text, ha="center", va="center", fontsize=6.5, weight="bold" if lane == MARKED else "normal", rotation=0 if across or lane != MARKED else 90, zorder=4)
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


def registers(one):
    """Per register of a lane, a pair of elements: (rows below the first, columns right of the first) of its 8x8 block, checked for all lanes."""
    places = []
    for element in range(0, len(one["held"][0]), 2):
        block = {(held[element] // one["columns"] // 8 * 8, held[element] % one["columns"] // 8 * 8) for held in one["held"]}
        if len(block) != 1:
            raise Unusable(f"layouts.json: element {element} of {one['name']} is not in the same 8x8 block in all lanes")
        places.append(block.pop())
    return places


@figure("mma-lanes", lambda r: fragments(r, "mma_a", "mma_b", "mma_c"))
def draw_mma(plt, d):
    height, strip = 6.2, 2.0
    figure, row = subplots(plt, (WIDTH, height), 1, 3, width_ratios=[16, 8, 8], left=0.025, right=0.985, top=0.935, bottom=0.36, wspace=0.16)
    for axes, one in zip(row, d):
        draw_fragment(plt, axes, one)
    # The A of P V between the two C tiles that it is made of: a box is an 8x8 block, of which each lane holds two elements.
    axes = figure.add_axes([0, 0, 1, strip / height])
    axes.set(xlim=(0, WIDTH), ylim=(strip, 0))
    bare(axes)
    wide, high, top, middle = 0.95, 0.42, 0.45, 3.35
    a, c = registers(d[0]), registers(d[2])
    axes.text(middle + wide, top - 0.13, "A of P V: 16 rows × 16 keys", fontsize=9, weight="bold", ha="center", va="center")
    for tile, left, keys in ((0, 1.2, "keys 0–7"), (1, 6.5, "keys 8–15")):
        axes.text(left + wide / 2, top - 0.13, f"C: scores of {keys}", fontsize=8.5, ha="center", va="center")
        for pair, (down, _) in enumerate(c):
            number, y = a.index((down, 8 * tile)), top + down / 8 * high
            box(axes, left, y, wide, high, f"c{2 * pair}, c{2 * pair + 1}", 8.5, facecolor=LIGHT[number])
            box(axes, middle + tile * wide, y, wide, high, f"a[{number}]", 9.5, facecolor=LIGHT[number])
            begin, end = (left + wide, middle) if tile == 0 else (left, middle + 2 * wide)
            arrow(axes, (end, y + high / 2), (begin, y + high / 2), VERMILION, 1.6)
            axes.text((begin + end) / 2, y + high / 2 - 0.1, "exp, to fp16" if pair == 0 else "", fontsize=7.5, ha="center", va="center")
            axes.text(1.1, y + high / 2, f"rows {down}–{down + 7}" if tile == 0 else "", fontsize=8, ha="right", va="center")
    return caption(figure, f"The number in a cell is the lane that holds this pair of elements; the colour says which of the lane's pairs it is. Outlined: lane {MARKED}'s registers of A and B, two fp16 numbers each, and its four floats of C. "
                           "mma.sync.m16n8k16 (C has 16 rows and 8 columns, 16 products are summed), as the PTX manual defines it. "
                           "Below: two score tiles become one A, and every element stays in its lane.")


@figure("ldmatrix-lanes", lambda r: fragments(r, "mma_b")[0])
def draw_received(plt, d):
    """One 8x8 matrix of an ldmatrix, without and with .trans: the first register of mma.sync's B, as it lies in K and in V."""
    figure, axes = canvas(plt, 3.75)
    size, high, top = 0.33, 0.27, 0.72
    for left, title, across in ((1.05, "ldmatrix, for K", True), (5.1, "ldmatrix.trans, for V", False)):
        axes.text(left, 0.2, title, fontsize=10, weight="bold", va="center")
        axes.text(left, 0.46, "columns 0–7: 16 bytes per row", fontsize=7.5, va="center")
        for row in range(8):
            y = top + row * high
            axes.text(left - 0.32, y + high / 2, f"lane {row}", fontsize=7.5, ha="right", va="center")
            arrow(axes, (left - 0.02, y + high / 2), (left - 0.28, y + high / 2), width=0.8)
        for lane, held in enumerate(d["held"]):
            places = sorted(divmod(at, d["columns"])[::-1 if across else 1] for at in held[:2])  # (row, column) in memory
            (row, column), (last_row, last_column) = places
            place = left + column * size, top + row * high, (last_column - column + 1) * size, (last_row - row + 1) * high
            box(axes, *place, str(lane), 8, facecolor=LIGHT[4] if lane == MARKED else "white", edgecolor="#777777", linewidth=0.6)
            if lane == MARKED:
                marked = place
                gets = f"row {row}, columns {column} and {last_column}" if across else f"rows {row} and {last_row}, column {column}"
        box(axes, *marked, facecolor="none", edgecolor=VERMILION, linewidth=2, zorder=3)
        box(axes, left, top, 8 * size, 8 * high, facecolor="none", linewidth=1.2, zorder=2.5)
        axes.text(left, top + 8 * high + 0.14, f"register 0 of lane {MARKED}: {gets}", fontsize=8, va="center")
    return caption(figure, "Matrix 0 of an x4 load. Arrows: the lane that gives a row's address (matrix 1: lanes 8 to 15). Numbers: the lane that receives the two halves. "
                           "Received as mma.sync wants its B: its two fp16 numbers are neighbours in the summed index, the column in K and the key (row) in V.")
