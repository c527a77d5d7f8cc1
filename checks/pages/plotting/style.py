"""What all figures share: colours, marks, captions."""

# Okabe and Ito's colours, told apart with any colour vision; markers, dashes and hatches tell them apart in grey.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK, GREY = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442",
                                                                    "#000000", "#999999")
COLOURS = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY, YELLOW]
LIGHT = ["#CCE3F0", "#FBE3CC", "#CCEBE3", "#F5E4ED", "#FAECCC", "#DDF0FB"]  # the same, thinned: for cells that carry text
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<"]
HATCHES = ["", "///", "\\\\\\", "xx", "---", "|||", "++", "//", "\\\\"]
GRID = {"color": "#dddddd", "linewidth": 0.6}

# A page shows a figure 800 px wide, and no text may be smaller there than 9 px.
WIDTH, PAGE, LEAST = 8.0, 800, 9.0

SETTINGS = {"svg.hashsalt": "lab", "svg.fonttype": "path", "font.family": "DejaVu Sans", "font.size": 9, "hatch.linewidth": 0.6,
            "axes.spines.top": False, "axes.spines.right": False, "savefig.dpi": 110}


def caption(figure, text):
    """Sentences under the drawing, from the left edge; broken where the figure's width ends. Gives the figure."""
    from matplotlib.font_manager import FontProperties

    renderer, font = figure.canvas.get_renderer(), FontProperties(size=7.5)
    room = 0.98 * figure.get_figwidth() * figure.dpi
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}".strip()
            if line and renderer.get_text_width_height_descent(longer, font, False)[0] > room:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    figure.text(0.01, 0.008, "\n".join(lines), fontsize=7.5, color="#333333", va="bottom", ha="left", linespacing=1.25)
    return figure


def subplots(plt, size, rows=1, columns=1, left=None, right=None, top=None, bottom=None, wspace=None, hspace=None, **more):
    """A figure and its axes, with so much room around and between them."""
    figure, axes = plt.subplots(rows, columns, figsize=size, **more)
    figure.subplots_adjust(left, bottom, right, top, wspace, hspace)
    return figure, axes


def frameless(axes):
    for spine in axes.spines.values():
        spine.set_visible(False)


def ranked(axes, names, size=8, top=-0.6):
    """A row for each name, the first on top, and lines for reading across."""
    axes.set(ylim=(len(names) - 0.4, top))
    axes.set_yticks(range(len(names)), names, fontsize=size)
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x", **GRID)


def logarithmic(axes, every, ticks, low, high, unit="", base=10):
    """x from `low` times the least value to `high` times the largest, with those of the ticks that lie there."""
    low, high = low * min(every), high * max(every)
    axes.set_xscale("log", base=base)
    axes.set(xlim=(low, high))
    ticks = [t for t in ticks if low < t < high]
    axes.set_xticks(ticks, [f"{t:g}{unit}" for t in ticks])
    axes.minorticks_off()


def bare(axes):
    """No frame, no ticks: for drawings that are not plots."""
    axes.set(xticks=[], yticks=[])
    frameless(axes)


def box(axes, x, y, width, height, text="", size=7, pad=None, behind="white", words={}, **look):
    """A rectangle with a text in its middle; pad: how far it is `behind` around the text; words: how else that looks."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, **{"facecolor": "white", "edgecolor": BLACK, "linewidth": 0.8} | look))
    if text:
        ground = None if pad is None else {"facecolor": behind, "edgecolor": "none", "pad": pad}
        axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=size, bbox=ground, **words)


def arrow(axes, tip, tail, colour=BLACK, width=1.2, arrowstyle="-|>", **look):
    axes.annotate("", tip, tail, arrowprops={"arrowstyle": arrowstyle, "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0} | look)


def too_small(figure):
    """The texts of a figure that are smaller than LEAST on a page."""
    from matplotlib.text import Text

    pixels = PAGE / (72 * figure.get_figwidth())
    return sorted({text.get_text() for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip() and text.get_fontsize() * pixels < LEAST - 0.01})


def canvas(plt, height):
    """A figure of a page's width for a drawing that is not a plot: one unit is an inch, y goes down."""
    figure = plt.figure(figsize=(WIDTH, height))
    axes = figure.add_axes([0, 0, 1, 1])
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(height, 0)
    bare(axes)
    return figure, axes
