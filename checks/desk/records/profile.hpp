// One launch under Nsight Compute: the metrics that the notes name, each with a sentence of diagnosis, and schema
// profile-1.
//
// NVTX ranges are left out: they mark the host's time, and a fused kernel's phases all lie inside one launch. Ranges
// inside it would need clock reads and stores, which cost registers and issue slots also when they are not read.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/shape.hpp"

namespace lab::desk {

struct ProfileRow {
  std::string what, value, diagnosis;
};
struct Profile {
  std::string kernel;  // without namespace and arguments: "attention<64, 2>"
  std::vector<std::pair<std::string, double>>
      metrics;  // in the order of the CSV; times in microseconds, bytes in bytes
  std::vector<std::pair<std::string, double>> opcodes;  // warp instructions executed of each: "BAR", "HGMMA"
  std::optional<double> metric(const std::string& name) const;
};

// What `ncu --csv` printed, its own remarks included. Throws BadInput if no kernel is in it.
Profile read_profile(const std::string& csv);

// The verdict of the metrics on a kernel that ran on `shape`.
std::vector<ProfileRow> diagnose(const Profile& profile, const Shape& shape);

// The facts beside the figures: of the run, not of the kernel.
struct ProfileFacts {
  std::string stage, shape, date, commit, gpu, driver, ncu;
};
std::string profile_table(const ProfileFacts& facts, const Profile& profile, const std::vector<ProfileRow>& rows);
std::string profile_json(const ProfileFacts& facts, const Profile& profile, const std::vector<ProfileRow>& rows);

// --metrics and --kernel-name of ncu.
std::string profile_metrics();

}  // namespace lab::desk
