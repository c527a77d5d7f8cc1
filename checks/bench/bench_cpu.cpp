// `lab bench-cpu`: what the CPU backend costs on the notes' mission shape. It prints what it measured and on
// what machine, and asserts no speed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/commands.hpp"
#include "common/backend.hpp"
#include "common/stage.hpp"
#include "reference/inputs.hpp"

namespace lab {
namespace {

constexpr Shape MISSION{1, 8, 512, 64, false};
constexpr int RUNS = 5;

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != line.npos) return line.substr(colon + 2);
  return "unknown CPU";
}

struct Measured {
  std::vector<double> seconds;  // ascending
  ExecReport report;            // of one run: switches and collectives are the same in all of them
  double median() const { return seconds[seconds.size() / 2]; }
};

Measured measure(const AttentionArgs& args, int workers, bool check) {
  ExecOptions options;
  options.workers = workers, options.check = check, options.gaps = check;
  set_exec_options(options);
  Measured measured;
  for (int run = 0; run <= RUNS; ++run) {
    take_exec_report();
    const auto begin = std::chrono::steady_clock::now();
    const cudaError_t launched = stage().launch(args), finished = cudaDeviceSynchronize();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    measured.report = take_exec_report();
    if (launched != cudaSuccess || finished != cudaSuccess) throw std::runtime_error(measured.report.message);
    if (run > 0) measured.seconds.push_back(took.count());  // the first one warms up
  }
  set_exec_options({});
  std::ranges::sort(measured.seconds);
  return measured;
}

void print_row(const std::string& what, int workers, const Measured& m, const std::string& remark = "") {
  // A worker's time, not the wall's: it says the same for any number of workers that the machine has cores for.
  const double ns = 1e9 * m.median() * workers / double(std::max<std::uint64_t>(1, m.report.lane_collectives));
  std::printf("%-20s %8.3f s  (%.3f .. %.3f)  %6.1f ns  %11llu  %11llu  %8zu%s\n", what.c_str(), m.median(),
              m.seconds.front(), m.seconds.back(), ns, (unsigned long long)m.report.lane_collectives,
              (unsigned long long)m.report.switches, m.report.findings.size(), remark.c_str());
  std::fflush(stdout);
}

std::string workers_text(int n) { return format("%d worker%s", n, n == 1 ? "" : "s"); }

}  // namespace

int bench_cpu_command(std::span<char*> args) {
  // plain=SECONDS: what the build without instrumentation took, to compare the checker with.
  constexpr std::string_view KEYS[] = {"plain"};
  const auto plain_seconds = KeyValues(args, KEYS).number("plain");
  if (plain_seconds && *plain_seconds <= 0) throw BadInput("plain=: must be more than 0 seconds");
  if (!can_schedule()) throw BadInput("bench-cpu measures the CPU backend; this binary runs on the GPU");
  const int cores = std::max(1, int(std::thread::hardware_concurrency()));
  const Inputs in = make_inputs(Family::unit, MISSION, 1);
  const DeviceTensor q(in.q), k(in.k), v(in.v), out(MISSION.elements());
  AttentionArgs attention;
  attention.q = q.data(), attention.k = k.data(), attention.v = v.data(), attention.out = out.data();
  attention.shape = MISSION;

  std::printf("%s, %s, median of %d runs (fastest .. slowest)\n", stage().name, text(MISSION).c_str(), RUNS);
  std::printf("machine: %s, %d core%s\n", cpu_model().c_str(), cores, cores == 1 ? "" : "s");
  std::printf("%-20s %10s  %18s  %9s  %11s  %11s  %8s\n", "", "", "", "a lane-", "lane-", "", "");
  std::printf("%-20s %10s  %18s  %9s  %11s  %11s  %8s\n", "", "time", "", "collect.", "collectives", "switches",
              "findings");
  const std::string build = can_check() ? "unchecked" : "plain";
  const Measured all = measure(attention, cores, false);
  print_row(build + ", " + workers_text(cores), cores, all);
  const Measured one = cores == 1 ? all : measure(attention, 1, false);
  if (cores > 1) print_row(build + ", 1 worker", 1, one);
  if (!can_check()) return 0;
  const Measured checked = measure(attention, cores, true);
  print_row("checked, " + workers_text(cores), cores, checked);
  std::printf("The checker takes %.1f times as long as the same instrumented build with the checker asleep.\n",
              checked.median() / all.median());
  if (plain_seconds)
    std::printf("The checker takes %.1f times as long as the plain build, %.3f s.\n", checked.median() / *plain_seconds,
                *plain_seconds);
  return 0;
}

#ifndef LAB_GPU
int bench_command(std::span<char*>) {
  throw BadInput("bench times kernels on a GPU, and this binary runs them on the CPU; bench-cpu says what that costs");
}
int phases_command(std::span<char*>) {
  throw BadInput("phases are timed on a GPU, and this binary runs kernels on the CPU");
}
#endif

}  // namespace lab
