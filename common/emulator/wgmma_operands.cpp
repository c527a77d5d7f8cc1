#include "common/emulator/wgmma_operands.hpp"

#include <cstring>

namespace lab::cpu {

using wgmma_layout::address_of;
using wgmma_layout::K;

void find_chunks(const wgmma_layout::Matrix& matrix, bool mn_major, int n, std::vector<std::uint32_t>& chunks) {
  chunks.clear();
  if (mn_major) {
    for (int k = 0; k < K; ++k)
      for (int mn = 0; mn < n; mn += CHUNK_HALVES) chunks.push_back(address_of(matrix, true, mn, k));
  } else {
    for (int mn = 0; mn < n; ++mn)
      for (int k = 0; k < K; k += CHUNK_HALVES) chunks.push_back(address_of(matrix, false, mn, k));
  }
}

void WgmmaB::find(const wgmma_layout::Matrix& b, bool mn_major, int n) {
  n_ = n, mn_major_ = mn_major, converted_ = false;
  find_chunks(b, mn_major, n, chunks_);
}

void WgmmaB::read(const std::byte* window) {
  bits_.resize(chunks_.size());
  bool same = converted_;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const std::byte* const at = window + chunks_[i];
    same = same && std::memcmp(&bits_[i], at, CHUNK) == 0;
    std::memcpy(&bits_[i], at, CHUNK);
  }
  if (!same) convert();
  converted_ = true;
}

void WgmmaB::convert() {
  tiles_.resize(std::size_t(n_ / 8));
  for (int tile = 0; tile < n_ / 8; ++tile) {
    std::uint16_t bits[K][8];
    for (int k = 0; k < K; ++k) {
      if (mn_major_) {
        std::memcpy(bits[k], &bits_[k * (n_ / 8) + tile], CHUNK);
        continue;
      }
      for (int column = 0; column < 8; ++column) bits[k][column] = bits_[2 * (8 * tile + column) + k / 8][k % 8];
    }
    tiles_[tile].set(bits);
  }
}

}  // namespace lab::cpu
