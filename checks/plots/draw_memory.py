"""Shared memory: banks, swizzles, descriptors, the copy engine's box, mbarriers."""

from picture import BLACK, BLUE, DARK, GREY, PALE, PLAIN, RED, figure

TONES = [PALE[0], PALE[4], PALE[2], PALE[3]]
swizzled = lambda row, chunk: chunk ^ row % 8  # the place of a chunk of 16 bytes among the eight of its row of 128 bytes


@figure("banks", 8.0)
def banks(p):
    """Lane l reads the first bytes of row l: which banks, and in which cycle. 32 banks of 4 bytes; wide accesses go by 16 or 8 lanes."""
    for index, (pitch, size) in enumerate(((64, 4), (72, 4), (64, 16), (72, 16))):
        left, top, cell, tall = 0.5 + 3.85 * (index % 2), 0.55 + 3.85 * (index // 2), 0.107, 0.097
        together, cycle, served = 128 // size, 0, []
        for first in range(0, 32, together):
            words = {}  # of a bank the different rows that want it
            for lane in range(first, first + together):
                bank = lane * pitch // 2 % 32
                late = words.setdefault(bank, [])
                served.append((lane, bank, cycle + len(late), bool(late)))
                late.append(lane)
            cycle += max(map(len, words.values()))
        least = 32 // together
        p.text(left, top - 0.37, f"rows of {pitch} fp16, {size} bytes per lane:", 8.5, bold=True)
        p.text(left, top - 0.18, f"{cycle} cycle{'s' * (cycle > 1)}, " + ("no conflict" if cycle == least else f"{cycle // least}-way conflict"), 8.5)
        p.frame(left, top, 32 * cell, 32 * tall, GREY, 0.6)
        for mark in range(0, 32, 4):
            p.text(left - 0.05, top + (mark + 0.5) * tall, mark, 6.5, "end")
            p.text(left + (mark + 0.5) * cell, top + 32 * tall + 0.1, mark, 6.5, "middle")
        p.text(left + 16 * cell, top + 32 * tall + 0.24, "bank" if index > 1 else "", 8, "middle")
        p.text(left - 0.32, top + 16 * tall, "lane = row", 8, "middle", turned=True)
        for lane, bank, at, late in served:
            y, width = top + lane * tall, size // 4 * cell
            p.rect(left + bank * cell, y, width, tall, fill=PALE[1 if late else 0], edge=RED if late else BLUE, line=0.6)
            beside = bank + size // 4 < 29
            p.text(left + bank * cell + (width + 0.03 if beside else -0.03), y + tall / 2, at + 1, 6.5, "start" if beside else "end")
    p.text(0.18, 7.87, "Number: the cycle in which the lane is served. Blue: with the first of the lanes that are served together (32, or 8 at 16 bytes).", 7.5)


@figure("swizzle-rows", 3.75)
def swizzle_rows(p):
    cell, tall, top = 0.375, 0.27, 0.82
    for left, name, place in ((0.85, "rows as they are", lambda row, chunk: chunk), (4.75, "v2d's swizzle", swizzled)):
        p.text(left, 0.18, name, 9.5, bold=True)
        p.text(left + 4 * cell, 0.45, "banks", 8, "middle")
        for i in range(8):
            p.text(left + (i + 0.5) * cell, top - 0.13, f"{4 * i}–{4 * i + 3}", 6.6, "middle")
            p.text(left - 0.08, top + (i + 0.5) * tall, f"row {i}", 8, "end")
            for row in range(8):
                p.rect(left + i * cell, top + row * tall, cell, tall, edge="#bbb", line=0.5)
        for chunk, fill, edge in ((0, PALE[1], RED), (1, PALE[0], BLUE)):
            for row in range(8):
                p.box(left + place(row, chunk) * cell, top + row * tall, cell, tall, chunk, 9, fill=fill, edge=edge, line=1.5)
            cycles = 9 - len({place(row, chunk) for row in range(8)})
            p.text(
                left, top + 8 * tall + 0.2 + 0.24 * chunk, f"matrix {chunk}, chunk {chunk} of each row: {cycles} cycle{'s' * (cycles > 1)}", 8.5, bold=True, color=edge
            )


@figure("swizzle-bits", 4.3)
def swizzle_bits(p):
    left, width, plain, placed = (lambda at: 0.95 + (12 - at) * 0.5), 0.5, 0.85, 2.35
    p.text(0.08, 0.2, "Byte address of column c of row r, in rows of 64 fp16 (128 bytes)", 10, bold=True)
    for y, text in ((plain - 0.1, "bit"), (plain + 0.18, "row-major"), (placed + 0.18, "stored at")):
        p.text(0.08, y, text, 8)
    for at in range(13):
        own, fill = "0" if at == 0 else f"c{at - 1}" if at < 7 else f"r{at - 7}", PALE[4] if at > 6 else PALE[0] if at > 3 else "#fff"
        p.box(left(at), plain, width, 0.36, own, 9, fill=fill)
        p.text(left(at) + width / 2, plain - 0.1, at, 7.5, "middle")
        p.arrow(left(at) + width / 2, plain + 0.36, left(at) + width / 2, placed, width=0.8)
        added = 4 <= at <= 6
        p.box(left(at), placed, width, 0.36, own + (f" ⊕ r{at - 4}" if added else ""), 8, fill=fill, edge=RED if added else BLACK, line=1.8 if added else 0.8)
    for bit in range(3):
        y, source, to = 1.5 + 0.22 * bit, left(7 + bit) + width / 2, left(4 + bit) + width / 2
        p.line((source, y), (to, y), color=RED, width=1.5)
        p.dot(source, y, RED)
        p.text(to, y, "⊕", 13, "middle", color=RED, halo="#fff")
    for low, high, y, text, text_y in (
        (7, 12, 0.56, "row", 0.45),
        (4, 6, 0.56, "chunk: 16 bytes", 0.45),
        (1, 3, 0.56, "half in the chunk", 0.45),
        (2, 6, placed + 0.5, "bits 2 to 6 choose one of 32 banks", placed + 0.64),
    ):
        a, b = left(high) + 0.03, left(low) + width - 0.03
        p.line((a, y - 0.05), (a, y), (b, y), (b, y - 0.05), width=0.8)
        p.text((a + b) / 2, text_y, text, 7.5, "middle", halo="#fff")
    p.text(0.08, 3.3, "chunk 3 (c3, c4 set) of rows 0 to 7: eight places, eight groups of four banks", 8.5, bold=True)
    for row in range(8):
        p.box(0.95 + row * 0.86, 3.5, 0.82, 0.52, f"row {row}: {row:03b}\n⊕ 011 = {swizzled(row, 3):03b}", 7.5, fill=PALE[0])


# --- wgmma's operands ---------------------------------------------------------------------------------------------------------

CHUNK, LINE = 0.36, 0.2  # a cell's width and height: 16 bytes, and a line of 128


def slab(p, left, top, first, tone, bold=lambda row, chunk: False):
    """Sixteen rows of 64 columns: which chunk lies in each place; the pattern repeats every 8 rows."""
    for row in range(16):
        for chunk in range(8):
            x, y = left + swizzled(row, chunk) * CHUNK, top + row * LINE
            p.box(x, y, CHUNK, LINE, first + chunk, 7, fill=tone(row, chunk), edge=GREY, line=0.5)
            if bold(row, chunk):
                p.box(x + 0.015, y + 0.015, CHUNK - 0.03, LINE - 0.03, first + chunk, 8, bold=True, fill=tone(row, chunk), edge=RED, line=1.6)
    for row in (0, 8):
        p.frame(left, top + row * LINE, 8 * CHUNK, 8 * LINE, BLACK, 1.6)


def descriptor(p, left, top, keys):
    p.text(0.08, 0.16, "A cell is a place of 16 bytes in shared memory; its number is the chunk of 8 columns that lies there (swizzle of 128 bytes).", 8)
    p.text(0.08, 0.36, "16 of the tile's 64 rows are shown. Thick border: 8 rows of 128 bytes, where the pattern repeats.", 8)
    p.legend(left, 0.62, *((text, {"fill": tone, "edge": GREY}) for text, tone in zip(keys, TONES)))
    p.text(0.08, top - 0.27, "start, byte", 7.5)
    for row in range(16):
        p.text(left - 0.08, top + (row + 0.5) * LINE, f"row {row}: {row * 128}" if row % 8 == 0 else row * 128, 7, "end", bold=row % 8 == 0)


def span(p, x, y, to_x, to_y):
    p.arrow(x, y, to_x, to_y, width=1)
    p.arrow(to_x, to_y, x, y, width=1)


@figure("descriptor-k-major", 4.72)
def descriptor_k_major(p):
    left, top = 0.95, 1.36
    side = left + 8 * CHUNK
    descriptor(p, left, top, [f"product {i}" for i in range(4)])
    slab(p, left, top, 0, lambda row, chunk: TONES[chunk // 2], lambda row, chunk: chunk // 2 == 1)
    for i in range(4):
        colour = DARK if i == 1 else BLACK
        p.arrow(left + 2 * i * CHUNK, top - 0.2, left + 2 * i * CHUNK, top, colour)
        p.text(left + 2 * i * CHUNK, top - 0.27, f"+{32 * i}", 7.5, "middle", color=colour)
    span(p, side + 0.1, top, side + 0.1, top + 8 * LINE)
    p.text(side + 0.17, top + 4 * LINE, "SBO\n1024 B", 7.5)
    x, y = left + swizzled(11, 2) * CHUNK, top + 11 * LINE  # the example that v3b's page computes by hand
    p.frame(x, y, CHUNK, LINE, BLACK, 2.4)
    p.line((x + CHUNK, y + LINE / 2), (side + 0.1, y + LINE / 2), width=0.8, dash="2 2")
    p.text(side + 0.15, y + LINE / 2, f"key 11, columns 16 to 23: byte {11 * 128 + 16 * swizzled(11, 2)}", 8.5, bold=True)
    x, y = side + 1.2, top + 0.1
    p.text(x, y, "The descriptor of product 1", 9, bold=True, color=DARK)
    for i, (field, value) in enumerate((("start", "+32"), ("SBO", "1024: to the next 8 rows"), ("LBO", "not used"), ("swizzle", "128 bytes"))):
        p.text(x, y + 0.28 * (i + 1), field, 8.5)
        p.text(x + 0.75, y + 0.28 * (i + 1), value, 8.5)


@figure("descriptor-mn-major", 5.2)
def descriptor_mn_major(p):
    left, second, top = 0.95, 4.75, 1.36
    descriptor(p, left, top, ["keys 0–7", "keys 8–15: product 0 reads both"])
    for x, first, text in ((left, 0, "slab 0: columns 0 to 63"), (second, 8, "slab 1: columns 64 to 127, 8192 bytes further")):
        p.text(x, top - 0.46, text, 8)
        slab(p, x, top, first, lambda row, chunk: TONES[row // 8])
    p.arrow(left, top - 0.2, left, top)
    p.text(left, top - 0.27, "+0", 7.5, "middle")
    span(p, left + 8 * CHUNK + 0.1, top, left + 8 * CHUNK + 0.1, top + 8 * LINE)
    p.text(left + 8 * CHUNK + 0.17, top + 4 * LINE, "SBO\n1024 B:\n8 keys to\nthe next 8", 7.5)
    bottom = top + 16 * LINE + 0.1
    span(p, left, bottom, second, bottom)
    p.text(left, bottom + 0.16, "LBO 8192 B: from 64 columns to the next 64", 7.5)
    p.text(0.08, bottom + 0.42, "Products 1 to 3 start at +2048, +4096, +6144: 2048 bytes, or 16 rows, apart.", 8)


@figure("tma-box", 3.75)
def tma_box(p):
    x, top, wide, tall = 0.75, 0.98, 1.5, 2.0
    p.text(0.08, 0.16, "Global memory: K, D = 128", 9, bold=True)
    for i in (2, 1, 0):
        p.rect(x + 0.14 * i, top - 0.14 * i, wide, tall)
    p.text(x + wide + 0.34, top - 0.2, "other\nheads", 7.5)
    p.text(x + wide / 2, top + 0.25, "one head: [S][128]", 8, "middle")
    p.arrow(x - 0.26, top + 1, x, top + 1, RED, 1.3)
    p.text(x - 0.3, top + 1, "row\nt · N", 7.5, "end", color=DARK)
    p.text(0.08, top + tall + 0.35, "Box: 64 rows × 2 slabs, one head. Its\nbegin: column 0, row t · N, slab 0, head.", 8)
    middle = 3.05
    p.text(middle, 0.16, "Shared memory: a slot", 9, bold=True)
    for half in (0, 1):
        p.box(x + half * wide / 2, top + 1, wide / 2, 0.5, f"slab {half}", 8, fill=TONES[half], edge=RED, line=1.6)
        p.box(middle + 0.2, top + half, 1, 1, f"slab {half}\n64 rows of\n128 bytes", 7.5, fill=TONES[half])
        p.text(middle + 0.24, top + half + 0.12, f"+{8192 * half}", 7.5)
    p.arrow(x + wide + 0.06, top + 1.25, middle + 0.16, top + 1, RED, 1.6)
    p.text(middle, top + tall + 0.35, "One copy: 16384 bytes\nfor the mbarrier full.", 8)
    left, line = 5.0, 0.22
    p.text(left - 0.1, 0.16, "The first 8 rows of slab 0, swizzled", 9, bold=True)
    p.text(left, top - 0.14, "place in the row, 16 bytes each: 0 to 7", 7.5)
    for row in range(8):
        p.text(left - 0.05, top + (row + 0.5) * line, row, 7, "end")
        for chunk in range(8):
            first = chunk == 0
            p.box(left + swizzled(row, chunk) * CHUNK, top + row * line, CHUNK, line, chunk, 8, first, **PLAIN | ({"fill": TONES[2]} if first else {}))
    p.frame(left, top, 8 * CHUNK, 8 * line, BLACK, 1.4)
    for from_y, to_y in ((top, top), (top + 0.125, top + 8 * line)):
        p.line((middle + 1.2, from_y), (left, to_y), color=GREY, width=0.8, dash="4 3")
    p.text(left - 0.1, top + 8 * line + 0.4, "Number: the chunk of 8 columns that lies\nthere. Chunk 0 (green) of row r is at\nplace r; chunk c at c xor (r % 8).", 8)


# --- mbarriers: slot 0 of v3a's ring --------------------------------------------------------------------------------------------

# Each event with the barrier that it is at; a full completes with 1 arrival and all bytes, an empty with 4 arrivals.
FILL = [("full", "thread 0 arrives, announces 16384 bytes"), ("full", "K: 8192 bytes written"), ("full", "V: 8192 bytes written")]
EVENTS = [
    *FILL,
    ("full", "a wait for parity 0 passes"),
    *(("empty", f"warp {w} arrives") for w in range(4)),
    ("empty", "a wait for parity 0 passes"),
    *FILL,
    ("full", "a wait for parity 1 passes"),
]


def states():
    """After each event: {barrier: (arrivals pending, bytes pending, phase)}, and which barrier has completed a phase."""
    all_of, state = {"full": 1, "empty": 4}, {"full": (1, 0, 0), "empty": (4, 0, 0)}
    yield dict(state), None
    for name, text in EVENTS:
        arrivals, pending, phase = state[name]
        if "passes" not in text:
            arrivals, pending = arrivals - ("arrives" in text), pending + (16384 if "announces" in text else -8192 if "written" in text else 0)
        done = (arrivals, pending) == (0, 0)
        state[name] = (all_of[name], 0, phase + 1) if done else (arrivals, pending, phase)
        yield dict(state), name if done else None


def squares(p, x, y, pending, most):
    for i in range(most):
        p.rect(x + 0.17 * i, y - 0.06, 0.12, 0.12, fill=BLACK if i < pending else "#fff")


def pending_bytes(p, x, y, number, width, done, text):
    if number:
        p.box(x, y - 0.09, width * number / 16384, 0.18, number, 7, fill=PALE[1], edge=RED, hatch="/")
    else:
        p.text(x, y, f"0: {text}" if done else "0", 7.5, bold=done, color=DARK if done else GREY)


@figure("mbarrier-laps", 4.4)
def mbarrier_laps(p):
    top, row, seen = 0.62, 0.262, list(states())
    p.text(0.12, 0.16, "Slot 0 of v3a's ring", 11, bold=True)
    p.text(0.12, 0.44, "event", 7.5)
    for i, text in enumerate(["the barriers are initialised", *(f"{name}: {text}" for name, text in EVENTS)]):
        if i % 2:
            p.rect(0.06, top + i * row, 7.88, row, fill="#f4f4f4", edge="")
        p.text(0.12, top + (i + 0.5) * row, text, 7.5, italic="passes" in text)
    for x, name, most, colour in ((2.62, "full", 1, BLUE), (5.62, "empty", 4, BLACK)):
        p.text(x, 0.16, name, 11, bold=True, color=colour)
        p.text(x + 0.65, 0.16, f"{most} arrival{'s' * (most > 1)} a phase", 8)
        p.text(x, 0.44, "phase, parity", 7.5)
        p.text(x + 1, 0.44, "arrivals\npending", 7.5)
        phases = [state[name][2] for state, _ in seen]
        for phase in sorted(set(phases)):
            first, rows = phases.index(phase), phases.count(phase)
            p.box(x, top + first * row, 0.85, rows * row, f"phase {phase}\nparity {phase % 2}", 7.5, fill=PALE[0 if phase % 2 == 0 else 4])
        for i, (state, done) in enumerate(seen):
            squares(p, x + 1, top + (i + 0.5) * row, state[name][0], most)
            if name == "full":
                pending_bytes(p, x + 1.73, top + (i + 0.5) * row, state[name][1], 1.0, done == name, "complete")
            elif done == name:
                p.text(x + 1.75, top + (i + 0.5) * row, "complete", 7.5, bold=True, color=DARK)
    p.text(4.35, 0.44, "bytes pending", 7.5)


@figure("mbarrier-full", 2.3)
def mbarrier_full(p):
    top, row, complete = 0.5, 0.34, 3
    for x, text in ((0.12, "event"), (3.0, "arrivals\npending"), (3.95, "bytes pending"), (6.3, "threads at the wait")):
        p.text(x, 0.25, text, 8, bold=True)
    for i, (text, (state, done)) in enumerate(zip(["at the start", *(text for _, text in EVENTS)], list(states())[:5])):
        y = top + (i + 0.5) * row
        if i % 2:
            p.rect(0.06, y - row / 2, 6.1, row, fill="#f4f4f4", edge="")
        p.text(0.12, y, text, 9, italic="passes" in text)
        squares(p, 3.2, y, state["full"][0], 1)
        pending_bytes(p, 3.95, y, state["full"][1], 2.0, done, "phase 0 is complete")
    p.box(6.3, top, 1.58, complete * row, "wait for phase 0", 9, fill=PALE[0])
    p.box(6.3, top + complete * row, 1.58, 2 * row, "go on; phase 1\nhas begun", 9, fill=PALE[4])
