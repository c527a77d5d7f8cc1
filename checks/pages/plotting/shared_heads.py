"""Which head of K and V each query head reads: one of its own, or one that a group of query heads shares."""
from .registry import figure
from .style import BLACK, BLUE, LIGHT, VERMILION, arrow, box, canvas

HEADS, GROUP = 4, 2


def data_shared(_):
    """For each drawing the query heads per head of K and V, and which of these each query head reads."""
    return {"heads": HEADS, "drawings": [{"group": g, "reads": [q // g for q in range(HEADS)]} for g in (1, GROUP)]}


@figure("shared-heads", data_shared)
def draw_shared(plt, d):
    drawn, axes = canvas(plt, 2.35)
    width, step = 0.72, 0.86
    for left, drawing in zip((0.3, 4.45), d["drawings"]):
        group, reads = drawing["group"], drawing["reads"]
        title = "the lab's kernels: K and V for each query head" if group == 1 else f"GQA, G = {group}: {group} query heads share K and V"
        axes.text(left, 0.2, title, fontsize=8.5, weight="bold", va="center")
        middle = {}
        for head in sorted(set(reads)):
            of = [q for q, read in enumerate(reads) if read == head]
            middle[head] = left + width / 2 + step * sum(of) / len(of)
            box(axes, middle[head] - width / 2, 1.65, width, 0.45, f"K, V {head}", 9, facecolor=LIGHT[1])
        for q, read in enumerate(reads):
            x = left + step * q
            box(axes, x, 0.5, width, 0.45, f"Q {q}", 9, facecolor=LIGHT[0])
            arrow(axes, (x + width / 2, 0.97), (middle[read], 1.63), VERMILION if group > 1 else BLUE, 1.4)
    axes.plot([4.1, 4.1], [0.1, 2.25], color=BLACK, linewidth=0.6, linestyle=":")
    return drawn
