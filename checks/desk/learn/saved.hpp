// When a file that is watched was saved last.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace lab::desk {

// Nothing where there is none. Waits until it is the same twice: editors take a file away before they put another in
// its place, or empty it before they write.
using Saved = std::optional<std::filesystem::file_time_type>;
Saved saved(const std::string& file);

}  // namespace lab::desk
