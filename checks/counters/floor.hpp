// The least time that a launch can take on an H200, by what the CPU execution has counted (common/counts.hpp): each
// unit of the machine has a rate that nothing exceeds, and some multiprocessor must run enough of the blocks.
#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "common/counts.hpp"

namespace lab {

// Of a multiprocessor, per clock. Sources: the CUDA programming guide's table of arithmetic throughput (issue slots,
// special functions), NVIDIA's H100 white paper (tensor cores, L2: 64 bytes), the banks (32 words); that an mma.sync
// keeps its tensor core for 6 clocks, where 4 would do, is what Nsight Compute shows of v2d on an H200
// (op_hmma_cycles_active per instruction).
struct Rates {
  const char* name = "an H200";
  int multiprocessors = 132;
  double clocks_per_us = 1980;        // the highest that it allows itself
  double warp_instructions = 4;       // issued
  double wavefronts = 1;              // of shared memory, 128 bytes each
  double special = 16;                // lanes: exponentials, reciprocals
  double multiplies = 2048;           // of wgmma, fp16
  double mma_instructions = 4.0 / 6;  // of mma.sync.m16n8k16
  double l2_bytes = 64;               // from or to the L2
};

enum class Unit { issue, shared, special, tensor, l2 };
inline constexpr int UNITS = 5;
const char* name(Unit unit);  // "shared memory"

// Clocks of one multiprocessor that its units are busy with this, each by itself.
std::array<double, UNITS> clocks(Counted what, const Tally& tally, const Rates& rates = {});
std::array<double, UNITS> clocks(const Tallies& tallies, const Rates& rates = {});

struct Floor {
  std::array<double, UNITS> us{};  // what each unit needs at least
  Unit binds = Unit::issue;
  double least() const { return us[std::size_t(binds)]; }
};
// Of a launch of these blocks, all of it, with the wavefronts that no compiler saves. A multiprocessor gets at least
// the mean, at least the largest block, and, where there are more blocks than multiprocessors, some get several: at
// least that number of the smallest.
Floor floor_of(std::span<const CountedBlock> blocks, const Rates& rates = {});

Tallies sum(std::span<const CountedBlock> blocks);

}  // namespace lab
