"""Figures of what was measured on a GPU: the ladder, the rooflines, what warps wait for."""
from .results import PEERS, STALLS, best_peer, peer_title, row_tiles, short, stall_shares, title
from .style import BLACK, BLUE, COLOURS, GREEN, GREY, GRID, HATCHES, MARKERS, ORANGE, PURPLE, VERMILION, caption

SHOWN = ["1,8,512,64", "2,8,2048,64", "2,8,2048,128"]
PROFILED = ["2,8,2048,64", "1,8,512,64"]


def data_ladder(r):
    peers = {s: best_peer(r, s) for s in SHOWN}
    return {"source": r.source(), "stages": r.stages, "peers": peers,
            "times": {s: {stage: r.time(stage, s) / peers[s][1] for stage in r.stages if r.time(stage, s)} for s in SHOWN if peers[s]}}


def draw_ladder(plt, d):
    stages = d["stages"]
    figure, axes = plt.subplots(figsize=(max(8.2, 1.05 * len(stages)), 4.9))
    figure.subplots_adjust(left=0.75 / figure.get_figwidth(), right=0.97, top=0.97, bottom=0.22)
    spread = 0.11
    for i, (shape, times) in enumerate(d["times"].items()):
        at = [(x + spread * (i - 1), times[s]) for x, s in enumerate(stages) if s in times]
        axes.plot([x for x, _ in at], [t for _, t in at], color=COLOURS[i], marker=MARKERS[i], linestyle=["-", "--", ":"][i], linewidth=1.2, markersize=7, label=title(shape))
        for x, t in at:
            dx, dy, side = [(0, -14, "center"), (-7, -3, "right"), (7, 3, "left")][i]
            axes.annotate(f"{t:.0f}×" if t >= 20 else f"{t:.1f}×" if t >= 2 else f"{t:.2f}×", (x, t), xytext=(dx, dy), textcoords="offset points", fontsize=7.5, color=COLOURS[i], ha=side,
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.85})
    axes.axhline(1, color=BLACK, linewidth=1.3)
    axes.text(-0.42, 1.08, "the best peer", fontsize=8)
    axes.set_yscale("log")
    ticks = [0.5, 1, 2, 5, 10, 20, 50, 100]
    every = [t for times in d["times"].values() for t in times.values()]
    axes.set_ylim(min(0.8, 0.7 * min(every)), max(200, 2 * max(every)))
    axes.set_yticks(ticks, [f"{t}×" for t in ticks])
    axes.minorticks_off()
    axes.set_xlim(-0.5, len(stages) - 0.4)
    axes.set_xticks(range(len(stages)), [s.replace("_", "\n", 1) for s in stages], fontsize=8)
    axes.set_ylabel("time, as a multiple of the best peer's (log)")
    axes.grid(True, axis="y", **GRID)
    axes.legend(title="shape (B,H,S,D)", fontsize=8, title_fontsize=8, frameon=False, ncol=3, loc="upper right")
    peers = "; ".join(f"{title(s)} {PEERS[p]}, {t:.1f} µs" for s, (p, t) in d["peers"].items())
    caption(figure, f"How many times as long each stage takes as the fastest peer (PyTorch's attention backends, FlashAttention-3) on the same shape. The best peers: {peers}. "
                    f"Medians of device time per call in a replayed CUDA graph. {d['source']}.")
    return figure


# The units that a kernel can exhaust besides matrix units and device memory, and Nsight Compute's share of it in use.
ROOFS = [("shared-memory pipe", "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active", VERMILION, "s"),
         ("issue slots", "smsp__issue_active.avg.pct_of_peak_sustained_active", BLUE, "^"),
         ("fp32 pipe", "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", GREEN, "D"),
         ("tensor pipe", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", PURPLE, "v"),
         ("device memory", "dram__throughput.avg.pct_of_peak_sustained_elapsed", ORANGE, "P")]


def data_roofline(r):
    points = [[c["program"], c["shape"], c["flop"] / c["bytes"], c["tflops"]] for c in r.bench["cases"]
              if c["status"] == "ok" and not c["causal"] and c["program"] != "torch_default"]
    shape = PROFILED[0]
    B, H, S, D = map(int, shape.split(","))
    own = []
    for stage in r.stages:
        if p := r.profile(stage, shape):
            reached = 4 * B * H * S * S * D / p["metrics"]["gpu__time_duration.sum"] * 1e-6
            own.append([stage, reached, {name: p["metrics"][metric] / 100 for name, metric, _, _ in ROOFS if p["metrics"].get(metric)}])
    return {"source": r.source(), "matrix": r.ceiling("matrix_fp16_tflops"), "copy": r.ceiling("copy_gbs"), "multiprocessors": r.bench.get("multiprocessors"),
            "points": points, "shape": shape, "own": own}


def draw_roofline(plt, d):
    figure, (axes, below) = plt.subplots(2, 1, figsize=(8.6, 12), height_ratios=[1, 1.25])
    figure.subplots_adjust(left=0.085, right=0.755, top=0.975, bottom=0.105, hspace=0.22)
    x = [8, 16384]
    if d["copy"] and d["matrix"]:
        ridge = d["matrix"] / (d["copy"] * 1e-3)
        axes.plot([x[0], ridge, x[1]], [x[0] * d["copy"] * 1e-3, d["matrix"], d["matrix"]], color=BLACK, linewidth=1.5)
        axes.text(ridge * 1.1, d["matrix"] * 1.15, f"fp16 matrix product, measured: {d['matrix']:.0f} TFLOP/s", fontsize=8)
        axes.text(11, 260, f"device copy, measured:\n{d['copy'] * 1e-3:.2f} TB/s", fontsize=8)
    if d["multiprocessors"]:
        fp32 = int(d["multiprocessors"]) * 128 * 2 * 1.98e-3
        axes.plot(x, [fp32] * 2, color=BLACK, linewidth=1, linestyle=":")
        axes.text(15.5, fp32 * 0.72, f"fp32 multiply-adds,\ncomputed: {fp32:.0f} TFLOP/s", fontsize=8, va="top")
    for i, program in enumerate(dict.fromkeys(p[0] for p in d["points"])):
        label = peer_title(program) if program in PEERS else program
        for D, offset in ((64, 0.93), (128, 1.08)):
            chosen = [(p[2] * offset, p[3]) for p in d["points"] if p[0] == program and p[1].endswith(f",{D}")]
            axes.plot([a for a, _ in chosen], [b for _, b in chosen], linestyle="", marker=MARKERS[(i + i // len(COLOURS)) % len(MARKERS)], markersize=7, color=COLOURS[i % len(COLOURS)],
                      markerfacecolor="none" if D == 128 else COLOURS[i % len(COLOURS)], label=label if D == 64 else None)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(*x)
    axes.set_ylim(0.6, 1800)
    sizes = {64: 128, 256: 512, 1024: 2048, 4096: 8192}
    axes.set_xticks(list(sizes), [f"{k}" + (f"\nS = {s}" if k > 64 else "") for k, s in sizes.items()])
    axes.set_xlabel("operations per byte that must be moved (Q, K, V read once, O written once)")
    axes.set_ylabel("TFLOP/s")
    axes.set_title("Rates reached, and the roofs of matrix units and device memory", fontsize=10)
    axes.grid(True, which="major", **GRID)
    axes.legend(fontsize=7.2, labelspacing=0.35, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)

    for y, (stage, reached, shares) in enumerate(d["own"]):
        roofs = {name: reached / share for name, share in shares.items()}
        lowest = min(roofs.values())
        below.plot([reached, lowest], [y, y], color=GREY, linewidth=1.2, zorder=1)
        below.plot([reached], [y], marker="o", markersize=9, color=BLACK, linestyle="")
        binding = min(roofs, key=roofs.get)
        below.text(reached / 1.25, y, f"{reached:.1f}", fontsize=8, ha="right", va="center")
        furthest = max(value for value in roofs.values() if value < 4000)
        below.text(furthest * 1.25, y, f"{100 * shares[binding]:.0f} % of {binding}", fontsize=7, va="center")
        for name, _, colour, marker in ROOFS:
            if name in roofs and roofs[name] < 4000:
                below.plot([roofs[name]], [y], marker=marker, markersize=8, color=colour, linestyle="")
    below.set_xscale("log")
    below.set_xlim(1, 40000)
    below.set_yticks(range(len(d["own"])), [short(s) for s, *_ in d["own"]])
    below.set_ylim(len(d["own"]) - 0.5, -0.7)
    below.set_xlabel(f"TFLOP/s on {title(d['shape'])}")
    below.set_title("The roofs that are near: each stage's own, from its profile", fontsize=10)
    below.grid(True, axis="x", **GRID)
    drawn = [roof for roof in ROOFS if any(roof[0] in shares and reached / shares[roof[0]] < 4000 for _, reached, shares in d["own"])]
    marks = [plt.Line2D([], [], color=BLACK, marker="o", markersize=8, linestyle="", label="reached")]
    marks += [plt.Line2D([], [], color=colour, marker=marker, markersize=8, linestyle="", label=name) for name, _, colour, marker in drawn]
    below.legend(handles=marks, title="reached, and what each\nunit would give, if full", fontsize=8, title_fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    caption(figure, f"Top: filled D = 64, hollow D = 128, not causal. Below: a roof is the rate reached, divided by the share of that unit in use (Nsight Compute, while the SM is active): what this "
                    f"instruction mix would give if the unit were never idle. The nearest roof binds; the grey line up to it is time in which warps wait. Roofs above 4000 TFLOP/s, device memory's among them, are left out. "
                    f"fp32: {d['multiprocessors']} SMs × 128 lanes × 2 × 1.98 GHz. {d['source']}.")
    return figure


def data_stalls(r):
    one = next(p for p in r.profiles if p["shape"] in PROFILED)
    return {"source": f"{one['gpu']}, driver {one['driver']}, ncu {one['ncu'].split()[0]}, {one['date'][:10]}", "stalls": [[p["stage"], p["shape"], p["kernel"], p["metrics"]["smsp__inst_executed.sum"] / row_tiles(p["shape"]), stall_shares(p)]
            for s in r.stages for shape in PROFILED if (p := r.profile(s, shape))]}


def draw_stalls(plt, d):
    shapes = list(dict.fromkeys(shape for _, shape, *_ in d["stalls"]))
    stages = list(dict.fromkeys(stage for stage, *_ in d["stalls"]))
    height = 2.3 + 0.27 * len(stages)
    figure, panels = plt.subplots(1, len(shapes), figsize=(10.5, height), sharey=True, squeeze=False)
    figure.subplots_adjust(left=0.055, right=0.985, top=1 - 1.05 / height, bottom=1.05 / height, wspace=0.07)
    shown = list(STALLS)
    for shape, axes in zip(shapes, panels[0]):
        for stage, of, kernel, instructions, shares in d["stalls"]:
            if of != shape:
                continue
            y, left = stages.index(stage), 0
            for i, name in enumerate([*shown, "other"]):
                value = shares.get(name, 0) if name != "other" else sum(v for n, v in shares.items() if n not in shown)
                axes.barh(y, 100 * value, left=100 * left, height=0.78, color=COLOURS[i], hatch=HATCHES[i], edgecolor="white", linewidth=0.5)
                left += value
            axes.text(101, y, f"{instructions:.0f}", va="center", fontsize=8)
        axes.text(101, -1, "instr.*", fontsize=8, va="center")
        axes.set_ylim(len(stages) - 0.4, -0.6)
        axes.set_xlim(0, 110)
        axes.set_xticks(range(0, 101, 20))
        axes.set_title(title(shape), fontsize=10)
        axes.set_xlabel("share of the time of a resident warp, %")
    panels[0][0].set_yticks(range(len(stages)), [short(s) for s in stages], fontsize=8)
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=COLOURS[i], hatch=HATCHES[i], edgecolor="white", label=STALLS.get(n, n)) for i, n in enumerate([*shown, "other"])]
    figure.legend(handles=handles, fontsize=8, ncol=5, loc="upper center", bbox_to_anchor=(0.5, 1), handlelength=2.2, handleheight=1.4, frameon=False)
    caption(figure, f"What warps wait for, from Nsight Compute. Warps that compute nothing are counted while they wait at the block barrier; from v3a on \"global memory\" is mostly the wait "
                    f"at an mbarrier. * warp instructions per query row and 64 keys. {d['source']}.")
    return figure
