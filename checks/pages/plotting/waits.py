"""Figures drawn from traces of waits (`lab trace-waits`): who waits for whom in one block."""
from .registry import figure
from .results import Unusable, short
from .style import BLACK, BLUE, LIGHT, ORANGE, VERMILION, WIDTH, bare, box, caption, subplots

GROUP = 4  # warps of a warpgroup


def clocked(trace):
    """The recorded acts on a clock that knows only the order: an act is one step, a wait ends when what it waited for has happened.

    An act is a request to the copy engine, the begin of a group of products, or a warp's own work after a wait for products. Copies and
    products take no step themselves. So the steps say what must come before what, whatever the order in which the CPU ran the warps.
    Of each warpgroup, seen from its first warp: acts, waits, products under way, turns taken, slots given back, and where it stops for products.
    """
    now, landed, arrived, complete, releases = {}, {}, {}, {}, {}
    open_groups, issued, last_land = {}, {}, 0
    tiles = {}  # of an array: how many copies into it were asked for; of (warp, array): how many groups of products were begun
    tracks = {}
    for e in trace["events"]:
        warp, event, number = e["warp"], e["event"], int(e["number"])
        place = e["array"], e["row"]
        t = now.setdefault(warp, 0)
        lane = tracks.setdefault(warp // GROUP, {"acts": [], "waits": [], "products": [], "turns": [], "given": [], "stops": []})
        first = warp % GROUP == 0

        def wait(until, what, by):
            if until > t and first:
                lane["waits"].append([t, until, what, by])
            now[warp] = max(t, until)

        if event == "tma_issue":
            tile = tiles[e["array"]] = tiles.get(e["array"], -1) + 1
            landed.setdefault(place, []).append(t + 1)
            lane["acts"].append([t, t + 1, "request", e["array"], tile])
            now[warp] = t + 1
        elif event == "tma_land":
            last_land = landed[place].pop(0)
            arrived.setdefault("landing", []).append([last_land, warp])
        elif event in ("mbarrier_arrive", "bar_arrive"):
            which = place if event == "mbarrier_arrive" else number
            arrived.setdefault(which, []).append([t, warp])
            if first and event == "mbarrier_arrive" and not number:  # one that expects no bytes: a slot is given back
                lane["given"].append([t, e["array"]])
        elif event == "mbarrier_complete":
            complete[place, number] = max(arrived.pop(place, []) + arrived.pop("landing", []))
        elif event == "bar_release":
            releases[number] = arrived.pop(number)
        elif event == "mbarrier_pass" and number >= 0:
            wait(complete[place, number][0], e["array"], complete[place, number][1] // GROUP)
        elif event == "bar_pass":
            given, by = max((at, other // GROUP) for at, other in releases[number] if other // GROUP != warp // GROUP)
            wait(max(at for at, _ in releases[number]), "turn", by)
            if first:
                lane["turns"].append([given, by, now[warp]])
        elif event == "wgmma_issue":
            issued[warp] = e["array"]
        elif event == "wgmma_commit":
            array = issued.pop(warp, None)
            if array:
                tile = tiles[warp, array] = tiles.get((warp, array), -1) + 1
                now[warp] = t + 1
                if first:
                    lane["acts"].append([t, t + 1, "begin", array, tile])
            open_groups.setdefault(warp, []).append([t, array, tiles.get((warp, array))])
        elif event == "wgmma_wait":
            done = open_groups[warp][:len(open_groups[warp]) - number]
            del open_groups[warp][:len(done)]
            if first:
                lane["products"] += [[start, t, array, tile] for start, array, tile in done if array]
                lane["acts"].append([t, t + 1, "own", done[-1][1] or "", done[-1][2]])
                lane["stops"].append([t, number])
            now[warp] = t + 1
    if any(open_groups.values()) or any(landed.values()):
        raise Unusable(f"the trace of {trace['stage']} ends with work that no wait covers")
    return {"stage": trace["stage"], "shape": trace["shape"], "keys": int(trace["keys per tile"]), "tracks": [tracks[g] for g in sorted(tracks)]}


def data_waits(r, *names):
    return [clocked(r.waits[name]) for name in names]


HEIGHT, THIN = 0.8, 0.5  # of a row of boxes, and of one of products under way
APART = 1.4  # from a row of boxes to the next
NAMES = {"sQ": "Q", "sK": "K", "sV": "V", "q_full": "Q", "k_full": "K", "v_full": "V", "k_empty": "K slot", "v_empty": "V slot", "full": "K, V", "empty": "slot"}


def named(track):
    """A track's acts, each with the text of its box."""
    weighed = multiplied = -1  # the last tile whose weights are there, and whose weights are multiplied
    acts = []
    for start, end, what, array, tile in track["acts"]:
        if what == "own" and array == "sK":
            weighed = tile
        elif what == "begin" and array == "sV":
            multiplied = tile
        if what == "begin":
            text = f"{'QK' if array == 'sK' else 'PV'}\n{tile}"
        elif what == "request":
            text = "Q" if array == "sQ" else f"{NAMES[array]}\n{tile}"
        elif array == "sK":
            text = f"exp\n{tile}"
        elif [start, end, what, array, tile] == track["acts"][-1]:
            text = "O / l"
        else:
            text = "pack" if multiplied < weighed else "O"
        acts.append([start, end, what, array, text])
    return acts


def cut(one, first, last, requests=True):
    """Of a block what happens from step `first` to `last`, counted from 0: the producer's row first. Without `requests` they go, with the steps that they take."""
    tracks = [(g, track) for g, track in enumerate(one["tracks"]) if requests or track["products"]]
    tracks.sort(key=lambda track: bool(track[1]["products"]))
    rows = {g: row for row, (g, _) in enumerate(tracks)}
    panel = {"stage": one["stage"], "shape": one["shape"], "keys": one["keys"], "rows": []}
    for g, track in tracks:
        gone = [] if requests else [start for start, _, what, _, _ in track["acts"] if what == "request" and start >= first]
        at = lambda t: t - first - sum(x < t for x in gone)
        inside = lambda start, end: first <= start and at(end) <= last - first
        panel["rows"].append({"name": f"warpgroup {g}" if track["products"] else "producer",
                              "acts": [[at(start), at(end), *more] for start, end, *more in named(track) if inside(start, end) and start not in gone],
                              "waits": [[max(0, at(start)), at(end), what, rows.get(by)] for start, end, what, by in track["waits"] if end > first and at(end) <= last - first],
                              "products": [[at(start), min(at(end), last - first), array, tile] for start, end, array, tile in track["products"] if start >= first and at(start) < last - first],
                              "turns": [[at(given), rows[by], at(taken)] for given, by, taken in track["turns"] if given >= first and at(taken) <= last - first],
                              "stops": [[at(t), left] for t, left in track["stops"] if t >= first and at(t) < last - first]})
    return panel


LOOK = {("request", "sQ"): {"facecolor": "white"}, ("request", "sK"): {"facecolor": LIGHT[0]}, ("request", "sV"): {"facecolor": LIGHT[4]}, ("begin", "sK"): {"facecolor": BLUE}, ("begin", "sV"): {"facecolor": ORANGE},
        ("own", "sK"): {"facecolor": "white"}, ("own", "sV"): {"facecolor": "#e4e4e4"}, ("own", ""): {"facecolor": "#e4e4e4"}}


def draw_panel(plt, axes, d, end, top, size):
    """A block's rows of boxes; what is under way above the first of them, if `top` leaves room for it."""
    axes.set(xlim=(-0.05, end + 0.05), ylim=(top + APART * (len(d["rows"]) - 1) + HEIGHT + (0.75 if top else 0.15), -0.1))
    bare(axes)
    arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 9, "linewidth": 1.3}
    for row, track in enumerate(d["rows"]):
        y = top + APART * row
        axes.text(-0.2, y + HEIGHT / 2, track["name"], ha="right", va="center", fontsize=9, weight="bold")
        for start, stop, what, array, text in track["acts"]:
            box(axes, start, y, stop - start, HEIGHT, text, size, words={"weight": "bold", "color": "white" if array == "sK" else BLACK} if what == "begin" else {}, **LOOK[what, array])
        for start, stop, what, by in track["waits"]:
            axes.add_patch(plt.Rectangle((start, y + 0.06), stop - start, HEIGHT - 0.12, facecolor="white", edgecolor=VERMILION, hatch="/////", linewidth=0.8))
            axes.text((start + stop) / 2, y + HEIGHT / 2, f"{NAMES.get(what, what)}?".replace(" ", "\n"), ha="center", va="center", fontsize=size, linespacing=0.95, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
            if what != "turn" and by not in (None, row):
                up = by > row
                axes.annotate("", (stop - 0.2, y + (HEIGHT if up else 0)), (stop - 0.2, top + APART * by + (0 if up else HEIGHT)), zorder=0.5, arrowprops=arrow | {"color": VERMILION if up else BLACK, "linestyle": ":" if up else "--"})
        for given, by, taken in track["turns"]:
            down = by < row
            axes.annotate("", (taken, y + (0 if down else HEIGHT)), (given, top + APART * by + (HEIGHT if down else 0)), arrowprops=arrow | {"color": BLACK})
        if top:
            for height, array in ((0.0, "sK"), (0.58, "sV")):
                axes.text(-0.2, height + THIN / 2, {"sK": "QK runs", "sV": "PV runs"}[array], ha="right", va="center", fontsize=9)
                for start, stop, of, tile in track["products"]:
                    if of == array:
                        box(axes, start, height, stop - start, THIN, f"{'QK' if of == 'sK' else 'PV'} {tile}", size, facecolor=LIGHT[0] if of == "sK" else LIGHT[4], edgecolor=BLUE if of == "sK" else ORANGE)
            for at, left in track["stops"]:
                axes.add_patch(plt.Rectangle((at - 0.04, y - 0.12), 0.08, HEIGHT + 0.24, facecolor=VERMILION, zorder=3))
                axes.text(at, y + HEIGHT + 0.42, f"wait<{left}>", ha="center", va="center", fontsize=9)


def draw_panels(plt, d, titles, key, top=0.0, size=9):
    """One below the other, to the same scale of steps."""
    depths = [top + APART * (len(one["rows"]) - 1) + HEIGHT + (0.85 if top else 0.25) for one in d]
    height = 0.46 * sum(depths) + 0.42 * len(d) + 0.5
    figure, rows = subplots(plt, (WIDTH, height), len(d), 1, height_ratios=depths, left=0.132, right=0.995, top=1 - 0.3 / height, bottom=0.6 / height, hspace=0.42 * len(d) / (0.46 * sum(depths)))
    end = max(stop for one in d for row in one["rows"] for _, stop, *_ in row["acts"])
    for axes, one, what in zip(rows, d, titles):
        draw_panel(plt, axes, one, end, top, size)
        axes.set_title(f"{short(one['stage'])}: {what}", fontsize=10, loc="left", x=-0.14)
    return caption(figure, key + " Left to right is an order, not a time.")


BEGINS = "Dark QK 1, PV 1: begins this product of tile 1. exp 1: computes the weights of tile 1."


def data_turns(r):
    """From the first product to the products of the fourth tile."""
    blocks = data_waits(r, "producer", "ping-pong")
    first = min(start for track in blocks[0]["tracks"] for start, _, what, _, _ in track["acts"] if what == "begin")
    return [cut(one, first, first + 13, requests=False) for one in blocks]


@figure("who-waits", data_turns)
def draw_who_waits(plt, d):
    return draw_panels(plt, d, ("both begin products together, then both compute exponentials", "one begins products while the other computes exponentials"),
                       BEGINS + " pack: rescales O, rounds the weights to fp16. Hatched: waits for the turn. Arrow: the turn is handed on.")


def data_overlap(r):
    """Iterations 1 and 2: from the scores of tile 1 to before the scores of tile 3."""
    panels = []
    for one in data_waits(r, "no-overlap", "no-producer"):
        scores = [start for start, _, what, array, _ in one["tracks"][0]["acts"] if what == "begin" and array == "sK"]
        panels.append(cut(one, scores[1], scores[1] + 8, requests=False))
    return panels


@figure("who-waits-overlap", data_overlap)
def draw_overlap(plt, d):
    return draw_panels(plt, d, ("each product is waited for at once", "PV of the tile before runs while exponentials are computed"),
                       BEGINS + " O: PV 1 is done. pack: rescales O, rounds the weights to fp16. Red bar: waits for products. The requests of tiles are left out.", top=1.35, size=10)


def data_producer(r):
    """To the end of tile 2."""
    panels = []
    for one in data_waits(r, "no-producer", "producer"):
        last = max(end for track in one["tracks"] for _, end, *_, text in named(track) if text == "exp\n2")
        panels.append(cut(one, 0, last + 1))
    return panels


@figure("who-waits-producer", data_producer)
def draw_producer(plt, d):
    return draw_panels(plt, d, (f"requests stand between the products (tiles of {d[0]['keys']} keys)", f"requests have a row of their own (tiles of {d[1]['keys']} keys)"),
                       "Pale K 1, V 1: requests this tile. " + BEGINS + " pack: rescales O, rounds the weights to fp16. Hatched: waits. Dashed: the tile has landed (full). Dotted: all warps have given the slot back (empty).")
