"""What a product reads if weights are rounded before its wait: the order of v3f's kernel, and of its bug packed_too_early, from the bug's patch."""
import re

from .heads import ROOT, Unusable
from .registry import figure
from .style import BLACK, BLUE, LIGHT, ORANGE, VERMILION, box, canvas, caption

PATCH = "stages/v3f_lazy_reference/bugs/packed_too_early.patch"
STEPS = {"weigh early": "exp\nkeys 0–63", "weigh late": "exp\nkeys 64–127", "pack early": "round\nkeys 0–63", "pack late": "round\nkeys 64–127", "wait": "wait\nfor O"}


def order(lines):
    """The acts of one round, after the wait for the scores: weights and roundings of the early and the other keys, and the wait for O."""
    found = re.findall(r"wgmma_wait<0>|(weigh|pack)\((?:unit, reference, )?(0|T::EARLY), (?:T::EARLY|N)\)", "\n".join(lines))
    return [f"{what} {'early' if start == '0' else 'late'}" if what else "wait" for what, start in found]


def data_early(_):
    lines = (ROOT / PATCH).read_text().split("\n@@", 1)[1].split("\n")[1:]
    right, wrong = ([line[1:] for line in lines if line[:1] in (" ", sign)] for sign in "-+")
    d = {"right": order(right), "wrong": order(wrong)}
    if sorted(d["right"]) != sorted(d["wrong"]) or len(d["right"]) != 5:
        raise Unusable(f"{PATCH} does not move one rounding across the wait")
    return d


def draw_row(axes, y, acts):
    """One round of a consumer: begins both products, waits for the scores, then the acts; below, how long P V reads p, and what it finds there."""
    x, width, gap = 1.02, 0.79, 0.05
    starts = {}
    for i, act in enumerate(["begin", "scores", *acts]):
        at = starts[act] = x + i * (width + gap)
        early = act == "pack early" and acts.index("pack early") < acts.index("wait")
        text = {"begin": "begin QK t,\nPV t − 1", "scores": "wait\nfor scores"}.get(act) or STEPS[act]
        face = {"begin": LIGHT[4], "scores": "#e4e4e4", "wait": "#e4e4e4"}.get(act, LIGHT[0] if act.startswith("pack") else "white")
        box(axes, at, y, width, 0.5, text, 8, facecolor=LIGHT[1] if early else face, edgecolor=VERMILION if early else BLACK, linewidth=2 if early else 0.8)
    wrong = acts.index("pack early") < acts.index("wait")
    left, right = starts["begin"] + width, starts["wait"] + width
    box(axes, left, y + 0.58, right - left, 0.27, "PV t − 1 may read p", 8.5, facecolor=LIGHT[4], edgecolor=ORANGE)
    axes.text(0.92, y + 0.25, "consumer", ha="right", va="center", fontsize=8.5)
    axes.text(0.92, y + 0.715, "tensor core", ha="right", va="center", fontsize=8.5)
    axes.text(0.92, y + 1.175, "reads p of", ha="right", va="center", fontsize=8.5)
    half = (right - left) / 2
    for i, keys in enumerate(("keys 0–63", "keys 64–127")):
        bad = wrong and i == 0
        box(axes, left + i * half, y + 0.95, half, 0.45, f"{keys}\nof tile {'t' if bad else 't − 1'}", 8.5, facecolor=LIGHT[1] if bad else "white", edgecolor=VERMILION if bad else BLUE, linewidth=2 if bad else 1)
    axes.text(right + 0.15, y + 1.175, "V t − 1 meets weights of two tiles" if wrong else "V t − 1 meets its own weights", ha="left", va="center", fontsize=8.5, color=VERMILION if wrong else BLACK, weight="bold" if wrong else "normal")


@figure("early", data_early)
def draw_early(plt, d):
    figure, axes = canvas(plt, 4.35)
    for y, name, title in ((0.45, "right", "v3f: the first keys are weighed before the wait for O, and rounded after it"), (2.4, "wrong", "packed_too_early: they are rounded before the wait")):
        axes.text(0.12, y - 0.17, title, fontsize=9.5, va="center")
        draw_row(axes, y, d[name])
    return caption(figure, "Round t of one consumer at D = 64, in the order of the source lines; lengths are not times. p: the weights as fp16, in registers, which P·V reads as A. "
                           "Up to the wait for O the tensor cores may read p of tile t − 1, so nothing may write there; below, what they read if they run at that wait.")
