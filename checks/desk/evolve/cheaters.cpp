// desk-records cheaters: the referee must refuse every cheater, with the safeguard that its patch predicts, and pass the
// kernel that they are made from.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "checks/desk/desk.hpp"
#include "checks/desk/evolve/fitness.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/patch.hpp"
#include "checks/desk/pieces.hpp"
#include "checks/desk/process.hpp"
#include "reference/bad_input.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

const std::string CHEATERS = "checks/evolve/cheaters", HONEST = "honest";
const std::string SHAPE = "1,2,96,64";
constexpr int SECONDS = 60;

}  // namespace

bool caught_as_predicted(const Candidate& c, const std::string& predicted) {
  const std::string safeguard = c.reason.substr(0, c.reason.find(": "));
  if (c.verdict.empty() || safeguard.size() == c.reason.size()) return false;
  std::string list = predicted;
  for (const std::string& between : {std::string(" or "), std::string(", ")})
    for (std::size_t at; (at = list.find(between)) != list.npos;) list.replace(at, between.size(), "|");
  return ("|" + list + "|").find("|" + safeguard + "|") != list.npos;
}

int cheaters_command(const Args& args) {
  std::vector<std::pair<std::string, std::string>> all = {{HONEST, ""}};  // name, safeguards
  std::string stage;
  for (const auto& entry : fs::directory_iterator(CHEATERS)) {
    const Patch patch = read_patch(entry.path().string());
    stage = fs::path(patch.source).parent_path().filename();
    all.emplace_back(entry.path().stem(), patch.predicted);
  }
  std::sort(all.begin() + 1, all.end());
  const auto dir = [&](const std::string& name) { return "build/" + args[1] + "/" + stage + "/evolve-" + name; };
  std::string names;
  for (const auto& [name, predicted] : all) {
    const std::string kernel = kernel_path(stage), text = read_text(kernel);
    write_if_changed(dir(name) + "/source.cu",
                     name == HONEST ? "#line 1 \"" + kernel + "\"\n" + text
                                    : patched_for_compiler(read_patch(CHEATERS + "/" + name + ".patch"), text));
    names += (names.empty() ? "" : " ") + name;
  }
  run({args[0], "-s", "-k", "backend=" + args[1], "stage=" + stage, "only=" + names, "evolve-labs"},
      "build/logs/evolve-cheaters.log");
  Counts counts;
  for (const auto& [name, predicted] : all) {
    Candidate c;
    const std::string log = dir(name) + "/judge.log";
    if (!fs::exists(dir(name) + "/judge")) {
      c.verdict = "broken", c.reason = "does not build, see " + dir(name) + "/kernel.log";
    } else {
      const Ended ended = run_limited({dir(name) + "/judge", "judge", "shape=" + SHAPE}, log, SECONDS);
      read_judge(c, read_text(log), ended.status, ended.timed_out);
    }
    const bool good = name == HONEST ? c.verdict.empty() && c.right == true : caught_as_predicted(c, predicted);
    ++(good ? counts.passed : counts.failed);
    std::printf("%-18s %s%s\n", name.c_str(), c.verdict.empty() ? "passes" : ("refused, " + c.reason).c_str(),
                good ? "" : ("; WANTED: " + (name == HONEST ? "passes" : predicted)).c_str());
  }
  std::printf("%s\n", total_line(counts).c_str());
  return counts.failed == 0 ? 0 : 1;
}

}  // namespace lab::desk
