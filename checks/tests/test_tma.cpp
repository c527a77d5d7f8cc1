// The copy engine on the CPU: when the bytes of boxes come, and what is refused. Where they come from and go to, in all
// dimensions, swizzles and past all edges, is test_wgmma.cpp's.
#include <cstring>

#include "checks/tests/async_fixtures.hpp"
#include "checks/tests/test_exec.hpp"
#include "common/smem_plan.cuh"

using namespace lab;
using namespace lab::ptx;
using Kind = Finding::Kind;

namespace {

// A tensor of rows of 64 numbers that say where they are, of which a box takes eight.
struct Tensor {
  static constexpr std::size_t ROWS = 16, ELEMENTS = ROWS * 64;
  TensorShape shape;
  half* data = nullptr;
  explicit Tensor(Swizzle swizzle = Swizzle::none) {
    shape.rank = 2, shape.swizzle = swizzle;
    shape.extent[0] = 64, shape.extent[1] = ROWS;
    shape.stride[0] = sizeof(half), shape.stride[1] = 64 * sizeof(half);
    shape.box[0] = 64, shape.box[1] = 8;
    REQUIRE(cudaMalloc(&data, ELEMENTS * sizeof(half)) == cudaSuccess);
    for (std::size_t i = 0; i < ELEMENTS; ++i) reinterpret_cast<std::uint16_t*>(data)[i] = value(i);
  }
  ~Tensor() { cudaFree(data); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  static std::uint16_t value(std::size_t i) { return std::uint16_t(i * 40503u % 65521u + 1); }
  TensorMap map() const {
    TensorMap made;
    CHECK(make_tensor_map(made, data, shape) == cudaSuccess);
    return made;
  }
};

void under_all_copies(const std::function<void(const ExecOptions&)>& body) {
  for (const Copies copies : {Copies::at_wait, Copies::at_issue, Copies::random})
    under_all_schedules([&](ExecOptions options) {
      options.copies = copies;
      CAPTURE(std::string(name(copies)));
      body(options);
    });
}

}  // namespace

TEST_CASE("tma: the swizzle is one of the address, so a tile that starts 128 bytes late is exchanged differently") {
  const Tensor tensor(Swizzle::b128);
  const TensorMap map = tensor.map();
  std::uint16_t got[9 * 64] = {};
  runs({1, 1, 9 * 128 + 64}, [&] {
    AlignedSmemCursor cursor;
    auto* tile = cursor.array<half, SWIZZLE_ALIGN>("tile", 9 * 64, 1);
    MBarrier* full = barriers(cursor);
    mbarrier_arrive_expect_tx(full, 1024);
    tma_load_2d(tile + 64, &map, 0, 0, full);
    mbarrier_wait(full, 0);
    std::memcpy(got, tile, sizeof got);
  });
  for (int r = 0; r < 8; ++r)
    for (int x = 0; x < 64; ++x)
      CHECK(got[(r + 1) * 64 + ((x / 8) ^ ((r + 1) % 8)) * 8 + x % 8] == Tensor::value(std::size_t(r * 64 + x)));
}

TEST_CASE("tma: the time of a copy is a choice between the issue and the wait") {
  const Tensor tensor;
  const TensorMap map = tensor.map();
  const auto seen_early = [&](Copies copies, std::uint64_t seed) {
    bool early = false;
    ExecOptions options;
    options.copies = copies, options.seed = seed;
    runs({1, 32, 1024 + 64, options}, [&] {
      AlignedSmemCursor cursor;
      auto* tile = cursor.array<std::uint16_t, SWIZZLE_ALIGN>("tile", 512, 1);
      MBarrier* full = barriers(cursor);
      if (threadIdx.x == 0) {
        mbarrier_arrive_expect_tx(full, 1024);
        tma_load_2d(tile, &map, 0, 0, full);
      }
      __syncwarp();
      if (threadIdx.x == 7) early = tile[3] == Tensor::value(3);  // wrong, and right if the copy was fast
      mbarrier_wait(full, 0);
      CHECK(tile[3] == Tensor::value(3));
    });
    return early;
  };
  int random = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CHECK(seen_early(Copies::at_issue, seed));
    CHECK_FALSE(seen_early(Copies::at_wait, seed));
    random += seen_early(Copies::random, seed);
  }
  CHECK(random > 0);
  CHECK(random < 20);
}

TEST_CASE("tma: contiguous copies both ways") {
  under_all_copies([](const ExecOptions& options) {
    Global in(512), out(512);
    runs({1, 32, 512 + 64, options}, [&] {
      AlignedSmemCursor cursor;
      auto* bytes = cursor.array<unsigned char>("bytes", 512, 1);
      MBarrier* full = barriers(cursor);
      if (threadIdx.x == 3) {
        mbarrier_arrive_expect_tx(full, 96);
        bulk_load(bytes + 16, in.bytes + 32, 96, full);
      }
      mbarrier_wait(full, 0);
      if (threadIdx.x == 9) {
        bulk_store(out.bytes + 400, bytes + 16, 96);
        bulk_commit();
        bulk_wait<0>();
      }
    });
    for (std::size_t i = 0; i < 512; ++i) CHECK(out.bytes[i] == byte_at(i >= 400 && i < 496 ? i - 400 + 32 : i));
  });
}

TEST_CASE("tma: a store reads its bytes as late as its wait, and groups are waited for in order") {
  Global out(64);
  ExecOptions late;
  const auto first_byte = [&](auto wait) {
    runs({1, 1, 64, late}, [&] {
      AlignedSmemCursor cursor;
      auto* bytes = cursor.array<unsigned char>("bytes", 64, 1);
      for (int i = 0; i < 64; ++i) bytes[i] = 1;
      bulk_store(out.bytes, bytes, 16);
      bulk_commit();
      bulk_store(out.bytes + 16, bytes + 16, 16);
      bulk_commit();
      wait();
      for (int i = 0; i < 64; ++i) bytes[i] = 2;
    });
    return 10 * out.bytes[0] + out.bytes[16];
  };
  CHECK(first_byte([] { bulk_wait<0>(); }) == 11);
  CHECK(first_byte([] { bulk_wait_read<0>(); }) == 11);
  CHECK(first_byte([] { bulk_wait_read<1>(); }) == 12);
  CHECK(first_byte([] { bulk_wait<2>(); }) == 22);
}

TEST_CASE("tensor maps: what the driver would refuse is one line") {
  half* data = nullptr;
  REQUIRE(cudaMalloc(&data, 4096) == cudaSuccess);
  const auto refused = [&](const std::string& text, auto change) {
    TensorShape shape;
    shape.rank = 3, shape.swizzle = Swizzle::b128;
    for (int d = 0; d < 3; ++d) shape.extent[d] = 64, shape.box[d] = 8, shape.stride[d] = d == 0 ? 2 : 128;
    const half* base = data;
    change(shape, base);
    take_exec_report();
    TensorMap map;
    const cudaError_t error = make_tensor_map(map, base, shape);
    const std::string message = take_exec_report().message;
    CHECK(error == (text.empty() ? cudaSuccess : cudaErrorInvalidValue));
    CHECK(message == text);
  };
  refused("", [](TensorShape&, const half*&) {});
  refused("tensor map: rank 5; 1 to 4 are allowed", [](TensorShape& s, const half*&) { s.rank = 5; });
  refused("tensor map: a base address that is no multiple of 16", [](TensorShape&, const half*& b) { b += 4; });
  refused("tensor map: a base address that is no multiple of 16", [](TensorShape&, const half*& b) { b = nullptr; });
  refused("tensor map: extent 0 of dimension 1; 1 to 2^32 are allowed",
          [](TensorShape& s, const half*&) { s.extent[1] = 0; });
  refused("tensor map: stride 72 of dimension 2; a multiple of 16 below 2^40 is allowed",
          [](TensorShape& s, const half*&) { s.stride[2] = 72; });
  refused("tensor map: box 257 of dimension 1; 1 to 256 are allowed",
          [](TensorShape& s, const half*&) { s.box[1] = 257; });
  refused("tensor map: stride 4 of dimension 0; it is the element's 2 bytes",
          [](TensorShape& s, const half*&) { s.stride[0] = 4; });
  refused("tensor map: rows of 8 bytes in the box; a multiple of 16 is allowed",
          [](TensorShape& s, const half*&) { s.box[0] = 4; });
  refused("tensor map: rows of 144 bytes in the box; the swizzle has room for 128",
          [](TensorShape& s, const half*&) { s.box[0] = 72; });
  refused("tensor map: rows of 48 bytes in the box; the swizzle has room for 32",
          [](TensorShape& s, const half*&) { s.box[0] = 24, s.swizzle = Swizzle::b32; });
  cudaFree(data);
}
