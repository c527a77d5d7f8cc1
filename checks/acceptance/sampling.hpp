// Which blocks of a launch run: all, or a sample; and which instances of its kernel a stage launches. Nothing is asked of a stage
// but its launches, which are made dry: their grids and kernels are recorded, and no block runs.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/launch.hpp"

namespace lab {

// The launch of a call, in clusters, which are blocks mostly.
struct Grid {
  std::uint32_t units = 0, blocks_per_unit = 1;
  // Some units give what they give among all: a launch alone, and no workspace, or a sample has shown it.
  bool independent = false;
  const void* kernel = nullptr;
  bool operator==(const Grid&) const = default;
  // ExecOptions::blocks, of each cluster its first; empty for all.
  std::vector<std::uint32_t> blocks(const std::vector<std::uint32_t>& some) const;
};
Grid grid_of(const Subject& subject, const Shape& shape, int multiprocessors = 0);

// The cost of a unit: 1 is 64 rows at S=2048, D=64, which take 40 ms (v1) to 90 ms (v2b) of a core on the CPU.
double unit_cost(const Shape& shape, const Grid& grid);

struct Sample {
  std::vector<std::uint32_t> checked, repeated;  // units, ascending; the second are some of the first
};
// Whether a case of the forward pass is repeated under all schedules: the notes' always. Else it is under one, the next case under the next.
inline bool all_runs(const Case& test, const AcceptanceOptions& options) {
  if (test.group == Group::notes || options.full) return true;
  return options.quick && test.group != Group::instances;
}
Sample sample_of(const Subject& subject, const Case& test, const Grid& grid, const AcceptanceOptions& options);
// The units of Group::far that take the last head; none where neither end of a grid does.
std::vector<std::uint32_t> units_of_last_head(const Subject& subject, const Grid& grid, const Shape& shape);

// In units of unit_cost: for the progress line, and for quick=1, which runs the cheapest first.
double case_cost(const Subject& subject, const Case& test, const AcceptanceOptions& options);

// --- instances ------------------------------------------------------------------------------------------------
// A kernel treats tiles that lie past the end and tiles under the mask in code of their own.
struct Use {
  const void* kernel = nullptr;
  bool causal = false, ragged = false;
  auto operator<=>(const Use&) const = default;
};
struct UseProblem {
  Shape shape;
  int multiprocessors = 0;  // 0 where the launcher does not count them
};
// The cheapest problem for each use, of lengths up to 1152, one head or enough to fill an H200, and one multiprocessor
// or 132. A use that is not listed is one that the launcher does not choose for any of them.
std::map<Use, UseProblem> use_problems(const Subject& subject);
// The cases that a stage needs besides, so that each instance that its launcher chooses runs, on a length that its tiles
// divide and on one that they don't, causal and not.
std::vector<Case> instance_cases(const Subject& subject, const std::vector<Case>& others, std::uint64_t seed);
// A line for each kernel in the library that no launch of `cases` uses.
std::vector<std::string> left_out(const Subject& subject, const std::vector<Case>& cases);
// "attention<64, 2>", by the library's symbols.
std::string kernel_name(const void* kernel);

// "" where at four small shapes every element is written by one unit, each unit run alone; else the first that is not.
std::string not_written_once(const Subject& subject);

}  // namespace lab
