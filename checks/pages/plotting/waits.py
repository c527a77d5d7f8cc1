"""Figures drawn from traces of waits (`lab trace-waits`): who waits for whom in one block."""
from .results import Unusable, short
from .style import BLACK, BLUE, LIGHT, ORANGE, VERMILION, bare, box, caption

GROUP = 4  # warps of a warpgroup


def clocked(trace):
    """The recorded acts on a clock that knows only the order: an act is one step, a wait ends when what it waited for has happened.

    An act is a request to the copy engine, the begin of a group of products, or a warp's own work after a wait for products. Copies and
    products take no step themselves. So the steps say what must come before what, whatever the order in which the CPU ran the warps.
    Of each warpgroup, seen from its first warp: acts, waits, products under way, turns taken and slots given back.
    """
    now, landed, arrived, complete, releases = {}, {}, {}, {}, {}
    open_groups, issued, last_land = {}, {}, 0
    keys, slots = int(trace["keys per tile"]), int(trace["slots"])
    tiles = {}  # of an array: how many copies into it were asked for; of (warp, array): how many groups of products were begun
    tracks = {}
    for e in trace["events"]:
        warp, event, number = e["warp"], e["event"], int(e["number"])
        place = e["array"], e["row"]
        t = now.setdefault(warp, 0)
        lane = tracks.setdefault(warp // GROUP, {"acts": [], "waits": [], "products": [], "turns": [], "given": []})
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
            now[warp] = t + 1
    if any(open_groups.values()) or any(landed.values()):
        raise Unusable(f"the trace of {trace['stage']} ends with work that nobody waited for")
    return {"stage": trace["stage"], "shape": trace["shape"], "block": trace["block"], "slots": slots, "keys": keys, "tracks": [tracks[g] for g in sorted(tracks)]}


def data_waits(r):
    return [clocked(r.waits[name]) for name in ("in-step", "ping-pong")]


# y of a row's upper edge and its height. The two that multiply face each other, so that a turn's arrow crosses nothing.
LOADER, HEIGHT, THIN = 0.0, 0.8, 0.5
THREADS = {0: 2.55, 1: 3.95, 2: LOADER}
PRODUCTS = {0: {"sK": 1.45, "sV": 1.98}, 1: {"sK": 4.82, "sV": 5.35}}
NAMES = {"sQ": "Q", "sK": "K", "sV": "V", "q_full": "Q", "k_full": "K", "v_full": "V", "k_empty": "K slot", "v_empty": "V slot"}


def draw_track(plt, axes, d, group):
    track, y = d["tracks"][group], THREADS[group]
    for start, end, what, array, tile in track["acts"]:
        if what == "request":
            box(plt, axes, start, y, 1, HEIGHT, "Q" if array == "sQ" else f"{NAMES[array]} {tile}", 7, facecolor={"sQ": "white", "sK": LIGHT[0], "sV": LIGHT[4]}[array])
        elif what == "begin":
            axes.add_patch(plt.Rectangle((start, y), 1, HEIGHT, facecolor=BLUE if array == "sK" else ORANGE, edgecolor=BLACK, linewidth=0.8))
            axes.text(start + 0.5, y + HEIGHT / 2, f"begin\n{'QK' if array == 'sK' else 'PV'} {tile}", ha="center", va="center", fontsize=6.3, color="white" if array == "sK" else BLACK)
        else:
            last = [start, end, what, array, tile] == track["acts"][-1]
            box(plt, axes, start, y, 1, HEIGHT, "O / l" if last else f"exp\n{tile}" if array == "sK" else "sum,\npack", 6.3, facecolor="white" if array == "sK" else "#e4e4e4")
    for start, end, what, _ in track["waits"]:
        axes.add_patch(plt.Rectangle((start, y + 0.12), end - start, HEIGHT - 0.24, facecolor="white", edgecolor=VERMILION, hatch="/////", linewidth=0.8))
        text = f"{NAMES.get(what, what)}?"
        axes.text((start + end) / 2, y + HEIGHT / 2, text.replace(" ", "\n"), ha="center", va="center", fontsize=6.3, linespacing=0.95, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    for start, end, array, tile in track["products"]:
        text = f"{'Q·K' if array == 'sK' else 'P·V'} {tile}"
        box(plt, axes, start, PRODUCTS[group][array], end - start, THIN, text, 6.3, facecolor=LIGHT[0] if array == "sK" else LIGHT[4], edgecolor=BLUE if array == "sK" else ORANGE)


def draw_waits(plt, axes, d, end):
    axes.set_xlim(-0.1, end + 0.6)
    axes.set_ylim(5.98, -0.3)
    bare(axes)
    axes.spines["bottom"].set_visible(True)
    axes.set_xticks(range(0, end + 1, 2))
    axes.tick_params(labelsize=7)
    axes.grid(True, axis="x", color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    for y, text in ((LOADER + HEIGHT / 2, "loader asks for"), *((THREADS[g] + HEIGHT / 2, f"warpgroup {g}") for g in (0, 1))):
        axes.text(-0.3, y, text, ha="right", va="center", fontsize=8, weight="bold")
    for g in (0, 1):
        for array, text in (("sK", "Q·K under way"), ("sV", "P·V under way")):
            axes.text(-0.3, PRODUCTS[g][array] + THIN / 2, text, ha="right", va="center", fontsize=7)
    for group in range(len(d["tracks"])):
        draw_track(plt, axes, d, group)
    arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 7}
    loader = len(d["tracks"]) - 1
    for group, track in enumerate(d["tracks"]):
        for _, until, what, by in track["waits"]:
            if what == "turn":
                continue
            up = group == loader
            source = THREADS[by] if up else THREADS[by] + HEIGHT
            x = until - 0.2  # beside a turn that is handed on at the same step; what stands between covers the line
            axes.annotate("", (x, THREADS[group] + (HEIGHT if up else 0)), (x, source), zorder=0.5, arrowprops=arrow | {"color": VERMILION if up else BLACK, "linestyle": ":" if up else "--", "linewidth": 1.1})
        for given, by, taken in track["turns"]:
            down = by < group
            axes.annotate("", (taken, THREADS[group] + (0 if down else HEIGHT)), (given, THREADS[by] + (HEIGHT if down else 0)), arrowprops=arrow | {"color": BLACK, "linewidth": 1.3})


def draw_who_waits(plt, d):
    figure, rows = plt.subplots(2, 1, figsize=(10.4, 8.2))
    figure.subplots_adjust(left=0.115, right=0.995, top=0.965, bottom=0.14, hspace=0.2)
    end = max(act[1] for one in d for track in one["tracks"] for act in track["acts"])
    for axes, one, what in zip(rows, d, ("nobody orders them: both multiply, then both compute exponentials", "turns: one begins its products while the other computes exponentials")):
        draw_waits(plt, axes, one, end)
        axes.set_title(f"{short(one['stage'])}, {what}", fontsize=9.5, loc="left")
    rows[1].set_xlabel("step (an order, not a time)", fontsize=8)
    one = d[0]
    caption(figure, f"Who waits for whom in block {one['block']} of {one['shape']}: tiles of {one['keys']} keys, {one['slots']} slots each for K and V. Recorded from the CPU execution (`lab trace-waits`), then put on a clock that knows only what must come before what. "
                    "One step: a request for a tile, the begin of a product, or a warpgroup's own work after a wait for products (exp: the weights, of tile 0 one step later). Copies and products themselves take no step, so no length says how long anything takes. "
                    "Hatched: somebody waits, and for what. Dashed, down: a copy has landed (full). Dotted, up: both warpgroups have given a slot back (empty). Solid, between the warpgroups: the turn is handed on. "
                    "A product is under way from its begin to the wait that covers it.")
    return figure


def wait_figures(r):
    return {"who-waits": (data_waits(r), draw_who_waits)}
