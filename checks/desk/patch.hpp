// A bug is a patch: stages/<stage>/bugs/<name>.patch, lines `key: value` and then a unified diff of the stage's
// kernel.cu. This reads one and applies it. Nothing is guessed: a hunk may have moved, but its lines must all be there,
// and in one place only. Whatever is wrong with a patch is a BadInput of one line that names the patch, and the hunk.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lab::desk {

struct PatchLine {
  char kind;         // ' ' kept, '-' removed, '+' added
  std::string text;  // without that first character
  int number;        // of this line in the patch file, from 1
};

struct Hunk {
  int at;      // where the diff says that its first kept or removed line stands in the source, from 1
  int number;  // of its @@ line in the patch file, from 1
  std::vector<PatchLine> lines;
};

// The head of a bug's patch. Empty where the patch does not have that key.
struct PatchHead {
  std::string plants;             // what it plants, in one line
  std::string predicted;          // the wrong answer as a formula, or what takes its place
  std::vector<std::string> also;  // versions of the source notes that had this bug: v2c2
  std::string harmless;           // why it turned out to be no bug
  std::string slow;               // why the answer is right all the same: it costs time only
  std::string unseen;             // why no answer on the CPU is wrong, so that the race check must be red alone
  std::string lucky;              // why a GPU may hide it
  std::string map;                // caption of its error map
};

struct Patch : PatchHead {
  std::string path;    // "stages/v2b_single_warp/bugs/warp7_nan.patch"
  std::string head;    // as it stands in the file, to be written back
  std::string source;  // "stages/v2b_single_warp/kernel.cu"
  std::vector<Hunk> hunks;
};

// `path` is for messages and #line directives. Throws BadInput.
Patch parse_patch(const std::string& path, std::string_view text);
// Reads the file `path`, relative to the repository's root. Throws BadInput.
Patch read_patch(const std::string& path);

// Where a stage's bugs lie: stages/STAGE/bugs; and with `make bugs=DIR`, for bugs outside of the repository, DIR/STAGE, which is
// reached through the link that make names in the environment.
std::vector<std::string> bug_dirs(const std::string& stage);
// "stages/STAGE/bugs/BUG.patch", or where else that bug lies.
std::string patch_path(const std::string& stage, const std::string& bug);

// One line of a patched source: its text, and where a reader finds it.
struct SourceLine {
  std::string text;
  bool added;  // stands in the patch; else in the source
  int number;  // there, from 1
};

// The source after the patch. Throws BadInput if a hunk's lines are not in `source`, or are there more than once and
// not where the diff says.
std::vector<SourceLine> patched_lines(const Patch& patch, std::string_view source);

// The same as text: as it would be written by hand, or for a compiler, with #line directives that name the source for
// its own lines and the patch for those it adds.
std::string patched_text(const Patch& patch, std::string_view source);
std::string patched_for_compiler(const Patch& patch, std::string_view source);

}  // namespace lab::desk
