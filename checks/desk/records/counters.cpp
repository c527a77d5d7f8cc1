#include <cmath>

#include "checks/acceptance/format.hpp"
#include "checks/desk/records/records.hpp"

namespace lab::desk {
namespace {

constexpr double LARGE = 0.05;

// A whole number with thin groups: 8,528,000.
std::string grouped(double value) {
  std::string text = format("%.0f", value);
  for (int at = int(text.size()) - 3; at > 0; at -= 3) text.insert(std::size_t(at), ",");
  return text;
}

std::optional<double> median_of(const std::vector<Json>& benches, const std::string& stage, const std::string& shape) {
  std::optional<double> median;
  for (const Json& bench : benches)
    for (const Json& c : bench.at("cases"))
      if (c.at("program") == stage && c.at("shape") == shape && c.at("status") == "ok")
        median = c.at("figures").at("graph").at("median").get<double>();
  return median;
}

const std::string COMMITTED_COUNTS = "writeups/results/counters.json", COUNTS = "build/counters/";
// The first is what `make test` counts again.
const std::vector<std::string> SHAPES = {"1,1,512,64", "1,8,512,64", "2,8,2048,64"};
constexpr const char *PROFILED = "1,8,512,64", *LARGE_SHAPE = "2,8,2048,64";
// The large shape asks for 32 times as much as the profiled one: not counted where that takes minutes.
constexpr double MOST_INSTRUCTIONS = 3e6;

Json count(const std::string& lab, const std::string& shape) {
  fs::create_directories(COUNTS);
  const std::string file = COUNTS + stage_of(lab) + ".json";
  const Ran ran = capture({lab, "counters", "shape=" + shape, "json=" + file});
  if (ran.status != 0) throw BadInput("no counts from " + lab + ": " + ran.out + ran.err);
  return load_results(file, "counters-1", "lab counters");
}

double instructions(const Json& counters) {
  double sum = 0;
  for (const auto& [kind, tally] : counters.at("totals").items()) sum += tally.at("instructions").get<double>();
  return sum;
}

Json committed() { return load_results(COMMITTED_COUNTS, "counted-1", "make counters json=" + COMMITTED_COUNTS); }

std::vector<Measured> profiles(const std::string& shape) {
  std::vector<Measured> all;
  for (const Stage& stage : read_ladder().stages) {
    const std::string path = "writeups/results/profile-" + stage.dir + "-" + replaced(shape, ",", "-") + ".json";
    if (!fs::exists(path)) continue;
    all.push_back({stage.dir, stage.short_name(), load_results(path, "profile-1", "make profile")});
  }
  return all;
}

// Why the two may differ by more than 5 %.
struct Explained {
  const char* letter;
  const char* column;
  std::vector<const char*> stages;  // short names
  const char* why;
};
const std::vector<Explained> EXPLAINED = {
    {"a",
     "load wavefronts",
     {"v1", "v2b", "v2c3", "v2c5"},
     "The source moves two halves or one float at a time. nvcc joins neighbours into accesses of 8 and 16 bytes, "
     "which take fewer cycles, and keeps in registers what the source reads again."},
    {"a", "store wavefronts", {"v2c3"}, ""},
    {"b",
     "store wavefronts",
     {"v2c6", "v3e", "v3f"},
     "Explained in part: the GPU's number differs between runs (v2c6 433,368 and 431,959, v3d 4,452, 4,422 and "
     "4,222), by cycles that depend on when others use the banks, and the count here depends on addresses alone. The "
     "runs differ by less than the two counts do."},
    {"c",
     "cp.async",
     {"v2b", "v2c3", "v2c5", "v2c6", "v2c7", "v2c8", "v2c9"},
     "`__pipeline_memcpy_async` with a number of zeros to fill in is two instructions with opposite predicates, one "
     "for none and one for 16. Both count as executed, and the one that is held back as two sectors. From v2d on "
     "whole tiles have a loop of their own."},
    {"c", "load sectors", {"v2b", "v2c3", "v2c5", "v2c6", "v2c7", "v2c8", "v2c9"}, ""},
    {"d",
     "exponentials",
     {"v1", "v2b", "v2c3", "v2c5", "v2c6", "v2c7"},
     "A division is a MUFU.RCP and some arithmetic; `/` in the source is not counted."},
    {"e",
     "barriers",
     {"v3e", "v3f"},
     "A barrier behind `if` is an instruction with a predicate: executed, by this counter, also where it is held "
     "back, once per warp here."},
    {"f",
     "load wavefronts",
     {"v4a", "v4b", "v4c"},
     "Two loads of 8 bytes side by side, which nvcc makes one of 16: half as many instructions, and no conflict."},
};

// The letter, "" where nothing is said.
std::string explanation(const std::string& column, const std::string& stage) {
  for (const Explained& e : EXPLAINED)
    if (e.column == column &&
        std::ranges::find(e.stages, stage, [](const char* s) { return std::string(s); }) != e.stages.end())
      return e.letter;
  return "";
}

}  // namespace

const std::vector<Compared> COMPARED = {
    {"load wavefronts",
     {{"shared load", "wavefronts"}, {"ldmatrix", "wavefronts"}, {"wmma load", "wavefronts"}},
     "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
    {"store wavefronts",
     {{"shared store", "wavefronts"}, {"stmatrix", "wavefronts"}},
     "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"},
    {"ldmatrix", {{"ldmatrix", "instructions"}, {"wmma load", "instructions"}}, nullptr, "LDSM"},
    {"cp.async", {{"cp.async", "instructions"}}, nullptr, "LDGSTS"},
    {"TMA loads", {{"TMA load", "instructions"}}, nullptr, "UTMALDG"},
    {"load sectors",
     {{"global load", "sectors"}, {"cp.async", "sectors"}},
     "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
    {"store sectors", {{"global store", "sectors"}}, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
    {"mma", {{"mma", "instructions"}}, nullptr, "HMMA"},
    {"wgmma", {{"wgmma", "instructions"}}, nullptr, "HGMMA"},
    {"exponentials", {{"exponential", "instructions"}, {"reciprocal", "instructions"}}, nullptr, "MUFU"},
    {"shuffles", {{"shuffle", "instructions"}}, nullptr, "SHFL"},
    {"barriers", {{"barrier", "instructions"}, {"named barrier", "instructions"}}, nullptr, "BAR"},
    {"remote stores", {{"remote store", "instructions"}}, nullptr, "STAS"},
};

double Pair::off() const { return counted == measured ? 0 : measured == 0 ? INFINITY : counted / measured - 1; }

std::optional<Pair> pair_of(const Compared& what, const Json& totals, const Json& profile) {
  Pair pair;
  for (const auto& [kind, member] : what.ours)
    if (totals.contains(kind)) pair.counted += totals.at(kind).at(member).get<double>();
  const Json& from = profile.at(what.metric ? "metrics" : "opcodes");
  const char* const name = what.metric ? what.metric : what.opcode;
  if (what.metric && !from.contains(name)) return std::nullopt;
  pair.measured = from.value(name, 0.0);  // an opcode that is not there was not executed
  return pair;
}

std::vector<std::string> unexplained(const Json& counted, const std::vector<Measured>& measured,
                                     const std::string& shape) {
  std::vector<std::string> lines;
  for (const Measured& m : measured)
    for (const Compared& what : COMPARED) {
      const auto pair = pair_of(what, counted.at("stages").at(m.stage).at(shape).at("totals"), m.profile);
      if (!pair) continue;
      const bool large = std::abs(pair->off()) > LARGE, said = !explanation(what.column, m.short_name).empty();
      if (large != said)
        lines.push_back(format("%s, %s: %s counted, %s measured, and %s", m.short_name.c_str(), what.column,
                               grouped(pair->counted).c_str(), grouped(pair->measured).c_str(),
                               large ? "no reason is given" : "a reason for a difference that is not there"));
    }
  return lines;
}

std::string validation_table(const Json& counted, const std::vector<Measured>& measured, const std::string& shape) {
  std::string head = "| |", line = "|---|", rows;
  for (const Compared& what : COMPARED) head += std::string(" ") + what.column + " |", line += "--:|";
  for (const Measured& m : measured) {
    rows += "| " + m.short_name + " |";
    for (const Compared& what : COMPARED) {
      const auto pair = pair_of(what, counted.at("stages").at(m.stage).at(shape).at("totals"), m.profile);
      std::string cell;
      if (!pair) {
        cell = "?";
      } else if (pair->counted == pair->measured) {
        cell = pair->counted == 0 ? "" : "=";
      } else {
        cell = pair->measured == 0 ? grouped(pair->counted) + " : 0" : format("%+.1f %%", 100 * pair->off());
        if (const std::string letter = explanation(what.column, m.short_name); !letter.empty()) cell += " " + letter;
      }
      rows += cell.empty() ? " |" : " " + cell + " |";
    }
    rows += '\n';
  }
  std::string why;
  for (const Explained& e : EXPLAINED)
    if (*e.why) why += std::string("\n- **") + e.letter + "** " + e.why;
  return head + "\n" + line + "\n" + rows + why + "\n";
}

std::string floors_table(const Json& counted, const std::vector<std::pair<std::string, std::string>>& stages,
                         const std::vector<Json>& benches, const std::string& shape) {
  std::string head, rows;
  for (const auto& [stage, short_name] : stages) {
    const Json& shapes = counted.at("stages").at(stage);
    if (!shapes.contains(shape)) continue;
    const Json& floor = shapes.at(shape).at("floor");
    if (head.empty()) {
      head = "| | measured, µs | no less than | of it |";
      std::string line = "|---|--:|--:|--:|";
      for (const Json& roof : floor.at("roofs"))
        head += " " + roof.at("name").get<std::string>() + " |", line += "--:|";
      head += "\n" + line + "\n";
    }
    const double least = floor.at("us").get<double>();
    const auto measured = median_of(benches, stage, shape);
    rows += "| " + short_name + " | " + (measured ? format("%.2f", *measured) : "") + " | " + format("%.2f", least) +
            " | " + (measured ? format("%.0f %%", 100 * least / *measured) : "") + " |";
    for (const Json& roof : floor.at("roofs")) {
      const std::string us = format("%.2f", roof.at("us").get<double>());
      rows += roof.at("name") == floor.at("binds") ? " **" + us + "** |" : " " + us + " |";
    }
    rows += '\n';
  }
  return head + rows;
}

std::vector<std::string> differences(const Json& counted, const Json& now, const std::string& shape) {
  std::vector<std::string> lines;
  for (const auto& [stage, shapes] : now.at("stages").items()) {
    if (!counted.at("stages").contains(stage) || !counted.at("stages").at(stage).contains(shape)) {
      lines.push_back(stage + ": nothing is committed");
      continue;
    }
    const Json &before = counted.at("stages").at(stage).at(shape).at("totals"), &after = shapes.at(shape).at("totals");
    for (const auto& [kind, tally] : after.items())
      for (const auto& [member, value] : tally.items()) {
        const Json was = before.contains(kind) ? before.at(kind).at(member) : Json(0);
        if (was != value)
          lines.push_back(stage + ", " + kind + ": " + member + " " + was.dump() + " committed, " + value.dump() +
                          " now");
      }
    for (const auto& [kind, tally] : before.items())
      if (!after.contains(kind)) lines.push_back(stage + ", " + kind + ": committed, and not counted now");
  }
  return lines;
}

std::string counted_json(const std::vector<Json>& counters) {
  Json all = {{"schema", "counted-1"},
              {"command", "make counters json=writeups/results/counters.json"},
              {"stages", Json::object()}};
  for (const Json& c : counters)
    all["stages"][c.at("stage").get<std::string>()][c.at("shape").get<std::string>()] = {
        {"blocks", c.at("blocks")}, {"floor", c.at("floor")}, {"totals", c.at("totals")}};
  return laid_out(all, 5);
}

// desk-records counters LABS [JSON]: all stages, counted by the CPU execution, as they were committed; or a new file of
// it, which takes minutes. desk-records counters-table [SHAPE], floors-table: for the pages.
int counters_command(const Args& args) {
  const std::string json = args.size() > 1 ? args[1] : "";
  std::vector<Json> all;
  for (const Stage& stage : read_ladder().stages)
    for (const std::string& shape : json.empty() ? std::vector{SHAPES[0]} : SHAPES) {
      if (shape == LARGE_SHAPE && instructions(all.back()) > MOST_INSTRUCTIONS) {
        std::printf("%-20s %-13s not counted: it would take minutes\n", stage.dir.c_str(), shape.c_str());
        continue;
      }
      all.push_back(count(lab_path(args[0], stage.dir, "checked"), shape));
      std::printf("%-20s %-13s no less than %8.2f us, by %s\n", stage.dir.c_str(), shape.c_str(),
                  all.back().at("floor").at("us").get<double>(),
                  all.back().at("floor").at("binds").get<std::string>().c_str());
      std::fflush(stdout);
    }
  const std::string text = counted_json(all);
  if (!json.empty()) {
    write_text(json, text);
    std::printf("kept as %s\n", json.c_str());
    return 0;
  }
  const Json now = parse_json(text, "what was counted");
  const auto changed = differences(committed(), now, SHAPES[0]),
             without_reason = unexplained(committed(), profiles(PROFILED), PROFILED);
  for (const std::string& line : changed) std::printf("%s\n", line.c_str());
  if (!changed.empty()) std::printf("make counters json=%s renews what is committed\n", COMMITTED_COUNTS.c_str());
  for (const std::string& line : without_reason) std::printf("%s\n", line.c_str());
  return told({int(all.size() + COMPARED.size()), int(changed.size() + without_reason.size())});
}

int counters_table_command(const Args& args) {
  const std::string shape = args.empty() ? PROFILED : args[0];
  std::fputs(validation_table(committed(), profiles(shape), shape).c_str(), stdout);
  return 0;
}

int floors_table_command(const Args& args) {
  std::vector<fs::path> files;
  for (const fs::path& path : files_in("writeups/results", ".json"))
    if (const std::string name = path.filename().string(); name.starts_with("bench-") || name.starts_with("small-"))
      files.push_back(path);
  // By date, whatever they are called.
  std::ranges::sort(files, {}, [](const auto& path) { return path.filename().string().substr(6); });
  std::vector<Json> benches;
  for (const auto& path : files) benches.push_back(load_results(path, "bench-1", "make bench"));
  std::vector<std::pair<std::string, std::string>> stages;
  for (const Stage& stage : read_ladder().stages) stages.emplace_back(stage.dir, stage.short_name());
  std::fputs(floors_table(committed(), stages, benches, args.empty() ? PROFILED : args[0]).c_str(), stdout);
  return 0;
}

}  // namespace lab::desk
