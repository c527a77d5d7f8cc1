"""Which lane holds what: operands of the tensor cores among the registers of a warp, scores and sums among its lanes."""

from picture import BLACK, BLUE, DARK, GREY, MARK, PALE, PLAIN, RED, figure

MARKED, LANES = 5, 32
# [lane, element] -> (row, column): mma.sync.m16n8k16 by the PTX manual (common/mma_layout.hpp); the rest of a wgmma accumulator repeats C. WMMA's A and
# accumulator were measured on an H200 to be like A (common/wmma_layout.hpp).
A = lambda lane, i: (lane // 4 + 8 * (i // 2 % 2), lane % 4 * 2 + i % 2 + 8 * (i // 4))
B = lambda lane, i: (lane % 4 * 2 + i % 2 + 8 * (i // 2), lane // 4)
C = lambda lane, i: (lane // 4 + 8 * (i // 2), lane % 4 * 2 + i % 2)
WMMA_B = lambda lane, i: (lane % 4 * 2 + i % 2 + 8 * (i // 2 % 2), lane // 4 + 8 * (i // 4))


def fragment(p, left, top, cell, place, columns, elements, title, name, rows=16):
    """A matrix; a cell is a pair of neighbours, its number the lane, its colour the pair. name(pair): what lane 5's are called."""
    p.text(left + columns * cell / 2, top - 0.36, title, 8.5, "middle")
    for c in range(0, columns, 2):
        p.text(left + (c + 0.5) * cell, top - 0.1, c, 6.5, "middle")
    for r in range(0, rows, 2):
        p.text(left - 0.06, top + (r + 0.5) * cell, r, 6.5, "end")
    cells = [(lane, i) for i in range(0, elements, 2) for lane in range(LANES)]
    for lane, i in sorted(cells, key=lambda cell: cell[0] == MARKED):
        (r, c), (r1, c1) = place(lane, i), place(lane, i + 1)
        where = left + c * cell, top + r * cell, (c1 - c + 1) * cell, (r1 - r + 1) * cell
        if lane != MARKED:
            p.box(*where, lane, 6.5, fill=PALE[i // 2], edge=GREY, line=0.5)
            continue
        p.rect(*where, edge=RED, line=1.8)
        p.text(left + (c + c1 + 1) / 2 * cell, top + (r + r1 + 1) / 2 * cell, name(i // 2), 6.5, "middle", bold=True, turned=r1 > r)
    p.frame(left, top, columns * cell, rows * cell, BLACK, 1.2)
    p.line((left, top + 8 * cell), (left + columns * cell, top + 8 * cell), width=1.2)
    if columns > 8:
        p.line((left + 8 * cell, top), (left + 8 * cell, top + rows * cell), width=1.2)


@figure("mma-lanes", 5.5)
def mma_lanes(p):
    for left, place, columns, elements, title, name in (
        (0.3, A, 16, 8, "A(r, k)", lambda i: f"a[{i}]"),
        (4.1, B, 8, 4, "B(k, n)", lambda i: f"b[{i}]"),
        (6.1, C, 8, 4, "C(r, n)", lambda i: f"c{2 * i}, c{2 * i + 1}"),
    ):
        fragment(p, left, 0.6, 0.205, place, columns, elements, f"mma.m16n8k16 {title}", name)
    wide, high, top, middle = 0.95, 0.42, 4.45, 3.35  # the A of P V between the two C tiles that it is made of
    p.text(middle + wide, top - 0.15, "A of P V: 16 rows × 16 keys", 9, "middle", bold=True)
    for tile, left, keys in ((0, 1.2, "keys 0–7"), (1, 6.5, "keys 8–15")):
        p.text(left + wide / 2, top - 0.15, f"C: scores of {keys}", 8.5, "middle")
        for pair in (0, 1):
            number, y = pair + 2 * tile, top + pair * high
            p.box(left, y, wide, high, f"c{2 * pair}, c{2 * pair + 1}", 8.5, fill=PALE[number])
            p.box(middle + tile * wide, y, wide, high, f"a[{number}]", 9.5, fill=PALE[number])
            begin, end = (left + wide, middle) if tile == 0 else (left, middle + 2 * wide)
            p.arrow(begin, y + high / 2, end, y + high / 2, RED, 1.6)
            if pair == 0:
                p.text((begin + end) / 2, y + 0.09, "exp, to fp16", 7.5, "middle")
            if tile == 0:
                p.text(1.1, y + high / 2, f"rows {8 * pair}–{8 * pair + 7}", 8, "end")


@figure("fragment-lanes", 3.9)
def fragment_lanes(p):
    pair = lambda i: f"{2 * i}, {2 * i + 1}"
    for left, place, title in ((0.25, A, "matrix_a, row-major"), (2.92, WMMA_B, "matrix_b, col-major"), (5.59, A, "accumulator")):
        fragment(p, left, 0.6, 0.146, place, 16, 8, f"WMMA {title}", pair)
    p.text(0.1, 3.2, "Read off an H200, where matrix_a and accumulator keep their elements in the same places. CUDA does not promise that.", 8)
    p.text(0.1, 3.45, "Outlined: all that lane 5 holds, by its element numbers. x[8] to x[15] of matrix_a and matrix_b repeat x[0] to x[7].", 8)


@figure("accumulator", 4.55)
def accumulator(p):
    for left, title, which in ((0.6, "s: scores from Q·Kᵀ, fp32", "s[i]"), (4.6, "p[0]: A of P·V, fp16", "p[0][i]")):
        p.text(left, 0.16, title, 10, bold=True)
        p.text(left, 0.38, f"number: the lane; colour: its {which}", 8)
        fragment(p, left, 0.95, 0.178, A, 16, 8, "keys 0 to 15; a cell is two keys", lambda i: "5")
    p.text(0.25, 2.37, "query row 0 to 15, warp 0", 7.5, "middle", turned=True)
    p.arrow(3.55, 2.37, 4.3, 2.37, RED, 2)
    p.text(3.92, 2.05, "exponential,\nround", 8.5, "middle", color=DARK)
    p.legend(0.6, 4.1, *((f"s[{2 * i}], s[{2 * i + 1}] → p[0][{i}]", {"fill": PALE[i]}) for i in range(4)), size=7.5)
    p.text(0.6, 4.38, "Warps 1, 2 and 3 do the same for rows 16 to 31, 32 to 47, 48 to 63.", 8)


@figure("ldmatrix-lanes", 3.4)
def ldmatrix_lanes(p):
    size, high, top = 0.33, 0.27, 0.72
    for left, title, across in ((1.05, "ldmatrix, for K", True), (5.1, "ldmatrix.trans, for V", False)):
        p.text(left, 0.2, title, 10, bold=True)
        p.text(left, 0.48, "columns 0–7: 16 bytes per row", 8)
        for row in range(8):
            p.text(left - 0.32, top + (row + 0.5) * high, f"lane {row}", 7.5, "end")
            p.arrow(left - 0.28, top + (row + 0.5) * high, left - 0.02, top + (row + 0.5) * high, width=0.8)
        for lane in sorted(range(LANES), key=lambda lane: lane == MARKED):  # B's first register: in K a row is a column of B, in V a row of B
            k, column = B(lane, 0)
            where = (left + k * size, top + column * high, 2 * size, high) if across else (left + column * size, top + k * high, size, 2 * high)
            p.box(*where, lane, 8, **(MARK if lane == MARKED else PLAIN))
        p.frame(left, top, 8 * size, 8 * high, BLACK, 1.2)
        p.text(left, top + 8 * high + 0.16, "register 0 of lane 5: " + ("row 1, columns 2 and 3" if across else "rows 2 and 3, column 1"), 8)
    p.text(0.1, 3.25, "Matrix 0 of an x4 load. Arrow: the lane that gives a row's address. Number: the lane that receives the two halves.", 8)


@figure("scores-stored-and-read", 3.4)
def scores_stored_and_read(p):
    left, top, side, first, column = 0.55, 0.6, 0.17, 48, 53  # the last block of a row's 64 scores; a column of it
    lane_of = {A(lane, i): lane for lane in range(LANES) for i in range(8)}
    p.text(0.08, 0.16, "Columns 48 to 63: which lane stores", 10, bold=True)
    for (row, c), lane in sorted(lane_of.items()):
        p.box(left + c * side, top + row * side, side, side, lane, 6.5, fill=PALE[0] if lane == 2 else "#fff", edge=GREY, line=0.6)
    for row in (0, 8):
        p.text(left - 0.06, top + (row + 0.5) * side, f"row {row}", 7, "end")
    for c in (0, 5, 15):
        p.text(left + (c + 0.5) * side, top - 0.1, first + c, 7, "middle")
    p.frame(left, top, 16 * side, side, BLACK, 1.6)
    x, y, cell = 3.9, 1.15, 0.245
    at = x + (column - first + 0.5) * cell
    p.text(x, 0.16, "Row 0: which lane stores, which lane reads", 10, bold=True)
    p.text(at, y - 0.14, "column 53", 8.5, "middle", color=RED)
    for line, (name, lanes) in enumerate((("stored by lane", [lane_of[0, c] for c in range(16)]), ("read by lane", [(first + c) % 32 for c in range(16)]))):
        p.text(x, y - 0.14 + 0.95 * line, name, 8.5)
        for c, lane in enumerate(lanes):
            p.box(x + c * cell, y + 0.95 * line, cell, cell, lane, 8, fill=PALE[4 if line else 0] if first + c == column else "#fff", edge=GREY, line=0.6)
    p.line((at, y + cell + 0.03), (at, y + 0.92), color=RED, width=1.8)
    p.text(at + 0.12, y + 0.6, "which comes first?", 8.5, color=RED)
    p.text(x, 2.75, "CUDA does not document this layout; it was read off an H200.", 8, color="#555")


def lanes_row(p, left, y, cell, high, **look):
    for lane in range(LANES):
        p.box(left + lane * cell, y, cell, high, lane, 7, **(MARK if lane == MARKED else PLAIN | look))


@figure("lane-scores", 3.75)
def lane_scores(p):
    left, high, cell = 0.3, 0.34, 7.4 / LANES
    middle, x5 = left + LANES * cell / 2, left + (MARKED + 0.5) * cell
    p.text(left, 0.2, "v2b: 32 lanes, one score", 9.5, bold=True)
    p.text(x5, 0.48, "columns 10 and 11 of key 0", 8.5, "middle", bold=True, color=RED)
    lanes_row(p, left, 0.62, cell, high)
    for lane in range(LANES):
        x = left + (lane + 0.5) * cell
        p.line((x, 0.96), (middle + (x - middle) * 0.45, 1.24), color="#aaa", width=0.6)
    p.box(middle - 1.7, 1.24, 3.4, 0.32, "5 shuffles add up the 32 parts", 8.5, fill=PALE[4])
    p.arrow(middle, 1.57, middle, 1.79)
    p.box(middle - cell, 1.8, 2 * cell, 0.3, "key 0", 8, fill=PALE[0], edge=BLUE)
    p.text(middle + cell + 0.1, 1.95, "then key 1, and so on: 64 times", 8.5)
    p.text(left, 2.4, "v2c3: 32 lanes, 32 scores", 9.5, bold=True)
    p.text(x5, 2.68, "all 64 columns of key 5", 8.5, "middle", bold=True, color=RED)
    p.text(left + LANES * cell, 2.68, "scores of keys 0 to 31; then of keys 32 to 63: 2 times", 8.5, "end")
    lanes_row(p, left, 2.82, cell, high)
    for lane in range(LANES):
        p.line((left + (lane + 0.5) * cell, 3.16), (left + (lane + 0.5) * cell, 3.3), color=RED if lane == MARKED else "#aaa", width=0.8)
    lanes_row(p, left, 3.3, cell, 0.26, fill=PALE[0], edge=BLUE)


@figure("warp-sum", 3.15)
def warp_sum(p):
    left, cell, high, holds = 1.65, 5.0 / LANES, 0.24, {MARKED}
    p.text(left, 0.2, "the lanes whose parts lane 5 has added up (shaded), and the lane that it reads (blue)", 8)
    for i, distance in enumerate((0, 16, 8, 4, 2, 1)):
        y = 0.4 + 0.45 * i
        holds |= {lane ^ distance for lane in holds}
        p.text(left - 0.1, y + high / 2, f"shuffle {i}, distance {distance}" if i else "2 columns per lane", 8, "end")
        for lane in range(LANES):
            p.rect(left + lane * cell, y, cell, high, fill=PALE[4] if lane in holds else "#fff", edge="#999", line=0.5)
        for lane, edge in {MARKED ^ distance: BLUE, MARKED: RED}.items():
            p.box(left + lane * cell, y, cell, high, lane, 7, fill="none", edge=edge, line=1.8)
        p.text(left + LANES * cell + 0.1, y + high / 2, f"{len(holds)} part{'s' * (i > 0)}" + (", the score" if i == 5 else ""), 8)


@figure("score-stripes", 4.35)
def score_stripes(p):
    side, left, top, unit = 1.64, 1.75, 0.34, 1.64 / 64
    sx, sy, block = left + side + 0.16, top + side + 0.16, 16 * unit
    for step in range(4):  # warp 1, keys 16 to 31: a row of A blocks times a column of B blocks
        p.box(left + step * block, sy + block, block, block, f"A {step}", 8.5, fill=PALE[1], edge=RED)
        p.box(sx + block, top + step * block, block, block, f"B {step}", 8.5, fill=PALE[1], edge=RED)
    for warp in range(4):
        p.text(left - 0.08, sy + (warp + 0.5) * block, f"warp {warp}: rows {16 * warp}–{16 * warp + 15}", 8.5, "end", bold=warp == 1, color=RED if warp == 1 else BLACK)
        p.line((left, sy + warp * block), (left + side, sy + warp * block), color=GREY, width=0.6)
        for column in range(4):
            p.rect(sx + column * block, sy + warp * block, block, block, edge=GREY, line=0.6)
    p.box(sx + block, sy + block, block, block, "S", 10, bold=True, fill=PALE[1], edge=RED, line=2)
    for x, y, text, text_y in (
        (left, sy, "Q: 64 rows × 64 columns", sy - 0.14),
        (sx, top, "Kᵀ: 64 columns of D × 64 keys", top - 0.14),
        (sx, sy, "scores: 64 rows × 64 keys", sy + side + 0.16),
    ):
        p.frame(x, y, side, side, BLACK, 1.2)
        p.text(x + side / 2, text_y, text, 8.5, "middle", bold=True)
    p.text(sx + side + 0.2, sy + 1.5 * block, "S = A 0 · B 0 + A 1 · B 1\n      + A 2 · B 2 + A 3 · B 3\nrows 16–31, keys 16–31", 8.5)
    p.text(left - 0.08, sy + side + 0.3, "warps 4, 5, 6: no rows\nwarp 7: copies K and V", 8.5, "end")
