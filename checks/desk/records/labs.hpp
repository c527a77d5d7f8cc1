// The binaries under build/, as a pattern with two words to fill in: build/cpu/STAGE/VARIANT/lab.
#pragma once
#include <string>

namespace lab::desk {

// Throws BadInput for a pattern without the two words.
std::string lab_path(std::string pattern, const std::string& stage, const std::string& variant);

// The variant that has a bug planted; `otherwise` for none.
std::string variant_of(const std::string& bug, const std::string& otherwise);

// The stage of build/BACKEND/STAGE/VARIANT/lab. Throws BadInput for a path with fewer parts.
std::string stage_of(const std::string& lab);

// The name that it gives itself: its stage, and of a kernel that the elite loop made (VARIANT evolve-ID) STAGE-evolved.
std::string program_of(const std::string& lab);
// The sources that it was compiled from.
std::string kernel_of(const std::string& lab);

}  // namespace lab::desk
