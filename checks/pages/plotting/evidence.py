"""How far the evidence about the planted bugs reaches: which check turns red on the CPU, and what an H200 showed."""
import re

from .heads import ROOT, Unusable
from .registry import figure
from .results import RESULTS
from .style import BLACK, BLUE, ORANGE, PURPLE, canvas

EXCEPTIONS = {"unseen": "the race check alone", "slow": "counts alone: it costs time", "harmless": "none: it is no bug"}
OUTCOMES = {"reproduced": "shows as predicted", "hidden": "hidden there", "no bug": "harmless, as predicted"}
LOOKS = [(BLUE, ""), (ORANGE, "////"), (PURPLE, "xxxx"), ("white", "")]
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
    return {"bugs": len(patches), "cpu": list(cpu.items()), "gpu": list(gpu.items())}


@figure("evidence", data_evidence)
def draw_evidence(plt, d):
    figure, axes = canvas(plt, 2.95)
    y = 0.2
    for title, rows in ((f"{d['bugs']} planted bugs on the CPU: what turns red", d["cpu"]), (f"the same {d['bugs']} bugs on an H200", d["gpu"])):
        axes.text(0.1, y, title, fontsize=10, weight="bold", va="center")
        y += 0.26
        for (what, count), (colour, hatch) in zip(rows, LOOKS):
            axes.text(1.98, y, what, fontsize=8.5, ha="right", va="center")
            axes.text(2.3, y, str(count), fontsize=9, weight="bold", ha="right", va="center")
            for i in range(count):
                axes.add_patch(plt.Rectangle((2.42 + i % ROW * STEP, y - SIDE / 2 + i // ROW * STEP), SIDE, SIDE, facecolor=colour, edgecolor=BLACK, hatch=hatch, linewidth=0.7))
            y += 0.2 + (count - 1) // ROW * STEP if count else 0.2
        y += 0.2
    return figure
