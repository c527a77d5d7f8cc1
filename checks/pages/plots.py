"""Figures and tables from what is committed under writeups/results/, so that they cannot say anything else.

    python checks/pages/plots.py draw     figures (SVG and PNG) into writeups/figures/, tables between their markers
    python checks/pages/plots.py check    exit status 1 if a committed table or a figure's data is not what the results give

Tables stand in README.md and writeups/*.md between `<!-- begin: table NAME -->` and `<!-- end -->`. A figure's SVG carries
the SHA-256 of the data it was drawn from; `check` compares that, and so needs no matplotlib and no GPU. Of several benchmark
runs the one with the latest date is shown. A results file that cannot be used is one line and exit status 2.
"""
import hashlib
import json
import math
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "writeups" / "results"
FIGURES = ROOT / "writeups" / "figures"
SCHEMAS = {"bench": "bench-1", "predictions": "predictions-1", "profile": "profile-1", "resources": "resources-1", "plans": "plans-1"}
MAP_SCHEMA = "error-map-1"

ACCEPTANCE = ["1,8,512,64", "1,8,512,64,causal", "2,8,2048,64", "2,8,2048,64,causal", "2,8,2048,128"]
PEERS = {"torch_flash": "FlashAttention-2", "torch_cudnn": "cuDNN", "torch_efficient": "efficient", "torch_default": "default"}
BUGS = ["head_dim_64", "warp7_nan", "accum_tail", "double_scale", "reduce_32x", "qk_not_transposed", "ldm", "skip_tail",
        "fragment_layout"]
MAP_NOTES = {
    "head_dim_64": "D = 128: columns 64..127 are never written,\nthe others are wrong",
    "warp7_nan": "NaN in the rows of warp 7:\nrow mod 64 ≥ 56",
    "accum_tail": "NaN where the accumulator was not cleared:\nrow mod 64 ≥ 57",
    "double_scale": "no element is right: the softmax is flatter\neverywhere",
    "reduce_32x": "every element is 1/32 of what it should be:\nthe error is 31/32 of it",
    "qk_not_transposed": "probe: right only where K[r][n] = K[n][r],\non the whole tile's diagonals",
    "ldm": "probe: right on the diagonal of each 16 × 16\nblock, which is what is transposed",
    "skip_tail": "S = 500: rows 496..499 are never written,\nthe rest is right",
    "fragment_layout": "probe, another legal layout: weights change\nplaces inside every 16 × 16 block",
}


class Unusable(Exception):
    """A results file or a document that cannot be worked with: one line, exit status 2."""


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def load(path, kind):
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as e:
        raise Unusable(f"{name_of(path)}: {e}") from None
    found = data.get("schema") if isinstance(data, dict) else None
    if found != SCHEMAS[kind]:
        raise Unusable(f"{name_of(path)}: schema {found!r}, but this needs {SCHEMAS[kind]!r}; run the command that makes it again")
    return data


def short(stage):
    return stage.split("_")[0]


def title(shape):
    parts = shape.split(",")
    return "(" + ",".join(parts[:4]) + ")" + (" causal" if len(parts) == 5 else "")


class Results:
    def __init__(self):
        benches = [load(p, "bench") for p in sorted(RESULTS.glob("bench-*.json"))]
        if not benches:
            raise Unusable("writeups/results/ has no bench-*.json; make bench writes one")
        self.bench = max(benches, key=lambda b: b["date"])
        self.resources = load(RESULTS / "resources.json", "resources")
        self.plans = load(RESULTS / "plans.json", "plans")
        self.predictions = load(RESULTS / "predictions.json", "predictions")
        self.profiles = [load(p, "profile") for p in sorted(RESULTS.glob("profile-*.json"))]
        self.maps = {bug: read_map(RESULTS / "error-maps" / f"{bug}.txt") for bug in BUGS}
        self.cases = {(c["program"], c["shape"]): c for c in self.bench["cases"]}
        self.stages = list(dict.fromkeys(c["program"] for c in self.bench["cases"] if c["kind"] == "stage"))
        self.shapes = list(dict.fromkeys(c["shape"] for c in self.bench["cases"]))

    def figure(self, program, shape, name="graph"):
        case = self.cases.get((program, shape))
        return case["figures"][name] if case and case["status"] == "ok" else None

    def time(self, program, shape, name="graph"):
        figure = self.figure(program, shape, name)
        return figure["median"] if figure else None

    def profile(self, stage, shape):
        return next((p for p in self.profiles if (p["stage"], p["shape"]) == (stage, shape)), None)

    def ceiling(self, name):
        figure = self.bench["ceilings"].get(name)
        return figure["median"] if figure else None

    def source(self):
        b = self.bench
        return f"{b['gpu']}, driver {b['driver']}, CUDA {b['cuda']}, PyTorch {b.get('torch', 'absent')}, {b['date'][:10]}"


def read_map(path):
    try:
        head, _, body = path.read_text().partition("\n\n")
    except OSError as e:
        raise Unusable(f"{name_of(path)}: {e.strerror}") from None
    facts = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    if facts.get("schema") != MAP_SCHEMA:
        raise Unusable(f"{name_of(path)}: schema {facts.get('schema')!r}, but this needs {MAP_SCHEMA!r}; make figure-data writes it")
    facts["lines"] = body.split()
    if len({len(line) for line in facts["lines"]}) != 1:
        raise Unusable(f"{name_of(path)}: its lines are not of one length")
    return facts


# --- tables -------------------------------------------------------------------------------------------------------


def us(value):
    return "–" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def ran_by(r):
    return [f"<sub>{r.source()}; `{r.bench['command']}`, medians over all rounds.</sub>"]


def table_ladder(r):
    budget = {}
    for k in r.resources["kernels"]:
        if k["bug"] == "" and k["arch"] == "sm_89":
            registers, smem = budget.get(k["stage"], (0, 0))
            budget[k["stage"]] = max(registers, k["registers"]), max(smem, k["smem"])
    best = {s: best_peer(r, s) for s in ACCEPTANCE}
    rows = []
    for stage in r.stages:
        cells = []
        for shape in ACCEPTANCE:
            case = r.cases.get((stage, shape))
            mine = r.time(stage, shape)
            if mine is None:
                cells.append("–" if case is None else case["status"])
            else:
                cells.append(us(mine) + (f" ({case['times_pytorch']:.1f}×)" if case["times_pytorch"] else ""))
        registers, smem = budget.get(stage, (None, None))
        rows.append([f"`{stage}`", *cells, str(registers or "–"), f"{smem / 1024:.1f}" if smem else "–"])
    rows.append(["best of PyTorch", *(f"{us(best[s][1])} ({PEERS[best[s][0]]})" if best[s] else "–" for s in ACCEPTANCE), "", ""])
    header = ["stage, µs a call (× the best of PyTorch)", *map(title, ACCEPTANCE), "registers", "shared memory, KiB"]
    return table(header, rows) + ["", "Device time a call inside a replayed CUDA graph. Registers and shared memory are each stage's largest kernel at sm_89.", ""] + ran_by(r)


def best_peer(r, shape):
    times = [(p, r.time(p, shape)) for p in PEERS if p != "torch_default" and r.time(p, shape) is not None]  # default picks one of them
    return min(times, key=lambda pair: pair[1]) if times else None


def all_cases(r, programs, names):
    rows = []
    for shape in r.shapes:
        for program in programs:
            case = r.cases.get((program, shape))
            if case is None:
                continue
            label = names.get(program, f"`{program}`")
            if case["status"] != "ok":
                rows.append([title(shape), label, f"{case['status']}: {case['detail']}", *[""] * 7])
                continue
            f = case["figures"]
            pick = lambda name: us(f[name]["median"]) if f[name] else "–"
            percent = lambda x: "–" if x is None else f"{100 * x:.1f} %"
            times = lambda x: "–" if x is None else f"{x:.2f}×"
            rows.append([title(shape), label, f"{us(f['graph']['median'])} ({us(f['graph']['p10'])}–{us(f['graph']['p90'])})", pick("graph_flushed"),
                         pick("call"), pick("call_flushed"), f"{case['tflops']:.2f}", percent(case["share_of_matrix"]),
                         percent(case["share_of_bandwidth"]), times(case["faster_than_previous"]), times(case["times_pytorch"])])
    header = ["shape", "program", "graph, µs (p10–p90)", "L2 flushed", "one call, µs", "L2 flushed", "TFLOP/s", "of matrix peak", "of bandwidth",
              "faster than the stage before", "time over best PyTorch"]
    return table(header, rows) + [""] + ran_by(r)


def table_bench(r):
    return all_cases(r, [*r.stages, *PEERS], {p: "PyTorch " + n for p, n in PEERS.items()})


def table_steps(r):
    rows = []
    for before, after in zip(r.stages, r.stages[1:]):
        cells = []
        for shape in r.shapes:
            a, b = r.time(before, shape), r.time(after, shape)
            cells.append("–" if a is None or b is None else f"**{a / b:.2f}**" if a < b else f"{a / b:.2f}")
        rows.append([f"{short(before)} → {short(after)}", *cells])
    return table(["step, times faster (bold: slower)", *map(title, r.shapes)], rows) + [""] + ran_by(r)


STALLS = {"barrier": "block barrier", "short_scoreboard": "shared memory, shuffles, exp", "wait": "fixed latency", "selected": "issuing",
          "not_selected": "ready, not chosen", "math_pipe_throttle": "arithmetic pipe busy", "mio_throttle": "shared-memory queue full",
          "long_scoreboard": "global memory"}


def stall_shares(profile):
    ratios = {}
    for name, value in profile["metrics"].items():
        if found := re.fullmatch(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio", name):
            ratios[found[1]] = value
    total = sum(ratios.values())
    return {name: value / total for name, value in ratios.items()} if total else {}


def row_tiles(shape):
    parts = shape.split(",")
    B, H, S = map(int, parts[:3])
    return B * H * S * S / 64 / (2 if len(parts) == 5 else 1)


def table_profile(r):
    lines = []
    for shape in ("2,8,2048,64", "1,8,512,64"):
        found = [p for s in r.stages if (p := r.profile(s, shape))]
        if not found:
            continue
        rows = []
        for p in found:
            m = p["metrics"]
            percent = lambda name: f"{m[name]:.1f} %" if name in m else "–"
            conflicts, waves = m.get("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"), m.get("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")
            stalls = sorted(stall_shares(p).items(), key=lambda s: -s[1])
            worst = next(((n, v) for n, v in stalls if n != "selected"), None)
            rows.append([f"`{p['stage']}`", f"{m['smsp__inst_executed.sum'] / row_tiles(shape):.0f}", percent("smsp__issue_active.avg.pct_of_peak_sustained_active"),
                         percent("sm__warps_active.avg.pct_of_peak_sustained_active"), percent("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"),
                         percent("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"), percent("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active"),
                         f"{100 * conflicts / waves:.1f} %" if waves else "–", percent("dram__throughput.avg.pct_of_peak_sustained_elapsed"),
                         f"{STALLS.get(worst[0], worst[0])}, {100 * worst[1]:.0f} %" if worst else "–"])
        p = found[0]
        lines += ([""] if lines else []) + table(
            [title(shape), "instructions a row and 64 keys", "issue slots used", "active warps", "tensor pipe", "fp32 pipe", "shared-memory pipe",
             "bank conflicts", "DRAM", "most warp time goes to"], rows)
        lines += ["", f"<sub>{p['gpu']}, driver {p['driver']}, ncu {p['ncu'].split()[0]}, {p['date'][:10]}; `make stage=S profile shape={shape}`.</sub>"]
    return lines


def table_resources(r):
    budget = r.resources["budget"]
    rows = [[f"`{k['stage']}`", k["arch"], f"`{k['kernel']}`", str(k["registers"]), f"{k['smem']:,}", str(k["stack"]), str(k["spills"]), k["over"] or "within"]
            for k in r.resources["kernels"] if k["bug"] == ""]
    over = [[f"`{k['stage']}`, bug `{k['bug']}`", k["arch"], f"`{k['kernel']}`", str(k["registers"]), f"{k['smem']:,}", str(k["stack"]), str(k["spills"]), k["over"]]
            for k in r.resources["kernels"] if k["bug"] != "" and k["over"]]
    header = ["stage", "arch", "kernel", "registers", "shared memory, B", "stack, B", "spills, B", "budget"]
    return table(header, rows + over) + ["", f"<sub>nvcc {r.resources['nvcc']}; `{r.resources['command']}`. Budget ({budget['arch']}): {budget['registers']} registers a "
                                         f"thread, {budget['smem']:,} B of shared memory a block, no spills.</sub>"]


def table_predictions(r):
    rows = []
    for p in r.predictions["steps"]:
        for shape in ("2,8,2048,64", "1,8,512,64"):
            a, b = r.profile(p["from"], shape), r.profile(p["to"], shape)
            before, after = r.time(p["from"], shape), r.time(p["to"], shape)
            if not (a and b and before and after):
                continue
            count = [x["metrics"]["smsp__inst_executed.sum"] / row_tiles(shape) for x in (a, b)]
            issue = [x["metrics"]["smsp__issue_active.avg.pct_of_peak_sustained_active"] for x in (a, b)]
            fewer, fuller = count[0] / count[1], issue[1] / issue[0]
            rows.append([f"{short(p['from'])} → {short(p['to'])}", title(shape), f"{p['instructions'][0]} → {p['instructions'][1]}",
                         f"{count[0]:.0f} → {count[1]:.0f}", f"{p['gain'][shape]:.2f}", f"{before / after:.2f}", f"{fewer:.2f}", f"{fuller:.2f}", f"{fewer * fuller:.2f}"])
    header = ["step", "shape", "instructions a row and 64 keys, predicted", "measured", "gain predicted", "gain measured", "fewer instructions", "fuller issue slots",
              "their product"]
    return table(header, rows) + [""] + ran_by(r)


TABLES = {"predictions": table_predictions, "ladder": table_ladder, "bench": table_bench, "steps": table_steps, "profile": table_profile, "resources": table_resources}
MARKED = re.compile(r"(<!-- begin: table ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.S)


def with_tables(r, path):
    def fill(found):
        if found[2] not in TABLES:
            raise Unusable(f"{name_of(path)}: no table '{found[2]}'; there are {', '.join(TABLES)}")
        return found[1] + "\n".join(TABLES[found[2]](r)) + "\n" + found[4]

    text = path.read_text()
    if text.count("<!-- begin: table") != len(MARKED.findall(text)):
        raise Unusable(f"{name_of(path)}: a table's begin marker has no '<!-- end -->'")
    return text, MARKED.sub(fill, text)


def documents():
    return [ROOT / "README.md", *sorted((ROOT / "writeups").rglob("*.md"))]


# --- figures: what each is drawn from ---------------------------------------------------------------------------------


def data_ladder(r):
    return {"source": r.source(), "stages": r.stages, "shapes": r.shapes, "times": {s: {p: r.figure(p, s) and [r.figure(p, s)[k] for k in ("median", "p10", "p90")]
            for p in [*r.stages, *PEERS]} for s in r.shapes}}


def data_roofline(r):
    return {"source": r.source(), "matrix": r.ceiling("matrix_fp16_tflops"), "copy": r.ceiling("copy_gbs"), "multiprocessors": r.bench.get("multiprocessors"),
            "points": [[c["program"], c["shape"], c["flop"] / c["bytes"], c["tflops"]] for c in r.bench["cases"] if c["status"] == "ok"]}


def data_plans(r):
    return {"budget": r.plans["budget"], "plans": [[p["stage"], p["bug"], p["D"], p["stages"], [[a["name"], a["bytes"]] for a in p["arrays"]]] for p in r.plans["plans"]]}


def data_stalls(r):
    return {"source": r.source(), "stalls": [[p["stage"], p["shape"], p["kernel"], p["metrics"]["smsp__inst_executed.sum"] / row_tiles(p["shape"]), stall_shares(p)]
            for s in r.stages for shape in ("2,8,2048,64", "1,8,512,64") if (p := r.profile(s, shape))]}


# --- figures: drawing ---------------------------------------------------------------------------------------------------

# Okabe and Ito's colours, told apart with any colour vision; markers, dashes and hatches tell them apart in grey.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999", "#6A3D9A", "#8C510A"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">"]
HATCHES = ["", "///", "\\\\\\", "xx", "---", "|||", "++", "//", "", "\\\\"]


def caption(figure, text):
    figure.text(0.01, 0.008, text, fontsize=7, color="#333333", va="bottom", ha="left")


def draw_ladder(plt, d):
    figure, axes = plt.subplots(figsize=(9.5, 6.4))
    figure.subplots_adjust(left=0.085, right=0.74, top=0.93, bottom=0.15)
    for i, shape in enumerate(d["shapes"]):
        times = d["times"][shape]
        points = [(x, times[s]) for x, s in enumerate(d["stages"]) if times.get(s)]
        style = {"color": COLOURS[i], "marker": MARKERS[i], "linestyle": "--" if shape.endswith("causal") else "-"}
        axes.plot([x for x, _ in points], [t[0] for _, t in points], label=title(shape), markersize=6, linewidth=1.4, **style)
        peers = [times[p][0] for p in PEERS if times.get(p)]
        if peers:  # a bar from the best backend to the slowest
            x = len(d["stages"]) - 0.25 + 0.11 * i
            axes.plot([x, x], [min(peers), max(peers)], color=COLOURS[i], linewidth=1.2, linestyle=style["linestyle"])
            axes.plot([x], [min(peers)], marker=MARKERS[i], color=COLOURS[i], markersize=6)
    axes.set_yscale("log")
    axes.set_xticks([*range(len(d["stages"])), len(d["stages"]) + 0.25], [*(s.replace("_", "\n", 1) for s in d["stages"]), "PyTorch\nbest to slowest"], fontsize=8)
    axes.axvline(len(d["stages"]) - 0.5, color="#bbbbbb", linewidth=0.8)
    axes.set_ylabel("device time a call in a replayed CUDA graph, µs (log)")
    axes.set_title("What each stage takes")
    axes.grid(True, which="major", axis="y", color="#dddddd", linewidth=0.6)
    axes.legend(title="shape (B,H,S,D)", fontsize=8, title_fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=3.2)
    caption(figure, f"Medians over all rounds; p10 and p90 lie within the marks. PyTorch: the mark is the best backend, the line reaches to the slowest (math left out).\n{d['source']}.")
    return figure


def draw_roofline(plt, d):
    figure, axes = plt.subplots(figsize=(9.5, 6.2))
    figure.subplots_adjust(left=0.08, right=0.76, top=0.93, bottom=0.17)
    x = [2, 8192]
    if d["copy"] and d["matrix"]:
        ridge = d["matrix"] / (d["copy"] * 1e-3)
        axes.plot([x[0], ridge], [x[0] * d["copy"] * 1e-3, d["matrix"]], color="black", linewidth=1.5)
        axes.plot([ridge, x[1]], [d["matrix"]] * 2, color="black", linewidth=1.5)
        axes.text(ridge * 1.1, d["matrix"] * 1.1, f"fp16 matrix product, measured: {d['matrix']:.0f} TFLOP/s", fontsize=8, ha="left")
        axes.text(14, 190, f"device copy, measured:\n{d['copy'] * 1e-3:.2f} TB/s", fontsize=8, ha="center")
    if d["multiprocessors"]:
        fp32 = int(d["multiprocessors"]) * 128 * 2 * 1.98e-3
        axes.plot(x, [fp32] * 2, color="black", linewidth=1, linestyle=":")
        axes.text(20, fp32 * 0.55, f"fp32 multiply-adds,\ncomputed: {fp32:.0f} TFLOP/s", fontsize=8)
    programs = list(dict.fromkeys(p[0] for p in d["points"]))
    for i, program in enumerate(programs):
        points = [(p[2], p[3], p[1].endswith("causal")) for p in d["points"] if p[0] == program]
        peer = program in PEERS
        label = "PyTorch " + PEERS[program] if peer else program
        for causal in (False, True):
            chosen = [(a, b) for a, b, c in points if c == causal]
            axes.plot([a for a, _ in chosen], [b for _, b in chosen], linestyle="", marker=MARKERS[i], markersize=7, color=COLOURS[i],
                      markerfacecolor="none" if causal else COLOURS[i], label=None if causal else label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(*x)
    axes.set_ylim(0.3, 1500)
    axes.set_xlabel("operations for each byte that must be moved (Q, K, V read once, O written once)")
    axes.set_ylabel("TFLOP/s")
    axes.set_title("Roofline: far under both roofs, the ladder climbs by wasting less")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    caption(figure, f"Filled: non-causal, hollow: causal (half the operations counted, all the bytes). Columns of marks: S = 512, 2048, 8192 at S/2 operations a byte\n(S/4 causal). fp32: {d['multiprocessors']} SMs × 128 lanes × 2 × 1.98 GHz. Time: graph. {d['source']}.")
    return figure


def draw_plans(plt, d):
    figure, axes = plt.subplots(figsize=(9.5, 6.6))
    figure.subplots_adjust(left=0.08, right=0.84, top=0.94, bottom=0.28)
    names = list(dict.fromkeys(name for plan in d["plans"] for name, _ in plan[4]))
    limit = d["budget"]["smem"] / 1024
    plans = [p for i, p in enumerate(d["plans"]) if p not in d["plans"][:i]]  # v1 has one plan for every length
    for x, (stage, bug, D, slots, arrays) in enumerate(plans):
        bottom = 0
        for name, size in arrays:
            i = names.index(name)
            axes.bar(x, size / 1024, bottom=bottom / 1024, width=0.74, color=COLOURS[i], hatch=HATCHES[i], edgecolor="white", linewidth=0.5)
            bottom += size
        total = bottom / 1024
        axes.text(x, limit + 1.5 if limit - 6 < total <= limit else total + 1.5, f"{total:.1f}", ha="center", fontsize=7)
    axes.axhline(limit, color="black", linewidth=1.3)
    axes.text(-0.45, limit + 6, f"{limit:.0f} KiB: what sm_89 gives a block", fontsize=8)
    axes.plot([-0.45, 1.55], [48, 48], color="black", linewidth=0.9, linestyle=":")
    axes.text(-0.45, 51, "48 KiB: without\nopt-in attribute", fontsize=7)
    axes.set_xticks(range(len(plans)), [f"{bug or short(s)}, D={D}" + (f", {n} slots" if short(s) != "v1" else "") for s, bug, D, n, _ in plans],
                    rotation=50, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_ylabel("shared memory a block, KiB")
    axes.set_ylim(0, 185)
    axes.set_title("Shared-memory plans against the budget")
    axes.legend(handles=[plt.Rectangle((0, 0), 1, 1, facecolor=COLOURS[i], hatch=HATCHES[i], edgecolor="white", label=n) for i, n in enumerate(names)],
                fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=2.4, handleheight=1.6)
    caption(figure, "From `lab plan`, on any machine. Slots: K/V tiles in flight, 2 for S < 1024, else 3. The bug smem_overflow keeps 64-key tiles at D=128: refused.")
    return figure


def draw_stalls(plt, d):
    figure, axes = plt.subplots(figsize=(9.5, 5.4))
    figure.subplots_adjust(left=0.2, right=0.97, top=0.84, bottom=0.17)
    shown = list(STALLS)
    for y, (stage, shape, kernel, instructions, shares) in enumerate(d["stalls"]):
        left = 0
        for i, name in enumerate([*shown, "other"]):
            value = shares.get(name, 0) if name != "other" else sum(v for n, v in shares.items() if n not in shown)
            axes.barh(y, 100 * value, left=100 * left, height=0.76, color=COLOURS[i], hatch=HATCHES[i], edgecolor="white", linewidth=0.5)
            left += value
        axes.text(101, y, f"{instructions:.0f}", va="center", fontsize=8)
    axes.text(101, -0.95, "instr.*", fontsize=8, va="center")
    axes.set_yticks(range(len(d["stalls"])), [f"{short(s)}  {title(shape)}" for s, shape, *_ in d["stalls"]], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 108)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("share of the time of a resident warp, %")
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=COLOURS[i], hatch=HATCHES[i], edgecolor="white", label=STALLS.get(n, n)) for i, n in enumerate([*shown, "other"])]
    axes.legend(handles=handles, fontsize=7.5, ncol=5, loc="lower left", bbox_to_anchor=(-0.24, 1.03), handlelength=2.2, handleheight=1.4)
    caption(figure, f"What warps wait for, from Nsight Compute. * warp instructions for one query row against 64 keys. {d['source']}.")
    return figure


LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def draw_map(plt, axes, bug, d):
    """One bug's map; returns the image for a colour bar."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    lines = d["lines"]
    first = int(d["rows"].split("..")[0])
    values = [[1e-5 * 10 ** (LEVELS.index(ch) / 10) if ch in LEVELS else math.nan for ch in line] for line in lines]
    blues = plt.get_cmap("Blues")
    colours = LinearSegmentedColormap.from_list("errors", [blues(0.25 + 0.75 * i / 32) for i in range(33)]).with_extremes(bad="white")
    seen = [v for line in values for v in line if not math.isnan(v)]
    low, high = (1e-3, 1e-1) if "probe" in d["inputs"] else (1e-2, 3)
    if seen:
        low, high = min(low, max(seen) / 10), max(high, max(seen)) if max(seen) > high else high
    rows, columns = len(lines), len(lines[0])
    image = axes.imshow(values, cmap=colours, norm=LogNorm(low, high), interpolation="nearest", aspect="auto", extent=(-0.5, columns - 0.5, first + rows - 0.5, first - 0.5))
    for mark, colour, hatch in (("!", "#D55E00", "xxx"), ("~", "#444444", "///")):
        row = 0
        while row < rows:  # whole runs of marked rows become one hatched box
            if mark not in lines[row]:
                row += 1
                continue
            end = row
            while end < rows and lines[end].find(mark) == lines[row].find(mark) and lines[end].count(mark) == lines[row].count(mark):
                end += 1
            axes.add_patch(plt.Rectangle((lines[row].find(mark) - 0.5, first + row - 0.5), lines[row].count(mark), end - row, facecolor="#f4f4f4", edgecolor=colour, hatch=hatch, linewidth=0.8))
            row = end
    step = 16 if rows <= 64 else 32
    axes.set_xticks(range(0, columns + 1, 16 if columns <= 64 else 32))
    axes.set_yticks(range((first + step - 1) // step * step, first + rows + 1, step))
    axes.set_title(f"{bug} ({short(d['stage'])})", fontsize=10)
    axes.set_xlabel("column" if "probe" not in d["inputs"] else "column (= key)", fontsize=8)
    axes.set_ylabel("query row", fontsize=8)
    axes.tick_params(labelsize=7)
    return image


MAP_KEY = "White: within the harness's bound. Crossed, orange: NaN. Hatched, grey: never written."
PROBE_KEY = "Probe: Q and V are multiples of the identity and K[n][c] is a wave of c − n, so the output is the attention weights themselves."


def draw_one_map(plt, d):
    bug = d["bug"]
    figure, axes = plt.subplots(figsize=(5.6, 5.4))
    figure.subplots_adjust(left=0.12, right=0.86, top=0.84, bottom=0.19)
    image = draw_map(plt, axes, bug, d)
    axes.set_title(f"{bug}, {d['shape']}: |out − ref|\n{MAP_NOTES[bug]}", fontsize=9)
    if any(ch in LEVELS for line in d["lines"] for ch in line):
        figure.colorbar(image, cax=figure.add_axes((0.88, 0.19, 0.03, 0.65))).ax.tick_params(labelsize=7)
    lines = [MAP_KEY, f"Inputs: {d['inputs']}; CPU backend, {d['fragments']} fragment layout."]
    if d["inputs"] == "probe":
        lines += textwrap.wrap(PROBE_KEY, 96)
    figure.text(0.01, 0.01, "\n".join(lines), fontsize=6.5, color="#333333", va="bottom")
    return figure


def draw_maps(plt, d):
    figure, grid = plt.subplots(3, 3, figsize=(10, 11))
    figure.subplots_adjust(left=0.06, right=0.96, top=0.9, bottom=0.075, wspace=0.36, hspace=0.55)
    for axes, (bug, one) in zip(grid.flat, d.items()):
        image = draw_map(plt, axes, bug, one)
        axes.set_title(f"{bug} ({short(one['stage'])})\n{MAP_NOTES[bug]}", fontsize=8)
        if any(ch in LEVELS for line in one["lines"] for ch in line):
            figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03).ax.tick_params(labelsize=7)
    figure.suptitle("The fingerprints: |out − ref| over query rows and columns, fp64 reference", fontsize=11, y=0.985)
    caption(figure, MAP_KEY + " Inputs N(0,1), seed 1, except for the probes; CPU backend.\n" + PROBE_KEY)
    return figure


def figures(r):
    """NAME -> (data, how to draw it)."""
    all_figures = {"ladder": (data_ladder(r), draw_ladder), "roofline": (data_roofline(r), draw_roofline), "smem-plans": (data_plans(r), draw_plans)}
    if r.profiles:
        all_figures["stalls"] = data_stalls(r), draw_stalls
    all_figures["error-maps"] = r.maps, draw_maps
    for bug, one in r.maps.items():
        all_figures[f"error-{bug}"] = one, draw_one_map
    return all_figures


def fingerprint(data):
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def drawn_from(path):
    found = re.search(r"data sha256 ([0-9a-f]{64})", path.read_text()) if path.exists() else None
    return found[1] if found else None


def draw(r):
    try:
        import matplotlib
        matplotlib.use("Agg")  # no display is needed, or asked for
        import matplotlib.pyplot as plt
    except ImportError as e:
        raise Unusable(f"matplotlib is not there ({e}); make plots sets it up in .venv") from None
    from matplotlib import font_manager
    if not any("DejaVu Sans" == f.name for f in font_manager.fontManager.ttflist):
        raise Unusable("matplotlib's own font, DejaVu Sans, is missing; remove .venv and run make plots again")
    matplotlib.rcParams.update({"svg.hashsalt": "lab", "svg.fonttype": "path", "font.family": "DejaVu Sans", "font.size": 9, "hatch.linewidth": 0.6,
                                "axes.spines.top": False, "axes.spines.right": False, "savefig.dpi": 110})
    FIGURES.mkdir(parents=True, exist_ok=True)
    made = figures(r)
    for name, (data, drawing) in made.items():
        figure = drawing(plt, data)
        figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None, "Creator": None, "Description": f"data sha256 {fingerprint(data)}"})
        figure.savefig(FIGURES / f"{name}.png", metadata={"Software": None})
        plt.close(figure)
    changed = 0
    for path in documents():
        text, filled = with_tables(r, path)
        if text != filled:
            path.write_text(filled)
            changed += 1
    print(f"{len(made)} figures in {name_of(FIGURES)}; tables of {changed} document{'' if changed == 1 else 's'} changed")
    return 0


def check(r):
    passed, stale = 0, []
    for name, (data, _) in figures(r).items():
        if drawn_from(FIGURES / f"{name}.svg") == fingerprint(data) and (FIGURES / f"{name}.png").exists():
            passed += 1
        else:
            stale.append(f"writeups/figures/{name}.svg was not drawn from these results")
    for path in documents():
        text, filled = with_tables(r, path)
        if text == filled:
            passed += 1
        else:
            stale.append(f"{name_of(path)}: its tables are not what the results give")
    for line in stale:
        print(f"stale: {line}; make plots")
    print(f"{passed} passed, {len(stale)} failed")
    return 1 if stale else 0


def main(words):
    if words not in (["draw"], ["check"]):
        print("usage: plots.py draw | check", file=sys.stderr)
        return 2
    try:
        return {"draw": draw, "check": check}[words[0]](Results())
    except Unusable as e:
        print(f"plots: {e}", file=sys.stderr)
        return 2
    except (KeyError, TypeError, ValueError) as e:  # a file of the right schema that does not keep to it
        print(f"plots: a results file lacks or breaks {e}; writeups/results/README.md has the schema", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
