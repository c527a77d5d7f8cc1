// The names of a stage.
#pragma once
#include <string>
#include <string_view>

namespace lab {

// "v2b" of its directory, "v2b_single_warp": what users type.
inline std::string short_stage_name(std::string_view directory) {
  return std::string(directory.substr(0, directory.find('_')));
}

}  // namespace lab
