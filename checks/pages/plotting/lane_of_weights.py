"""b3: two accumulators of S transposed become one A operand, and every element stays in its lane. The kernel's own index expressions are read and checked."""
import re

from .heads import ROOT, Unusable
from .layouts import MARKED, fragments
from .registry import figure
from .style import BLACK, LIGHT, VERMILION, arrow, box, canvas, caption

KERNEL = ROOT / "stages/b3_mma_sync/kernel.cu"
WHERE = r"\[(n(?: / 8)?(?: \+ 1)?)\]"  # which accumulator: [n], [n / 8], [n / 8 + 1]


def data_weights(r):
    """For each register of A, for n = 0: the tile and the half of the accumulator it is, and for every lane the (key, first query) there."""
    code = KERNEL.read_text()
    made = re.search(r"p\[i\]\[n\]\[h\] = half_pair\(s\[i\]\[n\]\[2 \* h\], s\[i\]\[n\]\[2 \* h \+ 1\]\)", code)
    line = re.search(r"const unsigned a\[4\] = \{(.*?)\};", code)
    taken = line and re.findall(r"w\[i\]" + WHERE + r"\[([01])\]", line[1])
    if not made or not taken or len(taken) != 4:
        raise Unusable("lane-of-weights: b3's kernel no longer makes its A operand as the figure draws it")
    a, c = fragments(r, "mma_a", "mma_c")
    registers = []
    for number, (tile, half) in enumerate(taken):
        tile, half = int(tile.endswith("+ 1")), int(half)
        places = []
        for lane in range(32):
            pair = [divmod(c["held"][lane][2 * half + e], c["columns"]) for e in (0, 1)]
            pair = [(key, 8 * tile + query) for key, query in pair]
            if pair != [divmod(a["held"][lane][2 * number + e], a["columns"]) for e in (0, 1)]:
                raise Unusable(f"lane-of-weights: register {number} of A is not where lane {lane} has its accumulators")
            places.append(pair[0])
        registers.append({"tile": tile, "half": half, "places": places})
    return {"lane": MARKED, "registers": registers}


@figure("lane-of-weights", data_weights, lambda r: r.layouts)
def draw_weights(plt, d):
    drawn, axes = canvas(plt, 4.3)
    pair, high, top, gap, lane = 0.335, 0.185, 0.92, 0.08, d["lane"]

    def grid(left, apart, names):
        """16 keys × 16 queries, a cell per pair of queries; `apart`: room between the two accumulators."""
        place = lambda key, query: (left + query // 2 * pair + (query // 8) * apart, top + key * high)
        for number, one in enumerate(d["registers"]):
            for holder, (key, query) in enumerate(one["places"]):
                here = holder == lane
                box(axes, *place(key, query), pair, high, names[number] if here else str(holder), 6.6, facecolor=LIGHT[number] if not here else "white",
                    edgecolor=VERMILION if here else "#888888", linewidth=2 if here else 0.5, zorder=3 if here else 1, words={"weight": "bold" if here else "normal", "zorder": 4})
        for tile in (0, 1):
            x = place(0, 8 * tile)[0]
            axes.text(x + 2 * pair, top - 0.32, f"queries {8 * tile}–{8 * tile + 7}", fontsize=8, ha="center", va="center")
            for query in range(8 * tile, 8 * tile + 8, 2):
                axes.text(place(0, query)[0] + pair / 2, top - 0.1, f"{query},{query + 1}", fontsize=6.5, ha="center", va="center")
            for key in (0, 8):
                box(axes, *place(key, 8 * tile), 4 * pair, 8 * high, facecolor="none", edgecolor=BLACK, linewidth=1.3, zorder=2)
        return left + 8 * pair + apart

    left = 0.5
    for key in range(16):
        axes.text(left - 0.06, top + (key + 0.5) * high, str(key), fontsize=6.5, ha="right", va="center")
    axes.text(0.14, top + 8 * high, "key of the stripe", fontsize=8, rotation=90, ha="center", va="center")
    end = grid(left, gap, [f"c{2 * one['half']},c{2 * one['half'] + 1}" for one in d["registers"]])
    begin = 7.93 - 8 * pair
    axes.text(left, 0.22, "Two accumulators of Sᵀ: fp32", fontsize=10, weight="bold", va="center")
    axes.text(left, 0.43, "s[i][0] and s[i][1]", fontsize=8.5, va="center")
    axes.text(begin, 0.22, "One operand A of dV: fp16", fontsize=10, weight="bold", va="center")
    axes.text(begin, 0.43, "Pᵀ, 16 keys × 16 queries", fontsize=8.5, va="center")
    axes.text((end + begin) / 2, 0.22, f"Lane {lane}", fontsize=10, weight="bold", color=VERMILION, ha="center", va="center")
    axes.text((end + begin) / 2, 0.43, "exp, round, pack", fontsize=8.5, ha="center", va="center")
    grid(begin, 0, [f"a[{number}]" for number in range(4)])
    wide, tall = begin - end - 0.5, 0.52
    for number, one in enumerate(d["registers"]):
        y = top + one["places"][lane][0] * high + high / 2 - tall / 2 + (one["tile"] - 0.5) * 0.66 + 0.3
        x, (key, query) = end + 0.25, one["places"][lane]
        box(axes, x, y, wide, tall, f"w[i][{one['tile']}][{one['half']}] = a[{number}]\nkey {key}, queries {query}, {query + 1}", 7.5, facecolor=LIGHT[number], edgecolor=VERMILION, linewidth=1.2)
        arrow(axes, (x, y + tall / 2), (end + 0.03, y + tall / 2), VERMILION, 1.4)
        arrow(axes, (begin - 0.03, y + tall / 2), (x + wide, y + tall / 2), VERMILION, 1.4)
    return caption(drawn, f"A number is the lane that has this pair of queries. Outlined: lane {lane}. c0 to c3: its four numbers of an accumulator. The colour says which register of A the pair becomes. n = 0; dSᵀ for dK is the same.")
