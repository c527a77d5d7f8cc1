// The arguments of a command.
#pragma once
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/number.hpp"
#include "reference/bad_input.hpp"

namespace lab {

// The `key=value` arguments of a command. A key that is unknown or given twice is the user's mistake, never
// ignored.
class KeyValues {
 public:
  template <class Words>
  KeyValues(const Words& args, std::span<const std::string_view> known) {
    for (const std::string_view arg : args) {
      const std::size_t equals = arg.find('=');
      const std::string key(arg.substr(0, equals));
      bool is_known = false;
      std::string names;
      for (const std::string_view name : known) {
        is_known |= name == key;
        names += " " + std::string(name) + "=";
      }
      if (equals == arg.npos) throw BadInput("'" + key + "' is not key=value; the keys are" + names);
      if (!is_known) throw BadInput("unknown argument '" + key + "='; the keys are" + names);
      if (equals + 1 == arg.size()) throw BadInput(key + "= is empty");
      if (!values_.emplace(key, arg.substr(equals + 1)).second) throw BadInput(key + "= is given twice");
    }
  }

  std::optional<std::string> get(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  std::string require(const std::string& key) const {
    if (const auto value = get(key)) return *value;
    throw BadInput("argument " + key + "= is missing");
  }

  // A finite number in decimal notation.
  std::optional<float> number(const std::string& key) const {
    const auto text = get(key);
    if (!text) return std::nullopt;
    if (const auto value = number_in<float>(*text); value && std::isfinite(*value)) return value;
    throw BadInput(key + "=" + *text + ": must be a finite decimal number, such as 0.125");
  }

  // A whole number from `least` to `most`; `otherwise` where the key is not given.
  std::uint64_t whole(const std::string& key, std::uint64_t most, std::uint64_t least = 0,
                      std::uint64_t otherwise = 0) const {
    const auto text = get(key);
    return text ? whole_number(key, *text, least, most) : otherwise;
  }

  bool flag(const std::string& key) const {
    const std::string value = get(key).value_or("0");
    if (value != "0" && value != "1") throw BadInput(key + "=" + value + ": must be 0 or 1");
    return value == "1";
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace lab
