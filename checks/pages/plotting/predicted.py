"""Gains predicted from counted instructions, beside the measured ones and the part of them that is instructions."""
from .gains import step_of
from .registry import figure
from .results import short, title
from .style import BLACK, BLUE, ORANGE, WIDTH, caption, ranked, subplots

SHAPE = "2,8,2048,64"


def data_predicted(r):
    rows = []
    for p in r.predictions["steps"]:
        if step := step_of(r, p["from"], p["to"], SHAPE):
            rows.append({"step": f"{short(p['from'])} → {short(p['to'])}", "predicted": p["gain"][SHAPE], "measured": step["gain"], "fewer": step["fewer"]})
    return {"source": r.source(), "shape": SHAPE, "rows": rows}


@figure("predicted", data_predicted, lambda r: r.profiles)
def draw_predicted(plt, d):
    height = 1.5 + 0.46 * len(d["rows"])
    figure, axes = subplots(plt, (WIDTH, height), left=0.15, right=0.97, top=1 - 0.12 / height, bottom=1.08 / height)
    for y, row in enumerate(d["rows"]):
        if y % 2:
            axes.axhspan(y - 0.5, y + 0.5, color="#f4f4f4", zorder=0)
        axes.barh(y, row["measured"] - 1, left=1, height=0.5, facecolor="#d9d9d9", edgecolor=BLACK, hatch="" if row["measured"] >= 1 else "////", linewidth=0.8, zorder=2)
        axes.plot([row["predicted"]], [y - 0.14], marker="D", markersize=8, color="white", markeredgecolor=ORANGE, markeredgewidth=2, linestyle="", zorder=3)
        axes.plot([row["fewer"]], [y + 0.16], marker="^", markersize=6.5, color=BLUE, markeredgecolor=BLACK, markeredgewidth=0.6, linestyle="", zorder=4)
    axes.axvline(1, color=BLACK, linewidth=1.2, zorder=1)
    axes.set_xscale("log", base=2)
    axes.set_xticks([0.25, 0.5, 1, 2, 4], ["0.25×", "0.5×", "1×", "2×", "4×"])
    axes.minorticks_off()
    ranked(axes, [row["step"] for row in d["rows"]], 9)
    axes.set_axisbelow(True)
    handles = [plt.Line2D([], [], color="white", marker="D", markersize=8, linestyle="", markeredgecolor=ORANGE, markeredgewidth=2, label="predicted gain"),
               plt.Rectangle((0, 0), 1, 1, facecolor="#d9d9d9", edgecolor=BLACK, label="measured gain (hatched: loss)"),
               plt.Line2D([], [], color=BLUE, marker="^", markersize=6.5, linestyle="", markeredgecolor=BLACK, label="instructions alone, measured")]
    figure.legend(handles=handles, ncol=3, fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.42 / height))
    return caption(figure, f"The distance from triangle to the end of the bar is the change of the issue rate, within 4 % but for the first step. {title(d['shape'])}; {d['source']}.")
