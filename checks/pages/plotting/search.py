"""What the elite loop found: every search whose log is committed (writeups/results/evolve-*.json)."""
import json
from pathlib import Path

from .heads import Unusable, name_of
from .results import PEERS, RESULTS, short, title
from .style import BLACK, BLUE, GREEN, GREY, GRID, ORANGE, VERMILION, caption

VERDICTS = {"elite": (BLUE, "o", "among the three when it came"), "slower": (GREY, ".", "right, and not 3 % faster"), "wrong": (VERMILION, "x", "wrong"),
            "broken": (ORANGE, "+", "does not build, run or end"), "too large": (GREEN, "|", "refused before it was built, or spills")}


def read(path, schema):
    log = json.loads(Path(path).read_text())
    if log.get("schema") != schema:
        raise Unusable(f"{name_of(path)}: its schema is not {schema}; make evolve writes it")
    return log


def searches():
    """All logs, measured ones first; each with its confirmation, if there is one."""
    logs = []
    for path in sorted(RESULTS.glob("evolve-*.json")):
        if path.stem.endswith("-confirm") or path.stem.endswith("-adopt"):
            continue
        log = read(path, "evolve-1")
        beside = path.with_name(path.stem + "-confirm.json")
        log["confirm"] = read(beside, "evolve-confirm-1") if beside.exists() else None
        logs.append(log)
    return sorted(logs, key=lambda log: (log["fitness"] != "time", log["stage"], log["shape"], log["seed"]))


def elite(log):
    """The three at the end, the fastest first, as the loop itself has them: whoever came in pushed the slowest out."""
    members = []
    for c in log["candidates"]:
        if c["verdict"] == "elite":
            members = sorted(members, key=lambda m: m["median"])[:2] + [c]
    return sorted(members, key=lambda m: m["median"])


def changed(log, candidate):
    start = log["candidates"][0]["levers"]
    return {k: v for k, v in candidate["levers"].items() if start[k] != v}


def levers_text(log, candidate):
    return ", ".join(f"{k} = {v}" for k, v in changed(log, candidate).items()) or "as it is"


def short_levers(log, candidate):
    """For a line above a picture: a long value is left to the table."""
    return ", ".join(f"{k} = {v}" if len(v) < 12 else k for k, v in changed(log, candidate).items()) or "as it is"


def asked(log):
    return title(log["shape"]) + (f", seed {log['seed']}" if log["seed"] != 1 else "")


def unit(log):
    return "µs" if log["fitness"] == "time" else "µs by the model, not measured"


def data_search():
    logs = searches()
    measured = [log for log in logs if log["fitness"] == "time"] or logs
    return [{"stage": log["stage"], "shape": asked(log), "unit": unit(log), "machine": log["machine"].get("gpu") or "a model on a CPU", "date": log["machine"].get("date", "")[:10],
             "candidates": [[c["verdict"], c.get("median"), c.get("p10"), c.get("p90")] for c in log["candidates"]], "winner": short_levers(log, elite(log)[0]),
             "start": log["candidates"][0].get("median")} for log in measured if elite(log)]


def draw_search(plt, logs):
    rows = (len(logs) + 1) // 2
    figure, panels = plt.subplots(rows, 2, figsize=(13.0, 2.7 * rows + 1.2), squeeze=False)
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.05, right=0.99, top=1 - 0.75 / height, bottom=1.15 / height, hspace=0.55, wspace=0.13)
    for axes in panels.flat[len(logs):]:
        axes.set_visible(False)
    seen = {}  # one legend for all: a line of each kind
    for axes, log in zip(panels.flat, logs):
        timed = [(i + 1, c) for i, c in enumerate(log["candidates"]) if c[1] is not None]
        low, high = min(c[1] for _, c in timed), max(c[1] for _, c in timed)
        top = min(high, 2.2 * log["start"])
        for verdict, (colour, marker, what) in VERDICTS.items():
            at = [(i + 1, c) for i, c in enumerate(log["candidates"]) if c[0] == verdict]
            if not at:
                continue
            xs, ys = [i for i, _ in at], [min(c[1], top) if c[1] is not None else low * 0.965 for _, c in at]
            axes.plot(xs, ys, color=colour, marker=marker, linestyle="", markersize=6 if verdict == "elite" else 5)
            seen[what] = axes.lines[-1]
        best, steps = None, []
        for i, c in timed:
            if c[0] == "elite" and (best is None or c[1] < best):
                best = c[1]
                steps.append((i, best))
        axes.step([x for x, _ in steps] + [len(log["candidates"])], [y for _, y in steps] + [steps[-1][1]], where="post", color=BLUE, linewidth=1.2)
        axes.axhline(log["start"], color=BLACK, linewidth=0.8, linestyle=":")
        axes.set_ylim(low * 0.95, top + 0.05 * (top - low))
        axes.set_ylabel(f"{log['unit']} per call", fontsize=8)
        axes.set_xlabel("candidate", fontsize=8)
        axes.set_title(f"{log['stage']}, {log['shape']}: {log['start']:.2f} → {best:.2f}; {log['winner']}", fontsize=8, loc="left")
        axes.grid(True, axis="y", **GRID)
    figure.legend(seen.values(), seen.keys(), fontsize=8, frameon=False, ncol=len(seen), loc="upper left", bbox_to_anchor=(0.04, 1 - 0.05 / height))
    caption(figure, "Every candidate of each search in its order, the fastest so far as a line, the stage as it is dotted. Who has no time lies at the lower edge, who took more than 2.2 times "
                    f"the start at the upper one. {logs[0]['machine']}, {logs[0]['date']}.")
    return figure


def search_figures():
    data = data_search()
    return {"search": (data, draw_search)} if data else {}


def percent(part, whole):
    return f"{100 * part / whole:.0f} %"


def table_evolve(_):
    rows = []
    for log in searches():
        all_of, best = log["candidates"], elite(log)
        if not best:
            continue
        count = lambda verdict: sum(c["verdict"] == verdict for c in all_of)
        start, end = all_of[0]["median"], best[0]["median"]
        again = log["confirm"] and next((c for c in log["confirm"]["candidates"] if c["id"] == best[0]["id"]), None)
        rows.append([f"`{short(log['stage'])}`", asked(log), "measured" if log["fitness"] == "time" else "**a model, nothing measured**", str(len(all_of)), f"{start:.2f}", f"{end:.2f}",
                     f"{100 * (1 - end / start):.1f} %", f"{100 * (1 - again['of_start']):.1f} %" if again else "–",
                     *(percent(count(v), len(all_of)) for v in ("slower", "too large", "broken", "wrong"))])
    header = ["stage", "shape", "by", "candidates", "start, µs", "end, µs", "gain", "in a run of its own", "slower", "too large", "broken", "wrong"]
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] + ["| " + " | ".join(row) + " |" for row in rows]
    return lines


def table_adopted(_):
    """Of each run of make evolve-adopt: the stage, the stage with the winner's levers, and the fastest peer, shape by shape."""
    rows = []
    for path in sorted(RESULTS.glob("evolve-*-adopt.json")):
        run = read(path, "bench-1")
        time = {(c["program"], c["shape"]): c["figures"]["graph"]["median"] for c in run["cases"] if c["status"] == "ok"}
        evolved = next(name for name in run["kernels"] if name.endswith("-evolved"))
        stage, searched = evolved[:-len("-evolved")], ",".join(path.stem.split("-")[2:-1])
        shapes = [c["shape"] for c in run["cases"] if c["program"] == stage]
        for place, shape in enumerate(shapes):
            peers = {c["program"]: time[c["program"], shape] for c in run["cases"] if c["kind"] == "peer" and c["shape"] == shape and (c["program"], shape) in time}
            before, after, peer = time[stage, shape], time[evolved, shape], min(peers, key=peers.get, default=None)
            asked = title(shape) if shape != searched else f"**{title(shape)}**"
            rows.append([f"`{short(stage)}`" if place == 0 else "", asked, f"{before:.2f}", f"{after:.2f}", f"{100 * (after / before - 1):+.1f} %", f"{PEERS[peer]}, {peers[peer]:.2f}" if peer else "–"])
    header = ["stage", "shape, searched in bold", "as it is, µs", "with the winner's levers, µs", "change", "fastest peer, µs"]
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] + ["| " + " | ".join(row) + " |" for row in rows]


def table_winners(_):
    rows = []
    for log in searches():
        for place, c in enumerate(elite(log)):
            rows.append([f"`{short(log['stage'])}`, {asked(log)}" if place == 0 else "", str(place + 1), f"{c['median']:.2f} {unit(log)}", str(c.get("registers", "–")),
                         f"{c['smem'] / 1024:.1f}" if "smem" in c else "–", ", ".join(f"`{k}` = `{v}`" for k, v in changed(log, c).items()).replace("|", "\\|") or "as it is"])
    header = ["search", "place", "a call", "registers", "shared memory, KiB", "levers that differ from the stage's"]
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] + ["| " + " | ".join(row) + " |" for row in rows]
