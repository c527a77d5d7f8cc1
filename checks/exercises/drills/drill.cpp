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
#include "common/fp16.hpp"
#include "common/gpu_access.hpp"

namespace lab {
namespace {

constexpr float NEVER_WRITTEN = -12344.0f;  // no drill's answer; a half can hold it

// Of the library that is loaded, build/cpu/drill-NAME/VARIANT/kernel.so.
Launches launches() {
  std::string name = stage_name();
  std::ranges::replace(name, '-', '_');
  const auto launches = reinterpret_cast<Launches (*)()>(beside_runner("commands.so", name.c_str()));
  if (!launches) throw BadInput("checks/exercises/drills has no " + name + "()");
  return launches();
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
  const std::size_t in_bytes = d.in.size() * sizeof(fp16);
  const std::size_t out_bytes = d.right.size() * (d.halves ? sizeof(fp16) : sizeof(float));
  std::vector<fp16> in_halves, out_halves(d.halves ? d.right.size() : 0, to_fp16(NEVER_WRITTEN));
  for (const float x : d.in) in_halves.push_back(to_fp16(x));
  DrillRan ran;
  ran.out.assign(d.right.size(), NEVER_WRITTEN);
  void* const host = d.halves ? static_cast<void*>(out_halves.data()) : ran.out.data();
  void *in = nullptr, *out = nullptr;
  cudaMalloc(&in, in_bytes), cudaMalloc(&out, out_bytes);
  cudaMemcpy(in, in_halves.data(), in_bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(out, host, out_bytes, cudaMemcpyHostToDevice);
  const cudaError_t launched = launch(static_cast<half*>(in), static_cast<float*>(out), d.size.data(), nullptr);
  const cudaError_t finished = synchronize_within(HANG_SECONDS);
  cudaMemcpy(host, out, out_bytes, cudaMemcpyDeviceToHost);
  cudaFree(in), cudaFree(out);
  for (std::size_t i = 0; i < out_halves.size(); ++i) ran.out[i] = to_float(out_halves[i]);
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

std::vector<float> small_numbers(std::size_t count) {
  std::vector<float> in(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = small_number(unsigned(i));
  return in;
}

void multiply(Drill& d, std::size_t M, std::size_t N, std::size_t K, bool transposed) {
  const std::vector<float>& x = d.in;
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
