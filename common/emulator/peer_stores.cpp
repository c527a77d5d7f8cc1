#include "common/emulator/peer_stores.hpp"

#include <algorithm>
#include <cstring>

#include "common/emulator/block.hpp"
#include "common/emulator/switch.hpp"

namespace lab::cpu {

void PeerStores::reset(std::uint64_t seed) {
  in_flight_.clear();
  dice_ = seed ? seed : 1;
}

void PeerStores::issue(const PeerStore& asked) {
  PeerStore store = asked;
  if (block_.checking()) {
    const MBarrierState& barrier = block_.mbarriers().state(store.mbarrier);
    store.phase = barrier.phase;
    store.checked_as =
        block_.shadow().async_write_issued(store.offset, store.bytes, store.thread, store.pc, barrier.timeline, false);
  }
  block_.mbarriers().copy_issued(store.mbarrier, store.thread, store.pc, false);
  if (block_.copies() == Copies::at_issue) return land(store);
  in_flight_.push_back(store);
  if (block_.copies() == Copies::random) block_.interrupt();
}

void PeerStores::land(const PeerStore& store) {
  std::memcpy(block_.shared().base() + store.offset, store.value, store.bytes);
  block_.progressed();
  // Its steps on a GPU are not known.
  constexpr unsigned STEP = 1;
  block_.mbarriers().bytes_landed(store.mbarrier, store.bytes,
                                  {store.thread, store.pc, store.phase, store.checked_as, STEP},
                                  "the bytes of this st.async");
}

// One pass: there can be thousands, and to take each out of the middle would move all behind it.
template <class Choose>
bool PeerStores::land_those(Choose choose) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < in_flight_.size(); ++i)
    if (choose(in_flight_[i]))
      land(in_flight_[i]);
    else
      in_flight_[kept++] = in_flight_[i];
  const bool any = kept < in_flight_.size();
  in_flight_.resize(kept);
  return any;
}

bool PeerStores::has_awaited() const {
  return std::any_of(in_flight_.begin(), in_flight_.end(),
                     [&](const PeerStore& store) { return block_.mbarriers().waited_for(store.mbarrier); });
}

bool PeerStores::land_awaited() {
  return land_those([&](const PeerStore& store) { return block_.mbarriers().waited_for(store.mbarrier); });
}

void PeerStores::maybe_land() {
  land_those([&](const PeerStore&) { return cpu::dice(dice_, 32); });
}

void PeerStores::land_all() {
  land_those([](const PeerStore&) { return true; });
}

}  // namespace lab::cpu
