"""A GPU as the floors see it: what a multiprocessor gets per clock from each memory, and what its units do with it."""
import re

from .heads import ROOT, Unusable
from .registry import figure
from .style import BLACK, BLUE, LIGHT, box, canvas, caption

RATES = ROOT / "checks" / "counters" / "floor.hpp"
CLOCKS = {"HBM": 480, "L2": 263, "shared memory": 29}  # from request to result; the primer says from which papers
MEMORY = {"NVIDIA H100 80GB HBM3": "80 GB", "NVIDIA H200": "141 GB"}
CHIP = 7.8  # TB/s out of the L2, the most that a kernel of the lab drew (writeups/counters.md)


def data_hardware(r):
    rates = {name: float(value) for name, value in re.findall(r"^  (?:int|double) (\w+) = ([\d.]+);", RATES.read_text(), re.M)}
    copy = r.ceiling("copy_gbs")
    if not {"multiprocessors", "clocks_per_us", "warp_instructions", "wavefronts", "special", "multiplies", "l2_bytes"} <= rates.keys() or not copy:
        raise Unusable("hardware: checks/counters/floor.hpp or the benchmark lacks a rate")
    return {"rates": rates, "copy": copy, "l2": int(r.bench["l2_bytes"]), "clocks": CLOCKS, "chip": CHIP, "memory": MEMORY.get(r.bench["gpu"], "")}


@figure("hardware", data_hardware)
def draw_hardware(plt, d):
    rates, sms = d["rates"], int(d["rates"]["multiprocessors"])
    share = lambda bytes_per_us: bytes_per_us / sms / rates["clocks_per_us"]  # of one multiprocessor, per clock
    figure, axes = canvas(plt, 4.0)
    top, high = 0.75, 2.3
    upper, lower = top + 0.27 * high, top + 0.74 * high  # the path by registers, and the copies and reads without them

    def arrow(x, to, at, rate, note, y=top + high / 2, color=BLACK):
        axes.annotate("", (to, y), (x, y), arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.6})
        axes.text(at, y - 0.12, rate, fontsize=9, weight="bold", ha="center", va="bottom")
        axes.text(at, y + 0.12, note, fontsize=7.5, ha="center", va="top", linespacing=1.3)

    box(axes, 0.1, top, 0.75, high, f"HBM\n\n{d['memory']}", 8.5, facecolor=LIGHT[3])
    box(axes, 1.95, top, 0.75, high, f"L2\n\n{d['l2'] >> 20} MiB\nfor all\n{sms} SMs", 8.5, facecolor=LIGHT[4])
    arrow(0.85, 1.95, 1.4, f"{share(1e3 * d['copy']):.0f} bytes", f"{d['copy'] / 1e3:.2f} TB/s for\nall SMs together")
    arrow(2.7, 3.8, 3.17, f"{rates['l2_bytes']:.0f} bytes", f"{share(1e6 * d['chip']):.0f} seen with\nall SMs asking", upper)
    arrow(2.7, 3.8, 3.17, "TMA", "tiles, without\nregisters", lower, BLUE)
    box(axes, 3.65, 0.38, 4.25, high + 0.74, facecolor="none", linewidth=1.6)
    axes.text(3.75, 0.27, "one SM", fontsize=9.5, weight="bold", va="center")
    box(axes, 3.8, top, 0.9, high, "shared\nmemory\n\n228 KiB\n32 banks", 8.5, facecolor=LIGHT[0])
    arrow(4.7, 5.75, 5.22, f"{128 * rates['wavefronts']:.0f} bytes", "one wavefront", upper)
    arrow(4.7, 5.75, 5.22, "wgmma", "operands, without\nregisters", lower, BLUE)
    for q in range(4):
        x, y = 5.75 + q % 2 * 1.03, top + q // 2 * (high / 2 + 0.02)
        box(axes, x, y, 0.99, high / 2 - 0.02, facecolor=LIGHT[2])
        axes.text(x + 0.5, y + high / 4 - 0.01, f"scheduler\n16,384 registers\ntensor core\n32 FMA lanes\n{rates['special'] / 4:.0f} ex2", fontsize=7, ha="center", va="center", linespacing=1.35)
    axes.text(7.82, top + high + 0.2, f"the SM per clock: {rates['warp_instructions']:.0f} instructions, {2 * rates['multiplies']:.0f} FLOP by wgmma, {rates['special']:.0f} exponentials", fontsize=7.5, ha="right", va="center")
    for x, name in ((0.475, "HBM"), (2.325, "L2"), (4.25, "shared memory")):
        axes.text(x, top - 0.12, f"{d['clocks'][name]} clocks", fontsize=8, ha="center", va="center")
    return caption(figure, f"Bold numbers: bytes per clock that one SM gets, at {rates['clocks_per_us'] / 1e3:g} GHz. Blue: Hopper's ways without registers. Above a memory: clocks from an SM's request to the result. A scheduler issues one instruction per clock, of one warp; an FMA lane does a multiply-add, "
                           "ex2 is the instruction that computes a power of two. Rates from checks/counters/floor.hpp and the benchmark, latencies from papers.")
