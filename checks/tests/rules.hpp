// The checker's rules, one table: small kernels that break a rule, each beside what must be reported of it, and, with `kept`, the same
// kernel mended, of which nothing may be. They stand in files test_*_kernels.cpp, which are instrumented as a stage is:
//
//   RULE(block_barrier, race(writes("write", 0, 3), reads("read", 1, 9), "s[21]")) {
//     int* s = zeroed();
//     if (threadIdx.x == 3) s[21] = 1;  // [write]
//     if (kept) __syncthreads();
//     if (threadIdx.x == 41) out[41] = s[21];  // [read]
//   }
//
// A comment such as [write] marks a line that a report must name. BROKEN has no twin, RIGHT is all twin. test_rules.cpp runs
// them under every schedule and at every time of asynchronous work.
#pragma once
#include <cuda_fp16.h>

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "common/backend.hpp"
#include "common/smem_plan.cuh"
#include "common/tensor_map.hpp"

namespace lab::rules {

// Maps of one 64 x 64 tensor `data` (element i is i % 37) with boxes of 8 rows, of 8 rows swizzled and of 4 rows; and of a tensor
// to store into.
struct Maps {
  TensorMap in, swizzled, rows4, out;
  half* data;
};
// `out` has an int for each thread of the launch, 0 at first.
using Kernel = void(const Maps* maps, int* out, bool kept);

inline constexpr std::size_t NO_SMEM = ~std::size_t(0);
struct Size {  // 0: the default of the kernel's file
  unsigned threads = 0;
  std::size_t smem = 0;
  unsigned blocks = 0, cluster = 0;
};
// Conditions on which the outcome of a file's kernels may depend.
enum class Vary { threads, copies, cluster, products, blocks };

struct Side {
  const char* mark = nullptr;  // nullptr: there is no such side
  int warp = -1, lane = -1;    // -1: any
  bool write = false;
};
constexpr Side writes(const char* mark, int warp, int lane) { return {mark, warp, lane, true}; }
constexpr Side reads(const char* mark, int warp, int lane) { return {mark, warp, lane, false}; }

constexpr Finding::Kind inter = Finding::Kind::race_inter_warp, intra = Finding::Kind::race_intra_warp;

// The report on a broken kernel: findings of these kinds and no others, and under every option one of the first kind between
// these lines with these words.
struct Expect {
  Finding::Kind kinds[5] = {};
  int kinds_count = 0;
  Side one, other;  // which comes first is the schedule's choice
  const char* where = nullptr;
  const char* words = "";
  std::uint64_t count = 0;  // 0: not compared
  bool every = true;        // every finding is such a one
  bool any_kind = false;    // a finding of any of the kinds will do, and of the first one, with the words, once
  Size size;
  bool gaps = false;       // between arrays
  bool hooks = true;       // shows only in an instrumented kernel: not under the sanitizers
  bool overlaps = false;   // launched as one that may overlap the launch before it
  bool ascending = false;  // in this schedule alone
  bool stops = false;      // the launch fails, with these words in its message, checked or not

  constexpr Expect of(Size s) const { return with(&Expect::size, s); }
  constexpr Expect at(const char* w) const { return with(&Expect::where, w); }
  constexpr Expect times(std::uint64_t n) const { return with(&Expect::count, n); }
  constexpr Expect saying(const char* w) const { return with(&Expect::words, w); }
  constexpr Expect among_others() const { return with(&Expect::every, false); }
  constexpr Expect either() const { return with(&Expect::any_kind, true).with(&Expect::every, true); }
  constexpr Expect or_another() const { return with(&Expect::any_kind, true).with(&Expect::every, false); }
  constexpr Expect anywhere() const { return with(&Expect::hooks, false); }
  constexpr Expect with_gaps() const { return with(&Expect::gaps, true); }
  constexpr Expect overlapping() const { return with(&Expect::overlaps, true); }
  constexpr Expect if_ascending() const { return with(&Expect::ascending, true); }
  template <class T>
  constexpr Expect with(T Expect::*field, T to) const {
    Expect e = *this;
    e.*field = to;
    return e;
  }
};

constexpr Expect finds(std::initializer_list<Finding::Kind> kinds, Side one, Side other = {}, const char* words = "") {
  Expect e;
  for (const Finding::Kind kind : kinds) e.kinds[e.kinds_count++] = kind;
  e.one = one, e.other = other, e.words = words, e.every = kinds.size() == 1;
  return e;
}
constexpr Expect finds(Finding::Kind kind, const char* one, const char* other = nullptr, const char* words = "") {
  return finds({kind}, Side{one}, Side{other}, words);
}
constexpr Expect finds(std::initializer_list<Finding::Kind> kinds, const char* one, const char* other = nullptr,
                       const char* words = "") {
  return finds(kinds, Side{one}, Side{other}, words);
}
constexpr Expect race(Side one, Side other, const char* where = nullptr) {
  return finds({one.warp == other.warp ? intra : inter}, one, other).at(where);
}
constexpr Expect alone(Finding::Kind kind, Side side, const char* where, std::uint64_t count = 1) {
  return finds({kind}, side).at(where).times(count);
}
constexpr Expect stopped(Finding::Kind kind, const char* mark, const char* words) {
  return finds(kind, mark, nullptr, words).with(&Expect::stops, true).anywhere();
}

struct Group {  // of a file's kernels
  Size size;
  Vary vary = Vary::threads;
};
struct Case {
  const char* name;
  Kernel* kernel;
  const char* file;
  Group group;
  bool instrumented, broken, mended;
  std::vector<Expect> expected;  // of a kernel that is RIGHT, its sizes
};
struct Place {
  std::string file;
  int line = 0;
  auto operator<=>(const Place&) const = default;
  std::string text() const { return file + ":" + std::to_string(line); }
};
Place place_of(const Case& c, const std::string& mark);  // of the line with the comment [mark]

struct Done {
  cudaError_t error{};
  ExecReport report;
  std::vector<int> out;
  const std::vector<Finding>& findings() const { return report.findings; }
  std::string text() const;  // of the report and all findings
};
Done run(const Case& c, bool kept, const Size& own, const ExecOptions& options, bool overlaps = false);

struct Registered {
  explicit Registered(const Case& c);  // keeps a pointer to it
};

#ifdef __SANITIZE_THREAD__
inline constexpr bool INSTRUMENTED = true;
#else
inline constexpr bool INSTRUMENTED = false;
#endif

// GROUP: the file's.
#define RULES_KERNEL(name, broken, mended, ...)                                                             \
  static void name(const Maps* maps, int* out, bool kept);                                                  \
  static const Case name##_case{#name, name, __FILE__, GROUP, INSTRUMENTED, broken, mended, {__VA_ARGS__}}; \
  static const Registered name##_registered(name##_case);                                                   \
  static void name([[maybe_unused]] const Maps* maps, [[maybe_unused]] int* out, [[maybe_unused]] bool kept)
#define RULE(name, ...) RULES_KERNEL(name, true, true, __VA_ARGS__)
#define BROKEN(name, ...) RULES_KERNEL(name, true, false, __VA_ARGS__)
#define RIGHT(name, ...) RULES_KERNEL(name, false, true, __VA_ARGS__)

// --- what the kernels begin with ---------------------------------------------------------------------

__device__ __forceinline__ int warp() { return int(threadIdx.x / 32); }
__device__ __forceinline__ int lane() { return int(threadIdx.x % 32); }
__device__ __forceinline__ void must(bool good) {
  if (!good) __trap();
}

// One array, at the start of the request.
template <class T>
__device__ __forceinline__ T* array(const char* name, int rows, int columns = 1) {
  return SmemCursor().array<T>(name, rows, columns);
}
// s[64], all zero and behind a block barrier.
__device__ __forceinline__ int* zeroed() {
  int* s = array<int>("s", 64);
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) s[i] = 0;
  __syncthreads();
  return s;
}
// tile[16][16], written by every thread and behind a block barrier: `rows` of it, or all.
__device__ __forceinline__ half* written_tile(int rows = 16) {
  half* tile = array<half>("tile", 16, 16);
  for (int i = int(threadIdx.x); i < 16 * rows; i += int(blockDim.x)) tile[i] = half(0.0f);
  __syncthreads();
  return tile;
}
// Thread `writer` writes s[21], all do something, thread `reader` reads it.
template <class Between>
__device__ __forceinline__ void write_then_read(int* out, unsigned writer, unsigned reader, Between between) {
  int* s = zeroed();
  if (threadIdx.x == writer) s[21] = 1;  // [write]
  between(s);
  if (threadIdx.x == reader) out[blockIdx.x * blockDim.x + reader] = s[21];  // [read]
}

}  // namespace lab::rules
