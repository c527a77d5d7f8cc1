// lab layouts: where things lie, for the figures: the elements of matrix fragments among the lanes of a warp, and the
// rows of a padded array among the banks of shared memory. The same from every stage's binary. With array=, the banks
// of the 32 rows that this stage's first ldmatrix.x4 reads of that array, as its kernel asks for them.
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
    const std::vector<Shape> shapes = bench_shapes(words.require("shape"));
    if (shapes.size() != 1) throw BadInput("shape= names one shape, such as 1,1,512,64,causal");
    std::fputs(ldmatrix_banks(shapes[0], std::string(*array)).c_str(), stdout);
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
