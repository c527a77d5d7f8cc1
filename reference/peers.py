"""What a user would pick instead: PyTorch's scaled_dot_product_attention, one backend at a time, timed as `runner KERNEL bench` times
a stage (checks/bench/gpu/bench.cpp: the same graphs, rotation, flushing and counts; change both or neither).

    python3 reference/peers.py [shape=LIST] [amplitude=x] [quick=1] [round=N] [out=FILE] [probe=1]

Writes the same sample lines as `runner KERNEL bench`, and the two ceilings that shares are taken of: an fp16 matrix product of 8192^3
and a device-to-device copy, counting bytes read and written. No torch or no GPU: one line, exit status 2; probe=1 only looks.
FlashAttention-3 joins where the package fa3-fwd is there (pip install fa3-fwd einops), FlashAttention-4 where flash-attn-4 is
(pip install --pre flash-attn-4 einops; after pip --target DIR, PYTHONPATH needs DIR/nvidia_cutlass_dsl/dsl_packages, too).
Both take [B, S, H, D] and get the same numbers in that form, prepared before the clock runs; FlashAttention-3's wheel has bf16
kernels alone; in bf16 cuDNN takes 2 to 5 % less time than in fp16 at S = 8192 (writeups/results/h100-dynamic.txt).
The math backend is left out: it stores the S x S scores that all the others exist to avoid. FlexAttention is left out: it is
compiled when first called, which would take longer than the whole run.
"""
import ctypes
import math
import sys
import time

sys.dont_write_bytecode = True  # a benchmark leaves nothing beside its sources
from peer_shapes import shapes_named

BACKENDS = ["flash", "cudnn", "efficient", "default"]  # of PyTorch; and fa3, fa4
GRAPH_LENGTH, SHORT_GRAPH, ENERGY_TIME, MOST_CALLS, IDLE_CALLS = 2e3, 500e3, 600e3, 15, 5


def refuse(line):
    print(f"peers: {line}", file=sys.stderr)
    sys.exit(2)


def options(words):
    chosen = {"shape": "all", "quick": "0", "round": "1", "out": "", "probe": "0", "amplitude": "1"}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in chosen:
            refuse(f"'{word}' is none of shape=, quick=, round=, out=, probe=, amplitude=")
        chosen[key] = value
    if not chosen["round"].isdigit() or int(chosen["round"]) < 1:
        refuse(f"round={chosen['round']}: must be a whole number from 1")
    try:
        chosen["amplitude"] = float(chosen["amplitude"])
        if not math.isfinite(chosen["amplitude"]):
            raise ValueError
    except ValueError:
        refuse(f"amplitude={chosen['amplitude']}: must be a finite number")
    return chosen


def optional(module):
    """A peer's function, or None where its wheel is not there, or built for another PyTorch."""
    try:
        return __import__(module, fromlist=["flash_attn_func"]).flash_attn_func
    except Exception:
        return None


chosen = options(sys.argv[1:])
try:
    shapes = shapes_named(chosen["shape"])
except ValueError as e:
    refuse(e)
try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as e:
    refuse(f"PyTorch is not there ({e})")
FLASH = {"fa3": (optional("fa3_fwd_interface"), torch.bfloat16), "fa4": (optional("flash_attn.cute"), torch.float16)}
if not torch.cuda.is_available():
    refuse("PyTorch finds no GPU")
if chosen["probe"] == "1":
    for name in (name for name, (function, _) in FLASH.items() if not function):
        print(f"peers: {name} is left out: its wheel is not there (reference/peers.py names it)", file=sys.stderr)
    sys.exit(0)
round_number, quick = int(chosen["round"]), chosen["quick"] == "1"
WARM_TIME, ROUND_TIME, FEWEST_LAUNCHES, MOST_REPLAYS = (20e3, 10e3, 3, 3) if quick else (200e3, 150e3, 20, 7)
if quick:
    BACKENDS = ["flash", "cudnn"]
lines = []
stream = torch.cuda.Stream()
L2 = torch.cuda.get_device_properties(0).L2_cache_size
KINDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}


def add(record, *fields):
    lines.append("\t".join([record, *map(str, fields)]))


def timed(work, meanwhile=None):
    """Microseconds between two events around work()."""
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record(stream)
    work()
    stop.record(stream)
    if meanwhile:
        meanwhile()
    stop.synchronize()
    return start.elapsed_time(stop) * 1000


def nvml():
    """(clock in MHz, energy in J), read by NVML; None where it is not to be had."""
    try:
        library, device = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
        uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}".encode()
        if library.nvmlInit_v2() != 0 or library.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(device)) != 0:
            return lambda: None
    except (OSError, AttributeError):
        return lambda: None

    def read():
        mhz, millijoules = ctypes.c_uint(), ctypes.c_ulonglong()
        bad = library.nvmlDeviceGetClockInfo(device, 1, ctypes.byref(mhz))
        bad += library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(millijoules))
        return None if bad else (mhz.value, millijoules.value / 1000)
    return read


state_now = nvml()


def see(program, shape, replay, launches, replays):
    """Clock, power and energy of many replays, during which the clock is read."""
    before, during = state_now(), []

    def work():
        for _ in range(replays):
            replay()
    us = timed(work, lambda: during.append(state_now()))
    after = state_now()
    if before and during[0] and after and after[1] > before[1]:
        joules = after[1] - before[1]
        add("seen", program, shape, during[0][0], f"{joules / us * 1e6:.1f}")
        add("fact", program, shape, "energy_uj", f"{joules / replays / launches * 1e6:.6g}")


def graph_times(call, sets, estimate, look=None):
    launches = max(FEWEST_LAUNCHES, int(min(100.0, GRAPH_LENGTH / estimate)))
    launches = (launches + sets - 1) // sets * sets
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        outs = [None] * sets  # an output lives until its set comes round again, as a stage's buffers do
        for i in range(launches):
            outs[i % sets] = call(i % sets)
    length = launches * estimate
    if length < SHORT_GRAPH:
        length = timed(graph.replay)  # a single call's time has its launch in it, a graph's has not
        for _ in range(math.ceil(WARM_TIME / length)):
            graph.replay()
    replays = min(max(int(ROUND_TIME / length), 3 if length < SHORT_GRAPH else 1), MOST_REPLAYS)
    times = []
    for i in range(replays):
        if i + 1 == replays:
            for out in outs:
                if out is not None:
                    out.fill_(math.nan)
        torch.cuda.synchronize()
        times.append(timed(graph.replay) / launches)
    if look:
        look(graph.replay, launches, max(1, int(ENERGY_TIME / length)))
    return times, launches, outs


def text(times):
    return " ".join(f"{t:.3f}" for t in times)


def torch_call(inputs, causal):
    def call(i):
        q, k, v = inputs[i]
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return call


def flash_call(function, dtype, inputs, causal):
    converted = [[x.to(dtype).transpose(1, 2).contiguous() for x in one] for one in inputs]

    def call(i):
        out = function(*converted[i], causal=causal)
        return (out[0] if isinstance(out, tuple) else out).transpose(1, 2)  # a view: [B, H, S, D] again
    return call


def run_case(program, call, word, plan, right):
    shape = word
    warm_sets, all_sets, flushes = plan

    def sample(figure, times):
        add("sample", program, shape, figure, round_number, text(times))

    def wrong(out, i):
        worst = (out[-1, -1, -64:].float() - right[i]).abs().max().item()
        return None if worst <= 5e-3 else f"its last rows are off by {worst:.2g}"  # NaN is never within

    torch.cuda.synchronize()
    for i in range(all_sets):  # the first calls choose and load kernels, too
        if problem := wrong(call(i), i):
            add("case", program, shape, "failed", problem)
            return
    torch.cuda.synchronize()
    timed(lambda: call(0))
    estimate = timed(lambda: call(1))
    if estimate > 2e6:
        add("case", program, shape, "skipped", "more than 2 s a call")
        return
    figures = [("graph", warm_sets, "")] + ([("graph_flushed", all_sets, "_flushed")] if flushes else [])
    for figure, sets, suffix in figures:
        look = (lambda *replays: see(program, shape, *replays)) if figure == "graph" and round_number == 1 and not quick else None
        times, launches, outs = graph_times(call, sets, estimate, look)
        for i, out in enumerate(outs):
            if problem := wrong(out, i):
                add("case", program, shape, "failed", problem + " after timing")
                return
        del outs
        sample(figure, times)
        add("fact", program, shape, "launches_per_graph" + suffix, launches)
        add("fact", program, shape, "sets" + suffix, sets)
    count = min(max(int(ROUND_TIME / 2 / estimate), 1), MOST_CALLS)
    for figure, flush in [] if quick else [("call", False)] + ([("call_flushed", True)] if flushes else []):
        trash = torch.empty(2 * L2 if flush else 1, dtype=torch.uint8, device="cuda")
        times = []
        for i in range(0 if count < MOST_CALLS else -IDLE_CALLS, count):
            if flush:
                trash.fill_(i % 7)
            torch.cuda.synchronize()
            us = timed(lambda: call((i + IDLE_CALLS) % warm_sets))
            if i >= 0:
                times.append(us)
        sample(figure, times)
    add("case", program, shape, "ok", "")


def ceilings():
    n = 8192
    a, b = (torch.randn(n, n, dtype=torch.float16, device="cuda") for _ in range(2))
    out = torch.empty(n, n, dtype=torch.float16, device="cuda")
    product = lambda: torch.matmul(a, b, out=out)
    timed(product)  # chooses and loads a kernel
    times, _, _ = graph_times(lambda i: (product(), None)[1], 1, timed(product))
    add("ceiling", "matrix_fp16_tflops", round_number, text([2 * n**3 / t * 1e-6 for t in times]))
    size = 1 << 32  # no graph: its copy node runs a slower copy than a plain call does
    x, y = (torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2))
    x.random_()
    timed(lambda: y.copy_(x))
    add("ceiling", "copy_gbs", round_number, text([2 * size / timed(lambda: y.copy_(x)) * 1e-3 for _ in range(MOST_REPLAYS)]))


def main():
    add("meta", "torch", torch.__version__)
    add("meta", "cudnn", torch.backends.cudnn.version())
    add("meta", "multiprocessors", torch.cuda.get_device_properties(0).multi_processor_count)
    torch.manual_seed(round_number)
    terminal, begin = sys.stderr.isatty(), time.monotonic()
    with torch.no_grad(), torch.cuda.stream(stream):
        if not quick:
            ceilings()
        torch.cuda.empty_cache()
        for done, word in enumerate(shapes):
            left = f"about {(time.monotonic() - begin) * (len(shapes) - done) / done:.0f} s left" if done else "no estimate yet"
            print(f"{chr(13) + chr(27) + '[K' if terminal else ''}[{done + 1}/{len(shapes)}] PyTorch {word}, "
                  f"{len(shapes) - done - 1} more after it, {left}", end="" if terminal else "\n", file=sys.stderr, flush=True)
            B, H, S, D = map(int, word.split(",")[:4])
            set_bytes = 4 * B * H * S * D * 2
            warm_sets = min(max(L2 * 3 // 4 // set_bytes, 2), 4)
            flushes = set_bytes <= 2 * L2 and not quick
            all_sets = max(warm_sets, 2 * L2 // set_bytes + 2) if flushes else warm_sets
            inputs = [[torch.randn(B, H, S, D, dtype=torch.float16, device="cuda") for _ in range(3)] for _ in range(all_sets)]
            for q, k, _ in inputs:
                q.mul_(chosen["amplitude"]), k.mul_(chosen["amplitude"])
            right = []  # of the last 64 rows of the last head, in fp64
            for q, k, v in inputs:
                scores = q[-1, -1, -64:].double() @ k[-1, -1].double().T / math.sqrt(D)
                if word.endswith("causal"):
                    hidden = torch.arange(S, device="cuda")[None] > torch.arange(max(S - 64, 0), S, device="cuda")[:, None]
                    scores.masked_fill_(hidden, -math.inf)
                right.append((scores.softmax(-1) @ v[-1, -1].double()).float())
            causal, plan = word.endswith("causal"), (warm_sets, all_sets, flushes)
            call = torch_call(inputs, causal)
            for backend in BACKENDS:
                try:
                    if backend == "default":
                        run_case("torch_default", call, word, plan, right)
                    else:
                        with sdpa_kernel(KINDS[backend]):
                            run_case("torch_" + backend, call, word, plan, right)
                except RuntimeError as e:
                    add("case", "torch_" + backend, word, "failed", str(e).splitlines()[0].replace("\t", " "))
            for name, (function, dtype) in FLASH.items():
                if function:
                    try:
                        run_case(name, flash_call(function, dtype, inputs, causal), word, plan, right)
                    except RuntimeError as e:
                        add("case", name, word, "failed", str(e).splitlines()[0].replace("\t", " "))
            del inputs, right
            torch.cuda.empty_cache()
    if terminal:
        print("\r\033[K", end="", file=sys.stderr)
    output = "\n".join(lines) + "\n"
    if chosen["out"]:
        try:
            with open(chosen["out"], "w") as file:
                file.write(output)
        except OSError as e:
            refuse(f"out={chosen['out']}: {e.strerror}")
    else:
        print(output, end="")


main()
