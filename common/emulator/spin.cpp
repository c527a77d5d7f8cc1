// Threads that spin: that look at a word again and again, by a volatile load or by an atomic that changes nothing, and wait
// for another thread to change it. A GPU gives every thread its turn (since Volta); here a thread that spins waits until all
// others wait, too, and then goes on if a word that it looked at has changed.
#include <algorithm>
#include <cstring>

#include "common/emulator/block.hpp"
#include "common/emulator/memory.hpp"
#include "common/emulator/switch.hpp"

namespace lab::cpu {
namespace {

constexpr int LOOKS = 8;  // in vain, before it counts as spinning

std::uint64_t value_at(const void* address, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, address, bytes);
  return value;
}

// A word that the thread has not looked at while it looked in vain is one of an earlier spin.
bool has_changed(const Fiber& fiber) {
  return std::ranges::any_of(fiber.looks, [&](const Look& look) {
    return look.address && fiber.last_look - look.number < LOOKS && value_at(look.address, look.bytes) != look.value;
  });
}

}  // namespace

void Block::polled(const void* address, std::size_t bytes, std::uintptr_t pc) {
  Fiber& fiber = *current_;
  if (!running()) return;
  std::uint64_t value;
  {
    const Attributed to(pc);
    value = value_at(address, bytes);
  }
  const auto known = std::ranges::find(fiber.looks, address, &Look::address);
  ++fiber.last_look;
  if (known == std::end(fiber.looks) || known->value != value) {
    Look& look = known == std::end(fiber.looks) ? fiber.looks[fiber.next_look++ % std::size(fiber.looks)] : *known;
    look = {address, value, std::uint8_t(bytes), fiber.last_look};
    fiber.looks_in_vain = 0;
    return;
  }
  known->number = fiber.last_look;
  if (++fiber.looks_in_vain < LOOKS) return;
  switch_point(pc);
  fiber.spins_at = address;
  park(pc, Wait::At::spin);
}

std::uint32_t Block::active_lanes(std::uintptr_t pc) {
  Fiber& fiber = *current_;
  gathering_.push_back(&fiber);
  park(pc, Wait::At::lanes);
  return fiber.active;
}

bool Block::answer_active() {
  if (gathering_.empty()) return false;
  const int warp = gathering_.front()->warp;
  const std::uintptr_t pc = gathering_.front()->waits_at;
  const auto together = [&](const Fiber* fiber) { return fiber->warp == warp && fiber->waits_at == pc; };
  std::uint32_t lanes = 0;
  for (const Fiber* fiber : gathering_)
    if (together(fiber)) lanes |= 1u << fiber->lane;
  for (Fiber* fiber : gathering_)
    if (together(fiber)) fiber->active = lanes, wake(fiber->linear);
  std::erase_if(gathering_, together);
  progressed();
  return true;
}

bool Block::may_stop_spinning() {
  bool may = false;
  each_parked(Wait::At::spin, [&](const Fiber& fiber) { may = may || has_changed(fiber); });
  return may;
}

bool Block::wake_spinning(bool all) {
  bool any = false;
  each_parked(Wait::At::spin, [&](Fiber& fiber) {
    const bool changed = has_changed(fiber);
    if (!changed && !all) return;
    if (changed) progressed();
    any = true;
    wake(fiber.linear);
  });
  return any;
}

std::string Block::spins_on(const Fiber& fiber) const {
  const auto look = std::ranges::find(fiber.looks, fiber.spins_at, &Look::address);
  const std::string word = shared_.contains(look->address) ? shared_.describe(shared_.offset(look->address))
                                                           : name_of_global(look->address, look->bytes);
  return joined("a spin on ", word, ", which stays ", look->value);
}

}  // namespace lab::cpu
