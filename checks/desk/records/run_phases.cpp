// desk-records phases: a kernel and its parts, timed one after the other.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "checks/bench/bench_samples.hpp"
#include "checks/desk/desk.hpp"
#include "checks/desk/process.hpp"
#include "checks/desk/records/labs.hpp"
#include "checks/desk/records/machine.hpp"
#include "checks/desk/records/phases.hpp"
#include "common/stage_names.hpp"

namespace lab::desk {

int phases_command(const Args& args) {
  const std::string &shape = args[0], stage = stage_of(args[2]);
  if (!shape_of(shape)) throw BadInput("shape=" + shape + ": not B,H,S,D[,causal]");
  std::vector<Part> parts;
  std::map<int, std::string> names;
  Part whole;
  for (std::size_t i = 2; i < args.size(); ++i) {
    const std::string& lab = args[i];
    const std::string variant = std::filesystem::path(lab).parent_path().filename();
    const Ran ran = capture({lab, "phases", "shape=" + shape});
    if (ran.status != 0) throw BadInput(lab + " failed: " + ran.err);
    Part part{variant, "the whole kernel", read_phases_output(ran.out, lab)};
    if (variant == "fixed") {
      whole = part;
      continue;
    }
    const Patch patch = read_patch(patch_path(stage, variant));
    part.what = patch.plants;
    if (!part.seen.stamps.empty()) names = stamp_names(patch);
    parts.push_back(part);
  }
  if (parts.empty()) throw BadInput(stage + " has no parts to time: there is nothing in stages/" + stage + "/phases/");
  parts.push_back(whole);
  const PhasesFacts facts{stage,          shape,      gpu_field("name"), gpu_field("driver_version"),
                          nvcc_release(), utc_time(), commit(),          words_of(gpu_field("clocks.max.sm")).at(0)};
  std::fputs(phases_text(facts, parts, names).c_str(), stdout);
  const std::string json = args[1].empty() ? "writeups/results/phases-" + short_stage_name(stage) + ".json" : args[1];
  write_text(json, phases_json(facts, parts, names));
  std::printf("kept as %s\n", json.c_str());
  return 0;
}

}  // namespace lab::desk
