"""Three query tiles on one multiprocessor: three blocks one after another, or one block that stays (`lab trace-waits`)."""
from .registry import figure
from .results import Unusable
from .style import BLACK, BLUE, LIGHT, ORANGE, VERMILION, WIDTH, bare, box, caption, subplots
from .waits import HEIGHT, NAMES, THIN, clocked

PIECES = "abc"
SHOWN = 24  # steps: both changes of the query tile, with room for a box's text


def lettered(trace, copies):
    """The producer's and the only consumer's acts, waits and products; of `copies` blocks one after another, if there are several."""
    one = clocked(trace)
    producer = next(t for t in one["tracks"] if not t["products"])
    consumer = next(t for t in one["tracks"] if t["products"])
    if len(one["tracks"]) != 2:
        raise Unusable(f"the trace of {trace['stage']} has {len(one['tracks'])} warpgroups, and the figure shows a producer and one consumer")
    tiles = 1 + max(tile for _, _, what, array, tile in producer["acts"] if what == "request" and array == "sK")
    per_piece = tiles * copies // len(PIECES)
    end = max(act[1] for act in consumer["acts"])
    acts = {"producer": [], "consumer": [], "products": [], "waits": [], "pieces": []}
    for copy in range(copies):
        shift, first = copy * end, copy * per_piece
        name = lambda array, tile: PIECES[tile + copy if array == "sQ" else (tile + first) // per_piece] + ("" if array == "sQ" else str((tile + first) % per_piece))
        acts["producer"] += [[start + shift, array, name(array, tile)] for start, _, _, array, tile in producer["acts"]]
        acts["products"] += [[start + shift, stop + shift, array, name(array, tile)] for start, stop, array, tile in consumer["products"]]
        acts["waits"] += [[start + shift, stop + shift, NAMES.get(what, what)] for start, stop, what, _ in consumer["waits"]]
        multiplied = weighed = -1
        for start, _, what, array, tile in consumer["acts"]:
            if what == "own" and array == "sK":
                weighed = tile
            elif what == "begin" and array == "sV":
                multiplied = tile
            last = what == "own" and array == "sV" and (tile + 1) % per_piece == 0
            text = {"sK": "QK", "sV": "PV"}[array] if what == "begin" else "O / l" if last else "exp" if array == "sK" else "pack" if multiplied < weighed else "O"
            acts["consumer"].append([start + shift, what, array, text, name(array, weighed if text == "pack" else tile)])
            if last:
                acts["pieces"].append(start + shift + 1)
    return {"stage": trace["stage"], "shape": trace["shape"], **acts}


def data_stay(r):
    return [lettered(r.waits["one-piece"], len(PIECES)), lettered(r.waits["stays"], 1)]


def draw_one(axes, d):
    axes.set(xlim=(-0.1, SHOWN), ylim=(3.75, -0.2))
    bare(axes)
    axes.spines["bottom"].set_visible(True)
    axes.set_xticks(range(0, SHOWN + 1, 2))
    axes.tick_params(labelsize=7.5)
    rows = {"producer": 0.0, "consumer": 1.15, "sK": 2.25, "sV": 2.95}
    for text, y, size in (("producer\nrequests", rows["producer"] + HEIGHT / 2, 8), ("consumer", rows["consumer"] + HEIGHT / 2, 8), ("QK under way", rows["sK"] + THIN / 2, 7.5), ("PV under way", rows["sV"] + THIN / 2, 7.5)):
        axes.text(-0.25, y, text, ha="right", va="center", fontsize=size)
    for start, array, name in d["producer"]:
        box(axes, start, rows["producer"], 1, HEIGHT, f"{NAMES[array]}\n{name}", 7.5, facecolor={"sQ": "white", "sK": LIGHT[0], "sV": LIGHT[4]}[array])
    for start, what, array, text, name in d["consumer"]:
        begins = what == "begin"
        face = (BLUE if array == "sK" else ORANGE) if begins else {"O / l": BLACK, "exp": "white"}.get(text, "#e4e4e4")
        box(axes, start, rows["consumer"], 1, HEIGHT, f"{text}\n{name[0] if text == 'O / l' else name}", 6.5, words={"color": "white" if face in (BLUE, BLACK) else BLACK}, facecolor=face)
    for start, stop, what in d["waits"]:
        box(axes, start, rows["consumer"] + 0.06, stop - start, HEIGHT - 0.12, f"{what}?", 7, 0.8, edgecolor=VERMILION, hatch="/////")
    for start, stop, array, name in ([start, min(stop, SHOWN), *rest] for start, stop, *rest in d["products"] if start < SHOWN):
        box(axes, start, rows[array], stop - start, THIN, name, 7.5, facecolor=LIGHT[0] if array == "sK" else LIGHT[4], edgecolor=BLUE if array == "sK" else ORANGE)
    for x in d["pieces"]:
        axes.plot([x, x], [-0.15, 3.6], color=BLACK, linewidth=1, linestyle=":")


@figure("stay", data_stay)
def draw_stay(plt, d):
    figure, rows = subplots(plt, (WIDTH, 4.75), 2, 1, left=0.132, right=0.99, top=0.945, bottom=0.2, hspace=0.36)
    for axes, one, what in zip(rows, d, ("a block for each query tile: each begins with a wait", "one block stays: what the next query tile needs is requested during the last products")):
        draw_one(axes, one)
        axes.set_title(f"{what[0].upper() + what[1:]} (c ends at step {one['pieces'][-1]})", fontsize=9, loc="left", x=-0.13)
    rows[-1].set_xlabel("step (an order, not a time)", fontsize=8.5)
    return caption(figure, "Query tiles a, b, c of two key tiles each: K b1 is the second key tile of query tile b. Dark: begins a product. exp: weights. pack: O rescaled, weights as fp16. "
                           "O / l: divided and stored. Hatched: waits for a copy. Dotted: a query tile is done. A product and a copy take no step of their own.")
