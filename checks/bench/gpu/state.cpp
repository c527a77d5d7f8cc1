// NVML through dlopen: the driver brings the library, and a machine without it loses a column, not the benchmark.
#include <dlfcn.h>

#include "checks/bench/gpu/stopwatch.hpp"

namespace lab::gpu {
namespace {

using Handle = void*;
struct Nvml {
  Handle device = nullptr;
  int (*clock)(Handle, int kind, unsigned* mhz) = nullptr;

  Nvml() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library) return;
    const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    const auto by_bus =
        reinterpret_cast<int (*)(const char*, Handle*)>(dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
    const auto clock_of = reinterpret_cast<int (*)(Handle, int, unsigned*)>(dlsym(library, "nvmlDeviceGetClockInfo"));
    char bus[32];
    int gpu = 0;
    if (init && by_bus && clock_of && cudaGetDevice(&gpu) == cudaSuccess &&
        cudaDeviceGetPCIBusId(bus, sizeof bus, gpu) == cudaSuccess && init() == 0 && by_bus(bus, &device) == 0)
      clock = clock_of;
  }
};

}  // namespace

double sm_mhz_now() {
  static const Nvml nvml;
  constexpr int SM_CLOCK = 1;
  unsigned mhz = 0;
  return nvml.clock && nvml.clock(nvml.device, SM_CLOCK, &mhz) == 0 ? mhz : 0;
}

}  // namespace lab::gpu
