// Linked to a checked program (make check): takes the schedule from the environment, and leaves what was found in a file
// when the program ends.
//   LAB_RUN       "SCHEDULE COPIES SECONDS"
//   LAB_FINDINGS  a file: of each finding a line "finding KEY" or "same-value KEY", the report, and a line with a dot
// It is linked last, so that its work at the end comes before the emulator's own variables go.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/backend.hpp"
#include "common/build_info.hpp"
#include "common/cpu/cuda.h"
#include "common/emulator/block.hpp"
#include "common/target.hpp"

namespace lab {
const StageConf& stage_conf() {
  static const StageConf conf{"sm_90a", "", 232448};
  return conf;
}
const char* stage_name() { return "the program"; }
const char* planted_bug() { return ""; }
bool can_check() { return true; }
}  // namespace lab

namespace {

using namespace lab;

// "s" of "s[3]", "g" of "element 5 of g (256 B, elements of 4 B)".
std::string array_of(const std::string& where) {
  const auto of = where.find(" of ");
  const std::string name = of == where.npos ? where : where.substr(of + 4);
  return name.substr(0, name.find_first_of("[(,"));
}

void write_findings() {
  static bool written = false;
  const char* path = std::getenv("LAB_FINDINGS");
  if (written || !path) return;
  written = true;
  std::FILE* const file = std::fopen(path, "w");
  if (!file) return;
  const ExecReport report = take_exec_report();
  for (const Finding& f : report.findings) {
    const auto [kind, later, earlier, hazard] = f.key();
    std::fprintf(file, "%s %d %s:%d %s:%d %s\n%s\n.\n", f.same_value ? "same-value" : "finding", int(kind),
                 later.first.c_str(), later.second, earlier.first.c_str(), earlier.second, array_of(f.where).c_str(),
                 f.text.c_str());
  }
  if (!report.message.empty()) std::fprintf(file, "message\n%s\n.\n", report.message.c_str());
  std::fclose(file);
}

void on_abort(int) {
  write_findings();
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

struct Setup {
  Setup() {
    ExecOptions options;
    options.workers = 1, options.check = true, options.gaps = true;
    char schedule[32] = "ascending", copies[32] = "at_wait";
    double seconds = 60;
    if (const char* run = std::getenv("LAB_RUN")) std::sscanf(run, "%31s %31s %lf", schedule, copies, &seconds);
    for (const Schedule each : SCHEDULES)
      if (!std::strcmp(name(each), schedule)) options.schedule = each;
    for (const Copies each : COPY_TIMES)
      if (!std::strcmp(name(each), copies)) options.copies = options.products = each;
    // Blocks begin in any order, on which it depends which of them has a lock first.
    if (options.schedule == Schedule::round_robin) options.block_order = 1;  // descending
    if (options.schedule == Schedule::random) options.block_order = 2;       // shuffled
    options.block_seconds = seconds;
    set_exec_options(options);
    std::signal(SIGABRT, on_abort);
    std::atexit(write_findings);
  }
} const setup;

}  // namespace

// Of a kernel: the launch's error, with block, thread and place. Of host code: the end of the program.
extern "C" void __assert_fail(const char* condition, const char* file, unsigned line,
                              const char* function) noexcept(true) {
  cpu::Block* const block = cpu::this_block();
  if (block && block->running())
    block->fail(cudaErrorAssert, Finding::Kind::fault,
                std::string("assertion `") + condition + "` failed in " + function + ", thread (" +
                    std::to_string(threadIdx.x) + "," + std::to_string(threadIdx.y) + "," +
                    std::to_string(threadIdx.z) + ")",
                reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1);
  std::fprintf(stderr, "%s:%u: %s: assertion `%s` failed\n", file, line, function, condition);
  std::abort();
}

// --- the runtime API ---------------------------------------------------------------------------------------------------------
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device != 0) return cudaErrorInvalidDevice;
  *p = {};
  std::strcpy(p->name, "CPU, as an H200");
  p->totalGlobalMem = std::size_t(64) << 30, p->sharedMemPerBlock = 49152, p->sharedMemPerBlockOptin = 232448;
  p->sharedMemPerMultiprocessor = 233472, p->totalConstMem = 65536;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536, p->warpSize = 32, p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->major = 9, p->minor = 0, p->multiProcessorCount = 132, p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32, p->l2CacheSize = 62914560, p->memoryBusWidth = 6144, p->concurrentKernels = 1;
  p->unifiedAddressing = p->managedMemory = p->canMapHostMemory = 1, p->clockRate = 1980000,
  p->memoryClockRate = 3201000;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (const cudaError_t error = cudaGetDeviceProperties(&p, device); error != cudaSuccess) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return *value = p.maxThreadsPerBlock, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return *value = int(p.sharedMemPerBlock), cudaSuccess;
    case cudaDevAttrWarpSize:
      return *value = p.warpSize, cudaSuccess;
    case cudaDevAttrMaxRegistersPerBlock:
      return *value = p.regsPerBlock, cudaSuccess;
    case cudaDevAttrClockRate:
      return *value = p.clockRate, cudaSuccess;
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrIntegrated:
      return *value = 0, cudaSuccess;
    case cudaDevAttrComputeMode:
      return *value = p.computeMode, cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      return *value = p.multiProcessorCount, cudaSuccess;
    case cudaDevAttrMemoryClockRate:
      return *value = p.memoryClockRate, cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth:
      return *value = p.memoryBusWidth, cudaSuccess;
    case cudaDevAttrL2CacheSize:
      return *value = p.l2CacheSize, cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return *value = p.maxThreadsPerMultiProcessor, cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      return *value = p.major, cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      return *value = p.minor, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return *value = int(p.sharedMemPerMultiprocessor), cudaSuccess;
    case cudaDevAttrCooperativeLaunch:
      return *value = 0, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return *value = int(p.sharedMemPerBlockOptin), cudaSuccess;
  }
  return cudaErrorInvalidValue;
}
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return *free = *total = std::size_t(64) << 30, cudaSuccess;
}
cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(pointer, *pitch * height);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidValue;
  for (std::size_t row = 0; row < height; ++row)
    std::memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
  return cudaSuccess;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                                const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t*, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  const bool sixteen = type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 || type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ||
                       type == CU_TENSOR_MAP_DATA_TYPE_UINT16;
  if (!sixteen || rank > MAX_TENSOR_RANK || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) {
    std::fprintf(stderr, "cuTensorMapEncodeTiled: the CPU has tensors of 16-bit elements in 1 to %d dimensions\n",
                 MAX_TENSOR_RANK);
    return CUDA_ERROR_INVALID_VALUE;
  }
  TensorShape shape;
  shape.rank = int(rank), shape.swizzle = Swizzle(swizzle);
  for (cuuint32_t d = 0; d < rank; ++d) {
    shape.extent[d] = extents[d], shape.box[d] = box[d];
    shape.stride[d] = d == 0 ? sizeof(half) : strides[d - 1];
  }
  return make_tensor_map(*map, static_cast<const half*>(base), shape) == cudaSuccess ? CUDA_SUCCESS
                                                                                     : CUDA_ERROR_INVALID_VALUE;
}
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
  const bool found = !std::strcmp(symbol, "cuTensorMapEncodeTiled");
  *function = found ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  if (result) *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
