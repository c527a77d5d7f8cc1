"""make figure-data: what the CPU binaries give the figures, written to writeups/results/ or compared with it."""
import json
import subprocess
import tempfile
from pathlib import Path

from .heads import ROOT, Unusable, map_heads
from .results import RESULTS, ladder

# NAME -> build and arguments of `lab trace-shared`. Tile 5 of a causal problem has six key tiles whatever its length, and the
# length decides on two or three slots.
TRACES = {
    "pipeline-2-slots": ("v2b_single_warp/checked", "shape=1,1,512,64,causal block=5 arrays=sQ,sK,sV"),
    "pipeline-3-slots": ("v2b_single_warp/checked", "shape=1,1,1024,64,causal block=5 arrays=sQ,sK,sV"),
    "stripes": ("v2c6_wmma_pv/checked", "shape=1,1,64,64 block=0 arrays=sQ,scratch"),
    "ring-2-slots": ("v2d_ldmatrix/checked", "shape=1,1,512,128,causal block=5 arrays=sK,sV"),
    "ring-3-slots": ("v2d_ldmatrix/checked", "shape=1,1,512,64,causal block=5 arrays=sK,sV"),
    "score-rows": ("v2c3_scalar_smem/checked", "shape=1,1,64,64 block=0 arrays=S_scores"),
    "score-stripes": ("v2c5_wmma_qk/checked", "shape=1,1,64,64 block=0 arrays=sQ,sK,S_scores"),
    "three-slots-each": ("v2c6_wmma_pv/checked", "shape=1,1,1024,64,causal block=3 arrays=sK,sV,scratch"),
    "one-slot-each": ("v2c7_one_slot/checked", "shape=1,1,192,64 block=0 arrays=sK,sV,scratch"),
    "partial-stripe": ("v2c5_wmma_qk/bug-partial_stripe", "shape=1,1,64,64 block=0 arrays=sQ,S_scores,O_accum"),
}
# NAME -> build and arguments of `lab trace-waits`. Three slots and six key tiles: each slot is filled twice, and must be waited for;
# four tiles where two kernels are compared that need more steps.
WAITS = {"laps": ("v3a_tma/fixed", "shape=1,1,384,64 block=0"),
         "no-overlap": ("v3b_wgmma/fixed", "shape=1,1,256,128 block=0"), "no-producer": ("v3c_overlap/fixed", "shape=1,1,256,128 block=0"), "producer": ("v3d_producer/fixed", "shape=1,1,512,128 block=0"),
         "ping-pong": ("v3e_pingpong/fixed", "shape=1,1,512,128 block=0"),
         "one-piece": ("v3h_persistent/fixed", "shape=1,3,256,128 multiprocessors=12"), "stays": ("v3h_persistent/fixed", "shape=1,3,256,128 multiprocessors=4"),
         "two-q": ("v3j_shorter_loop/fixed", "shape=1,3,256,64,causal multiprocessors=1")}
# Kept as it was recorded: two-q's command with a copy of v3j (`make own name=mine from=v3j`) whose Q_SLOTS is 1. No stage builds it.
BY_HAND = {RESULTS / "waits" / "one-q.tsv"}
# NAME -> build and arguments of `lab order`, and of `lab trace-reference`: a row whose reference never moves, and one whose does.
ORDERS = {f"{stage.split('_')[0]}-causal": (f"{stage}/fixed", "shape=2,8,2048,64,causal") for stage in ("v3f_lazy_reference", "v3h_persistent")}
ORDERS |= {f"v3h-long-{D}": ("v3h_persistent/fixed", f"shape=4,16,8192,{D},causal list=0") for D in (64, 128)}
ORDERS |= {f"{stage.split('_')[0]}-long": (f"{stage}/fixed", "shape=4,16,8192,64,causal") for stage in ("v3j_shorter_loop", "v3k_dynamic")}
REFERENCES = {f"amplitude-{a}": ("v3f_lazy_reference/fixed", f"shape=1,1,2048,64 amplitude={a} row=15") for a in ("1", "2.5")}
# NAME -> build and arguments of `lab trace`: the same four tiles through one slot each for K and V, and through a ring of three.
STEPS = {"one-slot": ("v2c8_mma_sync/checked", "shape=1,1,256,64"), "ring": ("v2d_ldmatrix/checked", "shape=1,1,256,64")}
# NAME -> build and arguments of `lab owners`: four tiles, under a mask, so that walks differ in length.
OWNERS = {stage.split("_")[0]: (f"{stage}/fixed", "shape=1,1,128,64,causal") for stage in ("b1_two_kernels", "b2_atomics")}
# Folder of results -> the command of `lab` and what it is asked for.
FOLDERS = {"traces": ("trace-shared", TRACES), "waits": ("trace-waits", WAITS), "orders": ("order", ORDERS), "references": ("trace-reference", REFERENCES), "owners": ("owners", OWNERS)}
LDMATRIX = "v2d_ldmatrix/checked", "layouts shape=1,1,512,64 array=sK"
PLANNED = ["1 8 512 64", "2 8 2048 64", "2 8 2048 128"]


def lab(build, variant, command):
    path = Path(build) / variant / "lab"
    done = subprocess.run([ROOT / path, *command.split()], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise Unusable(f"{path} {command}: exit status {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def all_data(build):
    """Path -> text of everything that `make figure-data` writes."""
    files = {}
    for bug, head in map_heads().items():
        files[RESULTS / "error-maps" / f"{bug}.txt"] = lab(build, f"{head.stage}/bug-{bug}", " ".join(["error-map", *head.arguments]))
    for folder, (command, asked) in FOLDERS.items():
        for name, (variant, arguments) in asked.items():
            files[RESULTS / folder / f"{name}.tsv"] = lab(build, variant, f"{command} {arguments}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (variant, arguments) in STEPS.items():
            path = Path(folder) / f"{name}.json"
            lab(build, variant, f"trace {arguments} json={path}")
            files[RESULTS / "steps" / path.name] = path.read_text()
    stages = ladder()
    plans = [lab(build, f"{stage}/fixed", f"plan {shape}") for stage in stages for shape in PLANNED]
    plans.append(lab(build, "v2b_single_warp/bug-smem_overflow", "plan 2 8 2048 128"))
    for plan in plans:
        json.loads(plan)
    files[RESULTS / "plans.json"] = ('{\n"schema": "plans-1",\n"command": "make figure-data",\n"budget": {"arch": "sm_89", "smem": 101376},\n"plans": [\n'
                                     + ",\n".join(p.strip() for p in plans) + "\n]\n}\n")
    files[RESULTS / "layouts.json"] = lab(build, f"{stages[0]}/fixed", "layouts")
    files[RESULTS / "ldmatrix.json"] = lab(build, *LDMATRIX)
    return files


def write(build):
    files = all_data(build)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    kept = BY_HAND | set(files)
    for folder in ("error-maps", *FOLDERS, "steps"):
        for path in (RESULTS / folder).iterdir():
            if path not in kept:
                path.unlink()
    print(f"wrote {len(files)} files in writeups/results")
    return 0


def compare(build):
    files = all_data(build)
    stale = [path.relative_to(ROOT).as_posix() for path, text in files.items() if not path.exists() or path.read_text() != text]
    for name in stale:
        print(f"stale: {name} is not what the kernels give now; make figure-data")
    print(f"{len(files) - len(stale)} passed, {len(stale)} failed")
    return 1 if stale else 0
