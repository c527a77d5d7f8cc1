// Questions of `make probe what=wgmma` to a GPU's wgmma and copy engine, section by section; the unit tests ask the CPU the same.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "checks/probes/box_cases.hpp"
#include "checks/probes/dot_families.hpp"
#include "checks/probes/probe.cuh"
#include "checks/probes/wgmma_cases.hpp"
#include "checks/probes/wgmma_kernels.cuh"
#include "common/hopper/encode_tiled.hpp"

namespace lab::wgmma_probe {

using probe::at_work, probe::dot_of, probe::from_device, probe::must, probe::on_device, probe::Tally;

constexpr int SAMPLED = 40;  // dot products per family

// --- products by descriptors ----------------------------------------------------------------------------

inline void products(const std::string& section, Tally& tally) {
  float* const device = on_device<float>(nullptr, 64 * 256);
  unsigned* const base_device = on_device<unsigned>(nullptr, 1);
  for (const wgmma_cases::Case& c : wgmma_cases::all_cases()) {
    if (c.section != section) continue;
    probe::run(product_kernel(c), 1, 128, wgmma_cases::IMAGE_BYTES, c, device, base_device);
    const std::vector<float> registers = from_device(device, std::size_t(64 * c.n));
    const unsigned base = from_device(base_device, 1)[0];
    if (base % 1024 || !wgmma_cases::fits(c, base))
      throw probe::Failed("shared memory begins at an unforeseen address");
    std::vector<float> d(registers.size());
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < c.n / 2; ++i) {
        const wgmma_layout::Place at = wgmma_layout::d(thread, i);
        d[std::size_t(at.row * c.n + at.column)] = registers[std::size_t(thread * (c.n / 2) + i)];
      }
    int wrong = 0, first_wrong = 0;
    for (int i = 64 * c.n; i-- > 0;)
      if (d[std::size_t(i)] != wgmma_cases::expected(c, base, i / c.n, i % c.n)) ++wrong, first_wrong = i;
    tally.add(wrong == 0, [&] {
      const int row = first_wrong / c.n, column = first_wrong % c.n;
      return wgmma_cases::spelt(c) + ": " + std::to_string(wrong) + " of " + std::to_string(64 * c.n) +
             " elements, the first D[" + std::to_string(row) + "][" + std::to_string(column) +
             "] = " + std::to_string(d[std::size_t(first_wrong)]) + ", expected " +
             std::to_string(wgmma_cases::expected(c, base, row, column));
    });
    char line[160];
    std::snprintf(line, sizeof line, "case %d %d %d %d %016llx %016llx %u %u %016llx\n", c.n, c.b_mn_major,
                  c.a_registers, c.accumulate, (unsigned long long)c.a, (unsigned long long)c.b, c.seed, base,
                  (unsigned long long)wgmma_cases::fnv(d));
    tally.sample += line;
  }
  must(cudaFree(device), "cudaFree"), must(cudaFree(base_device), "cudaFree");
}

// --- the bits of dot products -----------------------------------------------------------------------------

// Four tiles of a family on the diagonal; beside it, rows of one meet columns of another.
inline Dots dots_of(const dot_families::Family& family, dot_families::Random& random) {
  Dots dots;
  for (int t = 0; t < 4; ++t) {
    dot_families::Tile tile;
    family.fill(tile, random);
    for (int row = 0; row < 16; ++row) {
      std::memcpy(dots.a[16 * t + row], tile.a[row], sizeof tile.a[row]);
      for (int column = 0; column < 32; ++column) dots.c[16 * t + row][column] = tile.c[row][column % 8];
    }
    for (int k = 0; k < 16; ++k) std::memcpy(&dots.b[k][8 * t], tile.b[k], sizeof tile.b[k]);
  }
  return dots;
}

// `blocks` per family, 2048 dot products each; every one of them is held against the model, or those of the sample.
inline void dot_products(bool a_registers, int blocks, bool every, Tally& tally) {
  using Results = float[64][32];
  auto* const results_device = on_device<Results>(nullptr, std::size_t(blocks));
  for (const dot_families::Family& family : dot_families::FAMILIES) {
    dot_families::Random random(20261121 + std::uint64_t(&family - dot_families::FAMILIES) * 2 + a_registers);
    std::vector<Dots> problems;
    for (int i = 0; i < blocks; ++i) problems.push_back(dots_of(family, random));
    Dots* const device = on_device<Dots>(problems.data(), problems.size());
    probe::run(a_registers ? dots<true> : dots<false>, unsigned(blocks), 128, 4096, device, results_device);
    const std::vector<float> results = from_device(&results_device[0][0][0], std::size_t(blocks) * 64 * 32);
    must(cudaFree(device), "cudaFree");
    const auto result_of = [&](int block, int row, int column) {
      return results[std::size_t((block * 64 + row) * 32 + column)];
    };
    probe::DotCount count{TensorCore::sm_90};
    tally.sample += std::string("# ") + family.name + "\n";
    for (int i = 0; i < blocks; ++i) {
      const Dots& p = problems[std::size_t(i)];
      for (int row = 0; every && row < 64; ++row)
        for (int column = 0; column < 32; ++column) count.add(tally, dot_of(p, row, column), result_of(i, row, column));
      const int row = i % 64, column = row / 16 * 8 + i % 8;
      const probe::Dot sampled = dot_of(p, row, column);
      if (!every) count.add(tally, sampled, result_of(i, row, column));
      if (i < SAMPLED) tally.sample += "dot " + probe::in_words(sampled, result_of(i, row, column)) + "\n";
    }
    count.say(tally, family.name);
  }
  must(cudaFree(results_device), "cudaFree");
}

// --- boxes --------------------------------------------------------------------------------------------------

inline CUtensorMap map_of(void* tensor, const TensorShape& shape) {
  const cuuint32_t each[] = {1, 1, 1, 1};
  CUtensorMap map;
  // The driver's strides begin with dimension 1.
  must(encode_tiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, shape.rank, tensor, shape.extent, shape.stride + 1,
                    shape.box, each, CU_TENSOR_MAP_INTERLEAVE_NONE, CUtensorMapSwizzle(shape.swizzle),
                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
       "tensor map");
  return map;
}

// Launches the kernel that loads the box into `image`, or stores it; words[0]: where it lay, words[1]: whether it came.
inline cudaError_t move_box(bool stores, const box_cases::Case& c, const CUtensorMap& map, unsigned char* image,
                            unsigned* words) {
  constexpr int SMEM = BOX_IMAGE + 1024;
  const BoxAt box{c.shape.rank, {c.at[0], c.at[1], c.at[2], c.at[3]}, 2 * box_cases::box_halves(c.shape)};
  return stores ? probe::ended(store_box, 1, 128, SMEM, map, box, words)
                : probe::ended(load_box, 1, 128, SMEM, map, box, image, words, words + 1);
}

inline void boxes(const std::string& kind, bool stores, Tally& tally) {
  auto* const image_device = on_device<unsigned char>(nullptr, BOX_IMAGE);
  auto* const words = on_device<unsigned>(nullptr, 2);
  for (const box_cases::Case& c : box_cases::all_cases()) {
    if (box_cases::kind(c) != kind || (stores && !box_cases::storable(c))) continue;
    at_work = box_cases::spelt(c);
    std::vector<std::uint16_t> tensor(box_cases::tensor_bytes(c) / 2);
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = std::uint16_t(stores ? 0xFFFF : 1 + i % 65521);
    auto* const device = on_device<std::uint16_t>(tensor.data(), tensor.size());
    const CUtensorMap map = map_of(device, c.shape);
    long wrong = 0;
    must(move_box(stores, c, map, image_device, words), "a kernel");
    const auto said = from_device(words, 2);
    if (stores) {
      std::vector<std::uint16_t> expected = tensor;
      for (std::uint32_t i = 0; i < box_cases::box_halves(c.shape); ++i)
        if (const auto half = box_cases::half_of(c, said[0], i); half.inside)
          expected[half.global / 2] = std::uint16_t(half.shared % 251 | (half.shared + 1) % 251 << 8);
      const auto stored = from_device(device, tensor.size());
      for (std::size_t i = 0; i < stored.size(); ++i) wrong += stored[i] != expected[i];
    } else {
      std::vector<unsigned char> expected(BOX_IMAGE, (unsigned char)BOX_POISON);
      for (std::uint32_t i = 0; i < box_cases::box_halves(c.shape); ++i) {
        const auto half = box_cases::half_of(c, said[0], i);
        const std::uint16_t value = half.inside ? tensor[half.global / 2] : 0;
        std::memcpy(&expected[half.shared], &value, 2);
      }
      const auto loaded = from_device(image_device, BOX_IMAGE);
      for (std::size_t i = 0; i < loaded.size(); ++i) wrong += loaded[i] != expected[i];
      if (!said[1]) wrong = BOX_IMAGE;  // its bytes were never counted
    }
    must(cudaFree(device), "cudaFree");
    tally.add(wrong == 0, [&] {
      return box_cases::spelt(c) + ": " + std::to_string(wrong) + (stores ? " halves" : " bytes") + " wrong";
    });
  }
  at_work.clear();
  must(cudaFree(image_device), "cudaFree"), must(cudaFree(words), "cudaFree");
}

// Of each number of announced bytes whether the phase ended.
inline std::vector<unsigned> announced_once(const box_cases::Case& c) {
  const unsigned blocks = box_cases::announced_launches(c);
  auto* const tensor = on_device<half>(nullptr, box_cases::tensor_bytes(c) / 2);
  auto* const device = on_device<unsigned>(nullptr, blocks);
  const CUtensorMap map = map_of(tensor, c.shape);
  probe::run(announce, blocks, 32, ANNOUNCED_IMAGE + 2048, map, box_cases::ANNOUNCED_STEP, device);
  const auto ended = from_device(device, blocks);
  must(cudaFree(tensor), "cudaFree"), must(cudaFree(device), "cudaFree");
  return ended;
}

// Too few bytes announced, the right number, too many. When a phase ends, the engine's steps decide, which differ from
// launch to launch; some of those that may must, and some must not, or the rule would be another.
inline void announced(Tally& tally) {
  constexpr int LAUNCHES = 30;
  for (const box_cases::Case& c : box_cases::announced_cases()) {
    at_work = box_cases::spelt(c);
    const unsigned all = 2 * box_cases::box_halves(c.shape);
    long ended_early = 0, never = 0;
    for (int launch = 0; launch < LAUNCHES; ++launch) {
      unsigned bytes = 0;
      for (const unsigned ended : announced_once(c)) {
        bytes += box_cases::ANNOUNCED_STEP;
        const bool may = box_cases::may_end(bytes, all), must_end = box_cases::must_end(bytes, all);
        tally.add(ended ? may : !must_end, [&] {
          return at_work + ": " + std::to_string(bytes) + " announced, the phase " + (ended ? "ended" : "did not end");
        });
        if (may && !must_end) ++(ended ? ended_early : never);
      }
    }
    tally.add(ended_early && never, [&] { return at_work + ": always the same with too few announced"; });
    tally.say("  %s: too few announced, the phase ended %ld times and never %ld\n", at_work.c_str(), ended_early,
              never);
  }
  at_work.clear();
}

inline void refused(const box_cases::Refused& c, Tally& tally) {
  auto* const image = on_device<unsigned char>(nullptr, BOX_IMAGE);
  auto* const words = on_device<unsigned>(nullptr, 2);
  const CUtensorMap map = map_of(on_device<half>(nullptr, box_cases::tensor_bytes(c.box) / 2), c.box.shape);
  const cudaError_t seen = move_box(c.store, c.box, map, image, words);
  tally.add(seen == cudaErrorIllegalInstruction,
            [&] { return box_cases::spelt(c.box) + ": " + cudaGetErrorString(seen); });
}

// --- sections ---------------------------------------------------------------------------------------------------

// Those that have an answer on the CPU too: all but `announced`, whose answer there is the option's to give.
inline std::vector<probe::Section> sections(int dot_blocks, bool every_dot) {
  std::vector<probe::Section> all;
  const auto add_once = [&](const std::string& name, const std::function<void(Tally&)>& work) {
    if (std::ranges::find(all, name, &probe::Section::name) == all.end()) all.push_back({name, work});
  };
  for (const wgmma_cases::Case& c : wgmma_cases::all_cases())
    add_once(c.section, [name = std::string(c.section)](Tally& tally) { products(name, tally); });
  for (const bool a_registers : {false, true})
    all.push_back({a_registers ? "dot products, A from registers" : "dot products, A from shared memory",
                   [=](Tally& tally) { dot_products(a_registers, dot_blocks, every_dot, tally); }});
  for (const bool stores : {false, true})
    for (const box_cases::Case& c : box_cases::all_cases())
      add_once((stores ? "stored, " : "loaded, ") + box_cases::kind(c),
               [kind = box_cases::kind(c), stores](Tally& tally) { boxes(kind, stores, tally); });
  for (const box_cases::Refused& c : box_cases::refused_cases())
    all.push_back({std::string("refused: ") + c.why, [c](Tally& tally) { refused(c, tally); }});
  return all;
}

}  // namespace lab::wgmma_probe
