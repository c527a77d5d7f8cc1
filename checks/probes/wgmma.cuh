// make probe what=wgmma: the products of wgmma_products.cuh, and the copy engine: does it move boxes as the formula here says, refuse what
// it says, and count bytes as it says? The unit tests ask the CPU the same.
#pragma once
#include <algorithm>

#include "checks/probes/wgmma_products.cuh"
#include "common/hopper/encode_tiled.hpp"
#include "common/ptx/tma.cuh"
#include "common/tensor_map.hpp"

namespace lab::wgmma_probe {

using probe::at_work;

constexpr int FROM = 90, TO = 90;
inline std::string head(const std::string& gpu) {
  return "# What wgmma gave on an " + gpu +
         ", written by `make probe what=wgmma sample=...`.\n"
         "# case: N, B n innermost, A from registers, scale-D, descriptors of A and B counted from the image,\n"
         "#   seed, the image's address, FNV-1a of D's words row by row (checks/probes/wgmma_products.cuh).\n"
         "# dot: a and b, 16 halves each, c, result; all as bits.\n";
}

// --- boxes: where each half comes from and goes to -------------------------------------------------------

struct Box {
  TensorShape shape;
  int at[MAX_TENSOR_RANK] = {};
};

inline std::uint32_t box_halves(const TensorShape& shape) {
  std::uint32_t halves = 1;
  for (int d = 0; d < shape.rank; ++d) halves *= shape.box[d];
  return halves;
}
struct HalfOfBox {
  bool inside;           // of the tensor; what lies outside is zero when loaded, and not stored
  std::uint64_t global;  // bytes from the tensor's first
  std::uint32_t shared;  // bytes from the box's first
};
// Half number i of the box, dimension 0 fastest; the box begins at shared address `base`. Rows lie without gaps, but
// under a swizzle each takes as much as that spans, however short it is.
inline HalfOfBox half_of(const Box& c, std::uint32_t base, std::uint32_t i) {
  HalfOfBox result{true, 0, 0};
  const std::uint32_t row = c.shape.box[0], span = std::uint32_t(swizzle_bytes(c.shape.swizzle));
  const std::uint32_t linear = span ? i / row * span + i % row * 2 : i * 2;
  result.shared = wgmma_layout::swizzled(base + linear, span) - base;
  for (int d = 0; d < c.shape.rank; ++d) {
    const std::int64_t index = c.at[d] + std::int64_t(i % c.shape.box[d]);
    i /= c.shape.box[d];
    if (index < 0 || index >= std::int64_t(c.shape.extent[d])) result.inside = false;
    result.global += std::uint64_t(index) * c.shape.stride[d];
  }
  return result;
}

// A dense tensor of these extents.
inline Box dense(std::vector<unsigned> extents, std::vector<unsigned> box, std::vector<int> at, Swizzle swizzle) {
  Box c;
  c.shape.rank = int(extents.size()), c.shape.swizzle = swizzle;
  std::uint64_t stride = 2;
  for (int d = 0; d < c.shape.rank; ++d) {
    const auto i = std::size_t(d);
    c.shape.extent[d] = extents[i], c.shape.box[d] = box[i], c.at[d] = at[i], c.shape.stride[d] = stride;
    stride = (stride * extents[i] + 15) / 16 * 16;
  }
  return c;
}
inline std::uint64_t tensor_bytes(const Box& c) {
  const int last = c.shape.rank - 1;
  return c.shape.extent[last] * (last ? c.shape.stride[last] : 2);
}

inline std::vector<Box> all_boxes() {
  std::vector<Box> cases;
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    const unsigned full = swizzle == Swizzle::none ? 64 : swizzle_bytes(swizzle) / 2;
    for (const unsigned inner : {full, full / 2}) {
      if (inner < 8) continue;
      for (const auto& [x, y] :
           {std::pair{0, 0}, {8, 3}, {-8, -2}, {-16, 5}, {int(200 - inner / 2) / 8 * 8, 70}, {184, 90}, {240, 0}})
        cases.push_back(dense({200, 100}, {inner, 64}, {x, y}, swizzle));
      cases.push_back(dense({96, 40, 5}, {inner, 16, 3}, {16, -4, 3}, swizzle));
      cases.push_back(dense({96, 40, 5}, {inner, 32, 2}, {64, 30, -1}, swizzle));
      cases.push_back(dense({64, 20, 4, 3}, {inner, 8, 2, 2}, {8, 15, 3, 2}, swizzle));
    }
  }
  return cases;
}

// A store must begin inside, or past the end.
inline bool storable(const Box& c) { return c.shape.rank <= 3 && std::ranges::min(c.at) >= 0; }
// Loads of which a wrong number of bytes is announced: any multiple of 16, to a few more than come.
inline std::vector<Box> announced_boxes() {
  return {dense({64, 64}, {64, 64}, {0, 0}, Swizzle::b128), dense({16, 64}, {16, 64}, {0, 0}, Swizzle::b32)};
}
inline constexpr unsigned ANNOUNCED_STEP = 16;
inline unsigned announced_launches(const Box& c) { return 2 * box_halves(c.shape) / ANNOUNCED_STEP + 8; }
// Whether a phase that waits for this number of bytes of a box of `all` may end, and whether it must.
constexpr bool may_end(unsigned announced, unsigned all) {
  return announced == all || (announced < all && announced % LEAST_COUNTED == 0);
}
constexpr bool must_end(unsigned announced, unsigned all) { return announced == all; }

// Boxes that the engine refuses, as an illegal instruction.
struct Refused {
  const char* why;
  bool store;
  Box box;
};
inline std::vector<Refused> refused_boxes() {
  const auto box = [](int x, int y) { return dense({200, 100}, {64, 64}, {x, y}, Swizzle::b128); };
  return {{"load at a column of no 16 bytes", false, box(4, 0)},
          {"store at a column of no 16 bytes", true, box(4, 0)},
          {"store at a column before the tensor", true, box(-8, 0)},
          {"store at a row before the tensor", true, box(0, -2)}};
}

inline std::string spelt(const Box& c) {
  std::string text = "box";
  for (int d = 0; d < c.shape.rank; ++d) text += (d ? " x " : " ") + std::to_string(c.shape.box[d]);
  text += " at";
  for (int d = 0; d < c.shape.rank; ++d) text += (d ? "," : " ") + std::to_string(c.at[d]);
  text += " of";
  for (int d = 0; d < c.shape.rank; ++d) text += (d ? " x " : " ") + std::to_string(c.shape.extent[d]);
  return text + ", swizzle " + std::to_string(swizzle_bytes(c.shape.swizzle));
}

// --- the kernels ------------------------------------------------------------------------------------------

struct BoxAt {
  int rank, at[4];
  unsigned bytes;
};
constexpr int BOX_IMAGE = 64 * 1024;  // bytes of shared memory that are looked at
constexpr unsigned BOX_POISON = 0xA5;
constexpr int ANNOUNCED_IMAGE = 16 * 1024;  // room for the boxes of announced_boxes()

// Loads a box into shared memory full of BOX_POISON, and hands all of that back. came: 1, or 0 if the bytes did not.
__global__ void __launch_bounds__(128)
    load_box(const __grid_constant__ CUtensorMap map, BoxAt box, unsigned char* out, unsigned* base, unsigned* came) {
  extern __shared__ __align__(1024) unsigned char image[];
  auto& barrier = *reinterpret_cast<ptx::MBarrier*>(image + BOX_IMAGE);
  const int thread = int(threadIdx.x);
  for (int i = thread; i < BOX_IMAGE; i += 128) image[i] = BOX_POISON;
  if (thread == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
    *base = ptx::shared_address(image);
  }
  ptx::fence_proxy_async();
  __syncthreads();
  if (thread == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier, box.bytes);
    const int* at = box.at;
    if (box.rank == 2) ptx::tma_load_2d(image, map, at[0], at[1], barrier);
    if (box.rank == 3) ptx::tma_load_3d(image, map, at[0], at[1], at[2], barrier);
    if (box.rank == 4) ptx::tma_load_4d(image, map, at[0], at[1], at[2], at[3], barrier);
  }
  // Not for ever: bytes that never come are a finding, not a hang.
  bool complete = false;
  for (int patience = 0; patience < 5000 && !complete; ++patience) complete = ptx::mbarrier_try_wait(barrier, 0);
  if (thread == 0) *came = complete;
  __syncthreads();
  for (int i = thread; i < BOX_IMAGE; i += 128) out[i] = image[i];
}

// Block i announces ANNOUNCED_STEP * (i + 1) bytes and loads the box. ended[i]: whether the phase does.
__global__ void __launch_bounds__(32)
    announce(const __grid_constant__ CUtensorMap map, unsigned step, unsigned* ended) {
  extern __shared__ __align__(1024) unsigned char image[];
  auto& barrier = *reinterpret_cast<ptx::MBarrier*>(image + ANNOUNCED_IMAGE);
  if (threadIdx.x != 0) return;
  ptx::mbarrier_init(barrier, 1);
  ptx::fence_mbarrier_init();
  ptx::mbarrier_arrive_expect_tx(barrier, step * (blockIdx.x + 1));
  ptx::tma_load_2d(image, map, 0, 0, barrier);
  bool complete = false;
#ifdef LAB_EMULATED
  for (int patience = 0; patience < 4 && !complete; ++patience)
#else  // the copy takes some 2000 clocks
  for (const long long begin = clock64(); !complete && clock64() - begin < 200000;)
#endif
    complete = ptx::mbarrier_try_wait(barrier, 0);
  ended[blockIdx.x] = complete;
}

// Stores the box whose bytes are i % 251, in the order in which they lie in shared memory.
__global__ void __launch_bounds__(128) store_box(const __grid_constant__ CUtensorMap map, BoxAt box, unsigned* base) {
  extern __shared__ __align__(1024) unsigned char image[];
  const int thread = int(threadIdx.x);
  for (int i = thread; i < BOX_IMAGE; i += 128) image[i] = (unsigned char)(i % 251);
  ptx::fence_proxy_async();
  __syncthreads();
  if (thread != 0) return;
  *base = ptx::shared_address(image);
  if (box.rank == 2) ptx::tma_store_2d(map, image, box.at[0], box.at[1]);
  if (box.rank == 3) ptx::tma_store_3d(map, image, box.at[0], box.at[1], box.at[2]);
  ptx::bulk_commit();
  ptx::bulk_wait<0>();
}

// --- sections -----------------------------------------------------------------------------------------------

inline CUtensorMap map_of(void* tensor, const TensorShape& shape) {
  const cuuint32_t each[] = {1, 1, 1, 1};
  CUtensorMap map;
  // The driver's strides begin with dimension 1.
  check_cuda(encode_tiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, shape.rank, tensor, shape.extent, shape.stride + 1,
                          shape.box, each, CU_TENSOR_MAP_INTERLEAVE_NONE, CUtensorMapSwizzle(shape.swizzle),
                          CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
             "tensor map");
  return map;
}

// Launches the kernel that loads the box into `image`, or stores it; words[0]: where it lay, words[1]: whether it came.
inline cudaError_t move_box(bool stores, const Box& c, const CUtensorMap& map, unsigned char* image, unsigned* words) {
  constexpr int SMEM = BOX_IMAGE + 1024;
  const BoxAt box{c.shape.rank, {c.at[0], c.at[1], c.at[2], c.at[3]}, 2 * box_halves(c.shape)};
  return stores ? probe::ended(store_box, 1, 128, SMEM, map, box, words)
                : probe::ended(load_box, 1, 128, SMEM, map, box, image, words, words + 1);
}

inline void boxes(bool stores, Tally& tally) {
  auto* const image_device = on_device<unsigned char>(nullptr, BOX_IMAGE);
  auto* const words = on_device<unsigned>(nullptr, 2);
  for (const Box& c : all_boxes()) {
    if (stores && !storable(c)) continue;
    at_work = spelt(c);
    std::vector<std::uint16_t> tensor(tensor_bytes(c) / 2);
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = std::uint16_t(stores ? 0xFFFF : 1 + i % 65521);
    auto* const device = on_device<std::uint16_t>(tensor.data(), tensor.size());
    const CUtensorMap map = map_of(device, c.shape);
    long wrong = 0;
    check_cuda(move_box(stores, c, map, image_device, words), "a kernel");
    const auto said = from_device(words, 2);
    if (stores) {
      std::vector<std::uint16_t> expected = tensor;
      for (std::uint32_t i = 0; i < box_halves(c.shape); ++i)
        if (const auto half = half_of(c, said[0], i); half.inside)
          expected[half.global / 2] = std::uint16_t(half.shared % 251 | (half.shared + 1) % 251 << 8);
      const auto stored = from_device(device, tensor.size());
      for (std::size_t i = 0; i < stored.size(); ++i) wrong += stored[i] != expected[i];
    } else {
      std::vector<unsigned char> expected(BOX_IMAGE, (unsigned char)BOX_POISON);
      for (std::uint32_t i = 0; i < box_halves(c.shape); ++i) {
        const auto half = half_of(c, said[0], i);
        const std::uint16_t value = half.inside ? tensor[half.global / 2] : 0;
        std::memcpy(&expected[half.shared], &value, 2);
      }
      const auto loaded = from_device(image_device, BOX_IMAGE);
      for (std::size_t i = 0; i < loaded.size(); ++i) wrong += loaded[i] != expected[i];
      if (!said[1]) wrong = BOX_IMAGE;  // its bytes were never counted
    }
    tally.add(wrong == 0,
              [&] { return spelt(c) + ": " + std::to_string(wrong) + (stores ? " halves" : " bytes") + " wrong"; });
  }
  at_work.clear();
}

// Of each number of announced bytes whether the phase ended.
inline std::vector<unsigned> announced_once(const Box& c) {
  const unsigned blocks = announced_launches(c);
  auto* const tensor = on_device<half>(nullptr, tensor_bytes(c) / 2);
  auto* const device = on_device<unsigned>(nullptr, blocks);
  const CUtensorMap map = map_of(tensor, c.shape);
  probe::run(announce, blocks, 32, ANNOUNCED_IMAGE + 2048, map, ANNOUNCED_STEP, device);
  return from_device(device, blocks);
}

// Too few bytes announced, the right number, too many. When a phase ends, the engine's steps decide, which differ from
// launch to launch; some of those that may must, and some must not, or the rule would be another.
inline void announced(Tally& tally) {
  constexpr int LAUNCHES = 30;
  for (const Box& c : announced_boxes()) {
    at_work = spelt(c);
    const unsigned all = 2 * box_halves(c.shape);
    long ended_early = 0, never = 0;
    for (int launch = 0; launch < LAUNCHES; ++launch) {
      unsigned bytes = 0;
      for (const unsigned ended : announced_once(c)) {
        bytes += ANNOUNCED_STEP;
        const bool may = may_end(bytes, all), must = must_end(bytes, all);
        tally.add(ended ? may : !must, [&] {
          return at_work + ": " + std::to_string(bytes) + " announced, the phase " + (ended ? "ended" : "did not end");
        });
        if (may && !must) ++(ended ? ended_early : never);
      }
    }
    tally.add(ended_early && never, [&] { return at_work + ": always the same with too few announced"; });
    tally.report += format("  %s: too few announced, the phase ended %ld times and never %ld\n", at_work.c_str(),
                           ended_early, never);
  }
  at_work.clear();
}

inline void refused(const Refused& c, Tally& tally) {
  auto* const image = on_device<unsigned char>(nullptr, BOX_IMAGE);
  auto* const words = on_device<unsigned>(nullptr, 2);
  const CUtensorMap map = map_of(on_device<half>(nullptr, tensor_bytes(c.box) / 2), c.box.shape);
  const cudaError_t seen = move_box(c.store, c.box, map, image, words);
  tally.add(seen == cudaErrorIllegalInstruction, [&] { return spelt(c.box) + ": " + cudaGetErrorString(seen); });
}

// Those that have an answer on the CPU too: all but `announced`, whose answer there is the option's to give.
inline std::vector<probe::Section> sections(bool whole) {
  std::vector<probe::Section> all = product_sections(whole);
  for (const bool stores : {false, true})
    all.push_back({stores ? "stored boxes" : "loaded boxes", [=](Tally& tally) { boxes(stores, tally); }});
  for (const Refused& c : refused_boxes())
    all.push_back({std::string("refused: ") + c.why, [c](Tally& tally) { refused(c, tally); }});
#ifndef LAB_EMULATED
  all.push_back({"announced: too few bytes, too many", announced});
#endif
  return all;
}

}  // namespace lab::wgmma_probe
