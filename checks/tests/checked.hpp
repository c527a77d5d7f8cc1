// One harness for the tests of the checker's rules. A kernel that keeps a rule or breaks it stands beside what is
// expected of it, in a file test_*_kernels.cpp, which is instrumented as a stage is:
//
//   CHECKED(forgotten_barrier, races(race_inter_warp, "write", "read", {64})) { ... }
//
// A comment such as [write] marks a line that a finding must name. checks/tests/test_checked.cpp runs them all.
#pragma once
#include <cuda_fp16.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "common/backend.hpp"
#include "common/smem_plan.cuh"
#include "common/tensor_map.hpp"

namespace lab::checked {

// Maps of one 64 x 64 tensor `data` (element i is i % 37) with boxes of 8 rows, of 8 rows swizzled and of 4 rows; and
// of a tensor to store into.
struct Maps {
  TensorMap in, swizzled, rows4, out;
  half* data;
};
// `out` has an int for each thread of the launch, 0 at first.
using Kernel = void(const Maps* maps, int* out);

inline constexpr std::size_t NO_SMEM = ~std::size_t(0);
struct Size {  // 0: the default of the kernel's file
  unsigned threads = 0;
  std::size_t smem = 0;
  unsigned blocks = 0, cluster = 0;
};

struct Side {
  const char* mark = nullptr;  // nullptr: there is no such side
  int warp = -1, lane = -1;
  bool write = false;
};
constexpr Side reads(const char* mark, int warp, int lane) { return {mark, warp, lane, false}; }
constexpr Side writes(const char* mark, int warp, int lane) { return {mark, warp, lane, true}; }

constexpr Finding::Kind inter = Finding::Kind::race_inter_warp, intra = Finding::Kind::race_intra_warp;

// A finding to the letter; `where` may be nullptr: not compared.
struct Found {
  Finding::Kind kind{};
  const char* hazard = "";
  Side first, second;
  const char* where = "";
  std::uint64_t count = 1;
};

constexpr Found race(const Side& first, const Side& second, const char* where, std::uint64_t count = 1) {
  return {first.warp == second.warp ? intra : inter,
          first.write ? second.write ? "WAW" : "RAW" : "WAR",
          first,
          second,
          where,
          count};
}
constexpr Found alone(Finding::Kind kind, const Side& side, const char* where, std::uint64_t count = 1) {
  return {kind, "", {}, side, where, count};
}

enum class When { always, ascending, descending };

// The checker's findings of a kernel: none; these to the letter; or findings of these kinds.
struct Expect {
  Size size;
  When when = When::always;
  bool gaps = false;      // between arrays
  bool hooks = true;      // shows only in an instrumented kernel: not under the sanitizers
  bool overlaps = false;  // launched as one that may overlap the launch before it
  Found exactly[2] = {};
  int exact = 0;
  // All findings are of these kinds. Under every option at least one of the first kind, whose two lines are marked so
  // and whose text has these words.
  Finding::Kind kinds[6] = {};
  int kinds_count = 0;
  const char* marks[2] = {};
  const char* words = "";
  const char* where = nullptr;  // given: there is one finding, with its lines marked in this order, there
  bool every_finding = false;   // each has both lines marked so
  bool some_option = false;     // a finding of any of the kinds will do, and of the first one, with the words, once
  bool stops = false;           // the launch fails, with these words in its message, checked or not
  // In clusters of these sizes; the value that a thread leaves in `out`, as a float, without any finding.
  unsigned clusters[3] = {};
  double (*value)(int size, int rank, int thread) = nullptr;

  constexpr Expect with_gaps() const { return with(&Expect::gaps, true); }
  constexpr Expect anywhere() const { return with(&Expect::hooks, false); }
  constexpr Expect overlapping() const { return with(&Expect::overlaps, true); }
  constexpr Expect once(const char* w) const { return with(&Expect::where, w); }
  constexpr Expect saying(const char* w) const { return with(&Expect::words, w); }
  constexpr Expect sometimes() const { return with(&Expect::some_option, true); }
  constexpr Expect every() const { return with(&Expect::every_finding, true); }
  template <class T>
  constexpr Expect with(T Expect::*field, T to) const {
    Expect other = *this;
    other.*field = to;
    return other;
  }
};

constexpr Expect silent(Size size = {}) {
  Expect e;
  e.size = size;
  return e;
}
constexpr Expect finds(std::initializer_list<Finding::Kind> kinds, std::initializer_list<const char*> marks,
                       const char* words = "", Size size = {}) {
  Expect e;
  e.size = size, e.words = words;
  for (const Finding::Kind kind : kinds) e.kinds[e.kinds_count++] = kind;
  int i = 0;
  for (const char* mark : marks) e.marks[i++] = mark;
  return e;
}
constexpr Expect finds(Finding::Kind kind, std::initializer_list<const char*> marks, const char* words = "",
                       Size size = {}) {
  return finds({kind}, marks, words, size);
}
// Between these two lines and no others; which comes first is the schedule's choice.
constexpr Expect races(Finding::Kind kind, const char* one, const char* other, Size size = {}) {
  return finds({kind}, {one, other}, "", size).every();
}
constexpr Expect only(std::initializer_list<Found> all, Size size = {}) {
  Expect e;
  e.size = size;
  for (const Found& found : all) e.exactly[e.exact++] = found;
  return e;
}
constexpr Expect only(const Found& found, Size size = {}) { return only({found}, size); }
// In one order, whenever cp.async copies.
constexpr Expect ascending(std::initializer_list<Found> all, Size size = {}) {
  return only(all, size).with(&Expect::when, When::ascending);
}
constexpr Expect ascending(const Found& found, Size size = {}) { return ascending({found}, size); }
constexpr Expect descending(const Found& found, Size size = {}) {
  return only(found, size).with(&Expect::when, When::descending);
}
constexpr Expect stopped(Finding::Kind kind, const char* mark, const char* words) {
  return finds({kind}, {mark}, words).with(&Expect::stops, true).anywhere();
}
constexpr Expect leaves(std::initializer_list<unsigned> clusters, double (*value)(int, int, int)) {
  Expect e = silent();
  e.value = value;
  int i = 0;
  for (const unsigned size : clusters) e.clusters[i++] = size;
  return e;
}

// By a test case of its own.
inline constexpr Expect ELSEWHERE = Expect{}.with(&Expect::exact, -1);

struct Case {
  const char* name;
  Kernel* kernel;
  const char* file;
  Size size;  // of its file
  bool instrumented;
  const Expect* expected;
  std::size_t count;
};
const Case& kernel(const char* name);
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
  std::string text() const {
    std::string text = report.message;
    for (const Finding& f : findings()) text += "\n" + f.text;
    return text;
  }
};
Done run(const Case& c, const Size& own, const ExecOptions& options, bool overlaps = false, const char* name = nullptr);
struct Registered {
  explicit Registered(const Case& c);  // keeps a pointer to it
};

#ifdef __SANITIZE_THREAD__
inline constexpr bool INSTRUMENTED = true;
#else
inline constexpr bool INSTRUMENTED = false;
#endif

// One array, at the start of the request.
template <class T>
__device__ __forceinline__ T* array(const char* name, int rows, int columns) {
  return SmemCursor().array<T>(name, rows, columns);
}

// s[16][4], all zero and behind a block barrier.
__device__ __forceinline__ float* zeroed() {
  float* s = array<float>("s", 16, 4);
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) s[i] = 0.0f;
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

// Thread `writer` writes s[5][1], all do something, thread `reader` reads it.
template <class Between>
__device__ __forceinline__ void write_then_read(int* out, unsigned writer, unsigned reader, Between between) {
  float* s = zeroed();
  if (threadIdx.x == writer) s[21] = 1.0f;  // [write]
  between();
  if (threadIdx.x == reader) out[blockIdx.x * blockDim.x + reader] = int(s[21]);  // [read]
}

// SIZE: the file's.
#define CHECKED(name, ...)                                                                     \
  static void name(const Maps* maps, int* out);                                                \
  static constexpr Expect name##_expected[] = {__VA_ARGS__};                                   \
  static const Case name##_case{                                                               \
      #name, name, __FILE__, SIZE, INSTRUMENTED, name##_expected, std::size(name##_expected)}; \
  static const Registered name##_registered(name##_case);                                      \
  static void name([[maybe_unused]] const Maps* maps, [[maybe_unused]] int* out)

}  // namespace lab::checked
