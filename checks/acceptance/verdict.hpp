// A command's results, as data for the script that started it (pass or fail is the exit status): lines KEY=VALUE, added to the file that
// LAB_VERDICT names in the environment. The report for people goes to standard output, made of the same.
//   tells    what is red, in the one line that says most     red      the report's lines on what is red, each
//   hang     how the first waits stand in a launch that no thread could end (data_of in common/hang.hpp)
//   stopped  why a launch for a tool to watch ended early
//   skipped  why nothing ran
//   right, asked   of a learner's prediction: how many parts hold, of how many; near, accepted: a wrong one, in words
//   us, smem, refused   of a candidate of the search
//   case     a case that is red, to be run again
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lab {

inline constexpr const char* VERDICT_FILE = "LAB_VERDICT";

// Does nothing where no file is asked for. Of a value of several lines the first.
void record(std::string_view key, const std::string& value);
// Prints `text` with a new line, and records each of its lines as `red`.
void print_red(const std::string& text);

// Such a file, read.
class Verdict {
 public:
  Verdict() = default;
  explicit Verdict(const std::string& text);
  static Verdict from(const std::string& file);  // empty where there is none
  std::vector<std::string> all(std::string_view key) const;
  std::string first(std::string_view key) const;  // "" if there is none

 private:
  std::vector<std::pair<std::string, std::string>> said_;
};

}  // namespace lab
