#include "checks/desk/evolve/fitness.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

#include "checks/acceptance/format.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/budget/ptxas.hpp"
#include "checks/desk/desk.hpp"
#include "checks/desk/process.hpp"
#include "checks/desk/records/capture.hpp"
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

double modelled_us(const std::string& plan_json, const std::string& counts, const Shape& shape) {
  const Json plan = parse_json(plan_json, "plan");
  std::map<std::string, double> n;
  for (const std::string& line : lines_of(counts))
    if (const auto words = words_of(line); words.size() == 2) n[words[0]] = std::strtod(words[1].c_str(), nullptr);
  if (!n.contains("threads")) throw BadInput("counts: " + (counts.empty() ? std::string("nothing") : counts));
  constexpr double SMS = 132, CLOCKS_PER_US = 1755, FLOP = 4096, EXPONENTIALS = 16, SHARED_BYTES = 128, L2_BYTES = 48;
  constexpr double BARRIER = 30, PHASE = 60;  // clocks
  const double M = plan.at("tile_m"), smem = plan.at("smem"), threads = n["threads"];
  const double keys = shape.S, slots = plan.at("slots");
  const double tensor = 4 * M * keys * shape.D / FLOP, exponentials = M * keys / EXPONENTIALS;
  const double copies = n["tma-bytes"] / L2_BYTES, shared = (n["read-bytes"] + n["written-bytes"]) / SHARED_BYTES;
  const double waits = (n["barriers"] * BARRIER + n["phases"] * PHASE) * (1 + 1 / slots);
  const double together = std::clamp(std::floor(std::min(233472 / (smem + 1024), 2048 / threads)), 1.0, 4.0);
  const double longest = std::max({tensor, exponentials, copies, shared});
  const double sum = tensor + exponentials + copies + shared;
  const double block = longest + 0.3 * (sum - longest) / std::max(1.0, threads / 256) + waits / together;
  const double blocks = std::ceil(shape.S / M) * shape.B * shape.H;
  const double rounds = blocks / SMS / (shape.causal ? 2 : 1);
  return std::max(1.0, shape.causal ? rounds : std::ceil(rounds)) * block / CLOCKS_PER_US + 2;
}

double model_of(const std::string& program, const std::string& shape, const std::string& scratch) {
  std::filesystem::remove(scratch);
  if (capture({program, "counters", "shape=" + shape, "json=" + scratch}).status == 0)
    return parse_json(read_text(scratch), scratch).at("floor").at("us");
  const Shape whole = *shape_of(shape);
  Shape one = whole;
  one.B = one.H = 1, one.causal = false;
  const Ran plan = capture({program, "plan", "1", "1", std::to_string(one.S), std::to_string(one.D)});
  const Ran counts = capture({program, "counts", "shape=" + shape_word(one)});
  if (plan.status != 0 || counts.status != 0)
    throw BadInput(program + " counts: " + trimmed(counts.out + counts.err, "\n"));
  return modelled_us(plan.out, counts.out, whole);
}

}  // namespace lab::desk
