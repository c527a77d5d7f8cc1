"""A lesson from the card to the points: the commands of a learner and of a grader, as the Makefile has them, and the points of checks/desk/learn/learn.hpp."""
import re

from .heads import ROOT, Unusable
from .registry import figure
from .style import BLACK, BLUE, GREEN, LIGHT, VERMILION, arrow, box, canvas

COMMANDS = ("exercise", "predict", "try", "hint", "grade")


def data_lesson(_):
    """The points, and that every command of the drawing is one of make's."""
    goals = {word for line in re.findall(r"^GOALS \+?:?= ?(.*)$", (ROOT / "Makefile").read_text(), re.M) for word in line.split()}
    if missing := [one for one in COMMANDS if one not in goals]:
        raise Unusable(f"lesson: make {missing[0]} is no command of the Makefile")
    points = re.search(r"MOST = (\d+), OF_PREDICTION = (\d+);", (ROOT / "checks/desk/learn/learn.hpp").read_text())
    held_out = re.search(r'if \(depth\.grading\) c\.step\("held-out shapes"', (ROOT / "checks/desk/learn/checks.cpp").read_text())
    if not points or not held_out:
        raise Unusable("lesson: the points, or the step that only a grading has, are not where the figure reads them")
    return {"most": int(points[1]), "prediction": int(points[2])}


@figure("lesson", data_lesson)
def draw_lesson(plt, d):
    drawn, axes = canvas(plt, 3.05)
    kernel = d["most"] - d["prediction"]
    mono = {"family": "DejaVu Sans Mono"}

    def step(x, y, width, command, text, face, made=True):
        box(axes, x, y, width, 0.78, facecolor=face, linewidth=1.1)
        axes.text(x + width / 2, y + 0.22, command, fontsize=8.5, weight="bold", ha="center", va="center", **(mono if made else {}))
        axes.text(x + width / 2, y + 0.53, text, fontsize=7.5, ha="center", va="center", linespacing=1.15)

    axes.text(0.1, 0.2, "The learner", fontsize=10, weight="bold", color=BLUE, va="center")
    y, below = 0.42, 2.08
    step(0.1, y, 1.5, "make exercise", "a card and a kernel\nwith a bug", LIGHT[0])
    step(2.0, y, 1.6, "make predict", f"what is wrong? first\nattempt: {d['prediction']} points", LIGHT[0])
    step(4.0, y, 1.5, "edit kernel.cu", "make hint: one of\nthree, counted", LIGHT[0], False)
    step(6.35, y, 1.55, "make try", "checks, up to\nthe first red one", LIGHT[0])
    for tail, tip in ((1.6, 2.0), (3.6, 4.0)):
        arrow(axes, (tip, y + 0.39), (tail, y + 0.39))
    arrow(axes, (6.35, y + 0.24), (5.5, y + 0.24))
    arrow(axes, (5.5, y + 0.58), (6.35, y + 0.58), VERMILION, 1.6, linestyle="--")
    axes.text(5.925, y + 0.74, "red", fontsize=8.5, color=VERMILION, weight="bold", ha="center", va="center")
    arrow(axes, (7.12, below), (7.12, y + 0.78), GREEN, 1.8)
    axes.text(7.02, y + 1.12, "green: hand in", fontsize=8.5, color=GREEN, weight="bold", ha="right", va="center")
    axes.plot([0.1, 7.9], [1.72, 1.72], color="#888888", linewidth=0.8, linestyle=":", zorder=0)
    axes.text(0.1, 1.9, "The teacher", fontsize=10, weight="bold", color=VERMILION, va="center")
    step(6.35, below, 1.55, "folder work/", "kernels, predictions,\nwritten answers", "#eeeeee", False)
    step(4.0, below, 1.5, "make grade", "builds and checks again:\nhidden inputs, shapes", LIGHT[1])
    step(2.0, below, 1.6, "the table", f"{kernel} points: the kernel\n{d['prediction']}: the prediction", LIGHT[1], False)
    step(0.1, below, 1.5, "a person", "reads the answers\nand [LOOK: …] lines", LIGHT[1], False)
    for tail, tip in ((6.35, 5.5), (4.0, 3.6), (2.0, 1.6)):
        arrow(axes, (tip, below + 0.39), (tail, below + 0.39))
    return drawn
