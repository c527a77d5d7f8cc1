// Cooperative groups: the block, tiles of a warp, a cluster. Grid-wide synchronisation is not read.
#pragma once
#include "plain_cuda.h"

namespace cooperative_groups {

using lab::plain::rank_in_block;
inline unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }

class thread_block {
 public:
  static void sync() { lab::plain::at_site(-1), __syncthreads(); }  // a site for all of them
  static unsigned thread_rank() { return rank_in_block(); }
  static unsigned size() { return block_threads(); }
  static unsigned num_threads() { return block_threads(); }
  static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// Lanes of one warp: those of `mask`.
class warp_group {
 public:
  explicit warp_group(unsigned mask) : mask_(mask) {}
  void sync() const { __syncwarp(mask_); }
  unsigned thread_rank() const { return unsigned(__popc(mask_ & ((1u << rank_in_block() % 32) - 1))); }
  unsigned size() const { return unsigned(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  template <class T>
  T shfl(T value, int rank) const {
    return __shfl_sync(mask_, value, lane_of(rank));
  }
  template <class T>
  T shfl_down(T value, unsigned by) const {
    const int to = int(thread_rank() + by);
    return __shfl_sync(mask_, value, to < int(size()) ? lane_of(to) : int(rank_in_block() % 32));
  }
  template <class T>
  T shfl_up(T value, unsigned by) const {
    const int to = int(thread_rank()) - int(by);
    return __shfl_sync(mask_, value, to >= 0 ? lane_of(to) : int(rank_in_block() % 32));
  }
  template <class T>
  T shfl_xor(T value, unsigned by) const {
    return __shfl_sync(mask_, value, lane_of(int(thread_rank() ^ by)));
  }
  unsigned ballot(int predicate) const { return packed(__ballot_sync(mask_, predicate)); }
  int any(int predicate) const { return __any_sync(mask_, predicate); }
  int all(int predicate) const { return __all_sync(mask_, predicate); }
  template <class T>
  unsigned match_any(T value) const {
    return packed(__match_any_sync(mask_, value));
  }
  unsigned mask() const { return mask_; }

 private:
  int lane_of(int rank) const {  // of the member with that rank
    unsigned left = mask_;
    for (int i = 0; i < rank && left & (left - 1); ++i) left &= left - 1;
    return __ffs(int(left)) - 1;
  }
  unsigned packed(unsigned lanes) const {
    unsigned result = 0;
    int at = 0;
    for (unsigned left = mask_; left; left &= left - 1, ++at) result |= (lanes >> (__ffs(int(left)) - 1) & 1) << at;
    return result;
  }
  unsigned mask_;
};
// The lanes of the calling thread's tile of `threads` threads, a power of two up to 32.
inline unsigned tile_lanes(unsigned threads) {
  return threads == 32 ? ~0u : ((1u << threads % 32) - 1) << rank_in_block() % 32 / threads * threads;
}
template <unsigned N, class Parent = void>
class thread_block_tile : public warp_group {
 public:
  thread_block_tile() : warp_group(tile_lanes(N)) {}
  static unsigned meta_group_rank() { return rank_in_block() / N; }
  static unsigned meta_group_size() { return (block_threads() + N - 1) / N; }
  static constexpr unsigned num_threads() { return N; }
  static constexpr unsigned size() { return N; }
};
template <unsigned N, class Group>
thread_block_tile<N> tiled_partition(const Group&) {
  static_assert(N && N <= 32 && (N & (N - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads here");
  return {};
}
// A group whose size is known when the program runs: the block, or lanes of a warp.
class thread_group : public warp_group {
 public:
  thread_group(const thread_block&) : warp_group(0) {}
  thread_group(const warp_group& lanes) : warp_group(lanes) {}
  void sync() const { mask() ? warp_group::sync() : thread_block::sync(); }
  unsigned thread_rank() const { return mask() ? warp_group::thread_rank() : rank_in_block(); }
  unsigned size() const { return mask() ? warp_group::size() : block_threads(); }
  unsigned num_threads() const { return size(); }
};
inline thread_group tiled_partition(const thread_group&, unsigned threads) { return warp_group(tile_lanes(threads)); }
using coalesced_group = warp_group;
// Those of a group whose labels are equal.
template <class Label>
coalesced_group labeled_partition(const warp_group& group, Label label) {
  return warp_group(__match_any_sync(group.mask(), label));
}
inline coalesced_group binary_partition(const warp_group& group, bool predicate) {
  const unsigned yes = __ballot_sync(group.mask(), predicate);
  return warp_group(predicate ? yes : group.mask() & ~yes);
}
inline coalesced_group coalesced_threads() { return warp_group(__activemask()); }

class cluster_group {
 public:
  static void sync() { lab::cpu::cluster_arrive(true), lab::cpu::cluster_wait(); }
  static void barrier_arrive() { lab::cpu::cluster_arrive(true); }
  static void barrier_wait() { lab::cpu::cluster_wait(); }
  static unsigned block_rank() { return lab::cpu::cluster_rank(); }
  static unsigned num_blocks() { return lab::cpu::cluster_size(); }
  static unsigned thread_rank() { return block_rank() * block_threads() + rank_in_block(); }
  static unsigned num_threads() { return num_blocks() * block_threads(); }
  template <class T>
  static T* map_shared_rank(T* mine, unsigned rank) {
    return static_cast<T*>(lab::plain::shared_of_rank(const_cast<std::remove_cv_t<T>*>(mine), rank));
  }
};
inline cluster_group this_cluster() { return {}; }

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T, class Combine>
T reduce(const warp_group& group, T value, Combine combine) {
  return lab::plain::reduced(group.mask(), value, combine);
}
template <class Group>
__forceinline__ void sync(const Group& group) {
  group.sync();
}
template <class Group>
__forceinline__ void synchronize(const Group& group) {
  group.sync();
}
// At once, by all threads of the group: the wait is the group's sync.
template <class Group, class T>
void memcpy_async(const Group& group, T* to, const T* from, std::size_t bytes) {
  for (std::size_t i = group.thread_rank(); i < bytes / sizeof(T); i += group.size()) to[i] = from[i];
}
template <class Group>
void wait(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
