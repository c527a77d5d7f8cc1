// lab layouts: where things lie, for the figures: the elements of matrix fragments among the lanes of a warp, and the
// rows of a padded array among the banks of shared memory, wgmma's registers and descriptors, the swizzle by address
// bits. The same from every stage's binary. With array=, the banks of the 32 rows that this stage's first ldmatrix.x4
// reads of that array, as its kernel asks for them.
#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/bugs/fingerprint.hpp"
#include "checks/commands.hpp"
#include "checks/pages/banks.hpp"
#include "common/hopper/descriptors.cuh"
#include "common/hopper/swizzle.cuh"
#include "common/mma_layout.hpp"
#include "common/wgmma_layout.hpp"
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

// `"turns": .., "least": .., "bank": [..], "turn": [..]`.
std::string served(const banks::Access& a) {
  std::string bank, turn;
  for (int lane = 0; lane < banks::LANES; ++lane) {
    bank += format("%s%d", lane ? ", " : "", a.bank[lane]);
    turn += format("%s%d", lane ? ", " : "", a.turn[lane]);
  }
  return format("\"turns\": %d, \"least\": %d,\n     \"bank\": [%s],\n     \"turn\": [%s]", a.turns, a.least,
                bank.c_str(), turn.c_str());
}

std::string bank_access(int pitch, int bytes) {
  return format("    {\"pitch\": %d, \"bytes\": %d, ", pitch, bytes) + served(banks::down_a_column(pitch, bytes)) + "}";
}

std::string list(int count, auto value) {
  std::string text;
  for (int i = 0; i < count; ++i) text += format("%s%u", i ? ", " : "", unsigned(value(i)));
  return "[" + text + "]";
}

// [thread][element] -> row · 16 + column: 16 columns of D, and the A of registers.
std::string warpgroup_registers() {
  constexpr int THREADS = 128, ELEMENTS = 8, COLUMNS = 16;
  const auto held_by_all = [](auto place) {
    std::string text;
    for (int thread = 0; thread < THREADS; ++thread)
      text += (thread ? ",\n      " : "\n      ") + list(ELEMENTS, [&](int i) {
                const wgmma_layout::Place at = place(thread, i);
                return at.row * COLUMNS + at.column;
              });
    return "[" + text + "]";
  };
  return format("  \"warpgroup\": {\"rows\": %d, \"columns\": %d,\n    \"d\": ", wgmma_layout::M, COLUMNS) +
         held_by_all(wgmma_layout::d) + ",\n    \"a\": " + held_by_all(wgmma_layout::a) + "}";
}

// A tile of 64 rows and 128 columns at address 0, as K and V lie in it: the descriptor's fields, where it starts for
// each product (advanced by `step`), and [row][chunk of 8 columns] -> place in units of 16 bytes.
std::string descriptor(const char* name, bool mn_major, ptx::Descriptor tile, int products, auto advanced) {
  constexpr int COLUMNS = 128, SHOWN = 16;
  const wgmma_layout::Matrix fields(tile);
  const auto place = [&](int row, int chunk) {
    const int k = mn_major ? row : 8 * chunk, mn = mn_major ? 8 * chunk : row;
    const wgmma_layout::Matrix matrix(advanced(tile, k / WGMMA_K));
    return wgmma_layout::address_of(matrix, mn_major, mn, k % WGMMA_K) / 16;
  };
  std::string places;
  for (int row = 0; row < SHOWN; ++row)
    places += (row ? ",\n      " : "\n      ") + list(COLUMNS / 8, [&](int chunk) { return place(row, chunk); });
  return format("    {\"name\": \"%s\", \"leading\": %u, \"stride\": %u, \"swizzle\": %u, \"starts\": ", name,
                fields.leading, fields.stride, fields.swizzle) +
         list(products, [&](int i) { return wgmma_layout::Matrix(advanced(tile, i)).address; }) +
         ",\n     \"places\": [" + places + "]}";
}

std::string descriptors() {
  constexpr int ROWS = 64, COLUMNS = 128;
  constexpr std::uint32_t START = 0;
  return format("  \"descriptors\": {\"rows\": %d, \"columns\": %d, \"of\": [\n", ROWS, COLUMNS) +
         descriptor("k_major", false, k_major_descriptor(START), COLUMNS / WGMMA_K, advance_k<ROWS>) + ",\n" +
         descriptor("mn_major", true, mn_major_descriptor<ROWS>(START), ROWS / WGMMA_K, advance_keys) + "\n  ]}";
}

// What each bit of a row and of a column adds, by XOR, to the byte address in an array of 64 halves per row.
std::string swizzle_bits() {
  constexpr int BITS = 6;
  return "  \"swizzle_bits\": {\"row\": " + list(BITS, [](int i) { return swizzled<SLAB>(1 << i, 0) * 2; }) +
         ", \"column\": " + list(BITS, [](int i) { return swizzled<SLAB>(0, 1 << i) * 2; }) + "}";
}

// The 32 rows of 16 bytes of the first ldmatrix.x4 by which warp 0 reads `array`. Its rows are told one after another.
class FirstLdmatrix final : public ExecWatcher {
 public:
  explicit FirstLdmatrix(std::string array) : array_(std::move(array)) {}
  void see(const ExecEvent& e) override {
    if (rows.size() == banks::LANES) return;
    const bool next = e.kind == ExecEvent::Kind::read && e.warp == 0 && e.lane == int(rows.size()) && e.bytes == 16 &&
                      array_ == e.array && (rows.empty() || e.line == rows[0].line);
    if (next)
      rows.push_back(e);
    else
      rows.clear();
  }
  std::vector<ExecEvent> rows;

 private:
  std::string array_;
};

// Where the kernel reads, and where the same rows and columns would lie at a pitch of D + 8 and of D halves.
std::string ldmatrix_banks(const Shape& shape, const std::string& name) {
  const LaunchPlan plan = stage().plan(shape);
  const auto array = std::ranges::find(plan.arrays, name, &SharedArray::name);
  if (array == plan.arrays.end()) {
    std::string known;
    for (const SharedArray& a : plan.arrays) known += " " + a.name;
    throw BadInput("array=: the plan has no array '" + name + "'; it has" + known);
  }
  if (!can_check()) throw BadInput("this binary is not instrumented: array= wants a checked or a bug build on the CPU");
  FirstLdmatrix first(name);
  ExecOptions options;
  options.check = true, options.workers = 1, options.watcher = &first, options.blocks = {0};
  if (const Trial t = run_trial(shape, Family::unit, options); !t.ok())
    throw std::runtime_error("the launch failed: " + t.message);
  if (first.rows.size() != banks::LANES) throw BadInput(name + " is not read by ldmatrix.x4");
  std::array<int, banks::LANES> seen{}, padded{}, plain{};
  std::string rows, columns;
  for (int lane = 0; lane < banks::LANES; ++lane) {
    const ExecEvent& e = first.rows[lane];
    // Matrix i becomes register i of two B operands of two registers each; a register's rows are neighbours in k.
    const int column = mma_layout::b(0, 2 * (lane / 8 % 2)).row;
    seen[lane] = e.row * array->pitch * 2 + e.byte;
    padded[lane] = (e.row * (shape.D + 8) + column) * 2;
    plain[lane] = (e.row * shape.D + column) * 2;
    rows += format("%s%d", lane ? ", " : "", e.row);
    columns += format("%s%d", lane ? ", " : "", column);
  }
  const auto one = [&](const char* how, int pitch, const std::array<int, banks::LANES>& address) {
    return format("    {\"how\": \"%s\", \"pitch\": %d, ", how, pitch) + served(banks::access(address, 16)) + "}";
  };
  return format("{\n  \"schema\": \"ldmatrix-1\", \"stage\": \"%s\", \"shape\": \"%s\", \"array\": \"%s\",\n",
                stage_name(), text(shape).c_str(), name.c_str()) +
         "  \"rows\": [" + rows + "],\n  \"columns\": [" + columns + "],\n  \"banks\": [\n" +
         one("plain", shape.D, plain) + ",\n" + one("padded", shape.D + 8, padded) + ",\n" +
         one("kernel", array->pitch, seen) + "\n  ]\n}\n";
}

}  // namespace

int layouts_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "array"};
  const KeyValues words(args, KEYS);
  if (const auto array = words.get("array")) {
    std::fputs(ldmatrix_banks(one_shape(words.require("shape")), std::string(*array)).c_str(), stdout);
    return 0;
  }
  if (words.get("shape")) throw BadInput("layouts: shape= goes with array=");
  namespace wmma = wmma_layout;
  namespace mma = mma_layout;
  std::string text = "{\n  \"schema\": \"layouts-1\", \"command\": \"lab layouts\",\n  \"fragments\": [\n";
  text += fragment("wmma_a", "WMMA matrix_a, row-major: A(r,c)", 16, 16, 8,
                   [](int lane, int i) { return int(wmma::A_ROW_HELD[lane][i]); }) +
          ",\n";
  text += fragment("wmma_b", "WMMA matrix_b, col-major: B(k,n)", 16, 16, 8,
                   [](int lane, int i) { return int(wmma::B_HELD[lane][i]); }) +
          ",\n";
  text += fragment("wmma_acc", "WMMA accumulator: C(r,c)", 16, 16, 8,
                   [](int lane, int i) { return int(wmma::ACC_HELD[lane][i]); }) +
          ",\n";
  text += fragment("mma_a", "mma.m16n8k16 A(r,k)", 16, 16, mma::A_ELEMENTS, held<mma::a, 16>) + ",\n";
  text += fragment("mma_b", "mma.m16n8k16 B(k,n)", 16, 8, mma::B_ELEMENTS, held<mma::b, 8>) + ",\n";
  text +=
      fragment("mma_c", "mma.m16n8k16 C(r,n)", 16, 8, mma::C_ELEMENTS, held<mma::c, 8>) + "\n  ],\n  \"banks\": [\n";
  text += bank_access(64, 4) + ",\n" + bank_access(72, 4) + ",\n" + bank_access(64, 16) + ",\n" + bank_access(72, 16);
  text += "\n  ],\n" + warpgroup_registers() + ",\n" + descriptors() + ",\n" + swizzle_bits();
  std::printf("%s\n}\n", text.c_str());
  return 0;
}

}  // namespace lab
