// The meaning of the exit statuses of a bug's runs, together.
#pragma once

namespace lab {

// Of a signature: as this build must show it, not so, or hidden on a GPU, whose schedule is not chosen.
constexpr int SIGNATURE_RIGHT = 0, SIGNATURE_ABSENT = 1, SIGNATURE_HIDDEN = 3;
enum class Shown { yes, no, hidden };
// Of the build with the bug and of the fixed one.
Shown judge_signatures(int planted, int fixed);

enum class Colour { as_it_must, wrong, hidden, skipped };
// Of an acceptance with a bug: red (1), or green if its answers are right: a harmless change, or a slow one. One that a
// GPU may hide may be green there. `says_skipped`: it has said why.
Colour judge_acceptance(int status, bool right, bool may_hide, bool says_skipped);

}  // namespace lab
