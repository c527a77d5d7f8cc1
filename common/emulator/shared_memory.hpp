// A block's shared memory on the CPU: exactly the bytes that were asked for, between two guards, filled with a
// pattern that is NaN as fp16 and as fp32, and the list of arrays in it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lab::cpu {

struct CarvedArray {
  const char* name;
  std::size_t element;                // bytes
  int rows, pitch;                    // pitch in elements
  std::size_t offset;                 // of the first byte, in the arena
  std::size_t bytes;                  // nominal, as the budget counts them
  std::size_t granted;                // those of them that lie inside the request
  const void* declaration = nullptr;  // by which it is known
  const int* extents = nullptr;       // of each dimension, where it has more than rows and pitch say
  int rank = 0;
};

class SharedMemory {
 public:
  static constexpr unsigned char POISON = 0xFF;  // 0xFFFF and 0xFFFFFFFF are NaN
  static constexpr std::size_t GUARD = 64 * 1024;
  static constexpr std::size_t STATIC_LIMIT = 48 * 1024;
  static constexpr std::size_t LARGEST = 232448;  // 227 KiB: the most any target gives a block
  static constexpr std::size_t GAP_SPACE = 128 * 1024;
  // Shared addresses, as a matrix descriptor holds them: 18 bits. The dynamic part starts behind the 1 KiB that sm_90
  // keeps for itself.
  static constexpr std::size_t WINDOW = 256 * 1024, WINDOW_START = 1024;

  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Poisons everything for a new block that asked for `dynamic_bytes`. With `gaps`, each array is followed by at
  // least 16 unused rows.
  void reset(std::size_t dynamic_bytes, bool gaps);

  // A variable of the window, behind the dynamic part; and that part itself, as one array.
  void* place_variable(const void* declaration, CarvedArray array, std::size_t align);
  void* place_request(const char* name, std::size_t element);
  // A member of a struct that the dynamic part is read as.
  void name_member(const void* at, CarvedArray array);
  // The array that this byte belongs to; null outside of all.
  const CarvedArray* array_at(std::size_t offset) const;

  // Takes over the arrays that another block of the launch has used so far; calls each(array) for every new one.
  template <class Each>
  void adopt(const SharedMemory& other, Each each) {
    if (other.arrays_.size() <= arrays_.size()) return;
    for (std::size_t i = arrays_.size(); i < other.arrays_.size(); ++i) {
      arrays_.push_back(other.arrays_[i]);
      each(arrays_.back());
    }
    next_ = other.next_;
  }

  bool contains(const void* address) const {
    const auto* byte = static_cast<const std::byte*>(address);
    return byte >= arena_ && byte < arena_ + ARENA;
  }
  std::size_t offset(const void* address) const { return std::size_t(static_cast<const std::byte*>(address) - arena_); }
  // Of an address in the dynamic part: its place in the window. Gaps end where the window does.
  std::size_t window_address(const void* address) const { return offset(address) - DYNAMIC + WINDOW_START; }
  // The window addresses of the block's dynamic part end here.
  std::size_t window_end() const { return next_ - DYNAMIC + WINDOW_START; }
  std::size_t offset_of_window(std::size_t address) const { return address - WINDOW_START + DYNAMIC; }
  // "S_scores[56][0]", "S_scores[64][0], past its 64 rows", "byte 81412 of a request of 81408".
  std::string describe(std::size_t offset) const;
  // Empty, or what the guards show to have been overwritten outside the request. For runs without the checker.
  std::string broken_guard() const;
  const std::vector<CarvedArray>& arrays() const { return arrays_; }
  std::size_t static_bytes() const { return static_used_; }
  std::byte* base() { return arena_; }

  static constexpr std::size_t DYNAMIC = GUARD;  // where the dynamic part starts
  static constexpr std::size_t ARENA = DYNAMIC + LARGEST + GAP_SPACE + GUARD;

 private:
  std::byte* arena_;
  std::size_t request_ = 0;  // dynamic bytes asked for
  std::size_t next_ = 0;     // arena offset of the next array
  std::size_t static_used_ = 0;
  std::size_t dirty_end_ = ARENA;
  bool gaps_ = false;
  std::vector<CarvedArray> arrays_;
};

}  // namespace lab::cpu
