// Whether what was handed in is a file of the repository, in other words.
#pragma once
#include <string>

#include "checks/desk/learn/exercise.hpp"

namespace lab::desk {

// What is left of a source without comments, layout and names: equal for two texts that differ in these alone.
std::string nameless(const std::string& text);

// "" or where a handed-in file was copied from, in words for a person. A mend of a line or two is always the
// solution, so that alone is no sign. These are: a stage's kernel that was not handed out; the solution's comments; the
// solution, where it has much that was not handed out.
std::string copied_from(const Exercise& exercise, const std::string& text);

}  // namespace lab::desk
