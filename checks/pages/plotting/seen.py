"""Which planted bugs each tool reports: a column per bug, a row per tool (writeups/results/tools.md)."""
import re

from .heads import ROOT, Unusable
from .registry import figure
from .results import RESULTS
from .style import BLACK, BLUE, GREEN, GREY, ORANGE, canvas

# The columns of tools.md that are drawn, in its order: a name, how it looks, and whether a finding under a mask alone counts.
TOOLS = [("small inputs, no mask", BLUE, "", False), ("unit inputs", BLUE, "", True), ("8 runs differ", BLUE, "", True), ("CPU checker", ORANGE, "////", True),
         ("memcheck", GREEN, "xxxx", True), ("racecheck", GREEN, "xxxx", True), ("initcheck", GREEN, "xxxx", True), ("synccheck", GREEN, "xxxx", True)]
KINDS = ["wrong\nformula", "race or\nbarrier", "memory\nor launch", "slow, or\nno bug"]
RULES = "a rule\nof wgmma"  # of v3 and v4 alone
# What is planted, where the checker's finding says something else: a wrong formula that also reads too far, a store past an array that also races.
PLANTED = {"qk_not_transposed": KINDS[0], "v_major": KINDS[0], "partial_stripe": KINDS[2]}
MARKED = "missing_tile_barrier"  # the page's example
LEFT, TOP, ROW, GAP, SIDE = 1.5, 0.58, 0.245, 0.12, 0.105
NARROWEST, SQUARES = 0.62, 4.55  # inches: of a kind, as wide as its heading; of all squares


def kind_of(bug, checker, heads):
    if re.search(r"^(slow|harmless):", heads[bug], re.M):
        return KINDS[3]
    if bug in PLANTED:
        return PLANTED[bug]
    if "wgmma" in checker or bug == "diverged_warpgroup":
        return RULES
    if re.search("race|barrier|before its wait|deadlock|proxy", checker):
        return KINDS[1]
    return KINDS[0] if checker == "-" else KINDS[2]


def data_seen(versions):
    """Of each kind: the bugs of these versions that every tool was asked about, and which tools report each."""
    heads = {path.stem: path.read_text().split("\n--- ", 1)[0] for path in (ROOT / "stages").glob("*/bugs/*.patch")}
    kinds = {kind: [] for kind in (KINDS[0], KINDS[1], RULES, *KINDS[2:])}
    for line in (RESULTS / "tools.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 1 + len(TOOLS) or ", " not in cells[0] or cells[0].endswith(", correct") or "not run" in cells or cells[0][:2] not in versions:
            continue
        bug = cells[0].split(", ")[1]
        reports = [cell not in ("-", "pass", "agree") and (masked or "if causal" not in cell) for cell, (_, _, _, masked) in zip(cells[1:], TOOLS)]
        kinds[kind_of(bug, cells[4], heads)].append([bug, reports])
    if not any(bugs for bugs in kinds.values()):
        raise Unusable(f"tools.md has no bug of {' or '.join(versions)} that every tool was asked about")
    return {"kinds": [[kind, sorted(bugs, key=lambda one: [not seen for seen in one[1]])] for kind, bugs in kinds.items() if bugs]}


@figure("bugs-seen-hopper", lambda _: data_seen(("v3", "v4")))
@figure("bugs-seen", lambda _: data_seen(("v1", "v2")))
def draw_seen(plt, d):
    height = TOP + ROW * len(TOOLS) + 0.36
    figure, axes = canvas(plt, height)
    total = sum(len(bugs) for _, bugs in d["kinds"])
    step = SQUARES / total
    counts, x = [0] * len(TOOLS), LEFT
    for kind, bugs in d["kinds"]:
        axes.text(x, TOP - 0.27, f"{kind}\n({len(bugs)})", fontsize=8, weight="bold", va="center", linespacing=1.1)
        begin = x
        for bug, reports in bugs:
            for i, (seen, (_, colour, hatch, _)) in enumerate(zip(reports, TOOLS)):
                counts[i] += seen
                look = {"facecolor": colour, "edgecolor": BLACK, "hatch": hatch} if seen else {"facecolor": "white", "edgecolor": GREY}
                axes.add_patch(plt.Rectangle((x, TOP + i * ROW + (ROW - SIDE) / 2), SIDE, SIDE, linewidth=0.7, **look))
            if bug == MARKED:
                axes.add_patch(plt.Rectangle((x - 0.025, TOP), SIDE + 0.05, ROW * len(TOOLS), facecolor="none", edgecolor=BLACK, linewidth=1.4))
                axes.text(x + SIDE / 2, TOP + ROW * len(TOOLS) + 0.13, MARKED, fontsize=8, ha="center", va="center")
            x += step
        x = max(x, begin + NARROWEST) + GAP
    axes.text(x + 0.3, TOP - 0.2, f"of {total}", fontsize=8, weight="bold", ha="right", va="center")
    for i, ((name, *_), count) in enumerate(zip(TOOLS, counts)):
        y = TOP + (i + 0.5) * ROW
        axes.text(LEFT - 0.1, y, name, fontsize=8.5, ha="right", va="center")
        axes.text(x + 0.3, y, str(count), fontsize=9, weight="bold", ha="right", va="center")
    return figure
