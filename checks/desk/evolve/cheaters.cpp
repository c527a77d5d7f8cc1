#include "checks/desk/evolve/evolve.hpp"

namespace lab::desk {

// desk-records cheaters: the referee must refuse every cheater, with the safeguard that its patch predicts, and pass the
// kernel that they are made from.

namespace {

const std::string CHEATERS = "checks/evolve/cheaters", HONEST = "honest";
const std::string SHAPE = "1,2,96,64";
constexpr int SECONDS = 60;

}  // namespace

bool caught_as_predicted(const Candidate& c, const std::string& predicted) {
  const std::string safeguard = c.reason.substr(0, c.reason.find(": "));
  if (c.verdict.empty() || safeguard.size() == c.reason.size()) return false;
  const std::vector<std::string> all = split(replaced(predicted, " or ", ", "), ", ");
  return std::ranges::find(all, safeguard) != all.end();
}

int cheaters_command(const Args& args) {
  std::vector<std::pair<std::string, std::string>> all = {{HONEST, ""}};  // name, safeguards
  std::string stage;
  for (const fs::path& path : files_in(CHEATERS, ".patch")) {
    const Patch patch = read_patch(path.string());
    stage = fs::path(patch.source).parent_path().filename();
    all.emplace_back(path.stem(), patch.predicted);
  }
  const auto dir = [&](const std::string& name) { return "build/" + args[1] + "/" + stage + "/evolve-" + name; };
  std::string names;
  for (const auto& [name, predicted] : all) {
    const std::string kernel = kernel_path(stage), text = read_text(kernel);
    write_if_changed(dir(name) + "/source.cu", name == HONEST ? "#line 1 \"" + kernel + "\"\n" + text
                                                              : patched_for_compiler(CHEATERS + "/" + name + ".patch"));
    names += (names.empty() ? "" : " ") + name;
  }
  run({args[0], "-s", "-k", "backend=" + args[1], "stage=" + stage, "only=" + names, "evolve-labs"},
      "build/logs/evolve-cheaters.log");
  Counts counts;
  for (const auto& [name, predicted] : all) {
    Candidate c;
    const std::string log = dir(name) + "/judge.log";
    const std::string kernel = dir(name) + "/kernel.so";
    if (!fs::exists(kernel)) {
      c.verdict = "broken", c.reason = "does not build, see " + dir(name) + "/kernel.log";
    } else {
      const Ended ended = run_limited({runner_of(kernel), kernel, "judge", "shape=" + SHAPE}, log, SECONDS);
      read_judge(c, read_text(log), ended.status, ended.timed_out);
    }
    const bool good = name == HONEST ? c.verdict.empty() && c.right == true : caught_as_predicted(c, predicted);
    counts.add(good);
    std::printf("%-18s %s%s\n", name.c_str(), c.verdict.empty() ? "passes" : ("refused, " + c.reason).c_str(),
                good ? "" : ("; WANTED: " + (name == HONEST ? "passes" : predicted)).c_str());
  }
  return told(counts);
}

}  // namespace lab::desk
