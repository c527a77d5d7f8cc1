"""What the loops of v3h and v3j ask at each key tile of one warp, and at which tile the answer is another one."""
from .registry import figure
from .style import BLUE, LIGHT, VERMILION, WIDTH, bare, box, caption, subplots

KEYS, Q0, FIRST_ROW, CONSUMER = 64, 512, 144, 2  # warp 9 of a block of four consumers, (4,16,8192,64) causal
# The question, how often v3h's loop asks it at a tile, and what v3j does in its place; None: v3j asks, too.
QUESTIONS = (("tile 0?", 4, "tile 0 is computed before the loop"), ("lane 0?", 2, "an instruction that is predicated"),
             ("a mask?", 1, None), ("do the weights fit?", 1, None))


def data_loop_questions(r):
    own, plain = -(-(Q0 + (CONSUMER + 1) * 64) // KEYS), (Q0 + FIRST_ROW + 1) // KEYS
    other = {"tile 0?": [0], "do the weights fit?": [0], "a mask?": list(range(plain, own))}  # tile 0 fails the check on purpose: its maximum becomes the reference
    return {"own": own, "rows": [[name, times, instead, other.get(name, [])] for name, times, instead in QUESTIONS]}


@figure("loop-questions", data_loop_questions)
def draw_loop_questions(plt, d):
    figure, panels = subplots(plt, (WIDTH, 2.75), 1, 2, left=0.16, right=0.995, top=0.87, bottom=0.3, wspace=0.06)
    for panel, axes in enumerate(panels):
        axes.set(xlim=(-0.2, d["own"] + 0.1), ylim=(len(d["rows"]) - 0.1, -0.2))
        bare(axes)
        axes.set_title(("v3h's loop asks", "v3j's loop asks")[panel], fontsize=10, loc="left")
        axes.set_xticks([t + 0.42 for t in range(d["own"])], [str(t) for t in range(d["own"])], fontsize=8.5)
        axes.tick_params(length=0)
        axes.set_xlabel("key tile", fontsize=9)
        for y, (name, times, instead, other) in enumerate(d["rows"]):
            if panel == 0:
                axes.text(-0.35, y + 0.4, name, ha="right", va="center", fontsize=9)
            if panel == 1 and instead:
                axes.text(0.1, y + 0.4, instead, va="center", fontsize=8.5, color="#444444")
                continue
            for t in range(d["own"]):
                look = {"facecolor": VERMILION, "edgecolor": VERMILION} if t in other else {"facecolor": LIGHT[0], "edgecolor": BLUE}
                if panel == 1 and t == 0:  # computed before the loop, which asks of it the mask alone
                    if name != "a mask?":
                        continue
                    look = {"facecolor": "white", "edgecolor": BLUE, "linestyle": (0, (2, 2))}
                box(axes, t, y, 0.84, 0.8, str(times), 8.5, linewidth=0.8, **look)
    return caption(figure, "One warp (rows 656 to 671) of a launch under a causal mask. A box: the question is asked at this tile; the number: how often. Pale: the usual answer. Dark: the other answer. Dashed: asked once, before the loop.")
