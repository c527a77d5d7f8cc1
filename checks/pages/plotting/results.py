"""The committed results as the figures and tables want them. A file that cannot be used is one line and exit status 2."""
import json
import re

from .heads import ROOT, Unusable, map_heads, name_of

RESULTS = ROOT / "writeups" / "results"
SCHEMAS = {"bench": "bench-1", "predictions": "predictions-1", "profile": "profile-1", "resources": "resources-1", "plans": "plans-1",
           "layouts": "layouts-1", "ldmatrix": "ldmatrix-1", "phases": "phases-1", "counted": "counted-1", "sweep": "sweep-1", "steps": "trace-1"}
MAP_SCHEMA, TRACE_SCHEMA = "error-map-2", "trace-shared-1"
WAITS_SCHEMA, ORDER_SCHEMA, REFERENCE_SCHEMA, OWNERS_SCHEMA = "trace-waits-1", "order-1", "reference-1", "owners-1"
ACCEPTANCE = ["1,8,512,64", "1,8,512,64,causal", "2,8,2048,64", "2,8,2048,64,causal", "2,8,2048,128"]
PEERS = {"torch_flash": "FlashAttention-2", "torch_cudnn": "cuDNN", "torch_efficient": "efficient", "torch_default": "default",
         "fa3": "FlashAttention-3", "fa4": "FlashAttention-4"}


def load(path, kind):
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as e:
        raise Unusable(f"{name_of(path)}: {e}") from None
    found = data.get("schema") if isinstance(data, dict) else None
    if found != SCHEMAS[kind]:
        raise Unusable(f"{name_of(path)}: schema {found!r}, but this needs {SCHEMAS[kind]!r}; run the command that makes it again")
    return data


def short(stage):
    return stage.split("_")[0]


def natural(name):
    """v2c9 before v2c10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def ladder():
    """All stages of the forward pass, in the order of their names, whether or not they were measured."""
    stages = (path.parent.name for path in (ROOT / "stages").glob("*/stage.conf"))
    return sorted((stage for stage in stages if says(stage, "pass") != "backward"), key=natural)


def says(stage, key):
    """What a stage's stage.conf says, "" where it has no such key."""
    found = re.search(rf'^{key}="([^"]*)"', (ROOT / "stages" / stage / "stage.conf").read_text(), re.M)
    return found[1] if found else ""


def before(stage):
    """The stage that a stage grows out of, "" for the first."""
    return next((other for other in ladder() if other == says(stage, "from")), "")


def needs(stage):
    """What a stage needs of a GPU beyond its target."""
    return says(stage, "needs").split()


def title(shape):
    parts = shape.split(",")
    return "(" + ",".join(parts[:4]) + ")" + (" causal" if len(parts) == 5 else "")


def newest(pattern, kind):
    """Name and content of the latest run among such files; "", None where there is none."""
    runs = {path.name: load(path, kind) for path in sorted(RESULTS.glob(pattern))}
    return max(runs.items(), key=lambda run: run[1]["date"], default=("", None))


class Results:
    def __init__(self):
        self.bench_file, self.bench = newest("bench-*.json", "bench")
        if not self.bench:
            raise Unusable("writeups/results/ has no bench-*.json; make bench writes one")
        # Small problems, with the stages that are made for them, and the fastest stages beside all peers: runs of their own.
        self.small_file, self.small = newest("small-*.json", "bench")
        self.ahead_file, self.ahead = newest("ahead-*.json", "bench")
        self.sweep_file, self.sweep = newest("sweep-*.json", "sweep")
        self.phases = [load(p, "phases") for p in sorted(RESULTS.glob("phases-*.json"))]
        self.counted = load(RESULTS / "counters.json", "counted")
        self.resources = load(RESULTS / "resources.json", "resources")
        self.plans = load(RESULTS / "plans.json", "plans")
        self.predictions = load(RESULTS / "predictions.json", "predictions")
        self.profiles = [load(p, "profile") for p in sorted(RESULTS.glob("profile-*.json"))]
        self.layouts = load(RESULTS / "layouts.json", "layouts")
        self.ldmatrix = load(RESULTS / "ldmatrix.json", "ldmatrix")
        self.heads = map_heads()
        self.maps = {bug: {**read_map(RESULTS / "error-maps" / f"{bug}.txt"), "caption": head.caption, "beside": head.beside} for bug, head in self.heads.items()}
        self.traces = {path.stem: read_trace(path) for path in sorted((RESULTS / "traces").glob("*.tsv"))}
        self.waits = {path.stem: read_trace(path, WAITS_SCHEMA) for path in sorted((RESULTS / "waits").glob("*.tsv"))}
        self.orders = {path.stem: read_trace(path, ORDER_SCHEMA) for path in sorted((RESULTS / "orders").glob("*.tsv"))}
        self.references = {path.stem: read_trace(path, REFERENCE_SCHEMA) for path in sorted((RESULTS / "references").glob("*.tsv"))}
        self.owners = {path.stem: read_trace(path, OWNERS_SCHEMA) for path in sorted((RESULTS / "owners").glob("*.tsv"))}
        self.steps = {path.stem: load(path, "steps") for path in sorted((RESULTS / "steps").glob("*.json"))}
        self.cases = {(c["program"], c["shape"]): c for c in self.bench["cases"]}
        # In the order of the ladder, whatever order they were timed in; a stage that has left the ladder is no step of it.
        timed = {c["program"] for c in self.bench["cases"] if c["kind"] == "stage"}
        self.stages = [stage for stage in ladder() if stage in timed]
        self.shapes = list(dict.fromkeys(c["shape"] for c in self.bench["cases"]))

    def figure(self, program, shape, name="graph"):
        case = self.cases.get((program, shape))
        return case["figures"][name] if case and case["status"] == "ok" else None

    def time(self, program, shape, name="graph"):
        figure = self.figure(program, shape, name)
        return figure["median"] if figure else None

    def profile(self, stage, shape):
        return next((p for p in self.profiles if (p["stage"], p["shape"]) == (stage, shape)), None)

    def ceiling(self, name):
        figure = self.bench["ceilings"].get(name)
        return figure["median"] if figure else None

    def source(self, run=None):
        b = run or self.bench
        return f"{b['gpu']}, driver {b['driver']}, CUDA {b['cuda']}, PyTorch {b.get('torch', 'absent')}, {b['date'][:10]}"


def read_head(path, schema):
    """The `key: value` lines before the first empty one, and what follows it."""
    try:
        head, _, body = path.read_text().partition("\n\n")
    except OSError as e:
        raise Unusable(f"{name_of(path)}: {e.strerror}") from None
    facts = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    if facts.get("schema") != schema:
        raise Unusable(f"{name_of(path)}: schema {facts.get('schema')!r}, but this needs {schema!r}; make figure-data writes it")
    return facts, body


def read_map(path):
    """An error map: `seen` and `predicted` are lines of characters, `sample` rows of [row, column, reference, (predicted,) seen]."""
    facts, body = read_head(path, MAP_SCHEMA)
    for section in body.split("\n\n"):
        title, *lines = section.splitlines()
        if title.startswith("sample:"):
            facts["sample"] = [[float(x) for x in line.split()] for line in lines]
            continue
        facts[title] = lines
        if len({len(line) for line in lines}) != 1:
            raise Unusable(f"{name_of(path)}: its lines are not of one length")
    if "seen" not in facts:
        raise Unusable(f"{name_of(path)}: it has no part 'seen'")
    return facts


def read_trace(path, schema=TRACE_SCHEMA):
    """What a block did with its shared memory, or waited for: `events` are dicts, in the order in which the CPU met them."""
    facts, body = read_head(path, schema)
    header, *lines = body.splitlines()
    names = header.split("\t")
    facts["arrays"] = {}
    for key in [k for k in facts if k.startswith("array ")]:
        found = re.fullmatch(r"(\w+), (\d+) rows of (\d+)", facts.pop(key))
        facts["arrays"][key.split()[1]] = {"type": found[1], "rows": int(found[2]), "pitch": int(found[3])}
    facts["events"] = [{n: (int(v) if v.isdigit() else v) for n, v in zip(names, line.split("\t"))} for line in lines]
    return facts


def peer_title(program):
    own = {"fa3": " (bf16)", "fa4": ""}
    return PEERS[program] + own[program] if program in own else "PyTorch " + PEERS[program]


def best_peer(r, shape):
    times = [(p, r.time(p, shape)) for p in PEERS if p != "torch_default" and r.time(p, shape) is not None]  # default picks one of them
    return min(times, key=lambda pair: pair[1]) if times else None


# The stages that are held against every peer, and the peers that a user would call: of PyTorch's others, default picks one of these, and
# efficient is far behind.
FASTEST = ["v3j_shorter_loop", "v3k_dynamic"]
RIVALS = {"torch_cudnn": "cuDNN", "torch_flash": "FA2", "fa3": "FA3", "fa4": "FA4"}


def fastest(times, programs):
    """Of these programs the one with the least time; times: program -> microseconds, of one shape."""
    return min((program for program in programs if program in times), key=times.get)


def comparable(times):
    """Of one shape's programs the stages; v4c is none of them: its launches overlap, and no peer's do."""
    return [program for program in times if program not in PEERS and short(program) != "v4c"]


# What a warp waits for: Nsight Compute's name and ours.
STALLS = {"barrier": "block barrier", "short_scoreboard": "shared memory, shuffles, exp", "wait": "fixed latency", "selected": "issuing",
          "not_selected": "ready, not chosen", "math_pipe_throttle": "arithmetic pipe busy", "mio_throttle": "shared-memory queue full",
          "long_scoreboard": "global memory", "gmma": "wgmma"}
# Those too seldom large for a colour of their own: in words.
RARER = {"no_instruction": "instruction fetch", "dispatch_stall": "dispatch", "branch_resolving": "branches", "uncollected": "not collected", "membar": "memory fence", "lg_throttle": "global-memory queue full"}


def stall_shares(profile):
    """Shares of the time of a resident warp. "uncollected": the reasons that the profile does not have, such as ncu's gmma, the wait for a wgmma."""
    ratios = {}
    for name, value in profile["metrics"].items():
        if found := re.fullmatch(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio", name):
            ratios[found[1]] = value
    if not ratios:
        return {}
    # Warps of a scheduler (at most 16) per instruction that it issues: what all reasons add up to.
    resident = 16 * profile["metrics"]["sm__warps_active.avg.pct_of_peak_sustained_active"] / profile["metrics"]["smsp__issue_active.avg.pct_of_peak_sustained_active"]
    total = max(resident, sum(ratios.values()))
    return {name: value / total for name, value in ratios.items()} | {"uncollected": 1 - sum(ratios.values()) / total}


def row_tiles(shape):
    parts = shape.split(",")
    B, H, S = map(int, parts[:3])
    return B * H * S * S / 64 / (2 if len(parts) == 5 else 1)


def instructions(profile):
    """Of a warp, per query row and 64 keys."""
    return profile["metrics"]["smsp__inst_executed.sum"] / row_tiles(profile["shape"])


def medians(run):
    """(program, shape) -> microseconds in a replayed graph, of a run's good cases."""
    return {(c["program"], c["shape"]): c["figures"]["graph"]["median"] for c in run["cases"] if c["status"] == "ok"}


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def row_of(cells):
    """An empty cell is one blank."""
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)
