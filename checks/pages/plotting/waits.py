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
    keys, slots = int(trace["keys per tile"]), int(trace["slots"])
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
    return {"stage": trace["stage"], "shape": trace["shape"], "block": trace["block"], "slots": slots, "keys": keys, "tracks": [tracks[g] for g in sorted(tracks)]}


def data_waits(r, *names):
    return [clocked(r.waits[name]) for name in names]


HEIGHT, THIN = 0.8, 0.5  # of a row of boxes, and of one of products under way
NAMES = {"sQ": "Q", "sK": "K", "sV": "V", "q_full": "Q", "k_full": "K", "v_full": "V", "k_empty": "K slot", "v_empty": "V slot", "full": "K, V", "empty": "slot"}


def layout(d):
    """The upper edge of each row: of a track, and of a group's products. Two groups face each other, so that a turn's arrow crosses nothing."""
    loader = next((g for g, track in enumerate(d["tracks"]) if not track["products"]), None)
    if loader is None:
        return None, {0: 1.5}, {0: {"sK": 0.0, "sV": 0.58}}, 2.4
    return loader, {0: 2.5, 1: 3.9, loader: 0.0}, {0: {"sK": 1.35, "sV": 1.9}, 1: {"sK": 4.8, "sV": 5.35}}, 5.9


def draw_track(plt, axes, d, group, y, rows):
    track = d["tracks"][group]
    weighed = multiplied = -1  # the last tile whose weights are there, and whose weights are multiplied
    for start, end, what, array, tile in track["acts"]:
        if what == "own" and array == "sK":
            weighed = tile
        elif what == "begin" and array == "sV":
            multiplied = tile
        product = {"sK": "QK", "sV": "PV"}.get(array)
        if what == "request":
            box(axes, start, y, 1, HEIGHT, "Q" if array == "sQ" else f"{NAMES[array]}\n{tile}", 7, facecolor={"sQ": "white", "sK": LIGHT[0], "sV": LIGHT[4]}[array])
        elif what == "begin":
            box(axes, start, y, 1, HEIGHT, f"{product}\n{tile}", 7, words={"weight": "bold", "color": "white" if array == "sK" else BLACK}, facecolor=BLUE if array == "sK" else ORANGE)
        else:
            last = not track.get("cut") and [start, end, what, array, tile] == track["acts"][-1]
            box(axes, start, y, 1, HEIGHT, "O / l" if last else f"exp\n{tile}" if array == "sK" else "pack" if multiplied < weighed else "O", 6.5, facecolor="white" if array == "sK" else "#e4e4e4")
    for start, end, what, _ in track["waits"]:
        axes.add_patch(plt.Rectangle((start, y + 0.06), end - start, HEIGHT - 0.12, facecolor="white", edgecolor=VERMILION, hatch="/////", linewidth=0.8))
        text = f"{NAMES.get(what, what)}?"
        axes.text((start + end) / 2, y + HEIGHT / 2, text.replace(" ", "\n"), ha="center", va="center", fontsize=6.5, linespacing=0.95, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    for start, end, array, tile in track["products"]:
        text = f"{'QK' if array == 'sK' else 'PV'} {tile}"
        box(axes, start, rows[array], end - start, THIN, text if end - start > 1 or track.get("cut") else str(tile), 6.5, facecolor=LIGHT[0] if array == "sK" else LIGHT[4], edgecolor=BLUE if array == "sK" else ORANGE)


def draw_waits(plt, axes, d, end):
    loader, threads, products, depth = layout(d)
    axes.set(xlim=(-0.1, end + 0.1), ylim=(depth + 0.1, -0.2))
    bare(axes)
    axes.spines["bottom"].set_visible(True)
    axes.set_xticks(range(0, end + 1, 2))
    axes.tick_params(length=0, labelbottom=False)
    axes.grid(True, axis="x", color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    for g, y in threads.items():
        axes.text(-0.25, y + HEIGHT / 2, "producer\nrequests" if g == loader else f"warpgroup {g}", ha="right", va="center", fontsize=7.5, weight="bold")
    for g, rows in products.items():
        for array, text in (("sK", "QK under way"), ("sV", "PV under way")):
            axes.text(-0.25, rows[array] + THIN / 2, text, ha="right", va="center", fontsize=6.5)
    for group, track in enumerate(d["tracks"]):
        draw_track(plt, axes, d, group, threads[group], products.get(group))
    arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 7}
    for group, track in enumerate(d["tracks"]):
        for _, until, what, by in track["waits"]:
            if what == "turn" or by == group:
                continue
            up = group == loader
            source = threads[by] if up else threads[by] + HEIGHT
            x = until - 0.2  # beside a turn that is handed on at the same step; what stands between covers the line
            axes.annotate("", (x, threads[group] + (HEIGHT if up else 0)), (x, source), zorder=0.5, arrowprops=arrow | {"color": VERMILION if up else BLACK, "linestyle": ":" if up else "--", "linewidth": 1.1})
        for given, by, taken in track["turns"]:
            down = by < group
            axes.annotate("", (taken, threads[group] + (0 if down else HEIGHT)), (given, threads[by] + (HEIGHT if down else 0)), arrowprops=arrow | {"color": BLACK, "linewidth": 1.3})


def key(d):
    """Of the marks that the panels have, what each means."""
    tracks = [track for one in d for track in one["tracks"]]
    acts = {(what, array) for track in tracks for _, _, what, array, _ in track["acts"]}
    between = [what for one in d for group, track in enumerate(one["tracks"]) for _, _, what, by in track["waits"] if what != "turn" and by != group]
    cut = any(track.get("cut") for track in tracks)
    lines = [("Pale K 3, V 3: requests the copy of tile 3 of K, of V. Dark QK 1, PV 1: begins a product. exp 1: weights of tile 1." if cut else
              "Pale Q, K 0, V 0: requests the copy of Q, of tile 0 of K, of V. Dark QK 0, PV 0: begins a product. exp 0: weights of tile 0.") + " pack: O rescaled, weights as fp16."]
    if any(len(one["tracks"]) == 1 and ("own", "sV") in acts for one in d):
        lines[0] += " O: after the wait for PV."
    lines[0] += "" if cut else " O / l: the end."
    more = [text for text, there in (("Hatched: waits, for what.", any(track["waits"] for track in tracks)), ("Dashed: a copy has landed (full).", any("full" in what for what in between)),
                                     ("Dotted: all warps have given a slot back (empty).", any("empty" in what for what in between)), ("Solid: the turn is handed on.", any(track["turns"] for track in tracks))) if there]
    return " ".join(lines + more)


def draw_panels(plt, d, titles):
    """One below the other, to the same scale of steps."""
    depths = [layout(one)[3] for one in d]
    height = 0.42 * sum(depths) + 0.62 * len(d) + 0.46
    figure, rows = subplots(plt, (WIDTH, height), len(d), 1, height_ratios=depths, left=0.132, right=0.99, top=1 - 0.25 / height, bottom=0.88 / height, hspace=0.62 * len(d) / (0.42 * sum(depths)))
    end = max(act[1] for one in d for track in one["tracks"] for act in track["acts"])
    for axes, one, what in zip(rows, d, titles):
        draw_waits(plt, axes, one, end)
        axes.set_title(f"{short(one['stage'])}: {what}", fontsize=9, loc="left", x=-0.1)
    rows[-1].set_xlabel("step (an order, not a time)", fontsize=8)
    return caption(figure, key(d))


@figure("who-waits", lambda r: data_waits(r, "loader", "ping-pong"))
def draw_who_waits(plt, d):
    figure = draw_panels(plt, d, ("without an order both multiply, then both compute exponentials", "with turns one begins its products while the other computes exponentials"))
    for axes in figure.axes:
        for text in axes.texts:
            text.set_fontsize(1.15 * text.get_fontsize())
    return figure


def between(one, first, last):
    """The steps from `first` to before `last` of a block with one track, counted from 0."""
    track = one["tracks"][0]
    inside = [[start - first, end - first, *more] for start, end, *more in track["acts"] if first <= start and end <= last]
    products = [[start - first, end - first, *more] for start, end, *more in track["products"] if first <= start and end <= last]
    return {**one, "tracks": [{"acts": inside, "waits": [], "products": products, "turns": [], "given": [], "stops": [[at - first, left] for at, left in track["stops"] if first <= at < last], "cut": True}]}


def two_iterations(one):
    """Of tiles 1 and 2: from the request before tile 1's scores to the request or scores of tile 3."""
    acts = one["tracks"][0]["acts"]
    scores = [start for start, _, what, array, _ in acts if what == "begin" and array == "sK"]
    first = max(end for _, end, what, _, _ in acts if what == "own" and end <= scores[1])
    return between(one, first, scores[3])


@figure("who-waits-overlap", lambda r: data_waits(r, "no-overlap", "no-loader"))
def draw_overlap(plt, d):
    d = [two_iterations(one) for one in d]
    figure = draw_panels(plt, d, ("a warpgroup waits for each product; nothing is under way while it computes exponentials", "PV of the tile before is under way while it computes exponentials"))
    for axes, one in zip(figure.axes, d):
        y = layout(one)[1][0]
        for at, left in one["tracks"][0]["stops"]:
            axes.add_patch(plt.Rectangle((at - 0.07, y - 0.12), 0.14, HEIGHT + 0.24, facecolor=VERMILION, zorder=3))
            axes.text(at, y + HEIGHT + 0.42, f"<{left}>", ha="center", va="center", fontsize=7.5)
        axes.set_ylim(axes.get_ylim()[0] + 0.4, axes.get_ylim()[1])
        for text in axes.texts:
            text.set_fontsize(1.2 * text.get_fontsize())
    figure.texts[-1].set_text(figure.texts[-1].get_text() + " Red bar: wgmma_wait<0> or <1> for products.")
    return figure


@figure("who-waits-loader", lambda r: data_waits(r, "no-loader", "loader"))
def draw_loader(plt, d):
    return draw_panels(plt, d, ("64 rows, tiles of 64 keys; a thread that multiplies also requests", "128 rows, tiles of 128 keys: four times the work; a producer requests"))
