"""Pictures as SVG, written by hand: no library, the same bytes everywhere. x, y, widths are in hundredths of a page's width / 8 (inches in print), y goes down, text sizes in points."""

from html import escape

# Okabe and Ito's colours, told apart with any colour vision; hatches and dashes tell them apart in grey. PALE: for cells that carry text.
BLUE, RED, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
PALE = ["#CCE3F0", "#FBE3CC", "#CCEBE3", "#F5E4ED", "#FAECCC", "#EEEEEE"]  # blue, red, green, purple, orange, grey
BLACK, GREY, DARK = "#000", "#777", "#A33F00"
WIDTH, UNIT, POINT, SMALLEST = 8, 100, 100 / 72, 6.5  # inches; pixels of an inch and of a point; points
HATCHES = {"/": "M0 8L8 0M-2 2L2 -2M6 10L10 6", "\\": "M0 0L8 8M-2 6L2 10M6 -2L10 2", "x": "M0 8L8 0M0 0L8 8", ".": "M3 4h2M7 8h2M-1 0h2M7 0h2"}

FIGURES = {}


def figure(name, height):
    """Names a drawing: a function of the picture that it draws on."""

    def named(draw):
        def drawn():
            picture = Picture(height)
            draw(picture)
            return picture.svg()

        FIGURES[name] = drawn
        return draw

    return named


def n(number):
    return f"{number:.1f}".rstrip("0").rstrip(".") if number % 1 else f"{number:.0f}"


class Picture:
    def __init__(self, height):
        self.height, self.marks, self.patterns = height, [], {}

    def add(self, mark):
        self.marks.append(mark)

    def rect(self, x, y, width, height, fill="#fff", edge=BLACK, line=0.8, hatch="", dash=False):
        shape = f'<rect x="{n(x * UNIT)}" y="{n(y * UNIT)}" width="{n(width * UNIT)}" height="{n(height * UNIT)}"'
        stroke = f' stroke="{edge}" stroke-width="{n(line * POINT)}"' + (' stroke-dasharray="4 3"' if dash else "") if edge else ""
        self.add(f'{shape} fill="{fill}"{"" if hatch else stroke}/>')
        if hatch:
            name = self.patterns.setdefault((hatch, edge), f"h{len(self.patterns)}")
            self.add(f'{shape} fill="url(#{name})"{stroke}/>')

    def box(self, x, y, width, height, text, size=8, bold=False, color=BLACK, hatch="", **look):
        self.rect(x, y, width, height, hatch=hatch, **look)
        self.text(x + width / 2, y + height / 2, text, size, "middle", bold=bold, color=color, halo=hatch and look.get("fill", "#fff"))

    def text(self, x, y, text, size=8, at="start", bold=False, italic=False, color=BLACK, halo=None, turned=False):
        """Lines of text, (x, y) in the middle of their height; at: start, middle or end. halo: a ground of this colour, against hatches and lines."""
        assert size >= SMALLEST, (text, size)
        lines, size = str(text).split("\n"), size * POINT
        for i, line in enumerate(lines):
            down = y * UNIT + (i - (len(lines) - 1) / 2) * 1.25 * size + 0.36 * size
            turn = f' transform="rotate(-90 {n(x * UNIT)} {n(y * UNIT)})"' if turned else ""
            look = (
                f' font-size="{n(size)}"'
                + ("" if at == "start" else f' text-anchor="{at}"')
                + (' font-weight="bold"' if bold else "")
                + (' font-style="italic"' if italic else "")
            )
            where = f'<text x="{n(x * UNIT)}" y="{n(down)}"{look}{turn}'
            if halo:
                self.add(f'{where} fill="{halo}" stroke="{halo}" stroke-width="5" stroke-linejoin="round">{escape(line)}</text>')
            self.add(f'{where}{"" if color == BLACK else f""" fill="{color}" """.rstrip()}>{escape(line)}</text>')

    def line(self, *points, color=BLACK, width=1, dash=""):
        path = "L".join(f"{n(x * UNIT)} {n(y * UNIT)}" for x, y in points)
        self.add(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="{n(width * POINT)}"' + (f' stroke-dasharray="{dash}"' if dash else "") + "/>")

    def arrow(self, x, y, to_x, to_y, color=BLACK, width=1.2, dash=""):
        length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
        dx, dy, head = (to_x - x) / length, (to_y - y) / length, 0.05 + 0.03 * width
        bx, by = to_x - head * dx, to_y - head * dy
        self.line((x, y), (bx, by), color=color, width=width, dash=dash)
        corners = (to_x, to_y), (bx - head * dy * 0.45, by + head * dx * 0.45), (bx + head * dy * 0.45, by - head * dx * 0.45)
        self.add(f'<path d="M{"L".join(f"{n(a * UNIT)} {n(b * UNIT)}" for a, b in corners)}Z" fill="{color}"/>')

    def dot(self, x, y, color=BLACK, radius=0.035):
        self.add(f'<circle cx="{n(x * UNIT)}" cy="{n(y * UNIT)}" r="{n(radius * UNIT)}" fill="{color}"/>')

    def frame(self, x, y, width, height, color=RED, line=1.8):
        self.rect(x, y, width, height, fill="none", edge=color, line=line)

    def legend(self, x, y, *entries, size=8):
        """Small boxes with their meaning, from left to right: (text, look)."""
        for text, look in entries:
            self.rect(x, y - 0.08, 0.24, 0.16, **look)
            self.text(x + 0.31, y, text, size)
            x += 0.5 + 0.0088 * size * len(text)

    def axis(self, x, width, most, ticks, top, bottom, label="", least=0, unit="{:g}"):
        """Ticks below and lines across; gives the function from a value to its x."""
        at = lambda value: x + width * (value - least) / (most - least)
        for tick in ticks:
            self.line((at(tick), top), (at(tick), bottom), color="#ddd", width=0.6)
            self.text(at(tick), bottom + 0.12, unit.format(tick), 7.5, "middle")
        self.line((x, bottom), (x + width, bottom), width=0.8)
        self.text(x + width / 2, bottom + 0.32, label, 8.5, "middle")
        return at

    def svg(self):
        patterns = "".join(
            f'<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse"><path d="{HATCHES[hatch]}" stroke="{edge}" fill="none"/></pattern>\n'
            for (hatch, edge), name in self.patterns.items()
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * UNIT} {n(self.height * UNIT)}" font-family="DejaVu Sans, Verdana, Arial, sans-serif">',
                '<rect width="100%" height="100%" fill="#fff"/>',
            ]
            + (["<defs>\n" + patterns + "</defs>"] if patterns else [])
            + self.marks
            + ["</svg>", ""]
        )
