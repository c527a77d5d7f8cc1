// The operations in which the lanes of a warp meet (Block::meet). A new one is a row here.
#pragma once
#include <cstdint>

#include "common/counts.hpp"

namespace lab::cpu {

// Lanes of one mask must meet in the same operation.
struct Collective {
  // with_mask: a function of CUDA's; lanes that have returned are not waited for. aligned: PTX's; the lanes must meet in the
  // very same instruction.
  enum Kind : std::uint8_t { with_mask, whole_warp, aligned };
  const char* name;  // CUDA's, or the PTX instruction's
  Kind kind;
  unsigned instructions = 0;  // of the hardware; 0: it is not counted, or counts itself, with its addresses
  Counted what{};
  std::uint64_t multiplies = 0;
};

namespace collective {

using enum Collective::Kind;
inline constexpr unsigned REDUCTION = 5;  // shuffles of a butterfly over 32 lanes
inline constexpr std::uint64_t MMA_MULTIPLIES = 16 * 8 * 16;

inline constexpr Collective syncwarp{"__syncwarp", with_mask, 1, Counted::syncwarp};
inline constexpr Collective shuffles[] = {{"__shfl_sync", with_mask, 1, Counted::shuffle},  // in the order of Shuffle
                                          {"__shfl_up_sync", with_mask, 1, Counted::shuffle},
                                          {"__shfl_down_sync", with_mask, 1, Counted::shuffle},
                                          {"__shfl_xor_sync", with_mask, 1, Counted::shuffle}};
inline constexpr Collective votes[] = {{"__ballot_sync", with_mask, 1, Counted::vote},  // in the order of Vote
                                       {"__any_sync", with_mask, 1, Counted::vote},
                                       {"__all_sync", with_mask, 1, Counted::vote}};
inline constexpr Collective sum{"warp_sum", whole_warp, REDUCTION, Counted::shuffle};
inline constexpr Collective max{"warp_max", whole_warp, REDUCTION, Counted::shuffle};
inline constexpr Collective wmma_load{"wmma::load_matrix_sync", aligned};
inline constexpr Collective wmma_store{"wmma::store_matrix_sync", aligned};
inline constexpr Collective wmma_mma{"wmma::mma_sync", aligned, 2, Counted::mma, 2 * MMA_MULTIPLIES};
inline constexpr Collective mma{"mma.sync", aligned, 1, Counted::mma, MMA_MULTIPLIES};
inline constexpr Collective ldmatrix{"ldmatrix", aligned}, stmatrix{"stmatrix", aligned};
inline constexpr Collective bar_sync{"bar.sync", aligned, 1, Counted::named_barrier};
inline constexpr Collective bar_arrive{"bar.arrive", aligned, 1, Counted::named_barrier};
inline constexpr Collective wgmma{"wgmma.mma_async", aligned}, wgmma_fence{"wgmma.fence", aligned};
inline constexpr Collective wgmma_commit{"wgmma.commit_group", aligned}, wgmma_wait{"wgmma.wait_group", aligned};
inline constexpr Collective setmaxnreg{"setmaxnreg", aligned};
inline constexpr Collective cluster_arrive{"barrier.cluster.arrive", aligned, 1, Counted::cluster_barrier};
inline constexpr Collective cluster_wait{"barrier.cluster.wait", aligned, 1, Counted::cluster_barrier};

}  // namespace collective
}  // namespace lab::cpu
