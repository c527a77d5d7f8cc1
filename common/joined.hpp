// Words and numbers as one text.
#pragma once
#include <cstdint>
#include <sstream>
#include <string>
#include <type_traits>

namespace lab {

template <class... Parts>
[[gnu::noinline]] std::string joined(const Parts&... parts) {
  std::ostringstream text;
  const auto add = [&](const auto& part) {
    if constexpr (std::is_same_v<decltype(part), const std::uint8_t&>)
      text << int(part);  // a number, not a character
    else
      text << part;
  };
  (add(parts), ...);
  return text.str();
}

// A text, or what makes one when it is called.
template <class Text>
std::string text_of(const Text& text) {
  if constexpr (std::is_invocable_v<Text>)
    return std::string(text());
  else
    return std::string(text);
}

}  // namespace lab
