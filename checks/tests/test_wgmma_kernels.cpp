// wgmma: one warpgroup each; kernels that keep a rule and kernels that break it (checks/tests/checked.hpp).
#include "checks/tests/checked.hpp"

#include <cstring>

#include "checks/tests/async_fixtures.hpp"
#include "common/launch.cuh"
#include "common/ptx/barrier.cuh"

namespace lab::checked {
namespace {

using enum Finding::Kind;
constexpr Size SIZE{128, 17 * 1024, 1, 1};
constexpr const char* STILL_WRITTEN = "a wgmma that no thread has waited for may still write this register";
constexpr const char* STILL_READ = "a wgmma that no thread has waited for may still read this register";

using namespace lab::ptx;

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

// --- right ---------------------------------------------------------------------------------------------

CHECKED(one_product, silent()) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  for (int k = 0; k < 4; ++k) wgmma<64>(d, advance(t.of_a, 32 * k), advance(t.of_b, 32 * k), k > 0);
  finish(out, d);
}

CHECKED(two_groups_in_flight, silent()) {
  const Tiles t = tiles();
  float first[32], second[32];
  wgmma_fence();
  wgmma<64>(first, t.of_a, t.of_b, false);
  wgmma_commit();
  wgmma<64>(second, t.of_b, t.of_a, false);
  wgmma_commit();
  wgmma_wait<1>();
  int sum = total(first);
  wgmma_wait<0>();
  sum += total(second);
  out[threadIdx.x] = sum;
}

CHECKED(accumulators_untouched, silent()) {
  const Tiles t = tiles();
  float d[32] = {};
  wgmma_fence();
  for (int i = 0; i < 3; ++i) {
    wgmma<64>(d, t.of_a, t.of_b, true);
    wgmma_commit();
    wgmma_wait<0>();
  }
  out[threadIdx.x] = total(d);
}

CHECKED(accumulator_not_cleared, finds(uninitialised, {"first"}, "before anything was written to it").every()) {
  const Tiles t = tiles();
  float d[32];
  asm volatile("" : : "r"(d) : "memory");
  for (float& x : d) x *= 0.0f;  // as a rescaling by exp(-inf) does
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, true);  // [first]
  finish(out, d);
}

// S = Q K^T, then O += P V with P packed from S, twice: what a stage does.
CHECKED(scores_become_operand, silent()) {
  const Tiles t = tiles();
  float s[32], o[32] = {};
  unsigned p[4][4];
  for (int j = 0; j < 2; ++j) {
    wgmma_fence();
    wgmma<64>(s, t.of_a, t.of_b, false);
    wgmma_commit();
    wgmma_wait<0>();
    for (float& x : s) x *= 0.5f;
    for (int k = 0; k < 4; ++k) pack(p[k], s + 8 * k);
    for (float& x : o) x *= 0.25f;
    wgmma_fence();
    for (int k = 0; k < 4; ++k) wgmma<64, true>(o, p[k], advance(t.of_b, 2048 * k), true);
    wgmma_commit();
    wgmma_wait<0>();
  }
  out[threadIdx.x] = total(o);
}

// The next scores are under way while the last ones are used.
CHECKED(products_in_turn, silent()) {
  const Tiles t = tiles();
  float s[2][32], o[32] = {};
  unsigned p[4][4];
  wgmma_fence();
  wgmma<64>(s[0], t.of_a, t.of_b, false);
  wgmma_commit();
  for (int j = 0; j < 3; ++j) {
    wgmma_fence();
    wgmma<64>(s[(j + 1) % 2], t.of_a, t.of_b, false);
    wgmma_commit();
    wgmma_wait<1>();
    for (int k = 0; k < 4; ++k) pack(p[k], s[j % 2] + 8 * k);
    wgmma_fence();
    for (int k = 0; k < 4; ++k) wgmma<64, true>(o, p[k], advance(t.of_b, 2048 * k), true);
    wgmma_commit();
    wgmma_wait<0>();
  }
  out[threadIdx.x] = total(o) + total(s[1]);
}

// Two products may have the same A.
CHECKED(a_shared_then_changed, silent()) {
  const Tiles t = tiles();
  float d[32], e[32];
  unsigned a[4] = {threadIdx.x, 0, 0, 0};
  wgmma_fence();
  wgmma<64>(d, a, t.of_b, false);
  wgmma<64>(e, a, t.of_b, false);
  wgmma_commit();
  wgmma_wait<0>();
  const int sum = int(a[0] + a[3]);
  a[0] = 0;
  out[threadIdx.x] = sum + int(a[0]) + total(d) + total(e);
}

// --- registers before their wait --------------------------------------------------------------------------

CHECKED(read_at_once, finds(read_before_wait, {"product", "touch"}, STILL_WRITTEN).once("D[5]")) {
  InFlight p;
  out[threadIdx.x] = int(p.d[5]);  // [touch]
  wgmma_wait<0>();
}

CHECKED(wait_one_too_few, finds(read_before_wait, {"product", "touch"}, STILL_WRITTEN).once("D[5]")) {
  const Tiles t = tiles();
  float first[32], second[32];
  wgmma_fence();
  wgmma<64>(first, t.of_a, t.of_b, false);
  wgmma_commit();
  wgmma<64>(second, t.of_b, t.of_a, false);  // [product]
  wgmma_commit();
  wgmma_wait<1>();
  out[threadIdx.x] = int(first[5]);
  out[threadIdx.x] += int(second[5]);  // [touch]
  wgmma_wait<0>();
}

CHECKED(wait_before_commit,
        finds(read_before_wait, {"product", "touch"}, "the wait came before its group was committed").once("D[5]")) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_wait<0>();
  wgmma_commit();
  out[threadIdx.x] = int(d[5]);  // [touch]
  wgmma_wait<0>();
}

CHECKED(d_overwritten, finds(changed_before_wait, {"product", "touch"}, STILL_WRITTEN).once("D[7]")) {
  InFlight p;
  p.d[7] = 0.0f;  // [touch]
  wgmma_wait<0>();
  out[threadIdx.x] = total(p.d);
}

CHECKED(a_overwritten, finds(changed_before_wait, {"product of registers", "touch"}, STILL_READ).once("A[0]")) {
  const Tiles t = tiles();
  float d[32];
  unsigned a[4] = {threadIdx.x, 0, 0, 0};
  issue(t, d, a);
  a[0] = 7;  // [touch]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
  wgmma_fence();
  wgmma<64>(d, a, t.of_b, false);
  wgmma_commit();
  wgmma_wait<0>();
}

CHECKED(a_read_in_flight, finds(read_before_wait, {"product of registers", "touch"}, STILL_READ).once("A[3]")) {
  const Tiles t = tiles();
  float d[32];
  unsigned a[4] = {threadIdx.x, 0, 0, 0};
  issue(t, d, a);
  const int sum = int(a[3]);  // [touch]
  wgmma_wait<0>();
  out[threadIdx.x] = sum + total(d);
}

// The place of A is given to another variable, as a compiler does with an array whose scope has ended.
CHECKED(a_place_reused, finds(changed_before_wait, {"product", "touch"}, STILL_READ).once("A[2]")) {
  const Tiles t = tiles();
  float d[32];
  union {
    unsigned a[4];
    volatile float later[4];
  } place = {{threadIdx.x, 0, 0, 0}};
  wgmma_fence();
  wgmma<64>(d, place.a, t.of_b, false);  // [product]
  wgmma_commit();
  place.later[2] = float(threadIdx.x);  // [touch]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d) + int(place.later[2]);
}

// The same by a function that nothing watches.
CHECKED(a_changed_unwatched,
        finds(changed_before_wait, {"product of registers"}, "does not hold what it held at the issue").once("A[1]")) {
  const Tiles t = tiles();
  float d[32];
  unsigned a[4] = {threadIdx.x, 0, 0, 0};
  void* (*volatile fill)(void*, int, std::size_t) = std::memset;
  issue(t, d, a);
  fill(a + 1, 1, 4);
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

// --- fences -------------------------------------------------------------------------------------------

CHECKED(no_fence_at_all, finds(fence_missing, {"product"}, "before the warp's first product").once("")) {
  const Tiles t = tiles();
  float d[32];
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  finish(out, d);
}

CHECKED(d_touched_after_fence,
        finds(fence_missing, {"touch", "product"}, "between this access to D and the product").once("D")) {
  const Tiles t = tiles();
  float d[32] = {};
  wgmma_fence();
  d[3] = float(threadIdx.x);           // [touch]
  wgmma<64>(d, t.of_a, t.of_b, true);  // [product]
  finish(out, d);
}

CHECKED(a_packed_after_fence,
        finds(fence_missing, {"touch", "product"}, "between this access to A and the product").once("A")) {
  const Tiles t = tiles();
  float d[32] = {};
  unsigned a[4] = {};
  wgmma_fence();
  a[1] = threadIdx.x;             // [touch]
  wgmma<64>(d, a, t.of_b, true);  // [product]
  finish(out, d);
}

CHECKED(d_read_then_product, finds(fence_missing, {"touch", "product"}, "this access to D").once("D")) {
  const Tiles t = tiles();
  float d[32];
  issue(t, d);
  wgmma_wait<0>();
  out[threadIdx.x] = int(d[9]);         // [touch]
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_commit();
  wgmma_wait<0>();
}

CHECKED(shape_changed, finds(fence_missing, {"touch", "product"}, "different shape").once("D")) {
  const Tiles t = tiles();
  float d[32];
  auto& some = reinterpret_cast<float(&)[8]>(d);
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);    // [touch]
  wgmma<16>(some, t.of_a, t.of_b, true);  // [product]
  finish(out, d);
}

// --- the rest ------------------------------------------------------------------------------------------

CHECKED(never_waited, finds(in_flight, {"product"}, "returns without having waited for this product").once("")) {
  InFlight p;
  out[threadIdx.x] = 1;
}

CHECKED(never_committed, finds(in_flight, {"product"}, "whose group was never committed").once("")) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_wait<0>();
  out[threadIdx.x] = 1;
}

CHECKED(operand_overwritten, finds(inter, {"product", "write"}, "(WAR)").once("b[0][5]")) {
  InFlight p;
  if (threadIdx.x == 37) p.t.b[5] = half(1.0f);  // [write]
  wgmma_wait<0>();
  out[threadIdx.x] = total(p.d);
}

// Each warp writes into the 16 rows of A that are its rows of D, after its own wait.
template <class Ordered>
__device__ __forceinline__ void write_own_rows(int* out, Ordered ordered) {
  InFlight p;
  wgmma_wait<0>();
  ordered();
  p.t.a[threadIdx.x / 32 * 16 * 64 + threadIdx.x % 32] = half(2.0f);  // [own rows]
  out[threadIdx.x] = total(p.d);
}
CHECKED(own_rows_after_own_wait,
        finds(inter, {"product", "own rows"}, "other warps of the warpgroup may still read here")) {
  write_own_rows(out, [] { __syncwarp(); });
}
CHECKED(own_rows_after_all_waits, silent()) {
  write_own_rows(out, [] { barrier_sync(1, 128); });
}

// --- .aligned ------------------------------------------------------------------------------------------

CHECKED(fence_in_two_places, finds(collective, {"one", "other"}, "wgmma.fence is .aligned")) {
  const Tiles t = tiles();
  float d[32];
  if (threadIdx.x % 32 < 5) {
    wgmma_fence();  // [one]
    asm volatile("# g++ would make one call of the two");
  } else {
    wgmma_fence();  // [other]
  }
  wgmma<64>(d, t.of_a, t.of_b, false);
  finish(out, d);
}

// --- races ---------------------------------------------------------------------------------------------

// A write after the tiles' own barrier and fence, and one of the two.
template <class Ordered>
__device__ __forceinline__ void write_then_product(int* out, Ordered ordered) {
  const Tiles t = tiles();
  float d[32];
  t.b[threadIdx.x] = half(2.0f);  // [write]
  ordered();
  issue(t, d);
  finish(out, d);
}
CHECKED(no_proxy_fence, finds({proxy}, {"write", "product"})) {
  write_then_product(out, [] { __syncthreads(); });
}
CHECKED(no_barrier, finds({inter, intra, proxy}, {"write", "product"})) { write_then_product(out, fence_proxy_async); }

}  // namespace
}  // namespace lab::checked
