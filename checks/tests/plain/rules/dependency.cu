// griddepcontrol.wait: a launch that may overlap the one before it touches no global memory of that one's before.
#include "rules.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
using namespace lab::ptx;

struct Smem {
  alignas(1024) half tile[4][64];
  int copied[64][4];
  MBarrier full;
};
#define SMEM                                                                    \
  extern __shared__ __align__(1024) unsigned char shared[];                     \
  Smem& smem = *reinterpret_cast<Smem*>(shared);                                \
  if (threadIdx.x == 0) mbarrier_init(smem.full, 1), fence_mbarrier_init();     \
  __syncthreads()
__device__ int& result(int* out) { return out[blockIdx.x * blockDim.x + threadIdx.x]; }

// One thread waits and asks for the tile; all others touch global memory after they have seen it arrive.
RULE(tma_before_the_wait) {
  SMEM;
  if (threadIdx.x == 0) {
    if (KEPT) grid_dependency_wait();
    mbarrier_arrive_expect_tx(smem.full, 512);
    tma_load_2d(smem.tile, maps.rows4, 0, 0, smem.full);  // [request]
    grid_dependency_wait();
  }
  launch_dependents();
  mbarrier_wait(smem.full, 0);
  result(out) = int(__half2float(smem.tile[0][threadIdx.x]));
}

RULE(load_before_the_wait) {
  if (KEPT) grid_dependency_wait();
  const int before = result(out);  // [load]
  grid_dependency_wait();
  result(out) = before + 1;
}
RULE(load_without_overlap) {
  const int before = result(out);
  grid_dependency_wait();
  result(out) = before + 1;
}

RULE(store_before_the_wait) {
  if (KEPT) grid_dependency_wait();
  result(out) = 1;  // [store]
  grid_dependency_wait();
}

RULE(copy_before_the_wait) {
  SMEM;
  if (KEPT) grid_dependency_wait();
  __pipeline_memcpy_async(smem.copied[threadIdx.x], out + threadIdx.x / 4 * 4, 16);  // [copy]
  __pipeline_commit();
  grid_dependency_wait();
  __pipeline_wait_prior(0);
}

// The wait of one thread is no wait of another that nothing orders after it.
RULE(another_warp_waits) {
  SMEM;
  if (threadIdx.x != 32 || KEPT) grid_dependency_wait();
  if (threadIdx.x == 32) {
    mbarrier_arrive_expect_tx(smem.full, 512);
    tma_load_2d(smem.tile, maps.rows4, 0, 0, smem.full);  // [request of warp 1]
  }
  mbarrier_wait(smem.full, 0);
}

int main() {
  host::start();
  BOTH(tma_before_the_wait, 64, 4, 2, true);
  BOTH(load_before_the_wait, 64, 4, 2, true);
  RIGHT(load_without_overlap, 64, 4, 2);
  BOTH(store_before_the_wait, 64, 4, 2, true);
  BOTH(copy_before_the_wait, 64, 4, 2, true);
  BOTH(another_warp_waits, 64, 4, 2, true);
  return host::result();
}
