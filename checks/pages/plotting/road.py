"""The order of reading: the ladder by its stage.conf, and the pages on single subjects where the road first needs them; and a course's weeks."""
import re
import textwrap

from .heads import ROOT, Unusable
from .registry import figure
from .results import ladder, says, short
from .style import BLACK, BLUE, GREEN, LIGHT, ORANGE, WIDTH, arrow, box, canvas, caption, subplots

# Stage -> the pages to read before it (their first words), in the order of reading.
BEFORE = {"v1": ["on-ramp", "online-softmax"], "v2b": ["cp-async-pipeline"], "v2c6": ["seeing-races"], "v2c9": ["counters"], "v3a": ["primer"], "v3c": ["wgmma-second-product"], "v3e": ["reading-sass"], "v3h": ["how-many-consumers"]}
AFTER = ["what-it-bought", "beyond"]
BESIDE = {"v3c": "five-microseconds", "what-it-bought": "peers"}  # stage or page -> the page below it; the stage's side road goes on from there
ENTRIES = ["on-ramp", "v1", "v2c5", "primer", "v3b", "v3d"]  # where to begin after missing the map's question 1, 2, ...
ROWS = [("v1", "a plain loop, then copies ahead"), ("v2c5", "matrix units (tensor cores)"), ("v2c8", "everything in registers"), ("v3a", "Hopper's copies and products"), ("v3c", "overlap, then roles"), ("v3f", "fewer instructions, and scheduling")]
# The backward pass in two lines: each group of its stages, the stage of the road to have read before, and the page before its first stage.
BACKWARD = [[("v1", ["b1", "b2"]), ("v2d", ["b3"])], [("v3d", ["b4", "b5", "b6"]), ("v4c", ["b7", "b8"])]]
BEFORE_BACKWARD = "backward-in-one-evening"
# What each stage is about, in a word or two.
WORDS = {"v1": "plain loop", "v2b": "copy ahead", "v2c3": "own scores", "v2c5": "Q·Kᵀ", "v2c6": "P·V", "v2c7": "one slot", "v2c8": "mma.sync", "v2c9": "two stripes", "v2d": "ldmatrix", "v3a": "TMA", "v3b": "wgmma",
         "v3c": "overlap", "v3d": "producer", "v3e": "ping-pong", "v3f": "lazy reference", "v3h": "longest first", "v3j": "shorter loop", "v3k": "draws", "v4a": "split keys", "v4b": "fewer waits", "v4c": "early launch",
         "b1": "two kernels", "b2": "atomics", "b3": "mma.sync", "b4": "wgmma", "b5": "dQ warpgroup", "b6": "same bits", "b7": "split queries", "b8": "early launch"}


def data_road(_):
    stages = [{"stage": stage, "from": says(stage, "from"), "main": says(stage, "road") == "main"} for stage in ladder()]
    for name in [page for pages in BEFORE.values() for page in pages] + [*AFTER, *BESIDE.values(), BEFORE_BACKWARD]:
        if not (ROOT / "writeups" / f"{name}.md").exists():
            raise Unusable(f"reading-order: there is no page writeups/{name}.md")
    main = [short(s["stage"]) for s in stages if s["main"]]
    if unknown := [s for s in [*BEFORE, *(first for first, _ in ROWS)] if s not in main]:
        raise Unusable(f"reading-order: {unknown[0]} is no stage of the main road")
    if {short(p.parent.name) for p in (ROOT / "stages").glob("b*/stage.conf")} != {stage for line in BACKWARD for _, group in line for stage in group}:
        raise Unusable("reading-order: BACKWARD is not the backward pass of stages/")
    if WORDS.keys() != {short(s["stage"]) for s in stages} | {stage for line in BACKWARD for _, group in line for stage in group}:
        raise Unusable("reading-order: WORDS is not about the stages of stages/")
    side = [[short(s["stage"]), short(s["from"])] for s in stages if not s["main"]]
    return {"main": main, "side": side, "before": BEFORE, "after": AFTER, "beside": BESIDE, "entries": ENTRIES, "rows": ROWS, "backward": BACKWARD, "before_backward": BEFORE_BACKWARD, "words": WORDS}


@figure("reading-order", data_road)
def draw_road(plt, d):
    begins = [d["main"].index(first) for first, _ in d["rows"]] + [len(d["main"])]
    origins = {origin for _, origin in d["side"]}
    below = [0.66 + (0.44 if origins & set(d["main"][first:last]) else 0) for first, last in zip(begins, begins[1:])]  # from a row to the next: room for its side roads
    top, left, high, gap = 0.25, 1.6, 0.42, 0.18
    figure, axes = canvas(plt, top + sum(below) + 0.7 + 0.54 * (len(d["backward"]) - 1) + 0.35)
    page_look = {"facecolor": "white", "edgecolor": ORANGE, "linestyle": "--", "linewidth": 1.2}
    stage_look = {"facecolor": LIGHT[0], "edgecolor": BLUE, "linewidth": 1.4}
    side_look = {"facecolor": "white", "edgecolor": GREEN, "linestyle": ":", "linewidth": 1.2}
    width_of = lambda page: 0.074 * len(page) + 0.12
    wide = lambda stage: max(0.5, 0.058 * len(d["words"][stage]) + 0.12)
    forks = {}
    for stage, origin in d["side"]:
        forks.setdefault(origin, []).append(stage)

    def number(x, y, n):
        axes.text(x, y, str(n), fontsize=9, weight="bold", color="white", ha="center", va="center", zorder=5, bbox={"boxstyle": "circle,pad=0.22", "facecolor": BLACK, "edgecolor": "none"})

    def filled(x, y, width, height, name, look, size):
        """A page's name, or a stage's with its words below."""
        words = d["words"].get(name)
        box(axes, x, y, width, height, "" if words else name, size, **look)
        if words:
            axes.text(x + width / 2, y + 0.35 * height, name, fontsize=size, ha="center", va="center")
            axes.text(x + width / 2, y + 0.74 * height, words, fontsize=7, ha="center", va="center")

    def place(x, y, name, look, width, size):
        filled(x, y, width, high, name, look, size)
        if name in d["entries"]:
            number(x, y - 0.02, d["entries"].index(name) + 1)
        return x + width

    def joined(x, y, items):
        for i, (name, look, width, size) in enumerate(items):
            if i:
                arrow(axes, (x + gap, y + high / 2), (x, y + high / 2), BLACK, 0.9)
                x += gap
            if name in forks or name in d["beside"]:
                below_it(x, y, width, d["beside"].get(name), forks.get(name, []))
            x = place(x, y, name, look, width, size)
        return x

    def below_it(x, y, width, page, sides):
        down = x + width - (0.2 if not sides else width / 2)
        axes.plot([down] * 2, [y + high, y + high + 0.1], color=GREEN, linewidth=1.1, linestyle=":")
        chain = sides[:1]
        while chain and chain[-1] in forks:
            chain.append(forks[chain[-1]][0])
        items = [(page, page_look, width_of(page))] if page else []
        items += [(one, side_look, wide(one)) for one in chain]
        if not sides:
            x += width - width_of(page)
        for i, (name, look, across) in enumerate(items):
            if i:
                axes.plot([x, x + 0.12], [y + high + 0.29] * 2, color=GREEN, linewidth=1.1, linestyle=":")
                x += 0.12
            filled(x, y + high + 0.1, across, 0.38, name, look, 8)
            x += across

    y = top
    for row, (first, what) in enumerate(d["rows"]):
        axes.text(0.12, y + high / 2, textwrap.fill(what, 21), fontsize=8.5, weight="bold", va="center", linespacing=1.15)
        items = []
        for stage in d["main"][begins[row]:begins[row + 1]]:
            items += [(page, page_look, width_of(page), 8) for page in d["before"].get(stage, [])] + [(stage, stage_look, wide(stage), 9)]
        if row == len(d["rows"]) - 1:
            items += [(page, page_look, width_of(page), 8) for page in d["after"]]
        joined(left, y, items)
        y += below[row]
    axes.text(0.12, y + high / 2, "the backward pass", fontsize=8.5, weight="bold", va="center")
    for line in d["backward"]:
        x = left
        for origin, group in line:
            axes.text(x, y + high / 2, f"after {origin}:", fontsize=8, va="center", style="italic")
            x += 0.66
            items = [(stage, stage_look, wide(stage), 9) for stage in group]
            if (origin, group) == d["backward"][0][0]:
                items.insert(0, (d["before_backward"], page_look, width_of(d["before_backward"]), 8))
            x = joined(x, y, items) + 0.25
        y += 0.54
    y += 0.1
    x = 0.12
    for text, look, width in (("a stage", stage_look, 0.8), ("a page to read there", page_look, 1.65), ("a side road", side_look, 1.2)):
        box(axes, x, y, 0.3, 0.18, **look)
        axes.text(x + 0.37, y + 0.09, text, fontsize=8, va="center")
        x += width + 0.4
    number(x + 0.1, y + 0.09, 1)
    axes.text(x + 0.27, y + 0.09, "begin here if you miss question 1", fontsize=8, va="center")
    return figure


# --- the course: minutes of exercises by week --------------------------------------------------------------------------------------


# Of each kind of exercise: what is asked, and how it is drawn.
LOOKS = {"fix": ("find and mend a fault", LIGHT[0], ""), "hole": ("write a few lines", LIGHT[4], "///"), "predict": ("predict", LIGHT[2], ".."), "instruction": ("one instruction", LIGHT[3], "\\\\"),
         "faster": ("make it faster", LIGHT[2], "xx"), "test": ("write a test", "white", "--"), "mechanism": ("write a mechanism", LIGHT[1], ""), "capstone": ("capstone", "white", "++")}


def data_weeks(_):
    """The weeks as writeups/course.md assigns them, with each exercise's minutes and kind from where it stands."""
    exercises = {}
    for path in [*(ROOT / "stages").glob("*/*/*.exercise"), *(ROOT / "checks/exercises").rglob("*.exercise")]:
        found = dict(re.findall(r"^(n|kind|minutes): (\w+)", path.read_text(), re.M))
        if "n" in found and "minutes" in found:
            exercises[found["n"]] = [found.get("kind", "fix"), int(found["minutes"])]
    weeks = []
    for line in (ROOT / "writeups/course.md").read_text().splitlines():
        if found := re.match(r"\| (\d+) \| (.*) \| `([\d ]+)` \| (\d+) \|", line):
            assigned = found[3].split()
            if missing := [n for n in assigned if n not in exercises]:
                raise Unusable(f"writeups/course.md: week {found[1]} assigns {missing[0]}, which no .exercise file has")
            weeks.append({"week": int(found[1]), "assigned": [[n, *exercises[n]] for n in assigned], "stages": re.findall(r"\bv\d\w*", re.sub(r"\([^)]*\)|up to v\w+", "", found[2]))})
    if not weeks:
        raise Unusable("writeups/course.md: no week is assigned anything")
    return {"weeks": weeks}


@figure("weeks", data_weeks)
def draw_weeks(plt, d):
    weeks = d["weeks"]
    figure, axes = subplots(plt, (WIDTH, 4.5), left=0.265, right=0.985, top=0.91, bottom=0.27)
    kinds = {kind for week in weeks for _, kind, _ in week["assigned"]}
    looks = {kind: look for kind, look in LOOKS.items() if kind in kinds}
    for y, week in enumerate(weeks):
        x = 0
        for n, kind, minutes in week["assigned"]:
            _, face, hatch = looks[kind]
            axes.barh(y, minutes, left=x, height=0.68, facecolor=face, hatch=hatch, edgecolor=BLACK, linewidth=0.8)
            axes.text(x + minutes / 2, y, n, ha="center", va="center", fontsize=8, bbox={"facecolor": face, "edgecolor": "none", "pad": 0.8} if hatch else None)
            x += minutes
        axes.text(x + 3, y, f"{x} min", fontsize=8, va="center")
    names = [textwrap.fill(f"week {week['week']}: {', '.join(week['stages'])}".removesuffix(": "), 22) for week in weeks]
    axes.set_yticks(range(len(weeks)), names, fontsize=8.5)
    axes.set(xlim=(0, 1.12 * max(sum(m for *_, m in week["assigned"]) for week in weeks)), ylim=(len(weeks) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlabel("minutes of exercises, as on the cards; without the reading", fontsize=8.5)
    axes.set_title("What is assigned, exercise by exercise", fontsize=10, loc="left")
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=face, hatch=hatch, edgecolor=BLACK, label=text) for text, face, hatch in looks.values()]
    figure.legend(handles=handles, ncol=3, fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.56, 0.055))
    return caption(figure, "Drawn from the table below and the exercises' own files. A stage named at a week is read then.")
