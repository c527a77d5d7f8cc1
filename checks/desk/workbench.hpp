// Keeping patches alive: a patched copy of a kernel to work on, the patch written back from it, line numbers renewed.
#pragma once
#include <string>
#include <vector>

#include "checks/desk/patch.hpp"

namespace lab::desk {

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
