// runner KERNEL drill: launches a drill under every schedule and time of copying, with the checker on, and compares what
// comes out bit for bit. runner KERNEL order: the order in which it does things. runner KERNEL counts: how often.
#include "checks/exercises/drills/drill.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/exercises/counts.hpp"
#include "checks/exercises/drills/drill.cuh"
#include "checks/runner/commands.hpp"
#include "checks/runner/library.hpp"
#include "common/fp16.hpp"
#include "common/gpu_access.hpp"
#include "common/hang.hpp"

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
  std::string under, failure;  // "5 tiles, schedule ascending, copies at_wait"
  std::vector<float> out;
  ExecReport report;
};

DrillRan run(const Drill& d, Schedule schedule, Copies copies, ExecWatcher* watcher = nullptr) {
  static const auto launch = reinterpret_cast<decltype(&::drill)>(library_symbol("drill"));
  ExecOptions options{.schedule = schedule, .copies = copies, .products = copies, .check = true};
  if (watcher) options.workers = 1, options.watcher = watcher, options.count = true;
  set_exec_options(options);
  take_exec_report();
  const std::size_t in_bytes = d.in.size() * sizeof(fp16);
  const std::size_t out_bytes = d.right.size() * (d.halves ? sizeof(fp16) : sizeof(float));
  std::vector<fp16> in_halves, out_halves(d.halves ? d.right.size() : 0, to_fp16(NEVER_WRITTEN));
  for (const float x : d.in) in_halves.push_back(to_fp16(x));
  DrillRan ran{d.name + ", schedule " + name(schedule) + ", copies " + name(copies), "", {}, {}};
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
  for (const Wait& wait : ran.report.hang.waits)
    ran.failure += "\n    " + wait.file + ":" + std::to_string(wait.line) + ": " + wait.text;
  return ran;
}

int red(const DrillRan& ran, const std::string& what) {
  print_red(ran.under + ": " + what);
  record("tells", ran.under + ": " + what);
  return 1;
}

class Recorder final : public ExecWatcher {
 public:
  void see(const ExecEvent& e) override { events.push_back(e); }
  std::vector<ExecEvent> events;
};

// An mbarrier that is told of fewer bytes than land lets its waits end early. The finding of the early access does not name it;
// this line does. "" where there is none.
std::string too_few_bytes(const Drill& d, Schedule schedule, Copies copies) {
  Recorder recorder;
  run(d, schedule, copies, &recorder);
  std::map<std::string, std::pair<long, long>> bytes;  // of each mbarrier: told of, landed
  for (const ExecEvent& e : recorder.events) {
    if (e.kind == ExecEvent::Kind::mbarrier_arrive) bytes[e.array].first += e.bytes;
    if (e.kind == ExecEvent::Kind::mbarrier_land) bytes[e.array].second += e.bytes;
  }
  for (const auto& [name, of] : bytes)
    if (of.first < of.second)
      return format("`%s` is told of %ld bytes, and %ld land there: its wait ends too early\n", name.c_str(), of.first,
                    of.second);
  return "";
}

std::string place(const Drill& d, std::size_t i) { return format("row %zu, column %zu", i / d.columns, i % d.columns); }

// The eight neighbours of out[i] in its row, if `right` has their values in one other place, of this row or else of any, along a row or
// down a column: a kernel that computes right, and reads or stores in the wrong place. Small numbers repeat, so the row comes first.
std::string moved(const Drill& d, const std::vector<float>& out, std::size_t i) {
  constexpr std::size_t RUN = 8;
  const std::size_t first = i / RUN * RUN, size = d.rows * d.columns;
  std::vector<std::string> found[2];  // in this row; anywhere
  for (const std::size_t step : {std::size_t(1), d.columns})
    for (std::size_t at = 0; at < size; at += step == 1 ? RUN : 1) {
      std::size_t same = 0;
      while (same < RUN && at + same * step < size && out[first + same] == d.right[at + same * step]) ++same;
      if (same < RUN) continue;
      const std::string text = format("\n    out[%zu..%zu] has the values of %s, and the next %zu %s", first,
                                      first + RUN - 1, place(d, at).c_str(), RUN - 1, step == 1 ? "columns" : "rows");
      if (step == 1 && at / d.columns == i / d.columns) found[0].push_back(text);
      found[1].push_back(text);
    }
  for (const auto& texts : found)
    if (texts.size() == 1) return texts[0];
  return "";
}

// Of a launch under every schedule and time of copying: the first run that is red, or a later one that names an access before a copy
// has landed. The same missing wait shows as a race where the copy happens to be requested after the access.
std::optional<DrillRan> worst_of(const Drill& d) {
  std::optional<DrillRan> first;
  for (const Schedule schedule : SCHEDULES)
    for (const Copies copies : COPY_TIMES) {
      DrillRan ran = run(d, schedule, copies);
      for (std::size_t i = 0; i < ran.out.size() && ran.failure.empty(); ++i)
        if (std::bit_cast<unsigned>(ran.out[i]) != std::bit_cast<unsigned>(d.right[i]))
          ran.failure = format("out[%zu]%s is %s%g, and must be %g", i,
                               i < d.rows * d.columns ? (", " + place(d, i) + ",").c_str() : "",
                               ran.out[i] == NEVER_WRITTEN ? "never written, " : "",
                               double(std::isnan(ran.out[i]) ? NAN : ran.out[i]), double(d.right[i])) +
                        (d.of_out ? "\n    " + d.of_out(i) : "") + (i < d.rows * d.columns ? moved(d, ran.out, i) : "");
      const auto early = std::ranges::find(ran.report.findings, Finding::Kind::before_phase, &Finding::kind);
      if (early != ran.report.findings.end()) {
        ran.failure = too_few_bytes(d, schedule, copies) + early->text;
        return ran;
      }
      if (!ran.failure.empty() && !first) first = ran;
      if (first && (first->report.findings.empty() || !first->report.message.empty())) return first;  // no race
    }
  return first;
}

}  // namespace

unsigned input_seed = 0;

std::vector<float> small_numbers(std::size_t count) {
  std::vector<float> in(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = small_number(unsigned(i));
  return in;
}

void multiply(Drill& d, std::size_t M, std::size_t N, std::size_t K, bool transposed) {
  d.rows = M, d.columns = N;
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
  for (const Drill& d : launches())
    if (const auto ran = worst_of(d)) return red(*ran, ran->failure);
  return 0;
}

int order_command(std::span<char*>) {
  for (const Drill& d : launches())
    for (const Schedule schedule : SCHEDULES) {
      if (!d.order) continue;
      Recorder recorder;
      const DrillRan ran = run(d, schedule, Copies::at_wait, &recorder);
      const std::string wrong = ran.failure.empty() ? d.order(recorder.events) : ran.failure;
      if (!wrong.empty()) return red(ran, wrong);
    }
  return 0;
}

int drill_counts_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape"};
  const std::string which = KeyValues(args, KEYS).require("shape");
  const Launches all = launches();
  const auto d = std::ranges::find(all, which, &Drill::name);
  if (d == all.end()) throw BadInput("shape=" + which + ": there is no launch of that name");
  WordCounter counter;
  const DrillRan ran = run(*d, Schedule::ascending, Copies::at_wait, &counter);
  if (!ran.failure.empty()) return red(ran, ran.failure);
  counter.print(ran.report);
  return 0;
}

}  // namespace lab
