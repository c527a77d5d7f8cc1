"""The tables that stand in README.md and writeups/*.md between `<!-- begin: table NAME -->` and `<!-- end -->`."""
import re
from statistics import median

from .heads import ROOT, Unusable, name_of
from . import counted, floors, gains, search
from .performance import profiled_by
from .results import ACCEPTANCE, FASTEST, PEERS, RARER, RIVALS, STALLS, before, best_peer, comparable, fastest, instructions, ladder, medians, peer_title, row_of, says, short, stall_shares, table, title


def us(value):
    return "–" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def ratio(a, b):
    """How many times b goes into a, bold where that is less than once."""
    return "–" if a is None or b is None else f"**{a / b:.2f}**" if a < b else f"{a / b:.2f}"


def ran_by_of(r, run, file):
    """A caption quotes the first command of a run; where more belongs to it, the file has the whole of it."""
    first = re.match(r"make( bench| \w+=('[^']*'|[^\s',;]+))*", run["command"])
    more = f" and more (`command` in `{file}`)" if first and first[0] != run["command"] else ""
    return f"{r.source(run)}; `{first[0] if first else run['command']}`{more}, medians over all rounds."


def ran_by(r):
    return [f"<sub>{ran_by_of(r, r.bench, r.bench_file)}</sub>"]


def ran_by_small(r):
    return [f"<sub>{ran_by_of(r, r.small, r.small_file)} v4c's launches overlap: it is a figure of its own.</sub>"]


def table_ladder(r):
    budget = {}
    for k in r.resources["kernels"]:
        if k["bug"] == "" and k["arch"] in TARGETS:
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
    rows.append(["best peer", *(f"{us(best[s][1])} ({PEERS[best[s][0]]})" if best[s] else "–" for s in ACCEPTANCE), "", ""])
    header = ["stage, µs per call (× the best peer)", *map(title, ACCEPTANCE), "registers", "shared memory, KiB"]
    return table(header, rows) + ["", "Device time per call inside a replayed CUDA graph. Registers and shared memory are each stage's largest kernel at its own target.", ""] + ran_by(r)


def over_peer(case):
    """The median of the paired ratios, and where it was measured its 10th and 90th percentile."""
    if case["times_pytorch"] is None:
        return "–"
    spread = f" ({case['times_pytorch_p10']:.2f}–{case['times_pytorch_p90']:.2f})" if case.get("times_pytorch_p90") else ""
    return f"{case['times_pytorch']:.2f}×{spread}"


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
            old = r.time(before(program), shape) if program in r.stages else None
            rows.append([title(shape), label, f"{us(f['graph']['median'])} ({us(f['graph']['p10'])}–{us(f['graph']['p90'])})", pick("graph_flushed"),
                         pick("call"), pick("call_flushed"), f"{case['tflops']:.2f}", percent(case["share_of_matrix"]),
                         percent(case["share_of_bandwidth"]), times(old and old / f["graph"]["median"]), over_peer(case)])
    header = ["shape", "program", "graph, µs (p10–p90)", "L2 flushed", "one call, µs", "L2 flushed", "TFLOP/s", "of matrix peak", "of bandwidth",
              "faster than the stage before", "time over the best peer"]
    return table(header, rows) + [""] + ran_by(r)


def table_bench(r):
    return all_cases(r, [*r.stages, *PEERS], {p: peer_title(p) for p in PEERS})


def table_step(r, name):
    """One step of the ladder on every shape: NAME's time beside the stage's that it grows out of, and a peer's. The steps between stages for small problems are shown on small problems."""
    stage = next((stage for stage in ladder() if short(stage) == name), "")
    run, peer, by = r.bench, "torch_flash" if says(stage, "target") == "sm_89" else "fa3", ran_by(r)
    if r.small and {stage, before(stage)} <= {c["program"] for c in r.small["cases"]}:
        run, peer, by = r.small, "torch_cudnn", ran_by_small(r)
    times, rows = medians(run), []
    if not any(program == stage for program, _ in times):
        return [f"No committed run has timed {name} and the stage before it. <sub>{r.source()}.</sub>"]
    for shape in dict.fromkeys(c["shape"] for c in run["cases"]):
        old, new, other = (times.get((program, shape)) for program in (before(stage), stage, peer))
        rows.append([title(shape), us(old), us(new), ratio(old, new), us(other), ratio(other, new)])
    header = ["shape", f"{short(before(stage))}, µs", f"{name}, µs", "times faster (bold: slower)", f"{PEERS[peer]}, µs", "its time over ours (bold: we are slower)"]
    return table(header, rows) + [""] + by


def table_gains(r):
    """Each step of the ladder beside what the profiles of its two stages say."""
    rows = []
    for step in gains.gains(r):
        ten = [r.time(step["from"], shape) / r.time(step["to"], shape) for shape in r.shapes if r.time(step["from"], shape) and r.time(step["to"], shape)]
        two = lambda values, digits: f"{values[0]:.{digits}f} → {values[1]:.{digits}f}"
        rows.append([f"{short(step['from'])} → [{short(step['to'])}](stages/{step['to']}.md)", f"{us(step['us'][0])} → {us(step['us'][1])}", ratio(*step["us"]), f"{min(ten):.2f}–{max(ten):.2f}",
                     two(step["count"], 0 if step["count"][1] > 99 else 1), two(step["issue"], 0), f"{step['busier']:.2f}"])
    return table([f"step, {title(gains.SHAPE)}", "µs", "times faster (bold: slower)", "on the ten shapes", "instructions per row and 64 keys", "issue slots used, %", "SM clocks per µs, times"], rows) + [""] + ran_by(r)


def table_largest_gains(r):
    """The eight steps with the largest gain, in the order of the ladder."""
    steps = gains.gains(r)
    largest = sorted(steps, key=lambda step: -step["gain"])[:8]
    rows = [[f"[{short(step['to'])}](stages/{step['to']}.md)", gains.CHANGED[short(step["to"])], f"{us(step['us'][0])} → {us(step['us'][1])}", f"{step['gain']:.2f}",
             *(f"{step[name]:.2f}" for name in ("fewer", "fuller", "busier"))] for step in steps if step in largest]
    return table([f"step to, {title(gains.SHAPE)}", "what changed", "µs", "times faster", "fewer instructions", "fuller slots", "SM clocks per µs"], rows) + [""] + ran_by(r)


HOPPER_SHAPES = "2,8,2048,64", "2,8,2048,128", "4,16,8192,64", "4,16,8192,128"


def table_hopper(r):
    """Each stage of the main road from v2d on, and how many times faster it is than the one before; the peers below."""
    first = next(i for i, stage in enumerate(r.stages) if short(stage) == "v2d")
    rows = []
    for stage in (stage for stage in r.stages[first:] if says(stage, "road") == "main"):
        cells = []
        for shape in HOPPER_SHAPES:
            old, new = r.time(before(stage), shape) if rows else None, r.time(stage, shape)
            cells.append(us(new) + (f" ({ratio(old, new)})" if old and new else ""))
        rows.append([short(stage), *cells])
    for peer in ("torch_cudnn", "fa3"):
        if any(r.time(peer, shape) is not None for shape in HOPPER_SHAPES):
            rows.append([PEERS[peer], *(us(r.time(peer, shape)) for shape in HOPPER_SHAPES)])
    return table(["µs per call (times faster than the stage before; bold: slower)", *map(title, HOPPER_SHAPES)], rows) + [""] + ran_by(r)


def table_small(r):
    """Small problems: graph times of the run that has the stages made for them."""
    if r.small is None:
        raise Unusable("writeups/results/ has no small-*.json")
    cases, times = {(c["program"], c["shape"]): c for c in r.small["cases"]}, medians(r.small)
    shapes = list(dict.fromkeys(c["shape"] for c in r.small["cases"]))
    programs = list(dict.fromkeys(c["program"] for c in r.small["cases"]))
    cell = lambda case: "–" if case not in cases else us(times[case]) if case in times else cases[case]["status"]
    rows = [[PEERS.get(program) or f"`{program}`", *(cell((program, shape)) for shape in shapes)] for program in programs]
    return table(["graph, µs per call", *map(title, shapes)], rows) + [""] + ran_by_small(r)


def leads(r):
    """Of the run that has every peer, for each shape: its times by program, the faster of v3j and v3k, the fastest peer, and that stage's case."""
    if r.ahead is None:
        raise Unusable("writeups/results/ has no ahead-*.json")
    cases, every = {(c["program"], c["shape"]): c for c in r.ahead["cases"]}, medians(r.ahead)
    for shape in dict.fromkeys(c["shape"] for c in r.ahead["cases"]):
        times = {program: value for (program, of), value in every.items() if of == shape}
        stage, peer = fastest(times, FASTEST), fastest(times, RIVALS)
        yield shape, times, stage, peer, cases[stage, shape]


def spread(case):
    """A lead, and in brackets the percentiles of its paired ratios."""
    over = {quantile: 1 / case["times_pytorch" + quantile] for quantile in ("", "_p10", "_p90")}
    return f"{over['']:.2f} ({over['_p90']:.2f}–{over['_p10']:.2f})"


def table_ahead(r):
    """The faster of v3j and v3k beside every peer."""
    rows, all_leads = [], list(leads(r))
    peers = [p for p in RIVALS if any(p in times for _, times, *_ in all_leads)]
    for shape, times, stage, peer, case in all_leads:
        shown = lambda program: f"**{us(times[program])}**" if program in (stage, peer) else us(times[program])
        rows.append([title(shape), *map(shown, [*peers, *FASTEST]), f"{case['tflops']:.0f}", spread(case)])
    header = ["µs per call", *(RIVALS[p] for p in peers), *map(short, FASTEST), "TFLOP/s", "times faster"]
    return table(header, rows) + ["", f"<sub>{r.source(r.ahead)}; {r.ahead['command']}. Bold: the fastest peer, and the faster stage, whose TFLOP/s these are; in brackets the 10th and the 90th percentile of the paired ratios.</sub>"]


def table_ahead_short(r):
    """Of table_ahead the fastest peer and the faster stage alone."""
    rows = [[title(shape), f"{RIVALS[peer]}: {us(times[peer])}", f"{short(stage)}: {us(times[stage])}", spread(case)] for shape, times, stage, peer, case in leads(r)]
    return table(["", "fastest peer, µs", "faster stage, µs", "times faster (spread)"], rows) + ["", f"<sub>{r.source(r.ahead)}. Spread: the 10th and the 90th percentile of the paired ratios. [Every peer](#all-times).</sub>"]


def table_alone(r):
    """One stage on all shapes of the sweep, beside the fastest peer of each; then the fastest of the four stages."""
    if r.sweep is None:
        raise Unusable("writeups/results/ has no sweep-*.json")
    shapes = r.sweep["shapes"]
    swept = comparable(next(iter(shapes.values())))
    beyond = lambda shape: 1.06 if shape.split(",")[3:] == ["128"] else 1.03  # scatter: what-it-bought.md
    rows = []
    for name, stages in [*([short(stage), [stage]] for stage in swept), ("the fastest of the four", swept)]:
        lead = {shape: times[fastest(times, RIVALS)] / times[fastest(times, stages)] for shape, times in shapes.items()}
        rows.append([name, str(sum(x > 1 for x in lead.values())), str(sum(x > beyond(shape) for shape, x in lead.items())), f"{median(lead.values()):.2f}", f"{min(lead.values()):.2f}"])
    return table(["", f"ahead, of {len(shapes)} shapes", "beyond scatter", "median lead, times", "least lead, times"], rows)


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
            rows.append([f"`{p['stage']}`", f"{instructions(p):.0f}", percent("smsp__issue_active.avg.pct_of_peak_sustained_active"),
                         percent("sm__warps_active.avg.pct_of_peak_sustained_active"), percent("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"),
                         percent("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"), percent("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active"),
                         f"{100 * conflicts / waves:.1f} %" if waves else "–", percent("dram__throughput.avg.pct_of_peak_sustained_elapsed"),
                         f"{STALLS.get(worst[0]) or RARER.get(worst[0], worst[0])}, {100 * worst[1]:.0f} %" if worst else "–"])
        lines += ([""] if lines else []) + table(
            [title(shape), "instructions per row and 64 keys", "issue slots used", "active warps", "tensor pipe", "fp32 pipe", "shared-memory pipe",
             "bank conflicts", "DRAM", "most warp time goes to"], rows)
        lines += ["", f"<sub>{profiled_by(r, [shape])}; `make stage=S profile shape={shape}`.</sub>".replace("\n", " ")]
    return lines


def table_profile_of(r, stage):
    """One stage under Nsight Compute, for its page: what it is busy with, and what its warps wait for."""
    found = [p for shape in ("2,8,2048,64", "1,8,512,64") for p in r.profiles if (short(p["stage"]), p["shape"]) == (stage, shape)]
    if not found:
        raise Unusable(f"table profile-{stage}: no profile of {stage} is committed under writeups/results/")
    rows = []
    for p in found:
        m = p["metrics"]
        percent = lambda name: f"{m[name]:.0f} %" if name in m else "–"
        conflicts, waves = m.get("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"), m.get("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")
        stalls = sorted(((v, n) for n, v in stall_shares(p).items() if n != "selected"), reverse=True)[:3]
        rows.append([title(p["shape"]), f"{instructions(p):.1f}", percent("smsp__issue_active.avg.pct_of_peak_sustained_active"),
                     percent("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"), percent("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active"),
                     f"{100 * conflicts / waves:.1f} %" if waves else "–", ", ".join(f"{STALLS.get(n) or RARER.get(n, n)} (`{n}`) {100 * v:.0f} %" for v, n in stalls)])
    p = found[0]
    header = ["shape", "instructions per row and 64 keys", "issue slots used", "tensor pipe", "shared-memory pipe", "bank conflicts", "warp time that issues nothing, most of it (Nsight Compute's `stalled_…`)"]
    return table(header, rows) + ["", f"<sub>{p['gpu']}, driver {p['driver']}, ncu {p['ncu'].split()[0]}, {p['date'][:10]}; `make stage={stage} profile`.</sub>"]


def table_phases_of(r, stage):
    """A kernel's parts timed alone: what each adds to the one before."""
    d = next((d for d in r.phases if short(d["stage"]) == stage), None)
    if d is None:
        raise Unusable(f"table phases-{stage}: writeups/results/ has no phases-{stage}.json")
    rows, before = [], 0
    for part in d["parts"]:
        rows.append([part["what"], f"{part['us']:.2f}", f"{part['us'] - before:+.2f}" if before else ""])
        before = part["us"]
    return table([f"{title(d['shape'])}: a kernel that does", "µs per launch", "more"], rows) + [
        "", f"<sub>{d['gpu']}, driver {d['driver']}, CUDA {d['cuda']}, {d['date'][:10]}; `{d['command']}`. In a graph of 100 launches; each line does what the one before does, and more.</sub>"]


def table_plan_of(r, stage):
    """Tile and shared memory, array by array, at both head dimensions."""
    plans = [p for p in r.plans["plans"] if (short(p["stage"]), p["bug"]) == (stage, "") and (p["S"], p["D"]) in ((512, 64), (2048, 128))]
    if not plans:
        raise Unusable(f"table plan-{stage}: plans.json has no plan of {stage}; make figure-data writes it")
    arrays = [{a["name"]: [f"{a['rows']} x {a['pitch']}" if a["pitch"] > 1 else f"{a['rows']}", f"{a['bytes']}"] for a in p["arrays"]} for p in plans]
    types = {a["name"]: a["type"] for p in plans for a in p["arrays"]}  # a kernel for one of the shapes may have more of them
    rows = [[f"`{name}`, {kind}", *(cell for of in arrays for cell in of.get(name, ["–", "–"]))] for name, kind in types.items()]
    rows.append(["**shared memory per block**", *(cell for p in plans for cell in ("", f"**{p['smem']}**"))])
    threads = " and ".join(dict.fromkeys(str(p["block"][0]) for p in plans))
    for what, said in {"tile": lambda p: f"{p['tile_m']} queries x {p['tile_n']} keys", "rows a computing warp owns": lambda p: f"{p['rows_per_warp']}",
                       "K/V slots": lambda p: f"{p['slots']}", f"grid, blocks of {threads} threads": lambda p: " x ".join(map(str, [p["grid"][0] * p.get("parts", 1), *p["grid"][1:]]))}.items():
        rows.append([what, *(cell for p in plans for cell in (said(p), ""))])
    head = ["", *(cell for p in plans for cell in ("({B},{H},{S},{D})".format(**p), "bytes"))]
    return [row_of(head), "|---|" + "---|--:|" * len(plans), *map(row_of, rows)]


def table_floors(r, shape):
    """The least time of each stage and the unit that needs it (bold), beside the measured time."""
    lines = []
    for stage in ladder():
        if of_stage := r.counted["stages"][stage].get(shape):
            floor, time = of_stage["floor"], floors.measured(r, stage, shape)
            roofs = {roof["name"]: f"**{roof['us']:.2f}**" if roof["name"] == floor["binds"] else f"{roof['us']:.2f}" for roof in floor["roofs"]}
            lines = lines or [row_of(["", "measured, µs", "no less than", "of it", *roofs]), "|---|" + "--:|" * (3 + len(roofs))]
            lines.append(row_of([short(stage), f"{time:.2f}" if time else "", f"{floor['us']:.2f}", f"{100 * floor['us'] / time:.0f} %" if time else "", *roofs.values()]))
    return lines


def table_predictions(r):
    rows = []
    for p in r.predictions["steps"]:
        for shape in ("2,8,2048,64", "1,8,512,64"):
            if step := gains.step_of(r, p["from"], p["to"], shape):
                fewer, fuller, count = step["fewer"], step["fuller"], step["count"]
                rows.append([f"{short(p['from'])} → {short(p['to'])}", title(shape), f"{p['instructions'][0]} → {p['instructions'][1]}",
                             f"{count[0]:.0f} → {count[1]:.0f}", f"{p['gain'][shape]:.2f}", f"{step['gain']:.2f}", f"{fewer:.2f}", f"{fuller:.2f}", f"{fewer * fuller:.2f}"])
    header = ["step", "shape", "instructions per row and 64 keys, predicted", "measured", "gain predicted", "gain measured", "fewer instructions", "fuller issue slots",
              "their product"]
    return table(header, rows) + [""] + ran_by(r)


def table_searched(_):
    """All measured searches together: how their candidates ended."""
    verdicts = [c["verdict"] for log in search.searches() if log["fitness"] == "time" for c in log["candidates"]]
    refused, broken, wrong = (verdicts.count(v) for v in ("too large", "broken", "wrong"))
    return ["| candidates measured or refused | refused before they were built | broken | ran to their end | of these wrong |", "|" + "--:|" * 5,
            f"| {len(verdicts)} | {refused} | {broken} | {len(verdicts) - refused - broken} | {wrong} |"]


TABLES = {"predictions": table_predictions, "ladder": table_ladder, "bench": table_bench, "gains": table_gains, "gains-largest": table_largest_gains, "hopper": table_hopper, "small": table_small, "ahead": table_ahead, "ahead-short": table_ahead_short, "alone": table_alone, "profile": table_profile, "floors": lambda r: table_floors(r, "1,8,512,64"), "floors-large": lambda r: table_floors(r, "2,8,2048,64"), "counted": counted.table_counted, "evolve": search.table_evolve, "searched": table_searched}
OF_STAGE = {"step": table_step, "profile": table_profile_of, "phases": table_phases_of, "plan": table_plan_of}
TARGETS = "sm_89", "sm_90a"  # an entry at sm_90 is of a stage whose target is sm_89
MARKED = re.compile(r"(<!-- begin: table ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.S)


def with_tables(r, path):
    stages = {short(conf.parent.name) for conf in (ROOT / "stages").glob("*/stage.conf")}

    def fill(found):
        kind, _, name = found[2].partition("-")
        if found[2] not in TABLES and (kind not in OF_STAGE or name not in stages):
            raise Unusable(f"{name_of(path)}: no table '{found[2]}'; there are {', '.join(TABLES)}, and for a STAGE {', '.join(k + '-STAGE' for k in OF_STAGE)}")
        lines = TABLES[found[2]](r) if found[2] in TABLES else OF_STAGE[kind](r, name)
        return found[1] + "\n".join(lines) + "\n" + found[4]

    text = path.read_text()
    if text.count("<!-- begin: table") != len(MARKED.findall(text)):
        raise Unusable(f"{name_of(path)}: a table's begin marker has no '<!-- end -->'")
    return text, MARKED.sub(fill, text)


def documents():
    return [ROOT / "README.md", *sorted((ROOT / "writeups").rglob("*.md"))]
