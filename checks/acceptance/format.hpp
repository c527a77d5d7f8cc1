// printf into a std::string; std::format is not in g++ 12.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <string>

namespace lab {

[[gnu::format(printf, 1, 2)]] inline std::string format(const char* pattern, ...) {
  va_list args, again;
  va_start(args, pattern);
  va_copy(again, args);
  std::string out(std::size_t(std::vsnprintf(nullptr, 0, pattern, args)), '\0');
  std::vsnprintf(out.data(), out.size() + 1, pattern, again);
  va_end(again);
  va_end(args);
  return out;
}

}  // namespace lab
