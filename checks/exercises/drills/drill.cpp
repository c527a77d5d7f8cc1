// runner KERNEL drill: launches a drill under every schedule and time of copying, with the checker on, and compares what
// comes out bit for bit. runner KERNEL order: the order in which it does things. runner KERNEL counts: how often.
#include "checks/exercises/drills/drill.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/exercises/counts.hpp"
#include "checks/exercises/drills/drill.cuh"
#include "checks/runner/commands.hpp"
#include "checks/runner/library.hpp"
#include "common/gpu_access.hpp"
#include "common/stage.hpp"

namespace lab {
namespace {

constexpr float NEVER_WRITTEN = -12344.0f;  // no drill's answer; a half can hold it

constexpr std::pair<std::string_view, Launches (*)()> DRILLS[] = {{"box", drills::box},
                                                                  {"chain", drills::chain},
                                                                  {"copies", drills::copies},
                                                                  {"k_major", drills::k_major},
                                                                  {"lazy", drills::lazy},
                                                                  {"map", drills::map},
                                                                  {"matrices", drills::matrices},
                                                                  {"merge", drills::merge},
                                                                  {"mn_major", drills::mn_major},
                                                                  {"phases", drills::phases},
                                                                  {"pieces", drills::pieces},
                                                                  {"producer", drills::producer},
                                                                  {"product", drills::product},
                                                                  {"ring", drills::ring},
                                                                  {"shared_tile", drills::shared_tile},
                                                                  {"store", drills::store},
                                                                  {"swizzle", drills::swizzle},
                                                                  {"tile_map", drills::tile_map},
                                                                  {"turns", drills::turns},
                                                                  {"transposed", drills::transposed},
                                                                  {"warpgroup", drills::warpgroup}};

// Of the library that is loaded, build/cpu/drill-NAME/VARIANT/kernel.so.
Launches launches() {
  const std::string name = stage_name();
  for (const auto& [drill, launches] : DRILLS)
    if (name == "drill-" + std::string(drill)) return launches();
  throw BadInput(name + ": checks/exercises/drills/drill.cpp has no drill of that name");
}

// The results of one launch; `failure` is "" if it went well.
struct DrillRan {
  std::vector<float> out;
  ExecReport report;
  std::string failure;
};

ExecOptions options_of(Schedule schedule, Copies copies) {
  ExecOptions options;
  options.schedule = schedule, options.copies = options.products = copies, options.check = true;
  return options;
}

DrillRan run(const Drill& d, const ExecOptions& options) {
  static const auto launch = reinterpret_cast<decltype(&::drill)>(library_symbol("drill"));
  set_exec_options(options);
  take_exec_report();
  const std::size_t count = d.right.size(), in_bytes = d.in.size() * sizeof(fp16);
  const std::size_t out_bytes = count * (d.halves ? sizeof(fp16) : sizeof(float));
  std::vector<fp16> halves(d.halves ? count : 0, to_fp16(NEVER_WRITTEN));
  DrillRan ran;
  ran.out.assign(count, NEVER_WRITTEN);
  void* const host = d.halves ? static_cast<void*>(halves.data()) : ran.out.data();
  void *in = nullptr, *out = nullptr;
  cudaMalloc(&in, in_bytes), cudaMalloc(&out, out_bytes);
  cudaMemcpy(in, d.in.data(), in_bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(out, host, out_bytes, cudaMemcpyHostToDevice);
  const cudaError_t launched = launch(static_cast<half*>(in), static_cast<float*>(out), d.size.data(), nullptr);
  const cudaError_t finished = synchronize_within(HANG_SECONDS);
  cudaMemcpy(host, out, out_bytes, cudaMemcpyDeviceToHost);
  cudaFree(in), cudaFree(out);
  for (std::size_t i = 0; i < halves.size(); ++i) ran.out[i] = to_float(halves[i]);
  ran.report = take_exec_report();
  set_exec_options({});
  if (launched != cudaSuccess || finished != cudaSuccess)
    ran.failure = "the launch fails: " + ran.report.message;
  else if (!ran.report.findings.empty())
    ran.failure = ran.report.findings[0].text;
  return ran;
}

// Prints one line and returns false.
bool red(const Drill& d, const ExecOptions& options, const std::string& what) {
  const std::string line = d.name + ", schedule " + name(options.schedule) + ", copies " + name(options.copies) + ": ";
  print_red(line + what);
  record("tells", line + what);
  return false;
}

bool good_under(const Drill& d, const ExecOptions& options) {
  const DrillRan ran = run(d, options);
  if (!ran.failure.empty()) return red(d, options, ran.failure);
  for (std::size_t i = 0; i < ran.out.size(); ++i)
    if (std::bit_cast<unsigned>(ran.out[i]) != std::bit_cast<unsigned>(d.right[i]))
      return red(d, options,
                 format("out[%zu] is %s%g, and must be %g", i, ran.out[i] == NEVER_WRITTEN ? "never written, " : "",
                        double(ran.out[i]), double(d.right[i])));
  return true;
}

class Recorder final : public ExecWatcher {
 public:
  void see(const ExecEvent& e) override { events.push_back(e); }
  std::vector<ExecEvent> events;
};

}  // namespace

unsigned input_seed = 0;

std::vector<fp16> small_numbers(std::size_t count) {
  std::vector<fp16> in(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = to_fp16(small_number(unsigned(i)));
  return in;
}

std::vector<float> as_floats(const std::vector<fp16>& in) {
  std::vector<float> x;
  for (const fp16 h : in) x.push_back(to_float(h));
  return x;
}

void multiply(Drill& d, std::size_t M, std::size_t N, std::size_t K, bool transposed) {
  const std::vector<float> x = as_floats(d.in);
  for (std::size_t row = 0; row < M; ++row)
    for (std::size_t col = 0; col < N; ++col) {
      float sum = 0;
      for (std::size_t k = 0; k < K; ++k) sum += x[row * K + k] * x[M * K + (transposed ? col * K + k : k * N + col)];
      d.right.push_back(sum);
    }
}

int drill_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"seed"};
  input_seed = unsigned(KeyValues(args, KEYS).whole("seed", UINT64_MAX));
  std::size_t numbers = 0;
  int runs = 0;
  for (const Drill& d : launches()) {
    numbers += d.right.size();
    for (const Schedule schedule : SCHEDULES)
      for (const Copies copies : COPY_TIMES) {
        if (!good_under(d, options_of(schedule, copies))) return 1;
        ++runs;
      }
  }
  std::printf("%zu numbers, the same bits in %d runs: every schedule and time of copying\n", numbers, runs);
  return 0;
}

int order_command(std::span<char*> args) {
  if (!args.empty()) throw BadInput("order takes no arguments");
  for (const Drill& d : launches())
    for (const Schedule schedule : SCHEDULES) {
      if (!d.order) continue;
      Recorder recorder;
      ExecOptions options = options_of(schedule, Copies::at_wait);
      options.workers = 1, options.watcher = &recorder;
      const DrillRan ran = run(d, options);
      const std::string wrong = ran.failure.empty() ? d.order(recorder.events) : ran.failure;
      if (!wrong.empty()) return red(d, options, wrong), 1;
    }
  return 0;
}

int drill_counts_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape"};
  const std::string which = KeyValues(args, KEYS).require("shape");
  for (const Drill& d : launches()) {
    if (d.name != which) continue;
    WordCounter counter;
    ExecOptions options = options_of(Schedule::ascending, Copies::at_wait);
    options.workers = 1, options.watcher = &counter, options.count = true;
    const DrillRan ran = run(d, options);
    if (!ran.failure.empty()) return red(d, options, ran.failure), 1;
    counter.add(ran.report);
    return counter.print(), 0;
  }
  throw BadInput("shape=" + which + ": there is no launch of that name");
}

}  // namespace lab
