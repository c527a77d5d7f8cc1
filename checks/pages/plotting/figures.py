"""All figures: NAME -> (the data it is drawn from, how to draw it)."""
import hashlib
import io
import json
import re
import sys
from pathlib import Path

from . import style
from .backward_order import order_figures
from .early import early_figures
from .evidence import evidence_figures
from .fibers import fiber_figures
from .floors import floor_figures
from .gains import gain_figures
from .gradients import gradient_figures
from .hardware import hardware_figures
from .heads import ROOT, Unusable
from .launch import launch_figures
from .layouts import layout_figures
from .maps import map_figures
from .mbarrier import mbarrier_figures
from .memory import data_banks, data_ldmatrix, data_plans, draw_banks, draw_ldmatrix, draw_plans
from .merge import merge_figures
from .methods import method_figures
from .next_q import next_q_figures
from .performance import FIVE, data_ladder, data_roofline, data_roofs, data_stalls, draw_ladder, draw_roofline, draw_roofs, draw_stalls
from .pipeline import trace_figures
from .predicted import predicted_figures
from .reference import reference_figures
from .road import road_figures
from .schedule import schedule_figures
from .search import search_figures
from .stay import stay_figures
from .stages_before_hopper import stage_figures
from .steps import step_figures
from .style import SETTINGS
from .sweep import sweep_figures
from .swizzle import swizzle_figures
from .topics import topic_figures
from .waits import wait_figures
from .wgmma import wgmma_figures

FIGURES = ROOT / "writeups" / "figures"


def figures(r):
    all_figures = {"ladder": (data_ladder(r), draw_ladder), "roofline": (data_roofline(r), draw_roofline), "smem-plans": (data_plans(r), draw_plans),
                   "banks": (data_banks(r), draw_banks), "banks-ldmatrix": (data_ldmatrix(r), draw_ldmatrix)}
    if r.profiles:
        all_figures |= {"stalls": (data_stalls(r), draw_stalls), "stalls-five": (data_stalls(r, FIVE), draw_stalls), "roofs": (data_roofs(r), draw_roofs)}
    return all_figures | swizzle_figures(r) | mbarrier_figures(r) | merge_figures(r) | wgmma_figures(r) | layout_figures(r) | trace_figures(r) \
        | wait_figures(r) | stay_figures(r) | next_q_figures(r) | early_figures(r) | reference_figures(r) | schedule_figures(r) | step_figures(r) | stage_figures(r) | launch_figures(r) \
        | floor_figures(r) | gain_figures(r) | topic_figures(r) | road_figures(r) | map_figures(r) | gradient_figures(r) | evidence_figures(r) \
        | fiber_figures(r) | hardware_figures(r) | predicted_figures(r) | search_figures() | sweep_figures(r) | order_figures(r) \
        | method_figures(r)


def fingerprint(data, drawing):
    """Of what a figure shows: its data, and the code that draws it (captions are in there)."""
    code = [Path(sys.modules[drawing.__module__].__file__), Path(style.__file__)]
    return hashlib.sha256(b"\0".join([json.dumps(data, sort_keys=True).encode(), *(path.read_bytes() for path in code)])).hexdigest()


def drawn_from(path):
    """The fingerprint that a drawn SVG carries."""
    found = re.search(r"drawn from sha256 ([0-9a-f]{64})", path.read_text()) if path.exists() else None
    return found[1] if found else None


def stale(r):
    """(figures that are up to date, a line for each that is not)."""
    fresh, lines = 0, []
    made = figures(r)
    for name, (data, drawing) in made.items():
        if drawn_from(FIGURES / f"{name}.svg") == fingerprint(data, drawing):
            fresh += 1
        else:
            lines.append(f"writeups/figures/{name}.svg was not drawn from these results by this code")
    lines += [f"writeups/figures/{path.name} is drawn by nobody" for path in sorted(FIGURES.iterdir()) if path.suffix != ".svg" or path.stem not in made]
    return fresh, lines


def tidy(svg):
    """The same drawing in fewer bytes: hundredths of a point, no line breaks in paths, a style once for all marks of a line."""
    rounded = lambda text: re.sub(r"-?\d+\.\d+", lambda n: f"{float(n[0]):.2f}".rstrip("0").rstrip("."), text)
    # Glyphs (in <defs>, with a transform of their own) are left alone.
    svg = re.sub(r'<path d="([^"]*)"', lambda m: f'<path d="{rounded(" ".join(m[1].split()))}"', svg)
    svg = re.sub(r'(translate\()([^)]*)\)', lambda m: f"{m[1]}{rounded(m[2])})", svg)
    svg = re.sub(r'\b(x|y|width|height)="([-\d.]+)"', lambda m: f'{m[1]}="{rounded(m[2])}"', svg)

    def once(group):
        styles = set(re.findall(r'style="([^"]*)"', group[2]))
        if len(styles) != 1:
            return group[0]
        return f'<g {group[1]} style="{styles.pop()}">' + re.sub(r' style="[^"]*"', "", group[2]) + "</g>"

    svg = re.sub(r'<g (clip-path="[^"]*")>((?:\s*<use [^>]*/>)+)\s*</g>', once, svg)
    return re.sub(r"\n\s+", "\n", svg)


def draw(r, folder=None, only=()):
    """SVGs into writeups/figures/, or, for looking at them, PNGs of some or all into another folder."""
    try:
        import matplotlib
        matplotlib.use("Agg")  # no display is needed, or asked for
        import matplotlib.pyplot as plt
    except ImportError as e:
        raise Unusable(f"matplotlib is not there ({e}); make plots sets it up in .venv") from None
    from matplotlib import font_manager
    if not any("DejaVu Sans" == f.name for f in font_manager.fontManager.ttflist):
        raise Unusable("matplotlib's own font, DejaVu Sans, is missing; remove .venv and run make plots again")
    matplotlib.rcParams.update(SETTINGS)
    made = figures(r)
    if unknown := [name for name in only if name not in made]:
        raise Unusable(f"there is no figure '{unknown[0]}'; there are {', '.join(made)}")
    target = folder or FIGURES
    target.mkdir(parents=True, exist_ok=True)
    for name, (data, drawing) in made.items():
        if only and name not in only:
            continue
        figure = drawing(plt, data)
        if small := style.too_small(figure):
            raise Unusable(f"figure '{name}': at a page's width of {style.PAGE} px '{small[0]}' is less than {style.LEAST:g} px high")
        if folder:
            figure.savefig(target / f"{name}.png")
        else:
            text = io.StringIO()
            figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Description": f"drawn from sha256 {fingerprint(data, drawing)}"})
            (target / f"{name}.svg").write_text(tidy(text.getvalue()))
        plt.close(figure)
    if not folder:
        for path in FIGURES.iterdir():
            if path.suffix != ".svg" or path.stem not in made:
                path.unlink()
    return len(only) or len(made)
