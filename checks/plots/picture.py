"""Pictures: what is drawn is a list of marks, which Matplotlib paints. The check compares the lists, so it needs no Matplotlib.

x, y, widths are in inches of a page 8 inches wide, y goes down, text sizes in points."""

import hashlib

# Okabe and Ito's colours, told apart with any colour vision; hatches and dashes tell them apart in grey. PALE: for cells that carry text.
BLUE, RED, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
PALE = ["#CCE3F0", "#FBE3CC", "#CCEBE3", "#F5E4ED", "#FAECCC", "#EEEEEE"]  # blue, red, green, purple, orange, grey
BLACK, GREY, DARK = "#000000", "#777777", "#A33F00"
MARK, PLAIN = {"fill": PALE[1], "edge": RED, "line": 1.8}, {"edge": GREY, "line": 0.6}  # the cell to look at among others
WIDTH, SMALLEST = 8, 6.5  # inches; points

FIGURES = {}


def figure(name, height):
    """Names a drawing: a function of the picture that it draws on."""

    def named(draw):
        def drawn():
            picture = Picture(height)
            draw(picture)
            return picture

        FIGURES[name] = drawn
        return draw

    return named


class Picture:
    def __init__(self, height):
        self.height, self.marks = height, []

    def add(self, kind, **mark):
        self.marks.append((kind, {key: round(x, 4) if isinstance(x, float) else x for key, x in mark.items()}))

    def digest(self):
        return hashlib.sha256(repr((self.height, self.marks)).encode()).hexdigest()[:16]

    def rect(self, x, y, width, height, fill="#ffffff", edge=BLACK, line=0.8, hatch="", dash=False):
        self.add("rect", x=x, y=y, width=width, height=height, fill=fill, edge=edge, line=line, hatch=hatch, dash=dash)

    def polygon(self, points, fill):
        self.add("polygon", points=[(round(x, 4), round(y, 4)) for x, y in points], fill=fill)

    def box(self, x, y, width, height, text, size=8, bold=False, color=BLACK, hatch="", **look):
        self.rect(x, y, width, height, hatch=hatch, **look)
        self.text(x + width / 2, y + height / 2, text, size, "middle", bold=bold, color=color, halo=hatch and look.get("fill", "#fff"))

    def text(self, x, y, text, size=8, at="start", bold=False, italic=False, color=BLACK, halo=None, turned=False):
        """Lines of text, (x, y) in the middle of their height; at: start, middle or end. halo: a ground of this colour, against hatches and lines."""
        assert size >= SMALLEST, (text, size)
        self.add("text", x=x, y=y, text=str(text), size=size, at=at, bold=bold, italic=italic, color=color, halo=halo or "", turned=turned)

    def line(self, *points, color=BLACK, width=1, dash=""):
        self.add("line", points=[(round(x, 4), round(y, 4)) for x, y in points], color=color, width=width, dash=dash)

    def arrow(self, x, y, to_x, to_y, color=BLACK, width=1.2, dash=""):
        length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
        dx, dy, head = (to_x - x) / length, (to_y - y) / length, 0.05 + 0.03 * width
        bx, by = to_x - head * dx, to_y - head * dy
        self.line((x, y), (bx, by), color=color, width=width, dash=dash)
        self.polygon([(to_x, to_y), (bx - head * dy * 0.45, by + head * dx * 0.45), (bx + head * dy * 0.45, by - head * dx * 0.45)], color)

    def dot(self, x, y, color=BLACK, radius=0.035):
        self.add("dot", x=x, y=y, color=color, radius=radius)

    def frame(self, x, y, width, height, color=RED, line=1.8):
        self.rect(x, y, width, height, fill="none", edge=color, line=line)

    def legend(self, x, y, *entries, size=8):
        """Small boxes with their meaning, from left to right: (text, look)."""
        for text, look in entries:
            self.rect(x, y - 0.08, 0.24, 0.16, **look)
            self.text(x + 0.31, y, text, size)
            x += 0.5 + 0.0088 * size * len(text)

    def axis(self, x, width, most, ticks, top, bottom, label):
        """Ticks below and lines across; gives the function from a value to its x."""
        at = lambda value: x + width * value / most
        for tick in ticks:
            self.line((at(tick), top), (at(tick), bottom), color="#ddd", width=0.6)
            self.text(at(tick), bottom + 0.12, f"{tick:g}", 7.5, "middle")
        self.line((x, bottom), (x + width, bottom), width=0.8)
        self.text(x + width / 2, bottom + 0.32, label, 8.5, "middle")
        return at

    def save(self, path):
        """An SVG that carries the digest of its marks."""
        import matplotlib

        matplotlib.use("svg")
        from matplotlib import patheffects, patches, pyplot

        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "lab", "font.family": ["DejaVu Sans"], "hatch.linewidth": 0.7})
        page = pyplot.figure(figsize=(WIDTH, self.height))
        axes = page.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, WIDTH), axes.set_ylim(self.height, 0), axes.axis("off")
        for order, (kind, m) in enumerate(self.marks):
            if kind == "rect":
                style = {"facecolor": m["fill"], "edgecolor": m["edge"] or "none", "linewidth": m["line"] if m["edge"] else 0, "hatch": m["hatch"] * 3, "linestyle": (0, (4, 3)) if m["dash"] else "-"}
                axes.add_patch(patches.Rectangle((m["x"], m["y"]), m["width"], m["height"], zorder=order, **style))
            elif kind == "polygon":
                axes.add_patch(patches.Polygon(m["points"], facecolor=m["fill"], edgecolor="none", zorder=order))
            elif kind == "dot":
                axes.add_patch(patches.Circle((m["x"], m["y"]), m["radius"], facecolor=m["color"], edgecolor="none", zorder=order))
            elif kind == "line":
                dash = (0, [float(x) for x in m["dash"].split()]) if m["dash"] else "-"
                axes.plot(*zip(*m["points"]), color=m["color"], linewidth=m["width"], linestyle=dash, zorder=order, solid_capstyle="butt")
            else:
                halo = [patheffects.withStroke(linewidth=3.5, foreground=m["halo"])] if m["halo"] else []
                style = {"size": m["size"], "color": m["color"], "weight": "bold" if m["bold"] else "normal", "style": "italic" if m["italic"] else "normal"}
                ha, turn = {"start": "left", "middle": "center", "end": "right"}[m["at"]], 90 if m["turned"] else 0
                # A dollar sign is no formula.
                axes.text(m["x"], m["y"], m["text"].replace("$", r"\$"), ha=ha, va="center", rotation=turn, zorder=order, path_effects=halo, linespacing=1.25, **style)
        page.savefig(path, metadata={"Date": None, "Creator": None, "Description": f"marks {self.digest()}"})
        pyplot.close(page)
