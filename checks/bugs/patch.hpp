// A bug is a patch: stages/STAGE/bugs/NAME.patch, lines `key: value` and then a unified diff of the stage's kernel.cu, which GNU
// patch applies (checks/scripts/patched.sh). This reads what it says.
#pragma once
#include <string>
#include <vector>

namespace lab {

struct PatchLine {
  bool added;        // else removed
  std::string text;  // without its + or -
  int number;        // in the patch file, from 1
};

struct Patch {
  std::string path;       // "stages/v2b_single_warp/bugs/warp7_nan.patch"
  std::string plants;     // what it plants, in one line
  std::string predicted;  // the wrong answer as a formula, or what takes its place
  std::string also;       // versions of the source notes that had this bug: v2c2
  std::string harmless;   // why it turned out to be no bug
  std::string slow;       // why the answer is right all the same: it costs time only
  std::string unseen;     // why no answer on the CPU is wrong, so that the race check must be red alone
  std::string lucky;      // why a GPU may hide it
  std::vector<PatchLine> changes;
};

// `path` is for messages. Throws BadInput, one line that names the patch.
Patch parse_patch(const std::string& path, const std::string& text);
// A bug's patch; with `make bugs=DIR` DIR/STAGE is searched first, by the link that make names in LAB_BUGS.
Patch read_patch(const std::string& stage, const std::string& bug);

}  // namespace lab
