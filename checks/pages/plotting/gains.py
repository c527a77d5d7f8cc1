"""Where a step's gain came from: fewer instructions, fuller issue slots, more clocks per us in which a multiprocessor has a block. By definition, a kernel's time is its
instructions over the rate of issue of a multiprocessor that has a block, over the share of the time in which they have one."""
from .performance import profiled_by
from .registry import figure
from .results import before, instructions, short, title
from .style import BLACK, BLUE, GRID, ORANGE, PURPLE, WIDTH, caption, subplots

SHAPE = "2,8,2048,64"
SHOWN = ["v2b", "v2c6", "v2c7", "v3c"]  # the steps of the figure; the table has all
CHANGED = {"v2c3": "two warp reductions a row, not one a score", "v2c5": "tensor cores compute Q Kᵀ", "v2c6": "tensor cores compute P V", "v2c7": "twice as many warps compute",
           "v2c8": "scores stay in registers", "v2c9": "each K and V operand serves 32 rows, not 16", "v2d": "one instruction loads four matrices", "v3d": "a producer, two consumers, tiles of 128 keys"}


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
    return [step for stage in r.stages if before(stage) and (step := step_of(r, before(stage), stage, shape))]


def data_gains(r):
    return {"source": r.source(), "profiles": profiled_by(r, [SHAPE]).replace("\n", " "), "steps": [{key: step[key] for key in ("from", "to", "gain", "fewer", "fuller", "busier", "left")} for step in gains(r) if short(step["to"]) in SHOWN]}


@figure("gains", data_gains, lambda r: r.profiles)
def draw_gains(plt, d):
    steps = d["steps"]
    height = 1.6 + 0.27 * len(steps)
    figure, panels = subplots(plt, (WIDTH, height), 1, 4, sharey=True, left=0.115, right=0.985, top=1 - 0.62 / height, bottom=0.86 / height, wspace=0.2)
    columns = [("gain", "measured gain", "#bbbbbb"), ("fewer", "fewer\ninstructions", BLUE), ("fuller", "fuller\nissue slots", ORANGE), ("busier", "more SM clocks\nper µs", PURPLE)]
    every = [step[name] for step in steps for name, *_ in columns]
    for axes, (name, words, colour), sign in zip(panels, columns, ("", "=", "×", "×")):
        for y, step in enumerate(steps):
            value = step[name]
            if y % 2:
                axes.axhspan(y - 0.5, y + 0.5, color="#f4f4f4", zorder=0)
            axes.barh(y, value - 1, left=1, height=0.55, facecolor=colour, edgecolor=BLACK, hatch="" if value >= 1 else "////", linewidth=0.7, zorder=2)
            right = value >= 1
            axes.text(value * 1.06 if right else value / 1.06, y, f"{value:.2f}", fontsize=7.5, ha="left" if right else "right", va="center", weight="bold" if name == "gain" else "normal", zorder=3)
        axes.axvline(1, color=BLACK, linewidth=1.1, zorder=1)
        axes.set_title(words, fontsize=9, weight="bold" if name == "gain" else "normal", linespacing=1.05)
        axes.text(-0.1, 1 + 0.27 / (height - 1.48), sign, fontsize=15, ha="center", va="center", transform=axes.transAxes)
        axes.set_xscale("log", base=2)
        axes.set_xlim(0.42 * min(every), 2.1 * max(every))
        axes.set_xticks([0.5, 1, 2, 4], ["0.5×", "1×", "2×", "4×"], fontsize=8)
        axes.minorticks_off()
        axes.tick_params(axis="y", length=0)
        axes.grid(True, axis="x", **GRID)
        axes.set_axisbelow(True)
    panels[0].set_ylim(len(steps) - 0.4, -0.6)
    panels[0].set_yticks(range(len(steps)), [f"{short(step['from'])} → {short(step['to'])}" for step in steps], fontsize=8.5)
    most = max(max(step["left"], 1 / step["left"]) for step in steps)
    return caption(figure, f"{title(SHAPE)}. Hatched: a loss. Each gain is the product of its row's three factors, to {100 * (most - 1):.1f} % at worst: the gain is from the benchmark, the factors from one launch of "
                           f"each stage under Nsight Compute. Benchmark: {d['source']}. Profiles: {d['profiles']}.")
