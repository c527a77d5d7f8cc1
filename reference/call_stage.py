"""PyTorch calls v3k and b8: on its stream, and inside a CUDA graph. `python3 reference/call_stage.py` holds both to cuDNN (needs a GPU, and
make backend=gpu build/gpu/v3k_dynamic/fixed/kernel.so build/gpu/b8_early_launch/fixed/kernel.so)."""
import ctypes

import torch


def call(stage, name, inputs, results, causal=False):
    library = ctypes.CDLL(f"build/gpu/{stage}/fixed/kernel.so")
    workspace = getattr(library, name + "_workspace")
    workspace.restype = ctypes.c_size_t
    B, H, S, D = inputs[0].shape  # contiguous, fp16
    outputs = [torch.empty_like(inputs[0]) for _ in range(results)]
    space = torch.empty(max(16, workspace(B, H, S, D, causal)), dtype=torch.uint8, device="cuda")
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (*inputs, *outputs)]
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    error = getattr(library, name)(*pointers, B, H, S, D, ctypes.c_float(D**-0.5), causal, ctypes.c_void_p(space.data_ptr()), stream)
    assert error == 0, f"refused: cudaError_t {error}"
    return outputs


def forward(q, k, v, causal=False):
    return call("v3k_dynamic", "attention", (q, k, v), 1, causal)


def backward(q, k, v, dout, causal=False):
    return call("b8_early_launch", "attention_backward", (q, k, v, dout), 3, causal)


def far(got, right):
    return ((got.float() - right.float()).norm() / right.float().norm()).item()


def hold_to_cudnn(causal):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v, dout = (torch.randn(2, 8, 2048, 128, dtype=torch.float16, device="cuda") for _ in range(4))
    leaves = [tensor.clone().requires_grad_() for tensor in (q, k, v)]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        right = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)
        right_all = [right, *torch.autograd.grad(right, leaves, dout)]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        on_stream = forward(q, k, v, causal) + backward(q, k, v, dout, causal)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        in_graph = forward(q, k, v, causal) + backward(q, k, v, dout, causal)
    for tensor in in_graph:
        tensor.zero_()
    graph.replay()
    torch.cuda.synchronize()
    for how, results in (("on a stream", on_stream), ("in a graph", in_graph)):
        distances = [far(got, want) for got, want in zip(results, right_all)]
        print("causal" if causal else "full", how, "O dQ dK dV:", *(f"{distance:.1e}" for distance in distances), "from cuDNN's")
        assert max(distances) < 4e-3
    assert torch.equal(on_stream[0], in_graph[0])


if __name__ == "__main__":
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
    for causal in (False, True):
        hold_to_cudnn(causal)
