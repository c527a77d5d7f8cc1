"""Four consumers under a mask that go from one query tile to the next: with one Q in shared memory, and with two (`lab trace-waits`)."""
import re

from .registry import figure
from .results import Unusable
from .style import BLACK, BLUE, GREEN, GREY, LIGHT, ORANGE, VERMILION, WIDTH, bare, box, caption, subplots
from .waits import clocked

PIECES = "abc"
FACES, EDGES = (LIGHT[0], LIGHT[4], LIGHT[2]), (BLUE, ORANGE, GREEN)
ROW, STEP, Q_STEP = 0.62, 0.82, 0.72  # height of a row; from one row to the next, of consumers and of Qs


def runs(trace):
    """Per query tile: when Q lies in shared memory, and where. Per consumer: what it works on, and what it waits for."""
    d = clocked(trace)
    batch, heads, S, _ = map(int, re.findall(r"\d+", d["shape"])[:4])
    consumers = [t for t in d["tracks"] if t["products"]]
    producer = next(t for t in d["tracks"] if not t["products"])
    if "causal" not in d["shape"] or S != 64 * len(consumers) or batch * heads != len(PIECES):
        raise Unusable(f"the figure shows {len(PIECES)} heads of one query tile each, under a mask; {d['stage']} on {d['shape']} has others")
    asked = [start for start, _, what, array, _ in producer["acts"] if what == "request" and array == "sQ"]
    places = [e["row"] // S for e in trace["events"] if e["event"] == "tma_issue" and e["array"] == "sQ"]
    gone = [max(at[i] for at in ([t for t, array in c["given"] if array == "q_empty"] for c in consumers)) for i in range(len(PIECES))]
    rows = []
    for g, c in enumerate(consumers):
        own = -(-(g + 1) * 64 // d["keys"])  # key tiles that its rows see
        acts, piece = [], 0
        for start, end, what, array, tile in c["acts"]:
            piece = piece if tile is None else tile // own
            last = what == "own" and array == "sV" and tile % own == own - 1
            if acts and acts[-1][1] == start and acts[-1][2:] == [piece, False] and not last:
                acts[-1][1] = end
            else:
                acts.append([start, end, piece, last])
        rows.append({"acts": acts, "waits": [[start, stop, "Q" if what == "q_full" else "tile"] for start, stop, what, _ in c["waits"]]})
    return {"stage": d["stage"], "shape": d["shape"], "keys": d["keys"], "qs": [list(q) for q in zip(asked, gone, places)], "rows": rows}


def data_next_q(r):
    return [runs(r.waits["one-q"]), runs(r.waits["two-q"])]


def draw_one(axes, d, end):
    slots = 1 + max(place for _, _, place in d["qs"])
    first = slots * Q_STEP + 0.25
    axes.set(xlim=(-0.1, end + 0.1), ylim=(first + len(d["rows"]) * STEP, -0.1))
    bare(axes)
    axes.spines["bottom"].set_visible(True)
    axes.set_xticks(range(0, end + 1, 10))
    axes.tick_params(labelsize=8)
    for place in range(slots):
        axes.text(-0.8, place * Q_STEP + ROW / 2, "sQ" if slots == 1 else f"sQ, slot {place}", ha="right", va="center", fontsize=8)
    for i, (start, stop, place) in enumerate(d["qs"]):
        box(axes, start, place * Q_STEP, stop - start, ROW, f"Q {PIECES[i]}", 8.5, facecolor=FACES[i], edgecolor=EDGES[i], linewidth=1.2)
    for g, row in enumerate(d["rows"]):
        y = first + g * STEP
        axes.text(-0.8, y + ROW / 2, f"consumer {g}", ha="right", va="center", fontsize=8)
        for start, stop, what in row["waits"]:
            colour = VERMILION if what == "Q" else GREY
            box(axes, start, y + 0.05, stop - start, ROW - 0.1, "Q?" if what == "Q" and stop - start > 2.5 else "", 8, 0.8, facecolor="white" if what == "Q" else "#eeeeee", edgecolor=colour, hatch="/////" if what == "Q" else "", linewidth=0.9)
        widest = {piece: max((act for act in row["acts"] if act[2] == piece and not act[3]), key=lambda act: act[1] - act[0]) for piece in range(len(PIECES))}
        for act in row["acts"]:
            start, stop, piece, last = act
            if last:
                box(axes, start, y, stop - start, ROW, facecolor=BLACK)
            else:
                box(axes, start, y, stop - start, ROW, PIECES[piece] if act is widest[piece] else "", 8.5, facecolor=FACES[piece], edgecolor=EDGES[piece], linewidth=1.2)


@figure("next-q", data_next_q)
def draw_next_q(plt, d):
    figure, rows = subplots(plt, (WIDTH, 5.6), 2, 1, height_ratios=(4.63, 5.35), left=0.115, right=0.99, top=0.955, bottom=0.185, hspace=0.3)
    end = max(act[1] for one in d for row in one["rows"] for act in row["acts"])
    for axes, one, what in zip(rows, d, ("v3j with one Q: the next one is requested when the last consumer has read this one", "v3j, two Qs: a consumer that is done goes on to the next query tile")):
        draw_one(axes, one, end)
        axes.set_title(what, fontsize=9.5, loc="left", x=-0.115)
    rows[-1].set_xlabel("step (an order, not a time)", fontsize=8.5)
    return caption(figure, f"One block of four consumers on {d[0]['shape']}, recorded on the CPU: query tiles a, b, c, of {d[0]['keys'] * 4} rows. Under the mask consumer 0 has one key tile of each, consumer 3 has four. "
                           "Upper rows: from its request until all have read it, Q lies in shared memory. Black: O / l is stored. Red, hatched: waits for Q. Grey: waits for a key tile that it skips.")
