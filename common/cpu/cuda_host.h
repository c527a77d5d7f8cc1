// The runtime API beyond what the stages use. One device, the lab's model of an H200; everything given to a stream has
// ended when the call returns.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <tuple>

#include "plain_launch.h"

#define CUDART_VERSION 13000
#define CUDART_CB
using cudaError = cudaError_t;

// --- devices -------------------------------------------------------------------------------------------------------------
struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor, totalConstMem;
  int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int major, minor, multiProcessorCount, maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor, l2CacheSize;
  int memoryBusWidth, concurrentKernels, cooperativeLaunch, unifiedAddressing, managedMemory, asyncEngineCount;
  int integrated, canMapHostMemory, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, clockRate, memoryClockRate;
  int computeMode, deviceOverlap, kernelExecTimeoutEnabled, tccDriver, multiGpuBoardGroupID, isMultiGpuBoard;
  int concurrentManagedAccess, pageableMemoryAccess, computePreemptionSupported, streamPrioritiesSupported;
  int singleToDoublePrecisionPerfRatio, hostNativeAtomicSupported, cooperativeMultiDeviceLaunch;
  int maxTexture1D, maxTexture2D[2], maxTexture3D[3], maxTexture1DLayered[2], maxTexture2DLayered[3];
  std::size_t memPitch, textureAlignment, surfaceAlignment;
};
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMaxRegistersPerBlock = 12,
  cudaDevAttrClockRate = 13,
  cudaDevAttrGpuOverlap = 15,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrIntegrated = 18,
  cudaDevAttrComputeMode = 20,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};
enum { cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2 };
enum { cudaDeviceScheduleAuto = 0, cudaDeviceBlockingSync = 4, cudaDeviceMapHost = 8 };
enum { cudaComputeModeDefault, cudaComputeModeExclusive, cudaComputeModeProhibited, cudaComputeModeExclusiveProcess };
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 0, cudaSuccess; }
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return *least = *greatest = 0, cudaSuccess;
}
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
inline cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
inline cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
enum cudaFuncCache {
  cudaFuncCachePreferNone,
  cudaFuncCachePreferShared,
  cudaFuncCachePreferL1,
  cudaFuncCachePreferEqual
};
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault,
  cudaSharedMemBankSizeFourByte,
  cudaSharedMemBankSizeEightByte
};
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
template <class Kernel>
cudaError_t cudaFuncSetCacheConfig(Kernel*, cudaFuncCache) {
  return cudaSuccess;
}
enum { cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxL1 = 0, cudaSharedmemCarveoutMaxShared = 100 };

// --- memory --------------------------------------------------------------------------------------------------------------
enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4 };
enum { cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2 };
enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
template <class T>
cudaError_t cudaMallocManaged(T** pointer, std::size_t bytes, unsigned = cudaMemAttachGlobal) {
  const cudaError_t error = cudaMalloc(pointer, bytes);
  lab::plain::written(*pointer, bytes);  // the host's own stores are not seen
  return error;
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }
template <class T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes, unsigned = 0) {
  *pointer = static_cast<T*>(std::malloc(bytes ? bytes : 1));
  return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned flags) {
  return cudaMallocHost(pointer, bytes, flags);
}
inline cudaError_t cudaFreeHost(void* pointer) { return std::free(pointer), cudaSuccess; }
inline cudaError_t cudaHostRegister(void*, std::size_t, unsigned) { return cudaSuccess; }
template <class T>
cudaError_t cudaHostGetDevicePointer(T** pointer, void* host, unsigned) {
  return *pointer = static_cast<T*>(host), cudaSuccess;
}
inline cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height);
template <class T>
cudaError_t cudaMallocPitch(T** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  return cudaMallocPitch(reinterpret_cast<void**>(pointer), pitch, width, height);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind);
inline cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                     std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes) { return cudaMemset(to, byte, bytes); }
inline cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
namespace lab::plain {
template <class Symbol>
char* bytes_of(const Symbol& symbol) {
  return const_cast<char*>(&reinterpret_cast<const volatile char&>(symbol));
}
}  // namespace lab::plain
template <class Symbol>
cudaError_t cudaMemcpyToSymbol(Symbol& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpy(lab::plain::bytes_of(symbol) + offset, from, bytes, kind);
}
template <class Symbol>
cudaError_t cudaMemcpyFromSymbol(void* to, const Symbol& symbol, std::size_t bytes, std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return cudaMemcpy(to, lab::plain::bytes_of(symbol) + offset, bytes, kind);
}
template <class T, class Symbol>
cudaError_t cudaGetSymbolAddress(T** pointer, const Symbol& symbol) {
  *pointer = reinterpret_cast<T*>(const_cast<std::remove_cv_t<Symbol>*>(&symbol));
  return cudaSuccess;
}

// --- streams and events --------------------------------------------------------------------------------------------------
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return cudaStreamCreate(stream);
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void*);
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* data, unsigned) {
  return call(stream, cudaPeekAtLastError(), data), cudaSuccess;
}
inline cudaError_t cudaLaunchHostFunc(cudaStream_t, void (*call)(void*), void* data) { return call(data), cudaSuccess; }
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, std::size_t = 0, unsigned = 0) { return cudaSuccess; }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }

// --- kernels -------------------------------------------------------------------------------------------------------------
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes;
};
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel*) {
  *attributes = {0, 0, 0, 1024, 0, 90, 90, 49152};
  return cudaSuccess;
}
// The CPU counts no registers: by threads alone.
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int block_size, std::size_t smem) {
  if (lab::plain::any_number_of_blocks()) return *blocks = 1 << 20, cudaSuccess;
  *blocks = block_size > 0 ? 2048 / block_size : 0;
  if (smem && *blocks > int(233472 / (smem + 1024))) *blocks = int(233472 / (smem + 1024));
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, Kernel*, std::size_t = 0, int limit = 0) {
  *grid = 132 * 2, *block = limit && limit < 1024 ? limit : 1024;
  return cudaSuccess;
}
enum cudaLaunchAttributeID {
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6
};
union cudaLaunchAttributeValue {
  struct {
    unsigned x, y, z;
  } clusterDim;
  int cooperative, programmaticStreamSerializationAllowed;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
namespace lab::plain {
// The front end calls it with the kernel's name, in place of cudaLaunchKernelEx.
template <class... Parameters, class... Arguments>
cudaError_t launch_ex(const char* name, const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                      Arguments&&... arguments) {
  dim3 cluster(1, 1, 1);
  bool overlaps_previous = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeClusterDimension)
      cluster = dim3(attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z);
    if (attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization)
      overlaps_previous = attribute.val.programmaticStreamSerializationAllowed != 0;
  }
  return Launch(name, cluster, config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream,
                overlaps_previous)
      .run([kernel](Parameters... a) { kernel(a...); },
           [kernel](auto) { return reinterpret_cast<const void*>(kernel); }, static_cast<Parameters>(arguments)...);
}
}  // namespace lab::plain
template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             std::size_t smem = 0, cudaStream_t stream = nullptr) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return lab::plain::Launch("kernel", dim3(1, 1, 1), grid, block, smem, stream)
        .run([kernel](Parameters... a) { kernel(a...); },
             [kernel](auto) { return reinterpret_cast<const void*>(kernel); },
             *static_cast<std::remove_reference_t<Parameters>*>(arguments[I])...);
  }
  (std::index_sequence_for<Parameters...>{});
}
