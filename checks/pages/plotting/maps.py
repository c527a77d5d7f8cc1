"""Figures of wrong answers: where the output is wrong, and how it stands to the right and to the predicted one."""
import math

from .registry import figure, figures
from .results import short
from .style import BLACK, BLUE, GREY, GRID, VERMILION, WIDTH, caption, subplots

LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
KEYS = {".": "White: within the harness's bound.", "!": "Crossed, orange: NaN.", "~": "Hatched, grey: never written."}
PROBE_KEY = "Probe: Q and V are multiples of the identity and K[n][c] is a wave of c − n, so the output is the attention weights themselves."


def count(lines, mark):
    return sum(line.count(mark) for line in lines)


def key(*maps):
    """What the marks of these maps mean; no mark is explained that is not there."""
    return " ".join(text for mark, text in KEYS.items() if any(count(one["seen"], mark) for one in maps))


def inside(d):
    """How much of the map is right, in words: the figure shall not claim more than its data."""
    total = sum(map(len, d["seen"]))
    right = count(d["seen"], ".")
    return f"{right} of {total} elements are within the bound."


def levels(lines):
    return [[1e-5 * 10 ** (LEVELS.index(ch) / 10) if ch in LEVELS else math.nan for ch in line] for line in lines]


def runs(lines, mark):
    """Boxes (first row, rows, first column, columns) of neighbouring elements with this mark."""
    row = 0
    while row < len(lines):
        first, width = lines[row].find(mark), lines[row].count(mark)
        if not width:
            row += 1
            continue
        end = row
        while end < len(lines) and (lines[end].find(mark), lines[end].count(mark)) == (first, width):
            end += 1
        yield row, end - row, first, width
        row = end


def draw_map(plt, axes, d, part="seen"):
    """One map; returns the image for a colour bar."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    lines = d[part]
    first = int(d["rows"].split("..")[0])
    values = levels(lines)
    blues = plt.get_cmap("Blues")
    colours = LinearSegmentedColormap.from_list("errors", [blues(0.25 + 0.75 * i / 32) for i in range(33)]).with_extremes(bad="white")
    shown = [v for line in values for v in line if not math.isnan(v)]
    low, high = (1e-3, 1e-1) if "probe" in d["inputs"] else (1e-2, 3)
    if shown:
        low, high = min(low, max(shown) / 10), max(high, max(shown))
    rows, columns = len(lines), len(lines[0])
    image = axes.imshow(values, cmap=colours, norm=LogNorm(low, high), interpolation="nearest", aspect="auto", extent=(-0.5, columns - 0.5, first + rows - 0.5, first - 0.5))
    for mark, colour, hatch in (("!", VERMILION, "xxx"), ("~", "#444444", "///")):
        for row, height, column, width in runs(lines, mark):
            axes.add_patch(plt.Rectangle((column - 0.5, first + row - 0.5), width, height, facecolor="#f4f4f4", edgecolor=colour, hatch=hatch, linewidth=0.8))
    step = 1 if rows <= 16 else 16 if rows <= 64 else 32
    axes.set_xticks(range(0, columns + 1, 16 if columns <= 64 else 32))
    axes.set_yticks(range((first + step - 1) // step * step, first + rows + (step > 1), step))
    axes.set_xlabel("column" if "probe" not in d["inputs"] else "column (= key)", fontsize=8)
    axes.set_ylabel("query row", fontsize=8)
    axes.tick_params(labelsize=7)
    for spine in axes.spines.values():
        spine.set_visible(True)
    return image


def has_colours(d, part="seen"):
    return any(ch in LEVELS for line in d[part] for ch in line)


def inputs_of(d):
    text = f"Inputs: {d['inputs']}, {d['shape']}; CPU backend" + (", another legal fragment layout" if d["fragments"] == "other" else "") + "."
    return text + (" " + PROBE_KEY if d["inputs"] == "probe" else "")


def draw_one(plt, d):
    figure, axes = subplots(plt, (5.6, 5.4), left=0.12, right=0.86, top=0.92, bottom=0.24)
    image = draw_map(plt, axes, d)
    axes.set_title(f"{d['bug']} ({short(d['stage'])}): |out − ref|", fontsize=10)
    if has_colours(d):
        figure.colorbar(image, cax=figure.add_axes((0.88, 0.24, 0.03, 0.68))).ax.tick_params(labelsize=7)
    return caption(figure, f"{d['caption']} {inside(d)} {key(d)}\n{inputs_of(d)}")


def draw_with_prediction(plt, d):
    figure, both = subplots(plt, (8.6, 4.9), 1, 2, sharey=True, left=0.075, right=0.915, top=0.92, bottom=0.255, wspace=0.08)
    for axes, part, what in zip(both, ("seen", "predicted"), ("|out − ref|, seen", "|predicted − ref|")):
        image = draw_map(plt, axes, d, part)
        axes.set_title(what, fontsize=10)
    both[1].set_ylabel("")
    figure.colorbar(image, cax=figure.add_axes((0.928, 0.255, 0.02, 0.665))).ax.tick_params(labelsize=7)
    same = sum(a == b for x, y in zip(d["seen"], d["predicted"]) for a, b in zip(x, y))
    return caption(figure, f"{d['bug']} ({short(d['stage'])}), seen and predicted: {same} of {sum(map(len, d['seen']))} elements are of the same colour. {d['caption']} {inside(d)} {key(d)}\n{inputs_of(d)}")


def draw_beside(plt, d):
    figure, both = subplots(plt, (8.6, 4.1), 1, 2, sharey=True, left=0.065, right=0.985, top=0.91, bottom=0.265, wspace=0.06)
    for axes, one in zip(both, d):
        draw_map(plt, axes, one)
        axes.set_title(f"{one['bug']} ({short(one['stage'])})", fontsize=10)
        for row in range(int(one["rows"].split("..")[0]), int(one["rows"].split("..")[1])):
            axes.axhline(row + 0.5, color="#cccccc", linewidth=0.5, zorder=5)
        edges = [row for row, *_ in runs(one["seen"], "!")]
        if edges:
            axes.text(32, int(one["rows"].split("..")[0]) + edges[0] - 1, f"row {int(one['rows'].split('..')[0]) + edges[0] - 1}: the last that is right", ha="center", va="center", fontsize=8)
    both[1].set_ylabel("")
    return caption(figure, f"Rows {d[0]['rows'].replace('..', '–')} of the tile. Left: {d[0]['caption']} Right: {d[1]['caption']} {key(*d)}\n{inputs_of(d[0])}")


def draw_scatter(plt, d):
    predicted = len(d["sample"][0]) == 5
    unwritten = list(runs(d["seen"], "~"))
    panels = 1 + predicted + bool(unwritten)
    figure, all_axes = subplots(plt, (min(WIDTH, 3.1 * panels + 0.4), 4.2), 1, panels, squeeze=False, left=0.19 / panels, right=0.985, top=0.93, bottom=0.25, wspace=0.3)
    rest = list(all_axes[0])
    if unwritten:
        axes = rest.pop(0)
        lines = d["seen"]
        axes.set(xlim=(-0.5, len(lines[0]) - 0.5), ylim=(len(lines) - 0.5, -0.5))
        axes.add_patch(plt.Rectangle((-0.5, -0.5), len(lines[0]), len(lines), facecolor="#DDF0FB", edgecolor=BLUE))
        for row, height_, column, width in unwritten:
            axes.add_patch(plt.Rectangle((column - 0.5, row - 0.5), width, height_, facecolor="#f4f4f4", edgecolor="#444444", hatch="///"))
            axes.text(column + width / 2, row + height_ / 2, "never\nwritten", ha="center", va="center", fontsize=8, bbox={"facecolor": "white", "edgecolor": "none"})
        axes.text(unwritten[0][2] / 2, len(lines) / 2, "written:\nsee the points", ha="center", va="center", fontsize=8)
        axes.set_xticks(range(0, len(lines[0]) + 1, 32))
        axes.set_yticks(range(0, len(lines) + 1, 32))
        axes.set_xlabel("column", fontsize=8)
        axes.set_ylabel("query row", fontsize=8)
        axes.set_title("where", fontsize=10)
    limit = 1.08 * max(abs(x) for row in d["sample"] for x in row[2:])
    for axes, column, what in zip(rest, (2, 3), ("right answer", "predicted answer")):
        x, y = [row[column] for row in d["sample"]], [row[-1] for row in d["sample"]]
        slope = sum(a * b for a, b in zip(x, y)) / sum(a * a for a in x)
        # Predicted against seen has one scale; right against seen has the right answer's, so that flattening shows.
        reach = limit if column == 2 else 1.08 * max(map(abs, x + y))
        axes.plot([-reach, reach], [-reach, reach], color=BLACK, linewidth=0.9, linestyle="--")
        axes.text(-0.95 * reach, 0.93 * reach, "dashed: out = " + what.split()[0], fontsize=7.5, ha="left", va="top")
        axes.plot(x, y, linestyle="", marker=".", markersize=2.6, color=VERMILION if column == 2 else BLUE, rasterized=False)
        if column == 2:
            axes.plot([-reach, reach], [-slope * reach, slope * reach], color=GREY, linewidth=1)
            axes.text(0.95 * reach, -0.93 * reach, f"grey: best line, slope {slope:.3f}" + (f" = 1/{1 / slope:.0f}" if slope < 0.1 else ""), fontsize=7.5, ha="right", va="bottom")
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
        axes.set_aspect("equal", adjustable="box")
        axes.set_xlabel(what, fontsize=8)
        axes.set_ylabel("out", fontsize=8, labelpad=0)
        axes.set_title("out against " + what.replace(" answer", ""), fontsize=10)
    for axes in all_axes[0]:
        axes.tick_params(labelsize=7)
        axes.grid(axes in rest, **(GRID if axes in rest else {}))
        axes.set_axisbelow(True)
    return caption(figure, f"{d['bug']} ({short(d['stage'])}): {d['caption']} {inside(d)} A point is an element, {len(d['sample'])} evenly spread ones. {inputs_of(d)}")


@figure("error-maps", lambda r: [one for one in r.maps.values() if "sample" not in one])
def draw_all(plt, d):
    """The maps that show a place, not a size: for the page that tells all bugs."""
    columns = 3
    rows = -(-len(d) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(WIDTH, 3.1 * rows + 0.8), squeeze=False)
    total = figure.get_figheight()
    figure.subplots_adjust(left=0.06, right=0.945, top=1 - 0.3 / total, bottom=1.15 / total, wspace=0.5, hspace=0.42)
    for axes in list(grid.flat)[len(d):]:
        axes.set_visible(False)
    for axes, one in zip(grid.flat, d):
        image = draw_map(plt, axes, one)
        axes.set_title(f"{one['bug']} ({short(one['stage'])})", fontsize=9)
        if has_colours(one):
            figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03).ax.tick_params(labelsize=7)
    return caption(figure, f"|out − ref| over query rows and columns, fp64 reference. {key(*d)} Inputs N(0,1), seed 1, except for {', '.join(o['bug'] for o in d if o['inputs'] == 'probe')}, "
                           f"which are shown a probe; CPU backend. {PROBE_KEY}")


@figures
def maps(r):
    """error-BUG for every bug with a map, each drawn as its data allows."""
    def of(one):
        if one["beside"] and "sample" not in one:
            return [one, r.maps[one["beside"]]], draw_beside
        return one, draw_scatter if "sample" in one else draw_with_prediction if "predicted" in one else draw_one

    return {f"error-{bug}": of(one) for bug, one in r.maps.items()}
