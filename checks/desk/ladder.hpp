// The stages and their bugs, read from stages/*/stage.conf and the heads of stages/*/bugs/*.patch: a new stage or bug
// is new files, and no list anywhere.
#pragma once
#include "checks/desk/desk.hpp"
#include "checks/desk/patch.hpp"
#include "common/conf.hpp"
#include "common/stage_names.hpp"

namespace lab::desk {

struct Bug : PatchHead {
  std::string stage, name;  // the directory of the stage that it is planted in; what bug= takes
  bool right() const { return !harmless.empty() || !slow.empty(); }  // the output is, whatever else shows
  std::string pair() const { return stage + ":" + name; }
};

struct Stage {
  std::string dir;                               // "v2b_single_warp"
  std::map<std::string, std::string> conf = {};  // what stage.conf says
  std::vector<Bug> bugs = {};                    // by name
  std::string short_name() const { return short_stage_name(dir); }
  std::string says(const std::string& key) const;  // "" where stage.conf has no such key
  const Bug* bug(const std::string& name) const;
  bool on_side() const { return says("road") == "side"; }
  bool is_backward() const { return says("pass") == "backward"; }
};

struct Ladder {
  std::vector<Stage> stages;         // of the forward pass, in the order of the climb: the ladder that commands mean
  std::vector<Stage> backward = {};  // of the second ladder, in its order

  // Both.
  std::vector<const Stage*> all() const;

  // The stages of the main road, in order; or those of side roads that grow out of `from`, a directory.
  std::vector<const Stage*> main_road() const;
  std::vector<const Stage*> side_roads(const std::string& from) const;

  // By directory or short name; nothing if it is neither.
  const Stage* stage(const std::string& name) const;
  // The broken versions of the notes, each once, in order.
  std::vector<std::string> historical() const;
  // The bugs that NAME means: those of a stage, or those of a broken version. Throws BadInput with the nearest names.
  std::vector<const Bug*> bugs(const std::string& name) const;
  // The one that `bug` names among them. Throws BadInput; a bug of another stage is recognised.
  std::vector<const Bug*> bugs(const std::string& name, const std::string& bug) const;
};

// A kernel of one's own, make stage=DIRECTORY, is a stage "own/SUM/NAME".
std::string kernel_path(const std::string& stage);  // "stages/v2b_single_warp/kernel.cu", "DIRECTORY/kernel.cu"

// Everything below root/stages. Throws BadInput where a file is not as it must be.
Ladder read_ladder(const std::string& root = ".");

// Patches applied by GNU patch: patches.cpp.

// One line of a patched source: its text, and where a reader finds it.
struct SourceLine {
  std::string text;
  bool added;  // stands in the patch; else in the source
  int number;  // there, from 1
};

// The kernel with the patch `path`: for a compiler, with #line directives that name the kernel's lines and the patch's; and as
// lines. `source`: a file instead of the one that the patch names. Throws BadInput, one line.
std::string patched_for_compiler(const std::string& path, const std::string& source = "");
std::vector<SourceLine> patched_lines(const std::string& path, const std::string& source = "");

}  // namespace lab::desk
