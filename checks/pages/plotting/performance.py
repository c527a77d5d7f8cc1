"""Figures of what was measured on a GPU: the ladder, the rooflines, what warps wait for."""
from .registry import figure
from .results import PEERS, best_peer, instructions, ladder, medians, needs, says, short, stall_shares, title
from .style import BLACK, BLUE, COLOURS, GREEN, GREY, GRID, LIGHT, MARKERS, ORANGE, PURPLE, VERMILION, WIDTH, box, canvas, caption, logarithmic, ranked, subplots

SHOWN = ["1,8,512,64", "2,8,2048,64", "2,8,2048,128"]
PROFILED = ["2,8,2048,64", "1,8,512,64"]
# The ladder's groups: the first stage of each (its number), the words, and where they stand: a row, and the side of the line.
GROUPS = [("v1", "scalar code", "v2c3", "left"), ("v2c5", "tensor cores", "v2c9", "right"), ("v3a", "Hopper: TMA, wgmma,\nroles, ping-pong", "v3c", "right"), ("v3h", "a tile for every shape", "v3j", "right"),
          ("v4a", "small problems", "v4b", "right")]


def data_ladder(r):
    """A stage's time over the fastest peer's of the same run, the median of the paired ratios: of the ladder's own run, or, of a shape that it lacks there, of those of small problems and of the fastest stages."""
    times, peers, measured_in = {}, {}, {}
    for run in [run for run in (r.bench, r.small, r.ahead) if run]:
        cases, paired = medians(run), {(c["program"], c["shape"]): c.get("times_pytorch") for c in run["cases"]}
        for shape in SHOWN:
            rivals = {p: cases[p, shape] for p in PEERS if p != "torch_default" and (p, shape) in cases}
            if not rivals:
                continue
            best = min(rivals, key=rivals.get)
            for stage in ladder():
                if (stage, shape) in cases and shape not in times.setdefault(stage, {}):
                    times[stage][shape] = paired[stage, shape] or cases[stage, shape] / rivals[best]
                    measured_in[stage] = run["gpu"]
                    peers.setdefault(run["gpu"], {}).setdefault(shape, [best, rivals[best]])
    return {"stages": [[stage, times.get(stage, {}), measured_in.get(stage)] for stage in ladder()], "peers": peers}


def times_text(value):
    return "–" if value is None else f"{value:.0f}" if value >= 20 else f"{value:.1f}" if value >= 2 else f"{value:.2f}"


@figure("ladder", data_ladder)
def draw_ladder(plt, d):
    stages = d["stages"]
    height = 1.32 + 0.215 * len(stages)
    figure, axes = subplots(plt, (WIDTH, height), left=0.205, right=0.71, top=1 - 0.66 / height, bottom=0.74 / height)
    for i, shape in enumerate(SHOWN):
        at = [(times[shape], y) for y, (_, times, _) in enumerate(stages) if shape in times]
        axes.plot([x for x, _ in at], [y for _, y in at], color=COLOURS[i], marker=MARKERS[i], linestyle=["-", "--", ":"][i], linewidth=1, markersize=5.5, label=title(shape))
        x = 1.11 + 0.15 * i
        axes.plot([x], [-1.2], color=COLOURS[i], marker=MARKERS[i], markersize=6, transform=axes.get_yaxis_transform(), clip_on=False)
        axes.text(x, -2.05, title(shape).replace(",", ",\n", 2).replace("\n", "", 1), fontsize=7.5, linespacing=1, ha="center", va="center", transform=axes.get_yaxis_transform(), weight="bold")
        for y, (_, times, _) in enumerate(stages):
            value = times.get(shape)
            axes.text(x, y, times_text(value), fontsize=8, ha="center", va="center", transform=axes.get_yaxis_transform(), weight="bold" if value and value < 1 else "normal")
    for y, (_, times, _) in enumerate(stages):
        if not times:
            axes.text(1.1, y, "not measured", fontsize=7.5, va="center", style="italic", color="#555555")
        if y % 2:
            axes.axhspan(y - 0.5, y + 0.5, color="#f4f4f4", zorder=0)
    rows = [short(name) for name, *_ in stages]
    for number, (first, words, beside, side) in enumerate(GROUPS):
        if first in rows and beside in rows:
            if number:
                axes.axhline(rows.index(first) - 0.5, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
            axes.text(0.015 if side == "left" else 0.985, rows.index(beside), words, fontsize=8, style="italic", color="#333333", ha=side, va="center", transform=axes.get_yaxis_transform(), linespacing=1)
    axes.axvline(1, color=BLACK, linewidth=1.3)
    axes.text(1, -1.05, "best peer", fontsize=7.5, ha="center", va="center")
    logarithmic(axes, [1, *(t for _, times, _ in stages for t in times.values())], (0.5, 1, 2, 5, 10, 20, 50, 100), 0.7, 1.3, "×")
    ranked(axes, [name for name, *_ in stages])
    axes.set_xlabel("time over the best peer's (log; left is faster)", fontsize=8)
    foot = []
    for gpu, rivals in d["peers"].items():
        group = [short(name) for name, _, g in stages if g == gpu]
        foot.append(f"{group[0]} to {group[-1]}: {gpu}; best peers: {', '.join(f'{title(s)} {PEERS[p]} {t:.1f} µs' for s, (p, t) in rivals.items())}.")
    figure.text(0.01, 0.04 / height, "\n".join(foot), fontsize=6.5, va="bottom")
    return figure


ROAD_SHAPE = "2,8,2048,64"
# Stages of the main road, each faster than the one before it here, and in plain words what it adds.
ROAD = [("v1", "a plain loop over the keys"), ("v2c6", "matrix units multiply"), ("v2c7", "every warp computes"), ("v2c8", "results stay in registers"), ("v2d", "fewer loads"),
        ("v3d", "Hopper's units, and split roles"), ("v3f", "the first maximum is kept"), ("v3h", "a block size that fills the GPU")]


def data_road_times(r):
    """The times of these stages on one shape, and the best peer's of the same run."""
    peer, us = best_peer(r, ROAD_SHAPE)
    main = {short(stage): stage for stage in r.stages if says(stage, "road") == "main"}
    return {"stages": [[stage, words, r.time(main[stage], ROAD_SHAPE)] for stage, words in ROAD], "of": len(main), "peer": [PEERS[peer], us], "source": r.source()}


@figure("road-times", data_road_times)
def draw_road_times(plt, d):
    """A ladder, the first stage at its foot: the heights say the order and nothing else."""
    step, high, left, wide = 0.37, 0.27, 2.35, 1.0
    peer, us = d["peer"]
    rungs = sorted([*d["stages"], [None, f"{peer}, the fastest library", us]], key=lambda rung: rung[2])  # from the top
    figure, axes = canvas(plt, 0.2 + step * len(rungs) + 0.45)
    foot = 0.2 + step * len(rungs)
    for x in (left, left + wide):
        axes.plot([x, x], [0.1, foot], color="#8a6d3b", linewidth=5, solid_capstyle="round", zorder=2)
    for i, (stage, words, time) in enumerate(rungs):
        y = 0.2 + step * i
        middle, ahead = y + high / 2, time < us
        if stage:
            box(axes, left, y, wide, high, stage, 10, facecolor=BLUE if ahead else LIGHT[0], edgecolor=BLUE, zorder=3, words={"color": "white" if ahead else BLACK, "weight": "bold", "zorder": 4})
        else:
            axes.plot([0.6, 7.4], [middle] * 2, color=VERMILION, linewidth=1.4, linestyle=(0, (5, 3)), zorder=1)
        ground = None if stage else {"facecolor": "white", "edgecolor": "none", "pad": 3}
        axes.text(left - 0.25, middle, f"{time:.0f} µs", fontsize=11, weight="bold", ha="right", va="center", color=BLACK if stage else VERMILION, bbox=ground)
        axes.text(left + wide + 0.25, middle, words, fontsize=10.5, va="center", color=BLACK if stage else VERMILION, bbox=ground)
    return caption(figure, f"Time per call on {title(ROAD_SHAPE)}. {len(d['stages'])} of the {d['of']} stages of the main road. Dark: faster than {peer}.\n{d['source']}.")


# What a kernel can use up besides matrix units and device memory, and Nsight Compute's share of it in use.
ROOFS = [("shared-memory pipe", "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active", VERMILION, "s"),
         ("issue slots", "smsp__issue_active.avg.pct_of_peak_sustained_active", BLUE, "^"),
         ("fp32 pipe", "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", GREEN, "D"),
         ("tensor pipe", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", PURPLE, "v"),
         ("device memory", "dram__throughput.avg.pct_of_peak_sustained_elapsed", ORANGE, "P")]


def data_roofline(r):
    known = {*ladder(), *PEERS}
    points = [[c["program"], c["shape"], c["flop"] / c["bytes"], c["tflops"]] for c in r.bench["cases"]
              if c["status"] == "ok" and not c["causal"] and c["program"] in known and c["program"] != "torch_default"]
    return {"source": r.source(), "matrix": r.ceiling("matrix_fp16_tflops"), "copy": r.ceiling("copy_gbs"), "multiprocessors": r.bench.get("multiprocessors"), "points": points}


def apart(values, least):
    """The values on a logarithmic axis, moved as little as needed to lie `least` times apart, from the lowest up."""
    placed = []
    for value in values:
        placed.append(max(value, placed[-1] * least) if placed else value)
    return placed


FAMILIES = {"v1": (BLUE, "o"), "v2": (ORANGE, "s"), "v3": (VERMILION, "^"), "v4": (PURPLE, "v"), "peer": (GREEN, "D")}


@figure("roofline", data_roofline)
def draw_roofline(plt, d):
    figure, axes = subplots(plt, (WIDTH, 6.4), left=0.085, right=0.985, top=0.985, bottom=0.15)
    x = [32, 10000]
    if d["copy"] and d["matrix"]:
        ridge = d["matrix"] / (d["copy"] * 1e-3)
        axes.plot([x[0], ridge, x[1]], [x[0] * d["copy"] * 1e-3, d["matrix"], d["matrix"]], color=BLACK, linewidth=1.5)
        axes.text(ridge * 1.1, d["matrix"] * 1.15, f"fp16 matrix product, measured: {d['matrix']:.0f} TFLOP/s", fontsize=8)
        axes.text(36, 520, f"device copy, measured:\n{d['copy'] * 1e-3:.2f} TB/s", fontsize=8)
    if d["multiprocessors"]:
        fp32 = int(d["multiprocessors"]) * 128 * 2 * 1.98e-3
        axes.plot(x, [fp32] * 2, color=BLACK, linewidth=1, linestyle=":")
        axes.text(36, fp32 * 0.72, f"fp32 multiply-adds,\ncomputed: {fp32:.0f} TFLOP/s", fontsize=8, va="top")
    family = lambda program: "peer" if program in PEERS else program[:2]
    for program, shape, intensity, rate in d["points"]:
        colour, marker = FAMILIES[family(program)]
        wide = shape.endswith(",128")
        axes.plot([intensity * (1.1 if wide else 0.92)], [rate], linestyle="", marker=marker, markersize=5.5, color=colour, markerfacecolor="none" if wide else colour)
    extremes = {}  # of each family, its slowest and its fastest on one shape
    for program, _, intensity, rate in sorted((p for p in d["points"] if p[1] == PROFILED[0]), key=lambda p: p[3]):
        extremes.setdefault(family(program), []).append([rate, intensity, program])
    named = sorted(one for name, group in extremes.items() if name != "v4" for one in {g[2]: g for g in (group[0], group[-1])}.values())
    for (rate, intensity, program), y in zip(named, apart([one[0] for one in named], 1.22)):
        at = intensity * 0.92
        axes.annotate(f"{PEERS.get(program, short(program))}: {rate:.0f}", (at * 0.97, rate), (at * 0.8, y), fontsize=8, ha="right", va="center",
                      arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 2})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(*x)
    axes.set_ylim(0.6, 1800)
    sizes = {64: 128, 256: 512, 1024: 2048, 4096: 8192}
    axes.set_xticks(list(sizes), [f"{k}" + (f"\nS = {s}" if k > 64 else "") for k, s in sizes.items()])
    axes.set_yticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    axes.set_xlabel("operations per byte that must be moved (Q, K, V read once, O written once)", fontsize=8)
    axes.set_ylabel("TFLOP/s", fontsize=8)
    axes.grid(True, which="major", **GRID)
    there = dict.fromkeys(family(p[0]) for p in d["points"])
    marks = [plt.Line2D([], [], color=FAMILIES[f][0], marker=FAMILIES[f][1], markersize=6, linestyle="", label="peers" if f == "peer" else f"{f} stages") for f in there]
    axes.legend(handles=[*marks, plt.Line2D([], [], color=BLACK, marker="o", markersize=6, markerfacecolor="none", linestyle="", label="hollow: D = 128")], fontsize=7.5, loc="lower left", frameon=False)
    figure.text(0.01, 0.008, f"Named: the slowest and the fastest of each kind on {title(PROFILED[0])}, but of v4, which is made for small problems.\n{d['source']}.", fontsize=7, va="bottom")
    return figure


def data_roofs(r):
    B, H, S, D = map(int, PROFILED[0].split(","))
    own = []
    for stage in ladder():
        if p := r.profile(stage, PROFILED[0]):
            reached = 4 * B * H * S * S * D / p["metrics"]["gpu__time_duration.sum"] * 1e-6
            own.append([stage, reached, {name: p["metrics"][metric] / 100 for name, metric, _, _ in ROOFS if p["metrics"].get(metric)}])
    return {"source": profiled_by(r), "shape": PROFILED[0], "own": own}


FAR = 4000  # TFLOP/s: roofs beyond are left out


@figure("roofs", data_roofs, lambda r: r.profiles)
def draw_roofs(plt, d):
    height = 1.35 + 0.24 * len(d["own"])
    figure, axes = subplots(plt, (WIDTH, height), left=0.06, right=0.985, top=1 - 0.32 / height, bottom=0.75 / height)
    for y, (stage, reached, shares) in enumerate(d["own"]):
        roofs = {name: reached / share for name, share in shares.items()}
        binding = min(roofs, key=roofs.get)
        axes.plot([reached, roofs[binding]], [y, y], color=GREY, linewidth=1.2, zorder=1)
        axes.plot([reached], [y], marker="o", markersize=7, color=BLACK, linestyle="")
        axes.text(reached / 1.15, y, f"{reached:.1f}", fontsize=7.5, ha="right", va="center")
        axes.text(max(value for value in roofs.values() if value < FAR) * 1.2, y, f"{100 * shares[binding]:.0f} % of {binding}", fontsize=7.5, va="center")
        for name, _, colour, marker in ROOFS:
            if name in roofs and roofs[name] < FAR:
                axes.plot([roofs[name]], [y], marker=marker, markersize=6.5, color=colour, linestyle="")
    axes.set_xscale("log")
    axes.set_xlim(1, 30000)
    axes.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    axes.minorticks_off()
    axes.set_yticks(range(len(d["own"])), [short(s) for s, *_ in d["own"]], fontsize=8)
    axes.set_ylim(len(d["own"]) - 0.5, -0.7)
    axes.set_xlabel(f"TFLOP/s on {title(d['shape'])} (log)", fontsize=8)
    axes.grid(True, axis="x", **GRID)
    drawn = [roof for roof in ROOFS if any(roof[0] in shares and reached / shares[roof[0]] < FAR for _, reached, shares in d["own"])]
    marks = [plt.Line2D([], [], color=BLACK, marker="o", markersize=7, linestyle="", label="reached")]
    marks += [plt.Line2D([], [], color=colour, marker=marker, markersize=6.5, linestyle="", label=name) for name, _, colour, marker in drawn]
    figure.legend(handles=marks, fontsize=7.5, loc="upper left", ncol=len(marks), frameon=False, bbox_to_anchor=(0.05, 1))
    figure.text(0.01, 0.04 / height, f"Reached: under Nsight Compute, less than in a benchmark. A unit's mark: that rate over the share of the unit in use.\nBeyond {FAR} TFLOP/s left out. {d['source']}.", fontsize=7, va="bottom")
    return figure


def profiler(profile):
    """The machine and the program of a profile."""
    return f"{profile['gpu']}, driver {profile['driver']}, ncu {profile['ncu'].split()[0]}, {profile['date'][:10]}"


def profiled_by(r, shapes=PROFILED, stages=None):
    """The machines of the profiles, and which stages each ran."""
    of = {}
    for stage in stages or ladder():
        for p in filter(None, (r.profile(stage, shape) for shape in shapes)):
            of.setdefault(profiler(p), []).append(short(stage))
    return ";\n".join(f"{stages[0]} to {stages[-1]}: {machine}" for machine, stages in of.items())


# What warps wait for, as the figure groups Nsight Compute's names. A wait for an mbarrier is counted there as one for global memory:
# of a stage with TMA it is shown as what it mostly is.
WAITS = {"block barrier": ["barrier"], "mbarrier": [], "global memory": ["long_scoreboard"], "shared memory, shuffles, exp": ["short_scoreboard", "mio_throttle"],
         "fixed latency": ["wait"], "issuing": ["selected"], "ready, not chosen": ["not_selected"], "arithmetic pipe busy": ["math_pipe_throttle"], "wgmma": ["gmma"]}


LINES = ["", "////", "", "\\\\\\\\", "", "", "", "////", ""]  # enough hatches to tell neighbours apart in grey


TWO = ["v3b_wgmma", "v3c_overlap"]  # for reading-sass, which is about two waits of one of them


def data_stalls(r, stages=None, shapes=PROFILED):
    rows = []
    for stage in stages or ladder():
        for shape in shapes:
            if p := r.profile(stage, shape):
                shares = stall_shares(p)
                grouped = {name: sum(shares.get(n, 0) for n in names) for name, names in WAITS.items()}
                if "tma" in needs(stage):
                    grouped["mbarrier"], grouped["global memory"] = grouped["global memory"], 0
                rows.append([stage, shape, instructions(p), grouped | {"other, or not collected": max(0, 1 - sum(grouped.values()))}])
    return {"source": profiled_by(r, shapes, stages), "stalls": rows}


# What the most frequent instructions of v3b do. Source and place: writeups/reading-sass.md.
OPCODES = {"FMUL": "scores scaled, O rescaled", "FADD": "a subtraction before each exponential, a sum after it", "FMNMX": "the maximum of a row", "MUFU": "exponentials",
           "F2FP": "weights rounded to fp16", "HGMMA": "the matrix products"}


def data_opcodes(r):
    profile = r.profile(TWO[0], PROFILED[0])
    B, H, S, _ = (int(x) for x in profile["shape"].split(",")[:4])
    steps = B * H * S * (S // 64)  # rows, and 64 keys at a time
    counted = {name: profile["opcodes"][name] / steps for name in OPCODES}
    return {"source": profiler(profile), "shape": profile["shape"], "counted": counted, "others": sum(profile["opcodes"].values()) / steps - sum(counted.values())}


@figure("opcodes", data_opcodes, lambda r: r.profiles)
def draw_opcodes(plt, d):
    rows = sorted(d["counted"].items(), key=lambda row: -row[1]) + [("others", d["others"])]
    height = 1.0 + 0.27 * len(rows)
    figure, axes = subplots(plt, (WIDTH, height), left=0.1, right=0.985, top=1 - 0.08 / height, bottom=0.72 / height)
    for y, (name, count) in enumerate(rows):
        axes.barh(y, count, height=0.7, facecolor=ORANGE if name == "HGMMA" else "#e3e3e3" if name == "others" else LIGHT[0], edgecolor=BLACK, linewidth=0.6)
        axes.text(count + 0.06, y, f"{count:.1f}: {OPCODES.get(name, 'addresses, waits, jumps and more')}", fontsize=8.5, va="center")
    axes.set(xlim=(0, 9.6), ylim=(len(rows) - 0.4, -0.6))
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=9)
    axes.set_xlabel(f"instructions for one query row and 64 keys, v3b on {title(d['shape'])}", fontsize=8.5)
    figure.text(0.01, 0.04 / height, f"{d['source']}.", fontsize=7, va="bottom")
    return figure


@figure("stalls-two", lambda r: data_stalls(r, TWO, PROFILED[:1]), lambda r: r.profiles)
def draw_two_waits(plt, d):
    height = 1.45 + 0.42 * len(d["stalls"])
    figure, axes = subplots(plt, (WIDTH, height), left=0.055, right=0.985, top=1 - 0.4 / height, bottom=0.82 / height)
    names = list(WAITS)
    for y, (stage, _, _, shares) in enumerate(d["stalls"]):
        left = 0
        for name, colour in (("wgmma", COLOURS[names.index("wgmma")]), ("block barrier", COLOURS[names.index("block barrier")]), ("rest", "#e3e3e3")):
            share = 100 * shares[name] if name in shares else 100 - left
            axes.barh(y, share, left=left, height=0.62, facecolor=colour, edgecolor=BLACK, linewidth=0.6)
            axes.annotate(f"{share:.0f} %", (left + share / 2, y), fontsize=8.5, ha="center", va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
            left += share
    axes.set(xlim=(0, 100), ylim=(len(d["stalls"]) - 0.4, -0.6))
    axes.set_yticks(range(len(d["stalls"])), [short(s) for s, *_ in d["stalls"]], fontsize=9)
    axes.set_xlabel(f"share of the time of a resident warp, %, on {title(d['stalls'][0][1])}", fontsize=8.5)
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=c, edgecolor=BLACK, linewidth=0.6, label=l) for c, l in ((COLOURS[names.index("wgmma")], "wait for wgmma"), (COLOURS[names.index("block barrier")], "wait at a block barrier"), ("#e3e3e3", "all else: other waits, and issuing"))]
    figure.legend(handles=handles, fontsize=8.5, ncol=3, loc="upper center", bbox_to_anchor=(0.5, 1), frameon=False)
    figure.text(0.01, 0.04 / height, f"{d['source']}.", fontsize=7, va="bottom")
    return figure


@figure("stalls", data_stalls, lambda r: r.profiles)
def draw_stalls(plt, d):
    shapes = list(dict.fromkeys(shape for _, shape, *_ in d["stalls"]))
    stages = list(dict.fromkeys(stage for stage, *_ in d["stalls"]))
    height = 1.95 + (0.22 if len(shapes) > 1 else 0.3) * len(stages)
    figure, panels = subplots(plt, (WIDTH, height), 1, len(shapes), sharey=True, squeeze=False, left=0.055, right=0.99, top=1 - 1.0 / height, bottom=0.9 / height, wspace=0.06)
    look = {name: {"facecolor": COLOURS[i], "hatch": LINES[i], "edgecolor": "white"} for i, name in enumerate(WAITS)}
    look["other, or not collected"] = {"facecolor": "white", "edgecolor": GREY}
    for shape, axes in zip(shapes, panels[0]):
        for stage, of, issued, shares in d["stalls"]:
            if of != shape:
                continue
            y, left = stages.index(stage), 0
            for name, value in shares.items():
                if value > 0:
                    axes.barh(y, 100 * value, left=100 * left, height=0.8, linewidth=0.5, **look[name])
                left += value
            if len(shapes) > 1:
                axes.text(101.5, y, f"{issued:.0f}", va="center", fontsize=7.5)
        if len(shapes) > 1:
            axes.text(101.5, -1, "instr.*", fontsize=7.5, va="center")
        axes.set(xlim=(0, 113 if len(shapes) > 1 else 102), ylim=(len(stages) - 0.4, -0.6))
        axes.set_xticks(range(0, 101, 20))
        axes.set_title(title(shape), fontsize=9, loc="left")
        axes.set_xlabel("share of the time of a resident warp, %", fontsize=8)
    panels[0][0].set_yticks(range(len(stages)), [short(s) for s in stages], fontsize=8)
    handles = [plt.Rectangle((0, 0), 1, 1, label=name, **one) for name, one in look.items()]
    figure.legend(handles=handles, fontsize=7.5, ncol=5, loc="upper center", bbox_to_anchor=(0.5, 1), handlelength=2, handleheight=1.4, columnspacing=1.2, frameon=False)
    figure.text(0.01, 0.04 / height, ("* warp instructions per query row and 64 keys. Stages without a profile are left out.\n" if len(shapes) > 1 else "") + f"{d['source']}.", fontsize=7, va="bottom")
    return figure
