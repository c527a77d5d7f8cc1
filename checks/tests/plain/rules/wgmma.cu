// wgmma: one warpgroup each, its registers, fences and operands.
#include "rules.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/ptx/tma.cuh"
using namespace lab::ptx;

struct Smem {
  alignas(1024) half a[64][64], b[64][64];
};
// Two swizzled tiles of ones.
#define TILES                                                                                      \
  extern __shared__ __align__(1024) unsigned char shared[];                                        \
  Smem& smem = *reinterpret_cast<Smem*>(shared);                                                   \
  for (unsigned i = threadIdx.x; i < 64 * 64; i += blockDim.x)                                     \
    smem.a[i / 64][i % 64] = half(1.0f), smem.b[i / 64][i % 64] = half(1.0f);                      \
  fence_proxy_async();                                                                             \
  __syncthreads();                                                                                 \
  [[maybe_unused]] const Descriptor of_a = wgmma_descriptor(smem.a, 0, 1024), of_b = wgmma_descriptor(smem.b, 0, 1024)
// A product in a group of its own, A from shared memory or from registers.
#define ISSUE(d, a)               \
  wgmma_fence();                  \
  wgmma<64>(d, a, of_b, false);   \
  wgmma_commit()

__device__ int total(const float (&d)[32]) {
  float sum = 0.0f;
  for (const float x : d) sum += x;
  return int(sum);
}
#define FINISH     \
  wgmma_commit();  \
  wgmma_wait<0>(); \
  out[threadIdx.x] = total(d)

// --- what stages do ------------------------------------------------------------------------------

// S = Q K^T, then O += P V with P packed from S; the next scores are under way while the last ones are used.
RULE(scores_become_operand) {
  TILES;
  float s[2][32], o[32] = {};
  unsigned p[4][4];
  ISSUE(s[0], of_a);
  for (int j = 0; j < 3; ++j) {
    ISSUE(s[(j + 1) % 2], of_a);
    wgmma_wait<1>();
    for (float& x : s[j % 2]) x *= 0.5f;
    for (int k = 0; k < 4; ++k)
      for (int i = 0; i < 4; ++i) p[k][i] = unsigned(s[j % 2][8 * k + i]);
    for (float& x : o) x *= 0.25f;
    wgmma_fence();
    for (int k = 0; k < 4; ++k) wgmma<64, true>(o, p[k], advance(of_b, 2048 * k), true);
    wgmma_commit();
    wgmma_wait<0>();
  }
  out[threadIdx.x] = total(o) + total(s[1]);
}

// Accumulators that nothing touches need no fence between products, and two products may have the same A.
RULE(untouched_between_products) {
  TILES;
  float d[32] = {}, e[32];
  unsigned a[4] = {threadIdx.x, 0, 0, 0};
  wgmma_fence();
  for (int i = 0; i < 3; ++i) {
    wgmma<64>(d, a, of_b, true);
    wgmma<64>(e, a, of_b, false);
    wgmma_commit();
    wgmma_wait<0>();
  }
  a[0] = 0;
  out[threadIdx.x] = int(a[0] + a[3]) + total(d) + total(e);
}

RULE(accumulator_not_cleared) {
  TILES;
  float d[32];
  for (float& x : d) x = KEPT ? 0.0f : x * 0.0f;  // as a rescaling by exp(-inf) does
  wgmma_fence();
  wgmma<64>(d, of_a, of_b, true);  // [product on nothing]
  FINISH;
}

// --- registers before their wait -----------------------------------------------------------------

RULE(read_at_once) {
  TILES;
  float d[32];
  ISSUE(d, of_a);  // [product]
  if (KEPT) wgmma_wait<0>();
  out[threadIdx.x] = int(d[5]);  // [read of D]
  wgmma_wait<0>();
}

RULE(wait_one_too_few) {
  TILES;
  float first[32], second[32];
  ISSUE(first, of_a);
  wgmma<64>(second, of_b, of_a, false);  // [second product]
  wgmma_commit();
  wgmma_wait<1>();
  if (KEPT) wgmma_wait<0>();
  out[threadIdx.x] = int(first[5]);
  out[threadIdx.x] += int(second[5]);  // [read of the second D]
  wgmma_wait<0>();
}

RULE(wait_before_commit) {
  TILES;
  float d[32];
  wgmma_fence();
  wgmma<64>(d, of_a, of_b, false);  // [product committed late]
  if (KEPT) wgmma_commit();
  wgmma_wait<0>();
  if (!KEPT) wgmma_commit();
  out[threadIdx.x] = int(d[5]);  // [read behind the wait]
  wgmma_wait<0>();
}

RULE(d_overwritten) {
  TILES;
  float d[32];
  ISSUE(d, of_a);  // [product into D]
  if (KEPT) wgmma_wait<0>();
  d[7] = 0.0f;  // [write of D]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

#define FROM_REGISTERS                   \
  TILES;                                 \
  float d[32];                           \
  unsigned a[4] = {threadIdx.x, 0, 0, 0}; \
  ISSUE(d, a)
RULE(a_overwritten) {
  FROM_REGISTERS;  // [product from registers]
  if (KEPT) wgmma_wait<0>();
  *static_cast<volatile unsigned*>(a) = 7;  // [write of A]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}
RULE(a_read_in_flight) {
  FROM_REGISTERS;  // [product whose A is read]
  if (KEPT) wgmma_wait<0>();
  [[maybe_unused]] const unsigned seen = static_cast<volatile unsigned*>(a)[3];  // [read of A]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}
// The same by a function that nothing watches.
RULE(a_changed_unwatched) {
  FROM_REGISTERS;  // [product whose A changes]
  if (KEPT) wgmma_wait<0>();
#ifdef LAB_EMULATED
  void* (*volatile set)(void*, int, std::size_t) = std::memset;
  set(a + 1, 1, 4);
#endif
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

// The place of A is given to another variable, as a compiler does with an array whose scope has ended.
RULE(a_place_reused) {
  TILES;
  float d[32];
  union {
    unsigned a[4];
    volatile float later[4];
  } place = {{threadIdx.x, 0, 0, 0}};
  ISSUE(d, place.a);  // [product of a place]
  if (KEPT) wgmma_wait<0>();
  place.later[2] = float(threadIdx.x);  // [reuse of the place]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d) + int(place.later[2]);
}

// --- fences --------------------------------------------------------------------------------------

RULE(no_fence_at_all) {
  TILES;
  float d[32];
  if (KEPT) wgmma_fence();
  wgmma<64>(d, of_a, of_b, false);  // [product without fence]
  FINISH;
}

RULE(d_touched_after_fence) {
  TILES;
  float d[32] = {};
  wgmma_fence();
  d[3] = float(threadIdx.x);  // [touch of D]
  if (KEPT) wgmma_fence();
  wgmma<64>(d, of_a, of_b, true);  // [product behind the touch]
  FINISH;
}

RULE(a_packed_after_fence) {
  TILES;
  float d[32] = {};
  unsigned a[4] = {};
  wgmma_fence();
  a[1] = threadIdx.x;  // [packing of A]
  if (KEPT) wgmma_fence();
  wgmma<64>(d, a, of_b, true);  // [product of packed A]
  FINISH;
}

RULE(d_read_then_product) {
  TILES;
  float d[32];
  ISSUE(d, of_a);
  wgmma_wait<0>();
  out[threadIdx.x] = int(d[9]);  // [read between products]
  if (KEPT) wgmma_fence();
  wgmma<64>(d, of_a, of_b, false);  // [product behind the read]
  wgmma_commit();
  wgmma_wait<0>();
}

RULE(shape_changed) {
  TILES;
  float d[32];
  auto& some = reinterpret_cast<float(&)[8]>(d);
  wgmma_fence();
  wgmma<64>(d, of_a, of_b, false);  // [product of 64]
  if (KEPT) wgmma_commit(), wgmma_wait<0>(), wgmma_fence();
  wgmma<16>(some, of_a, of_b, true);  // [product of 16]
  FINISH;
}

RULE(fence_in_two_places) {
  TILES;
  float d[32];
  if (threadIdx.x % 32 < 5 || KEPT) {
    wgmma_fence();  // [one fence]
  } else {
    wgmma_fence();  // [other fence]
  }
  wgmma<64>(d, of_a, of_b, false);
  FINISH;
}

// --- the end, operands ---------------------------------------------------------------------------

RULE(never_waited) {
  TILES;
  float d[32];
  ISSUE(d, of_a);  // [product never waited for]
  if (KEPT) wgmma_wait<0>();
  out[threadIdx.x] = 1;
}

RULE(never_committed) {
  TILES;
  float d[32];
  wgmma_fence();
  wgmma<64>(d, of_a, of_b, false);  // [product never committed]
  if (KEPT) wgmma_commit();
  wgmma_wait<0>();
  out[threadIdx.x] = 1;
}

RULE(operand_overwritten) {
  TILES;
  float d[32];
  ISSUE(d, of_a);  // [product of B]
  if (KEPT) wgmma_wait<0>(), barrier_sync(1, 128);
  if (threadIdx.x == 37) smem.b[0][5] = half(1.0f);  // [write of B]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

// Each warp writes into the 16 rows of A that are its rows of D, after its own wait.
RULE(own_rows_after_own_wait) {
  TILES;
  float d[32];
  ISSUE(d, of_a);  // [product of own rows]
  wgmma_wait<0>();
  KEPT ? barrier_sync(1, 128) : __syncwarp();
  smem.a[warp() * 16][lane()] = half(2.0f);  // [write of own rows]
  out[threadIdx.x] = total(d);
}

RULE(no_proxy_fence) {
  TILES;
  float d[32];
  smem.b[threadIdx.x / 64][threadIdx.x % 64] = half(2.0f);  // [write without fence]
  if (KEPT) fence_proxy_async();
  __syncthreads();
  ISSUE(d, of_a);  // [product of what is not fenced]
  FINISH;
}
RULE(no_barrier) {
  TILES;
  float d[32];
  smem.b[threadIdx.x / 64][threadIdx.x % 64] = half(2.0f);  // [write without barrier]
  fence_proxy_async();
  if (KEPT) __syncthreads();
  ISSUE(d, of_a);  // [product of what no barrier orders]
  FINISH;
}

RULE(three_warps_of_four) {
  TILES;
  float d[32];
  if (warp() == 6) return __syncthreads();
  wgmma_fence();
  if (warp() >= 4) wgmma<64>(d, of_a, of_b, false);  // [product of three]
}

int main() {
  host::start();
  RIGHT(scores_become_operand, 128);
  RIGHT(untouched_between_products, 128);
  BOTH(accumulator_not_cleared, 128);
  BOTH(read_at_once, 128);
  BOTH(wait_one_too_few, 128);
  BOTH(wait_before_commit, 128);
  BOTH(d_overwritten, 128);
  BOTH(a_overwritten, 128);
  BOTH(a_read_in_flight, 128);
  BOTH(a_changed_unwatched, 128);
  BOTH(a_place_reused, 128);
  BOTH(no_fence_at_all, 128);
  BOTH(d_touched_after_fence, 128);
  BOTH(a_packed_after_fence, 128);
  BOTH(d_read_then_product, 128);
  BOTH(shape_changed, 128);
  BOTH(fence_in_two_places, 128);
  BOTH(never_waited, 128);
  BOTH(never_committed, 128);
  BOTH(operand_overwritten, 128);
  BOTH(own_rows_after_own_wait, 128);
  BOTH(no_proxy_fence, 128);
  BOTH(no_barrier, 128);
  BROKEN(three_warps_of_four, 256);
  return host::result();
}
