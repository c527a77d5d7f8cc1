// Functions that kernels call for wgmma: each a rendezvous of the warp; common/emulator/warpgroups.hpp does the work.
#include "common/emulator/block.hpp"
#include "common/emulator/switch.hpp"

namespace lab::cpu {
namespace {

constexpr std::uint32_t WHOLE_WARP = 0xFFFFFFFFu;

}  // namespace

void wgmma(float* d, int n, std::uint64_t a_descriptor, const unsigned* a_registers, std::uint64_t b_descriptor,
           bool a_mn_major, bool b_mn_major, bool accumulate, bool bf16) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& block = *this_block();
  const int warp = block.self().warp, lane = block.self().lane;
  if (warp / wgmma_layout::WARPS * wgmma_layout::WARPS + wgmma_layout::WARPS > block.warp_count())
    block.fail(Finding::Kind::collective, pc,
               "wgmma.mma_async by a warpgroup that is not whole: it is warps 4i to 4i + 3, and the block has ",
               block.warp_count());
  const WgmmaCall call{d, n, a_descriptor, a_registers, b_descriptor, a_mn_major, b_mn_major, accumulate, pc, bf16};
  block.own_warp().payload[lane] = const_cast<WgmmaCall*>(&call);
  const std::uint32_t before = block.warpgroups().issued(warp);
  block.meet(
      collective::wgmma, WHOLE_WARP, [](Block& here, Warp&, std::uint32_t) { here.warpgroups().arrive(); }, pc);
  if (block.warpgroups().issued(warp) == before) block.park(pc, Wait::At::products, warp / wgmma_layout::WARPS);
}

void wgmma_fence() {
  this_block()->meet(
      collective::wgmma_fence, WHOLE_WARP, [](Block& block, Warp&, std::uint32_t) { block.warpgroups().fence(); },
      caller(__builtin_return_address(0)));
}

void wgmma_commit() {
  this_block()->meet(
      collective::wgmma_commit, WHOLE_WARP, [](Block& block, Warp&, std::uint32_t) { block.warpgroups().commit(); },
      caller(__builtin_return_address(0)));
}

void wgmma_wait(unsigned groups_left) {
  Block& block = *this_block();
  block.own_warp().operand[block.self().lane] = int(groups_left);
  block.meet(
      collective::wgmma_wait, WHOLE_WARP,
      [](Block& here, Warp& warp, std::uint32_t) {
        here.warpgroups().wait(std::uint32_t(warp.operand[here.self().lane]));
      },
      caller(__builtin_return_address(0)));
}

}  // namespace lab::cpu
