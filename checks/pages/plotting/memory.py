"""Figures of shared memory: what each stage's plan takes, and which banks a column of a padded array lies in."""
import re

from .heads import ROOT, Unusable
from .registry import figure
from .results import ladder, short
from .style import BLACK, BLUE, COLOURS, LIGHT, VERMILION, WIDTH, caption, subplots

GROUPS = {"Q": ["sQ"], "K": ["sK"], "V": ["sV"], "scores, weights": ["S_scores", "scratch"], "O": ["sO", "O_accum"], "rows, barriers": []}


def limits():
    """The most shared memory that a block of each target can ask for, in bytes: common/target.hpp."""
    found = re.findall(r'Target \w+\{"(\w+)", \d+, \w+, (\d+),', (ROOT / "common" / "target.hpp").read_text())
    return {target: int(size) for target, size in found}


def spans(stages):
    """Neighbours on the ladder together: v2b to v2c5, v4a."""
    order, runs = ladder(), []
    for stage in stages:
        if runs and order.index(stage) == order.index(runs[-1][-1]) + 1:
            runs[-1].append(stage)
        else:
            runs.append([stage])
    return ", ".join(f"{short(run[0])} to {short(run[-1])}" if len(run) > 2 else ", ".join(map(short, run)) for run in runs)


def data_plans(r):
    """A bar for each different plan on the larger shapes, the stages that share it together; and of each bug that has a plan."""
    bars, there = {}, set(ladder())
    for p in r.plans["plans"]:
        if p["S"] < 2048 or p["stage"] not in there:
            continue
        sizes = dict.fromkeys(GROUPS, 0)
        for a in p["arrays"]:
            name = next((group for group, names in GROUPS.items() if a["name"] in names), "rows, barriers")
            sizes[name] += a["bytes"]
        # A hundred bytes of barriers more or less are the same plan.
        key = (p["target"], p["bug"], p["D"], p["tile_m"], p["tile_n"], p["slots"], tuple(v for name, v in sizes.items() if name != "rows, barriers"))
        bar = bars.setdefault(key, {"stages": [], "bug": p["bug"], "target": p["target"], "D": p["D"], "slots": p["slots"], "tile": [p["tile_m"], p["tile_n"]], "sizes": sizes})
        bar["stages"].append(p["stage"])
    known = limits()
    if unknown := {bar["target"] for bar in bars.values()} - set(known):
        raise Unusable(f"plans.json has a stage for {min(unknown)}, which common/target.hpp lacks")
    for bar in bars.values():
        bar["stages"] = spans(bar["stages"])
    return {"limits": known, "bars": sorted(bars.values(), key=lambda bar: (bar["D"], bar["target"], bool(bar["bug"])))}


@figure("smem-plans", data_plans)
def draw_plans(plt, d):
    kinds = sorted({bar["D"] for bar in d["bars"]})
    parts = [[bar for bar in d["bars"] if bar["D"] == D] for D in kinds]
    height = 1.45 + 0.36 * len(parts) + 0.25 * len(d["bars"])
    figure, panels = subplots(plt, (WIDTH, height), len(parts), 1, sharex=True, height_ratios=[len(part) + 0.4 for part in parts], left=0.235, right=0.985, top=1 - 0.62 / height, bottom=0.5 / height, hspace=0.36 * len(parts) / (0.25 * len(d["bars"])))
    look = {name: {"facecolor": COLOURS[i], "hatch": ["", "////", "", "\\\\\\\\", "", ""][i]} for i, name in enumerate(GROUPS)}
    for axes, D, bars in zip(panels, kinds, parts):
        for y, bar in enumerate(bars):
            left = 0
            for name, size in bar["sizes"].items():
                axes.barh(y, size / 1024, left=left / 1024, height=0.74, edgecolor="white", linewidth=0.5, **look[name])
                left += size
            limit = d["limits"][bar["target"]]
            axes.plot([limit / 1024] * 2, [y - 0.5, y + 0.5], color=BLACK, linewidth=1.6, linestyle="-" if bar["target"] == "sm_89" else "--")
            axes.text(left / 1024 + 2, y, f"{left / 1024:.1f}" + (": refused" if left > limit else ""), va="center", fontsize=7.5, zorder=5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
        axes.set_yticks(range(len(bars)), [f"{bar['bug'] or bar['stages']}: {bar['tile'][0]} × {bar['tile'][1]}, {bar['slots']} slot{'s' * (bar['slots'] > 1)}" for bar in bars], fontsize=7.5)
        axes.tick_params(axis="y", length=0)
        axes.set(xlim=(0, 1.06 * max(d["limits"].values()) / 1024), ylim=(len(bars) - 0.4, -0.6))
        axes.set_title(f"D = {D}: query rows × keys of a tile, slots for K and V", fontsize=8.5, loc="left", x=-0.3)
    panels[-1].set_xlabel("shared memory per block, KiB", fontsize=8)
    handles = [plt.Rectangle((0, 0), 1, 1, edgecolor="white", label=n, **look[n]) for n in GROUPS]
    handles += [plt.Line2D([], [], color=BLACK, linestyle="-" if target == "sm_89" else "--", label=f"limit of {target}: {limit // 1024}") for target, limit in d["limits"].items()]
    figure.legend(handles=handles, fontsize=7.5, ncol=8, loc="upper left", frameon=False, handlelength=1.6, handleheight=1.2, columnspacing=0.9, handletextpad=0.4)
    return figure


def data_banks(r):
    return r.layouts["banks"]


def draw_served(plt, axes, one, wide_bytes):
    """Lanes down, banks across: which banks each lane touches, and in which cycle it is served."""
    together = 32 * 4 // wide_bytes
    wide = wide_bytes // 4
    for lane in range(32):
        group = lane - lane % together
        late = one["turn"][lane] - min(one["turn"][group:group + together])
        axes.add_patch(plt.Rectangle((one["bank"][lane] - 0.5, lane - 0.5), wide, 1, facecolor=LIGHT[1] if late else LIGHT[0], edgecolor=VERMILION if late else BLUE,
                                     hatch="////" if late else "", linewidth=0.7))
        beside = wide == 1  # a single bank has no room for a number and a hatch
        before = one["bank"][lane] > 28
        x = one["bank"][lane] + ((-0.8 if before else 0.8) if beside else wide / 2 - 0.5)
        axes.text(x, lane, str(one["turn"][lane] + 1), ha=("right" if before else "left") if beside else "center", va="center", fontsize=6.5,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.2} if late and not beside else None)
    for lane in range(together, 32, together):
        axes.axhline(lane - 0.5, color="#888888", linewidth=0.7, linestyle=":")
    axes.set(xlim=(-0.7, 31.7), ylim=(31.7, -0.7))
    axes.set_xticks(range(0, 32, 4))
    axes.set_yticks(range(0, 32, 4))
    axes.tick_params(labelsize=7)
    axes.set_xlabel("bank", fontsize=8)
    axes.set_ylabel("lane = row", fontsize=8)


@figure("banks", data_banks)
def draw_banks(plt, d):
    figure, grid = subplots(plt, (WIDTH, 8.6), 2, 2, left=0.07, right=0.985, top=0.94, bottom=0.15, wspace=0.14, hspace=0.24)
    for axes, one in zip(grid.flat, d):
        draw_served(plt, axes, one, one["bytes"])
        verdict = "no conflict" if one["turns"] == one["least"] else f"{one['turns'] // one['least']}-way conflict"
        axes.set_title(f"rows of {one['pitch']} fp16, {one['bytes']} bytes per lane:\n{one['turns']} cycle{'s' * (one['turns'] > 1)}, {verdict}", fontsize=8.5)
    return caption(figure, "Lane l reads the first bytes of row l, as when every lane takes its own key. Numbers: the cycle in which the lane is served. Blue: with the first of those that are served together "
                           "(all 32 lanes at 4 bytes, 8 lanes at 16 bytes, between dotted lines). Hatched: later, because another row's word in the same bank was first. Eight halves of padding "
                           "move each row by 4 banks, so every eighth row starts in the same bank: no harm where 8 lanes are served together, a 4-way conflict where 32 are. Computed by checks/pages/banks.hpp, which has its tests.")


def data_ldmatrix(r):
    return r.ldmatrix


@figure("banks-ldmatrix", data_ldmatrix)
def draw_ldmatrix(plt, d):
    how = {"plain": "as they are", "padded": "padded", "kernel": "the kernel's swizzle"}
    figure, row = subplots(plt, (WIDTH, 5.6), 1, 3, left=0.05, right=0.985, top=0.93, bottom=0.225, wspace=0.18)
    for axes, one in zip(row, d["banks"]):
        draw_served(plt, axes, one, 16)
        axes.set_ylabel("lane" if axes is row[0] else "", fontsize=8)
        axes.set_title(f"rows of {one['pitch']} fp16, {how[one['how']]}:\n{one['turns']} cycles", fontsize=8.5)
    bounds = [f"{i}: rows {d['rows'][8 * i]}–{d['rows'][8 * i + 7]}, columns {d['columns'][8 * i]}–{d['columns'][8 * i] + 7}" for i in range(4)]
    return caption(figure, f"The first ldmatrix.x4 that {short(d['stage'])} does on {d['array']}. Lane l points at a row of 16 bytes; eight lanes make a matrix ({'; '.join(bounds)}) and are served together. "
                           "Numbers: the cycle in which a lane is served; hatched: later than its matrix's first. Right: recorded from the kernel's own accesses on the CPU; left and middle: the same rows and columns at another pitch. "
                           "Neither padding nor swizzle has a conflict; the swizzle needs no extra bytes. Cycles are computed by checks/pages/banks.hpp.")
