// The GPU's side of common/backend.hpp: the hardware schedules as it likes, and races are for compute-sanitizer.
#include "common/backend.hpp"

#include <cuda_runtime.h>

#include <chrono>
#include <thread>
#include <utility>

#include "common/build_info.hpp"
#include "common/gpu_fit.hpp"
#include "common/target.hpp"

namespace lab {

bool has_code_here();  // poison.cu

namespace {
ExecOptions options;
std::string message;
std::vector<Launched> launched;
}  // namespace

void set_exec_options(const ExecOptions& chosen) { options = chosen; }
const ExecOptions& exec_options() { return options; }
void set_launch_message(const std::string& text) { message = text; }
bool to_be_made(const Launched& launch) {
  launched.push_back(launch);
  return !options.dry;
}

const char* backend_name() { return "gpu"; }
bool can_schedule() { return false; }

std::string device_name() {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return "no GPU";
  return properties.name;
}

cudaError_t synchronize_within(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  // The null stream waits for every stream but those that were made not to be waited for.
  static cudaEvent_t done = nullptr;
  if (!done) cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventRecord(done, nullptr);
  cudaError_t state = cudaEventQuery(done);
  for (; state == cudaErrorNotReady && std::chrono::steady_clock::now() < end; state = cudaEventQuery(done))
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  if (state == cudaErrorNotReady) {
    cudaGetLastError();  // "not ready" is an answer, not an error to keep
    return state;
  }
  return cudaDeviceSynchronize();
}

std::string skipped_here() {
  cudaDeviceProp p{};
  if (cudaGetDeviceProperties(&p, 0) != cudaSuccess) return "";
  const GpuProperties gpu{p.name, p.major, p.minor, p.sharedMemPerBlockOptin, has_code_here()};
  const auto& [target, needs, smem] = stage_conf();
  return skip_line({stage_name(), target, needs, smem}, gpu);
}

ExecReport take_exec_report() {
  ExecReport report;
  report.message = std::exchange(message, {}), report.launched = std::exchange(launched, {});
  return report;
}

const char* name(Finding::Kind) { return "finding"; }
bool Finding::is(Kind) const { return false; }
Finding::Key Finding::key() const { return {}; }
std::string ways_text(const Finding&) { return ""; }
const char* name(Schedule) { return "the hardware's"; }
const char* name(Copies) { return "the hardware's"; }

}  // namespace lab
