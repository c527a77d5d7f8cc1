// cp.async: a lane's copies, in groups.
#include <cstring>

#include "common/emulator/block.hpp"
#include "common/emulator/memory.hpp"
#include "common/emulator/switch.hpp"

namespace lab::cpu {
namespace {

void move_bytes(const PendingCopy& copy) {
  const Attributed to(copy.pc);
  const std::uint32_t from_global = copy.bytes - copy.zero_fill;
  std::memcpy(copy.shared, copy.global, from_global);
  std::memset(static_cast<std::byte*>(copy.shared) + from_global, 0, copy.zero_fill);
}

}  // namespace

void Block::copy_issue(const PendingCopy& copy) {
  const RuntimeCall call(*this, copy.pc);
  Fiber& fiber = *current_;
  if (checking_) {
    if (copy.bytes > copy.zero_fill) check_global(copy.global, copy.bytes - copy.zero_fill, false, copy.pc);
    shadow_.copy_issued(shared_.offset(copy.shared), copy.bytes, thread_id(), copy.pc);
  }
  if (counting_)
    counting_->lane(Counted::cp_async, fiber.warp, fiber.lane, copy.pc, copy.bytes, shared_.offset(copy.shared),
                    std::uintptr_t(copy.global));
  tell(ExecEvent::Kind::copy, shared_.offset(copy.shared), copy.bytes, copy.pc);
  fiber.copies.push_back(copy);
  fiber.copies.back().group = fiber.groups_committed;
  PendingCopy& issued = fiber.copies.back();
  if (options_.copies == Copies::at_issue) move_bytes(issued), issued.moved = true;
}

void Block::copy_commit() {
  tell(ExecEvent::Kind::commit, 0, 0, 0);
  ++current_->groups_committed;
  if (options_.copies != Copies::random) return;
  for (PendingCopy& copy : current_->copies)
    if (!copy.moved && engine_.dice(4)) move_bytes(copy), copy.moved = true;
}

void Block::copy_wait(std::uint32_t groups_left, bool completes) {
  Fiber& fiber = *current_;
  if (completes) tell(ExecEvent::Kind::wait, 0, groups_left, 0);
  const std::uint32_t until = fiber.groups_committed > groups_left ? fiber.groups_committed - groups_left : 0;
  if (checking_)
    for (const PendingCopy& copy : fiber.copies)
      if (copy.group == fiber.groups_committed) shadow_.copy_not_committed(shared_.offset(copy.shared), copy.bytes);
  if (until <= fiber.groups_done) return;
  fiber.groups_done = until;
  std::size_t kept = 0;
  for (const PendingCopy& copy : fiber.copies) {
    if (copy.group >= until) {
      fiber.copies[kept++] = copy;
      continue;
    }
    if (!copy.moved) move_bytes(copy);
    if (checking_ && completes) shadow_.copy_done(shared_.offset(copy.shared), copy.bytes, thread_id(), copy.pc);
  }
  fiber.copies.resize(kept);
}

}  // namespace lab::cpu
