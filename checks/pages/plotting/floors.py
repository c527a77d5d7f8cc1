"""What each stage takes, and what each unit of the machine needs for it at least, by the CPU execution's counts."""
from .registry import figure
from .results import medians, short, title
from .style import BLACK, BLUE, GREEN, GREY, GRID, ORANGE, PURPLE, VERMILION, WIDTH, caption, logarithmic, subplots

SHAPES = ["1,8,512,64", "2,8,2048,64"]
FEW = ["v1", "v2b", "v2c6", "v2c8", "v2d", "v3b", "v3j"]  # for the counters' page: every stage is too many to read the markers
GUESSED = {"v1", "v2b", "v2c3", "v2c5", "v2d"}  # the GPU counts less for shared memory: writeups/counters.md#what-cannot-be-trusted
UNITS = {"issue slots": (BLUE, "^"), "shared memory": (VERMILION, "s"), "exponentials": (GREEN, "D"), "tensor cores": (PURPLE, "v"), "L2": (ORANGE, "P")}


def run_of(r, stage, shape):
    """The run whose time of this kernel is shown: the ladder's, else the one of small problems or of the fastest stages; None where none has it."""
    return next((run for run in (r.bench, r.small, r.ahead) if run and (stage, shape) in medians(run)), None)


def measured(r, stage, shape):
    run = run_of(r, stage, shape)
    return medians(run)[stage, shape] if run else None


def data_floors(r, only=None):
    floors, elsewhere = {}, {}
    for shape in SHAPES:
        floors[shape] = []
        for stage, shapes in r.counted["stages"].items():
            if shape not in shapes or (only is not None and short(stage) not in only):
                continue
            run = run_of(r, stage, shape)
            floors[shape].append([stage, medians(run)[stage, shape] if run else None, {roof["name"]: roof["us"] for roof in shapes[shape]["floor"]["roofs"]}])
            if run not in (None, r.bench):
                elsewhere.setdefault(f"{run['gpu']}, {run['date'][:10]}", {}).setdefault(shape, []).append(short(stage))
    return {"source": r.source(), "elsewhere": elsewhere, "floors": floors}


def is_guess(stage, roofs):
    return short(stage) in GUESSED and max(roofs, key=roofs.get) == "shared memory"


@figure("floors", data_floors, lambda r: r.counted)
@figure("floors-few", lambda r: data_floors(r, FEW), lambda r: r.counted)
def draw_floors(plt, d):
    below, rows = 1.34, max(map(len, d["floors"].values()))
    few = rows <= len(FEW)
    high = 1.9 + (0.36 if few else 0.25) * rows
    figure, panels = subplots(plt, (WIDTH, high), 1, 2, left=0.06, right=0.985, top=1 - 0.5 / high, bottom=below / high, wspace=0.19)
    for axes, (shape, stages) in zip(panels, d["floors"].items()):
        for y, (stage, time, roofs) in enumerate(stages):
            least = max(roofs.values())
            floor = max(roofs, key=roofs.get)
            guess = is_guess(stage, roofs)
            if few and y % 2:
                axes.axhspan(y - 0.5, y + 0.5, color="#f4f4f4", zorder=0)
            if time:
                axes.plot([least, time], [y, y], color=GREY, linewidth=1.2, zorder=1)
                axes.plot([time], [y], marker="o", markersize=7, color=BLACK, linestyle="")
                axes.text(time * 1.3, y, f"{'≈ ' if guess else ''}{100 * least / time:.0f} %, {floor}", fontsize=7.5 if few else 7, va="center")
            else:
                axes.text(least * 1.3, y, floor, fontsize=7, va="center")
            axes.plot([least], [y], marker=UNITS[floor][1], markersize=6, color=UNITS[floor][0], linestyle="")  # the page's tables have the other units
        every = [us for _, time, roofs in stages for us in [max(roofs.values()), time or 0] if us > 0]
        logarithmic(axes, every, (0.1, 1, 3, 10, 30, 100, 300), 0.7, 2.2)
        axes.set(xlim=(0.7 * min(every), (80 if any(is_guess(stage, roofs) for stage, _, roofs in stages) else 20) * max(every)))  # with room for the words
        axes.set_yticks(range(len(stages)), [short(stage) + (" *" if is_guess(stage, roofs) else "") for stage, _, roofs in stages], fontsize=8)
        axes.set_ylim(len(stages) - 0.4, -0.7)
        axes.set_xlabel("µs (log)")
        axes.set_title(title(shape), fontsize=10)
        axes.grid(True, axis="x", **GRID)
    marks = [plt.Line2D([], [], color=BLACK, marker="o", markersize=7, linestyle="", label="measured")]
    marks += [plt.Line2D([], [], color=colour, marker=marker, markersize=6, linestyle="", label=f"floor: {name}") for name, (colour, marker) in UNITS.items() if any(name == max(roofs, key=roofs.get) for stages in d["floors"].values() for *_, roofs in stages)]
    figure.legend(handles=marks, ncol=6, fontsize=7.5, columnspacing=1.2, handletextpad=0.3, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.72 / high))
    return caption(figure, f"Floor: the least time that the unit of an H100 or H200 that needs most takes for what the CPU execution counted, at the rates in writeups/counters.md. * A guess and no bound: the GPU counts fewer accesses to shared memory. "
                           "Grey line: measured time over floor, on a logarithmic axis; it is what latencies, waits, sums and indices take. The number: which part of the time the floor is. "
                           f"Measured: medians in a replayed CUDA graph. {d['source']}" + "".join(f"; {card}: " + "; ".join(f"{', '.join(stages)} on {title(shape)}" for shape, stages in of.items()) for card, of in d["elsewhere"].items()) + ".")
