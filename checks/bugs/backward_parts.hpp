// Parts of a signature (checks/bugs/signature.hpp) of a backward stage's bug.
#pragma once
#include <string>
#include <vector>

#include "checks/acceptance/backward_bound.hpp"
#include "checks/bugs/signature.hpp"

namespace lab {

// A launch on unit inputs, and the right gradients of them.
struct Look {
  Trial trial;
  std::vector<Expected> right;  // by Gradient
  std::string title() const;    // "unit inputs, (1,2,100,64) causal"
};
Look look_at(const Shape& shape, Family family = Family::unit);

// The gradients that come of pairs changed by `change`: P, dP and dS of a head are its to rewrite.
Gradients backward_after(const Look& look, const ChangePairs& change);

enum class Gradient { dq, dk, dv };
// This gradient equals `predicted`, which is at least 100 times the notes' 1e-3 from the right one somewhere.
Part equals_prediction(const Look& look, Gradient which, const Gradients& predicted, const std::string& formula);
// This gradient is right, with the bug and without.
Part still_right(const Look& look, Gradient which);
// This gradient is NaN where `where` holds for row and column, and nowhere else.
Part nan_exactly(const Look& look, Gradient which, const Where& where, const std::string& rule);
// The CPU checker reports `kind` under some order of blocks, and the report quotes `piece` of a line.
Part checker_reports(const Shape& shape, Finding::Kind kind, const std::string& piece);
// dQ has other bits in another order of blocks.
Part bits_differ(const Shape& shape);
// A launch ends as a deadlock, and its message has `piece`. A GPU is not asked: it would wait for ever.
Part deadlocks(const Shape& shape, const std::string& piece);

}  // namespace lab
