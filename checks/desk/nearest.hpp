// For a misspelt word: what was probably meant.
#pragma once
#include <string>
#include <vector>

namespace lab::desk {

// How many times a character is put in, taken out, replaced or swapped with its neighbour to turn one word into the
// other (optimal string alignment: no piece is edited twice).
std::size_t edit_distance(const std::string& a, const std::string& b);

// The `count` nearest of `names` to `word`, nearest first, equally near ones by name; each name once.
std::vector<std::string> nearest(const std::string& word, std::vector<std::string> names, std::size_t count = 3);

// The order of version numbers, as sort -V has it: runs of digits compare as numbers, so that v2 < v2b < v2c3 < v10. A name
// that is no version comes last: a stage's directory that was copied to stages/mine grows out of every stage.
bool version_less(const std::string& a, const std::string& b);

}  // namespace lab::desk
