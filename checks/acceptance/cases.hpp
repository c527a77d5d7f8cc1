// Which problems the acceptance poses, of either pass.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checks/acceptance/problem.hpp"
#include "common/backend.hpp"
#include "common/shape.hpp"
#include "reference/inputs.hpp"

namespace lab {

struct AcceptanceOptions {
  bool full = false;         // every block of the large shapes, not a sample
  bool quick = false;        // cheapest cases first, stop at the first red one
  std::size_t cheapest = 0;  // quick, with this number of cases; 0: all of them
  bool once = false;         // each case is launched for the oracle alone, and not repeated: a question, no acceptance
  std::uint64_t seed = 1;
  bool verbose = false;  // the table, not a line for each group
  // Of fuzz: the options of the launch that the oracle checks; it is repeated once, under a different schedule and copies.
  std::optional<ExecOptions> first = {};
};

enum class Group {
  notes,       // the five shapes and inputs of the notes, at their 1e-3
  families,    // the same shapes, inputs that can tell a wrong kernel, the bound
  ragged,      // lengths that no tile divides, odd B and H, the same bound
  scales,      // other scales than 1/sqrt(D)
  amplitudes,  // q and k up to the largest half, v and dO too: a finite input has a finite output, within the same bound
  special,     // one NaN or infinity per head, held to what attention makes of it
  far,         // tensors of more than 2^32 elements: only the last head is touched
  instances,   // small problems for the instances of the kernel that none of these use; the same bound
  overlap,     // launches beside each other (overlap.hpp)
};
inline constexpr int GROUPS = int(Group::overlap) + 1;

struct Case {
  Group group;
  Shape shape;
  Family family;
  std::uint64_t seed;
  std::optional<float> scale = {};  // none: 1 / sqrt(D)
  double amplitude = 1;             // of q and k
  int multiprocessors = 0;          // that the launcher finds (ExecOptions)
  Magnitudes magnitudes = {};       // of a backward case
};
float scale_of(const Case& test);
std::string text(const Shape& shape);  // "(1,8,512,64) causal"
std::string text(const Case& test);    // "unit (1,8,512,64) causal; scale 2, seed 1"
std::string beside(const Case& test);  // of that, what stands between shape and seed
Shape tensors_of(const Case& test);    // Group::far: of its last head
Problem problem_of(const Subject& subject, const Case& test);

// The shapes that the source notes were validated on.
inline constexpr Shape NOTES_SHAPES[] = {{1, 8, 512, 64, false},
                                         {1, 8, 512, 64, true},
                                         {2, 8, 2048, 64, false},
                                         {2, 8, 2048, 64, true},
                                         {2, 8, 2048, 128, false}};
// More heads than a grid may be high or deep. A GPU computes them all; on the CPU the launches are asked for alone.
inline constexpr Shape MANY_HEADS{2, 32768, 2, 64, true};

// In the order of the report; those for instances and overlapping launches come besides (sampling.hpp, overlap.hpp).
std::vector<Case> cases_of(const Subject& subject, const AcceptanceOptions& options);
std::vector<Case> forward_cases(std::uint64_t seed);
// Without `full` the CPU runs the long shapes with a head each.
std::vector<Case> backward_cases(std::uint64_t seed, bool full);

// Sorts by cost, and leaves the `count` cheapest (0: all), and the one whose queries a backward stage may split: it is
// not as cheap.
void leave_cheapest(std::vector<Case>& cases, const std::function<double(const Case&)>& cost, std::size_t count);

}  // namespace lab
