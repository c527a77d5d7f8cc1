"""Figures of the pages on methods: the checker's clocks, a comparison of bits, the referee's course."""
import json
import re

from .heads import ROOT, Unusable
from .registry import figure
from .style import GREEN, GREY, LIGHT, VERMILION, arrow, box, canvas


# --- the checker: one cell, two threads, with a barrier and without -----------------------------------------------------------------


@figure("clocks", lambda r: {"written": 7, "known": 3})
def draw_clocks(plt, d):
    figure, axes = canvas(plt, 3.25)
    for left, ordered in ((0.15, True), (4.15, False)):
        known = d["written"] if ordered else d["known"]
        line = left + 0.62
        axes.text(left, 0.2, "with __syncwarp: silent" if ordered else "without: a race, reported with both lines", fontsize=10, weight="bold", va="center")
        for y, name in ((0.78, "lane A"), (2.38, "lane B")):
            axes.text(line - 0.1, y, name, fontsize=8.5, ha="right", va="center")
            axes.plot([line, left + 3.6], [y, y], color=GREY, linewidth=1, zorder=0)
        box(axes, line + 0.15, 0.62, 0.95, 0.32, "s[12] = x", 8.5, facecolor=LIGHT[0])
        box(axes, line + 1.95, 2.22, 0.95, 0.32, "y = s[12]", 8.5, facecolor=LIGHT[4])
        box(axes, line + 0.15, 1.3, 1.3, 0.52, f"cell of s[12]:\nwritten by A, clock {d['written']}", 7.5, facecolor="#eeeeee")
        arrow(axes, (line + 0.62, 1.3), (line + 0.62, 0.94))
        arrow(axes, (line + 2.3, 2.22), (line + 1.45, 1.6))
        if ordered:
            axes.plot([line + 1.66] * 2, [0.5, 2.66], color=VERMILION, linewidth=2.5)
            axes.text(line + 1.74, 1.12, "__syncwarp gives\nB the clock of A", fontsize=8, color=VERMILION, va="center", linespacing=1.2)
        axes.text(line + 2.95, 1.82, f"B knows A\nup to {known}", fontsize=8.5, ha="right", va="center", linespacing=1.3)
        axes.text(line + 2.42, 2.85, f"{d['written']} ≤ {known}: ordered" if ordered else f"{d['written']} > {known}: nothing orders them", fontsize=9, ha="center" if ordered else "right", va="center",
                  color=GREEN if ordered else VERMILION, weight="bold")
    return figure


# --- the same bits: one source, two machines, one number of each output ------------------------------------------------------------------


def data_bits(_):
    stages = json.loads((ROOT / "writeups/results/bits-H100.json").read_text())["stages"]
    return {"one": len(stages["v2b_single_warp"]), "all": sum(map(len, stages.values())), "stages": len(stages)}


@figure("same-bits", data_bits)
def draw_bits(plt, d):
    figure, axes = canvas(plt, 2.35)
    box(axes, 0.15, 0.75, 1.05, 0.5, "kernel.cu\nof v2b", 9, facecolor="#eeeeee")
    for y, tool, machine, digest, colour in ((0.25, "g++, emulator", "output on a CPU", "digest of its bits", LIGHT[0]), (1.25, "nvcc", "output on an H100", "digest of its bits,\ncommitted", LIGHT[1])):
        arrow(axes, (1.55, y + 0.25), (1.2, 0.85 if y < 0.75 else 1.15))
        box(axes, 1.55, y, 1.25, 0.5, tool, 9, facecolor=colour)
        arrow(axes, (3.1, y + 0.25), (2.8, y + 0.25))
        box(axes, 3.1, y, 1.45, 0.5, machine, 9, facecolor=colour)
        arrow(axes, (4.85, y + 0.25), (4.55, y + 0.25))
        box(axes, 4.85, y, 1.4, 0.5, digest, 9, facecolor=colour)
        arrow(axes, (6.6, 0.92 if y < 0.75 else 1.08), (6.25, y + 0.25))
    box(axes, 6.6, 0.75, 1.2, 0.5, "equal?", 9.5, edgecolor=GREEN, linewidth=2)
    axes.text(7.2, 1.45, f"v2b: {d['one']} cases", fontsize=8.5, ha="center", va="center", color=GREEN, weight="bold")
    axes.text(0.15, 2.12, f"Recorded: {d['all']:,} cases of {d['stages']} stages. No tolerance: one different bit in one element is a different digest.", fontsize=8.5, va="center")
    return figure


# --- the referee: when each safeguard looks, and the cheaters that prove it ----------------------------------------------------------

PHASES = [["single calls", ["poisoned outputs", "oracle", "inputs unchanged", "canaries", "checker"]],
          ["timed calls", ["every timed call is checked", "stream", "settings"]],
          ["single calls again", ["oracle", "determinism"]],
          ["verdict", ["roofline"]]]
AFTERWARDS = {"wrong_afterwards"}  # the cheaters that only the second round of single calls can see


def data_referee(_):
    """The phases of a candidate; for each safeguard the cheaters that its patch says it stops."""
    cheaters = {}
    for path in sorted((ROOT / "checks/evolve/cheaters").glob("*.patch")):
        found = re.search(r"^predicted: ([^\n]*)", path.read_text(), re.M)
        if not found:
            raise Unusable(f"{path.name} has no line 'predicted:'")
        cheaters[path.stem] = found[1].split(",")[0].strip()
    rows = [[phase, [[one, [name for name, by in cheaters.items() if by == one and (one != "oracle" or (name in AFTERWARDS) == (phase == "single calls again"))]] for one in safeguards]]
            for phase, safeguards in PHASES]
    shown = {name for _, safeguards in rows for _, names in safeguards for name in names}
    if missing := set(cheaters) - shown:
        raise Unusable(f"the figure 'referee' has no place for {sorted(missing)[0]}")
    return {"phases": rows}


@figure("referee", data_referee)
def draw_referee(plt, d):
    figure, axes = canvas(plt, 3.5)
    widths, x = [2.05, 2.15, 1.75, 1.05], 0.15
    for (phase, safeguards), width in zip(d["phases"], widths):
        last = phase == d["phases"][-1][0]
        box(axes, x, 0.2, width, 0.4, phase, 9.5, facecolor=LIGHT[4] if phase == "timed calls" else LIGHT[0])
        if not last:
            arrow(axes, (x + width + 0.22, 0.4), (x + width, 0.4))
        y = 0.85
        for safeguard, cheaters in safeguards:
            axes.text(x + 0.04, y, safeguard, fontsize=8.5, weight="bold", va="center")
            for name in cheaters or ["(by a test)"] * last:
                y += 0.19
                axes.text(x + 0.14, y, name, fontsize=8, va="center", color="#333333" if cheaters else GREY, family="DejaVu Sans Mono" if cheaters else None)
            y += 0.3
        x += width + 0.22
    return figure
