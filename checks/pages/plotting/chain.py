"""One launch of a small problem as a chain of six links, from the stamps that draw_launch shows one by one."""
from .registry import figures
from .results import Unusable, short, title
from .style import GRID, LIGHT, WIDTH, caption, subplots

# What each link is, and the stamp that it ends with.
LINKS = [("set up, request copies", "copies are asked for"), ("Q and K arrive", "K of tile 1 is there, its product begun"),
         ("scores and weights", "weights of tile 1"), ("last product with V", "O"),
         ("send and receive", "received from it"), ("merge and store", "stored")]


def data_chain(timed):
    ends = {phase["name"]: phase["median"] for phase in timed["phases"]}
    missing = [stamp for _, stamp in LINKS if stamp not in ends]
    if missing:
        raise Unusable(f"phases of {timed['stage']}: no stamp {missing[0]!r}")
    return {"links": [[name, ends[stamp]] for name, stamp in LINKS], **{key: timed[key] for key in ("stage", "shape", "gpu", "date", "clock_mhz")}}


def draw_chain(plt, d):
    figure, axes = subplots(plt, (WIDTH, 2.9), left=0.265, right=0.97, top=0.97, bottom=0.27)
    longest = max(end - begin for begin, end in zip([0] + [end for _, end in d["links"]], [end for _, end in d["links"]]))
    begin = 0
    for y, (name, end) in enumerate(d["links"]):
        axes.barh(y, end - begin, left=begin, height=0.68, facecolor=LIGHT[1] if end - begin == longest else LIGHT[0], edgecolor="#555555", linewidth=0.8)
        axes.text(end + 60, y, f"{end - begin} clocks", va="center", fontsize=9, weight="bold" if end - begin == longest else "normal")
        if y:
            axes.plot([begin, begin], [y - 0.66, y - 0.34], color="#555555", linewidth=0.8)
        begin = end
    axes.set_yticks(range(len(d["links"])), [f"{y + 1}  {name}" for y, (name, _) in enumerate(d["links"])], fontsize=10, ha="left")
    axes.tick_params(axis="y", length=0, pad=146)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.13 * begin)
    axes.set_xlabel(f"clocks since the block began ({d['clock_mhz']} clocks are 1 µs)")
    axes.grid(True, axis="x", **GRID)
    axes.set_axisbelow(True)
    return caption(figure, f"{short(d['stage'])} on {title(d['shape'])}: thread 0 of a block, medians of 128 blocks in eight launches. {d['gpu']}, {d['date'][:10]}.")


@figures
def chains(r):
    return {f"chain-{short(t['stage'])}": (data_chain(t), draw_chain) for t in r.phases}
