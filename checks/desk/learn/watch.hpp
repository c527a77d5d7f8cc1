// Work that is done again at every save.
#pragma once
#include <functional>
#include <string>

namespace lab::desk {

// Calls `look` now and at every save of the file, until it returns true, or ^C. Where the file is gone it waits until it is back.
void watch(const std::string& file, const std::function<bool()>& look);

}  // namespace lab::desk
