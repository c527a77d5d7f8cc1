// A student's variant of an exercise: other constants, other names, other line numbers, another shape. A student has a line
// for each in work/variant, which `make variants` draws; without one an exercise is as its file has it. The grader reads a copy of its own.
#pragma once
#include <cstdint>
#include <string>

#include "checks/desk/learn/exercise.hpp"

namespace lab::desk {

// The course with the variants of `file`, where there is one: lines "NUMBER WORD=VALUE...", with the words of variant_of. Throws
// BadInput with file and line.
Course varied_course(const std::string& file = "work/variant");

// The line drawn for a student: lead=LINES in front of the kernel, names=K for the K-th choice of names, edit=I for the I-th
// `variant:` of the exercise, shape=SHAPE where counts are predicted. "" where an exercise has no kernel and no shape.
std::string variant_of(const Exercise& exercise, std::uint64_t drawn);
// Takes such words. Throws BadInput.
void vary(Exercise& exercise, const std::string& words);

// A source of the exercise as the variant has it: handed out, or its solution.
std::string varied(const Exercise& exercise, const std::string& source);

}  // namespace lab::desk
