// A number that a user or a file gave as text: all of it, or none.
#pragma once
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "reference/bad_input.hpp"

namespace lab {

// Nothing where the text is no number in decimal notation, or one outside of `least` to `most`.
template <class Number>
std::optional<Number> number_in(std::string_view text, Number least = std::numeric_limits<Number>::lowest(),
                                Number most = std::numeric_limits<Number>::max()) {
  Number value{};
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

// The same of a word KEY=TEXT that a user gave. Throws BadInput.
template <class Number>
Number whole_number(const std::string& key, const std::string& text, Number least, Number most) {
  if (const auto value = number_in<Number>(text, least, most)) return *value;
  throw BadInput(key + "=" + text + ": must be a whole number from " + std::to_string(least) + " to " +
                 std::to_string(most));
}

}  // namespace lab
