// lab phases: how long a kernel takes that may be a part of one, and when its phases end if it reads its clock. Nothing
// looks at its answer: what stops after a phase has none. For the records program, which puts such parts side by side.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "checks/acceptance/format.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/bench/gpu/stopwatch.hpp"
#include "checks/commands.hpp"
#include "common/stage.hpp"
#include "common/stamps.hpp"

namespace lab {
namespace {

constexpr int SETS = 4, LAUNCHES = 100, REPLAYS = 15, STAMPED_LAUNCHES = 8;

class Phases {
 public:
  explicit Phases(const Shape& shape) : shape_(shape) {
    for (int i = 0; i < SETS; ++i) {
      for (int tensor = 0; tensor < 4; ++tensor) tensors_.emplace_back(shape.elements());
      for (int tensor = 0; tensor < 3; ++tensor)
        gpu::fill_normal(of(i, tensor), shape.elements(), std::uint64_t(3 * i + tensor + 1), stream_);
    }
    launch(0);
    check_cuda(cudaStreamSynchronize(stream_), "the kernel");
  }

  // Microseconds of a launch in a graph, a replay each.
  std::vector<double> times() {
    const gpu::Graph graph(stream_, [&] {
      for (int i = 0; i < LAUNCHES; ++i) launch(i % SETS);
    });
    std::vector<double> us;
    for (int i = -3; i < REPLAYS; ++i) {  // the first few warm it up
      const double all = watch_.time(stream_, [&] { graph.replay(); });
      if (i >= 0) us.push_back(all / LAUNCHES);
    }
    return us;
  }

  // Of each stamp, the clocks since stamp 0 of the same block; launches one by one.
  std::vector<std::vector<unsigned>> stamps() {
    std::vector<std::vector<unsigned>> all(STAMPS);
    static unsigned read[STAMPED_BLOCKS][STAMPS];
    for (int i = 0; i < STAMPED_LAUNCHES; ++i) {
      check_cuda(stamp_reader().clear(), "clearing the stamps");
      launch(i % SETS);
      check_cuda(cudaStreamSynchronize(stream_), "the kernel");
      check_cuda(stamp_reader().read(read), "reading the stamps");
      for (const auto& block : read)
        for (int s = 1; s < STAMPS; ++s)
          if (block[0] != 0 && block[s] != 0) all[std::size_t(s)].push_back(block[s] - block[0]);
    }
    return all;
  }

 private:
  half* of(int set, int tensor) { return tensors_[std::size_t(4 * set + tensor)].data(); }
  void launch(int set) {
    const cudaError_t error = stage().launch(
        {of(set, 0), of(set, 1), of(set, 2), of(set, 3), shape_, 1.0f / std::sqrt(float(shape_.D)), stream_});
    check_cuda(error != cudaSuccess ? error : cudaGetLastError(), "the launch");
  }

  Shape shape_;
  gpu::Stream stream_;
  gpu::Stopwatch watch_;
  std::vector<Buffer<half>> tensors_;
};

}  // namespace

// lab phases shape=B,H,S,D[,causal]: lines "time US..." and, of a kernel with stamps, "stamp N CLOCKS...".
int phases_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"shape"};
  Phases phases(one_shape(KeyValues(args, keys).require("shape")));
  std::printf("time");
  for (const double us : phases.times()) std::printf(" %.4f", us);
  std::printf("\n");
  if (!stamp_reader().read) return 0;
  const auto stamps = phases.stamps();
  for (std::size_t s = 0; s < stamps.size(); ++s) {
    if (stamps[s].empty()) continue;
    std::printf("stamp %zu", s);
    for (const unsigned clocks : stamps[s]) std::printf(" %u", clocks);
    std::printf("\n");
  }
  return 0;
}

}  // namespace lab
