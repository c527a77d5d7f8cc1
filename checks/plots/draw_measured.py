"""What was measured on a GPU or counted, as bars and curves."""

import math

from results import rows
from picture import BLACK, BLUE, GREY, ORANGE, PALE, RED, figure


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
    p.text(0.1, 3.88, f"Time per call, {len(words) - 1} stages of the main road, and v3j; one run on an H200, 2026-11-29.", 7.5)


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
    at = p.axis(0.55, 7.2, 4.5, [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4], 3.65, 3.7, "work: 64 rows with all keys = 1, times the cost")
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
        last = max(free)
        offset = free.index(last) % 9 if stage == "v3g" else 0
        p.text(0.55, top, f"{stage}: {title}", 9)
        p.text(0.25, top + 0.85, "SM", 8.5, "middle", turned=True)
        for sm, begin, tile in bars:
            if sm % 9 == offset:
                shade = 235 - 9 * round(16 / per_head * tile)
                fill = f"#{shade - 60:02x}{shade - 15:02x}{min(255, shade + 20):02x}"
                p.rect(at(begin), top + 0.12 + 1.4 * sm / 132, at(begin + work(tile)) - at(begin), 0.082, fill, GREY, 0.3)
        p.line((at(last), top + 0.1), (at(last), top + 1.6), dash="5 3", width=1.2)
        p.text(at(last) - 0.08 if stage == "v3g" else at(last) + 0.08, top + 0.6, f"ends at {last:.2f}", 9, "end" if stage == "v3g" else "start", bold=True, halo="#fff")
    p.text(0.1, 4.25, "Counted, to scale. Each block starts on the SM that is free first. The darker, the more keys.", 7.5)
