"""What was measured on a GPU or counted, as bars and curves."""

import math

from results import LARGE, RESULTS, SMALL, metrics, rows, shape, times
from picture import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PURPLE, RED, figure

H100 = "H100, 2026-11-25"


@figure("road-times", 4.0)
def road_times(p):
    """A ladder, the first stage at its foot: the heights say the order and nothing else."""
    words = {
        "v1_scalar": "a plain loop over the keys",
        "v2c6_wmma_pv": "matrix units multiply",
        "v2c7_one_slot": "every warp computes",
        "v2c8_mma_sync": "results stay in registers",
        "v2d_ldmatrix": "fewer loads",
        "v3b_wgmma": "Hopper's units",
        "v3d_shared_tiles": "one warpgroup loads for all",
        "v3g_lazy_reference": "the first maximum is kept",
        "v3j_shorter_loop": "tiles that fit the problem, a shorter loop",
    }
    small, large = ({row["program"]: float(row["us"]) for row in rows("road.csv", shape=of)} for of in ("2 8 2048 64", "4 16 8192 128"))
    left, step = 2.35, 0.37
    for x in (left, left + 1):
        p.line((x, 0.32), (x, 0.42 + step * len(words)), color="#8a6d3b", width=5)
    p.text(left - 0.25, 0.15, "(2,8,2048,64)", 8.5, "end")
    p.text(7.7, 0.15, "(4,16,8192,128)", 8.5, "end")
    for i, stage in enumerate(sorted(words, key=small.get)):
        y = 0.42 + step * i
        p.box(left, y, 1, 0.27, stage.split("_")[0], 10, bold=True, fill=PALE[0], edge=BLUE)
        p.text(left - 0.25, y + 0.135, f"{small[stage]:.0f} µs", 11, "end", bold=True)
        p.text(left + 1.25, y + 0.135, words[stage], 10.5)
        p.text(7.7, y + 0.135, f"{large[stage] / 1000:.1f} ms", 10.5, "end")
    p.text(0.1, 3.88, f"Time per call, {len(words) - 1} stages of the main road, and v3j; one run on an H200, 2026-11-28.", 7.5)


@figure("two-tiles", 3.4)
def two_tiles(p):
    """The page's example by its own recurrence; scores in units of ln 2, so a weight is 2^(score - m)."""
    scores, values, m, l, o, weights = (1, 2, 4, 3), (8, 4, 2, 6), -math.inf, 0, 0, []
    high = lambda weight: 2.55 - 1.5 * weight
    for index, left in enumerate((0.5, 4.3)):
        tile = slice(2 * index, 2 * index + 2)
        new = max(m, *scores[tile])
        factor, fresh = 2.0 ** (m - new), [2.0 ** (s - new) for s in scores[tile]]
        before, weights = weights, [w * factor for w in weights] + fresh
        l, o, m = l * factor + sum(fresh), o * factor + sum(w * v for w, v in zip(fresh, values[tile])), new
        p.text(left, 0.2, f"after the {('first', 'second')[index]} tile: m = {m}", 10, bold=True)
        p.text(left, 0.46, f"l = {l:g},  O = {o:g}" + (f",  O / l = {o / l:.4f}" if index else ""), 9)
        p.line((left - 0.05, high(1)), (left - 0.05, high(0)), (left + 3.5, high(0)), width=0.8)
        for key, (score, value) in enumerate(zip(scores, values)):
            x = left + 0.12 + 0.85 * key
            p.text(x + 0.27, 2.85, f"key {key}\nscore {score}\nv = {value}", 8, "middle")
            if key >= len(weights):
                continue
            old = key < len(before)
            p.rect(x, high(weights[key]), 0.54, high(0) - high(weights[key]), fill=PALE[4 if old else 0], edge=ORANGE if old else BLUE, hatch="/" if old else "")
            if old:
                p.rect(x, high(before[key]), 0.54, high(weights[key]) - high(before[key]), fill="none", edge=GREY, dash=True)
                p.text(x + 0.27, high(before[key]) - 0.1, f"× {factor:g}", 9, "middle", color=RED)
                p.arrow(x + 0.27, high(before[key]), x + 0.27, high(weights[key]) - 0.22, RED, 1.4)
            p.text(x + 0.27, high(weights[key]) - 0.1, f"{weights[key]:g}", 9, "middle", bold=True, halo="#fff")
    p.text(2.7, 2.2, "not seen yet", 8.5, "middle", italic=True, color="#555")
    p.text(0.2, 1.8, "weight relative to m", 8.5, "middle", turned=True)
    p.text(0.5, 3.28, "Hatched: weights that the kernel no longer has; they live on inside l and O.", 7.5)


@figure("reference", 3.4)
def reference(p):
    fits = math.log(32768)  # v3g's LARGEST_SUM
    for left, amplitude, low, high, ticks in ((0.5, "1", 1, 16, range(2, 15, 4)), (4.45, "2.5", 12, 46, range(15, 46, 10))):
        events = rows("reference.csv", amplitude=amplitude)
        x, y = (lambda tile: left + 3.4 * (tile + 0.5) / len(events)), (lambda score: 2.75 - 2.0 * (score - low) / (high - low))
        met = [float(events[0]["r"]), *(float(e["r"]) for e in events)]  # the reference that a tile meets; tile 0 sets its own
        for t in range(len(events)):
            top = max(met[t] + fits, 0)
            p.rect(x(t - 0.5), y(min(top, high)), x(t + 0.5) - x(t - 0.5) + 0.004, y(met[t]) - y(min(top, high)), fill=PALE[0], edge="")
        p.line(*((x(t + side - 0.5), y(r)) for t, r in enumerate(met[:-1]) for side in (0, 1)), color=BLUE, width=2)
        p.line((left, 0.75), (left, 2.75), (left + 3.4, 2.75), width=0.8)
        for tick in ticks:
            p.text(left - 0.06, y(tick), tick, 7.5, "end")
        moved = [t for t, e in enumerate(events) if e["raised"] == "1" or e["again"] == "1"]
        for t, e in enumerate(events):
            p.dot(x(t), y(float(e["score"])))
            if t % 2 == 0:
                p.text(x(t), 2.88, t, 7.5, "middle")
            if t in moved:
                p.frame(x(t) - 0.08, y(float(e["score"])) - 0.08, 0.16, 0.16)
                p.text(x(t) - 0.55, y(float(e["score"])) - 0.32, f"the sum of tile {t} is too large:\nr is raised to {float(e['r']):.1f}", 8, "end")
                p.arrow(x(t) - 0.5, y(float(e["score"])) - 0.28, x(t) - 0.1, y(float(e["score"])) - 0.06, RED)
        p.text(left + 1.7, 3.06, "tile of 128 keys", 8.5, "middle")
        p.text(left, 0.6, f"q, k of N(0,1) times {amplitude}: r " + ("moves once" if moved else "is set once, in tile 0"), 9)
    p.text(0.15, 1.75, "score, q·k / √D", 8.5, "middle", turned=True)
    p.legend(
        0.5,
        0.22,
        ("largest score in a tile", {"fill": BLACK}),
        ("reference r", {"fill": BLUE}),
        (f"a weight fits: up to r + {fits:.1f}", {"fill": PALE[0], "edge": ""}),
        ("does not fit", {"edge": RED}),
    )
    p.text(0.5, 3.28, "Row 15 of v3g on (1,1,2048,64), with tiles of 128 keys, recorded on the CPU. A weight is e^(score − r), in fp16.", 7.5)


@figure("schedule", 4.4)
def schedule(p):
    """(2,8,2048,64) causal, 16 heads on 132 SMs: a tile of 64 rows a consumer costs consumers x COST x the share of the keys that it sees."""
    for top, stage, consumers, cost, title in (
        (0.2, "v3g", 4, 1.06, "128 query tiles of 4 consumers, on every 9th SM"),
        (2.05, "v3h", 2, 1.1, "256 query tiles of 2 consumers, on every 9th SM, longest first"),
    ):
        per_head = 32 // consumers
        work = lambda tile: consumers * cost * (tile + 1) / per_head
        free, bars = [0.0] * 132, []
        for i in range(16 * per_head):
            tile = i % per_head if stage == "v3g" else per_head - 1 - i // 16
            sm = free.index(min(free))
            bars.append((sm, free[sm], tile))
            free[sm] = round(free[sm] + work(tile), 6)
        at, last = (lambda value: 0.55 + 7.2 * value / 4.5), max(free)
        offset = free.index(last) % 9 if stage == "v3g" else 0
        p.text(0.55, top, f"{stage}: {title}", 9)
        p.text(0.25, top + 0.85, "SM", 8.5, "middle", turned=True)
        for sm, begin, tile in bars:
            if sm % 9 == offset:
                shade = 235 - 9 * round(16 / per_head * tile)
                p.rect(
                    at(begin),
                    top + 0.12 + 1.4 * sm / 132,
                    at(begin + work(tile)) - at(begin),
                    0.082,
                    fill=f"#{shade - 60:02x}{shade - 15:02x}{min(255, shade + 20):02x}",
                    edge=GREY,
                    line=0.3,
                )
        p.line((at(last), top + 0.1), (at(last), top + 1.6), dash="5 3", width=1.2)
        p.text(at(last) - 0.08 if stage == "v3g" else at(last) + 0.08, top + 0.6, f"ends at {last:.2f}", 9, "end" if stage == "v3g" else "start", bold=True, halo="#fff")
    p.axis(0.55, 7.2, 4.5, [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4], 3.65, 3.7, "work: 64 rows with all keys = 1, times the cost")
    p.text(0.1, 4.25, "Counted, to scale. Each block starts on the SM that is free first. The darker, the more keys.", 7.5)


@figure("loop-questions", 2.55)
def loop_questions(p):
    """One warp, rows 656 to 671, under a causal mask: 11 key tiles."""
    questions = [
        ("tile 0?", 4, "tile 0 is computed before the loop", [0]),
        ("lane 0?", 2, "an instruction that is predicated", []),
        ("a mask?", 1, "", [10]),
        ("do the weights fit?", 1, "", [0]),
    ]
    for panel, left in enumerate((1.35, 4.75)):
        p.text(left, 0.18, f"{('v3i', 'v3j')[panel]}'s loop asks", 10)
        p.text(left + 1.55, 2.15, "key tile", 9, "middle")
        for tile in range(11):
            p.text(left + 0.285 * tile + 0.12, 1.96, tile, 8.5, "middle")
        for y, (name, often, instead, other) in enumerate(questions):
            y = 0.35 + 0.38 * y
            if panel == 0:
                p.text(left - 0.1, y + 0.15, name, 9, "end")
            elif instead:
                p.text(left, y + 0.15, instead, 8.5, color="#444")
                continue
            for tile in range(11):
                before = panel == 1 and tile == 0  # the loop, which asks of it the mask alone
                if not before or name == "a mask?":
                    p.box(
                        left + 0.285 * tile,
                        y,
                        0.24,
                        0.3,
                        often,
                        8.5,
                        fill=RED if tile in other else "#fff" if before else PALE[0],
                        edge=RED if tile in other else BLUE,
                        dash=before,
                    )
    p.text(0.1, 2.42, "A box: asked at this tile, the number: how often. Pale: the usual answer; dark: the other. Dashed: asked once, before the loop.", 7.5)


@figure("chain-v4b", 2.9)
def chain(p):
    ends = {row["name"]: int(row["median"]) for row in rows("phases-v4b.csv", kind="phase")}
    links = [
        ("set up, request copies", "copies are asked for"),
        ("Q and K arrive", "K of tile 1 is there, its product begun"),
        ("scores and weights", "weights of tile 1"),
        ("last product with V", "O"),
        ("send and receive", "received from it"),
        ("merge and store", "stored"),
    ]
    at, begin = p.axis(2.2, 5.6, 6700, range(0, 6001, 1000), 0.1, 2.3, "clocks since the block began (1980 clocks are 1 µs)"), 0
    longest = max(ends[b] - ends[a] for (_, a), (_, b) in zip(links, links[1:]))
    for i, (name, stamp) in enumerate(links):
        y, end = 0.15 + 0.36 * i, ends[stamp]
        most = end - begin == longest
        p.text(0.15, y + 0.14, f"{i + 1}  {name}", 10)
        p.rect(at(begin), y, at(end) - at(begin), 0.27, fill=PALE[1 if most else 0], edge="#555")
        p.text(at(end) + 0.06, y + 0.14, f"{end - begin} clocks", 9, bold=most, halo="#fff")
        begin = end
    p.text(0.1, 2.78, "v4b on (1,8,512,64): thread 0 of a block, medians of 128 blocks in eight launches. NVIDIA H100 80GB HBM3, 2026-11-26.", 7.5)


@figure("floors-v2d", 3.0)
def floors_v2d(p):
    counted = [row for row in rows("counters.csv", stage="v2d_ldmatrix") if shape(row) == SMALL]
    roofs = {row["what"]: float(row["floor_us"]) for row in counted if row["floor_us"]}
    count = lambda column, what=None: sum(int(row[column] or 0) for row in counted if what in (None, row["what"]))
    executed = int(metrics("v2d_ldmatrix", SMALL)["smsp__inst_executed.sum"])  # the CPU does not count arithmetic
    roofs["issue slots"] = executed / 64 / (4 * 1980)  # four schedulers, 1980 clocks a µs
    work = {
        "issue slots": f"{executed:,} instructions",
        "shared memory": f"{count('wavefronts'):,} accesses of 128 bytes",
        "tensor cores": f"{count('instructions', 'mma'):,} products (mma.sync)",
        "exponentials": f"{32 * count('instructions', 'exponential'):,} exponentials",
        "L2": f"{32 * count('sectors'):,} bytes",
    }
    colours = {"issue slots": BLUE, "shared memory": RED, "exponentials": GREEN, "tensor cores": PURPLE, "L2": ORANGE}
    us = times("bench", SMALL)["v2d"]
    at = p.axis(1.4, 6.4, 8, range(9), 0.1, 2.35, "µs")
    for i, name in enumerate(["measured time", *sorted(roofs, key=roofs.get, reverse=True)]):
        y, time, colour = 0.13 + 0.37 * i, roofs.get(name, us), colours.get(name, BLACK)
        p.text(1.3, y + 0.14, name, 10, "end")
        p.rect(at(0), y, at(time) - at(0), 0.28, fill=colour if i < 2 else "#fff", edge=colour, line=1.6)
        if i == 0:
            p.text(at(time) - 0.08, y + 0.14, f"{time:.2f} µs", 10, "end", bold=True, color="#fff")
        else:
            p.text(at(time) + 0.08, y + 0.14, f"{time:.2f} µs" + (f", {100 * time / us:.0f} % of the time" if i == 1 else ""), 10, bold=i == 1, halo="#fff")
            p.text(at(5.4), y + 0.14, work[name], 9, halo="#fff")
    p.text(0.1, 2.88, f"v2d on (1,8,512,64), 64 SMs: the work beside a bar / the unit's rate. Work counted on the CPU, instructions by Nsight Compute. {H100}.", 7.5)


@figure("stalls-two", 1.35)
def stalls_two(p):
    at = p.axis(0.55, 7.2, 100, range(0, 101, 20), 0.35, 0.9, "share of the time of a resident warp, %, on (2,8,2048,64)")
    looks = {
        "gmma": ("wait for wgmma", {"fill": "#F0E442"}),
        "barrier": ("wait at a block barrier", {"fill": BLUE}),
        "rest": ("all else: other waits, and issuing", {"fill": "#e3e3e3"}),
    }
    for y, stage in ((0.42, "v3b_wgmma"),):
        of, left = metrics(stage, LARGE), 0
        # Warps of a scheduler (at most 16) per instruction that it issues: what all reasons to wait add up to.
        resident = 16 * of["sm__warps_active.avg.pct_of_peak_sustained_active"] / of["smsp__issue_active.avg.pct_of_peak_sustained_active"]
        p.text(0.48, y + 0.16, stage.split("_")[0], 9, "end")
        labels = []
        for kind, (_, look) in looks.items():
            share = 100 - left if kind == "rest" else 100 * of[f"smsp__average_warps_issue_stalled_{kind}_per_issue_active.ratio"] / resident
            p.rect(at(left), y, at(100) - at(left), 0.33, **look)  # the next one covers the rest
            labels.append((at(left + share / 2) if share > 3 else at(left) + 0.3, f"{share:.0f} %"))
            left += share
        for x, text in labels:
            p.text(x, y + 0.165, text, 8.5, "middle", halo="#fff")
    p.legend(1.2, 0.18, *looks.values(), size=8.5)


@figure("error-ldm", 5.05)
def error_ldm(p):
    """|out - ref|, an element each: ten levels a decade from 1e-5, '.' within the harness's bound."""
    levels = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    seen, left, top, cell = (RESULTS / "ldm-map.txt").read_text().split("seen\n")[1].split(), 0.6, 0.3, 0.068
    blue = lambda level: "#" + "".join(
        f"{round(light + (dark - light) * min(1, max(0, (level - 20) / 20))):02x}" for light, dark in ((214, 8), (230, 48), (245, 107))
    )
    p.cells(left, top, cell, [["#ffffff" if mark == "." else blue(levels.index(mark)) for mark in line] for line in seen])
    p.frame(left, top, 64 * cell, 64 * cell, BLACK, 0.8)
    for mark in range(0, 65, 16):
        p.text(left - 0.06, top + mark * cell, mark, 8, "end")
        p.text(left + mark * cell, top + 64 * cell + 0.12, mark, 8, "middle")
    p.text(left + 32 * cell, top + 64 * cell + 0.3, "column (= key)", 8.5, "middle")
    p.text(0.2, top + 32 * cell, "query row", 8.5, "middle", turned=True)
    p.text(left, 0.15, "ldm (v2c5): |out − ref|", 10, bold=True)
    for i, (text, level) in enumerate((("0.1", 40), ("0.01", 30), ("0.001", 20))):
        p.legend(5.3, 0.6 + 0.25 * i, (text, {"fill": blue(level), "edge": GREY}))
    p.legend(5.3, 1.35, ("within the harness's bound", {"edge": GREY}))
    p.text(5.3, 2.0, "Right only on the diagonals of the\n16 × 16 blocks, which is what is transposed.", 7.5)
    p.text(5.3, 2.55, "Probe: Q and V are multiples of the identity,\nK[n][c] is a wave of c − n, so the output is\nthe attention weights. Recorded on the CPU.", 7.5)
