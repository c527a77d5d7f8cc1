"""The backward pass of PyTorch's scaled_dot_product_attention on its flash backend (FlashAttention-2) and on cuDNN, timed as
`runner KERNEL bench` times a backward stage (checks/bench/gpu/backward_bench.cpp: change both or neither).

    python3 reference/backward_peers.py [shape=LIST]

A line a backend and shape; of a backend that refuses, or whose gradients are wrong, the line says why. No torch or no GPU: one
line, exit status 2.
"""
import statistics
import sys

sys.dont_write_bytecode = True  # a benchmark leaves nothing beside its sources
from peer_shapes import shapes_named

SETS, ORACLE_ROWS, GRAPH_LENGTH, FEWEST_LAUNCHES, MOST_LAUNCHES, REPLAYS, CALLS = 2, 512, 2e3, 20, 100, 7, 15
TOLERANCE = 2e-2  # of gradients of N(0,1) inputs: 1e-3 is usual, and a wrong one is off by 0.1 and more


def refuse(line):
    print(f"backward peers: {line}", file=sys.stderr)
    sys.exit(2)


words = dict(word.partition("=")[::2] for word in sys.argv[1:])
if set(words) - {"shape"}:
    refuse(f"takes shape= and nothing else: {' '.join(sys.argv[1:])}")
try:
    shapes = shapes_named(words.get("shape", "all"))
except ValueError as e:
    refuse(e)
try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as e:
    refuse(f"PyTorch is not there ({e})")
if not torch.cuda.is_available():
    refuse("PyTorch finds no GPU")
BACKENDS = {"torch_flash (FA2)": SDPBackend.FLASH_ATTENTION, "torch_cudnn": SDPBackend.CUDNN_ATTENTION}
stream = torch.cuda.Stream()


def timed(work):
    """Microseconds between two events around work()."""
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record(stream)
    work()
    stop.record(stream)
    stop.synchronize()
    return start.elapsed_time(stop) * 1000


def forward(shape, causal, count, dtype=torch.float16):
    """Inputs, the output with its graph, and dO; `count` sets."""
    sets = []
    for _ in range(count):
        q, k, v = (torch.randn(shape, dtype=dtype, device="cuda", requires_grad=True) for _ in range(3))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        sets.append(((q, k, v), out, torch.randn(shape, dtype=dtype, device="cuda")))
    return sets


def backward(one):
    inputs, out, dout = one
    return torch.autograd.grad(out, inputs, dout, retain_graph=True)


def worst_difference(S, D, causal, backend):
    """From the gradients in fp64, of one head."""
    with sdpa_kernel(backend):
        (one,) = forward((1, 1, min(S, ORACLE_ROWS), D), causal, 1)
        got = backward(one)
    inputs = [x.detach().double().requires_grad_() for x in one[0]]
    with sdpa_kernel(SDPBackend.MATH):
        out = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=causal)
        right = torch.autograd.grad(out, inputs, one[2].double())
    return max((a.double() - b).abs().max().item() for a, b in zip(got, right))


def time_case(word, backend):
    B, H, S, D = map(int, word.split(",")[:4])
    causal = word.endswith("causal")
    worst = worst_difference(S, D, causal, backend)
    if not worst <= TOLERANCE:
        raise RuntimeError(f"its gradients are off by {worst:.2g}")
    with sdpa_kernel(backend):
        sets = forward((B, H, S, D), causal, SETS)
        backward(sets[0])
        torch.cuda.synchronize()
        estimate = timed(lambda: backward(sets[1]))
        estimate = timed(lambda: backward(sets[0]))
        launches = min(max(int(GRAPH_LENGTH / estimate), FEWEST_LAUNCHES), MOST_LAUNCHES) // SETS * SETS
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for i in range(launches):
                kept = backward(sets[i % SETS])  # an output's memory is free again for the call after the next
        graph.replay()
        torch.cuda.synchronize()
        in_graph = statistics.median(timed(graph.replay) / launches for _ in range(REPLAYS))
        alone = []
        for i in range(CALLS):
            torch.cuda.synchronize()
            alone.append(timed(lambda: backward(sets[i % SETS])))
    flop = 2.5 * 4 * B * H * S * S * D * (0.5 if causal else 1)
    return in_graph, flop / in_graph * 1e-6, statistics.median(alone)


print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
for name, backend in BACKENDS.items():
    for word in shapes:
        try:
            with torch.cuda.stream(stream):
                us, tflops, alone = time_case(word, backend)
            print(f"{name:<24} {word:<22} {us:10.2f} {tflops:9.1f} {alone:10.2f}", flush=True)
        except (RuntimeError, ValueError) as e:
            print(f"{name:<24} {word:<22} not timed: {str(e).splitlines()[0]}", flush=True)
        torch.cuda.empty_cache()
