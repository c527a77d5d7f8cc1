#include <regex>
#include <sstream>

#include "checks/acceptance/format.hpp"
#include "checks/desk/records/records.hpp"

namespace lab::desk {
namespace {

template <class X>
X at_share(std::vector<X> values, double share) {
  std::ranges::sort(values);
  return values[std::size_t(share * double(values.size() - 1) + 0.5)];
}

struct Row {
  std::string name;
  unsigned median, p10, p90;
};
std::vector<Row> rows_of(const std::vector<Part>& parts, const std::map<int, std::string>& names) {
  std::vector<Row> rows;
  for (const Part& part : parts)
    for (const auto& [number, clocks] : part.seen.stamps) {
      const auto name = names.find(number);
      if (name == names.end()) throw BadInput("stamp " + std::to_string(number) + " has no name in its patch");
      rows.push_back({name->second, at_share(clocks, 0.5), at_share(clocks, 0.1), at_share(clocks, 0.9)});
    }
  return rows;
}

// A kernel that reads its clock is no part of the sum.
bool is_timed(const Part& part) { return part.seen.stamps.empty(); }

}  // namespace

PhasesOutput read_phases_output(const std::string& text, const std::string& what) {
  PhasesOutput out;
  for (const std::string& line : lines_of(text)) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "time") {
      for (double us; words >> us;) out.us.push_back(us);
    } else if (kind == "stamp") {
      int number = 0;
      words >> number;
      for (unsigned clocks; words >> clocks;) out.stamps[number].push_back(clocks);
    }
  }
  if (out.us.empty()) throw BadInput(what + " printed no time");
  return out;
}

std::map<int, std::string> stamp_names(const Patch& patch) {
  const std::regex line(R"(^\s*(?:if \(.*\) )?stamp\((\d+)\);\s*// (.+)$)");
  std::map<int, std::string> names;
  for (const Hunk& hunk : patch.hunks)
    for (const PatchLine& added : hunk.lines) {
      std::smatch found;
      if (added.kind == '+' && std::regex_match(added.text, found, line)) names[std::stoi(found[1])] = found[2];
    }
  return names;
}

std::string phases_text(const Json& facts, const std::vector<Part>& parts, const std::map<int, std::string>& names) {
  std::string out = title_of(facts, {"stage", "shape"});
  out += "us per launch in a graph, median (least to most); each line does what the one before does, and more\n";
  for (const Part& part : parts)
    if (is_timed(part))
      out += format("%8.2f (%.2f to %.2f)  %s\n", at_share(part.seen.us, 0.5), at_share(part.seen.us, 0),
                    at_share(part.seen.us, 1), part.what.c_str());
  const auto rows = rows_of(parts, names);
  if (!rows.empty()) out += "clocks from a block's start until, median (10th to 90th percentile of the blocks)\n";
  for (const Row& row : rows) out += format("%8u (%u to %u)  %s\n", row.median, row.p10, row.p90, row.name.c_str());
  return out;
}

std::string phases_json(const Json& facts, const std::vector<Part>& parts, const std::map<int, std::string>& names) {
  Json timed = Json::array(), stamped = Json::array();
  for (const Part& part : parts)
    if (is_timed(part))
      timed.push_back({{"what", part.what},
                       {"us", at_share(part.seen.us, 0.5)},
                       {"least", at_share(part.seen.us, 0)},
                       {"most", at_share(part.seen.us, 1)}});
  for (const Row& row : rows_of(parts, names))
    stamped.push_back({{"name", row.name}, {"median", row.median}, {"p10", row.p10}, {"p90", row.p90}});
  Json all = {{"schema", "phases-1"}};
  all.update(facts);
  all["parts"] = timed, all["phases"] = stamped;
  return laid_out(all, 2);
}

// desk-records phases: a kernel and its parts, timed one after the other.
int phases_command(const Args& args) {
  const std::string &shape = args[0], stage = stage_of(args[2]);
  if (!shape_of(shape)) throw BadInput("shape=" + shape + ": not B,H,S,D[,causal]");
  std::vector<Part> parts;
  std::map<int, std::string> names;
  Part whole;
  for (std::size_t i = 2; i < args.size(); ++i) {
    const std::string& lab = args[i];
    const std::string variant = fs::path(lab).parent_path().filename();
    const Ran ran = capture({lab, "phases", "shape=" + shape});
    if (ran.status != 0) throw BadInput(lab + " failed: " + ran.err);
    Part part{variant, "the whole kernel", read_phases_output(ran.out, lab)};
    if (variant == "fixed") {
      whole = part;
      continue;
    }
    const Patch patch = read_patch(patch_path(stage, variant));
    part.what = patch.plants;
    if (!part.seen.stamps.empty()) names = stamp_names(patch);
    parts.push_back(part);
  }
  if (parts.empty()) throw BadInput(stage + " has no parts to time: there is nothing in stages/" + stage + "/phases/");
  parts.push_back(whole);
  const Json facts = {{"stage", stage},
                      {"shape", shape},
                      {"gpu", gpu_field("name")},
                      {"driver", gpu_field("driver_version")},
                      {"cuda", nvcc_release()},
                      {"date", utc_time()},
                      {"commit", commit()},
                      {"command", "make stage=" + stage + " phases shape=" + shape},
                      {"clock_mhz", std::stoi(gpu_field("clocks.max.sm"))}};
  std::fputs(phases_text(facts, parts, names).c_str(), stdout);
  const std::string json = args[1].empty() ? "writeups/results/phases-" + short_stage_name(stage) + ".json" : args[1];
  write_text(json, phases_json(facts, parts, names));
  std::printf("kept as %s\n", json.c_str());
  return 0;
}

}  // namespace lab::desk
