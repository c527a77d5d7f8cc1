"""In which order the CPU runs the warps of a block, and where they wait: from a recorded trace of shared memory."""
from .registry import figure
from .results import Unusable, short
from .style import BLUE, GREY, LIGHT, ORANGE, VERMILION, arrow, canvas

TRACE = "score-rows"

def data_fibers(r):
    """For each stretch between two block barriers: the warps in the order in which they ran, with the rows that each touched."""
    try:
        trace = r.traces[TRACE]
    except KeyError:
        raise Unusable(f"there is no traces/{TRACE}.tsv; make figure-data writes it") from None
    stretches = []
    for period in sorted({e["period"] for e in trace["events"]}):
        ran, at_end = {}, False
        for e in (e for e in trace["events"] if e["period"] == period):
            at_end |= e["event"] == "release"
            if e["event"] != "release":
                touched = ran.setdefault(e["warp"], [])
                if e["event"] in ("read", "write"):
                    touched.append([e["event"], e["first row"], e["last row"]])
        stretches.append({"warps": [[warp, touched] for warp, touched in ran.items()], "barrier": at_end})
    return {"stage": trace["stage"], "shape": trace["shape"], "stretches": stretches}

@figure("fibers", data_fibers)
def draw_fibers(plt, d):
    figure, axes = canvas(plt, 3.75)
    left, top, step = 0.85, 0.62, 0.285
    warps = sorted({warp for s in d["stretches"] for warp, _ in s["warps"]})
    for warp in warps:
        axes.text(left - 0.1, top + (warp + 0.5) * step, f"warp {warp}", fontsize=8.5, ha="right", va="center")
    widths = [0.1 if not any(touched for _, touched in s["warps"]) else 0.36 for s in d["stretches"]]
    x, looks = left, [(LIGHT[0], BLUE, ""), (LIGHT[4], ORANGE, "////")]
    shown = 0
    for stretch, width in zip(d["stretches"], widths):
        begin, end = x, x + width * len(stretch["warps"])
        busy = any(touched for _, touched in stretch["warps"])
        face, edge, hatch = looks[shown % 2] if busy else ("white", GREY, "")
        for i, (warp, touched) in enumerate(stretch["warps"]):
            y, at = top + warp * step, begin + i * width
            for a, b in ((begin, at), (at + width, end)):
                if stretch["barrier"] and a == at + width and b > a:
                    axes.plot([a, b], [y + step / 2] * 2, color=GREY, linestyle=":", linewidth=1.3)
            axes.add_patch(plt.Rectangle((at, y + 0.03), width, step - 0.06, facecolor=face, edgecolor=edge, hatch=hatch, linewidth=1))
            if touched:
                axes.text(at + width / 2, y + step / 2, f"{touched[0][1]}–{touched[0][2]}", fontsize=7, ha="center", va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6} if hatch else None)
        if busy:
            what = " and ".join(sorted({f"{e}s" for _, touched in stretch["warps"] for e, _, _ in touched}))
            axes.text((begin + end) / 2, top - 0.14, f"{what} its rows of S_scores", fontsize=8.5, ha="center", va="center")
            shown += 1
        x = end
        if stretch["barrier"]:
            axes.plot([x, x], [top - 0.02, top + len(warps) * step + 0.06], color=VERMILION, linewidth=2)
            axes.text(x, top + len(warps) * step + 0.18, "barrier opens", fontsize=8, color=VERMILION, ha="center", va="center")
    arrow(axes, (x + 0.25, top + len(warps) * step + 0.4), (left, top + len(warps) * step + 0.4))
    axes.text(left, top + len(warps) * step + 0.56, f"the order in which the CPU ran the warps (schedule ascending); dotted: waits at the block barrier. {short(d['stage'])}, {d['shape']}", fontsize=8, va="center", color="#333333")
    axes.text(left - 0.75, 0.17, "One block, one CPU thread: a warp runs until it must wait", fontsize=10, weight="bold", va="center")
    return figure
