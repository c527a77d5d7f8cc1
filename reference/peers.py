"""Attention kernels of this lab and what a user would call instead, timed in turns in one process.

    python3 reference/peers.py [KERNEL.so...] [shape=LIST] [rounds=N] [backward=1] [amplitude=x] [out=FILE.csv] [probe=1]

KERNEL.so: libraries of stages (build/gpu/STAGE/fixed/kernel.so), of one pass. Peers: PyTorch's flash (FlashAttention-2) and cuDNN; where
their wheels are there FlashAttention-3 (fa3-fwd, bf16 alone, forward), FlashAttention-4 (flash-attn-4 and nvidia-cutlass-dsl), forward
FlashInfer's fa3 and TensorRT-LLM's fmha_v2 (flashinfer-python, which needs nvcc), backward FlashAttention-4's deterministic form.
Inputs are N(0,1), q and k times the amplitude, in two to four sets that rotate; peers with another layout or type get theirs converted
before the clock runs. In each round a program first runs for half a second, then a CUDA graph of its calls is timed for 100 ms, or for a
second where a call takes more than one millisecond; the next program does the same, in every other round in the opposite order. A ratio
divides times of one round. A program whose results are wrong, before or after timing, is not timed.
FILE has a row for each program, shape and round. No PyTorch or no GPU: one line, exit status 2; probe=1 only looks.
"""
import ctypes
import datetime
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # a benchmark leaves nothing beside its sources

# checks/bench/shapes.cpp has the same lists.
ACCEPTANCE = ["1,8,512,64", "1,8,512,64,causal", "2,8,2048,64", "2,8,2048,64,causal", "2,8,2048,128", "2,8,2048,128,causal"]
LONG = ["4,16,8192,64", "4,16,8192,64,causal", "4,16,8192,128", "4,16,8192,128,causal"]
SWEEP = [f"{heads // 8},8,{S},{D}{causal}" for D in (64, 128) for causal in ("", ",causal") for heads in (8, 16, 32, 64, 128)
         for S in (128 << i for i in range(8))]
WARM_US, GRAPH_US, MOST_CALLS, SLOWEST_US = 500e3, 2e3, 200, 2e6
# A call of over a millisecond is timed for a second: where the power limit sets the clock, samples of 20 ms differ by 10 % with their place in the round.
LONG_CALL_US, TIMED_US, LONG_TIMED_US = 1e3, 100e3, 1e6
TOLERANCE = {False: 5e-3, True: 2e-2}  # of an output, of a gradient: a wrong one is off by 0.1 and more


def refuse(line):
    print(f"peers: {line}", file=sys.stderr)
    sys.exit(2)


def shapes_named(words):
    lists = {"acceptance": ACCEPTANCE, "long": LONG, "all": ACCEPTANCE + LONG, "sweep": SWEEP}
    if words in lists:
        return lists[words]
    for word in words.split(";"):
        parts = word.split(",")
        if len(parts) not in (4, 5) or not all(p.isdigit() and int(p) > 0 for p in parts[:4]) or parts[4:] not in ([], ["causal"]):
            refuse(f"shape={word}: neither B,H,S,D[,causal] nor one of acceptance, long, all, sweep")
        if parts[3] not in ("64", "128"):
            refuse(f"shape={word}: the stages take head dimensions 64 and 128")
    return words.split(";")


def number(name, word, good, kind):
    try:
        value = kind(word)
    except ValueError:
        value = math.nan
    if not good(value):
        refuse(f"{name}={word}: must be a {'whole number from 1 to 9999' if kind is int else 'finite number'}")
    return value


chosen = {"shape": "all", "rounds": "3", "out": "", "probe": "0", "amplitude": "1", "backward": "0"}
kernels = []
for argument in sys.argv[1:]:
    key, equals, value = argument.partition("=")
    if equals and key in chosen:
        chosen[key] = value
    elif argument.endswith(".so") and Path(argument).is_file():
        kernels.append(Path(argument))
    else:
        refuse(f"'{argument}' is neither a kernel's library nor one of {'=, '.join(chosen)}=")
shapes = shapes_named(chosen["shape"])
rounds = number("rounds", chosen["rounds"], lambda n: 1 <= n <= 9999, int)
amplitude = number("amplitude", chosen["amplitude"], math.isfinite, float)
try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as e:
    refuse(f"PyTorch is not there ({e})")
if not torch.cuda.is_available():
    refuse("PyTorch finds no GPU")
if chosen["probe"] == "1":
    sys.exit(0)
libraries = {kernel.parent.parent.name if kernel.name == "kernel.so" else kernel.stem: ctypes.CDLL(str(kernel.resolve())) for kernel in kernels}
passes = {hasattr(library, "attention_backward") for library in libraries.values()} or {chosen["backward"] == "1"}
if len(passes) > 1:
    refuse("kernels of one pass at a time")
BACKWARD = passes.pop()
stream = torch.cuda.Stream()


# --- programs: each takes sets of [B, H, S, D] inputs, and gives a call of set i that returns [B, H, S, D] outputs ------------------
def stage(library):
    def prepare(sets, causal):
        B, H, S, D = sets[0][0].shape
        name = "attention_backward" if BACKWARD else "attention"
        size = getattr(library, name + "_workspace", None)
        if size:
            size.restype = ctypes.c_size_t
        outputs = [[torch.empty_like(x[0]) for _ in range(3 if BACKWARD else 1)] for x in sets]
        spaces = [torch.empty(max(16, size(B, H, S, D, causal) if size else 0), dtype=torch.uint8, device="cuda") for _ in sets]

        def launch(function, i):
            pointers = [ctypes.c_void_p(x.data_ptr()) for x in (*sets[i], *outputs[i])]
            error = getattr(library, function)(*pointers, B, H, S, D, ctypes.c_float(D**-0.5), causal, ctypes.c_void_p(spaces[i].data_ptr()),
                                               ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
            if error:
                raise RuntimeError(f"refused: cudaError_t {error}")
            return outputs[i]

        gradients = name + "_gradients"
        if not hasattr(library, gradients):
            return lambda i: launch(name, i)
        for i in range(len(sets)):
            launch(name, i)  # saves O and L, which the gradients are timed from
        return lambda i: launch(gradients, i)
    return prepare


def autograd(forward, sets):
    """Gradients of forward(q, k, v); sets in the layout that it takes."""
    leaves = [[x.detach().requires_grad_() for x in one[:3]] for one in sets]
    outs = [forward(*one) for one in leaves]
    outs = [out[0] if isinstance(out, tuple) else out for out in outs]
    return lambda i: torch.autograd.grad(outs[i], leaves[i], sets[i][3], retain_graph=True)


def pytorch(backend):
    def prepare(sets, causal):
        def forward(q, k, v):
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return autograd(forward, sets) if BACKWARD else lambda i: [forward(*sets[i])]
    return prepare


def flash(function, dtype=torch.float16, **words):
    """FlashAttention-3 and -4 take [B, S, H, D]."""
    def prepare(sets, causal):
        own = [[x.to(dtype).transpose(1, 2).contiguous() for x in one] for one in sets]

        def forward(q, k, v):
            return function(q, k, v, causal=causal, **words)
        if BACKWARD:
            call = autograd(forward, own)
            return lambda i: [x.transpose(1, 2) for x in call(i)]

        def call(i):
            out = forward(*own[i])
            return [(out[0] if isinstance(out, tuple) else out).transpose(1, 2)]
        return call
    return prepare


def flashinfer(package, fmha_v2):
    """FlashInfer takes [B S, H, D] and where each sequence begins."""
    def prepare(sets, causal):
        B, H, S, D = sets[0][0].shape
        own = [[x.transpose(1, 2).reshape(B * S, H, D) for x in one] for one in sets]
        outs = [torch.empty_like(one[0]) for one in own]
        begins = torch.arange(B + 1, dtype=torch.int32, device="cuda") * S
        space = torch.zeros(128 << 20, dtype=torch.uint8, device="cuda")
        if fmha_v2:
            lengths = torch.full((B,), S, dtype=torch.int32, device="cuda")

            def run(i):
                package.prefill.trtllm_fmha_v2_prefill(tuple(own[i]), "SEPARATE_Q_K_V", space, lengths, S, S, D**-0.5, 1.0, B, begins, begins,
                                                       out=outs[i], mask_mode="causal" if causal else "padding")
        else:
            wrapper = package.BatchPrefillWithRaggedKVCacheWrapper(space, "NHD", backend="fa3")
            wrapper.plan(begins, begins, H, H, D, causal=causal, q_data_type=torch.float16)

            def run(i):
                wrapper.run(*own[i], out=outs[i])

        def call(i):
            run(i)
            return [outs[i].view(B, S, H, D).transpose(1, 2)]
        return call
    return prepare


def optional(module, name=None):
    """A module, or a function of it; None where its wheel is not there, or built for another PyTorch."""
    try:
        found = __import__(module, fromlist=[name or "prefill"])
        return getattr(found, name) if name else found
    except Exception as e:
        print(f"peers: {module} is left out: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}", file=sys.stderr)
        return None


def programs():
    found = {name: stage(library) for name, library in libraries.items()}
    found["FlashAttention-2"] = pytorch(SDPBackend.FLASH_ATTENTION)
    found["cuDNN"] = pytorch(SDPBackend.CUDNN_ATTENTION)
    if (fa4 := optional("flash_attn.cute", "flash_attn_func")):
        found["FlashAttention-4"] = flash(fa4)
        if BACKWARD:
            found["FlashAttention-4 deterministic"] = flash(fa4, deterministic=True)
    if not BACKWARD and (fa3 := optional("fa3_fwd_interface", "flash_attn_func")):
        found["FlashAttention-3 bf16"] = flash(fa3, torch.bfloat16)
    if not BACKWARD and (package := optional("flashinfer")):
        found["FlashInfer fa3"] = flashinfer(package, False)
        found["TensorRT-LLM fmha_v2"] = flashinfer(package, True)
    return found


# --- right or wrong: the last head in fp64, forward its last rows --------------------------------------------------------------------
def right_answer(inputs, causal):
    heads = [x[-1:, -1:].double().requires_grad_() for x in inputs]
    q, k, v = heads[:3]
    if BACKWARD:
        with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return [x.float() for x in torch.autograd.grad(out, (q, k, v), heads[3])]
    S, D = q.shape[2:]
    rows = torch.arange(max(S - 64, 0), S, device="cuda")
    scores = q[:, :, rows] @ k.transpose(2, 3) / math.sqrt(D)
    if causal:
        scores.masked_fill_(torch.arange(S, device="cuda")[None] > rows[:, None], -math.inf)
    return [(scores.softmax(-1) @ v).float()]


def hold(outputs, right):
    for got, want in zip(outputs, right):
        worst = (got[-1:, -1:, -want.shape[2]:].float() - want).abs().max().item()
        if not worst <= TOLERANCE[BACKWARD]:  # NaN is not
            raise RuntimeError(f"its results are off by {worst:.2g}")


# --- time ------------------------------------------------------------------------------------------------------------------------
def nvml():
    """A function that reads (clock in MHz, power in W of the last second); of (nan, nan) where NVML is not to be had."""
    try:
        library, device = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
        uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}".encode()
        if library.nvmlInit_v2() != 0 or library.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(device)) != 0:
            return lambda: (math.nan, math.nan)
    except (OSError, AttributeError):
        return lambda: (math.nan, math.nan)

    def read():
        mhz, milliwatts = ctypes.c_uint(), ctypes.c_uint()
        library.nvmlDeviceGetClockInfo(device, 1, ctypes.byref(mhz))
        library.nvmlDeviceGetPowerUsage(device, ctypes.byref(milliwatts))
        return mhz.value, milliwatts.value / 1000
    return read


state_now = nvml()


def between(start, stop):
    return start.elapsed_time(stop) * 1000


class Timed:
    def __init__(self, name, prepare, sets, causal, right):
        self.name, self.us, self.right = name, [], right
        self.call = prepare(sets, causal)
        for i in range(len(sets)):  # the first calls choose, build and load kernels, too
            hold(self.call(i), right[i])
        estimate = min(self.once(i) for i in range(2))
        if estimate > SLOWEST_US:
            raise RuntimeError(f"a call takes {estimate * 1e-6:.1f} s")
        calls = min(max(int(GRAPH_US / estimate), 4 if estimate < GRAPH_US else 1), MOST_CALLS)
        self.calls = -(-calls // len(sets)) * len(sets)
        self.graph, self.outs = torch.cuda.CUDAGraph(), [None] * len(sets)
        with torch.cuda.graph(self.graph, stream=stream):
            for i in range(self.calls):
                self.outs[i % len(sets)] = self.call(i % len(sets))
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        self.length = between(begin, end)

    def once(self, i):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        self.call(i)
        end.record()
        end.synchronize()
        return between(begin, end)

    def sample(self):
        """(us, MHz, W) of a round."""
        for outputs in self.outs:
            for output in outputs:
                output.fill_(math.nan)
        torch.cuda.synchronize()
        begin, warm, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
        begin.record()
        for _ in range(math.ceil(WARM_US / self.length)):
            self.graph.replay()
        warm.record()
        timed = LONG_TIMED_US if self.length / self.calls > LONG_CALL_US else TIMED_US
        replays = math.ceil(timed / self.length)
        for _ in range(replays):
            self.graph.replay()
        end.record()
        time.sleep((WARM_US + timed) * 0.9e-6)  # clock and power are read while the GPU is busy
        mhz, watts = state_now()
        end.synchronize()
        self.us.append(between(warm, end) / replays / self.calls)
        for outputs, right in zip(self.outs, self.right):
            hold(outputs, right)
        return self.us[-1], mhz, watts


def table(word, timed, flop):
    """Lines of a shape, the fastest program first; a lead divides the fastest peer's time by the program's, round by round."""
    peers = [t for t in timed if t.name not in libraries]
    fastest = min(peers, key=lambda t: statistics.median(t.us), default=None)
    lines = [f"({word})"]
    for t in sorted(timed, key=lambda t: statistics.median(t.us)):
        us = statistics.median(t.us)
        lead = sorted(peer / own for peer, own in zip(fastest.us, t.us)) if fastest else []
        says = f"{statistics.median(lead):7.3f} ({lead[0]:.3f} to {lead[-1]:.3f})" if lead else ""
        lines.append(f"  {t.name:<32} {us:10.2f} us {flop / us * 1e-6:8.1f} TFLOP/s {says}")
    return "\n".join(lines)


def main():
    gpu, date = torch.cuda.get_device_name(), datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.split()
    where = f"{gpu}, driver {(driver or ['unknown'])[0]}, CUDA {torch.version.cuda}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {date}"
    command = " ".join(["peers.py", *(x for x in sys.argv[1:] if "=" in x and not x.startswith("out="))])
    rows = [f"# {where}; {command}: us of a call in a CUDA graph, after {WARM_US / 1e3:.0f} ms of the same, programs in turns\n",
            "date,gpu,program,shape,round,us,MHz,W\n"]
    torch.manual_seed(1)
    print(where, "a lead is the fastest peer's time over the program's: median (least to most) of the rounds", sep="\n", flush=True)
    everything, begun = programs(), time.monotonic()
    for done, word in enumerate(shapes):
        B, H, S, D = map(int, word.split(",")[:4])
        causal = word.endswith("causal")
        left = f"about {(time.monotonic() - begun) * (len(shapes) - done) / done:.0f} s left" if done else "no estimate yet"
        print(f"[{done + 1}/{len(shapes)}] {word}, {len(everything)} programs, {left}", file=sys.stderr, flush=True)
        bytes_of_set = (7 if BACKWARD else 4) * B * H * S * D * 2
        count = min(max(torch.cuda.get_device_properties(0).L2_cache_size * 3 // 4 // bytes_of_set, 2), 4)
        sets = [[torch.randn(B, H, S, D, dtype=torch.float16, device="cuda") for _ in range(4 if BACKWARD else 3)] for _ in range(count)]
        for one in sets:
            for x in one[:2]:
                x.mul_(amplitude)
        right = [right_answer(one, causal) for one in sets]
        timed = []
        with torch.cuda.stream(stream), torch.set_grad_enabled(BACKWARD):
            for name, prepare in everything.items():
                try:
                    timed.append(Timed(name, prepare, sets, causal, right))
                except Exception as e:  # a peer may refuse in any way
                    print(f"peers: {name} on {word} is not timed: {(str(e) or type(e).__name__).splitlines()[0]}", file=sys.stderr)
                    torch.cuda.synchronize()
            for i in range(rounds):
                first = i % max(len(timed), 1)
                turn = timed[first:] + timed[:first]
                for t in reversed(turn) if i % 2 else turn:  # so that none always follows the same one
                    us, mhz, watts = t.sample()
                    rows.append(f"{date},{gpu},{t.name},{word.replace(',', ' ')},{i + 1},{us:.3f},{mhz:.0f},{watts:.0f}\n")
        print(table(word, timed, (2.5 if BACKWARD else 1) * 4 * B * H * S * S * D * (0.5 if causal else 1)), flush=True)
        if chosen["out"]:  # a run that is cut off keeps what it has
            try:
                Path(chosen["out"]).write_text("".join(rows))
            except OSError as e:
                refuse(f"out={chosen['out']}: {e.strerror}")
        del timed, sets, right
        torch.cuda.empty_cache()


main()
