// wgmma: one warpgroup each, its registers, fences and operands (rules.hpp).
#include <cstring>

#include "checks/tests/async_fixtures.hpp"
#include "checks/tests/rules.hpp"
#include "common/ptx/barrier.cuh"

namespace lab::rules {
namespace {

using namespace ptx;
using enum Finding::Kind;
constexpr Group GROUP{{128, 17 * 1024}, Vary::products};
constexpr const char* STILL_WRITTEN = "a wgmma that no thread has waited for may still write this register";
constexpr const char* STILL_READ = "a wgmma that no thread has waited for may still read this register";

__device__ __forceinline__ int total(const float (&d)[32]) {
  float sum = 0.0f;
  for (const float x : d) sum += x;
  return int(sum);
}

// One product in a group of its own, A from shared memory or from registers.
template <class... A>
__device__ __forceinline__ void issue(const Tiles& t, float (&d)[32], const A&... a) {
  wgmma_fence();
  if constexpr (sizeof...(a) == 0)
    wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  else
    wgmma<64>(d, a..., t.of_b, false);  // [product of registers]
  wgmma_commit();
}

// The tiles, and a product of them that is under way.
struct InFlight {
  Tiles t = tiles();
  float d[32];
  __device__ __forceinline__ InFlight() { issue(t, d); }
};

__device__ __forceinline__ void finish(int* out, const float (&d)[32]) {
  wgmma_commit();
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

__device__ __forceinline__ void pack(unsigned (&a)[4], const float* from) {
  for (int i = 0; i < 4; ++i) a[i] = unsigned(from[i]);
}

// --- what stages do ------------------------------------------------------------------------------

// S = Q K^T, then O += P V with P packed from S; the next scores are under way while the last ones are used.
RIGHT(scores_become_operand) {
  const Tiles t = tiles();
  float s[2][32], o[32] = {};
  unsigned p[4][4];
  issue(t, s[0]);
  for (int j = 0; j < 3; ++j) {
    issue(t, s[(j + 1) % 2]);
    wgmma_wait<1>();
    for (float& x : s[j % 2]) x *= 0.5f;
    for (int k = 0; k < 4; ++k) pack(p[k], s[j % 2] + 8 * k);
    for (float& x : o) x *= 0.25f;
    wgmma_fence();
    for (int k = 0; k < 4; ++k) wgmma<64, true>(o, p[k], advance(t.of_b, 2048 * k), true);
    wgmma_commit();
    wgmma_wait<0>();
  }
  out[threadIdx.x] = total(o) + total(s[1]);
}

// Accumulators that nothing touches need no fence between products, and two products may have the same A.
RIGHT(untouched_between_products) {
  const Tiles t = tiles();
  float d[32] = {}, e[32];
  unsigned a[4] = {threadIdx.x, 0, 0, 0};
  wgmma_fence();
  for (int i = 0; i < 3; ++i) {
    wgmma<64>(d, a, t.of_b, true);
    wgmma<64>(e, a, t.of_b, false);
    wgmma_commit();
    wgmma_wait<0>();
  }
  a[0] = 0;
  out[threadIdx.x] = int(a[0] + a[3]) + total(d) + total(e);
}

RULE(accumulator_not_cleared, finds(uninitialised, "first", nullptr, "before anything was written to it")) {
  const Tiles t = tiles();
  float d[32];
  asm volatile("" : : "r"(d) : "memory");
  for (float& x : d) x = kept ? 0.0f : x * 0.0f;  // as a rescaling by exp(-inf) does
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, true);  // [first]
  finish(out, d);
}

// --- registers before their wait -----------------------------------------------------------------

RULE(read_at_once, finds(read_before_wait, "product", "touch", STILL_WRITTEN).at("D[5]")) {
  InFlight p;
  if (kept) wgmma_wait<0>();
  out[threadIdx.x] = int(p.d[5]);  // [touch]
  wgmma_wait<0>();
}

RULE(wait_one_too_few, finds(read_before_wait, "second", "touch", STILL_WRITTEN).at("D[5]")) {
  const Tiles t = tiles();
  float first[32], second[32];
  issue(t, first);
  wgmma<64>(second, t.of_b, t.of_a, false);  // [second]
  wgmma_commit();
  wgmma_wait<1>();
  if (kept) wgmma_wait<0>();
  out[threadIdx.x] = int(first[5]);
  out[threadIdx.x] += int(second[5]);  // [touch]
  wgmma_wait<0>();
}

RULE(wait_before_commit,
     finds(read_before_wait, "first", "touch", "the wait came before its group was committed").at("D[5]")) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [first]
  if (kept) wgmma_commit();
  wgmma_wait<0>();
  if (!kept) wgmma_commit();
  out[threadIdx.x] = int(d[5]);  // [touch]
  wgmma_wait<0>();
}

RULE(d_overwritten, finds(changed_before_wait, "product", "touch", STILL_WRITTEN).at("D[7]")) {
  InFlight p;
  if (kept) wgmma_wait<0>();
  p.d[7] = 0.0f;  // [touch]
  wgmma_wait<0>();
  out[threadIdx.x] = total(p.d);
}

template <class Touch>
__device__ __forceinline__ void touch_a(int* out, bool kept, Touch touch) {
  const Tiles t = tiles();
  float d[32];
  unsigned a[4] = {threadIdx.x, 0, 0, 0};
  issue(t, d, a);
  if (kept) wgmma_wait<0>();
  touch(a);
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}
constexpr const char* ISSUE = "product of registers";
RULE(a_overwritten, finds(changed_before_wait, ISSUE, "touch", STILL_READ).at("A[0]")) {
  touch_a(out, kept, [](unsigned(&a)[4]) {
    a[0] = 7;  // [touch]
    asm volatile("" : : "r"(a) : "memory");
  });
}
RULE(a_read_in_flight, finds(read_before_wait, ISSUE, "touch", STILL_READ).at("A[3]")) {
  touch_a(out, kept, [](const unsigned(&a)[4]) {
    volatile unsigned seen = a[3];  // [touch]
    (void)seen;
  });
}
// The same by a function that nothing watches.
RULE(a_changed_unwatched,
     finds(changed_before_wait, ISSUE, nullptr, "does not hold what it held at the issue").at("A[1]").among_others()) {
  touch_a(out, kept, [](unsigned(&a)[4]) {
    void* (*volatile fill)(void*, int, std::size_t) = std::memset;
    fill(a + 1, 1, 4);
  });
}

// The place of A is given to another variable, as a compiler does with an array whose scope has ended.
RULE(a_place_reused, finds(changed_before_wait, "first", "touch", STILL_READ).at("A[2]")) {
  const Tiles t = tiles();
  float d[32];
  union {
    unsigned a[4];
    volatile float later[4];
  } place = {{threadIdx.x, 0, 0, 0}};
  wgmma_fence();
  wgmma<64>(d, place.a, t.of_b, false);  // [first]
  wgmma_commit();
  if (kept) wgmma_wait<0>();
  place.later[2] = float(threadIdx.x);  // [touch]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d) + int(place.later[2]);
}

// --- fences --------------------------------------------------------------------------------------

RULE(no_fence_at_all, finds(fence_missing, "first", nullptr, "before the warp's first product").at("")) {
  const Tiles t = tiles();
  float d[32];
  if (kept) wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [first]
  finish(out, d);
}

RULE(d_touched_after_fence, finds(fence_missing, "touch", "next", "between this access to D and the product").at("D")) {
  const Tiles t = tiles();
  float d[32] = {};
  wgmma_fence();
  d[3] = float(threadIdx.x);  // [touch]
  if (kept) wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, true);  // [next]
  finish(out, d);
}

RULE(a_packed_after_fence, finds(fence_missing, "touch", "next", "between this access to A and the product").at("A")) {
  const Tiles t = tiles();
  float d[32] = {};
  unsigned a[4] = {};
  wgmma_fence();
  a[1] = threadIdx.x;  // [touch]
  if (kept) wgmma_fence();
  wgmma<64>(d, a, t.of_b, true);  // [next]
  finish(out, d);
}

RULE(d_read_then_product, finds(fence_missing, "touch", "next", "this access to D").at("D")) {
  InFlight p;
  wgmma_wait<0>();
  out[threadIdx.x] = int(p.d[9]);  // [touch]
  if (kept) wgmma_fence();
  wgmma<64>(p.d, p.t.of_a, p.t.of_b, false);  // [next]
  wgmma_commit();
  wgmma_wait<0>();
}

RULE(shape_changed, finds(fence_missing, "touch", "next", "different shape").at("D")) {
  const Tiles t = tiles();
  float d[32];
  auto& some = reinterpret_cast<float(&)[8]>(d);
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [touch]
  if (kept) wgmma_commit(), wgmma_wait<0>(), wgmma_fence();
  wgmma<16>(some, t.of_a, t.of_b, true);  // [next]
  finish(out, d);
}

RULE(fence_in_two_places, finds(collective, "one", "other", "wgmma.fence is .aligned")) {
  const Tiles t = tiles();
  float d[32];
  if (threadIdx.x % 32 < 5 || kept) {
    wgmma_fence();  // [one]
    asm volatile("# g++ would make one call of the two");
  } else {
    wgmma_fence();  // [other]
  }
  wgmma<64>(d, t.of_a, t.of_b, false);
  finish(out, d);
}

// --- the end, operands ---------------------------------------------------------------------------

RULE(never_waited, finds(in_flight, "product", nullptr, "returns without having waited for this product").at("")) {
  InFlight p;
  if (kept) wgmma_wait<0>();
  out[threadIdx.x] = 1;
}

RULE(never_committed, finds(in_flight, "first", nullptr, "whose group was never committed").at("")) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [first]
  if (kept) wgmma_commit();
  wgmma_wait<0>();
  out[threadIdx.x] = 1;
}

RULE(operand_overwritten, finds(inter, "product", "write", "(WAR)").at("b[0][5]")) {
  InFlight p;
  if (kept) wgmma_wait<0>(), barrier_sync(1, 128);
  if (threadIdx.x == 37) p.t.b[5] = half(1.0f);  // [write]
  wgmma_wait<0>();
  out[threadIdx.x] = total(p.d);
}

// Each warp writes into the 16 rows of A that are its rows of D, after its own wait.
RULE(own_rows_after_own_wait, finds(inter, "product", "own rows", "other warps of the warpgroup may still read here")) {
  InFlight p;
  wgmma_wait<0>();
  kept ? barrier_sync(1, 128) : __syncwarp();
  p.t.a[threadIdx.x / 32 * 16 * 64 + threadIdx.x % 32] = half(2.0f);  // [own rows]
  out[threadIdx.x] = total(p.d);
}

// A write after the tiles' own barrier and fence, and one of the two, or both.
__device__ __forceinline__ void write_then_product(int* out, bool fence, bool barrier) {
  const Tiles t = tiles();
  float d[32];
  t.b[threadIdx.x] = half(2.0f);  // [write]
  if (fence) fence_proxy_async();
  if (barrier) __syncthreads();
  issue(t, d);
  finish(out, d);
}
RULE(no_proxy_fence, finds(proxy, "write", "product")) { write_then_product(out, kept, true); }
RULE(no_barrier, finds({inter, intra, proxy}, "write", "product").or_another()) { write_then_product(out, true, kept); }

}  // namespace
}  // namespace lab::rules
