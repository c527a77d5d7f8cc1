#include "common/emulator/copy_engine.hpp"

#include <algorithm>
#include <cstring>

#include "common/emulator/block.hpp"
#include "common/emulator/switch.hpp"

namespace lab::cpu {

void CopyEngine::reset(std::uint64_t seed) {
  in_flight_.clear(), unread_.clear();
  dice_ = seed ? seed : 1;
}

void CopyEngine::issue(const BulkCopy& asked) {
  block_.switch_point(asked.pc);
  BulkCopy copy = asked;
  copy.thread = block_.thread_id();
  copy.group = block_.self().bulk_groups;
  start(copy);
}

void CopyEngine::issue_from(ThreadId thread, const BulkCopy& asked) {
  BulkCopy copy = asked;
  copy.thread = thread;
  start(copy);
}

void CopyEngine::start(const BulkCopy& asked) {
  BulkCopy& copy = in_flight_.emplace_back(asked);
  if (block_.checking()) check_issue(copy);
  if (!copy.store) block_.mbarriers().copy_issued(copy.mbarrier, copy.thread, copy.pc, !copy.st_async);
  if (!copy.st_async)
    block_.tell_of(copy.thread, ExecEvent::Kind::tma_issue, block_.shared().offset(copy.shared), copy.bytes, copy.pc);
  if (block_.copies() == Copies::at_issue) land_those([&](const BulkCopy& other) { return &other == &copy; });
  if (block_.copies() == Copies::random) block_.interrupt();
}

void CopyEngine::check_issue(BulkCopy& copy) {
  Shadow& shadow = block_.shadow();
  const std::size_t offset = block_.shared().offset(copy.shared);
  if (copy.tensor && copy.map.shape.swizzle != Swizzle::none) {
    const std::size_t pattern = 8 * swizzle_bytes(copy.map.shape.swizzle);
    if (block_.shared().window_address(copy.shared) % pattern)
      shadow.report(Finding::Kind::misaligned, block_.shared().describe(offset), {},
                    Shadow::access(copy.thread, copy.pc, !copy.store),
                    "the swizzle is one of the address and repeats every " + std::to_string(pattern) +
                        " bytes: a box that starts between is exchanged differently");
  }
  if (copy.store) {
    copy.checked_as = shadow.store_issued(offset, copy.footprint, copy.thread, copy.pc);
    unread_.push_back({copy.thread.linear, copy.group, copy.checked_as});
    return;
  }
  const MBarrierState& barrier = block_.mbarriers().state(copy.mbarrier);
  copy.phase = barrier.phase;
  copy.checked_as =
      shadow.async_write_issued(offset, copy.footprint, copy.thread, copy.pc, barrier.timeline, !copy.st_async);
}

void CopyEngine::commit() { ++block_.self().bulk_groups; }

bool CopyEngine::has_open_stores(std::uint16_t thread, std::uint32_t before_group) const {
  for (const BulkCopy& copy : in_flight_)
    if (copy.store && copy.thread.linear == thread && copy.group < before_group) return true;
  return false;
}

void CopyEngine::wait(std::uint32_t groups_left, std::uintptr_t pc) {
  block_.switch_point(pc);
  Fiber& fiber = block_.self();
  const std::uint32_t until = fiber.bulk_groups > groups_left ? fiber.bulk_groups - groups_left : 0;
  if (has_open_stores(fiber.linear, until)) {
    fiber.bulk_waits_until = until;
    block_.park(pc, Wait::At::stores);
  }
  std::erase_if(unread_, [&](const Store& store) {
    if (store.thread != fiber.linear || store.group >= until) return false;
    block_.shadow().store_done(store.checked_as);
    return true;
  });
}

bool CopyEngine::awaited(const BulkCopy& copy) const {
  if (copy.store) return copy.group < block_.fiber(copy.thread.linear).bulk_waits_until;
  return block_.mbarriers().waited_for(copy.mbarrier);
}

bool CopyEngine::has_awaited() const {
  return std::any_of(in_flight_.begin(), in_flight_.end(), [&](const BulkCopy& copy) { return awaited(copy); });
}

template <class Choose>
bool CopyEngine::land_those(Choose choose) {
  bool any = false;
  for (auto next = in_flight_.begin(); next != in_flight_.end();) {
    const auto at = next++;
    if (!choose(*at)) continue;
    const BulkCopy copy = *at;
    in_flight_.erase(at);
    land(copy);
    any = true;
  }
  return any;
}

bool CopyEngine::land_awaited() {
  bool one = false;
  return land_those([&](const BulkCopy& c) { return !c.st_async && !one && (one = awaited(c)); }) ||
         land_those([&](const BulkCopy& c) { return awaited(c); });
}

void CopyEngine::maybe_land() {
  land_those([&](const BulkCopy&) { return dice(32); });
}

void CopyEngine::land_all() {
  land_those([](const BulkCopy&) { return true; });
}

bool CopyEngine::dice(unsigned sides) { return cpu::dice(dice_, sides); }

void CopyEngine::land(const BulkCopy& copy) {
  block_.progressed();
  const auto landed = [&](unsigned step, const char* what) {
    block_.mbarriers().bytes_landed(copy.mbarrier, copy.bytes,
                                    {copy.thread, copy.pc, copy.phase, copy.checked_as, step, !copy.st_async}, what);
  };
  if (copy.st_async) {
    std::memcpy(copy.shared, copy.value, copy.bytes);
    return landed(1, "the bytes of this st.async");  // its steps on a GPU are not known
  }
  {
    const Attributed to(copy.pc);
    move_box(copy, block_.shared().window_address(copy.shared));
  }
  block_.tell_of(copy.thread, ExecEvent::Kind::tma_land, block_.shared().offset(copy.shared), copy.bytes, copy.pc);
  if (!copy.store)
    return landed(block_.copies() == Copies::at_issue ? copy.bytes : LEAST_COUNTED, "all bytes of this copy");
  Fiber& fiber = block_.fiber(copy.thread.linear);
  if (!fiber.bulk_waits_until || has_open_stores(copy.thread.linear, fiber.bulk_waits_until)) return;
  fiber.bulk_waits_until = 0;
  block_.wake(copy.thread.linear);
}

}  // namespace lab::cpu
