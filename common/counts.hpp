// A launch's demand on the machine's units, as the CPU execution counts it (ExecOptions::count): for every line of the
// kernel, and every kind of thing that it does. A GPU's own counters (Nsight Compute) are what these are held to:
// checks/counters/, writeups/counters.md.
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace lab {

enum class Counted : std::uint8_t {
  shared_load,
  shared_store,
  ldmatrix,
  stmatrix,
  cp_async,  // wavefronts are those of the store, sectors those of the load
  tma_load,  // no wavefronts: the engine has a way of its own
  tma_store,
  remote_store,  // to another block's shared memory
  wmma_load,     // of halves: counted as the ldmatrix.x4 that it becomes. Of an accumulator: shared loads of pairs
  global_load,
  global_store,
  mma,    // mma.sync.m16n8k16; a WMMA product is two
  wgmma,  // told by each warp of the four; bytes: operands from shared memory, B by the first
  exponential,
  reciprocal,
  shuffle,  // a warp reduction is five
  vote,
  syncwarp,
  barrier,        // of the block; told by its warps
  named_barrier,  // told by its warps, arriving or waiting
  mbarrier_arrive,
  mbarrier_wait,
  cluster_barrier,
};
inline constexpr int COUNTED = int(Counted::cluster_barrier) + 1;
const char* name(Counted what);  // "shared load"

struct Tally {
  std::uint64_t instructions = 0;  // of a warp: lanes that execute one line together count once
  std::uint64_t lanes = 0;         // that took part in them
  std::uint64_t bytes = 0;
  std::uint64_t wavefronts = 0;  // cycles of the 32 banks
  std::uint64_t least = 0;       // as many as the same bytes would need if nothing collided
  // As many as no compiler saves by joining neighbours: all of accesses of 16 bytes and of matrices, the least of
  // others.
  std::uint64_t unavoidable = 0;
  std::uint64_t sectors = 0;     // of 32 bytes in global memory, different ones of one instruction
  std::uint64_t multiplies = 0;  // multiply-adds of the tensor core
  std::uint64_t waited = 0;  // steps that warps stood at a barrier for others; a step is an instruction counted here

  Tally& operator+=(const Tally& other) {
    instructions += other.instructions, lanes += other.lanes, bytes += other.bytes, wavefronts += other.wavefronts;
    least += other.least, unavoidable += other.unavoidable, sectors += other.sectors, multiplies += other.multiplies,
        waited += other.waited;
    return *this;
  }
  bool operator==(const Tally&) const = default;
};

using Tallies = std::array<Tally, COUNTED>;  // by kind

struct CountedBlock {
  std::uint32_t block = 0;  // linear
  Tallies tallies{};
};

struct CountedLine {
  Counted what{};
  std::string file;  // relative to the repository
  int line = 0;
  std::string text;  // of that line, "" where the file is not at hand
  Tally tally;
};

}  // namespace lab
