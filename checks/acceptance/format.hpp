// printf into a std::string; std::format is not in g++ 12.
#pragma once
#include <string>

namespace lab {

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace lab
