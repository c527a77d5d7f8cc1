// setmaxnreg on the CPU: how the registers of a block are shared out among its warpgroups. Nothing is ever spilled
// here; the visible effect is a warpgroup that waits for registers that are never released.
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace lab::cpu {

class Block;
struct Warp;

class RegisterPool {
 public:
  static constexpr int FILE = 65536;  // 32-bit registers of an SM
  static constexpr int GROUP = 4;     // warps of a warpgroup
  static constexpr int MOST_AT_LAUNCH = 248;

  explicit RegisterPool(Block& block) : block_(block) {}
  void reset(int threads);
  // For the whole warp, from its rendezvous. Waits, if it must, in wait().
  void set(int warp, int count, bool take, std::uintptr_t pc);
  bool granted(int warp) const { return has_[warp] >= wants_[warp]; }
  void check_end();                       // the block is over: a finding where not all warps of a warpgroup came
  std::string waits_for(int warp) const;  // "240 registers per thread, has 168; ..."

 private:
  void share_out();

  Block& block_;
  int threads_ = 0, free_ = 0;  // free_ counts registers, the rest registers per thread
  std::array<int, 32> has_{}, wants_{}, calls_{};
  std::array<std::uintptr_t, 32> last_pc_{};
};

}  // namespace lab::cpu
