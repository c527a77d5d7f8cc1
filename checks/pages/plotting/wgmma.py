"""Figures of wgmma's operands: descriptors over a swizzled tile, and the registers of a warpgroup."""
from .style import BLACK, LIGHT, VERMILION, canvas

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


def draw_lines(plt, axes, one, first, left, top, tone, bold):
    """Sixteen lines of shared memory from line `first` on: which chunk of its row lies in each place."""
    lines = lines_of(one)
    for i in range(16):
        for place, (row, chunk) in lines[first + i].items():
            marked = bold(row, chunk)
            axes.add_patch(plt.Rectangle((left + place * CHUNK, top + i * LINE), CHUNK, LINE, facecolor=tone(row, chunk), edgecolor="#777777", linewidth=0.5))
            axes.text(left + (place + 0.5) * CHUNK, top + (i + 0.5) * LINE, str(chunk), fontsize=8 if marked else 7, weight="bold" if marked else "normal", ha="center", va="center")
            if marked:
                axes.add_patch(plt.Rectangle((left + place * CHUNK + 0.015, top + i * LINE + 0.015), CHUNK - 0.03, LINE - 0.03, facecolor="none", edgecolor=VERMILION, linewidth=1.6, zorder=3))
    for i in (0, 8):
        axes.add_patch(plt.Rectangle((left, top + i * LINE), 8 * CHUNK, 8 * LINE, facecolor="none", edgecolor=BLACK, linewidth=1.6, zorder=2))


def span(axes, x, y0, y1, text, side=1):
    axes.annotate("", (x, y0), (x, y1), arrowprops={"arrowstyle": "<|-|>", "color": BLACK, "linewidth": 1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8})
    axes.text(x + 0.07 * side, (y0 + y1) / 2, text, fontsize=7.5, va="center", ha="left" if side > 0 else "right")


def start_mark(axes, x, top, start, colour):
    axes.annotate("", (x, top), (x, top - 0.2), arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0})
    axes.text(x, top - 0.27, f"+{start}", fontsize=7.5, ha="center", va="center", color=colour)


def key_of(axes, plt, x, y, tone, text):
    axes.add_patch(plt.Rectangle((x, y - 0.075), 0.22, 0.15, facecolor=tone, edgecolor="#777777", linewidth=0.6))
    axes.text(x + 0.29, y, text, fontsize=8, va="center")


def draw_descriptor(plt, d):
    figure, axes = canvas(plt, 10.52)
    slab, left, second = d["rows"] * 128, 0.95, 4.75
    axes.text(0.08, 0.16, f"A cell is a place of 16 bytes; the number in it is the chunk of 8 columns that lies there (swizzle of {d['of'][0]['swizzle']} bytes).", fontsize=8, va="center")
    axes.text(0.08, 0.36, "Thick border: 8 rows of 128 bytes, where the pattern repeats. Arrow from above: a start address, the first field of a descriptor.", fontsize=8, va="center")
    for top, one, title in ((1.72, d["of"][0], "K-major (K in Q·Kᵀ): a row of the tile is a column of B, k runs along it"),
                            (6.58, d["of"][1], "MN-major (V in P·V): a row of the tile is one k, B's columns run along it")):
        k_major, starts = one is d["of"][0], one["starts"]
        axes.text(0.08, top - 1.06, title, fontsize=10, weight="bold", va="center")
        keys = [f"product {i} (slab 1: {i + 4})" for i in range(4)] if k_major else ["k 0 to 7", "k 8 to 15: both read by product 0"]
        for i, text in enumerate(keys):
            key_of(axes, plt, left + (1.72 if k_major else 1.0) * i, top - 0.78, TONES[i], text)
        axes.text(0.08, top - 0.78, "colour:", fontsize=8, va="center")
        for x, text in ((left, "slab 0: columns 0 to 63"), (second, f"slab 1: columns 64 to 127, {slab} bytes further")):
            axes.text(x, top - 0.5, text, fontsize=8, va="center")
        # K major: a product takes two chunks of each row. MN major: all chunks of sixteen rows.
        tone = (lambda row, chunk: TONES[chunk // 2 % 4]) if k_major else (lambda row, chunk: TONES[row // 8])
        for x, first in ((left, 0), (second, slab // 128)):
            draw_lines(plt, axes, one, first, x, top, tone, lambda row, chunk: k_major and chunk // 2 == 1)
        for i in range(16):
            axes.text(left - 0.08, top + (i + 0.5) * LINE, f"row {i}: {i * 128}" if i % 8 == 0 else str(i * 128), fontsize=7, ha="right", va="center", weight="bold" if i % 8 == 0 else "normal")
        span(axes, left + 8 * CHUNK + 0.1, top, top + 8 * LINE, f"stride\n{one['stride']} B")
        axes.text(0.08, top - 0.27, "start, byte" if k_major else "byte", fontsize=7.5, va="center")
        bottom = top + 16 * LINE + 0.1
        if k_major:
            for i, start in enumerate(starts):
                start_mark(axes, (left if start < slab else second) + start % slab / 16 * CHUNK, top, start, "#A33F00" if i == 1 else BLACK)
            text = (f"Outlined: what product 1 reads, chunks 2 and 3 of each row. advance_k: the start moves by {starts[1] - starts[0]} bytes a product,\n"
                    f"and after four products by a slab. Leading byte offset: not used.")
        else:
            start_mark(axes, left, top, starts[0], BLACK)
            axes.annotate("", (left, bottom), (second, bottom), arrowprops={"arrowstyle": "<|-|>", "color": BLACK, "linewidth": 1, "shrinkA": 0, "shrinkB": 0})
            axes.text(left, bottom + 0.14, f"leading {one['leading']} B: from 64 columns to the next 64", fontsize=7.5, va="center")
            bottom += 0.28
            text = (f"advance_keys: the start moves by {starts[1] - starts[0]} bytes a product, to {', '.join(f'+{s}' for s in starts[1:])}.\n"
                    f"The stride leads from 8 k to the next 8.")
        axes.text(0.08, bottom, text, fontsize=8, va="top", linespacing=1.35)
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


def draw_accumulator(plt, d):
    figure, axes = canvas(plt, 4.95)
    top, whole, first, second = 0.78, 0.42, 1.98, 5.14
    axes.text(0.08, 0.16, f"accumulator, {d['rows']} × N", fontsize=10, weight="bold", va="center")
    axes.text(first, 0.16, f"warp 0, {d['columns']} columns, floats", fontsize=10, weight="bold", va="center")
    axes.text(second, 0.16, "A of the next product, halves", fontsize=10, weight="bold", va="center")
    axes.text(first, 0.42, "number: the lane; colour: its d[i], see below", fontsize=7.5, va="center")
    axes.text(second, 0.42, "number: the lane; colour: its a[i], see below", fontsize=7.5, va="center")
    axes.text(0.08, 0.42, "columns of 8, rows", fontsize=7.5, va="center")
    height = 16 * ROW / 4
    for n, (low, high) in enumerate(d["warps"]):
        for block in range(4):
            chosen = n == 0 and block < 2
            axes.add_patch(plt.Rectangle((whole + 0.27 * block, top + n * height), 0.27, height, facecolor="#dddddd" if chosen else "white", edgecolor=BLACK, linewidth=1.8 if chosen else 0.6, zorder=2 if chosen else 1))
        axes.text(whole + 0.54, top + (n + 0.5) * height, f"warp {n}", fontsize=8, ha="center", va="center", zorder=3, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
        axes.text(whole - 0.05, top + (n + 0.5) * height, f"{low} to\n{high}", fontsize=7, ha="right", va="center")
    for block, text in enumerate(("0", "8", "16", "…")):
        axes.text(whole + 0.27 * (block + 0.5), top - 0.08, text, fontsize=7, ha="center", va="center")
    draw_registers(plt, axes, d, "d", first, top)
    draw_registers(plt, axes, d, "a", second, top)
    # A quad: the four lanes that hold a row.
    quad = LANE // 4
    axes.add_patch(plt.Rectangle((first, top + quad * ROW), 4 * PAIR, ROW, facecolor="none", edgecolor=BLACK, linewidth=2.2, linestyle="-", zorder=4.5))
    y = top + 16 * ROW + 0.2
    registers = sorted({i for at, (lane, i) in d["d"].items() if lane == LANE})
    same = {i: next(j for at, (lane, j) in d["a"].items() if lane == LANE and d["d"][at] == (LANE, i)) for i in registers}
    for n, i in enumerate(registers):
        key_of(axes, plt, first + 1.45 * n, y, TONES[i // 2], f"d[{i}], d[{i + 1}] → a[{same[i] // 2}]")
    axes.text(0.08, y + 0.26, f"Orange: lane {LANE}. Thick: the quad of row {quad}, lanes {4 * quad} to {4 * quad + 3}. It holds all columns of the row, so a row's maximum and sum take two shuffles.", fontsize=7.5, va="center")
    return figure


def wgmma_figures(r):
    return {"descriptor": (data_descriptor(r), draw_descriptor), "accumulator": (data_accumulator(r), draw_accumulator)}
