// Digests of outputs: what `lab bits` prints, and how it is held to what a GPU recorded (bits-1).
#pragma once
#include <string>
#include <vector>

#include "checks/desk/records/json_text.hpp"

namespace lab::desk {

// {"CASE": "DIGEST", ...} of lines "DIGEST CASE". Throws BadInput for a line that is no such thing, or a case that
// comes twice.
Json digests_in(const std::string& printed);

struct BitsVerdict {
  std::size_t equal = 0, cases = 0;
  std::vector<std::string> lines;  // what is not as recorded: the first of each kind, and how many there are
  bool good() const { return cases > 0 && lines.empty(); }
};

// Of one stage. `whole`: `now` has all cases, so that one which only the record has is a difference too.
BitsVerdict compare_bits(const Json& recorded, const Json& now, bool whole);

// The file: where it was recorded, and the stages' digests, {"STAGE": {"CASE": "DIGEST"}}.
std::string bits_json(const Json& where, const Json& stages);

}  // namespace lab::desk
