// Where the time of one launch goes: what `lab phases` prints of a kernel and of its parts, in words and as phases-1.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "checks/desk/patch.hpp"

namespace lab::desk {

struct PhasesOutput {
  std::vector<double> us;                       // per launch, a replay each
  std::map<int, std::vector<unsigned>> stamps;  // clocks since the block's stamp 0
};
// Of `lab phases`. `what` is for messages. Throws BadInput.
PhasesOutput read_phases_output(const std::string& text, const std::string& what);

// The names that a patch gives its stamps, in the lines it adds: stamp(3);  // Q is there
std::map<int, std::string> stamp_names(const Patch& patch);

struct Part {
  std::string name;  // "phase-3_copies", or "" for the whole kernel
  std::string what;
  PhasesOutput seen;
};
struct PhasesFacts {
  std::string stage, shape, gpu, driver, cuda, date, commit, clock_mhz;
};

// Parts in their order, the whole kernel last; then the stamps of the one that has any, under `names`.
std::string phases_text(const PhasesFacts& facts, const std::vector<Part>& parts,
                        const std::map<int, std::string>& names);
std::string phases_json(const PhasesFacts& facts, const std::vector<Part>& parts,
                        const std::map<int, std::string>& names);

}  // namespace lab::desk
