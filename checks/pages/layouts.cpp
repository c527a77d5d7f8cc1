// lab layouts: where things lie, for the figures: the elements of matrix fragments among the lanes of a warp, and the
// rows of a padded array among the banks of shared memory. The same from every stage's binary.
#include <cstdio>
#include <string>

#include "checks/acceptance/format.hpp"
#include "checks/commands.hpp"
#include "checks/pages/banks.hpp"
#include "common/mma_layout.hpp"
#include "common/wmma_layout.hpp"

namespace lab {
namespace {

// [row][column] -> [lane, element], for the figure's cells.
template <class Held>
std::string fragment(const char* name, const char* title, int rows, int columns, int elements, Held held) {
  std::string text = format("    {\"name\": \"%s\", \"title\": \"%s\", \"rows\": %d, \"columns\": %d, \"held\": [",
                            name, title, rows, columns);
  for (int lane = 0; lane < 32; ++lane) {
    text += lane ? ",\n      [" : "\n      [";
    for (int i = 0; i < elements; ++i) text += format("%s%d", i ? ", " : "", held(lane, i));
    text += "]";
  }
  return text + "]}";
}

// [lane][element] -> row · columns + column, from the PTX layouts.
template <auto place, int columns>
constexpr int held(int lane, int element) {
  const mma_layout::Place at = place(lane, element);
  return columns * at.row + at.column;
}

std::string bank_access(int pitch, int bytes) {
  const banks::Access a = banks::down_a_column(pitch, bytes);
  std::string bank, turn;
  for (int lane = 0; lane < banks::LANES; ++lane) {
    bank += format("%s%d", lane ? ", " : "", a.bank[lane]);
    turn += format("%s%d", lane ? ", " : "", a.turn[lane]);
  }
  return format(
      "    {\"pitch\": %d, \"bytes\": %d, \"turns\": %d, \"least\": %d,\n     \"bank\": [%s],\n     \"turn\": [%s]}",
      pitch, bytes, a.turns, a.least, bank.c_str(), turn.c_str());
}

}  // namespace

int layouts_command(std::span<char*> args) {
  if (!args.empty()) throw BadInput("layouts takes no arguments");
  namespace wmma = wmma_layout;
  namespace mma = mma_layout;
  std::string text = "{\n  \"schema\": \"layouts-1\", \"command\": \"lab layouts\",\n  \"fragments\": [\n";
  text += fragment("wmma_a", "WMMA matrix_a, row-major: A(r,c)", 16, 16, 8,
                   [](int lane, int i) { return int(wmma::A_ROW_HELD[lane][i]); }) +
          ",\n";
  text += fragment("wmma_b", "WMMA matrix_b, col-major: B(k,n)", 16, 16, 8,
                   [](int lane, int i) { return int(wmma::B_COL_HELD[lane][i]); }) +
          ",\n";
  text += fragment("wmma_acc", "WMMA accumulator: C(r,c)", 16, 16, 8,
                   [](int lane, int i) { return int(wmma::ACC_HELD[lane][i]); }) +
          ",\n";
  text += fragment("mma_a", "mma.m16n8k16 A(r,k)", 16, 16, mma::A_ELEMENTS, held<mma::a, 16>) + ",\n";
  text += fragment("mma_b", "mma.m16n8k16 B(k,n)", 16, 8, mma::B_ELEMENTS, held<mma::b, 8>) + ",\n";
  text +=
      fragment("mma_c", "mma.m16n8k16 C(r,n)", 16, 8, mma::C_ELEMENTS, held<mma::c, 8>) + "\n  ],\n  \"banks\": [\n";
  text += bank_access(64, 4) + ",\n" + bank_access(72, 4) + ",\n" + bank_access(64, 16) + ",\n" + bank_access(72, 16);
  std::printf("%s\n  ]\n}\n", text.c_str());
  return 0;
}

}  // namespace lab
