// The registers of wgmma, for the checker. On the CPU D and A are arrays on a thread's stack, and a checked kernel
// tells of every access to those; this remembers, for one thread, which of them a product in flight may still write (D)
// or read (A), and where each was last accessed since the thread's last wgmma_fence.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/emulator/zero_pages.hpp"

namespace lab::cpu {

class RegisterWatch {
 public:
  static constexpr std::size_t GRANULE = 4;  // a register

  // The stack to be watched; nothing is in flight, nothing touched.
  void reset(const void* stack, std::size_t bytes);

  // The effect of an access on the products in flight.
  enum class Hit { none, d, a };
  // Call for every access of the thread. True where it lies on the stack and a product in flight owns the place.
  Hit access(const void* address, std::size_t bytes, std::uintptr_t pc) {
    const std::size_t offset = std::size_t(static_cast<const std::byte*>(address) - stack_);
    if (offset >= bytes_ || offset + bytes > bytes_) return Hit::none;
    Hit hit = Hit::none;
    for (std::size_t i = offset / GRANULE; i <= (offset + bytes - 1) / GRANULE; ++i) {
      Register& known = registers_[i];
      known.touched_pc = std::uint32_t(pc);
      if (known.in_flight_d)
        hit = Hit::d;
      else if (known.in_flight_a)
        hit = Hit::a;
    }
    used(offset / GRANULE);
    return hit;
  }

  // A product is issued, or has been waited for.
  void issued(const void* registers, std::size_t count, bool is_d) { count_in(registers, count, is_d, 1); }
  void done(const void* registers, std::size_t count, bool is_d) { count_in(registers, count, is_d, -1); }

  void fence();
  // Where one of them was last touched since the fence; 0: nowhere.
  std::uintptr_t touched(const void* registers, std::size_t count) const;

 private:
  struct Register {
    std::uint32_t touched_pc = 0;
    std::uint16_t in_flight_d = 0, in_flight_a = 0;  // products
  };
  void count_in(const void* registers, std::size_t count, bool is_d, int change);
  std::size_t index_of(const void* registers) const {
    return std::size_t(static_cast<const std::byte*>(registers) - stack_) / GRANULE;
  }

  void used(std::size_t index) {
    if (index < lowest_) lowest_ = index;
    if (index < lowest_ever_) lowest_ever_ = index;
  }

  const std::byte* stack_ = nullptr;
  std::size_t bytes_ = 0;
  // No register below was touched since the fence, or used since the reset: stacks grow downwards.
  std::size_t lowest_ = 0, lowest_ever_ = 0;
  std::vector<Register, ZeroPages<Register>> registers_;  // hundreds of KB for each thread
};

}  // namespace lab::cpu
