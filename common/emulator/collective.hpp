// The operations in which the lanes of a warp meet (Block::meet). A new one is a row here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "common/counts.hpp"

namespace lab::cpu {

// The operation that a lane waits in. Lanes of one mask must meet in the same kind; from wmma_load on they are PTX's
// .aligned instructions, of which they must meet in the very same one.
enum class Collective : std::uint8_t {
  syncwarp,
  shuffle_index,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  ballot,
  any,
  all,
  sum,
  max,
  wmma_load,
  wmma_store,
  wmma_mma,
  mma,
  ldmatrix,
  stmatrix,
  bar_sync,
  bar_arrive,
  wgmma,
  wgmma_fence,
  wgmma_commit,
  wgmma_wait,
  setmaxnreg,
  cluster_arrive,
  cluster_wait
};

inline constexpr unsigned REDUCTION = 5;  // shuffles of a butterfly over 32 lanes
inline constexpr std::uint64_t MMA_MULTIPLIES = 16 * 8 * 16;

struct CollectiveRow {
  Collective kind;
  const char* name;           // CUDA's, or the PTX instruction's
  unsigned instructions = 0;  // of the hardware; 0: it is not counted, or counts itself, with its addresses
  Counted what{};
  std::uint64_t multiplies = 0;
};

// In the order of the enumeration.
inline constexpr CollectiveRow COLLECTIVES[] = {
    {Collective::syncwarp, "__syncwarp", 1, Counted::syncwarp},
    {Collective::shuffle_index, "__shfl_sync", 1, Counted::shuffle},
    {Collective::shuffle_up, "__shfl_up_sync", 1, Counted::shuffle},
    {Collective::shuffle_down, "__shfl_down_sync", 1, Counted::shuffle},
    {Collective::shuffle_xor, "__shfl_xor_sync", 1, Counted::shuffle},
    {Collective::ballot, "__ballot_sync", 1, Counted::vote},
    {Collective::any, "__any_sync", 1, Counted::vote},
    {Collective::all, "__all_sync", 1, Counted::vote},
    {Collective::sum, "warp_sum", REDUCTION, Counted::shuffle},
    {Collective::max, "warp_max", REDUCTION, Counted::shuffle},
    {Collective::wmma_load, "wmma::load_matrix_sync"},
    {Collective::wmma_store, "wmma::store_matrix_sync"},
    {Collective::wmma_mma, "wmma::mma_sync", 2, Counted::mma, 2 * MMA_MULTIPLIES},
    {Collective::mma, "mma.sync", 1, Counted::mma, MMA_MULTIPLIES},
    {Collective::ldmatrix, "ldmatrix"},
    {Collective::stmatrix, "stmatrix"},
    {Collective::bar_sync, "bar.sync", 1, Counted::named_barrier},
    {Collective::bar_arrive, "bar.arrive", 1, Counted::named_barrier},
    {Collective::wgmma, "wgmma.mma_async"},
    {Collective::wgmma_fence, "wgmma.fence"},
    {Collective::wgmma_commit, "wgmma.commit_group"},
    {Collective::wgmma_wait, "wgmma.wait_group"},
    {Collective::setmaxnreg, "setmaxnreg"},
    {Collective::cluster_arrive, "barrier.cluster.arrive", 1, Counted::cluster_barrier},
    {Collective::cluster_wait, "barrier.cluster.wait", 1, Counted::cluster_barrier},
};
constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(COLLECTIVES); ++i)
    if (std::size_t(COLLECTIVES[i].kind) != i) return false;
  return std::size(COLLECTIVES) == std::size_t(Collective::cluster_wait) + 1;
}
static_assert(in_order());

constexpr const CollectiveRow& row(Collective kind) { return COLLECTIVES[std::size_t(kind)]; }
constexpr bool is_aligned(Collective kind) { return kind >= Collective::wmma_load; }
// Whether lanes that have returned are not waited for: of CUDA's functions with a mask.
constexpr bool lets_leave(Collective kind) { return kind <= Collective::all; }
constexpr const char* name(Collective kind) { return row(kind).name; }

}  // namespace lab::cpu
