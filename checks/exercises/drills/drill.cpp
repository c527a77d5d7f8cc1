// lab drill: launches the kernel of one instruction under every schedule and time of copying, with the checker on, and
// compares what comes out bit for bit.
#include "checks/exercises/drills/drill.hpp"

#include <bit>
#include <cstdio>
#include <span>

#include "checks/commands.hpp"
#include "common/backend.hpp"
#include "common/gpu_access.hpp"
#include "common/launch.cuh"
#include "common/stage.hpp"

namespace lab {
namespace {

constexpr Schedule SCHEDULES[] = {Schedule::ascending, Schedule::descending, Schedule::round_robin, Schedule::random};
constexpr Copies COPIES[] = {Copies::at_wait, Copies::at_issue};
constexpr float NEVER_WRITTEN = -12345.0f;  // no drill's answer

// Returns whether all is well; else prints one line.
bool good_under(const Drill& d, const ExecOptions& options) {
  const auto red = [&](const char* what, const char* why) {
    std::printf("schedule %s, copies %s: %s%s\n", name(options.schedule), name(options.copies), what, why);
    return false;
  };
  set_exec_options(options);
  take_exec_report();
  std::vector<half> in(d.in.size());
  std::copy_n(reinterpret_cast<const half*>(d.in.data()), in.size(), in.data());
  std::vector<float> out(d.right.size(), NEVER_WRITTEN);
  half* device_in = nullptr;
  float* device_out = nullptr;
  if (cudaMalloc(&device_in, in.size() * sizeof(half)) != cudaSuccess ||
      cudaMalloc(&device_out, out.size() * sizeof(float)) != cudaSuccess)
    return red("no memory", "");
  cudaMemcpy(device_in, in.data(), in.size() * sizeof(half), cudaMemcpyHostToDevice);
  cudaMemcpy(device_out, out.data(), out.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaError_t launched;
  if (d.with_map) {
    TensorMap map;
    launched = make_tensor_map(map, device_in, d.tensor);
    if (launched == cudaSuccess)
      launched =
          launch("drill", d.with_map, dim3(1), dim3(d.threads), d.shared_bytes, nullptr, TensorMap(map), device_out);
  } else {
    launched = launch("drill", d.kernel, dim3(1), dim3(d.threads), d.shared_bytes, nullptr,
                      static_cast<const half*>(device_in), device_out);
  }
  const cudaError_t ran = synchronize_within(HANG_SECONDS);
  cudaMemcpy(out.data(), device_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(device_in), cudaFree(device_out);
  const ExecReport report = take_exec_report();
  set_exec_options({});
  if (launched != cudaSuccess || ran != cudaSuccess) return red("the launch fails: ", report.message.c_str());
  if (!report.findings.empty()) return red(report.findings[0].text.c_str(), "");
  for (std::size_t i = 0; i < out.size(); ++i)
    if (std::bit_cast<unsigned>(out[i]) != std::bit_cast<unsigned>(d.right[i])) {
      char text[160];
      std::snprintf(text, sizeof text, "out[%zu] is %s%g, and must be %g", i,
                    out[i] == NEVER_WRITTEN ? "never written, " : "", double(out[i]), double(d.right[i]));
      return red(text, "");
    }
  return true;
}

}  // namespace

int drill_command(std::span<char*> args) {
  if (!args.empty()) throw BadInput("drill takes no arguments");
  const Drill d = the_drill();
  int runs = 0;
  for (const Schedule schedule : SCHEDULES)
    for (const Copies copies : COPIES) {
      ExecOptions options;
      options.schedule = schedule, options.copies = options.products = copies, options.check = true;
      if (!good_under(d, options)) return 1;
      ++runs;
    }
  std::printf("%zu numbers, the same bits under %d schedules and times of copying\n", d.right.size(), runs);
  return 0;
}

static constexpr Command COMMANDS[] = {{"drill", drill_command, "drill    one instruction's kernel, bit for bit"}};
std::span<const Command> commands() { return COMMANDS; }

}  // namespace lab
