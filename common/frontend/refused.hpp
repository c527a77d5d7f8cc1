// Parts of CUDA and its libraries that `make check` does not read.
#pragma once
#include <string>
#include <string_view>

namespace lab::frontend {

// Not there on the CPU, and a way around it.
struct Refused {
  std::string_view word, instead;
};
inline constexpr std::string_view NO_GRID = "no synchronisation of a whole grid: end the kernel, and launch another";
inline constexpr std::string_view NO_LIBCUXX =
    "libcu++ is not read: use __syncthreads, cp.async and mbarriers by asm, or cooperative groups";
inline constexpr std::string_view NO_CURAND = "cuRAND is not read: make random numbers on the CPU";
inline constexpr Refused REFUSED[] = {
    {"cudaTextureObject_t", "no textures: read the array itself"},
    {"cudaSurfaceObject_t", "no surfaces: write the array itself"},
    {"tex1Dfetch", "no textures: read the array itself"},
    {"tex2D", "no textures: read the array itself"},
    {"this_grid", NO_GRID},
    {"cudaLaunchCooperativeKernel", NO_GRID},
    {"cudaGraph_t", "no graphs: give the launches to the stream"},
    {"cudaMemPool_t", "no memory pools: cudaMallocAsync needs none"},
    {"cudaIpcMemHandle_t", "no memory of other processes"},
    {"cudaDeviceEnablePeerAccess", "there is one device"},
    {"cudaMemcpyPeerAsync", "there is one device"},
    {"cudaDeviceGetP2PAttribute", "there is one device"},
    {"cudaAccessPolicyWindow", "no part of the L2 is set aside: leave it out"},
    {"omp_set_num_threads", "no OpenMP: the host has one thread"},
    {"omp_get_thread_num", "no OpenMP: the host has one thread"},
    {"grid_group", NO_GRID},
    {"curandState", NO_CURAND},
    {"curandState_t", NO_CURAND},
    {"curandStateMtgp32_t", NO_CURAND},
    {"curandStatePhilox4_32_10_t", NO_CURAND},
};
inline constexpr Refused REFUSED_HEADERS[] = {
    {"cub/", "CUB is not read: write the reduction or scan"},
    {"thrust/", "Thrust is not read: use arrays and kernels"},
    {"cutlass/", "CUTLASS is not read"},
    {"cute/", "CuTe is not read"},
    {"torch/", "PyTorch is not read: call the kernel from a main()"},
    {"ATen/", "PyTorch is not read: call the kernel from a main()"},
    {"cuda/", NO_LIBCUXX},
    {"cublas", "cuBLAS is not read: compare with a loop on the CPU"},
    {"cudnn", "cuDNN is not read: compare with a loop on the CPU"},
    {"curand", NO_CURAND},
    {"cufft", "cuFFT is not read"},
    {"cusparse", "cuSPARSE is not read"},
    {"cusolver", "cuSOLVER is not read"},
    {"nccl", "NCCL is not read: there is one device"},
    {"cuda_fp8", "fp8 is not read: use half or bfloat16"},
    {"cuda_fp4", "fp4 is not read: use half or bfloat16"},
    {"nvrtc", "NVRTC is not read"},
    {"mpi.h", "MPI is not read: there is one device"},
};

// Where g++ enters a header, `# 1 "/usr/include/cublas_v2.h" 1 3`, the directive that it has carried out; another line as it is.
inline std::string include_of(const std::string& line) {
  const auto folder = line.rfind("/include/"), end = line.rfind('"');
  if (!line.starts_with("# 1 \"") || folder == line.npos || !line.substr(end).starts_with("\" 1")) return line;
  const auto name = folder + std::string_view("/include/").size();
  return "#include <" + line.substr(name, end - name) + ">";
}

// `#include <cub/cub.cuh>` among the lines of a token of space; "" if there is nothing to refuse.
inline std::string refused_header(std::string_view directive) {
  const auto open = directive.find_first_of("<\"");
  if (directive.find("include") == directive.npos || open == directive.npos) return "";
  for (const Refused& header : REFUSED_HEADERS)
    if (directive.substr(open + 1).starts_with(header.word)) return std::string(header.instead);
  return "";
}

}  // namespace lab::frontend
