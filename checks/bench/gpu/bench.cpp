// runner KERNEL bench: how long a call of the kernel takes, of either pass, on inputs that it was seen to compute right.
//
// Two figures a shape, medians: a call inside a replayed CUDA graph (the device's time, launch gaps shrunk to nothing), and one
// launch between two events on an idle GPU (what a single call costs, launch overhead included). Inputs are N(0,1), in several
// places in rotation that fit into L2 where one does. Of a backward stage that saves O and L the gradients alone are timed.
// reference/peers.py times a kernel beside its peers, in turns and in one process.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/launch.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/bench/gpu/stopwatch.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/runner/commands.hpp"
#include "common/backend.hpp"

namespace lab {
namespace {

using gpu::NotTimed;

constexpr double WARM_TIME = 150e3, ROUND_TIME = 100e3;  // us of replays: before the first sample; of the samples
constexpr int MOST_REPLAYS = 7, MOST_CALLS = 15, IDLE_CALLS = 5;
constexpr int ORACLE_ROWS = 512;  // at most, of the one head that the backward oracle sees; forward: 64, at its end
constexpr double BACKWARD_FLOP = 2.5;  // five products where the forward pass has two

cudaError_t start(const Call& call, bool saved) {
  return saved && subject().gradients ? subject().gradients(call) : subject().launch(call);
}

class CaseTimer {
 public:
  explicit CaseTimer(const Shape& shape) : shape_(shape) {}

  void run() {
    check_right();
    int gpu = 0, l2 = 0;
    check_cuda(cudaGetDevice(&gpu), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, gpu), "cudaDeviceGetAttribute");
    const std::size_t bytes = (subject().inputs.size() + subject().outputs.size()) * shape_.elements() * sizeof(half);
    const int sets = int(std::clamp<std::size_t>(std::size_t(l2) * 3 / 4 / bytes, 2, 4));
    const Problem problem = problem_of(subject(), {Group::ragged, shape_, Family::unit, 1});
    for (int i = 0; i < sets; ++i) {
      Call& call = calls_.emplace_back(sets_.emplace_back(subject(), problem.in).call(shape_, problem.scale));
      call.stream = stream_;
      gpu::check_started(start(call, false));
    }
    (void)call(0);
    const double estimate = call(1);
    if (estimate > gpu::SLOWEST_CALL) throw NotTimed(format("a call takes %.1f s", estimate * 1e-6));
    const int launches = (std::clamp(int(gpu::GRAPH_LENGTH / estimate), 2, 100) + sets - 1) / sets * sets;
    const gpu::Graph graph(stream_, [&] {
      for (int i = 0; i < launches; ++i) gpu::check_started(start(calls_[std::size_t(i % sets)], true));
    });
    const auto replay = [&] { graph.replay(); };
    const double length = watch_.time(stream_, replay);
    for (double spent = length; spent < WARM_TIME; spent += length) replay();
    std::vector<double> in_graph, alone;
    const int calls = std::clamp(int(ROUND_TIME / estimate), 1, MOST_CALLS);
    for (int i = calls < MOST_CALLS ? 0 : -IDLE_CALLS; i < calls; ++i) {  // a host that just waited is slow to launch
      check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
      const double us = call((i + IDLE_CALLS) % sets);
      if (i >= 0) alone.push_back(us);
    }
    const int replays = std::clamp(int(ROUND_TIME / length), 3, MOST_REPLAYS);
    for (int i = 0; i < replays; ++i) {
      for (Tensors& set : sets_) set.poison_outputs();  // whatever is timed writes all of them
      check_cuda(cudaDeviceSynchronize(), "cudaMemset");
      in_graph.push_back(watch_.time(stream_, replay) / launches);
    }
    std::vector<std::vector<fp16>> outputs;
    for (const Tensors& set : sets_)
      for (const Fault& stray : set.fetch(outputs)) throw NotTimed(stray.what);
    for (const std::vector<fp16>& output : outputs)
      if (const auto bad = std::ranges::count_if(output, [](fp16 x) { return std::isnan(to_float(x)); }))
        throw NotTimed(format("%td elements of an output are NaN, or were not written", bad));
    const double us = median(in_graph);
    std::printf("%-24s %10.2f %9.1f %10.2f\n", shape_word(shape_).c_str(), us,
                (subject().backward ? BACKWARD_FLOP : 1) * flop(shape_) / us * 1e-6, median(alone));
  }

 private:
  double call(int set) {
    return watch_.time(stream_, [&] { gpu::check_started(start(calls_[std::size_t(set)], true)); });
  }

  // One head against the oracle: forward its last rows, backward a sequence short enough for it.
  void check_right() {
    Case one{Group::ragged, shape_, Family::unit, 1};
    one.shape.B = one.shape.H = 1;
    if (subject().backward) one.shape.S = std::min(one.shape.S, ORACLE_ROWS);
    const Problem problem = problem_of(subject(), one);
    Tensors tensors(subject(), problem.in);
    const Ran ran = tensors.launch(one.shape, problem.scale);
    for (const Fault& fault : faults_of(ran)) throw NotTimed(fault.what);
    const int last = std::min(one.shape.S, 64);
    std::vector<RowBlock> rows = all_rows(one.shape);
    if (!subject().backward) rows = {{0, one.shape.S - last, last}};
    const std::vector<Expected> right = oracle(subject(), problem, rows);
    Comparison seen;
    for (std::size_t i = 0; i < right.size(); ++i)
      compare(one.shape, rows, ran.outputs[i], right[i], seen, {.output = int(i)});
    if (!seen.good()) throw NotTimed("wrong at " + text(one.shape) + ": " + lines_of(seen, subject().outputs)[1]);
  }

  Shape shape_;
  gpu::Stream stream_;
  gpu::Stopwatch watch_;
  std::deque<Tensors> sets_;
  std::vector<Call> calls_;
};

}  // namespace

// runner KERNEL bench [shape=LIST]: a line a shape; exit status 1 where one was not timed.
int bench_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"shape"};
  const std::vector<Shape> shapes = bench_shapes(KeyValues(args, keys).get("shape").value_or("all"));
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) throw BadInput("bench needs a GPU, and CUDA finds none");
  const char* const name = stage_name();
  std::printf("%s, CUDA events, us a call\n%-24s %10s %9s %10s\n", device_name().c_str(), name, "in a graph", "TFLOP/s",
              "alone");
  bool good = true;
  for (const Shape& shape : shapes) {
    try {
      CaseTimer(shape).run();
    } catch (const NotTimed& e) {
      std::printf("%-24s not timed: %s\n", shape_word(shape).c_str(), e.what());
      good = false;
      if (cudaDeviceSynchronize() != cudaSuccess) {
        std::fprintf(stderr, "lab: the GPU gave up on this process; the shapes after it were not run\n");
        break;
      }
    }
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}

}  // namespace lab
