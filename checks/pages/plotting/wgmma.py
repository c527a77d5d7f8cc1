"""Figures of wgmma's operands: the copy of a tile, descriptors over it, and the registers of a warpgroup."""
from .registry import figure
from .style import BLACK, LIGHT, VERMILION, arrow, box, canvas

CHUNK, LINE = 0.36, 0.2  # a cell's width and height: 16 bytes, and a line of 128
TONES = [LIGHT[0], LIGHT[4], LIGHT[2], LIGHT[3]]  # of the products' columns, or of the eight keys


def data_descriptor(r):
    return r.layouts["descriptors"]


def lines_of(one):
    """[line of 128 bytes][place in it] -> (row, chunk), from [row][chunk] -> place."""
    lines = {}
    for row, chunks in enumerate(one["places"]):
        for chunk, place in enumerate(chunks):
            lines.setdefault(place // 8, {})[place % 8] = row, chunk
    return lines


def draw_lines(axes, one, first, left, top, tone, bold):
    """Sixteen lines of shared memory from line `first` on: which chunk of its row lies in each place."""
    lines = lines_of(one)
    for i in range(16):
        for place, (row, chunk) in lines[first + i].items():
            marked, x, y = bold(row, chunk), left + place * CHUNK, top + i * LINE
            box(axes, x, y, CHUNK, LINE, str(chunk), 8 if marked else 7, words={"weight": "bold" if marked else "normal"}, facecolor=tone(row, chunk), edgecolor="#777777", linewidth=0.5)
            if marked:
                box(axes, x + 0.015, y + 0.015, CHUNK - 0.03, LINE - 0.03, facecolor="none", edgecolor=VERMILION, linewidth=1.6, zorder=3)
    for i in (0, 8):
        box(axes, left, top + i * LINE, 8 * CHUNK, 8 * LINE, facecolor="none", linewidth=1.6, zorder=2)


def span(axes, x, y0, y1, text, side=1):
    arrow(axes, (x, y0), (x, y1), BLACK, 1, arrowstyle="<|-|>", mutation_scale=8)
    axes.text(x + 0.07 * side, (y0 + y1) / 2, text, fontsize=7.5, va="center", ha="left" if side > 0 else "right")


def start_mark(axes, x, top, start, colour):
    arrow(axes, (x, top), (x, top - 0.2), colour, 1.3)
    axes.text(x, top - 0.27, f"+{start}", fontsize=7.5, ha="center", va="center", color=colour)


def key_of(axes, x, y, tone, text):
    box(axes, x, y - 0.075, 0.22, 0.15, facecolor=tone, edgecolor="#777777", linewidth=0.6)
    axes.text(x + 0.29, y, text, fontsize=8, va="center")


def draw_heads(axes, one, keys, left, top):
    axes.text(0.08, 0.16, f"A cell is a place of 16 bytes in shared memory; its number is the chunk of 8 columns that lies there (swizzle of {one['swizzle']} bytes).", fontsize=8, va="center")
    axes.text(0.08, 0.36, "16 of the tile's 64 rows are shown. Thick border: 8 rows of 128 bytes, where the pattern repeats.", fontsize=8, va="center")
    axes.text(0.08, top - 0.72, "colour:", fontsize=8, va="center")
    for i, text in enumerate(keys):
        key_of(axes, left + 1.0 * i, top - 0.72, TONES[i], text)
    for i in range(16):
        axes.text(left - 0.08, top + (i + 0.5) * LINE, f"row {i}: {i * 128}" if i % 8 == 0 else str(i * 128), fontsize=7, ha="right", va="center", weight="bold" if i % 8 == 0 else "normal")
    axes.text(0.08, top - 0.27, "start, byte", fontsize=7.5, va="center")


EXAMPLE = 11, 2  # the key and the chunk of its row that v3b's page computes by hand


@figure("descriptor-k-major", data_descriptor)
def draw_k_major(plt, d):
    """The first slab, where a product takes two chunks of each row; and what the descriptor of one product says."""
    figure, axes = canvas(plt, 4.72)
    one, left, top = d["of"][0], 0.95, 1.36
    starts = one["starts"][:4]  # those in the first slab
    draw_heads(axes, one, [f"product {i}" for i in range(4)], left, top)
    draw_lines(axes, one, 0, left, top, lambda row, chunk: TONES[chunk // 2 % 4], lambda row, chunk: chunk // 2 == 1)
    for i, start in enumerate(starts):
        start_mark(axes, left + start / 16 * CHUNK, top, start, "#A33F00" if i == 1 else BLACK)
    side = left + 8 * CHUNK
    span(axes, side + 0.1, top, top + 8 * LINE, f"SBO\n{one['stride']} B")
    key, chunk = EXAMPLE
    line, place = divmod(one["places"][key][chunk], 8)
    x, y = left + place * CHUNK, top + line * LINE
    box(axes, x, y, CHUNK, LINE, facecolor="none", linewidth=2.4, zorder=5)
    axes.plot([x + CHUNK, side + 0.1], [y + LINE / 2] * 2, color=BLACK, linewidth=0.8, linestyle=":", zorder=5)
    axes.text(side + 0.15, y + LINE / 2, f"key {key}, columns {8 * chunk} to {8 * chunk + 7}: byte {128 * line + 16 * place}", fontsize=8.5, weight="bold", va="center")
    x, y = side + 1.2, top + 0.1
    axes.text(x, y, "The descriptor of product 1", fontsize=9, weight="bold", va="center", color="#A33F00")
    for i, (field, value) in enumerate((("start", f"+{starts[1]}"), ("SBO", f"{one['stride']}: to the next 8 rows"), ("LBO", "not used"), ("swizzle", f"{one['swizzle']} bytes"))):
        axes.text(x, y + 0.28 * (i + 1), field, fontsize=8.5, va="center")
        axes.text(x + 0.75, y + 0.28 * (i + 1), value, fontsize=8.5, va="center")
    return figure


@figure("descriptor-mn-major", data_descriptor)
def draw_mn_major(plt, d):
    """Both slabs: a product takes all chunks of sixteen rows."""
    figure, axes = canvas(plt, 5.22)
    one, slab, left, second, top = d["of"][1], d["rows"] * 128, 0.95, 4.75, 1.36
    draw_heads(axes, one, ["keys 0-7", "keys 8-15: product 0 reads both"], left, top)
    for x, first, text in ((left, 0, "slab 0: columns 0 to 63"), (second, slab // 128, f"slab 1: columns 64 to 127, {slab} bytes further")):
        axes.text(x, top - 0.46, text, fontsize=8, va="center")
        draw_lines(axes, one, first, x, top, lambda row, chunk: TONES[row // 8], lambda row, chunk: False)
    start_mark(axes, left, top, one["starts"][0], BLACK)
    span(axes, left + 8 * CHUNK + 0.1, top, top + 8 * LINE, f"SBO\n{one['stride']} B:\n8 keys to\nthe next 8")
    bottom = top + 16 * LINE + 0.1
    arrow(axes, (left, bottom), (second, bottom), BLACK, 1, arrowstyle="<|-|>")
    axes.text(left, bottom + 0.14, f"LBO {one['leading']} B: from 64 columns to the next 64", fontsize=7.5, va="center")
    axes.text(0.08, bottom + 0.4, f"Products 1 to 3 start at {', '.join(f'+{s}' for s in one['starts'][1:])}: {one['starts'][1]} bytes, or 16 rows, apart.", fontsize=8, va="center")
    return figure


@figure("tma-box", data_descriptor)
def draw_box(plt, d):
    """What one copy of the engine takes from the tensor, and where it puts it."""
    figure, axes = canvas(plt, 3.75)
    one = d["of"][0]
    x, top, wide, tall, now = 0.75, 0.98, 1.5, 2.0, 2  # the tensor of a head, in tiles of a quarter of its height
    axes.text(0.08, 0.16, "Global memory: K, D = 128", fontsize=9, weight="bold", va="center")
    for i in (2, 1, 0):
        box(axes, x + 0.14 * i, top - 0.14 * i, wide, tall, linewidth=0.9, zorder=3 - i)
    axes.text(x + wide + 0.34, top - 0.2, "other\nheads", fontsize=7.5, va="center")
    for slab in (0, 1):
        box(axes, x + slab * wide / 2, top + now * tall / 4, wide / 2, tall / 4, f"slab {slab}", 8, words={"zorder": 5}, facecolor=TONES[slab], edgecolor=VERMILION, linewidth=1.6, zorder=4)
    axes.text(x + wide / 2, top + 0.5 * tall / 4, "one head: [S][128]", fontsize=8, ha="center", va="center", zorder=5)
    arrow(axes, (x, top + now * tall / 4), (x - 0.26, top + now * tall / 4), VERMILION, 1.3)
    axes.text(x - 0.3, top + now * tall / 4, "row\nt · N", fontsize=7.5, ha="right", va="center", color="#A33F00")
    axes.text(0.08, top + tall + 0.2, f"Box: {d['rows']} rows × 2 slabs, one head. Its\nbegin: column 0, row t · N, slab 0, head.", fontsize=8, va="top", linespacing=1.3)
    middle = 3.05
    axes.text(middle, 0.16, "Shared memory: a slot", fontsize=9, weight="bold", va="center")
    height, size = 1.0, 128 * d["rows"]
    for slab in (0, 1):
        box(axes, middle + 0.2, top + slab * height, 1.0, height, facecolor=TONES[slab], linewidth=1.2)
        axes.text(middle + 0.7, top + (slab + 0.62) * height, f"slab {slab}\n{d['rows']} rows of\n128 bytes", fontsize=7.5, ha="center", va="center")
        axes.text(middle + 0.22, top + slab * height + 0.1, f"+{slab * size}", fontsize=7.5, va="center")
    axes.annotate("", (middle + 0.16, top + height), (x + wide + 0.06, top + (now + 0.5) * tall / 4), zorder=6, arrowprops={"arrowstyle": "-|>", "color": VERMILION, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0})
    axes.text(middle, top + tall + 0.2, f"One copy: {2 * size} bytes\nfor the mbarrier full.", fontsize=8, va="top", linespacing=1.3)
    left, cell, line = 5.0, 0.36, 0.22
    axes.text(left - 0.1, 0.16, "The first 8 rows of slab 0, swizzled", fontsize=9, weight="bold", va="center")
    lines = lines_of(one)
    for i in range(8):
        axes.text(left - 0.05, top + (i + 0.5) * line, str(i), fontsize=7, ha="right", va="center", zorder=5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
        for place, (row, chunk) in lines[i].items():
            box(axes, left + place * cell, top + i * line, cell, line, str(chunk), 8, words={"weight": "bold" if chunk == 0 else "normal"}, facecolor=TONES[2] if chunk == 0 else "white", edgecolor="#777777", linewidth=0.6)
    box(axes, left, top, 8 * cell, 8 * line, facecolor="none", linewidth=1.4)
    for y in (0, 8 * line):  # the part of the slot that is drawn large
        axes.plot([middle + 1.2, left], [top + (y and 0.125), top + y], color="#777777", linewidth=0.8, linestyle="--")
    axes.text(left, top - 0.14, "place in the row, 16 bytes each: 0 to 7", fontsize=7.5, va="center")
    axes.text(left - 0.1, top + 8 * line + 0.2, "Number: the chunk of 8 columns that lies\nthere. Chunk 0 (green) of row r is at\nplace r; chunk c at c xor (r % 8).", fontsize=8, va="top", linespacing=1.3)
    return figure


LANE, PAIR, ROW = 5, 0.345, 0.215  # the lane that is marked; a pair of elements


def data_accumulator(r):
    """Of the first warp, of D and of A: [row][pair of columns] -> (lane, first element); and the rows and columns of each warp's part."""
    w = r.layouts["warpgroup"]
    columns = w["columns"]

    def of_warp(held):
        grid = {}
        for lane, elements in enumerate(held[:32]):
            for i in range(0, len(elements), 2):  # an even element and the odd one after it are neighbours
                grid[f"{elements[i] // columns},{elements[i] % columns // 2}"] = lane, i
        return grid

    warps = [sorted({at // columns for thread in w["d"][32 * n:32 * n + 32] for at in thread}) for n in range(4)]
    return {"rows": w["rows"], "columns": columns, "warps": [[rows[0], rows[-1]] for rows in warps], "d": of_warp(w["d"]), "a": of_warp(w["a"])}


def draw_registers(plt, axes, d, which, left, top):
    """The first warp's 16 x 16: which lane holds a pair, and in which registers."""
    for at, (lane, i) in d[which].items():
        row, pair = map(int, at.split(","))
        x, y, marked = left + pair * PAIR, top + row * ROW, lane == LANE
        axes.add_patch(plt.Rectangle((x, y), PAIR, ROW, facecolor=TONES[i // 2], edgecolor=VERMILION if marked else "#777777", linewidth=1.8 if marked else 0.5, zorder=4 if marked else 1))
        axes.text(x + PAIR / 2, y + ROW / 2, str(lane), fontsize=9 if marked else 7, ha="center", va="center", weight="bold" if marked else "normal", zorder=5)
    side = d["columns"] // 2 * PAIR
    for x, y, width, height in ((left, top, side, 16 * ROW), (left + side / 2, top, 0, 16 * ROW), (left, top + 8 * ROW, side, 0)):
        axes.add_patch(plt.Rectangle((x, y), width, height, facecolor="none", edgecolor=BLACK, linewidth=1.4, zorder=3))
    for i in range(16):
        if i % 2 == 0:
            axes.text(left - 0.06, top + (i + 0.5) * ROW, str(i), fontsize=7, ha="right", va="center")
        if i % 4 == 0:
            axes.text(left + i * PAIR / 2 + 0.05, top - 0.08, str(i), fontsize=7, va="center")


@figure("accumulator", data_accumulator)
def draw_accumulator(plt, d):
    figure, axes = canvas(plt, 4.85)
    top, first, second = 0.86, 0.75, 4.95
    side, middle = d["columns"] // 2 * PAIR, 0.86 + 8 * ROW
    for x, title, which in ((first, "s: scores from Q·Kᵀ, fp32", "s[i]"), (second, "p[0]: A of P·V, fp16", "p[0][i]")):
        axes.text(x, 0.16, title, fontsize=10, weight="bold", va="center")
        axes.text(x, 0.4, f"number: the lane; colour: its {which}", fontsize=8, va="center")
        axes.text(x + side / 2, top - 0.26, f"keys 0 to {d['columns'] - 1}; a cell is two keys", fontsize=7.5, ha="center", va="center")
    axes.text(first - 0.3, middle, f"query row {d['warps'][0][0]} to {d['warps'][0][1]}, warp 0", fontsize=7.5, rotation=90, ha="center", va="center")
    draw_registers(plt, axes, d, "d", first, top)
    draw_registers(plt, axes, d, "a", second, top)
    arrow(axes, (second - 0.32, middle), (first + side + 0.1, middle), VERMILION, 2)
    axes.text((first + side + second - 0.22) / 2, middle - 0.3, "exponential,\nround", fontsize=8.5, ha="center", va="center", color="#A33F00")
    y = top + 16 * ROW + 0.2
    registers = sorted({i for at, (lane, i) in d["d"].items() if lane == LANE})
    same = {i: next(j for at, (lane, j) in d["a"].items() if lane == LANE and d["d"][at] == (LANE, i)) for i in registers}
    for n, i in enumerate(registers):
        key_of(axes, first + 1.8 * n, y, TONES[i // 2], f"s[{i}], s[{i + 1}] → p[0][{same[i] // 2}]")
    others = ", ".join(f"{low} to {high}" for low, high in d["warps"][1:])
    axes.text(first, y + 0.28, f"Warps 1, 2 and 3 do the same for rows {others}.", fontsize=8, va="center")
    return figure
