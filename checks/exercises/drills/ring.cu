// A ring of slots between a producer warp, which requests tiles, and four consumers. `in` holds 32 * tiles rows of 64
// halves; tile t is the 32 rows from 32 t on. out[32][64] is the sum of all tiles, element by element.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"

using namespace lab;

constexpr int ROWS = 32, COLUMNS = 64, SLOTS = 3;
constexpr int CONSUMERS = 4, PRODUCER = CONSUMERS;  // warps 0 to 3, and warp 4
constexpr int OWN = ROWS / CONSUMERS;               // rows of a tile that each consumer adds up

__global__ void add_tiles(const __grid_constant__ CUtensorMap map, int tiles, float* out) {
  __shared__ alignas(128) half slots[SLOTS][ROWS][COLUMNS];  // not swizzled
  __shared__ ptx::MBarrier full[SLOTS], empty[SLOTS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#ifdef SOLUTION
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(full[slot], 1);
      ptx::mbarrier_init(empty[slot], CONSUMERS);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (warp == PRODUCER) {
    for (int t = 0; t < tiles && lane == 0; ++t) {
      const int slot = t % SLOTS, phase = t / SLOTS;
      ptx::mbarrier_wait(empty[slot], phase % 2 ^ 1);
      ptx::fence_proxy_async();
      ptx::mbarrier_arrive_expect_tx(full[slot], sizeof slots[slot]);
      ptx::tma_load_2d(slots[slot], map, 0, ROWS * t, full[slot]);
    }
    return;
  }
  float sum[OWN][2] = {};
  for (int t = 0; t < tiles; ++t) {
    const int slot = t % SLOTS, phase = t / SLOTS;
    ptx::mbarrier_wait(full[slot], phase % 2);
    for (int r = 0; r < OWN; ++r)
      for (int i = 0; i < 2; ++i) sum[r][i] += __half2float(slots[slot][OWN * warp + r][2 * lane + i]);
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(empty[slot]);
  }
#else
  float sum[OWN][2] = {};
  // yours: the barriers, the producer, and the consumers
  if (warp == PRODUCER) return;
#endif
  for (int r = 0; r < OWN; ++r)
    for (int i = 0; i < 2; ++i) out[(OWN * warp + r) * COLUMNS + 2 * lane + i] = sum[r][i];
}

cudaError_t drill(const half* in, float* out, const int* size, cudaStream_t stream) {
  CUtensorMap map;
  if (const cudaError_t error = matrix_map(map, in, ROWS * size[0], COLUMNS, ROWS, COLUMNS, CU_TENSOR_MAP_SWIZZLE_NONE))
    return error;
  add_tiles<<<1, 32 * (CONSUMERS + 1), 0, stream>>>(map, size[0], out);
  return cudaGetLastError();
}
