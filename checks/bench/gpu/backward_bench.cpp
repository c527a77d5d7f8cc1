// runner KERNEL bench of a backward stage: how long a call takes, for gradients that were seen right at a shape short enough for
// the oracle. Two figures a shape, medians, as the forward bench has them: a call inside a replayed CUDA graph, and one
// launch between two events. The forward pass has saved L and more in the workspace before the clock starts.
// reference/backward_peers.py measures PyTorch the same way.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "checks/acceptance/report.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/bench/gpu/stopwatch.hpp"
#include "checks/bugs/backward_parts.hpp"
#include "checks/runner/commands.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

using gpu::GRAPH_LENGTH;
using gpu::NotTimed;
using gpu::SLOWEST_CALL;

constexpr int SETS = 2;           // of inputs and outputs, in rotation
constexpr int ORACLE_ROWS = 512;  // at most, of the one head that the oracle sees
constexpr int FEWEST_LAUNCHES = 20, MOST_LAUNCHES = 100;
constexpr double LONG_CALL = 50e3;  // us: fewer launches and calls are enough
constexpr int REPLAYS = 7, CALLS = 15, FEW = 3;

// Two and a half times the products of the forward pass.
double tflops(const Shape& shape, double us) { return 2.5 * flop(shape) / us * 1e-6; }

struct GradientSet {
  Buffer<half> q, k, v, dout, dq, dk, dv;
  Buffer<float> workspace;
  BackwardArgs args;
  GradientSet(const Shape& shape, std::uint64_t seed, cudaStream_t stream)
      : q(shape.elements()),
        k(shape.elements()),
        v(shape.elements()),
        dout(shape.elements()),
        dq(shape.elements()),
        dk(shape.elements()),
        dv(shape.elements()),
        workspace(std::max<std::size_t>(1, backward_stage().workspace(shape))),
        args{q.data(),  k.data(),  v.data(),         dout.data(), dq.data(),
             dk.data(), dv.data(), workspace.data(), shape,       float(default_scale(shape.D)),
             stream} {
    for (const Buffer<half>* input : {&q, &k, &v, &dout})
      gpu::fill_normal(input->data(), shape.elements(), seed++, stream);
  }
};

// Of a stage that saves O and L the gradients alone are timed.
void launch(const GradientSet& set) {
  const BackwardStageInfo& stage = backward_stage();
  gpu::check_started((stage.gradients ? stage.gradients : stage.launch)(set.args));
}

void check_gradients(Shape shape) {
  shape.B = shape.H = 1, shape.S = std::min(shape.S, ORACLE_ROWS);
  const Trial trial = run_backward(shape, Family::notes);
  if (!trial.ok()) throw NotTimed(trial.error());
  const std::vector<Expected> right = oracle(subject(), {shape, trial.scale, Family::notes, trial.in});
  Comparison seen;
  for (std::size_t i = 0; i < right.size(); ++i)
    compare(shape, all_rows(shape), trial.outputs[i], right[i], seen, {.output = int(i)});
  if (!seen.good()) throw NotTimed("wrong at " + text(shape) + ": " + lines_of(seen, subject().outputs)[1]);
}

void time_case(const Shape& shape) {
  check_gradients(shape);
  const gpu::Stream stream;
  gpu::Stopwatch watch;
  std::vector<GradientSet> sets;
  for (int i = 0; i < SETS; ++i) {
    sets.emplace_back(shape, std::uint64_t(4 * i + 1), stream);
    const BackwardArgs& args = sets.back().args;
    const BackwardStageInfo& stage = backward_stage();
    if (stage.gradients) gpu::check_started(stage.launch(args));
  }
  const auto call = [&](int i) { return watch.time(stream, [&] { launch(sets[std::size_t(i % SETS)]); }); };
  call(0);
  const double estimate = call(1);
  if (estimate > SLOWEST_CALL) throw NotTimed(format("a call takes %.1f s", estimate * 1e-6));

  const bool is_long = estimate > LONG_CALL;
  const int launches =
      is_long ? SETS : std::clamp(int(GRAPH_LENGTH / estimate), FEWEST_LAUNCHES, MOST_LAUNCHES) / SETS * SETS;
  const gpu::Graph graph(stream, [&] {
    for (int i = 0; i < launches; ++i) launch(sets[std::size_t(i % SETS)]);
  });
  const auto replay = [&] { graph.replay(); };
  std::vector<double> in_graph, alone;
  gpu::State seen;
  replay();
  for (int i = 0; i < (is_long ? FEW : REPLAYS); ++i) {
    for (const GradientSet& set : sets)  // whatever is timed writes all of its gradients
      for (const Buffer<half>* gradient : {&set.dq, &set.dk, &set.dv}) gpu::poison(*gradient, stream);
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    in_graph.push_back(watch.time(stream, replay, [&] {
      usleep(useconds_t(launches * estimate / 2));
      seen = gpu::state_now().value_or(gpu::State{});
    }) / launches);
  }
  for (const GradientSet& set : sets)
    for (const Buffer<half>* gradient : {&set.dq, &set.dk, &set.dv})
      if (const std::size_t nans = gpu::count_bad(gradient->data(), nullptr, shape.elements(), stream); nans > 0)
        throw NotTimed(format("%zu elements of a gradient are NaN, or were not written", nans));
  for (int i = 0; i < (is_long ? FEW : CALLS); ++i) {
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    alone.push_back(call(i));
  }
  const double us = spread(in_graph).median;
  std::printf("%-24s %-22s %10.2f %9.1f %10.2f %8.0f\n", backward_stage().name, shape_word(shape).c_str(), us,
              tflops(shape, us), spread(alone).median, seen.sm_mhz);
}

}  // namespace

// runner KERNEL bench [shape=LIST]: a line a shape.
int backward_bench_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"shape"};
  const std::vector<Shape> shapes = bench_shapes(KeyValues(args, keys).get("shape").value_or("all"));
  std::printf("%s, CUDA events, us a call\n%-24s %-22s %10s %9s %10s %8s\n", device_name().c_str(), "backward", "shape",
              "graph", "TFLOP/s", "call", "SM MHz");
  bool good = true;
  for (const Shape& shape : shapes) {
    try {
      time_case(shape);
    } catch (const NotTimed& e) {
      std::printf("%-24s %-22s not timed: %s\n", backward_stage().name, shape_word(shape).c_str(), e.what());
      good = false;
    }
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}

}  // namespace lab
