// A program that does not wait: asynchronous work happens as early as its issue, or as late as its wait. No order is right, so
// the runs print different numbers.
#include "rules.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
using namespace lab::ptx;

struct Smem {
  alignas(1024) half a[64][64], b[64][64];
  alignas(16) int copied[4];
  MBarrier full;
};
#define SMEM                                                                                  \
  extern __shared__ __align__(1024) unsigned char shared[];                                   \
  Smem& smem = *reinterpret_cast<Smem*>(shared);                                              \
  for (unsigned i = threadIdx.x; i < 64 * 64; i += blockDim.x)                                \
    smem.a[i / 64][i % 64] = half(1.0f), smem.b[i / 64][i % 64] = half(1.0f);                 \
  if (threadIdx.x < 4) smem.copied[threadIdx.x] = -1;                                         \
  if (threadIdx.x == 0) mbarrier_init(smem.full, 1), fence_mbarrier_init();                   \
  fence_proxy_async();                                                                        \
  __syncthreads();                                                                            \
  [[maybe_unused]] const Descriptor of_a = wgmma_descriptor(smem.a, 0, 1024), of_b = wgmma_descriptor(smem.b, 0, 1024)

RULE(load) {
  SMEM;
  if (threadIdx.x) return;
  mbarrier_arrive_expect_tx(smem.full, 1024);
  tma_load_2d(smem.a, maps.in, 0, 0, smem.full);
  out[0] = int(__half2float(smem.a[0][9]));  // 1, or 9
  mbarrier_wait(smem.full, 0);
  out[1] = int(__half2float(smem.a[0][9]));  // 9
}
RULE(store) {  // a store reads what the tile holds by the wait for its group
  SMEM;
  if (threadIdx.x) return;
  bulk_store(out, smem.a, 16), bulk_commit();
  bulk_store(out + 4, smem.a[1], 16), bulk_commit();
  bulk_wait_read<1>();
  smem.a[0][0] = half(5.0f), smem.a[1][0] = half(5.0f);
  bulk_wait<0>();
}
RULE(copy) {
  SMEM;
  if (threadIdx.x) return;
  __pipeline_memcpy_async(smem.copied, out + 8, 16);
  out[0] = smem.copied[0];  // -1, or 0
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
RULE(product) {  // D is NaN before the wait, and so is that of a group that a wait<1> leaves
  SMEM;
  float d[32] = {}, e[32] = {};
  wgmma_fence();
  wgmma<64>(d, of_a, of_b, false);
  wgmma_commit();
  wgmma<64>(e, of_a, of_b, false);
  wgmma_commit();
  if (threadIdx.x == 0) out[0] = isnan(d[9]);
  wgmma_wait<1>();
  if (threadIdx.x == 0) out[1] = int(d[9]), out[2] = isnan(e[31]);
  wgmma_wait<0>();
}
RULE(operands) {  // a product reads what its operands hold by its warp's wait
  SMEM;
  float d[32], e[32];
  unsigned a[4] = {0x3C003C00u, 0x3C003C00u, 0x3C003C00u, 0x3C003C00u};  // ones
  wgmma_fence();
  wgmma<64>(d, of_a, of_b, false);
  wgmma<64>(e, a, of_b, false);
  wgmma_commit();
  __syncthreads();
  for (unsigned& pair : a) pair = 0x40004000u;  // twos
  for (int i = int(threadIdx.x); i < 64 * 64; i += 128) smem.a[i / 64][i % 64] = half(3.0f);
  __syncthreads();
  wgmma_wait<0>();
  if (threadIdx.x == 0) out[0] = int(d[0]), out[1] = int(e[0]);  // 48 and 32, or 16 and 16
}
RULE(own_wait) {  // each warp's rows are computed by its own wait
  SMEM;
  float d[32];
  wgmma_fence();
  wgmma<64>(d, of_a, of_b, false);
  wgmma_commit();
  if (threadIdx.x >= 32) __syncthreads();
  wgmma_wait<0>();
  if (threadIdx.x % 32 == 0) out[warp()] = int(d[0]);  // 16 of warp 0, and 80, or 16, of the others
  if (threadIdx.x >= 32) return;
  for (int i = int(threadIdx.x); i < 64 * 64; i += 32) smem.b[i / 64][i % 64] = half(5.0f);
  __syncthreads();
}

void print(const char* name) {
  int got[6];
  cudaMemcpy(got, host::out, sizeof got, cudaMemcpyDeviceToHost);
  printf("%s %d %d %d %d %d; ", name, got[0], got[1], got[2], got[3], got[4]);
}
int main() {
  host::start();
  BROKEN(load, 128); print("load");
  BROKEN(store, 128); print("store");
  BROKEN(copy, 128); print("copy");
  BROKEN(product, 128); print("product");
  BROKEN(operands, 128); print("operands");
  BROKEN(own_wait, 128); print("own_wait");
  printf("\n");
  return 0;
}
