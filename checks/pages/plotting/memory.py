"""Figures of shared memory: what each stage's plan takes, and which banks a column of a padded array lies in."""
from .results import short
from .style import BLUE, COLOURS, HATCHES, LIGHT, VERMILION, caption

SPARE_SLOT = "third K/V slot, from 1024 keys on"


def data_plans(r):
    """Plans that differ in nothing are one bar; what the third slot adds is a part of its own."""
    bars = {}
    two_slots = {(p["stage"], p["D"]) for p in r.plans["plans"] if p.get("slots", p.get("stages")) == 2}
    for p in r.plans["plans"]:
        arrays = {}
        for a in p["arrays"]:
            name = a["name"] if a["pitch"] > 1 else "m and l"  # one float per row: too thin to tell apart
            arrays[name] = arrays.get(name, 0) + a["bytes"]
        if p["target"] != r.plans["budget"]["arch"]:
            continue  # a stage for another GPU: it has its own budget
        slots = p.get("slots", p.get("stages"))
        if slots == 3 and not p["bug"] and (p["stage"], p["D"]) in two_slots:
            third = sum(arrays[n] // 3 for n in ("sK", "sV"))
            parts = [[n, b - (b // 3 if n in ("sK", "sV") else 0)] for n, b in arrays.items()] + [[SPARE_SLOT, third]]
        else:
            parts = [[n, b] for n, b in arrays.items()]
        key = (p["bug"], p["D"], slots, tuple(map(tuple, parts)))
        bars.setdefault(key, {"stages": [], "bug": p["bug"], "D": p["D"], "slots": slots, "tile": [p["tile_m"], p["tile_n"]], "parts": parts})
        if p["stage"] not in bars[key]["stages"]:
            bars[key]["stages"].append(p["stage"])
    largest = {}
    size = lambda bar: sum(b for _, b in bar["parts"])
    for bar in bars.values():  # of one kernel's two and three slots, the bar with three says both; of its tiles the largest
        key = (tuple(bar["stages"]), bar["bug"], bar["D"])
        if key not in largest or size(bar) > size(largest[key]):
            largest[key] = bar
    return {"budget": r.plans["budget"], "bars": list(largest.values())}


def draw_plans(plt, d):
    bars = d["bars"]
    figure, axes = plt.subplots(figsize=(9, 1.9 + 0.48 * len(bars)))
    figure.subplots_adjust(left=0.245, right=0.98, top=1 - 0.62 / figure.get_figheight(), bottom=0.98 / figure.get_figheight())
    names = list(dict.fromkeys(name for bar in bars for name, _ in bar["parts"] if name != SPARE_SLOT)) + [SPARE_SLOT]
    look = {n: {"facecolor": COLOURS[i % len(COLOURS)], "hatch": HATCHES[i % len(HATCHES)]} for i, n in enumerate(names)}
    look[SPARE_SLOT] = {"facecolor": "#f4f4f4", "hatch": "xx"}
    limit = d["budget"]["smem"] / 1024
    for y, bar in enumerate(bars):
        left = 0
        for name, size in bar["parts"]:
            axes.barh(y, size / 1024, left=left / 1024, height=0.68, edgecolor="white" if name != SPARE_SLOT else "#999999", linewidth=0.5, **look[name])
            left += size
        total = left / 1024
        axes.text(limit + 1 if limit - 14 < total <= limit else total + 1, y, f"{total:.1f} KiB" + (": refused" if bar["bug"] else ""), va="center", fontsize=8, zorder=5,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    for at, text in ((limit, f"{limit:.0f} KiB: what sm_89 gives a block"), (48, "48 KiB: without asking")):
        axes.axvline(at, color="black", linewidth=1.2, linestyle="-" if at == limit else ":")
        axes.text(at, -0.62, text, fontsize=7.5, ha="center")
    axes.set_yticks(range(len(bars)), [f"{b['bug'] or ' = '.join(map(short, b['stages']))}, D = {b['D']}\n{b['tile'][0]} rows, {b['tile'][1]} keys per tile" for b in bars], fontsize=8)
    axes.set_ylim(len(bars) - 0.5, -0.55)
    axes.set_xlim(0, 200)
    axes.set_xlabel("shared memory per block, KiB")
    figure.legend(handles=[plt.Rectangle((0, 0), 1, 1, edgecolor="white" if n != SPARE_SLOT else "#999999", label=n, **look[n]) for n in names], fontsize=7.5, ncol=5, loc="upper left", frameon=False,
                  handlelength=2.2, handleheight=1.4)
    caption(figure, "From `lab plan`, on any machine. A slot is a place for one K tile and one V tile: one is being consumed while the others are being filled; up to v2c6 two below 1024 keys and three from there on. Of tiles of different height the largest is shown. "
                    "The bug smem_overflow keeps tiles of 64 keys at D = 128.")
    return figure


def data_banks(r):
    return r.layouts["banks"]


def draw_served(plt, axes, one, wide_bytes):
    """Lanes down, banks across: which banks each lane touches, and in which turn it is served."""
    together = 32 * 4 // wide_bytes
    wide = wide_bytes // 4
    for lane in range(32):
        group = lane - lane % together
        late = one["turn"][lane] - min(one["turn"][group:group + together])
        axes.add_patch(plt.Rectangle((one["bank"][lane] - 0.5, lane - 0.5), wide, 1, facecolor=LIGHT[1] if late else LIGHT[0], edgecolor=VERMILION if late else BLUE,
                                     hatch="////" if late else "", linewidth=0.7))
        axes.text(one["bank"][lane] + wide / 2 - 0.5, lane, str(one["turn"][lane] + 1), ha="center", va="center", fontsize=5.5,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4} if late else None)
    for lane in range(together, 32, together):
        axes.axhline(lane - 0.5, color="#888888", linewidth=0.7, linestyle=":")
    axes.set_xlim(-0.7, 31.7)
    axes.set_ylim(31.7, -0.7)
    axes.set_xticks(range(0, 32, 4))
    axes.set_yticks(range(0, 32, 4))
    axes.tick_params(labelsize=7)
    axes.set_xlabel("bank", fontsize=8)
    axes.set_ylabel("lane = row", fontsize=8)


def draw_banks(plt, d):
    figure, grid = plt.subplots(2, 2, figsize=(9, 8.6))
    figure.subplots_adjust(left=0.07, right=0.985, top=0.94, bottom=0.135, wspace=0.12, hspace=0.24)
    for axes, one in zip(grid.flat, d):
        draw_served(plt, axes, one, one["bytes"])
        verdict = "no conflict" if one["turns"] == one["least"] else f"{one['turns'] // one['least']}-way conflict"
        axes.set_title(f"rows of {one['pitch']} halves, {one['bytes']} bytes per lane: {one['turns']} turn{'s' * (one['turns'] > 1)}, {verdict}", fontsize=9)
    caption(figure, "Lane l reads the first bytes of row l, as when every lane takes its own key. Numbers: the turn in which the lane is served. Blue: with the first of those that are served together "
                    "(all 32 lanes at 4 bytes, 8 lanes at 16 bytes, between dotted lines). Hatched: later, because another row's word in the same bank was first. Eight halves of padding "
                    "move each row by 4 banks, so every eighth row starts in the same bank: no harm where 8 lanes are served together, a 4-way conflict where 32 are. Computed by checks/pages/banks.hpp, which has its tests.")
    return figure


def data_ldmatrix(r):
    return r.ldmatrix


def draw_ldmatrix(plt, d):
    how = {"plain": "as they are", "padded": "padded", "kernel": "the kernel's swizzle"}
    figure, row = plt.subplots(1, 3, figsize=(10.2, 5.2))
    figure.subplots_adjust(left=0.05, right=0.985, top=0.935, bottom=0.205, wspace=0.16)
    for axes, one in zip(row, d["banks"]):
        draw_served(plt, axes, one, 16)
        axes.set_ylabel("lane" if axes is row[0] else "", fontsize=8)
        axes.set_title(f"rows of {one['pitch']} halves, {how[one['how']]}: {one['turns']} turns", fontsize=8.5)
    bounds = [f"{i}: rows {d['rows'][8 * i]}–{d['rows'][8 * i + 7]}, columns {d['columns'][8 * i]}–{d['columns'][8 * i] + 7}" for i in range(4)]
    caption(figure, f"The first ldmatrix.x4 that {short(d['stage'])} does on {d['array']}. Lane l points at a row of 16 bytes; eight lanes make a matrix ({'; '.join(bounds)}) and are served together. "
                    "Numbers: the turn in which a lane is served; hatched: later than its matrix's first. Right: recorded from the kernel's own accesses on the CPU; left and middle: the same rows and columns at another pitch. "
                    "Neither padding nor swizzle has a conflict; the swizzle needs no extra bytes. Turns are computed by checks/pages/banks.hpp.")
    return figure
