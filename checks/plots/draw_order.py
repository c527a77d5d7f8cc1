"""Who does what before what: rows of boxes. The lists follow each kernel's text; an order of events, lengths are not times."""

import recorded
from picture import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PURPLE, RED, SKY, figure

# --- Hopper: what a warpgroup does, a step each; QK1 begins the product of tile 1, exp1 computes its weights, K1 requests it, PACK rounds the weights to fp16 ---

LOOK = {
    "QK": {"fill": BLUE, "color": "#fff", "bold": True},
    "PV": {"fill": ORANGE, "bold": True},
    "exp": {},
    "pack": {"fill": PALE[5]},
    "O": {"fill": PALE[5]},
    "Q": {},
    "K": {"fill": PALE[0]},
    "V": {"fill": PALE[4]},
}
LEFT, BAR = 1.1, 0.38


def steps(p, y, name, text, unit, of=None):
    """One row of boxes, `text` by words: of a recorded warp, if `of` is (stage, warp); A? waits for A; a dot is nothing."""
    words = text.split()
    if of:
        begun = [word for word in words if word[:2] in ("QK", "PV")]
        order = recorded.products(*of)
        first = order.index(begun[0])
        assert order[first : first + len(begun)] == begun, (of, order, begun)
    p.text(LEFT - 0.1, y + BAR / 2, name, 8.5, "end", bold=True)
    for i, word in enumerate(words):
        if word == ".":
            continue
        kind, number = word.rstrip("0123456789"), word[len(word.rstrip("0123456789")) :]
        label = kind.replace("_", " ") + ("\n" + number if number else "")
        look = {"edge": RED, "hatch": "/"} if kind.endswith("?") else LOOK[kind]
        p.box(LEFT + i * unit, y, unit, BAR, label, 7.5, **look)


@figure("who-waits", 3.15)
def who_waits(p):
    both, unit = "QK0 exp0 pack QK1 PV0 exp1 pack QK2 PV1 exp2 pack QK3 PV2", 0.52
    p.text(0.1, 0.18, "v3e: both begin products together, then both compute exponentials", 9.5)
    for y, warp in ((0.35, 0), (0.95, 4)):
        steps(p, y, f"warpgroup {warp // 4}", both, unit, ("v3e", warp))
    p.text(0.1, 1.68, "v3f: one begins its scores while the other computes exponentials", 9.5)
    steps(p, 1.85, "warpgroup 0", both, unit, ("v3f", 0))
    steps(p, 2.5, "warpgroup 1", "turn? QK0 exp0 pack turn? QK1 PV0 exp1 pack QK2 PV1 exp2 pack", unit, ("v3f", 4))
    for given, taken, down in ((1, 1, True), (2, 3, False), (4, 5, True), (6, 7, False), (8, 9, True), (10, 11, False), (12, 13, True)):
        p.arrow(LEFT + given * unit, 1.85 + BAR if down else 2.5, LEFT + taken * unit, 2.5 if down else 1.85 + BAR)
    p.text(LEFT, 3.02, "hatched: waits for the turn; arrow: the turn is handed on", 8)


@figure("who-waits-overlap", 3.1)
def who_waits_overlap(p):
    unit = 0.85
    for y, stage, title, text, runs, stops in (
        (0.15, "v3b", "v3b to v3d: each product is waited for at once", "QK1 exp1 PV1 O QK2 exp2 PV2 O", ("1 0 1, 2 4 5", "1 2 3, 2 6 7"), {1: 0, 3: 0, 5: 0, 7: 0}),
        (
            1.7,
            "v3e",
            "v3e: PV of the tile before runs while exponentials are computed",
            "QK1 PV0 exp1 pack QK2 PV1 exp2 pack",
            ("1 0 2, 2 4 6", "0 1 3, 1 5 7"),
            {2: 1, 3: 0, 6: 1, 7: 0},
        ),
    ):
        p.text(0.1, y, title, 9.5)
        for kind, of_kind, top, look in zip(("QK", "PV"), runs, (y + 0.18, y + 0.45), ({"fill": PALE[0], "edge": BLUE}, {"fill": PALE[4], "edge": ORANGE})):
            p.text(LEFT - 0.1, top + 0.11, f"{kind} runs", 8.5, "end")
            for run in of_kind.split(", "):
                tile, begin, end = map(int, run.split())
                p.box(LEFT + begin * unit, top, (end - begin) * unit, 0.23, f"{kind} {tile}", 8, **look)
        steps(p, y + 0.76, "warpgroup 0", text, unit, (stage, 0))
        for at, left in stops.items():
            p.line((LEFT + at * unit, y + 0.7), (LEFT + at * unit, y + 1.2), color=RED, width=3)
            p.text(LEFT + at * unit, y + 1.29, f"wait<{left}>", 8, "middle")


@figure("who-waits-producer", 2.6)
def who_waits_producer(p):
    unit = 0.34
    p.text(0.1, 0.18, "v3b: requests stand between the products", 9.5)
    steps(p, 0.35, "warpgroup 0", "Q K0 V0 K1 V1 QK0 exp0 pack PV0 K2 V2 QK1 exp1 pack PV1 K3 V3 QK2 exp2", unit, ("v3b", 0))
    p.text(0.1, 1.05, "v3c: requests have a row of their own", 9.5)
    steps(p, 1.22, "producer", "Q K0 V0 K1 V1 K2 . V2 . K3 . V3", unit)
    for x in (6, 8, 10):
        p.box(LEFT + x * unit, 1.22, unit, BAR, "slot?", 7, edge=RED, hatch="/")
    steps(p, 1.85, "warpgroup 0", "Q? K? QK0 exp0 pack PV0 QK1 exp1 pack PV1 QK2 exp2 pack PV2", unit, ("v3c", 0))
    for x in (0.8, 1.8):  # landed
        p.arrow(LEFT + x * unit, 1.22 + BAR, LEFT + x * unit, 1.85, dash="4 3")
    for x in (3, 6, 7, 10):  # given back
        p.arrow(LEFT + (x + 0.1) * unit, 1.85, LEFT + (x + 0.1) * unit, 1.6, RED, dash="2 2")
    p.text(LEFT, 2.45, "pale: requests this tile; hatched: waits; dashed: the tile has landed (full);\ndotted: all warps have given the slot back (empty)", 8)


# --- copies ahead -----------------------------------------------------------------------------------------------------------

TILES = [BLUE, ORANGE, GREEN, PURPLE, SKY, RED]


@figure("pipeline", 2.75)
def pipeline(p):
    left, unit, slots = 1.35, 0.93, (1.05, 1.75)
    for y, text in ((0.2, "all warps read"), (0.5, "warp 7 issues tile"), (0.8, "and waits"), (1.3, "slot 0"), (2.0, "slot 1")):
        p.text(left - 0.1, y, text, 8, "end")
    for y in slots:
        p.rect(left, y, 7 * unit, 0.5, fill="#f2f2f2", edge="")
    for t, colour in enumerate(TILES):  # tile t is issued in the period before the one in which it is read
        x, y = left + t * unit, slots[t % 2]
        p.text(left + (t + 1.5) * unit, 0.2, f"tile {t}", 8, "middle")
        p.text(x + 0.09, 0.5, t, 8, "middle")
        p.box(x + 0.09, y, unit - 0.18, 0.5, f"tile {t}\non its way", 7, edge=colour, hatch="/", line=1)
        p.box(x + unit, y, unit, 0.5, f"tile {t}\nis read", 7, bold=True, color="#fff" if colour in (BLUE, GREEN, RED) else BLACK, fill=colour, edge=colour)
        p.arrow(x + 0.09, 0.58, x + 0.09, y, width=0.9)
        p.text(x + unit - 0.1, 0.8, f"for tile {t}", 7, "end", color=RED)
        p.line((x + unit - 0.09, 0.86), (x + unit - 0.09, y), color=RED, width=0.9, dash="2 2")
        p.line((x + unit, 0.32), (x + unit, 2.35), width=1.6)
    p.text(left + unit / 2, 0.2, "prologue", 8, "middle")
    p.text(left + unit, 2.53, "block\nbarrier", 7.5, "middle")


@figure("in-flight", 5.95)
def in_flight(p):
    at = p.axis(0.85, 7.0, 1080, range(0, 1001, 100), 0.3, 5.2, "step (an order of events, not a time)")
    for top, stage, title, slots, end in (
        (0.15, "v2c8", "one slot each; a copy starts when all warps have read the tile before", 1, 1080),
        (2.0, "v2d", "a ring of slots; a copy starts two tiles ahead", 3, 739),
    ):
        track = [(row["what"], int(row["begin"]), int(row["end"])) for row in recorded.rows("steps.csv", stage=stage, warp="0")]
        p.text(0.1, top, f"{stage}: {title}", 9.5)
        p.text(0.78, top + 0.32, "warp 0", 8, "end", bold=True)
        p.text(0.78, top + 0.65, "requests,\nwaits", 7.5, "end")
        marks = {"copy": (0.57, GREY), "wait": (0.66, RED), "__sy": (0.75, BLUE)}
        rows = {(array, slot): top + 0.95 + 0.36 * i for i, (array, slot) in enumerate((a, s) for a in "KV" for s in range(slots))}
        for (array, slot), y in rows.items():
            p.text(0.78, y + 0.14, f"{array} slot {slot}" if slots > 1 else f"{array}, one slot", 8, "end")
        asked, waits = {"K": [], "V": []}, [begin for what, begin, _ in track if what == "wait for copies"]
        for what, begin, stop in track:
            if what[:4] in marks and what != "__syncwarp":
                p.dot(at((begin + stop) / 2), top + marks[what[:4]][0], marks[what[:4]][1])
            elif what[:4] in ("read", "writ"):
                p.rect(at(begin), top + 0.18, at(stop) - at(begin), 0.28, fill=PALE[0] if what == "read K" else PALE[4] if what == "read V" else PALE[5])
            if what in ("copy K", "copy V"):
                asked[what[-1]].append(begin)
        for array in "KV":
            reads = [(begin, stop) for what, begin, stop in track if what == f"read {array}"]
            for tile, (request, (begin, stop)) in enumerate(zip(asked[array], reads)):
                y, look = rows[array, tile % slots], {"fill": PALE[0 if array == "K" else 4], "edge": BLUE if array == "K" else ORANGE}
                landed = max(wait for wait in waits if wait < begin) + 1
                p.text(at((begin + stop) / 2), top + 0.32, f"{'QK' if array == 'K' else 'PV'}{tile}", 7, "middle")
                p.rect(at(request), y + 0.06, at(landed) - at(request), 0.16, edge=look["edge"], hatch="/")
                if landed - request > 40:
                    p.text(at((request + landed) / 2), y + 0.14, tile, 7, "middle", halo="#fff")
                p.box(at(begin), y, at(stop) - at(begin), 0.28, tile, 7, **look)
    p.legend(
        0.85,
        5.8,
        ("request", {"fill": GREY}),
        ("wait", {"fill": RED}),
        ("block barrier", {"fill": BLUE}),
        ("requested, not yet waited for", {"edge": BLUE, "hatch": "/"}),
        ("the slot is read", {"fill": PALE[0], "edge": BLUE}),
        size=7.5,
    )


# --- two launches -------------------------------------------------------------------------------------------------------------


@figure("launch-order", 3.75)
def launch_order(p):
    left, setup, over, gap, right = 0.95, 0.75, 5.0, 0.75, 7.9
    shape = {"B": "1", "H": "8", "S": "512", "D": "64", "causal": "0"}
    of = {row["program"].split("_")[0]: float(row["us"]) for row in recorded.rows("bench.csv", run="bench", status="ok", **shape)}
    for y, stage in ((0.25, "v4b"), (2.05, "v4c")):
        p.text(0.1, y, f"{stage}: a launch every {of[stage]:.2f} µs", 10, bold=True)
        for row, end in enumerate((3.6, 4.2, over)):
            top, early = y + 0.2 + 0.45 * row, stage == "v4c"
            p.text(0.1, top + 0.18, f"SMs {2 * row}, {2 * row + 1}", 9)
            p.box(left, top, setup, 0.36, "set up", 8.5, fill=PALE[1])
            p.box(left + setup, top, end - left - setup, 0.36, "n: requests … store", 8.5, fill=PALE[0])
            x = end if early else over + gap
            p.box(x, top, setup, 0.36, "set up", 8.5, fill=PALE[1])
            begin = max(x + setup, over + 0.1)
            if begin > x + setup:
                p.rect(x + setup, top, begin - x - setup, 0.36, hatch="/")
            p.box(begin, top, right - begin, 0.36, "n + 1: requests …", 8.5, fill=PALE[4])
        p.line((over, y + 0.1), (over, y + 1.5), dash="2 2")
        p.text(over, y, "n has ended", 8.5, "middle")
    p.text(over + gap / 2, 1.1, "grid\nn + 1\nstarts", 8.5, "middle")


# --- the backward pass ------------------------------------------------------------------------------------------------------------

KINDS = {
    "product": ("matrix product", {"fill": PALE[0]}),
    "threads": ("arithmetic of the threads", {"fill": PALE[1]}),
    "memory": ("additions, stores to global memory", {"fill": PALE[2], "hatch": "/"}),
}


def rows_of(p, top, unit, rows, apart=0.46, left=1.5):
    """rows: name, then "begin end kind text" by semicolons; the gaps are waits."""
    for y, (name, items) in enumerate(rows):
        y = top + apart * y
        p.text(left - 0.12, y + 0.16, name, 8.5, "end")
        spans = [[*item.split(None, 3), ""][:4] for item in items.split(";")]
        p.line((left, y + 0.16), (left + unit * max(float(end) for _, end, *_ in spans), y + 0.16), color=GREY, width=1.4, dash="2 3")
        for begin, end, kind, text in spans:
            p.box(left + float(begin) * unit, y, (float(end) - float(begin)) * unit, 0.32, text, 7.5, **KINDS[kind][1])


def footer(p, y, kinds=("product", "threads", "memory")):
    p.text(1.38, y, "order of events", 8, "end")
    p.arrow(1.5, y, 7.8, y)
    p.legend(0.2, y + 0.3, *(KINDS[kind] for kind in kinds))


@figure("order-b5", 2.55)
def order_b5(p):
    x = lambda at: 1.5 + 0.104 * at
    rows = {
        "keys 0–63": "0 8 threads exp 1; 8 17 product dP dV 1; 17 22 threads dS 1; 22 31 product dK 1, S 2; 31 39 threads exp 2; 39 48 product dP dV 2; 48 53 threads dS 2; 53 61 product dK 2, S 3",
        "third warpgroup": "0 7 product dQ 0; 7 12 memory add; 30 38 product dQ 1; 38 43 memory add",
        "keys 64–127": "0 8 product dK 0, S 1; 8 16 threads exp 1; 16 25 product dP dV 1; 25 30 threads dS 1; 30 39 product dK 1, S 2; 39 47 threads exp 2; 47 56 product dP dV 2; 56 61 threads dS 2",
    }
    rows_of(p, 0.15, 0.104, rows.items(), 0.62)
    for begin, y, end, to_y, text, text_x, text_y in (
        (22, 0.47, 30, 0.77, "ds_full", 24, 0.69),
        (30, 1.39, 30, 1.09, "ds_full", 29.5, 1.3),
        (7, 1.09, 58, 1.39, "ds_empty", 50, 1.2),
    ):
        p.arrow(x(begin), y, x(end), to_y, RED)
        p.text(x(text_x), text_y, text, 8, "end", color=RED)
    footer(p, 1.98)
    p.arrow(0.2, 2.47, 0.46, 2.47, RED)
    p.text(0.54, 2.47, "arrives at an mbarrier. ds_full: dS is stored. ds_empty: dS has been read (the same for keys 0–63)", 8)


@figure("order-b6", 5.0)
def order_b6(p):
    unit, x = 0.236, lambda at: 1.5 + 0.236 * at
    block = lambda tiles, begin: "; ".join(
        ["0 1 product "]
        + [f"{begin + 4.2 * i - (i > 0)} {begin + 4.2 * i} product " for i in range(1, len(tiles))]
        + [f"{begin + 4.2 * i} {begin + 4.2 * i + 3.2} memory tile {t}" for i, t in enumerate(tiles)]
    )
    p.text(0.15, 0.18, "causal mask: each block starts at a tile of its own", 9, bold=True)
    rows_of(p, 0.35, unit, [(f"block {j}", block(range(j, 4), 1)) for j in (3, 2, 1, 0)])
    p.text(0.15, 2.35, "no mask: all four start at tile 0", 9, bold=True)
    rows_of(p, 2.52, unit, [(f"block {j}", block(range(4), 1 + 3.2 * (3 - j))) for j in (3, 2, 1, 0)])
    for row in range(3):
        for i in range(row + 1):
            p.arrow(x(4.2 * i + 4.2), 0.67 + 0.46 * row, x(4.2 * i + 5.2), 0.81 + 0.46 * row, RED)
        p.arrow(x(4.2 + 3.2 * row), 2.84 + 0.46 * row, x(4.2 + 3.2 * row), 2.98 + 0.46 * row, RED)
    footer(p, 4.48, ("product", "memory"))
