#include "checks/desk/records/bits.hpp"

#include <algorithm>
#include <cctype>

#include "checks/desk/desk.hpp"
#include "reference/bad_input.hpp"

namespace lab::desk {
namespace {

constexpr std::size_t DIGITS = 16, SHOWN = 3;

void add_some(std::vector<std::string>& lines, const std::vector<std::string>& cases, const std::string& what) {
  for (std::size_t i = 0; i < std::min(cases.size(), SHOWN); ++i) lines.push_back(what + ": " + cases[i]);
  if (cases.size() > SHOWN) lines.push_back("and " + std::to_string(cases.size() - SHOWN) + " more of these");
}

}  // namespace

Json digests_in(const std::string& printed) {
  Json digests = Json::object();
  for (const std::string& line : lines_of(printed)) {
    const auto digits = std::ranges::find_if_not(line, [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (std::size_t(digits - line.begin()) != DIGITS || line.size() <= DIGITS + 1 || *digits != ' ')
      throw BadInput("'" + line + "' is no DIGEST CASE of lab bits");
    const std::string name = line.substr(DIGITS + 1);
    if (digests.contains(name)) throw BadInput("two cases of lab bits are called '" + name + "'");
    digests[name] = line.substr(0, DIGITS);
  }
  return digests;
}

BitsVerdict compare_bits(const Json& recorded, const Json& now, bool whole) {
  BitsVerdict verdict;
  std::vector<std::string> other_bits, not_recorded, not_run;
  for (const auto& [name, digest] : now.items()) {
    ++verdict.cases;
    if (!recorded.contains(name))
      not_recorded.push_back(name);
    else if (recorded.at(name) != digest)
      other_bits.push_back(name);
    else
      ++verdict.equal;
  }
  if (whole)
    for (const auto& item : recorded.items())
      if (!now.contains(item.key())) not_run.push_back(item.key());
  add_some(verdict.lines, other_bits, "other bits");
  add_some(verdict.lines, not_recorded, "not in the record");
  add_some(verdict.lines, not_run, "in the record, and no case");
  return verdict;
}

std::string bits_json(const Json& where, const Json& stages) {
  Json all = {{"schema", "bits-1"}};
  all.update(where);
  all["digests"] = "FNV-1a, 64 bits, of the output's fp16 bytes, every NaN as 7e00";
  all["stages"] = stages;
  return all.dump(1) + "\n";
}

}  // namespace lab::desk
