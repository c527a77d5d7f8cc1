#include "checks/desk/records/records.hpp"

namespace lab::desk {
namespace {

constexpr std::size_t DIGITS = 16, SHOWN = 3;

void add_some(std::vector<std::string>& lines, const std::vector<std::string>& cases, const std::string& what) {
  for (std::size_t i = 0; i < std::min(cases.size(), SHOWN); ++i) lines.push_back(what + ": " + cases[i]);
  if (cases.size() > SHOWN) lines.push_back("and " + std::to_string(cases.size() - SHOWN) + " more of these");
}

const std::string RESULTS = "writeups/results/", RECORDED_BY = "make backend=gpu bits record=1";

// "H200" of "NVIDIA H200", "H100" of "NVIDIA H100 80GB HBM3": its first word with a digit.
std::string model(const std::string& gpu) {
  std::istringstream words(gpu);
  for (std::string word; words >> word;)
    if (std::ranges::any_of(word, [](unsigned char c) { return std::isdigit(c) != 0; })) return word;
  return gpu;
}

// Nothing where the GPU at hand cannot run the stage. Throws std::runtime_error where the cases do not run to their
// end.
std::optional<Json> digests_of(const std::string& lab, bool quick) {
  const Ran ran = capture(quick ? Args{lab, "bits", "quick=1"} : Args{lab, "bits"});
  if (ran.status == STAGE_SKIPPED) return std::nullopt;
  if (ran.status != 0)
    throw std::runtime_error("lab bits ended with status " + std::to_string(ran.status) + ": " +
                             ran.err.substr(0, ran.err.find('\n')));
  return digests_in(ran.out);
}

int record(const std::string& file, const Args& labs) {
  const std::string gpu = gpu_field("name");
  if (gpu.empty()) throw BadInput("record=1: nvidia-smi names no GPU");
  const std::string path = !file.empty() ? file : RESULTS + "bits-" + model(gpu) + ".json";
  Json stages = Json::object();
  for (const std::string& lab : labs) {
    const auto digests = digests_of(lab, false);
    if (!digests) throw BadInput(stage_of(lab) + " cannot run here, and the record is of all stages");
    stages[stage_of(lab)] = *digests;
    std::printf("%s: %zu cases\n", short_stage_name(stage_of(lab)).c_str(), digests->size());
    std::fflush(stdout);
  }
  Json where = {{"command", RECORDED_BY}};
  for (const auto& [key, value] : measured_on()) where[key] = value;
  write_text(path, bits_json(where, stages));
  std::printf("recorded: %s\n", path.c_str());
  return 0;
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

// desk-records bits RECORD QUICK FILE LAB...: runs the cases of `lab bits` and holds the digests of the outputs to
// those in FILE ("": bits-H100.json), or, with RECORD 1, writes them there ("": named by the GPU). Exit status 1 where a
// case differs, or is on one side only; a stage without a record is skipped, and said.
int bits_command(const Args& args) {
  for (const auto& [word, value] : {std::pair("record", args[0]), {"quick", args[1]}})
    if (!value.empty() && value != "0" && value != "1")
      throw BadInput(std::string(word) + "=" + value + ": must be 0 or 1");
  const bool quick = args[1] == "1";
  const Args labs(args.begin() + 3, args.end());
  if (args[0] == "1") return record(args[2], labs);
  const std::string path = args[2].empty() ? RESULTS + "bits-H100.json" : args[2];
  if (!fs::exists(path)) {
    std::printf("no %s: on a machine with that GPU, %s records it\n0 passed, 1 failed\n", path.c_str(),
                RECORDED_BY.c_str());
    return 1;
  }
  const Json recorded = load_results(path, "bits-1", RECORDED_BY);
  const std::string gpu = model(recorded.at("gpu"));
  Counts counts;
  for (const std::string& lab : labs) {
    const std::string stage = stage_of(lab);
    if (!recorded.at("stages").contains(stage)) {  // a new kernel, and no GPU has run it yet
      std::printf("%s: no %s has recorded its bits (%s)\n", short_stage_name(stage).c_str(), gpu.c_str(),
                  RECORDED_BY.c_str());
      ++counts.skipped;
      continue;
    }
    std::optional<Json> now;
    try {
      now = digests_of(lab, quick);
    } catch (const std::runtime_error& e) {
      std::printf("%s: %s\n", short_stage_name(stage).c_str(), e.what());
      ++counts.failed;
      continue;
    }
    if (!now) {
      ++counts.skipped;
      continue;
    }
    const BitsVerdict verdict = compare_bits(recorded.at("stages").at(stage), *now, !quick);
    std::printf("%s: %zu of %zu cases have the %s's bits\n", short_stage_name(stage).c_str(), verdict.equal,
                verdict.cases, gpu.c_str());
    for (const std::string& line : verdict.lines) std::printf("    %s\n", line.c_str());
    std::fflush(stdout);
    counts.add(verdict.good());
  }
  told(counts);
  return counts.failed > 0 || counts.passed == 0 ? 1 : 0;
}

}  // namespace lab::desk
