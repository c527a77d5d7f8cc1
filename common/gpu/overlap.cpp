#include "common/overlap.hpp"

namespace lab {
namespace {

// Streams that wait for each other only where an event says so; they live as long as the process.
cudaError_t free_streams(std::vector<cudaStream_t>& streams, std::size_t count) {
  while (streams.size() < count) {
    cudaStream_t stream = nullptr;
    if (const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); error != cudaSuccess)
      return error;
    streams.push_back(stream);
  }
  return cudaSuccess;
}

// `after` goes on when what `before` has been given so far is done.
cudaError_t order(cudaStream_t before, cudaStream_t after) {
  cudaEvent_t event = nullptr;
  cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  if (error == cudaSuccess) error = cudaEventRecord(event, before);
  if (error == cudaSuccess) error = cudaStreamWaitEvent(after, event, 0);
  cudaEventDestroy(event);
  return error;
}

// Each call on its stream, which forks from `root` and joins it again.
cudaError_t fork_and_join(const std::vector<StreamCall>& calls, const std::vector<cudaStream_t>& streams,
                          cudaStream_t root) {
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (const cudaError_t error = order(root, streams[i]); error != cudaSuccess) return error;
  cudaError_t first = cudaSuccess;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (const cudaError_t error = calls[i](streams[i]); first == cudaSuccess) first = error;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (const cudaError_t error = order(streams[i], root); first == cudaSuccess) first = error;
  return first;
}

}  // namespace

cudaError_t start_overlapping(const std::vector<StreamCall>& calls, Overlap how, std::uint64_t,
                              const std::function<void()>& ready) {
  static std::vector<cudaStream_t> streams;  // the last is the root
  if (const cudaError_t error = free_streams(streams, calls.size() + 1); error != cudaSuccess) return error;
  const cudaStream_t root = streams.back();
  cudaError_t error = cudaSuccess;
  if (how == Overlap::streams) {
    ready();
    cudaDeviceSynchronize();
    error = fork_and_join(calls, streams, root);
  } else {
    error = cudaStreamBeginCapture(root, cudaStreamCaptureModeThreadLocal);
    if (error == cudaSuccess) error = fork_and_join(calls, streams, root);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    if (const cudaError_t ended = cudaStreamEndCapture(root, &graph); error == cudaSuccess) error = ended;
    if (error == cudaSuccess) error = cudaGraphInstantiate(&exec, graph, 0);
    ready();
    cudaDeviceSynchronize();
    if (error == cudaSuccess) error = cudaGraphLaunch(exec, root);
    if (exec) cudaGraphExecDestroy(exec);  // after its launch has ended
    if (graph) cudaGraphDestroy(graph);
  }
  if (error == cudaSuccess) error = order(root, nullptr);  // for synchronize_within()
  return error;
}

}  // namespace lab
