// One copy for two blocks: both blocks of a cluster need every tile of a stream, and each requests one half of it for
// both. `in` holds 64 * tiles rows of 64 halves, loaded in boxes of 32 rows. Block r adds up, over all tiles, of every
// row and each 32 columns the 16 at odd (r = 1) or even (r = 0) places: out[r][2 * row + column / 32].
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/cluster.cuh"
#include "common/ptx/tma.cuh"

using namespace lab;

constexpr int ROWS = 64, COLUMNS = 64, SLOTS = 2;
constexpr int CONSUMERS = 4, PRODUCER = CONSUMERS;  // warps 0 to 3, and warp 4

// Of the slot's tile, this thread's part of the sum.
__device__ float part(const half (&tile)[ROWS][COLUMNS], int rank) {
  float sum = 0.0f;
  for (int i = 0; i < 16; ++i) sum += __half2float(tile[threadIdx.x / 2][threadIdx.x % 2 * 32 + 2 * i + rank]);
  return sum;
}

__global__ void __cluster_dims__(2) add_tiles(const __grid_constant__ CUtensorMap map, int tiles, float* out) {
  __shared__ alignas(128) half slots[SLOTS][ROWS][COLUMNS];  // not swizzled
  __shared__ ptx::MBarrier full[SLOTS], empty[SLOTS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, rank = ptx::cluster_rank();
  float sum = 0.0f;
#ifdef SOLUTION
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(full[slot], 1);
      ptx::mbarrier_init(empty[slot], 2 * CONSUMERS);
    }
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_sync();
  if (warp == PRODUCER) {
    for (int t = 0; t < tiles && lane == 0; ++t) {
      const int slot = t % SLOTS, first = rank * ROWS / 2;
      ptx::mbarrier_wait_cluster(empty[slot], t / SLOTS % 2 ^ 1);
      ptx::mbarrier_arrive_expect_tx(full[slot], sizeof slots[slot]);
      ptx::tma_load_2d_multicast(slots[slot][first], map, 0, t * ROWS + first, full[slot], 3);
    }
    __syncwarp();
  } else {
    for (int t = 0; t < tiles; ++t) {
      const int slot = t % SLOTS;
      ptx::mbarrier_wait(full[slot], t / SLOTS % 2);
      sum += part(slots[slot], rank);
      ptx::fence_proxy_async();
      __syncwarp();
      if (lane < 2) ptx::mbarrier_arrive(empty[slot], lane);
    }
    out[rank * 128 + threadIdx.x] = sum;
  }
  ptx::cluster_sync();
#else
  // yours: the barriers, the producer, the consumers, and how the cluster begins and ends
  if (warp != PRODUCER) out[rank * 128 + threadIdx.x] = sum;
#endif
}

cudaError_t drill(const half* in, float* out, const int* size, cudaStream_t stream) {
  CUtensorMap map;
  if (const cudaError_t error =
          matrix_map(map, in, ROWS * size[0], COLUMNS, ROWS / 2, COLUMNS, CU_TENSOR_MAP_SWIZZLE_NONE))
    return error;
  add_tiles<<<2, 32 * (CONSUMERS + 1), 0, stream>>>(map, size[0], out);
  return cudaGetLastError();
}
