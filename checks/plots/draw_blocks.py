"""Boxes and arrows: what a block walks over, who owns what, what goes where."""

from picture import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PLAIN, PURPLE, RED, figure


@figure("walk", 4.1)
def walk(p):
    now, left, wide, band, warp = 4, 1.0, 0.78, 0.135, 3  # the tile at hand; of a tile; the rows of a warp
    sx, sy = left + now * wide, 2.35
    ox, middle, below = sx + wide + 1.15, sy + (warp + 0.5) * band, sy + 8 * band + 0.25
    p.text(left, 0.16, "K and V in global memory: 512 keys, in 8 tiles of 64", 8.5, bold=True)
    for tile in sorted(range(8), key=lambda tile: tile == now):  # its frame above its neighbours
        p.box(left + tile * wide, 0.3, wide, 0.36, f"tile {tile}", 8, **({"fill": PALE[4], "line": 1.4} if tile == now else PLAIN))
    p.text(sx - 0.1, 1.3, "shared memory", 8.5, "end", bold=True)
    for ahead, what in ((0, "all warps\nread it"), (1, "warp 7\ncopies it")):
        x = sx + ahead * wide
        p.arrow(x + wide / 2, 0.68, x + wide / 2, 1.0, dash="4 3" if ahead else "")
        p.box(x + 0.03, 1.02, wide - 0.06, 0.6, f"slot {ahead}:\ntile {now + ahead}", 8, fill="#fff" if ahead else PALE[4], line=1.4, dash=bool(ahead))
        p.text(x + wide / 2, 1.8, what, 8, "middle")
    p.arrow(sx + wide / 2, 1.97, sx + wide / 2, sy - 0.2)
    for x, width, name, shade in ((left, wide, "Q", 0), (sx, wide, "scores", 2), (ox, 0.16, "m", 3), (ox + 0.2, 0.16, "l", 3), (ox + 0.4, wide, "O", 1)):
        for w in range(8):
            p.rect(x, sy + w * band, width, band, fill=PALE[shade], edge="#aaa", line=0.5)
        p.frame(x, sy, width, 8 * band, BLACK, 1)
        p.frame(x, sy + warp * band, width, band)
        p.text(x + width / 2, sy - 0.11, name, 9, "middle", bold=True)
    p.text(left - 0.08, middle, "warp 3: rows\n24 to 31", 8, "end", bold=True, color=RED)
    p.arrow(left + wide + 0.05, middle, sx - 0.05, middle, RED)
    p.arrow(sx + wide + 0.05, middle, ox - 0.05, middle, RED)
    for x, text in ((left, "64 rows,\n8 per warp"), (sx, "of tile 4 only:\n64 rows × 64 keys"), (ox, "before tile 4 is added:\nthe sums of tiles 0 to 3")):
        p.text(x, below, text, 8)
    p.text(0.1, 3.98, "One of the 8 blocks that share a head of 512 rows. Heights are not to scale.", 7.5)


@figure("two-stripes", 4.0)
def two_stripes(p):
    from results import rows

    for left, stage, stripes in ((0.25, "v2c8", 1), (4.25, "v2c9", 2)):
        p.text(left, 0.2, f"{stage}: {16 * stripes} rows per warp", 9.5, bold=True)
        p.box(left + 1.0, 0.42, 0.55, 0.62, "B", 11, fill=PALE[1], edge=RED, line=1.6)
        p.text(left + 1.65, 0.73, "loaded from shared memory:\n2 loads for 8 keys of K,\n4 loads for 8 columns of V", 7.5)
        p.arrow(left + 1.275, 1.05, left + 1.275, 1.33, RED, 1.4)
        for i in range(stripes):
            y = 1.35 + i * 0.72
            p.box(left, y, 0.62, 0.6, f"A: rows\n{16 * i}–{16 * i + 15}", 7.5, fill=PALE[0], edge=BLUE)
            p.text(left + 0.8, y + 0.3, "×", 12, "middle")
            p.box(left + 1.0, y, 0.55, 0.6, "B", 10, edge=RED, dash=True)
            p.text(left + 1.73, y + 0.3, "→", 12, "middle")
            p.box(left + 1.92, y, 0.42, 0.6, f"C\n{i}", 8, fill=PALE[2], edge=GREEN)
            p.text(left + 2.45, y + 0.3, f"product {i + 1}\nwith this B", 7.5)
    p.text(0.25, 3.05, "Shared loads of (1,1,512,64), counted: 16,384 products in both", 9, bold=True)
    for y, stage, q in ((3.37, "v2c8_mma_sync", 0), (3.69, "v2c9_two_stripes", 512)):  # q: four registers of each A of Q, which v2c9 reads from shared memory
        count = {row["what"]: int(row["instructions"]) for row in rows("counters.csv", stage=stage, B="1", H="1", S="512", D="64", causal="0") if row["instructions"]}
        loads, scale = count["shared load"] - q, 4.6 / 49152
        assert count["mma"] == 16384
        p.text(0.25, y, stage.split("_")[0], 8)
        p.rect(0.75, y - 0.11, loads * scale, 0.22, fill=PALE[1], edge=RED)
        if q:
            p.rect(0.75 + loads * scale, y - 0.11, q * scale, 0.22, fill=PALE[0], edge=BLUE)
        p.text(0.85 + (loads + q) * scale, y, f"{loads:,} of B: {loads / count['mma']:g} per product" + (f"; {q} of Q" if q else ""), 8)


@figure("merge", 3.75)
def merge(p):
    width, lefts = 3.3, (0.25, 4.45)
    name = lambda block: f"columns {32 * block} to {32 * block + 31}"
    for block, left in enumerate(lefts):
        p.text(left, 0.2, f"block {block}: keys {256 * block} to {256 * block + 255}", 12, bold=True)
        p.text(left, 0.52, "its O in registers, over these keys:", 9.5)
        for part in (0, 1):
            does, look = ("keeps", {"bold": True, "fill": PALE[0]}) if part == block else ("sends", {"fill": PALE[4], "hatch": "/"})
            p.box(left + part * width / 2, 0.7, width / 2, 0.66, f"{name(part)}\n{does}", 9.5, **look)
        p.box(left, 2.3, width, 0.55, f"shared memory of block {block}:\n{name(block)} and m, l of block {1 - block}", 9.5, fill=PALE[4])
        p.arrow(left + width / 2, 2.86, left + width / 2, 3.21)
        p.text(left + width / 2 + 0.1, 3.03, "waits at its mbarrier", 9)
        p.box(left, 3.22, width, 0.42, f"merges and stores {name(block)}", 9.5, bold=True, fill=PALE[0])
    for block, colour, dash in ((0, RED, ""), (1, BLUE, "6 4")):
        p.arrow(lefts[block] + (0.75 - block / 2) * width, 1.37, lefts[1 - block] + (0.3 + 0.4 * block) * width, 2.28, colour, 2.2, dash)
    p.text(4.1, 1.5, "st.async", 9.5, "middle")


@figure("clocks", 3.1)
def clocks(p):
    for left, ordered in ((0.15, True), (4.15, False)):
        line = left + 0.62
        p.text(left, 0.2, "with __syncwarp: silent" if ordered else "without: a race, reported with both lines", 10, bold=True)
        for y, name in ((0.78, "lane A"), (2.38, "lane B")):
            p.text(line - 0.1, y, name, 8.5, "end")
            p.line((line, y), (left + 3.6, y), color=GREY)
        p.box(line + 0.15, 0.62, 0.95, 0.32, "s[12] = x", 8.5, fill=PALE[0])
        p.box(line + 1.95, 2.22, 0.95, 0.32, "y = s[12]", 8.5, fill=PALE[4])
        p.box(line + 0.15, 1.3, 1.4, 0.52, "cell of s[12]:\nwritten by A, clock 7", 7.5, fill=PALE[5])
        p.arrow(line + 0.62, 0.94, line + 0.62, 1.3)
        p.arrow(line + 1.55, 1.6, line + 2.3, 2.22)
        if ordered:
            p.line((line + 1.7, 0.5), (line + 1.7, 2.66), color=RED, width=2.5)
            p.text(line + 1.78, 1.12, "__syncwarp gives\nB the clock of A", 8, color=RED)
        p.text(line + 2.95, 1.85, f"B knows A\nup to {7 if ordered else 3}", 8.5, "end")
        p.text(line + 2.95, 2.85, "7 ≤ 7: ordered" if ordered else "7 > 3: nothing orders them", 9, "end", bold=True, color=GREEN if ordered else RED)


# --- the backward pass ---------------------------------------------------------------------------------------------------------

BOXES = {
    "sK": (0.2, 0.5, 0.75, "K", "shared"),
    "sV": (3.1, 0.5, 0.75, "V", "shared"),
    "S": (1.35, 0.5, 1.4, "Sᵀ = scale K Qᵀ", ""),
    "dP": (4.25, 0.5, 1.4, "dPᵀ = V dOᵀ", ""),
    "P": (1.35, 1.45, 1.4, "Pᵀ = exp(Sᵀ − L)", ""),
    "dS": (4.25, 1.45, 1.75, "dSᵀ = Pᵀ (dPᵀ − δ)", ""),
    "dV": (1.35, 2.4, 1.4, "dV += Pᵀ dO", ""),
    "dK": (3.35, 2.4, 1.4, "dK += dSᵀ Q", ""),
    "sdS": (5.25, 2.4, 0.9, "dS", "shared"),
    "dQ": (6.5, 2.4, 1.25, "dQ = dS K", ""),
    "sum": (6.5, 3.3, 1.25, "sums of dQ", "global"),
}
PLACES = {"": {"fill": PALE[0]}, "shared": {"fill": PALE[4], "hatch": "/"}, "global": {"fill": PALE[5]}}


@figure("flow-b3", 3.9)
def flow_b3(p):
    for x, y, width, text, place in BOXES.values():
        p.box(x, y, width, 0.42, text, 8.5, **PLACES[place])
    for arrow in "sK S A; sV dP A; S P; dP dS; P dS; P dV A; dS dK A; dS sdS barrier; sdS dQ A; dQ sum atomicAdd".split(";"):
        a, b, label = [*arrow.split(), ""][:3]
        (ax, ay, aw, *_), (bx, by, bw, *_) = BOXES[a], BOXES[b]
        if ay == by:
            p.arrow(ax + aw, ay + 0.21, bx, by + 0.21)
            p.text((bx + ax + aw) / 2, ay + 0.1, label, 8, "middle", color=RED)
        else:
            inside = lambda x, w, other, of: max(x + 0.15, min(x + w - 0.15, other + of / 2))
            x, to = inside(ax, aw, bx, bw), inside(bx, bw, ax, aw)
            p.arrow(x, ay + 0.42, to, by)
            p.text((x + to) / 2 + 0.08, (ay + 0.42 + by) / 2, label, 8, color=RED)
    p.text(0.2, 0.24, "one warp's part of a tile; A: the product's first operand", 9, bold=True)
    p.text(0.2, 3.3, "dS is without the scale: dK and dQ are multiplied by it once, at the end", 8.5)
    p.legend(0.2, 3.75, ("registers of one warp", PLACES[""]), ("shared memory", PLACES["shared"]), ("global memory", PLACES["global"]))


@figure("owners-b2", 4.75)
def owners_b2(p):
    left, top, cell = 0.75, 0.95, 0.72
    looks = [{"edge": BLUE, "hatch": "/"}, {"edge": ORANGE, "hatch": "\\"}, {"edge": GREEN, "hatch": "."}, {"edge": PURPLE, "hatch": "x"}]
    x, foot = left + 4 * cell, top + 4 * cell
    p.text(0.1, 0.2, "gradients: a block per 32 keys", 10, bold=True)
    p.text(left + 2 * cell, top - 0.36, "keys", 9, "middle")
    p.text(left - 0.08, top - 0.12, "rows", 9, "end")
    p.text(x + 0.55, top - 0.26, "dQ of these rows: fp32 sums,\neach block adds its part", 9)
    for row in range(4):
        y, span = top + row * cell, f"{32 * row}–{32 * row + 31}"
        p.text(left - 0.08, y + cell / 2, span, 8, "end")
        p.text(left + (row + 0.5) * cell, top - 0.12, span, 8, "middle")
        for key in range(4):
            if key > row:
                p.box(left + key * cell, y, cell, cell, "masked", 7.5, fill=PALE[5], edge="#bbb")
            else:
                p.rect(left + key * cell, y, cell, cell, **looks[key])
                p.frame(left + key * cell, y, cell, cell, BLACK, 0.8)
        p.arrow(x, y + cell / 2, x + 0.5, y + cell / 2)
        for block in range(row + 1):
            p.box(x + 0.55 + 0.58 * block, y + 0.21, 0.3, 0.3, block, 9, bold=True, line=1.4, **looks[block])
            if block < row:
                p.text(x + 0.99 + 0.58 * block, y + 0.36, "+", 12, "middle", bold=True)
        p.text(x + 2.95, y + 0.36, f"{row + 1} parts,\nin any order" if row else "one part", 8.5)
    for block in range(4):
        middle = left + (block + 0.5) * cell
        p.arrow(middle, top + (block + 0.2) * cell, middle, foot - 0.2 * cell, width=1.8)
        p.arrow(middle, foot, middle, foot + 0.26)
        p.box(middle - 0.15, foot + 0.28, 0.3, 0.3, block, 9, bold=True, line=1.4, **looks[block])
    p.text(0.1, foot + 0.78, "dK and dV of these keys: stored once, by this block", 8.5)


# --- the machine ---------------------------------------------------------------------------------------------------------------


@figure("hardware", 3.95)
def hardware(p):
    """Rates: checks/counters/floor.hpp and the benchmark's copy (2.99 TB/s); latencies: the papers that the on-ramp names."""
    top, high = 0.75, 2.3
    upper, lower = top + 0.27 * high, top + 0.74 * high

    def path(x, to, rate, note, y=top + high / 2, color=BLACK):
        p.arrow(x, y, to, y, color, 1.6)
        p.text((x + to) / 2, y - 0.13, rate, 9, "middle", bold=True)
        p.text((x + to) / 2, y + 0.24, note, 7.5, "middle")

    p.rect(3.65, 0.38, 4.25, high + 0.74, line=1.6)
    p.text(3.75, 0.24, "one SM", 9.5, bold=True)
    p.box(0.1, top, 0.75, high, "HBM\n\n80 GB", 8.5, fill=PALE[3])
    p.box(1.95, top, 0.75, high, "L2\n\n50 MiB\nfor all\n132 SMs", 8.5, fill=PALE[4])
    p.box(3.8, top, 0.9, high, "shared\nmemory\n\n228 KiB\n32 banks", 8.5, fill=PALE[0])
    path(0.85, 1.95, "11 bytes", "2.99 TB/s for\nall SMs together")
    path(2.7, 3.8, "64 bytes", "30 seen with\nall SMs asking", upper)
    path(2.7, 3.8, "TMA", "tiles, without\nregisters", lower, BLUE)
    path(4.7, 5.75, "128 bytes", "one wavefront", upper)
    path(4.7, 5.75, "wgmma", "operands, without\nregisters", lower, BLUE)
    for q in range(4):
        p.box(
            5.75 + q % 2 * 1.03, top + q // 2 * (high / 2 + 0.02), 0.99, high / 2 - 0.02, "scheduler\n16,384 registers\ntensor core\n32 FMA lanes\n4 ex2", 7, fill=PALE[2]
        )
    p.text(7.82, top + high + 0.2, "the SM per clock: 4 instructions, 4096 FLOP by wgmma, 16 exponentials", 7.5, "end")
    for x, number in ((0.475, 480), (2.325, 263), (4.25, 29)):
        p.text(x, top - 0.12, f"{number} clocks", 8, "middle")
    p.text(
        0.1, 3.72, "Bold: bytes per clock of one SM, at 1.98 GHz. Above a memory: clocks from request to result. Blue: ways without registers. ex2: 2 to a power.", 7.5
    )
