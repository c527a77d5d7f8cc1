"""How far the evidence about the planted bugs reaches: which check turns red on the CPU, what an H200 showed, and how large errors are under each
kind of input."""
import re

from .heads import ROOT, Unusable
from .registry import figure
from .results import RESULTS
from .style import BLACK, BLUE, ORANGE, SKY, VERMILION, WIDTH, canvas, caption, ranked, subplots

EXCEPTIONS = {"unseen": "the race check alone", "slow": "counts alone: it costs time", "harmless": "none: it is no bug"}
OUTCOMES = {"reproduced": "shows as predicted", "hidden": "hidden there", "no bug": "harmless, as predicted"}
RED, GREEN_THOUGH_A_BUG, NO_BUG, NOT_RUN = (BLUE, ""), (ORANGE, "////"), ("white", ""), ("white", "....")  # a look means the same on both machines
LOOKS = {"the acceptance": RED, "the race check alone": GREEN_THOUGH_A_BUG, "counts alone: it costs time": GREEN_THOUGH_A_BUG, "none: it is no bug": NO_BUG,
         "shows as predicted": RED, "hidden there": GREEN_THOUGH_A_BUG, "harmless, as predicted": NO_BUG, "not run there yet": NOT_RUN}
STEP, SIDE, ROW = 0.152, 0.125, 36


def data_evidence(_):
    """Two lists of [what, how many bugs]: by the exception that a patch's head names, and by the outcome on the H200."""
    cpu, gpu = dict.fromkeys(["the acceptance", *EXCEPTIONS.values()], 0), dict.fromkeys([*OUTCOMES.values(), "not run there yet"], 0)
    text = (RESULTS / "h200-bugs.txt").read_text()
    seen = {found[1]: found[2] for found in re.finditer(r"^(\w+) in \w+, on gpu.*?^  RESULT: +(reproduced|hidden|no bug)", text, re.M | re.S)}
    patches = sorted((ROOT / "stages").glob("*/bugs/*.patch"))
    for path in patches:
        head = path.read_text().split("\n--- ", 1)[0]
        named = [word for word in EXCEPTIONS if re.search(rf"^{word}:", head, re.M)]
        cpu[EXCEPTIONS[named[0]] if named else "the acceptance"] += 1
        gpu[OUTCOMES[seen[path.stem]] if path.stem in seen else "not run there yet"] += 1
    if unknown := set(seen) - {path.stem for path in patches}:
        raise Unusable(f"h200-bugs.txt has a bug that no stage has: {sorted(unknown)[0]}")
    return {"bugs": len(patches), **{machine: [[what, n] for what, n in counts.items() if n] for machine, counts in (("cpu", cpu), ("gpu", gpu))}}


@figure("evidence", data_evidence)
def draw_evidence(plt, d):
    figure, axes = canvas(plt, 3.2)
    y = 0.2
    for title, rows in ((f"{d['bugs']} planted bugs on the CPU: what turns red", d["cpu"]), (f"the same {d['bugs']} bugs on an H200", d["gpu"])):
        axes.text(0.1, y, title, fontsize=10, weight="bold", va="center")
        y += 0.26
        for what, count in rows:
            colour, hatch = LOOKS[what]
            axes.text(1.98, y, what, fontsize=8.5, ha="right", va="center")
            axes.text(2.3, y, str(count), fontsize=9, weight="bold", ha="right", va="center")
            for i in range(count):
                axes.add_patch(plt.Rectangle((2.42 + i % ROW * STEP, y - SIDE / 2 + i // ROW * STEP), SIDE, SIDE, facecolor=colour, edgecolor=BLACK, hatch=hatch, linewidth=0.7))
            y += 0.2 + (count - 1) // ROW * STEP if count else 0.2
        y += 0.2
    return caption(figure, "Blue: the acceptance (H200: the bug's own test) shows the bug. Orange, hatched: it does not. White: no bug.")


# --- errors of right and wrong kernels under small inputs and larger ones (writeups/results/blindness.md) ------------------------------

SHOWN = ["v2c6, correct", "v2c3, double_scale", "v2c5, ldm", "v2c5, qk_not_transposed", "v2d, ldmatrix_row_address", "v2c5, skip_tail", "v2c6, scratch_race"]
KINDS = [("normal · 0.1", BLUE, "o"), ("normal · 0.1, causal", SKY, "D"), ("normal", VERMILION, "s"), ("normal, causal", ORANGE, "^")]
ALLOWED = 1e-3


def data_blindness(_):
    """Of each build shown: the largest error under each kind of input."""
    rows = {}
    for line in (RESULTS / "blindness.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0] in SHOWN:
            rows[cells[0]] = [float(cell.split(",")[1]) for cell in cells[1:]]
    if missing := [name for name in SHOWN if name not in rows]:
        raise Unusable(f"blindness.md: there is no row '{missing[0]}'")
    return {"rows": [[name, rows[name]] for name in SHOWN]}


@figure("blindness", data_blindness)
def draw_blindness(plt, d):
    rows = d["rows"]
    height = 1.5 + 0.3 * len(rows)
    figure, axes = subplots(plt, (WIDTH, height), left=0.235, right=0.97, top=1 - 0.58 / height, bottom=0.72 / height)
    axes.axvspan(1e-7, ALLOWED, color="#eeeeee", zorder=0)
    axes.axvline(ALLOWED, color=BLACK, linewidth=1.3, zorder=1)
    for y, (_, errors) in enumerate(rows):
        for error, (_, colour, marker) in zip(errors, KINDS):
            axes.plot([error], [y], color=colour, marker=marker, markersize=7, markeredgecolor=BLACK, markeredgewidth=0.6, linestyle="", zorder=3)
    axes.text(ALLOWED / 1.25, -0.85, "passes", fontsize=8.5, ha="right", va="center")
    axes.text(ALLOWED * 1.25, -0.85, "fails", fontsize=8.5, ha="left", va="center")
    axes.set_xscale("log")
    ranked(axes, [name.split(", ")[1] + f" ({name.split(', ')[0]})" for name, _ in rows], 8.5)
    axes.set(xlim=(2e-6, 8), ylim=(len(rows) - 0.5, -0.6))
    axes.set_xlabel("largest error on (1,8,512,64), log", fontsize=8.5)
    axes.set_axisbelow(True)
    handles = [plt.Line2D([], [], color=colour, marker=marker, markersize=7, linestyle="", markeredgecolor=BLACK, markeredgewidth=0.6, label=text) for text, colour, marker in KINDS]
    figure.legend(handles=handles, ncol=4, fontsize=8.5, frameon=False, loc="upper center", bbox_to_anchor=(0.56, 1.0), columnspacing=1.4, handletextpad=0.3)
    return caption(figure, "Inputs: N(0,1) times 0.1, as the source notes had them, or N(0,1). CPU backend; results/blindness.md.")
