"""What the elite loop found: every search whose log is committed (writeups/results/evolve-*.json)."""
import json
from pathlib import Path

from .heads import Unusable, name_of
from .registry import figure
from .results import RESULTS, short, table, title
from .style import BLACK, BLUE, GREY, WIDTH, ranked, subplots

def read(path, schema):
    log = json.loads(Path(path).read_text())
    if log.get("schema") != schema:
        raise Unusable(f"{name_of(path)}: its schema is not {schema}; make evolve writes it")
    return log


def searches(_=None):
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


def asked(log):
    return title(log["shape"]) + (f", seed {log['seed']}" if log["seed"] != 1 else "")


def unit(log):
    return "µs" if log["fitness"] == "time" else "µs by the model, not measured"


def data_search(_):
    """Of each measured search: the stage as it is, every candidate's time over it, and the fastest."""
    logs = searches()
    measured = [log for log in logs if log["fitness"] == "time"] or logs
    rows = []
    for log in measured:
        if best := elite(log):
            start = log["candidates"][0]["median"]
            timed = [[c["median"] / start, c["verdict"]] for c in log["candidates"][1:] if c.get("median") is not None]
            rows.append({"stage": short(log["stage"]), "shape": asked(log), "start": start, "best": best[0]["median"], "timed": timed, "untimed": len(log["candidates"]) - 1 - len(timed)})
    return {"machine": measured[0]["machine"].get("gpu") or "a model on a CPU", "date": measured[0]["machine"].get("date", "")[:10], "unit": unit(measured[0]), "rows": rows}


FAR = 2.0  # times the start: what is slower lies at the edge


@figure("search", data_search, searches)
def draw_search(plt, d):
    rows = d["rows"]
    height = 1.25 + 0.27 * len(rows)
    figure, axes = subplots(plt, (WIDTH, height), left=0.265, right=0.745, top=1 - 0.5 / height, bottom=0.68 / height)
    for y, row in enumerate(rows):
        axes.plot([min(t, FAR) for t, _ in row["timed"]], [y] * len(row["timed"]), color=GREY, marker="|", markersize=10, markeredgewidth=1, linestyle="")
        best = row["best"] / row["start"]
        axes.plot([best, 1], [y, y], color=BLUE, linewidth=2)
        axes.plot([best], [y], color=BLUE, marker="o", markersize=6.5, linestyle="")
        for x, text in ((1.09, f"{row['start']:.2f}"), (1.22, f"{row['best']:.2f}"), (1.34, f"{len(row['timed'])}"), (1.46, f"{row['untimed']}")):
            axes.text(x, y, text, fontsize=8, ha="center", va="center", transform=axes.get_yaxis_transform())
    for x, text in ((1.09, "start,\nµs"), (1.22, "fastest,\nµs"), (1.34, "timed"), (1.46, "not\ntimed")):
        axes.text(x, -1.15, text, fontsize=7.5, ha="center", va="center", transform=axes.get_yaxis_transform(), linespacing=1)
    axes.axvline(1, color=BLACK, linewidth=1)
    axes.text(1, -0.95, "the stage as it is", fontsize=7.5, ha="center", va="center")
    axes.set_xlim(min(row["best"] / row["start"] for row in rows) - 0.05, FAR + 0.04)
    ticks = [0.8, 1, 1.2, 1.4, 1.6, 1.8, FAR]
    axes.set_xticks(ticks, [f"{t:g}×" if t < FAR else f"≥ {t:g}×" for t in ticks])
    ranked(axes, [f"{row['stage']} {row['shape']}" for row in rows])
    axes.set_xlabel("a candidate's time over the start's (left is faster)", fontsize=8)
    figure.text(0.01, 0.04 / height, f"Grey: every candidate that was timed. Blue: the fastest. Not timed: refused, broken or wrong. Unit: {d['unit']}. {d['machine']}, {d['date']}.", fontsize=7, va="bottom")
    return figure


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
    return table(header, rows)
