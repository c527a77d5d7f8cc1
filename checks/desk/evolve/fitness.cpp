#include "checks/desk/evolve/fitness.hpp"

#include <algorithm>
#include <filesystem>

#include "checks/acceptance/format.hpp"
#include "checks/budget/ptxas.hpp"
#include "checks/desk/desk.hpp"
#include "checks/desk/process.hpp"
#include "checks/desk/records/json_text.hpp"

namespace lab::desk {
namespace {

std::string first_with(const std::string& text, const std::string& piece) {
  for (const std::string& line : lines_of(text))
    if (line.find(piece) != line.npos) return line;
  return "";
}

}  // namespace

void read_build_log(Candidate& c, const std::string& log, bool built) {
  if (!built) {
    const std::string error = first_with(log, "error");
    c.verdict = "broken", c.reason = "does not compile: " + (error.empty() ? "see its kernel.log" : error);
    return;
  }
  const PtxasLog ptxas = parse_ptxas(log);
  for (const KernelResources& k : ptxas.kernels) {
    c.registers = std::max(c.registers.value_or(0), k.registers);
    c.spills = c.spills.value_or(0) + k.spill_stores + k.spill_loads;
  }
  if (!ptxas.lost.empty())
    c.verdict = "broken", c.reason = "ptxas: " + ptxas.lost.front();
  else if (c.spills.value_or(0) > 0)
    c.verdict = "too large", c.reason = format("spills %zu bytes; the lab allows none", *c.spills);
}

void read_judge(Candidate& c, const std::string& out, int status, bool timed_out) {
  for (const std::string& line : lines_of(out)) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "smem" && words.size() == 2) c.smem = std::stoull(words[1]);
    if (words[0] == "refused") {
      c.right = false, c.verdict = "wrong", c.reason = line.substr(8);
      if (c.reason.starts_with("launch: ")) c.verdict = "broken";
      return;
    }
    if (words[0] == "us")
      for (std::size_t i = 1; i < words.size(); ++i) c.us.push_back(std::strtod(words[i].c_str(), nullptr));
  }
  if (timed_out || status != 0) {
    std::string last;
    for (const std::string& line : lines_of(out))
      if (!trimmed(line).empty()) last = trimmed(line);
    c.us.clear(), c.verdict = "broken";
    c.reason = timed_out ? "did not end in time" : format("ended with status %d: %s", status, last.c_str());
    return;
  }
  c.right = true;
}

double model_of(const std::string& program, const std::string& shape, const std::string& scratch) {
  std::filesystem::remove(scratch);
  const Ran ran = capture({program, "counters", "shape=" + shape, "json=" + scratch});
  if (ran.status != 0) throw BadInput(program + " counters: " + trimmed(ran.out + ran.err, "\n"));
  return parse_json(read_text(scratch), scratch).at("floor").at("us");
}

}  // namespace lab::desk
