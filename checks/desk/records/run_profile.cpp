// desk-records profile: Nsight Compute on one launch of one stage. The clocks are left alone.
#include <algorithm>
#include <cstdio>

#include "checks/bench/bench_samples.hpp"
#include "checks/desk/desk.hpp"
#include "checks/desk/process.hpp"
#include "checks/desk/records/labs.hpp"
#include "checks/desk/records/machine.hpp"
#include "checks/desk/records/profile.hpp"

namespace lab::desk {
namespace {

// A log's reason for having no figures.
std::string reason(const std::string& log) {
  const auto lines = lines_of(log);
  for (const std::string& line : lines)
    if (line.find("ERROR") != line.npos || line.find("error") != line.npos) return line;
  return lines.empty() ? "it printed nothing" : lines.back();
}

std::string ncu_version() {
  for (const std::string& line : lines_of(capture({"ncu", "--version"}).out))
    if (line.starts_with("Version ")) return line.substr(8);
  return "";
}

}  // namespace

int profile_command(const Args& args) {
  const std::string &lab = args[0], &word = args[1], stage = stage_of(lab);
  const auto shape = shape_of(word);
  if (!shape || (shape->D != 64 && shape->D != 128))
    throw BadInput("shape=" + word + ": not B,H,S,D[,causal] with D 64 or 128");
  if (capture({"ncu", "--version"}).status != 0)
    throw BadInput("make profile needs Nsight Compute (ncu), which is not on the PATH");
  std::string json = args.size() > 2 ? args[2] : "";
  if (json.empty()) {
    json = "writeups/results/profile-" + stage + "-" + word + ".json";
    std::ranges::replace(json, ',', '-');
  }
  std::vector<std::string> command = {"ncu",
                                      "--clock-control",
                                      "none",
                                      "--csv",
                                      "--kernel-name",
                                      "regex:attention",
                                      "--launch-count",
                                      "1",
                                      "--metrics",
                                      profile_metrics(),
                                      "--print-metric-instances",
                                      "details",
                                      lab,
                                      "once"};
  for (const int extent : {shape->B, shape->H, shape->S, shape->D}) command.push_back(std::to_string(extent));
  command.push_back(shape->causal ? "1" : "0");
  command.push_back("100");  // seconds that the launch may take, for ncu repeats it
  const Ran ran = capture(command);
  write_text("build/profile-" + stage + ".csv", ran.out + ran.err);
  if (ran.status != 0) throw BadInput("ncu failed: " + reason(ran.out + ran.err));
  if (ran.out.find("\"Metric Name\"") == std::string::npos)
    throw BadInput("ncu saw no kernel: " + reason(ran.out + ran.err));
  const Profile profile = read_profile(ran.out);
  const auto rows = diagnose(profile, *shape);
  const ProfileFacts facts{stage,        word, utc_time(), commit(), gpu_field("name"), gpu_field("driver_version"),
                           ncu_version()};
  std::fputs(profile_table(facts, profile, rows).c_str(), stdout);
  write_text(json, profile_json(facts, profile, rows));
  std::printf("kept as %s\n", json.c_str());
  return 0;
}

}  // namespace lab::desk
