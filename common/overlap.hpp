// Launches that overlap in time, each on a stream of its own.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace lab {

// Launches on the stream that it gets, without waiting; returns the first error.
using StreamCall = std::function<cudaError_t(cudaStream_t)>;

enum class Overlap { streams, graph_branches };

// Starts all calls and leaves them running: synchronize_within() waits for them. On a GPU each call has a stream that
// waits for no other, or is a branch of one graph, made before `ready` runs and launched after it. On the CPU the
// blocks of the launches take turns, in an order drawn from `seed`, and all have ended when this returns. Returns the
// first error of a call.
cudaError_t start_overlapping(
    const std::vector<StreamCall>& calls, Overlap how, std::uint64_t seed, const std::function<void()>& ready = [] {});

}  // namespace lab
