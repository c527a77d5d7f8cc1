// A block's shared memory on the CPU: exactly the bytes that were asked for, between two guards, filled with a
// pattern that is NaN as fp16 and as fp32, and the list of arrays that a plan carves from it.
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
  const void* declaration = nullptr;  // of a static one
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

  // Poisons everything for a new block that asked for `dynamic_bytes`. With `gaps`, each array of the plan is
  // followed by at least 16 unused rows.
  void reset(std::size_t dynamic_bytes, bool gaps);

  // The plan, array by array, in the order of the kernel's carve. Every thread of a block carves: the first one
  // places an array, the others must ask for the same.
  // `align` is that of the array's address in the window (window_address); 1024 at most.
  void* carve_dynamic(int index, const char* name, std::size_t element, int rows, int pitch, std::size_t bytes,
                      std::size_t align);
  void* carve_static(const void* declaration, const char* name, std::size_t element, int rows, int pitch,
                     std::size_t bytes);

  // Of a kernel in plain CUDA: a variable of the window, behind the dynamic part; and that part itself, as one array.
  void* place_variable(const void* declaration, CarvedArray array, std::size_t align);
  void* place_request(const char* name, std::size_t element);
  // A member of a struct that the dynamic part is read as.
  void name_member(const void* at, CarvedArray array);
  // The array that this byte belongs to; null outside of all.
  const CarvedArray* array_at(std::size_t offset) const;

  // Learns the dynamic arrays of a plan that another block of the launch has carved further; each(array) for the new.
  template <class Each>
  void adopt(const SharedMemory& other, Each each) {
    if (other.dynamic_.size() <= dynamic_.size()) return;
    for (std::size_t i = dynamic_.size(); i < other.dynamic_.size(); ++i) {
      dynamic_.push_back(other.dynamic_[i]);
      each(dynamic_.back());
    }
    nominal_ = other.nominal_, next_ = other.next_;
  }

  bool contains(const void* address) const {
    const auto* byte = static_cast<const std::byte*>(address);
    return byte >= arena_ && byte < arena_ + ARENA;
  }
  std::size_t offset(const void* address) const { return std::size_t(static_cast<const std::byte*>(address) - arena_); }
  // Of an address in the dynamic part: its place in the window. Gaps end where the window does.
  std::size_t window_address(const void* address) const { return offset(address) - DYNAMIC + WINDOW_START; }
  // The window addresses of the block's dynamic part end here.
  std::size_t window_end() const { return (gaps_ || plain_ ? next_ : DYNAMIC + request_) - DYNAMIC + WINDOW_START; }
  std::size_t offset_of_window(std::size_t address) const { return address - WINDOW_START + DYNAMIC; }
  // "S_scores[56][0]", "S_scores[64][0], past its 64 rows", "byte 81412 of a request of 81408".
  std::string describe(std::size_t offset) const;
  // Empty, or what the guards show to have been overwritten outside the request. For runs without the checker.
  std::string broken_guard() const;
  const std::vector<CarvedArray>& dynamic_arrays() const { return dynamic_; }
  const std::vector<CarvedArray>& static_arrays() const { return static_; }
  std::size_t static_bytes() const { return static_used_; }
  std::byte* base() { return arena_; }

  static constexpr std::size_t DYNAMIC = GUARD + STATIC_LIMIT + GUARD;  // where the dynamic part starts
  static constexpr std::size_t ARENA = DYNAMIC + LARGEST + GAP_SPACE + GUARD;

 private:
  void begin_plain();  // variables lie behind the dynamic part
  std::byte* arena_;
  std::size_t request_ = 0;  // dynamic bytes asked for
  std::size_t nominal_ = 0;  // dynamic bytes carved so far, gaps not counted
  std::size_t next_ = 0;     // arena offset of the next array
  std::size_t static_used_ = 0, static_next_ = 0;
  std::size_t dirty_end_ = ARENA;
  bool gaps_ = false, plain_ = false;
  std::vector<CarvedArray> dynamic_, static_;
};

}  // namespace lab::cpu
