"""The two mbarriers of one slot, one phase and two laps of a ring, from a trace of waits (`lab trace-waits`)."""
from .registry import figure
from .results import Unusable, short
from .style import BLACK, BLUE, LIGHT, VERMILION, box, canvas

SLOT = 0  # the one that is drawn


def barriers_of(trace):
    """The names of a slot's mbarriers, `full` and `empty`, and how many arrivals end a phase of each."""
    names = [name for name, a in trace["arrays"].items() if a["type"] == "mbarrier" and a["rows"] == int(trace["slots"])]
    if len(names) != 2:
        raise Unusable(f"the trace of {trace['stage']} has {len(names)} mbarriers per slot, and the figure shows two")
    arrivals = dict.fromkeys(names, 0)
    for e in trace["events"]:
        if e["array"] in names and e["row"] == SLOT:
            if e["event"] == "mbarrier_complete":
                names.remove(e["array"])
            arrivals[e["array"]] += e["event"] == "mbarrier_arrive"
        if not names:
            return list(arrivals), arrivals
    raise Unusable(f"in the trace of {trace['stage']} no phase of {names[0]} is complete")


def laps_of(trace):
    """Each event at the slot's barriers with what is pending after it."""
    names, arrivals = barriers_of(trace)
    full = names[0]
    slots = int(trace["slots"])
    state = {name: {"arrivals": arrivals[name], "bytes": 0, "phase": 0} for name in names}
    steps, seen = [], set()
    for e in trace["events"]:
        event, array, number = e["event"], e["array"], int(e["number"])
        name = array if array in names else full
        if event == "tma_land" and array in ("sK", "sV") and e["row"] * slots == SLOT * trace["arrays"][array]["rows"]:
            state[full]["bytes"] -= number
            text = f"{array[1:]}: {number} bytes written"
        elif array not in names or e["row"] != SLOT:
            continue
        elif event == "mbarrier_arrive":
            state[name]["arrivals"] -= 1
            state[name]["bytes"] += number
            text = f"thread 0 arrives, announces {number} bytes" if number else f"warp {e['warp']} arrives"
        elif event == "mbarrier_pass" and (name, number) not in seen:
            seen.add((name, number))
            text = f"a wait for parity {number % 2} passes"
        else:
            continue
        done = event != "mbarrier_pass" and not state[name]["arrivals"] and not state[name]["bytes"]
        if done:
            state[name] = {"arrivals": arrivals[name], "bytes": 0, "phase": state[name]["phase"] + 1}
        steps.append({"text": text, "at": names.index(name), "wait": event == "mbarrier_pass", "completes": done, "after": [dict(state[n]) for n in names]})
    return {"stage": trace["stage"], "names": names, "arrivals": [arrivals[n] for n in names], "steps": steps}


def data_laps(r):
    return laps_of(r.waits["laps"])


TOP, ROW = 0.62, 0.262
COLUMNS = [{"x": 2.62, "phase": 2.62, "arrivals": 3.62, "bytes": 4.35}, {"x": 5.62, "phase": 5.62, "arrivals": 6.62, "bytes": None}]
PHASE_WIDTH, BYTES_WIDTH = 0.85, 1.0


def draw_bytes(axes, x, y, number, most, width, tall, size):
    box(axes, x, y - tall / 2, width * number / most, tall, str(number), size, 0.5, facecolor=LIGHT[1], edgecolor=VERMILION, hatch="////", linewidth=0.7)


def draw_arrivals(plt, axes, x, y, pending, all_of_them, side, apart, line):
    """A square per arrival of a phase, filled while it is pending."""
    for k in range(all_of_them):
        axes.add_patch(plt.Rectangle((x + apart * k, y - side / 2), side, side, facecolor=BLACK if k < pending else "white", edgecolor=BLACK, linewidth=line))


def draw_barrier(plt, axes, d, at):
    """One barrier down the page: its phase as a band, what is pending after each event."""
    column, name, most = COLUMNS[at], d["names"][at], max(s["after"][at]["bytes"] for s in d["steps"])
    axes.text(column["x"], 0.16, name, fontsize=11, weight="bold", va="center", color=BLUE if at == 0 else BLACK)
    axes.text(column["x"] + (0.45 if at == 0 else 0.65), 0.16, f"{d['arrivals'][at]} arrival{'s' * (d['arrivals'][at] > 1)} a phase", fontsize=8, va="center")
    for x, text in ((column["phase"], "phase, parity"), (column["arrivals"], "arrivals\npending"), (column["bytes"], "bytes pending")):
        if x is not None:
            axes.text(x, 0.44, text, fontsize=7.5, va="center", linespacing=0.95)
    start, phase = 0, 0
    after = [{"arrivals": d["arrivals"][at], "bytes": 0, "phase": 0}, *(s["after"][at] for s in d["steps"])]
    for i, one in enumerate([*after[1:], None]):
        if one is None or one["phase"] != phase:
            top, bottom = TOP + start * ROW, TOP + (i + 1) * ROW
            box(axes, column["phase"], top, PHASE_WIDTH, bottom - top, f"phase {phase}\nparity {phase % 2}" if bottom - top > 1.5 * ROW else f"{phase}, parity {phase % 2}", 7.5, facecolor=LIGHT[0] if phase % 2 == 0 else LIGHT[4])
            start, phase = i + 1, one["phase"] if one else 0
    for i, one in enumerate(after):
        y = TOP + (i + 0.5) * ROW
        draw_arrivals(plt, axes, column["arrivals"], y, one["arrivals"], d["arrivals"][at], 0.11, 0.15, 0.7)
        if column["bytes"] and one["bytes"]:
            draw_bytes(axes, column["bytes"], y, one["bytes"], most, BYTES_WIDTH, 0.14, 7)
        done = i and d["steps"][i - 1]["completes"] and d["steps"][i - 1]["at"] == at
        if done:
            x = column["bytes"] or column["arrivals"] + 0.15 * d["arrivals"][at] + 0.05
            axes.text(x, y, "0: complete" if column["bytes"] else "complete", fontsize=7.5, weight="bold", va="center", color="#A33F00")
        elif column["bytes"] and not one["bytes"]:
            axes.text(column["bytes"], y, "0", fontsize=7, va="center", color="#555555")


@figure("mbarrier-laps", data_laps)
def draw_laps(plt, d):
    last = max(i for i, step in enumerate(d["steps"]) if step["wait"])  # after it only the arrivals of the first lap, once more
    d = d | {"steps": d["steps"][:last + 1]}
    rows = len(d["steps"]) + 1
    figure, axes = canvas(plt, TOP + rows * ROW + 0.1)
    axes.text(0.12, 0.16, f"Slot {SLOT} of {short(d['stage'])}'s ring", fontsize=11, weight="bold", va="center")
    axes.text(0.12, 0.44, "event", fontsize=7.5, va="center")
    for i, text in enumerate(["the barriers are initialised", *(s["text"] for s in d["steps"])]):
        y = TOP + i * ROW
        if i % 2:
            axes.add_patch(plt.Rectangle((0.06, y), 7.88, ROW, facecolor="#f4f4f4", edgecolor="none", zorder=0))
        step = d["steps"][i - 1] if i else None
        axes.text(0.12, y + ROW / 2, (f"{d['names'][step['at']]}: " if step else "") + text, fontsize=7.5, va="center", style="italic" if step and step["wait"] else "normal")
    for at in (0, 1):
        draw_barrier(plt, axes, d, at)
    return figure


def data_full(r):
    """One phase of the first of the two barriers: until a wait for it passes."""
    d = data_laps(r)
    steps = [s for s in d["steps"] if s["at"] == 0]
    last = next(i for i, s in enumerate(steps) if s["wait"])
    return {"name": d["names"][0], "arrivals": d["arrivals"][0], "steps": [s | {"after": s["after"][0]} for s in steps[:last + 1]]}


@figure("mbarrier-full", data_full)
def draw_full(plt, d):
    top, row, left, arrivals, pending, threads = 0.5, 0.34, 0.12, 3.0, 3.95, 6.3
    rows = [("at the start", {"arrivals": d["arrivals"], "bytes": 0}, None), *((s["text"], s["after"], s) for s in d["steps"])]
    figure, axes = canvas(plt, top + len(rows) * row + 0.08)
    for x, text in ((left, "event"), (arrivals, "arrivals\npending"), (pending, "bytes pending"), (threads, "threads at the wait")):
        axes.text(x, 0.25, text, fontsize=8, va="center", linespacing=0.95, weight="bold")
    most, complete = max(after["bytes"] for _, after, _ in rows), next(i for i, (_, _, s) in enumerate(rows) if s and s["completes"])
    for i, (text, after, step) in enumerate(rows):
        y = top + (i + 0.5) * row
        if i % 2:
            axes.add_patch(plt.Rectangle((0.06, y - row / 2), threads - 0.2, row, facecolor="#f4f4f4", edgecolor="none", zorder=0))
        axes.text(left, y, text, fontsize=9, va="center", style="italic" if step and step["wait"] else "normal")
        draw_arrivals(plt, axes, arrivals + 0.2, y, after["arrivals"], d["arrivals"], 0.15, 0.2, 0.8)
        if after["bytes"]:
            draw_bytes(axes, pending, y, after["bytes"], most, 2.0, 0.22, 8.5)
        else:
            axes.text(pending, y, "0: phase 0 is complete" if i == complete else "0", fontsize=9, va="center", weight="bold" if i == complete else "normal", color="#A33F00" if i == complete else "#555555")
    box(axes, threads, top, 1.58, complete * row, "wait for phase 0", 9, facecolor=LIGHT[0])
    box(axes, threads, top + complete * row, 1.58, (len(rows) - complete) * row, "go on; phase 1\nhas begun", 9, facecolor=LIGHT[4])
    return figure
