#include "checks/desk/workbench.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "checks/desk/desk.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/process.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

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
    std::ranges::copy(phases_of(stage->dir, root), std::back_inserter(names));
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

}  // namespace lab::desk
