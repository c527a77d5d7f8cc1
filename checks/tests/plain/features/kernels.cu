// Constructs of CUDA, a kernel for each. `all` is zeros; x are four of them, the lane's own. all[0] becomes what the row says, which an H200
// gave where each was a program of its own.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>
#include <float.h>
#include <math_constants.h>
#include <mma.h>

#include <cassert>
#include <cstdio>
#include <cstring>
#include <vector>

namespace cg = cooperative_groups;
namespace wmma = nvcuda::wmma;

struct Test {
  const char *name, *value;
  void (*kernel)(float*);
};
std::vector<Test> tests;
struct Add {
  Add(const char* name, const char* value, void (*kernel)(float*)) { tests.push_back({name, value, kernel}); }
};
#define KERNEL(name, value, attributes, ...)                         \
  __global__ void attributes kernel_##name(float* __restrict__ all) { \
    [[maybe_unused]] float* const x = all + 4 * threadIdx.x;          \
    __VA_ARGS__                                                      \
  }                                                                  \
  Add add_##name(#name, value, kernel_##name);

__device__ int device_int;
__constant__ float constant[32];
__noinline__ __device__ float one() { return 1; }

KERNEL(activemask, "4.29497e+09", , x[0] = __activemask();)
KERNEL(align_macro, "0", , __align__(16) float r[4]; r[0] = x[0]; x[1] = r[0];)
KERNEL(asm_f, "1", , float r; asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x[0])); x[0] = r;)
KERNEL(asm_l, "0", , float r; asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(r) : "l"(x)); x[0] = r;)
KERNEL(asm_mov, "0", , unsigned r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); x[0] = r;)
KERNEL(asm_nocon, "1", , asm volatile("cp.async.commit_group;"); x[0] = 1;)
KERNEL(asm_wait_n, "1", , asm volatile("cp.async.wait_group %0;" ::"n"(1)); x[0] = 1;)
KERNEL(assert, "1", , assert(x != nullptr); x[0] = 1;)
KERNEL(atomicAdd_float, "32", , atomicAdd(all, 1.f);)
KERNEL(atomicAdd_half2, "8.61091e+09", , atomicAdd((__half2*)all, __floats2half2_rn(1, 1));)
KERNEL(atomicAdd_int, "4.48416e-44", , atomicAdd((int*)all, 1);)
KERNEL(atomicCAS, "0", , atomicCAS((int*)all, 1, 2);)
KERNEL(atomicExch, "1.4013e-45", , atomicExch((unsigned*)all, 1u);)
KERNEL(atomicInc, "0", , atomicInc((unsigned*)all, 1);)
KERNEL(atomicMax, "1.4013e-45", , atomicMax((int*)all, 1);)
KERNEL(bf16, "1", , __nv_bfloat16 a = __float2bfloat16(1.f); x[0] = __bfloat162float(a);)
KERNEL(builtin_assume, "1", , __builtin_assume(x != nullptr); x[0] = 1;)
KERNEL(byte_perm, "1.6843e+07", , x[0] = __byte_perm(1, 2, 3);)
KERNEL(cg_cluster, "1", , auto c = cg::this_cluster(); c.sync(); x[0] = 1;)
KERNEL(clock64, "1", , x[0] = clock64() > 0;)
KERNEL(constant_mem, "0", , x[0] = constant[threadIdx.x];)
KERNEL(coop_groups, "1", , auto b = cg::this_thread_block(); b.sync(); x[0] = 1;)
KERNEL(coop_reduce, "32", , auto w = cg::tiled_partition<32>(cg::this_thread_block()); x[0] = cg::reduce(w, 1.f, cg::plus<float>{});)
KERNEL(device_global, "0", , if (threadIdx.x == 0) device_int = 1;)
KERNEL(dim3_tid, "1", , dim3 t = threadIdx; all[t.x] = 1;)
KERNEL(double2, "1", , double2 v = make_double2(1, 2); x[0] = v.x;)
KERNEL(exp10, "1", , x[0] = __exp10f(x[1]);)
KERNEL(exp2f, "1", , x[0] = exp2f(x[1]);)
KERNEL(expf, "1", , x[0] = expf(x[1]);)
KERNEL(float3, "1", , float3 v = make_float3(1, 2, 3); x[0] = v.x;)
KERNEL(float4, "0", , float4 v = reinterpret_cast<float4*>(x)[0]; x[0] = v.y;)
KERNEL(flt_max, "-3.40282e+38", , x[0] = -FLT_MAX;)
KERNEL(fmaf_rn, "0", , x[0] = __fmaf_rn(x[1], x[2], x[3]);)
KERNEL(fmax_dbl, "1", , x[0] = max(x[0], 1.0);)
KERNEL(fmul_rn, "0", , x[0] = __fmul_rn(x[1], x[2]);)
KERNEL(frcp, "inf", , x[0] = __frcp_rn(x[1]);)
KERNEL(hadd, "2", , half a = __float2half(1.f); half b = __hadd(a, a); x[0] = __half2float(b);)
KERNEL(half2_arith, "2", , __half2 a = __float2half2_rn(1.f); a = __hfma2(a, a, a); x[0] = __low2float(a);)
KERNEL(half2float_f2h2, "1", , __half2 h = __float22half2_rn(make_float2(1, 2)); x[0] = __low2float(h);)
KERNEL(half_cmp, "0", , half a(1.f), b(2.f); if (a > b) x[0] = 1;)
KERNEL(half_from_int, "0", , half a = 0; x[0] = a;)
KERNEL(half_mul, "1", , half a = __float2half(1.f); half b = a * a; x[0] = __half2float(b);)
KERNEL(half_op_plus_eq, "2", , half a = __float2half(1.f); a += a; x[0] = __half2float(a);)
KERNEL(half_raw, "1", , __half a = __ushort_as_half(0x3c00); x[0] = __half2float(a);)
KERNEL(hdiv, "1", , half a = __float2half(1.f); a = __hdiv(a, a); x[0] = __half2float(a);)
KERNEL(hfma, "2", , half a = __float2half(1.f); half b = __hfma(a, a, a); x[0] = __half2float(b);)
KERNEL(hmax, "1", , half a = __float2half(1.f); half b = __hmax(a, a); x[0] = __half2float(b);)
KERNEL(infinity, "-inf", , x[0] = -INFINITY;)
KERNEL(int2, "1", , int2 v = make_int2(1, 2); x[0] = v.x;)
KERNEL(int4, "1", , int4 v = make_int4(1, 2, 3, 4); x[0] = v.x;)
KERNEL(int_as_float, "1.4013e-45", , x[0] = __int_as_float(1); x[1] = __float_as_int(x[0]);)
KERNEL(ldcs, "0", , x[0] = __ldcs(x + 1);)
KERNEL(ldg, "0", , x[0] = __ldg(x + 1);)
KERNEL(logf, "-inf", , x[0] = __logf(x[1]);)
KERNEL(longlong_shfl, "0", , long long v = __shfl_sync(~0u, (long long)threadIdx.x, 0); x[0] = v;)
KERNEL(make_half2, "2", , __half2 h = make_half2(half(1.f), half(2.f)); x[0] = __high2float(h);)
KERNEL(match_any, "4.29497e+09", , x[0] = __match_any_sync(~0u, 1);)
KERNEL(math_const, "inf", , x[0] = CUDART_INF_F;)
KERNEL(memcpy_async_prim, "0", , __shared__ float s[32]; __pipeline_memcpy_async(&s[threadIdx.x], all + threadIdx.x, 4);
       __pipeline_commit(); __pipeline_wait_prior(0); __syncthreads(); all[threadIdx.x] = s[31 - threadIdx.x];)
KERNEL(min_uint_int, "0", , x[0] = min(threadIdx.x, 3);)
KERNEL(nanosleep, "1", , __nanosleep(10); x[0] = 1;)
KERNEL(popc, "32", , x[0] = __popc(threadIdx.x) + __ffs(1) + __clz(1);)
KERNEL(printf, "0", , if (threadIdx.x == 0) printf("hi %f\n", x[0]);)
KERNEL(reduce_add_sync, "32", , x[0] = __reduce_add_sync(~0u, 1u);)
KERNEL(rsqrtf, "inf", , x[0] = rsqrtf(x[1]);)
KERNEL(saturatef, "0", , x[0] = __saturatef(x[1]);)
KERNEL(shared_extern, "0", , extern __shared__ float s[]; s[threadIdx.x] = all[threadIdx.x]; __syncthreads();
       all[threadIdx.x] = s[31 - threadIdx.x];)
KERNEL(shared_static, "0", , __shared__ float s[32]; s[threadIdx.x] = all[threadIdx.x]; __syncthreads(); all[threadIdx.x] = s[31 - threadIdx.x];)
KERNEL(shfl_sync_half2, "1", , __half2 h = __floats2half2_rn(1, 2); h = __shfl_xor_sync(~0u, h, 1); x[0] = __half22float2(h).x;)
KERNEL(sincos, "0", , x[0] = __sinf(x[1]);)
KERNEL(stcs, "1", , __stcs(x, 1.f);)
KERNEL(syncthreads_or, "1", , x[0] = __syncthreads_or(1);)
KERNEL(syncwarp, "1", , __syncwarp(); x[0] = 1;)
KERNEL(ternary_half, "0", , half a = threadIdx.x ? half(1.f) : half(0); x[0] = a;)
KERNEL(threadfence, "1", , __threadfence(); x[0] = 1;)
KERNEL(threadfence_block, "1", , __threadfence_block(); x[0] = 1;)
KERNEL(tid_uint3_copy, "1", , uint3 t = threadIdx; all[t.x] = 1;)
KERNEL(uchar4, "1", , uchar4 v = make_uchar4(1, 2, 3, 4); x[0] = v.x;)
KERNEL(uint_type, "1", , uint i = threadIdx.x; all[i] = 1;)
KERNEL(umul24, "2", , x[0] = __umul24(1, 2);)
KERNEL(warpSize, "32", , x[0] = warpSize;)
KERNEL(wmma_32x8, "1", , wmma::fragment<wmma::accumulator, 32, 8, 16, float> f; wmma::fill_fragment(f, 0.f); x[0] = 1;)
KERNEL(wmma_bf16, "1", , wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> f; x[0] = 1;)
KERNEL(wmma_h, "1", , wmma::fragment<wmma::accumulator, 16, 16, 16, float> f; wmma::fill_fragment(f, 0.f); x[0] = 1;)
KERNEL(wmma_half_acc, "1", , wmma::fragment<wmma::accumulator, 16, 16, 16, half> f; wmma::fill_fragment(f, half(0.f)); x[0] = 1;)
KERNEL(noinline, "1", , x[0] = one();)
KERNEL(launch_bounds, "1", __launch_bounds__(32), x[0] = 1;)
KERNEL(cluster_dims, "0", __cluster_dims__(2, 1, 1), x[0] = 1;)  // no grid of one block
KERNEL(pragma_unroll, "1", , _Pragma("unroll 4") for (int i = 0; i < 4; ++i) x[i] = 1;)

int main() {
  float* all;
  cudaMalloc((void**)&all, 4096);
  std::size_t same = 0;
  for (const Test& test : tests) {
    cudaMemset(all, 0, 4096);
    test.kernel<<<1, 32, 4096>>>(all);
    const cudaError_t e = cudaDeviceSynchronize();
    float first;
    cudaMemcpy(&first, all, 4, cudaMemcpyDeviceToHost);
    char text[100];
    std::snprintf(text, sizeof text, "%g", first);
    if (e == cudaSuccess && !std::strcmp(text, test.value))
      ++same;
    else
      std::printf("%s: %s %s, not %s\n", test.name, text, cudaGetErrorName(e), test.value);
  }
  std::printf("%zu of %zu as on an H200\n", same, tests.size());
  return same != tests.size();
}
