// The operands of one wgmma: which 16-byte chunks of shared memory they lie in, and what is in them. Knows nothing of
// blocks or threads.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/emulator/tensor_core.hpp"
#include "common/wgmma_layout.hpp"

namespace lab::cpu {

inline constexpr std::size_t CHUNK = 16;  // bytes; what addresses in a descriptor are multiples of
inline constexpr int CHUNK_HALVES = 8;

// Window addresses of the 2 n chunks of an operand with 16 k and n rows (A) or columns (B): k innermost: chunk 2 mn + k / 8;
// else chunk n / 8 k + mn / 8.
void find_chunks(const wgmma_layout::Matrix& matrix, bool mn_major, int n, std::vector<std::uint32_t>& chunks);

// The 16 x n matrix B.
class WgmmaB {
 public:
  void find(const wgmma_layout::Matrix& b, bool mn_major, int n);
  const std::vector<std::uint32_t>& chunks() const { return chunks_; }
  // Reads the chunks; window[address] is the byte at a window address. Converts them unless they are what they were.
  void read(const std::byte* window);
  const MmaB& tile(int i) const { return tiles_[i]; }  // columns 8 i .. 8 i + 7

 private:
  void convert();

  int n_ = 0;
  bool mn_major_ = false, converted_ = false;
  std::vector<std::uint32_t> chunks_;
  std::vector<std::array<std::uint16_t, CHUNK_HALVES>> bits_;
  std::vector<MmaB> tiles_;
};

}  // namespace lab::cpu
