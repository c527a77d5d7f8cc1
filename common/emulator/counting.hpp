// Counts what one block asks of shared memory, global memory and the other units, by program counter.
//
// Lanes run one after the other, so the lanes of an instruction come one by one: the k-th time that a lane passes a
// place since the warp last met as a whole belongs to the same instruction as every other lane's k-th time there. What
// is open is closed, and its wavefronts and sectors are worked out, when all lanes of the warp meet.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/counts.hpp"

namespace lab::cpu {

// Turns that one instruction takes at the 32 banks of 4 bytes: lanes of `mask`, `bytes` bytes each at the byte
// addresses `address` of shared memory. Lanes go in groups whose bytes fill 128; a bank serves one word per turn.
unsigned shared_wavefronts(std::uint32_t mask, const std::uint64_t* address, unsigned bytes);
// As many as the lanes' bytes need if no two words collide.
unsigned least_wavefronts(std::uint32_t mask, unsigned bytes);
// Different sectors of 32 bytes that the lanes touch.
unsigned global_sectors(std::uint32_t mask, const std::uint64_t* address, unsigned bytes);

// Of an ldmatrix that moves `count` 8x8 of halves, each of which takes the banks for itself: its rows are served together.
// row(i, j): the address of row j of the i-th.
template <class Row>
Tally tally_of_matrices(int count, Row row) {
  constexpr unsigned ROWS = 8, BYTES = 16;
  Tally tally{.instructions = 1, .lanes = 32, .bytes = count * ROWS * BYTES, .least = std::uint64_t(count)};
  for (int i = 0; i < count; ++i) {
    std::uint64_t address[32] = {};
    for (unsigned j = 0; j < ROWS; ++j) address[j] = row(i, int(j));
    tally.wavefronts += shared_wavefronts((1u << ROWS) - 1, address, BYTES);
  }
  tally.unavoidable = tally.wavefronts;
  return tally;
}

class Counting {
 public:
  static constexpr int WARPS = 32, LANES = 32;

  // By program counter and kind.
  using ByPlace = std::unordered_map<std::uint64_t, Tally>;
  static std::uint64_t key(std::uintptr_t pc, Counted what) { return std::uint64_t(pc) << 8 | std::uint64_t(what); }

  void reset();  // a block begins
  // One lane's part of an instruction. `address` and `second`: of a load or store; of a cp.async's shared and global
  // end.
  void lane(Counted what, int warp, int lane, std::uintptr_t pc, unsigned bytes = 0, std::uint64_t address = 0,
            std::uint64_t second = 0);
  // A whole instruction. Adds its tally; `instructions` of it are the warp's steps.
  void instruction(Counted what, int warp, std::uintptr_t pc, const Tally& tally);
  // All lanes of the warp have met: the k-th times begin anew.
  void meet(int warp) {
    if (!pending_[warp].touched.empty()) close(warp);
  }

  // --- steps: each warp's progress, and the waits between warps -------------------------------------------------
  std::uint64_t steps(int warp) const { return steps_[warp]; }
  // The warp continues at `step`, if that is later than its own; counted as waiting at `pc`.
  void wait_until(Counted what, int warp, std::uintptr_t pc, std::uint64_t step);

  ByPlace take();                                                  // what the blocks since the last call did
  const Tallies& of_this_block() const { return of_this_block_; }  // since reset()

 private:
  struct Open {  // an instruction that lanes have begun
    std::uint32_t mask = 0;
    std::array<std::uint64_t, LANES> address;
  };
  struct Site {
    std::uintptr_t pc = 0;
    Counted what{};
    unsigned bytes = 0;
    Tally* tally = nullptr;
    std::array<std::uint32_t, LANES> times{};
    std::vector<Open> open, second;
    std::size_t used = 0;
    // The last instruction worked out: another with lanes in the same places, as far as banks and sectors can tell,
    // costs the same.
    Open last, last_second;
    Tally cost;
  };
  struct Pending {
    std::vector<std::unique_ptr<Site>> sites;
    std::vector<std::uint16_t> slot;  // hashed by program counter and kind: 1 + the site's place
    std::vector<Site*> touched;
  };

  Site& site_of(int warp, Counted what, std::uintptr_t pc);
  void close(int warp);
  static void work_out(Site& site, const Open& open, const Open& second);

  std::array<Pending, WARPS> pending_;
  std::array<std::uint64_t, WARPS> steps_{};
  ByPlace tallies_;
  Tallies of_this_block_{};
};

void add(Counting::ByPlace& to, const Counting::ByPlace& from);
// Summed over the program counters of a line: loops are unrolled, functions inlined.
std::vector<CountedLine> by_line(const Counting::ByPlace& tallies);

}  // namespace lab::cpu
