// A candidate's fitness: built, judged by the referee, and timed on a GPU; without one, a model stands for the
// time.
#pragma once
#include <string>
#include <vector>

#include "checks/desk/evolve/elite.hpp"

namespace lab::desk {

// Copies nvcc's log into the candidate; a verdict "broken" or "too large" where it says that this is none.
void read_build_log(Candidate& candidate, const std::string& log, bool built);

// What `judge` printed and how it ended, into the candidate.
void read_judge(Candidate& candidate, const std::string& out, int status, bool timed_out);

// Whether it is refused, and by a safeguard among `predicted`: "oracle, canaries or stream".
bool caught_as_predicted(const Candidate& candidate, const std::string& predicted);

// Microseconds of the shape: the floor of `counters`, by what the CPU execution of `program`, a candidate's judge,
// counted. Nothing is measured.
double model_of(const std::string& program, const std::string& shape, const std::string& scratch);

}  // namespace lab::desk
