// wgmma on the CPU: layouts against a plain host product, the bits against the tensor core's definition, asynchrony,
// and the reports of misuse. How a matrix lies in shared memory is written out here row by row, not taken from
// common/wgmma_layout.hpp.
#include <cuda_fp16.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "checks/tests/test_exec.hpp"
#include "common/emulator/tensor_core.hpp"
#include "common/ptx/wgmma.cuh"
#include "common/smem_plan.cuh"

using namespace lab;
using namespace lab::ptx;
using Kind = Finding::Kind;

namespace {

constexpr int M = 64, DEPTH = 64, STEPS = DEPTH / 16;  // D = A (64 x 64) B (64 x N) in four products

int width_of(Swizzle swizzle) { return swizzle == Swizzle::none ? 16 : 16 << int(swizzle); }

// A matrix of `count` rows or columns (mn) by DEPTH: how the halves lie, in bytes from a multiple of 1024, what its
// descriptor says, and how far on the next 16 k are.
struct Layout {
  bool mn_major;
  Swizzle swizzle;
  int count;

  int width() const { return width_of(swizzle); }
  // A block: all rows of `width` bytes that follow each other, k innermost by row, else by k.
  int block() const { return (mn_major ? DEPTH : count) * width(); }
  int blocks() const { return (mn_major ? count : DEPTH) * 2 / width(); }
  int bytes() const { return block() * blocks(); }
  int place(int mn, int k) const {
    const int row = mn_major ? k : mn, along = 2 * (mn_major ? mn : k);
    const int chunk = along % width() / 16;
    int other = chunk;
    if (swizzle == Swizzle::b128) other = chunk ^ (row % 8);
    if (swizzle == Swizzle::b64) other = chunk ^ (row / 2 % 4);
    if (swizzle == Swizzle::b32) other = chunk ^ (row / 4 % 2);
    return along / width() * block() + row * width() + other * 16 + along % 16;
  }
  Descriptor descriptor(const half* at) const {
    if (swizzle != Swizzle::none)
      return wgmma_descriptor(at, unsigned(mn_major ? block() : 0), unsigned(8 * width()), swizzle);
    return mn_major ? wgmma_descriptor(at, 8 * 16, unsigned(block()), swizzle)
                    : wgmma_descriptor(at, unsigned(block()), 8 * 16, swizzle);
  }
  Descriptor step(Descriptor first, int s) const {
    if (mn_major) return advance(first, unsigned(s * 16 * width()));
    const int along = 32 * s;
    return advance(first, unsigned(along / width() * block() + along % width()));
  }
};

struct Matrices {
  int n;
  std::vector<float> a, b, c;  // [m][k], [k][n], [m][n]
};

Matrices integers(int n) {
  std::mt19937 random{unsigned(n)};
  Matrices m{n, {}, {}, {}};
  for (int i = 0; i < M * DEPTH; ++i) m.a.push_back(float(int(random() % 17) - 8));
  for (int i = 0; i < DEPTH * n; ++i) m.b.push_back(float(int(random() % 17) - 8));
  for (int i = 0; i < M * n; ++i) m.c.push_back(float(int(random() % 201) - 100));
  return m;
}

unsigned packed(float low, float high) { return to_fp16(low).bits | unsigned(to_fp16(high).bits) << 16; }

// PTX ISA, "Register Fragments for wgmma.mma_async": rows and columns of a thread's registers, written out.
int d_row(int i) { return int(threadIdx.x) / 32 * 16 + int(threadIdx.x) % 32 / 4 + 8 * (i / 2 % 2); }
int d_column(int i) { return i / 4 * 8 + int(threadIdx.x) % 4 * 2 + i % 2; }

void put(half* tile, const Layout& layout, int mn, int k, float value) {
  reinterpret_cast<half*>(reinterpret_cast<char*>(tile) + layout.place(mn, k))[0] = half(value);
}

// One warpgroup: C + A B, or A B.
template <int N, bool B_MN_MAJOR>
void multiply(const Matrices& in, const Layout& a_layout, const Layout& b_layout, bool a_in_registers, bool add_to_c,
              std::vector<float>& result) {
  SmemCursor cursor;
  half* const a = cursor.array<half, SWIZZLE_ALIGN>("a", a_layout.bytes() / 2, 1);
  half* const b = cursor.array<half, SWIZZLE_ALIGN>("b", b_layout.bytes() / 2, 1);
  for (int i = int(threadIdx.x); i < M * DEPTH; i += 128) put(a, a_layout, i / DEPTH, i % DEPTH, in.a[std::size_t(i)]);
  for (int i = int(threadIdx.x); i < DEPTH * N; i += 128) put(b, b_layout, i % N, i / N, in.b[std::size_t(i)]);
  __syncthreads();
  float d[N / 2];
  for (int i = 0; i < N / 2; ++i) d[i] = in.c[std::size_t(d_row(i) * N + d_column(i))];
  unsigned a_registers[STEPS][4];
  for (int s = 0; s < STEPS; ++s)
    for (int r = 0; r < 4; ++r) {
      const float* at =
          &in.a[std::size_t((d_row(0) + r % 2 * 8) * DEPTH + 16 * s + r / 2 * 8 + int(threadIdx.x) % 4 * 2)];
      a_registers[s][r] = packed(at[0], at[1]);
    }
  wgmma_fence();
  const Descriptor of_a = a_layout.descriptor(a), of_b = b_layout.descriptor(b);
  for (int s = 0; s < STEPS; ++s) {
    if (a_in_registers)
      wgmma<N, B_MN_MAJOR>(d, a_registers[s], b_layout.step(of_b, s), add_to_c || s > 0);
    else
      wgmma<N, B_MN_MAJOR>(d, a_layout.step(of_a, s), b_layout.step(of_b, s), add_to_c || s > 0);
  }
  wgmma_commit();
  wgmma_wait<0>();
  for (int i = 0; i < N / 2; ++i) result[std::size_t(d_row(i) * N + d_column(i))] = d[i];
}

template <class Body>
void under_all_modes(Body body) {
  for (const Copies products : {Copies::at_wait, Copies::at_issue, Copies::random})
    under_all_schedules([&](ExecOptions options) {
      options.products = products;
      CAPTURE(std::string(name(products)));
      body(options);
    });
}

template <int N, bool B_MN_MAJOR>
void check_layout(const Layout& a, const Layout& b, bool a_in_registers, bool add_to_c, const ExecOptions& options) {
  const Matrices in = integers(N);
  std::vector<float> result(M * N);
  runs({1, 128, std::size_t(a.bytes() + b.bytes() + 1024), options},
       [&] { multiply<N, B_MN_MAJOR>(in, a, b, a_in_registers, add_to_c, result); });
  int wrong = 0;
  for (int row = 0; row < M; ++row)
    for (int column = 0; column < N; ++column) {
      float sum = add_to_c ? in.c[std::size_t(row * N + column)] : 0.0f;
      for (int k = 0; k < DEPTH; ++k) sum += in.a[std::size_t(row * DEPTH + k)] * in.b[std::size_t(k * N + column)];
      wrong += result[std::size_t(row * N + column)] != sum;
    }
  CAPTURE(N);
  CAPTURE(B_MN_MAJOR);
  CAPTURE(int(b.swizzle));
  CHECK(wrong == 0);
}

template <int N>
void check_all_layouts() {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128})
    for (const bool registers : {false, true}) {
      const Layout a{false, swizzle, M};
      check_layout<N, false>(a, {false, swizzle, N}, registers, registers, {});
      if (N * 2 % width_of(swizzle) == 0) check_layout<N, true>(a, {true, swizzle, N}, registers, !registers, {});
    }
}

}  // namespace

TEST_CASE("wgmma: every layout, every kind of A, several N") {
  check_all_layouts<8>();
  check_all_layouts<16>();
  check_all_layouts<64>();
  check_all_layouts<96>();
  check_all_layouts<128>();
  check_all_layouts<176>();
  check_all_layouts<256>();
}

TEST_CASE("wgmma: the same under every schedule, whenever products happen") {
  under_all_modes([](const ExecOptions& options) {
    check_layout<64, false>({false, Swizzle::b128, M}, {false, Swizzle::b128, 64}, false, true, options);
    check_layout<64, true>({false, Swizzle::b128, M}, {true, Swizzle::b128, 64}, true, false, options);
  });
}

TEST_CASE("wgmma: every element has the bits of the tensor core") {
  std::mt19937 random{5};
  std::normal_distribution<float> normal;
  Matrices in = integers(64);
  for (auto* side : {&in.a, &in.b})
    for (float& x : *side) x = half(normal(random));
  for (float& x : in.c) x = normal(random);
  for (const TensorCore model : {TensorCore::sm_90, TensorCore::sm_89, TensorCore::fast}) {
    std::vector<float> result(M * 64);
    ExecOptions options;
    options.tensor_core = model;
    const Layout a{false, Swizzle::b128, M}, b{false, Swizzle::b128, 64};
    runs({1, 128, std::size_t(a.bytes() + b.bytes()), options},
         [&] { multiply<64, false>(in, a, b, false, true, result); });
    int wrong = 0, as_another = 0;
    for (int row = 0; row < M; ++row)
      for (int column = 0; column < 64; ++column) {
        const auto dot = [&](TensorCore with) {
          float c = in.c[std::size_t(row * 64 + column)];
          for (int s = 0; s < STEPS; ++s) {
            fp16 x[16], y[16];
            for (int k = 0; k < 16; ++k) {
              x[k] = to_fp16(in.a[std::size_t(row * DEPTH + 16 * s + k)]);
              y[k] = to_fp16(in.b[std::size_t((16 * s + k) * 64 + column)]);
            }
            c = tensor_core_dot(x, y, c, 16, with);
          }
          return std::bit_cast<std::uint32_t>(c);
        };
        const std::uint32_t got = std::bit_cast<std::uint32_t>(result[std::size_t(row * 64 + column)]);
        wrong += got != dot(model);
        as_another += got == dot(model == TensorCore::sm_90 ? TensorCore::fast : TensorCore::sm_90);
      }
    CHECK(wrong == 0);
    CHECK(as_another < M * 64 * 9 / 10);
  }
}

// --- when products happen ------------------------------------------------------------------------------------

namespace {

struct Ones {
  half* a;
  half* b;
  Descriptor of_a, of_b;
};
Ones ones() {
  SmemCursor cursor;
  Ones t{};
  t.a = cursor.array<half, SWIZZLE_ALIGN>("a", 64, 64);
  t.b = cursor.array<half, SWIZZLE_ALIGN>("b", 64, 64);
  for (int i = int(threadIdx.x); i < 64 * 64; i += 128) t.a[i] = t.b[i] = half(1.0f);
  __syncthreads();
  t.of_a = wgmma_descriptor(t.a, 0, 1024);
  t.of_b = wgmma_descriptor(t.b, 0, 1024);
  return t;
}
constexpr std::size_t ONES_BYTES = 16 * 1024;

}  // namespace

TEST_CASE("wgmma: a missing wait shows as NaN where products are late, and not where they are early") {
  for (const Copies products : {Copies::at_wait, Copies::at_issue}) {
    ExecOptions options;
    options.products = products;
    float before[128], after[128];
    runs({1, 128, ONES_BYTES, options}, [&] {
      const Ones t = ones();
      float d[32];
      wgmma_fence();
      wgmma<64>(d, t.of_a, t.of_b, false);
      wgmma_commit();
      before[threadIdx.x] = d[9];
      wgmma_wait<0>();
      after[threadIdx.x] = d[9];
    });
    for (const float x : before) CHECK((products == Copies::at_wait ? std::isnan(x) : x == 16.0f));
    for (const float x : after) CHECK(x == 16.0f);
  }
}

TEST_CASE("wgmma: a late product reads what its operands hold by then") {
  for (const Copies products : {Copies::at_wait, Copies::at_issue}) {
    ExecOptions options;
    options.products = products;
    float from_shared[128], from_registers[128];
    runs({1, 128, ONES_BYTES, options}, [&] {
      const Ones t = ones();
      float d[32], e[32];
      unsigned a[4] = {0x3C003C00u, 0x3C003C00u, 0x3C003C00u, 0x3C003C00u};  // ones
      wgmma_fence();
      wgmma<64>(d, t.of_a, t.of_b, false);
      wgmma<64>(e, a, t.of_b, false);
      wgmma_commit();
      __syncthreads();
      for (unsigned& pair : a) pair = 0x40004000u;  // twos
      for (int i = int(threadIdx.x); i < 64 * 64; i += 128) t.a[i] = half(3.0f);
      __syncthreads();
      wgmma_wait<0>();
      from_shared[threadIdx.x] = d[0], from_registers[threadIdx.x] = e[0];
    });
    const bool late = products == Copies::at_wait;
    for (const float x : from_shared) CHECK(x == (late ? 48.0f : 16.0f));
    for (const float x : from_registers) CHECK(x == (late ? 32.0f : 16.0f));
  }
}

TEST_CASE("wgmma: each warp's rows are computed by its own wait, from what B holds then") {
  float result[128];
  runs({1, 128, ONES_BYTES}, [&] {
    const Ones t = ones();
    float d[32];
    wgmma_fence();
    wgmma<64>(d, t.of_a, t.of_b, false);
    wgmma_commit();
    if (threadIdx.x >= 32) __syncthreads();
    wgmma_wait<0>();
    result[threadIdx.x] = d[0];
    if (threadIdx.x >= 32) return;
    for (int i = int(threadIdx.x); i < 64 * 64; i += 32) t.b[i] = half(5.0f);  // too early: the others still read it
    __syncthreads();
  });
  for (int i = 0; i < 128; ++i) CHECK(result[i] == (i < 32 ? 16.0f : 80.0f));
}

TEST_CASE("wgmma: wait<1> leaves the last group under way") {
  float first[128], second[128];
  runs({1, 128, ONES_BYTES}, [&] {
    const Ones t = ones();
    float d[32], e[32];
    wgmma_fence();
    wgmma<64>(d, t.of_a, t.of_b, false);
    wgmma_commit();
    wgmma<64>(e, t.of_a, t.of_b, false);
    wgmma_commit();
    wgmma_wait<1>();
    first[threadIdx.x] = d[31], second[threadIdx.x] = e[31];
    wgmma_wait<0>();
  });
  for (int i = 0; i < 128; ++i) {
    CHECK(first[i] == 16.0f);
    CHECK(std::isnan(second[i]));
  }
}

// --- misuse --------------------------------------------------------------------------------------------------

TEST_CASE("wgmma: three warps of four are a deadlock that says whom they wait for") {
  under_all_modes([](const ExecOptions& options) {
    int line = 0;
    const Outcome outcome = run({1, 256, ONES_BYTES, options}, [&] {
      const Ones t = ones();
      float d[32];
      if (threadIdx.x / 32 != 6) {
        if (threadIdx.x >= 128) HERE(line, wgmma<64>(d, t.of_a, t.of_b, false));
      } else {
        __syncthreads();
      }
    });
    check_failed(outcome, cudaErrorLaunchTimeout, Kind::deadlock);
    const std::string place = std::string(__FILE__) + ":" + std::to_string(line);
    CHECK_CONTAINS(outcome.message(),
                   "Warps 4..5 lanes 0..31 wait in wgmma.mma_async for warp 6 of the warpgroup (" + place + ").");
    CHECK_CONTAINS(outcome.message(), "Warp 7 lanes 0..31 wait in wgmma.mma_async for warp 6 of the warpgroup");
  });
}

TEST_CASE("wgmma: a warpgroup that is not whole, or does not agree, is refused") {
  const auto refused = [](unsigned threads, const std::string& words, const std::function<void(const Ones&)>& body) {
    check_failed(run({1, threads, ONES_BYTES}, [&] { body(ones()); }), cudaErrorLaunchFailure, Kind::collective, words);
  };
  float sink[32];
  refused(96, "by a warpgroup that is not whole: it is warps 4i to 4i + 3, and the block has 3",
          [&](const Ones& t) { wgmma<64>(sink, t.of_a, t.of_b, false); });
  refused(128, "of a warpgroup ask for different products: B by descriptor", [](const Ones& t) {
    float d[32];
    wgmma<64>(d, t.of_a, advance(t.of_b, threadIdx.x / 32 == 2 ? 32 : 0), false);
  });
  refused(128, "of a warp ask for different products: scale-D 0 and 1", [](const Ones& t) {
    float d[32];
    wgmma<64>(d, t.of_a, t.of_b, threadIdx.x == 17);
  });
  refused(128, "has committed 1 groups", [](const Ones& t) {
    float d[32];
    if (threadIdx.x < 32) wgmma_commit();
    wgmma<64>(d, t.of_a, t.of_b, false);
  });
  refused(128, "wgmma.mma_async", [](const Ones& t) {
    float d[32];
    if (threadIdx.x % 32 < 5)
      __syncwarp();
    else
      wgmma<64>(d, t.of_a, t.of_b, false);
  });
}

TEST_CASE("wgmma: operands outside the block's shared memory are an error that spells the descriptor out") {
  const auto outcome_of = [](unsigned stride) {
    return run({1, 128, ONES_BYTES}, [&] {
      const Ones t = ones();
      float d[32];
      wgmma_fence();
      wgmma<64>(d, t.of_a, wgmma_descriptor(t.b, 0, stride), false);
      wgmma_commit();
      wgmma_wait<0>();
    });
  };
  CHECK(outcome_of(1024).ok());
  const Outcome outcome = outcome_of(2048);
  check_failed(outcome, cudaErrorIllegalAddress, Kind::out_of_bounds,
               "B, by descriptor 0x4000008000000240 (address 0x2400, leading 0, stride 2048, base "
               "offset 0, swizzle 128), reads shared address 0x4400");
}
