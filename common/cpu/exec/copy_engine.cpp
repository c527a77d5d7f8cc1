#include "common/cpu/exec/copy_engine.hpp"

#include "common/cpu/exec/block.hpp"
#include "common/cpu/exec/switch.hpp"

namespace lab::cpu {

void CopyEngine::reset(std::uint64_t seed) {
  in_flight_.clear();
  dice_ = seed ? seed : 1;
}

void CopyEngine::issue(const BulkCopy& asked) {
  block_.switch_point(asked.pc);
  const Fiber& fiber = block_.self();
  BulkCopy& copy = in_flight_.emplace_back(asked);
  copy.thread = fiber.linear;
  copy.group = fiber.bulk_groups;
  block_.tell(ExecEvent::Kind::tma_issue, block_.shared().offset(copy.shared), copy.bytes, copy.pc);
  if (block_.copies() == Copies::at_issue) return land(in_flight_.size() - 1);
  if (block_.copies() == Copies::random) block_.interrupt();
}

void CopyEngine::commit() { ++block_.self().bulk_groups; }

bool CopyEngine::has_open_stores(std::uint16_t thread, std::uint32_t before_group) const {
  for (const BulkCopy& copy : in_flight_)
    if (copy.store && copy.thread == thread && copy.group < before_group) return true;
  return false;
}

void CopyEngine::wait(std::uint32_t groups_left, bool, std::uintptr_t pc) {
  block_.switch_point(pc);
  Fiber& fiber = block_.self();
  const std::uint32_t until = fiber.bulk_groups > groups_left ? fiber.bulk_groups - groups_left : 0;
  if (!has_open_stores(fiber.linear, until)) return;
  fiber.bulk_waits_until = until;
  block_.park(pc);
}

bool CopyEngine::awaited(const BulkCopy& copy) const {
  if (copy.store) return copy.group < block_.fiber(copy.thread).bulk_waits_until;
  return block_.mbarriers().waited_for(copy.mbarrier);
}

bool CopyEngine::land_awaited() {
  for (std::size_t i = 0; i < in_flight_.size(); ++i)
    if (awaited(in_flight_[i])) return land(i), true;
  return false;
}

void CopyEngine::maybe_land() {
  for (std::size_t i = 0; i < in_flight_.size();)
    if (dice(32))
      land(i);
    else
      ++i;
}

void CopyEngine::land_all() {
  while (!in_flight_.empty()) land(0);
}

bool CopyEngine::dice(unsigned sides) { return (next_random(dice_) >> 32) % sides == 0; }

void CopyEngine::land(std::size_t index) {
  const BulkCopy copy = in_flight_[index];
  in_flight_.erase(in_flight_.begin() + std::ptrdiff_t(index));
  {
    const Attributed to(copy.pc);
    move_box(copy, block_.shared().window_address(copy.shared));
  }
  block_.tell(ExecEvent::Kind::tma_land, block_.shared().offset(copy.shared), copy.bytes, copy.pc);
  block_.progressed();
  if (!copy.store) return block_.mbarriers().complete_bytes(copy.mbarrier, copy.bytes);
  Fiber& fiber = block_.fiber(copy.thread);
  if (!fiber.bulk_waits_until || has_open_stores(copy.thread, fiber.bulk_waits_until)) return;
  fiber.bulk_waits_until = 0;
  block_.wake(copy.thread);
}

}  // namespace lab::cpu
