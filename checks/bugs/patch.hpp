// A bug is a patch: stages/STAGE/bugs/NAME.patch, lines `key: value` and then a unified diff of the stage's kernel.cu, which GNU
// patch applies (checks/scripts/patched.sh, which also refuses a key that it does not know). This reads its head.
#pragma once
#include <map>
#include <string>

namespace lab {

//   plants     what it plants, in one line
//   predicted  the wrong answer as a formula, or what takes its place
//   also       versions of the source notes that had this bug: v2c2
//   harmless   why it turned out to be no bug
//   slow       why the answer is right all the same: it costs time only
//   unseen     why no answer on the CPU is wrong, so that the race check must be red alone
//   lucky      why a GPU may hide it
using PatchHead = std::map<std::string, std::string>;
// With `make bugs=DIR` DIR/STAGE is searched first, by the link that make names in LAB_BUGS. Throws BadInput where there is no patch.
PatchHead read_patch_head(const std::string& stage, const std::string& bug);

}  // namespace lab
