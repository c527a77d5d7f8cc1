// All of CUDA that the CPU reads; `make check` includes it before a file, as nvcc does with its own.
#pragma once
// Many a file has a lerp of its own, and nvcc's C++17 none in <math.h>.
#define lerp lerp_of_std
#include <math.h>
#undef lerp

// What nvcc's own headers bring, and files rely on.
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <new>
#include <utility>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_host.h"
#include "cuda_intrinsics.h"
#include "half_functions.h"
#include "inline_ptx.h"
#include "plain_launch.h"

// The words that the front end knows stay as they are: __global__, __shared__, __constant__, __cluster_dims__, __noinline__, asm, <<<.
#undef __global__
#define __managed__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_assume(condition) ((void)0)
#define __maxnreg__(...)

// As nvcc, for sm_90a. The lab's own headers are behind this point: there these words choose a GPU's half of a wrapper.
#define LAB_EMULATED 1  // of the lab's own: warp.cuh
#define __NVCC__ 1
#define __DRIVER_TYPES_H__  // by these helper_cuda.h of NVIDIA's samples knows that there is a runtime
#define __CUDA_RUNTIME_H__
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDA_ARCH__ 900
#define __CUDA_ARCH_FEAT_SM90_ALL 1
