// How a learner's prediction is judged, and what that looks at: the linked stage, forward or backward.
#pragma once
#include <algorithm>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checks/bugs/trial.hpp"
#include "checks/key_values.hpp"
#include "common/backend.hpp"
#include "common/shape.hpp"
#include "reference/inputs.hpp"

namespace lab {

struct Request {
  std::vector<Shape> shapes;
  Family family = Family::unit;
  ExecOptions options;
  std::string say, seen;
};
// Of shape=, inputs=, copies= and seen=.
Request read_request(const KeyValues& words);

// Of what is asked, how much is right; and what a wrong rule is answered with, a map behind its first line.
struct Score {
  int right = 0, asked = 1;
  std::vector<std::string> near = {};
};

// An output of a launch, a mark for each element: . right, # wrong, N NaN, ~ never written.
struct Marked {
  std::string name;  // dq, dk or dv; "" of the forward pass
  std::string marks;
};

// measure(), once for each shape: of one launch several predictions are judged, and a process has one request.
template <class Measure>
const auto& once(const Shape& shape, Measure measure) {
  static std::deque<std::pair<Shape, decltype(measure())>> known;
  const auto found = std::ranges::find(known, shape, [](const auto& one) { return one.first; });
  return found != known.end() ? found->second : known.emplace_back(shape, measure()).second;
}

struct Sight {
  // A launch that is refused or stops has written nothing that means anything: all is wrong then.
  std::vector<Marked> (*outputs)(const Request& request, const Shape& shape);
  // The checker's findings, under all schedules and both times of copying.
  std::vector<Finding> (*findings)(const Request& request, const Shape& shape);
  // How many different outputs several orders of blocks give.
  long (*different)(const Request& request, const Shape& shape);
  Score (*formula)(const Request& request, const Shape& shape);
  void (*print_formulas)();
};

int predict_with(const Sight& sight, std::span<char*> args);

// Wrong answers to choose from, under names that are no bug's.
struct Formula {
  const char* name;
  const char* says;                                    // in one line
  std::vector<double> (*compute)(const Operands& in);  // [B, H, S, D]; may throw BadInput: not of this shape
};
std::span<const Formula> formulas();
// Throws BadInput with the names.
const Formula& formula_named(const std::string& name);

}  // namespace lab
