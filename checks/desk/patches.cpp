// desk patch, patches, show-bug, edit-bug, save-bug: bugs as patches.
#include <unistd.h>

#include "checks/desk/ladder.hpp"
#include "checks/desk/runs.hpp"

namespace lab::desk {
namespace {

std::string at(const std::string& root, const std::string& path) { return root == "." ? path : root + "/" + path; }
std::string bench_of(const std::string& stage, const std::string& bug) {
  return "build/edit/" + stage + "-" + bug + "/";
}

std::string patch_text(const std::string& head, const std::string& diff) { return head + "\n" + diff; }

std::string diff_in(const std::string& patch) {
  const std::size_t begin = patch.find("--- a/");
  return begin == patch.npos ? "" : patch.substr(begin);
}

// A patch of the hunks that still apply, and a line for each that does not.
Patch applicable(const Patch& patch, const std::string& source, std::vector<std::string>& rejected) {
  Patch kept = patch;
  kept.hunks.clear();
  for (const Hunk& hunk : patch.hunks) {
    Patch more = kept;
    more.hunks.push_back(hunk);
    try {
      patched_lines(more, source);
      kept = std::move(more);
    } catch (const BadInput&) {
      rejected.push_back(patch.path + ":" + std::to_string(hunk.number) + ": this hunk is not in the copy");
    }
  }
  return kept;
}

struct Files {
  explicit Files(const std::string& dir)
      : kernel(dir + "kernel.cu"), base(dir + "base.cu"), begun(dir + "begun.cu"), head(dir + "head") {}
  std::string kernel, base, begun,
      head;  // the copy; the correct kernel it comes from; the copy as it was begun; the head
};

// The stage and the bug that the words name, which may be a broken version's.
const Bug& named(const Ladder& ladder, const Args& args) {
  if (args[0].empty() || args[1].empty()) throw BadInput("which bug? stage=NAME bug=NAME; see 'make list'");
  return *ladder.bugs(args[0], args[1]).at(0);
}

}  // namespace

std::string unified_diff(const std::string& before, const std::string& after, const std::string& source) {
  const std::string base = (fs::temp_directory_path() / ("lab-desk-diff-" + std::to_string(getpid()))).string();
  const std::string old_file = base + "-a", new_file = base + "-b", out = base + "-out";
  write_text(old_file, before), write_text(new_file, after);
  const int status =
      run({"diff", "-u", "--label", "a/" + source, "--label", "b/" + source, old_file, new_file}, out).status;
  const std::string diff = read_text(out);
  for (const std::string& file : {old_file, new_file, out}) fs::remove(file);
  if (status > 1) throw BadInput("diff cannot be run; it comes with diffutils");
  return diff;
}

std::string readable(const Patch& patch, const std::string& text, const std::string& stage, const std::string& bug,
                     bool colour) {
  const auto painted = [&](const char* code, const std::string& line) {
    return colour ? std::string("\033[") + code + "m" + line + "\033[0m" : line;
  };
  std::string shown = painted("1", bug + ", a bug of " + stage) + "\n";
  const auto say = [&](const std::string& what, const std::string& words) {
    if (!words.empty()) shown += "  " + what + std::string(what.size() < 11 ? 11 - what.size() : 1, ' ') + words + "\n";
  };
  say("plants:", patch.plants);
  say("predicted:", patch.predicted);
  say("also in:", joined(patch.also, ", ") + (patch.also.empty() ? "" : " of the source notes"));
  say("harmless:", patch.harmless);
  say("only slow:", patch.slow);
  say("unseen:", patch.unseen);
  say("a GPU may hide it:", patch.lucky);
  say("patch:", patch.path);
  say("read:", "writeups/bugs/" + bug + ".md");
  shown += "\n";
  for (const std::string& line : lines_of(diff_in(text))) {
    const char* code = line.starts_with("---") || line.starts_with("+++") ? "1"
                       : line.starts_with("@@")                           ? "36"
                       : line.starts_with("-")                            ? "31"
                       : line.starts_with("+")                            ? "32"
                                                                          : nullptr;
    shown += (code ? painted(code, line) : line) + "\n";
  }
  return shown;
}

std::vector<Surveyed> survey_patches(const std::string& root, bool renew) {
  std::vector<Surveyed> all;
  const Ladder ladder = read_ladder(root);
  for (const Stage* stage : ladder.all()) {
    std::vector<std::string> names;
    for (const Bug& bug : stage->bugs) names.push_back(bug.name);
    for (const std::string& name : names) {
      Surveyed one{at(root, patch_path(stage->dir, name)), "", false};
      try {
        const Patch patch = read_patch(one.path);
        if (patch.source != kernel_path(stage->dir))
          throw BadInput(one.path + " is a diff of " + patch.source + ", which is not this stage's");
        const std::string source = read_text(at(root, patch.source));
        patched_for_compiler(patch, source);
        const std::string diff = unified_diff(source, patched_text(patch, source), patch.source);
        if (diff.empty()) throw BadInput(one.path + " changes nothing");
        one.moved = diff != diff_in(read_text(one.path));
        if (one.moved && renew) write_text(one.path, patch_text(patch.head, diff));
      } catch (const BadInput& e) {
        one.wrong = e.what();
      }
      all.push_back(one);
    }
  }
  return all;
}

Workbench open_workbench(const std::string& root, const std::string& stage, const std::string& bug, bool fresh) {
  const std::string dir = bench_of(stage, bug), path = patch_path(stage, bug);
  const Files files(at(root, dir));
  const std::string source = read_text(at(root, kernel_path(stage)));
  Workbench bench{dir + "kernel.cu", dir + "head", false, {}};
  if (fresh && fs::exists(at(root, path))) throw BadInput(path + " is there already; without new=1 it is edited");
  if (fresh && (bug.empty() || !std::ranges::all_of(bug, [](unsigned char c) {
                  return std::islower(c) || std::isdigit(c) || c == '_';
                })))
    throw BadInput("bug=" + bug + ": a bug's name is made of a-z, 0-9 and _");

  std::string begun = source, head = "plants: \npredicted: \n";
  if (!fresh) {
    const Patch patch = read_patch(at(root, path));
    begun = patched_text(applicable(patch, source, bench.rejected), source);
    head = patch.head;
  }
  if (fs::exists(files.kernel) && read_text(files.kernel) != read_text(files.begun)) {
    if (read_text(files.base) != source)
      throw BadInput(dir + "kernel.cu holds unsaved work on an older " + kernel_path(stage) +
                     "; move it away, and begin anew");
    bench.continued = true;
    bench.rejected.clear();
    return bench;
  }
  write_text(files.base, source);
  write_text(files.head, head);
  write_text(files.begun, begun);
  write_text(files.kernel, begun);
  return bench;
}

std::string save_workbench(const std::string& root, const std::string& stage, const std::string& bug) {
  const std::string dir = bench_of(stage, bug), path = patch_path(stage, bug);
  const Files files(at(root, dir));
  if (!fs::exists(files.kernel))
    throw BadInput("there is no " + dir + "kernel.cu; make stage=" + stage + " edit-bug bug=" + bug + " makes it");
  const std::string source = read_text(at(root, kernel_path(stage)));
  if (read_text(files.base) != source)
    throw BadInput(kernel_path(stage) + " has changed since " + dir +
                   "kernel.cu was begun; move the copy away, and begin anew");
  const std::string edited = read_text(files.kernel);
  const std::string diff = unified_diff(source, edited, kernel_path(stage));
  if (diff.empty()) throw BadInput(dir + "kernel.cu is " + kernel_path(stage) + " as it is: there is nothing to save");
  const std::string text = patch_text(read_text(files.head), diff);
  const Patch patch = parse_patch(dir + "head", text);  // what is wrong with the head is wrong at its own lines
  patched_for_compiler(patch, source);
  write_text(at(root, path), patch_text(patch.head, diff));
  write_text(files.begun, edited);
  return path;
}

// desk patch, patches, show-bug, edit-bug, save-bug: bugs as patches.

int patch_command(const Args& args) {
  const Patch patch = read_patch(patch_path(args[0], args[1]));
  if (patch.source != kernel_path(args[0]))
    throw BadInput(patch.path + " is a diff of " + patch.source + ", which is not this stage's");
  write_text(args[2], patched_for_compiler(patch, read_text(patch.source)));
  return 0;
}

int patches_command(const Args& args) {
  const bool fix = !args.empty();
  if (fix && args[0] != "fix") throw BadInput("'" + args[0] + "' means nothing here; it is fix");
  Counts counts;
  for (const Surveyed& patch : survey_patches(".", fix)) {
    counts.add(patch.wrong.empty());
    if (!patch.wrong.empty()) std::fprintf(stderr, "%s\n", patch.wrong.c_str());
    if (patch.moved)
      std::printf(
          "%s: %s\n", patch.path.c_str(),
          fix ? "its line numbers are renewed" : "applies, but its lines have moved; make patches fix=1 renews them");
  }
  told(counts);
  return counts.failed ? 2 : 0;
}

int show_bug_command(const Args& args) {
  const Ladder ladder = read_ladder();
  const bool colour = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  bool first = true;
  for (const Bug* bug : args.size() == 1 || args[1].empty() ? ladder.bugs(args[0]) : ladder.bugs(args[0], args[1])) {
    const std::string path = patch_path(bug->stage, bug->name);
    if (!first) std::printf("\n");
    first = false;
    std::fputs(readable(read_patch(path), read_text(path), bug->stage, bug->name, colour).c_str(), stdout);
  }
  if (first) throw BadInput("stage '" + args[0] + "' has no bugs");
  return 0;
}

int edit_bug_command(const Args& args) {
  const Ladder ladder = read_ladder();
  const bool fresh = args.size() == 3 && args[2] == "new";
  std::string stage, bug = args[1];
  if (fresh) {
    const Stage* home = ladder.stage(args[0]);
    if (!home)
      ladder.bugs(args[0]), throw BadInput("a new bug needs a stage of its own, which '" + args[0] + "' is not");
    stage = home->dir;
  } else {
    stage = named(ladder, args).stage;
  }
  const Workbench bench = open_workbench(".", stage, bug, fresh);
  for (const std::string& line : bench.rejected) std::printf("%s\n", line.c_str());
  std::printf("%s%s: edit it, and %s\n", bench.kernel.c_str(), bench.continued ? " (unsaved work goes on)" : "",
              bench.head.c_str());
  const char* editor = std::getenv("EDITOR");
  if (editor && *editor && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
    std::fflush(stdout);
    if (std::system((std::string(editor) + " " + bench.kernel).c_str()) != 0)
      throw BadInput(std::string(editor) + " ended with an error; " + bench.kernel + " is as it left it");
  }
  std::printf("then: make stage=%s save-bug bug=%s\n", args[0].c_str(), bug.c_str());
  return 0;
}

int save_bug_command(const Args& args) {
  const Ladder ladder = read_ladder();
  const Stage* home = ladder.stage(args[0]);
  // A bug that is yet to be has no patch to be found by.
  const std::string stage = home ? home->dir : named(ladder, args).stage;
  if (args[1].empty()) throw BadInput("which bug? save-bug needs bug=NAME");
  const std::string path = save_workbench(".", stage, args[1]);
  std::printf("%s is written\n", path.c_str());
  for (const std::string& also : {"stages/" + stage + "/bugs/" + args[1] + ".cpp", "writeups/bugs/" + args[1] + ".md"})
    if (access(also.c_str(), R_OK) != 0) std::printf("still missing: %s\n", also.c_str());
  std::printf("then: make stage=%s show-bug bug=%s; make stage=%s reproduce-bug bug=%s\n", args[0].c_str(),
              args[1].c_str(), args[0].c_str(), args[1].c_str());
  return 0;
}

}  // namespace lab::desk
