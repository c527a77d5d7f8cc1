// A bug is a patch: stages/STAGE/bugs/NAME.patch, lines `key: value` and then a unified diff of the stage's kernel.cu, which GNU
// patch applies (checks/scripts/patched.sh). This reads what it says.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lab::desk {

// The head of a bug's patch. Empty where the patch does not have that key.
struct PatchHead {
  std::string plants;             // what it plants, in one line
  std::string predicted;          // the wrong answer as a formula, or what takes its place
  std::vector<std::string> also;  // versions of the source notes that had this bug: v2c2
  std::string harmless;           // why it turned out to be no bug
  std::string slow;               // why the answer is right all the same: it costs time only
  std::string unseen;             // why no answer on the CPU is wrong, so that the race check must be red alone
  std::string lucky;              // why a GPU may hide it
};

struct PatchLine {
  bool added;        // else removed
  std::string text;  // without its + or -
  int number;        // in the patch file, from 1
};

struct Patch : PatchHead {
  std::string path;    // "stages/v2b_single_warp/bugs/warp7_nan.patch"
  std::string source;  // "stages/v2b_single_warp/kernel.cu"
  std::vector<PatchLine> changes;
};

// `path` is for messages. Throws BadInput, one line that names the patch and its line.
Patch parse_patch(const std::string& path, std::string_view text);
// Reads the file `path`, relative to the repository's root. Throws BadInput.
Patch read_patch(const std::string& path);

// Where a stage's bugs lie: stages/STAGE/bugs; and with `make bugs=DIR`, for bugs outside of the repository, DIR/STAGE, which is
// reached through the link that make names in the environment.
std::vector<std::string> bug_dirs(const std::string& stage);
// "stages/STAGE/bugs/BUG.patch", or where else that bug lies.
std::string patch_path(const std::string& stage, const std::string& bug);

}  // namespace lab::desk
