#include "checks/bugs/gpu_child_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/hang.hpp"
#include "checks/runner/commands.hpp"
#include "common/gpu_access.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// One launch of this same kernel in a process of its own.
std::string once_words(const Shape& shape) {
  return format("/proc/%d/exe %s once shape=%s", int(getpid()), kernel_library().c_str(), shape_word(shape).c_str());
}

// Under compute-sanitizer a launch takes a hundred times as long and more: about a second on an H200.
constexpr int SANITIZED_SECONDS = 20;

// hangs() has seen this process's launch hang on a GPU. Under a tool, which waits for the launch to end, it would too.
bool hung_on_gpu = false;

}  // namespace

Part may_hide(Part part, const std::string& why) {
  part.excuse = why;
  return part;
}

Part cannot_look(Part part, const std::string& why) {
  part.possible = false, part.seen = why;
  return part;
}

Part hangs_elsewhere(const Shape& shape, bool or_stops) {
  Part part;
  part.expected = format("the kernel does not end: it still runs after %.1f s", hang_seconds(shape));
  if (or_stops) part.expected += ", or is stopped with an error";
  const std::string said = format("build/once-%d.verdict", int(getpid()));
  const int ended = std::system((VERDICT_FILE + ("=" + said + " " + once_words(shape)) + " > /dev/null 2>&1").c_str());
  const Verdict verdict = Verdict::from(said);
  std::remove(said.c_str());
  const bool hung = WIFEXITED(ended) && WEXITSTATUS(ended) == HUNG;
  if (ended != 0 && !hung) return cannot_look(part, "a launch in a process of its own did not come about");
  hung_on_gpu |= hung;
  const std::string stop = hung ? "" : verdict.first("stopped");
  part.shown = hung || (or_stops && !stop.empty());
  part.seen = text(shape) + (hung           ? ": it did not, and its process was ended"
                             : stop.empty() ? ": it came to its end"
                                            : ": it stopped: " + stop);
  return stop.empty() ? may_hide(part, ": the GPU's order did not bring the hang about") : part;
}

Part sanitizer_reports(const Shape& shape, Finding::Kind kind) {
  const bool init = kind == Finding::Kind::uninitialised,
             barrier = kind == Finding::Kind::barrier || kind == Finding::Kind::mbarrier;
  const bool race = kind == Finding::Kind::race_inter_warp || kind == Finding::Kind::race_intra_warp ||
                    kind == Finding::Kind::before_wait || kind == Finding::Kind::before_phase;
  const std::string tool = race ? "racecheck" : init ? "initcheck" : barrier ? "synccheck" : "memcheck";
  Part part;
  part.expected = "compute-sanitizer --tool " + tool + " reports it";
  if (hung_on_gpu) return cannot_look(part, tool + ": not asked, for the launch does not end");
  const std::string command = "compute-sanitizer --tool " + tool + (init ? " --initcheck-address-space shared" : "") +
                              (race ? " --racecheck-report all" : "") + " " + once_words(shape) +
                              format(" seconds=%d 2>&1", SANITIZED_SECONDS);
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return cannot_look(part, "compute-sanitizer cannot be run");
  std::string summary;
  char line[1024];
  while (std::fgets(line, sizeof line, pipe)) {
    std::string text(line);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.find("SUMMARY") != text.npos) summary = text;
    if (part.lines.size() < 4 && text.find("stages/") != text.npos) part.lines.push_back(text);
  }
  pclose(pipe);
  if (summary.empty())
    return cannot_look(part, tool + (init ? ": this version cannot watch shared memory" : ": it gave no summary"));
  part.shown = summary.find("SUMMARY: 0 ") == summary.npos;
  part.seen = tool + ": " + summary;
  return may_hide(part, "; this tool does not see it");
}

// once shape=B,H,S,D[,causal] [seconds=N]: one launch on unit inputs, for compute-sanitizer to watch. 0 even if it fails: the tool has its own
// verdict.
int once_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "seconds"};
  const KeyValues words(args, KEYS);
  const Trial t =
      run_trial(one_shape(words.require("shape")), Family::unit, {}, 1, 0, double(words.whole("seconds", 1000)));
  std::printf("%s, %s: %s\n", stage_name(), t.title().c_str(), t.ok() ? "ran" : state(t).c_str());
  if (!t.ok()) record("stopped", t.error_name() + (": " + t.message));
  return 0;
}

}  // namespace lab
