// The subcommands of the `lab` binary. To add one: declare its function here and give it a line in all_commands.cpp.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "reference/bad_input.hpp"

namespace lab {

struct Command {
  const char* name;
  int (*run)(std::span<char*> args);  // the exit status: 0 good, 1 red; throws BadInput for what main turns into 2
  const char* help;
  bool launches = true;  // needs a GPU, on that backend, that can run the stage
};

int test_command(std::span<char*> args);          // acceptance.cpp
int run_command(std::span<char*> args);           // run_files.cpp
int plan_command(std::span<char*> args);          // report.cpp
int trace_shared_command(std::span<char*> args);  // pages/trace_shared.cpp
int trace_waits_command(std::span<char*> args);   // pages/trace_shared.cpp
int reference_command(std::span<char*> args);     // pages/trace_reference.cpp
int order_command(std::span<char*> args);         // pages/order.cpp
int trace_command(std::span<char*> args);         // trace/trace.cpp
int layouts_command(std::span<char*> args);       // pages/layouts.cpp
int racecheck_command(std::span<char*> args);     // racecheck.cpp
int bench_cpu_command(std::span<char*> args);     // bench_cpu.cpp
int bench_command(std::span<char*> args);         // gpu/bench.cpp
int phases_command(std::span<char*> args);        // gpu/phases.cpp
int error_map_command(std::span<char*> args);     // error_map.cpp
int fingerprint_command(std::span<char*> args);   // fingerprint.cpp
int once_command(std::span<char*> args);          // fingerprint.cpp
int fuzz_command(std::span<char*> args);          // fuzz.cpp
int blindness_command(std::span<char*> args);     // blindness.cpp
int predict_command(std::span<char*> args);       // exercises/predict.cpp
int card_command(std::span<char*> args);          // exercises/predict.cpp
int counts_command(std::span<char*> args);        // exercises/counts.cpp
int counters_command(std::span<char*> args);      // counters/counters.cpp
int bits_command(std::span<char*> args);          // bits/bits.cpp

// The commands of the program at hand: all of them (all_commands.cpp), what a stage's test needs
// (test_commands.cpp), or what an exercise does (learner_commands.cpp).
std::span<const Command> commands();

// The `key=value` arguments of a command. A key that is unknown or given twice is the user's mistake, never
// ignored.
class KeyValues {
 public:
  KeyValues(std::span<char*> args, std::span<const std::string_view> known) {
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
    float value = 0;
    const char* last = text->data() + text->size();
    const auto [end, error] = std::from_chars(text->data(), last, value);
    if (error != std::errc() || end != last || !std::isfinite(value))
      throw BadInput(key + "=" + *text + ": must be a finite decimal number, such as 0.125");
    return value;
  }

  // A whole number from 0 to `most`; 0 where the key is not given.
  std::uint64_t whole(const std::string& key, std::uint64_t most) const {
    const double value = double(number(key).value_or(0));
    if (value < 0 || value > double(most) || value != std::floor(value))
      throw BadInput(key + "=" + *get(key) + ": must be a whole number from 0 to " + std::to_string(most));
    return std::uint64_t(value);
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
