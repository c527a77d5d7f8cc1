#include "common/emulator/register_watch.hpp"

#include <algorithm>

namespace lab::cpu {

void RegisterWatch::reset(const void* stack, std::size_t bytes) {
  constexpr std::size_t PAGE = 4096;  // stacks differ by less than a page: one watch serves any
  const std::size_t registers = (bytes + PAGE - 1) / PAGE * PAGE / GRANULE;
  stack_ = static_cast<const std::byte*>(stack), bytes_ = bytes;
  if (registers_.size() != registers)
    registers_ = decltype(registers_)(registers);
  else
    std::fill(registers_.begin() + std::ptrdiff_t(lowest_ever_), registers_.end(), Register{});
  lowest_ = lowest_ever_ = registers_.size();
}

void RegisterWatch::fence() {
  for (std::size_t i = lowest_; i < registers_.size(); ++i) registers_[i].touched_pc = 0;
  lowest_ = registers_.size();
}

std::uintptr_t RegisterWatch::touched(const void* registers, std::size_t count) const {
  const std::size_t first = index_of(registers);
  if (first >= registers_.size()) return 0;  // not on this stack: not watched
  for (std::size_t i = first; i < std::min(first + count, registers_.size()); ++i)
    if (registers_[i].touched_pc) return registers_[i].touched_pc;
  return 0;
}

void RegisterWatch::count_in(const void* registers, std::size_t count, bool is_d, int change) {
  const std::size_t first = index_of(registers);
  if (first >= registers_.size()) return;
  lowest_ever_ = std::min(lowest_ever_, first);
  for (std::size_t i = first; i < std::min(first + count, registers_.size()); ++i) {
    std::uint16_t& products = is_d ? registers_[i].in_flight_d : registers_[i].in_flight_a;
    products = std::uint16_t(products + change);
  }
}

}  // namespace lab::cpu
