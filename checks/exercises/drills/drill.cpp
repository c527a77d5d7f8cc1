// runner KERNEL drill: launches the kernel of one instruction, or of one mechanism, under every schedule and time of copying, with
// the checker on, and compares what comes out bit for bit. runner KERNEL order: the order in which it does things. runner KERNEL counts: how
// often it does them.
#include "checks/exercises/drills/drill.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/exercises/counts.hpp"
#include "checks/runner/commands.hpp"
#include "checks/runner/library.hpp"
#include "common/gpu_access.hpp"
#include "common/stage.hpp"

namespace lab {
namespace {

constexpr float NEVER_WRITTEN = -12344.0f;  // no drill's answer; a half can hold it

std::vector<Drill> drills() { return reinterpret_cast<decltype(&the_drills)>(library_symbol("the_drills"))(); }

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
  set_exec_options(options);
  take_exec_report();
  const std::size_t count = d.right.size(), bytes = count * (d.halves ? sizeof(half) : sizeof(float));
  std::vector<half> in(d.in.size());
  std::copy_n(reinterpret_cast<const half*>(d.in.data()), in.size(), in.data());
  std::vector<fp16> halves(d.halves ? count : 0, to_fp16(NEVER_WRITTEN));
  DrillRan ran;
  ran.out.assign(count, NEVER_WRITTEN);
  void* const host = d.halves ? static_cast<void*>(halves.data()) : ran.out.data();
  half* device_in = nullptr;
  float* device_out = nullptr;
  if (cudaMalloc(&device_in, in.size() * sizeof(half)) != cudaSuccess ||
      cudaMalloc(reinterpret_cast<void**>(&device_out), bytes) != cudaSuccess) {
    ran.failure = "no memory";
    return ran;
  }
  cudaMemcpy(device_in, in.data(), in.size() * sizeof(half), cudaMemcpyHostToDevice);
  cudaMemcpy(device_out, host, bytes, cudaMemcpyHostToDevice);
  const cudaError_t launched = d.start(device_in, device_out);
  const cudaError_t finished = synchronize_within(HANG_SECONDS);
  cudaMemcpy(host, device_out, bytes, cudaMemcpyDeviceToHost);
  cudaFree(device_in), cudaFree(device_out);
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

int drill_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"seed"};
  input_seed = unsigned(KeyValues(args, KEYS).whole("seed", UINT64_MAX));
  std::size_t numbers = 0;
  int runs = 0;
  for (const Drill& d : drills()) {
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
  for (const Drill& d : drills())
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
  for (const Drill& d : drills()) {
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

void multiply(Drill& d, std::size_t M, std::size_t N, std::size_t K, bool transposed) {
  const std::vector<float> x = as_floats(d.in);
  for (std::size_t row = 0; row < M; ++row)
    for (std::size_t col = 0; col < N; ++col) {
      float sum = 0;
      for (std::size_t k = 0; k < K; ++k) sum += x[row * K + k] * x[M * K + (transposed ? col * K + k : k * N + col)];
      d.right.push_back(sum);
    }
}

TensorShape matrix_of(std::size_t rows, std::size_t columns, unsigned box_rows, unsigned box_columns, Swizzle swizzle) {
  TensorShape t;
  t.extent[0] = columns, t.stride[0] = sizeof(half), t.box[0] = box_columns;
  t.extent[1] = rows, t.stride[1] = columns * sizeof(half), t.box[1] = box_rows;
  t.swizzle = swizzle;
  return t;
}

std::string asked_elsewhere(std::span<const ExecEvent> events, int warp) {
  for (const ExecEvent& e : events)
    if (e.kind == ExecEvent::Kind::tma_issue && e.warp != warp)
      return "warp " + std::to_string(e.warp) + " asks for a tile; warp " + std::to_string(warp) + " is to ask for all";
  return "";
}

Overlap overlap_of(std::span<const ExecEvent> events) {
  Overlap overlap;
  int under_way = 0;
  for (const ExecEvent& e : events) {
    if (e.warp != 0) continue;
    if (e.kind == ExecEvent::Kind::wgmma_commit) overlap.most = std::max(overlap.most, ++under_way);
    if (e.kind != ExecEvent::Kind::wgmma_wait) continue;
    overlap.waits += under_way == 2 && e.bytes == 1;
    under_way = std::min(under_way, e.bytes);
  }
  return overlap;
}

std::string too_little(const Overlap& overlap, int wanted, const std::string& of) {
  if (overlap.waits >= wanted) return "";
  return "a wait leaves one of two groups under way " + std::to_string(overlap.waits) + " times; it must " +
         std::to_string(wanted) + " times, once for each " + of + " but the first";
}

}  // namespace lab
