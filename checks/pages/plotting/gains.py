"""Where a step's gain came from: fewer instructions, fuller issue slots, busier multiprocessors. By definition, a kernel's time is its
instructions over the rate of issue of a multiprocessor that has a block, over the share of the time in which they have one."""
from .registry import figure
from .results import instructions, short, title
from .style import BLACK, BLUE, ORANGE, PURPLE, WIDTH, caption, logarithmic, ranked, subplots

SHAPE = "2,8,2048,64"


def step_of(r, before, after, shape):
    """Of a step that was timed and profiled its gain, by each of the three, and what is left: other runs, other clocks. None of another."""
    a, b, old, new = r.profile(before, shape), r.profile(after, shape), r.time(before, shape), r.time(after, shape)
    if not (a and b and old and new):
        return None
    count, issue = [instructions(p) for p in (a, b)], [p["metrics"]["smsp__issue_active.avg.pct_of_peak_sustained_active"] for p in (a, b)]
    busy = [p["metrics"]["sm__cycles_active.sum"] / p["metrics"]["gpu__time_duration.sum"] for p in (a, b)]
    fewer, fuller, busier = count[0] / count[1], issue[1] / issue[0], busy[1] / busy[0]
    return {"from": before, "to": after, "us": [old, new], "gain": old / new, "fewer": fewer, "fuller": fuller, "busier": busier,
            "left": old / new / (fewer * fuller * busier), "count": count, "issue": issue}


def gains(r, shape=SHAPE):
    return [step for pair in zip(r.stages, r.stages[1:]) if (step := step_of(r, *pair, shape))]


def data_gains(r):
    return {"source": r.source(), "steps": [{key: step[key] for key in ("from", "to", "gain", "fewer", "fuller", "busier", "left")} for step in gains(r)]}


@figure("gains", data_gains, lambda r: r.profiles)
def draw_gains(plt, d):
    steps = d["steps"]
    height = 1.55 + 0.3 * len(steps)
    figure, axes = subplots(plt, (WIDTH, height), left=0.115, right=0.86, top=1 - 0.42 / height, bottom=1.13 / height)
    marks = [("fewer", "fewer instructions", BLUE, "^"), ("fuller", "fuller issue slots", ORANGE, "s"), ("busier", "SMs more of the time with a block", PURPLE, "D")]
    for y, step in enumerate(steps):
        if y % 2:
            axes.axhspan(y - 0.5, y + 0.5, color="#f4f4f4", zorder=0)
        axes.barh(y, step["gain"] - 1, left=1, height=0.5, facecolor="#d9d9d9", edgecolor=BLACK, hatch="" if step["gain"] >= 1 else "////", linewidth=0.8, zorder=2)
        for name, _, colour, marker in marks:
            axes.plot([step[name]], [y], marker=marker, markersize=6 if marker == "D" else 6.5, color=colour, markeredgecolor=BLACK, markeredgewidth=0.6, linestyle="", zorder=3)
        axes.text(1.02, y, f"{step['gain']:.2f}", transform=axes.get_yaxis_transform(), fontsize=8.5, va="center", weight="normal" if step["gain"] >= 1 else "bold")
    axes.text(1.02, -1.0, "times\nfaster", transform=axes.get_yaxis_transform(), fontsize=8, va="center")
    axes.axvline(1, color=BLACK, linewidth=1.2, zorder=1)
    every = [step[name] for step in steps for name in ("gain", "fewer", "fuller", "busier")]
    logarithmic(axes, every, (0.25, 0.5, 0.7, 1, 1.4, 2, 2.8, 4), 0.9, 1.12, "×", base=2)
    ranked(axes, [f"{short(step['from'])} → {short(step['to'])}" for step in steps], 8.5)
    axes.set_axisbelow(True)
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor="#d9d9d9", edgecolor=BLACK, label="measured gain (hatched: loss)")]
    handles += [plt.Line2D([], [], color=colour, marker=marker, markersize=6.5, linestyle="", markeredgecolor=BLACK, label=text) for _, text, colour, marker in marks]
    figure.legend(handles=handles, ncol=4, fontsize=7.5, columnspacing=1.1, handletextpad=0.4, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.56 / height))
    most = max(max(step["left"], 1 / step["left"]) for step in steps)
    return caption(figure, f"{title(SHAPE)}: the bar, a step's measured gain, is the product of its three marks (log scale: their sum), to {100 * (most - 1):.1f} % at worst. The bar is from the benchmark, the marks from one launch "
                           f"of each stage under Nsight Compute; the third includes the clock. {d['source']}.")
