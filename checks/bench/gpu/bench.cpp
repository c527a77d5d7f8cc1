// runner KERNEL bench: how long the linked stage takes, on inputs that it was seen to compute right before and after.
//
// Two figures a shape: `graph`, a call inside a replayed CUDA graph (the device's time, launch gaps shrunk to nothing),
// and `call`, one launch between two events on an idle GPU (what a single call costs, launch overhead included). Inputs
// are N(0,1), several sets in rotation. Each figure twice: as it comes, rotating over few sets that stay in L2 if they
// fit, and `flushed`: the graph rotates over enough sets that each call finds its own evicted, the single call comes
// after a write of twice the L2. reference/peers.py measures PyTorch the same way; change both or neither.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/subject.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/bench/gpu/stopwatch.hpp"
#include "checks/runner/commands.hpp"
#include "common/backend.hpp"
#include "common/stage.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

using gpu::GRAPH_LENGTH;
using gpu::NotTimed;
using gpu::SLOWEST_CALL;
using gpu::Stopwatch;
using gpu::Stream;

constexpr double SHORT_GRAPH = 500e3;  // us: a longer one is replayed once a round, and not warmed up
constexpr double ENERGY_TIME = 600e3;  // us over which NVML's counter of energy is read, in the first round
constexpr int MOST_CALLS = 15;
constexpr int IDLE_CALLS = 5;     // untimed ones before short calls: a host that just waited is slow to launch
constexpr int ROWS_TOGETHER = 4;  // consecutive rows in its sample

struct Pace {
  double warm_time;   // us of replays before the first sample: all programs find a GPU equally warm
  double round_time;  // us of replays a figure and round, where that is more than one
  int fewest_launches /* in a graph */, most_replays;
  double oracle_work;  // fp64 operations of an oracle run
  std::size_t fewest_blocks;
  bool only_graph;  // the figure `graph` alone, and no energy
};
constexpr Pace THOROUGH{200e3, 150e3, 20, 7, 0.4e9, 4, false};
constexpr Pace QUICK{20e3, 10e3, 3, 3, 0.02e9, 1, true};  // for a map of many shapes

struct Plan {
  int warm_sets = 2, all_sets = 2;
  bool flushes = true;  // false: one set is larger than twice the L2, and no call finds anything of its own there
};
Plan plan_sets(const Shape& shape, std::size_t l2) {
  const std::size_t set = 4 * shape.elements() * sizeof(half);
  Plan plan;
  plan.warm_sets = int(std::clamp<std::size_t>(l2 * 3 / 4 / set, 2, 4));
  plan.flushes = set <= 2 * l2;
  plan.all_sets =
      plan.flushes ? int(std::max<std::size_t>(std::size_t(plan.warm_sets), 2 * l2 / set + 2)) : plan.warm_sets;
  return plan;
}

struct Set {
  Buffer<half> q, k, v, out;
  Buffer<half> right;  // what the kernel computed before it was timed, found right
  Buffer<float> workspace;
  Set(std::size_t size, std::size_t workspace_bytes)
      : q(size), k(size), v(size), out(size), right(size), workspace(workspace_bytes / sizeof(float) + 1) {}
};

class CaseTimer {
 public:
  CaseTimer(const Shape& shape, float amplitude, const Pace& pace, int round, std::size_t l2, std::string& lines)
      : shape_(shape),
        amplitude_(amplitude),
        pace_(pace),
        round_(round),
        l2_(l2),
        lines_(lines),
        plan_(plan_sets(shape, l2)) {
    if (pace.only_graph) plan_.all_sets = plan_.warm_sets, plan_.flushes = false;
  }

  void run() {
    const std::size_t free_needed = std::size_t(plan_.all_sets) * 5 * shape_.elements() * sizeof(half) + 2 * l2_;
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    if (free_needed > free * 9 / 10)
      return skip(format("its inputs take %.1f GB, more than is free", double(free_needed) * 1e-9));
    for (int i = 0; i < plan_.all_sets; ++i) {
      sets_.emplace_back(shape_.elements(), subject().workspace(shape_));
      Set& set = sets_.back();
      const std::uint64_t seed = std::uint64_t(3 * i + 1);
      gpu::fill_normal(set.q.data(), shape_.elements(), seed, stream_, amplitude_);
      gpu::fill_normal(set.k.data(), shape_.elements(), seed + 1, stream_, amplitude_);
      gpu::fill_normal(set.v.data(), shape_.elements(), seed + 2, stream_);
    }
    check_cuda(cudaStreamSynchronize(stream_), "making inputs");

    // One head first, so that a hopeless case is known before it is waited for.
    Shape one = shape_;
    one.B = one.H = 1;
    (void)call(sets_[0], one);
    const double head = call(sets_[0], one);
    int multiprocessors = 1, gpu = 0;
    check_cuda(cudaGetDevice(&gpu), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu), "cudaDeviceGetAttribute");
    const double waves = double(stage().plan(one).grid.x) * shape_.B * shape_.H / multiprocessors;
    if (head * std::max(1.0, waves) > SLOWEST_CALL)
      return skip(
          format("one head suggests %.1f s a call; the limit is %.0f s", head * waves * 1e-6, SLOWEST_CALL * 1e-6));

    check_before();
    estimate_ = call(sets_[1], shape_);
    fact("warm_sets", plan_.warm_sets);
    fact("working_set_bytes", double(plan_.warm_sets) * 4 * double(shape_.elements()) * sizeof(half));
    graph("graph", plan_.warm_sets);
    if (plan_.flushes) graph("graph_flushed", plan_.all_sets);
    if (!pace_.only_graph) calls("call", false);
    if (plan_.flushes) calls("call_flushed", true);
    check_after();
    add("case", "ok\t");
  }

 private:
  void add(const char* record, const std::string& rest) {
    lines_ += std::string(record) + "\t" + stage().name + "\t" + shape_word(shape_) + "\t" + rest + "\n";
  }
  void fact(const char* name, double value) { add("fact", format("%s\t%.6g", name, value)); }
  void sample(const char* figure, const std::vector<double>& us) {
    std::string values;
    for (const double v : us) values += format("%s%.3f", values.empty() ? "" : " ", v);
    add("sample", format("%s\t%d\t", figure, round_) + values);
  }
  void skip(const std::string& why) { add("case", "skipped\t" + why); }

  void launch(const Set& set, const Shape& shape) {
    gpu::check_started(stage().launch({set.q.data(), set.k.data(), set.v.data(), set.out.data(), shape,
                                       1.0f / std::sqrt(float(shape.D)), stream_, set.workspace.data()}));
  }
  double call(const Set& set, const Shape& shape) {
    return watch_.time(stream_, [&] { launch(set, shape); });
  }

  // --- right or wrong --------------------------------------------------------------------------------------------

  // Rows of one set, ROWS_TOGETHER at a time, spread over all heads; the last rows are always among them.
  std::vector<RowBlock> sampled_rows(std::size_t set) const {
    const double row_work = 4.0 * shape_.S * shape_.D * (shape_.causal ? 0.5 : 1);
    const std::size_t blocks = std::min<std::size_t>(
        (shape_.rows() + ROWS_TOGETHER - 1) / ROWS_TOGETHER,
        std::max(pace_.fewest_blocks,
                 std::size_t(pace_.oracle_work / row_work / double(plan_.all_sets) / ROWS_TOGETHER)));
    std::vector<RowBlock> chosen;
    for (std::size_t i = 0; i < blocks; ++i) {
      std::size_t row = shape_.rows() * (i + 1) / blocks - 1;
      if (i + 1 < blocks) row -= (set * 7919 + i * 104729) % (shape_.rows() / blocks);
      const int in_head = int(row % std::size_t(shape_.S)), first = std::max(0, in_head - ROWS_TOGETHER + 1);
      chosen.push_back({int(row / std::size_t(shape_.S)), first, in_head - first + 1});
    }
    return chosen;
  }

  void check_before() {
    std::size_t rows = 0;
    double max_diff = 0;
    for (Set& set : sets_) {
      gpu::poison(set.out, stream_);
      launch(set, shape_);
    }
    if (const cudaError_t ran = cudaStreamSynchronize(stream_); ran != cudaSuccess)
      throw NotTimed(std::string("kernel failed: ") + cudaGetErrorName(ran));
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      const Set& set = sets_[i];
      check_cuda(cudaMemcpyAsync(set.right.data(), set.out.data(), set.out.bytes(), cudaMemcpyDeviceToDevice, stream_),
                 "cudaMemcpy");
      if (const std::size_t nans = gpu::count_bad(set.right.data(), nullptr, shape_.elements(), stream_); nans > 0)
        throw NotTimed(format("%zu elements of its output are NaN, or were not written", nans));
      compare(set, sampled_rows(i), rows, max_diff);
    }
    fact("checked_rows", double(rows));
    fact("max_diff", max_diff);
  }

  // Head by head, so that only what the sample needs comes to the host.
  void compare(const Set& set, const std::vector<RowBlock>& blocks, std::size_t& rows, double& max_diff) const {
    const std::size_t head_size = std::size_t(shape_.S) * std::size_t(shape_.D);
    const double scale = 1.0f / std::sqrt(float(shape_.D));
    const bool half_p = stage().plan(shape_).half_p;
    Shape one = shape_;
    one.B = one.H = 1;
    for (auto begin = blocks.begin(); begin != blocks.end();) {
      const int head = begin->head;
      std::vector<RowBlock> mine;
      for (; begin != blocks.end() && begin->head == head; ++begin) {
        mine.push_back({0, begin->first, begin->rows});
        rows += std::size_t(begin->rows);
      }
      const auto part = [&](const Buffer<half>& from) {
        return from.download(std::size_t(head) * head_size, head_size);
      };
      Comparison compared;
      lab::compare(one, mine, part(set.right),
                   expected(one, scale, {part(set.q), part(set.k), part(set.v), {}}, mine, half_p), compared);
      if (!compared.good())
        throw NotTimed(format("wrong answer: head %d row %d col %d is %.6g, the oracle says %.6g", head,
                              compared.first->row, compared.first->col, double(compared.first->got),
                              compared.first->expected));
      max_diff = std::max(max_diff, compared.max_diff);
    }
  }

  // The last replay and the last calls wrote into poison: whatever was timed computed this.
  void check_after() {
    for (const Set& set : sets_)
      if (gpu::count_bad(set.out.data(), set.right.data(), shape_.elements(), stream_) > 0)
        throw NotTimed("its output changed while it was timed");
  }

  // --- figures ---------------------------------------------------------------------------------------------------

  void graph(const char* figure, int sets) {
    int launches = std::max(pace_.fewest_launches, int(std::min(100.0, GRAPH_LENGTH / estimate_)));
    launches = (launches + sets - 1) / sets * sets;
    const gpu::Graph graph(stream_, [&] {
      for (int i = 0; i < launches; ++i) launch(sets_[std::size_t(i % sets)], shape_);
    });
    const auto replay = [&] { graph.replay(); };
    double length = launches * estimate_;
    if (length < SHORT_GRAPH) {
      length = watch_.time(stream_, replay);  // a single call's time has its launch in it, a graph's has not
      for (double spent = 0; spent < pace_.warm_time; spent += length) replay();
    }
    const int replays = std::clamp(int(pace_.round_time / length), length < SHORT_GRAPH ? 3 : 1, pace_.most_replays);
    std::vector<double> times;
    for (int i = 0; i < replays; ++i) {
      if (i + 1 == replays)
        for (int s = 0; s < sets; ++s) gpu::poison(sets_[std::size_t(s)].out, stream_);
      check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
      times.push_back(watch_.time(stream_, replay) / launches);
    }
    if (figure == std::string("graph") && round_ == 1 && !pace_.only_graph)
      see(replay, launches, std::max(1, int(ENERGY_TIME / length)));
    sample(figure, times);
    fact(figure == std::string("graph") ? "launches_per_graph" : "launches_per_graph_flushed", launches);
    fact(figure == std::string("graph") ? "sets" : "sets_flushed", sets);
  }

  // Clock, power and energy of many replays, during which the clock is read.
  template <class Replay>
  void see(Replay replay, int launches, int replays) {
    const auto before = gpu::state_now();
    std::optional<gpu::State> during;
    const double us = watch_.time(
        stream_,
        [&] {
          for (int i = 0; i < replays; ++i) replay();
        },
        [&] { during = gpu::state_now(); });
    const auto after = gpu::state_now();
    if (!before || !during || !after || after->joules <= before->joules) return;
    const double joules = after->joules - before->joules;
    add("seen", format("%.0f\t%.1f", during->sm_mhz, joules / us * 1e6));
    fact("energy_uj", joules / replays / launches * 1e6);
  }

  void calls(const char* figure, bool flush) {
    const int count = std::clamp(int(pace_.round_time / 2 / estimate_), 1, MOST_CALLS);
    const std::size_t flush_bytes = flush ? 2 * l2_ : 1;
    const Buffer<unsigned char> trash(flush_bytes);
    std::vector<double> times;
    for (int i = count < MOST_CALLS ? 0 : -IDLE_CALLS; i < count; ++i) {
      const Set& set = sets_[std::size_t((i + IDLE_CALLS) % plan_.warm_sets)];
      if (flush) check_cuda(cudaMemsetAsync(trash.data(), i, flush_bytes, stream_), "flushing the L2");
      check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
      const double us = call(set, shape_);
      if (i >= 0) times.push_back(us);
    }
    sample(figure, times);
  }

  Shape shape_;
  float amplitude_;  // of q and k
  const Pace& pace_;
  int round_;
  std::size_t l2_;
  std::string& lines_;
  Plan plan_;
  Stream stream_;
  Stopwatch watch_;
  std::vector<Set> sets_;
  double estimate_ = 0;  // us a call
};

}  // namespace

// runner KERNEL bench [shape=LIST] [amplitude=x] [quick=1] [round=N] [out=FILE]: times the stage, with q and k of N(0,1) times x;
// the samples go to FILE, or a table to standard output.
int bench_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"shape", "quick", "round", "out", "amplitude"};
  const KeyValues values(args, keys);
  const std::vector<Shape> shapes = bench_shapes(values.get("shape").value_or("all"));
  const int round = int(values.whole("round", 1'000'000, 1, 1));
  const float amplitude = float(values.number("amplitude").value_or(1));
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) throw BadInput("bench needs a GPU, and CUDA finds none");
  int gpu = 0, l2 = 0;
  check_cuda(cudaGetDevice(&gpu), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, gpu), "cudaDeviceGetAttribute");

  const auto work = [](const Shape& s) {
    return double(s.rows()) * s.S * s.D * (s.causal ? 0.5 : 1) + 2e9;
  };  // 2e9: what a case costs at least
  double all = 0;
  for (const Shape& shape : shapes) all += work(shape);
  Progress progress(shapes.size(), all, true);
  std::string lines = format("meta\tl2_bytes\t%d\n", l2);
  if (amplitude != 1) lines += format("meta\tamplitude\t%g\n", double(amplitude));
  bool good = true;
  for (const Shape& shape : shapes) {
    progress.start(std::string(stage().name) + " " + text(shape));
    try {
      CaseTimer(shape, amplitude, values.flag("quick") ? QUICK : THOROUGH, round, std::size_t(l2), lines).run();
    } catch (const NotTimed& e) {
      good = false;
      lines += std::string("case\t") + stage().name + "\t" + shape_word(shape) + "\tfailed\t" + e.what() + "\n";
      if (cudaDeviceSynchronize() != cudaSuccess) {
        progress.clear();
        std::fprintf(stderr, "lab: the GPU gave up on this process; the cases after %s were not run\n",
                     text(shape).c_str());
        break;
      }
    }
    progress.finish(work(shape));
  }
  if (const auto path = values.get("out"))
    write_whole(*path, lines, "out");
  else
    std::printf("%s", bench_table(read_samples({lines})).c_str());
  if (!good)
    std::fprintf(stderr, "%s: a kernel that fails is not timed%s\n", stage().name,
                 values.get("out") ? (", see " + *values.get("out")).c_str() : "");
  return good ? 0 : 1;
}

}  // namespace lab
