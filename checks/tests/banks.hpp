// Shared memory has 32 banks of 4 bytes. Lanes that want different words of one bank are served one after the other;
// lanes that want the same word are served together. Accesses of 8 and 16 bytes are served for 16 and 8 lanes at a
// time, so that a turn never wants more than 128 bytes. Source: the CUDA programming guide for the banks; that wide
// accesses go by halves and quarters of a warp is what NVIDIA's engineers say and what measured conflicts fit.
#pragma once
#include <array>

namespace lab::banks {

inline constexpr int BANKS = 32, BANK_BYTES = 4, LANES = 32;

struct Access {
  std::array<int, LANES> bank;  // the first bank that each lane touches
  std::array<int, LANES> turn;  // in which turn each lane is served, from 0
  int turns = 0;                // wavefronts for the warp's access
  int least = 0;                // as many as there would be without conflicts
};

// One load or store of `bytes` (4, 8 or 16) per lane at byte addresses `address`, each a multiple of `bytes`.
constexpr Access access(const std::array<int, LANES>& address, int bytes) {
  Access result{};
  const int together = LANES * BANK_BYTES / bytes;  // lanes that are served at a time
  for (int first = 0; first < LANES; first += together) {
    // words[bank]: the different words that these lanes want of it
    std::array<std::array<int, LANES>, BANKS> words{};
    std::array<int, BANKS> count{};
    int turns = 1;
    for (int lane = first; lane < first + together; ++lane) {
      const int first_word = address[lane] / BANK_BYTES;
      result.bank[lane] = first_word % BANKS;
      int turn = 0;
      for (int word = first_word; word < first_word + bytes / BANK_BYTES; ++word) {
        const int bank = word % BANKS;
        int at = 0;
        while (at < count[bank] && words[bank][at] != word) ++at;
        if (at == count[bank]) words[bank][count[bank]++] = word;
        turn = at > turn ? at : turn;
      }
      result.turn[lane] = result.turns + turn;
      turns = turn + 1 > turns ? turn + 1 : turns;
    }
    result.turns += turns;
    ++result.least;
  }
  return result;
}

// Lane l takes `bytes` at column 0 of row l (rows of `pitch` halves).
constexpr Access down_a_column(int pitch, int bytes) {
  std::array<int, LANES> address{};
  for (int lane = 0; lane < LANES; ++lane) address[lane] = lane * pitch * 2;
  return access(address, bytes);
}

}  // namespace lab::banks
