// The stages and their bugs, read from stages/*/stage.conf and the heads of stages/*/bugs/*.patch: a new stage or bug
// is new files, and no list anywhere. Below them how patches are kept alive.
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

// Kernels of a learner's own, work/own/NAME, are built as stages are, and no command of the whole ladder sees them. As
// a stage its `dir` is "own/NAME"; `word` is NAME or that. Nothing if there is none.
bool is_own_name(const std::string& name);
std::string own_dir(const std::string& word);
std::optional<Stage> own_kernel(const std::string& word);
std::string kernel_path(const std::string& stage);  // "stages/v2b_single_warp/kernel.cu", "work/own/mine/kernel.cu"

// Everything below root/stages. Throws BadInput where a file is not as it must be.
Ladder read_ladder(const std::string& root = ".");

// Keeping patches alive: a patched copy of a kernel to work on, the patch written back from it, line numbers renewed.

// `diff -u` of two versions of `source`, as a bug's patch has it; "" if they are the same. Throws BadInput without
// diffutils.
std::string unified_diff(const std::string& before, const std::string& after, const std::string& source);

// A patch for reading: what its head says in words, then the diff, coloured for a terminal or plain. `text` is the
// file's.
std::string readable(const Patch& patch, const std::string& text, const std::string& stage, const std::string& bug,
                     bool colour);

struct Surveyed {
  std::string path;
  std::string wrong;   // the one line that says why it does not apply; "" if it does
  bool moved = false;  // applies, but at other lines than it says
};
// Every patch below root/stages against its kernel. With `renew`, those that have moved are rewritten.
std::vector<Surveyed> survey_patches(const std::string& root, bool renew);

// Where a bug is worked on: build/edit/STAGE-BUG.
struct Workbench {
  std::string kernel;      // the copy to edit
  std::string head;        // what its patch begins with, to edit too
  bool continued = false;  // it held unsaved work, which is kept
  std::vector<std::string>
      rejected;  // one line for each hunk of the patch that no longer applies and is not in the copy
};
// `fresh` begins a bug that does not exist yet, from the correct kernel. Throws BadInput if it does exist, or if
// unsaved work was begun from another kernel.cu than today's.
Workbench open_workbench(const std::string& root, const std::string& stage, const std::string& bug, bool fresh);

// Writes the patch from the copy and its head, and returns its path. Throws BadInput, and changes nothing, if there is
// no copy, nothing is changed, the head is not complete, or kernel.cu is not what the copy was begun from.
std::string save_workbench(const std::string& root, const std::string& stage, const std::string& bug);

}  // namespace lab::desk
