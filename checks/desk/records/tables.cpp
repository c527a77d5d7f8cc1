#include <regex>

#include "checks/acceptance/format.hpp"
#include "checks/desk/records/records.hpp"

namespace lab::desk {
namespace {

std::string cut(const std::string& text, const char* pattern) {
  return std::regex_replace(text, std::regex(pattern), "", std::regex_constants::format_first_only);
}

bool is_known(const std::string& verdict) {
  constexpr std::string_view KNOWN[] = {"pass", "fail", "refused", "hangs", "stops"};
  return std::ranges::find(KNOWN, verdict) != std::end(KNOWN);
}

std::string painted(const std::string& verdict) {
  return verdict == "pass" || verdict == "refused" ? verdict : "**" + verdict + "**";
}

// The answers of one kind of inputs, in words.
std::string verdict(const std::array<Blindness::Answer, 2>& answers) {
  const std::string &plain = answers[0].verdict, &causal = answers[1].verdict;
  if (plain == causal) return painted(plain);
  if (causal == "pass") return painted(plain) + " if not causal";
  return (plain == "pass" ? "" : painted(plain) + ", ") + painted(causal) + " if causal";
}

std::string blindness_cell(const Blindness::Answer& answer) {
  if (answer.largest == "-") return painted(answer.verdict);
  const std::string largest =
      answer.largest == "NaN" ? answer.largest : format("%.1e", std::strtod(answer.largest.c_str(), nullptr));
  return (answer.verdict == "pass" ? "pass, " : "**fail**, ") + largest;
}

const std::string TOOLS = "writeups/results/tools-h200.json", RESOURCES = "writeups/results/resources.json";

struct Build {
  const Stage* stage;
  std::string bug;  // "": the correct one
};

// Each stage's correct build and then its bugs', in the order of the climb.
std::vector<Build> builds_of(const Ladder& ladder) {
  std::vector<Build> builds;
  for (const Stage& stage : ladder.stages) {
    builds.push_back({&stage, ""});
    for (const Bug& bug : stage.bugs) builds.push_back({&stage, bug.name});
  }
  return builds;
}

std::string title(const Stage& stage, const std::string& bug) {
  return stage.short_name() + ", " + (bug.empty() ? "correct" : bug);
}

// A lab's run, if its status is no more than `most`.
LabRun looked(const Argv& argv, int most) {
  const LabRun ran = run_lab(argv);
  if (ran.status > most)
    throw BadInput("no answer from " + joined(argv, " ") + ": exit status " + std::to_string(ran.status) + "\n" +
                   ran.out);
  return ran;
}

// As a line is ready, so that a reader sees how far a long table is.
void put(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

bool passes(const std::string& lab) { return capture({lab, "test", "quick=1"}).status == 0; }

// A version of the notes: a stage that is here, or a broken one that only its bugs remember.
std::string climb_row(const Ladder& ladder, const std::string& name, const Json& resources, const std::string& labs) {
  if (const Stage* stage = ladder.stage(name)) {
    const std::string target = stage->says("target").empty() ? "sm_89" : stage->says("target");
    return "| [" + name + "](stages/" + stage->dir + ".md) | " + stage->says("idea") + " | " +
           (passes(lab_path(labs, stage->dir, "fixed")) ? "yes" : "no") + " | " +
           resources_cell(resources, stage->dir, target) + " | " + stage->says("learned") + " |\n";
  }
  std::string red, learned;
  for (const Bug* bug : ladder.bugs(name)) {
    if (!passes(lab_path(labs, bug->stage, variant_of(bug->name, "fixed"))))
      red += " [" + bug->name + "](bugs/" + bug->name + ".md)";
    if (const std::string said = ladder.stage(bug->stage)->says("learned_" + name); !said.empty()) learned = said;
  }
  return "| " + name + " | a version that never worked | no:" + red + " | | | " + learned + " |\n";
}

}  // namespace

Blindness read_blindness(const std::string& printed, const std::string& binary) {
  Blindness answers;
  int found = 0;
  for (const std::string& line : lines_of(printed)) {
    const auto words = words_of(line);
    if (words.size() == 2 && words[0] == "schedules") answers.schedules = words[1];
    if (words.size() != 4 || (words[0] != "notes" && words[0] != "unit")) continue;
    if ((words[1] != "0" && words[1] != "1") || !is_known(words[3]))
      throw BadInput("'" + line + "' is no answer of " + binary + " blindness");
    (words[0] == "notes" ? answers.notes : answers.unit)[words[1] == "1"] = {words[2], words[3]};
    ++found;
  }
  if (found != 4) throw BadInput("no answer from " + binary + " blindness");
  return answers;
}

std::string blindness_row(const std::string& title, const Blindness& a) {
  return table_row({title, blindness_cell(a.notes[0]), blindness_cell(a.notes[1]), blindness_cell(a.unit[0]),
                    blindness_cell(a.unit[1])});
}

std::string checker_cell(const Verdict& racecheck) {
  std::vector<std::string> kinds;
  for (const std::string& kind : racecheck.all("finding")) add_once(kinds, kind);
  if (kinds.size() > 1) std::erase(kinds, "launch refused");
  return kinds.empty() ? "-" : joined(kinds, "; ");
}

std::string tool_cell(const Json& tools, const std::string& stage, const std::string& bug, const std::string& tool) {
  bool run = false;
  std::vector<std::string> seen;
  for (const Json& row : tools.at("rows")) {
    if (row.at("stage") != stage || row.at("bug") != bug) continue;
    run = true;
    const std::string kinds = row.at("kinds");
    if (row.at("tool") != tool || kinds.empty()) continue;
    for (std::string kind : split(kinds, ", ")) {
      if (kind.starts_with("Program hit")) {
        if (!seen.empty()) continue;
        kind = cut(cut(kind, ".*Program hit "), " .*");
      }
      add_once(seen, cut(kind, "^Invalid __shared__ (write|read) of size [0-9]+ bytes: "));
    }
  }
  return !run ? "not run" : seen.empty() ? "-" : joined(seen, "; ");
}

std::string tools_row(const std::string& title, const Blindness& answers, const Verdict& racecheck, const Json& tools,
                      const std::string& stage, const std::string& bug) {
  const std::string schedules = answers.notes[0].largest == "-" ? "-"
                                : answers.schedules == "differ" ? "**differ**"
                                                                : answers.schedules;
  std::vector<std::string> row = {title, verdict(answers.notes), verdict(answers.unit), schedules,
                                  checker_cell(racecheck)};
  for (const char* tool : SANITIZER_TOOLS) row.push_back(tool_cell(tools, stage, bug, tool));
  return table_row(row);
}

std::string tools_footer(const Json& tools, const std::string& path) {
  const auto says = [&](const char* key) { return tools.at(key).get<std::string>(); };
  return "\n*`notes` and `unit`: the mission shape (1,8,512,64), causal and not, at the tolerance of the notes, 1e-3. "
         "Schedules: eight of\n"
         "them on (1,1,128,64), bit by bit. CPU checker: the short race check of `make stage=S test`. The four tools: "
         "compute-sanitizer " +
         words_of(says("compute_sanitizer")).at(0) + " on an\n" + says("gpu") + ", driver " + says("driver") +
         ", CUDA " + says("cuda") + ", " + says("date") + ", on " + tools.value("shapes", "two small shapes") +
         ";\nthe lines they name are in " + path + ".*\n";
}

std::string resources_cell(const Json& resources, const std::string& stage, const std::string& arch) {
  std::vector<long> registers, smem;
  for (const Json& kernel : resources.at("kernels"))
    if (kernel.at("stage") == stage && kernel.at("bug") == "" && kernel.at("arch") == arch)
      registers.push_back(kernel.at("registers")), smem.push_back(kernel.at("smem"));
  if (registers.empty()) return "not measured | not measured";
  const auto [least, most] = std::ranges::minmax(registers);
  const auto [small, large] = std::ranges::minmax(smem);
  return (least == most ? format("%ld", least) : format("%ld-%ld", least, most)) +
         format(" | %.1f-%.1f KiB", double(small) / 1024, double(large) / 1024);
}

int blindness_table_command(const Args& args) {
  const Ladder ladder = read_ladder();
  put("| build | `notes` inputs | `notes`, causal | `unit` inputs | `unit`, causal |\n|---|---|---|---|---|\n");
  const auto row = [&](const Build& build) {
    const std::string lab = lab_path(args[0], build.stage->dir, variant_of(build.bug, "fixed"));
    return blindness_row(title(*build.stage, build.bug), read_blindness(looked({lab, "blindness"}, 0).out, lab));
  };
  side_by_side(builds_of(ladder), row, put);
  return 0;
}

int tools_table_command(const Args& args) {
  const Ladder ladder = read_ladder();
  const Json tools = load_results(TOOLS, "tools-1", "checks/races/sanitizer.sh -j on a machine with a GPU");
  put("| bug | `notes` inputs | `unit` inputs | schedules | CPU checker | memcheck | racecheck | initcheck | synccheck "
      "|\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  const auto row = [&](const Build& build) {
    const std::string lab = lab_path(args[0], build.stage->dir, variant_of(build.bug, "fixed"));
    const Blindness answers = read_blindness(looked({lab, "blindness"}, 0).out, lab);
    const std::string checked = lab_path(args[0], build.stage->dir, variant_of(build.bug, "checked"));
    const Verdict racecheck =
        looked({checked, "racecheck", "short=1"}, 1).verdict;  // status 1 where there are findings
    return tools_row(title(*build.stage, build.bug), answers, racecheck, tools, build.stage->dir, build.bug);
  };
  side_by_side(builds_of(ladder), row, put);
  put(tools_footer(tools, TOOLS));
  return 0;
}

int climb_table_command(const Args& args) {
  const Json resources = load_results(RESOURCES, "resources-1", "make resources json=" + RESOURCES);
  const Ladder ladder = read_ladder();
  std::vector<std::string> names = ladder.historical();
  for (const Stage& stage : ladder.stages) names.push_back(stage.short_name());
  std::ranges::sort(names, version_less);
  put("| version | one idea | correct? | registers | shared memory | what was learned |\n|---|---|---|---|---|---|\n");
  for (const std::string& name : names) put(climb_row(ladder, name, resources, args[0]));
  return 0;
}

}  // namespace lab::desk
