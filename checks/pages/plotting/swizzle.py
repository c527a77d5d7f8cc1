"""The swizzle by address bits: which bits of the row are added to which bits of the place."""
from .registry import figure
from .results import Unusable
from .style import BLACK, LIGHT, VERMILION, arrow, box, canvas


def data_swizzle(r):
    """For each bit of the byte address: the bits of row and column whose exclusive or it is."""
    bits = r.layouts["swizzle_bits"]
    sources = {}
    for name in ("row", "column"):
        for i, image in enumerate(bits[name]):
            for at in range(image.bit_length()):
                if image >> at & 1:
                    sources.setdefault(at, []).append([name, i])
    twice = [at for at, of in sources.items() if len(of) > 1]
    if not twice or any(len(of) > 2 for of in sources.values()):
        raise Unusable("layouts.json: its swizzle adds no bit of the row to the place, or more than one")
    return {"sources": [sources.get(at, []) for at in range(max(sources) + 1)], "images": bits}


@figure("swizzle-bits", data_swizzle)
def draw_swizzle(plt, d):
    figure, axes = canvas(plt, 4.35)
    count, width = len(d["sources"]), 0.5
    left = lambda at: 0.95 + (count - 1 - at) * width
    name = {"row": "r", "column": "c"}
    tone = lambda at: LIGHT[4] if at >= 7 else LIGHT[0] if at >= 4 else "white"
    plain, placed = 0.85, 2.35
    for at, of in enumerate(d["sources"]):
        # Without the swizzle each bit of the address is one bit of the row or the column: the first that it comes from.
        own = next((one for one in of if one[0] == "column"), of[0] if of else None)
        box(axes, left(at), plain, width, 0.36, f"{name[own[0]]}{own[1]}" if own else "0", 9, facecolor=tone(at))
        axes.text(left(at) + width / 2, plain - 0.1, str(at), fontsize=7.5, ha="center", va="center")
        added = [one for one in of if one != own]
        text = " ⊕ ".join(f"{name[n]}{i}" for n, i in ([own] if own else []) + added) or "0"
        box(axes, left(at), placed, width, 0.36, text, 8 if added else 9, facecolor=tone(at), linewidth=1.8 if added else 0.8, edgecolor=VERMILION if added else BLACK)
        arrow(axes, (left(at) + width / 2, placed), (left(at) + width / 2, plain + 0.36), BLACK, 0.8)
        for n, i in added:
            source = next(a for a, other in enumerate(d["sources"]) if other and other[0] == [n, i] and a != at)
            y = 1.5 + 0.22 * (i % 3)
            axes.plot([left(source) + width / 2, left(at) + width / 2], [y, y], color=VERMILION, linewidth=1.5)
            axes.plot([left(source) + width / 2], [y], marker="o", color=VERMILION, markersize=5)
            axes.text(left(at) + width / 2, y, "⊕", fontsize=13, color=VERMILION, ha="center", va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0})
    axes.text(0.08, plain + 0.18, "row-major", fontsize=8.5, va="center")
    axes.text(0.08, placed + 0.18, "stored at", fontsize=8.5, va="center")
    axes.text(0.08, plain - 0.1, "bit", fontsize=7.5, va="center")
    axes.text(0.08, 0.2, "Byte address of column c of row r, in rows of 64 fp16 (128 bytes)", fontsize=10, weight="bold", va="center")
    for low, high, text in ((7, count, "row"), (4, 7, "chunk: 16 bytes"), (1, 4, "half in the chunk")):
        arrow(axes, (left(high - 1), 0.56), (left(low) + width, 0.56), BLACK, 0.8, arrowstyle="|-|", mutation_scale=3)
        axes.text((left(high - 1) + left(low) + width) / 2, 0.46, text, fontsize=7.5, ha="center", va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
    arrow(axes, (left(6), placed + 0.5), (left(2) + width, placed + 0.5), BLACK, 0.8, arrowstyle="|-|", mutation_scale=3)
    axes.text((left(6) + left(2) + width) / 2, placed + 0.64, "bits 2 to 6 choose one of 32 banks", fontsize=7.5, ha="center", va="center")
    # Where chunk 3 of rows 0 to 7 lies, by the same images.
    axes.text(0.08, 3.36, "chunk 3 (c3, c4 set) of rows 0 to 7", fontsize=8.5, weight="bold", va="center")
    chunk, columns = 3, d["images"]["column"]
    for row in range(8):
        address = 0
        for i in range(3):
            address ^= (row >> i & 1) * d["images"]["row"][i] ^ (chunk >> i & 1) * columns[3 + i]
        x = 0.95 + row * 0.86
        box(axes, x, 3.55, 0.82, 0.52, f"row {row}: {row:03b}\n⊕ {chunk:03b} = {address >> 4 & 7:03b}", 7.5, facecolor=LIGHT[0])
    axes.text(0.08, 4.22, "Eight rows, eight places, eight groups of four banks: an ldmatrix of eight rows has no conflict.", fontsize=7.5, va="center")
    return figure
