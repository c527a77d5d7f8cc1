#include <cmath>

#include "checks/acceptance/format.hpp"
#include "checks/desk/records/records.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

struct Stall {
  const char *name, *why;
};
constexpr Stall STALLS[] = {{"long_scoreboard", "waiting for global or L2 memory"},
                            {"short_scoreboard", "waiting for shared memory, shuffles or exp"},
                            {"barrier", "waiting at a block barrier"},
                            {"mio_throttle", "the queue to shared memory and shuffles is full"},
                            {"math_pipe_throttle", "an arithmetic pipe is busy"},
                            {"wait", "fixed latency of the instruction before"},
                            {"lg_throttle", "the queue to global memory is full"},
                            {"not_selected", "ready, while another warp was chosen"},
                            {"selected", "issuing"},
                            {"no_instruction", "waiting for instructions to be fetched"},
                            {"branch_resolving", "waiting for a branch"},
                            {"dispatch_stall", "held back by the dispatcher"},
                            {"gmma", "waiting for a product of a warpgroup (wgmma)"}};

constexpr const char* PER_OPCODE = "sass__inst_executed_per_opcode";
// The metrics that the table, the figures and `make counters` read.
constexpr const char* METRICS[] = {
    "gpu__time_duration.sum",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active",
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__inst_executed.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_op_read.sum",
    "sm__cycles_active.sum",
    PER_OPCODE,
};

std::string stall_metric(const Stall& stall) {
  return std::string("smsp__average_warps_issue_stalled_") + stall.name + "_per_issue_active.ratio";
}

// A percentage and what it means: the sentence of the first limit that it stays below, or `above`.
struct Percentage {
  const char* what;
  std::vector<const char*> metrics;  // the first that this ncu and GPU have
  std::vector<std::pair<double, const char*>> below;
  const char* above;
  bool at_most = false;      // a value equal to the limit still has the smaller one's sentence
  const char* of = nullptr;  // a metric that the first is a share of
};
const Percentage PERCENTAGES[] = {
    {"tensor pipe active",
     {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
      "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active"},
     {{0.5, "No matrix instruction is issued: all arithmetic is scalar."},
      {20, "The tensor cores mostly wait for the code around them."}},
     "The tensor cores have work a good part of the time."},
    {"fp32 pipe active",
     {"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"},
     {{25, "Scalar arithmetic is not what takes the time."},
      {60, "Scalar arithmetic is a good part of the work, and not the limit."}},
     "Scalar multiply-adds are near their limit.",
     true},
    {"DRAM throughput",
     {"dram__throughput.avg.pct_of_peak_sustained_elapsed"},
     {{20, "Not bound by device memory: tiles are reused from L2 and shared memory."},
      {60, "Device memory is busy, and not the limit."}},
     "Bound by device memory."},
    {"bank conflicts of wavefronts",
     {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"},
     {{5, "The padded pitch keeps shared-memory accesses apart."}, {25, "Some accesses meet in a bank, at a price."}},
     "A good part of shared-memory time is spent on conflicts.",
     false,
     "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"},
    {"shared-memory pipe active",
     {"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active"},
     {{40, "Shared memory has time to spare."}, {70, "Shared memory is busy about half of the time."}},
     "Shared memory and shuffles are near their limit: fewer or wider accesses would help.",
     true},
    {"active warps",
     {"sm__warps_active.avg.pct_of_peak_sustained_active"},
     {{30, "Few warps to hide a latency behind: shared memory limits the blocks an SM holds."}},
     "Enough warps to switch to while some wait."},
    {"issue slots used",
     {"smsp__issue_active.avg.pct_of_peak_sustained_active"},
     {{40, "Most cycles issue nothing: warps wait."}, {70, "Half of the cycles issue nothing."}},
     "Instructions are issued nearly every cycle: only fewer instructions make it faster.",
     true}};
constexpr const char* NOT_GIVEN = "This ncu or GPU does not give it.";

ProfileRow row_of(const Percentage& p, const Profile& profile) {
  std::optional<double> value;
  for (const char* metric : p.metrics)
    if (!value) value = profile.metric(metric);
  if (const auto all = p.of ? profile.metric(p.of) : 100; value) {
    if (!all || !(*all > 0)) return {p.what, "-", NOT_GIVEN};
    *value *= 100 / *all;
  }
  if (!value) return {p.what, "-", NOT_GIVEN};
  const char* sentence = p.above;
  for (auto limit = p.below.rbegin(); limit != p.below.rend(); ++limit)
    if (p.at_most ? *value <= limit->first : *value < limit->first) sentence = limit->second;
  return {p.what, format("%.1f %%", *value), sentence};
}

std::optional<double> number(std::string text) {
  std::erase(text, ',');
  const auto value = number_in<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

double in_our_unit(const std::string& name, const std::string& unit) {
  constexpr std::pair<const char*, double> TIMES[] = {{"ns", 1e-3},     {"nsecond", 1e-3}, {"ms", 1e3},
                                                      {"msecond", 1e3}, {"s", 1e6},        {"second", 1e6}};
  if (name.find("time_duration") != name.npos)
    for (const auto& [word, scale] : TIMES)
      if (unit == word) return scale;
  return 1;
}

// The fields of "a","b","c".
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> found;
  const std::size_t end = line.find_last_of('"');
  for (std::size_t begin = 1; begin <= end;) {
    const std::size_t stop = std::min(line.find("\",\"", begin), end);
    found.push_back(line.substr(begin, stop - begin));
    begin = stop + 3;
  }
  return found;
}

// "5,120 (BAR: 1,024; FFMA: 4,096)", as ncu prints a metric that has an instance for each opcode.
std::vector<std::pair<std::string, double>> instances(const std::string& text) {
  std::vector<std::pair<std::string, double>> found;
  const std::size_t open = text.find('(');
  if (open == text.npos || !text.ends_with(')')) return found;
  for (std::size_t begin = open + 1; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size() - 1);
    const std::string instance = text.substr(begin, end - begin);
    const std::size_t colon = instance.find(": "), name = instance.find_first_not_of(' ');
    const auto value = colon == instance.npos ? std::nullopt : number(instance.substr(colon + 2));
    if (!value) throw BadInput("ncu's CSV: '" + instance + "' is no opcode and its count");
    found.emplace_back(instance.substr(name, colon - name), *value);
    begin = end + 1;
  }
  std::ranges::sort(found);
  return found;
}

// "void <unnamed>::attention<(int)64, (int)2>(lab::Args)" -> "attention<64, 2>"
std::string short_name(std::string kernel) {
  kernel = replaced(replaced(kernel, "<unnamed>::", ""), "(int)", "");
  kernel = kernel.substr(0, kernel.find('('));
  return kernel.substr(kernel.find_last_of(": ", kernel.find('<')) + 1);
}

// A log's reason for having no figures.
std::string reason(const std::string& log) {
  const std::string error = line_with(log, {"ERROR", "error"});
  return !error.empty() ? error : log.empty() ? "it printed nothing" : last_line(log);
}

std::string ncu_version() {
  const std::string line = line_with(capture({"ncu", "--version"}).out, {"Version "});
  return line.substr(std::min<std::size_t>(8, line.size()));
}

}  // namespace

std::optional<double> Profile::metric(const std::string& name) const {
  const auto found = std::ranges::find(metrics, name, &std::pair<std::string, double>::first);
  return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

Profile read_profile(const std::string& csv) {
  Profile profile;
  std::map<std::string, std::size_t> column;
  for (const std::string& line : lines_of(csv)) {
    if (!line.starts_with('"')) continue;
    const auto found = fields(line);
    if (!found.empty() && found[0] == "ID") {
      for (std::size_t i = 0; i < found.size(); ++i) column[found[i]] = i;
      for (const char* needed : {"Kernel Name", "Metric Name", "Metric Unit", "Metric Value"})
        if (!column.contains(needed)) throw BadInput(std::string("ncu's CSV has no column '") + needed + "'");
      continue;
    }
    if (column.empty()) continue;
    if (found.size() < column.size()) throw BadInput("ncu's CSV: too few fields in " + line);
    profile.kernel = short_name(found[column["Kernel Name"]]);
    const std::string& name = found[column["Metric Name"]];
    if (name == PER_OPCODE) {
      profile.opcodes = instances(found[column["Metric Value"]]);
      continue;
    }
    const auto value = number(found[column["Metric Value"]]);
    if (!value) continue;  // "n/a" of a metric that this GPU has not
    profile.metrics.emplace_back(name, *value * in_our_unit(name, found[column["Metric Unit"]]));
  }
  if (profile.metrics.empty()) throw BadInput("ncu saw no kernel");
  return profile;
}

std::vector<ProfileRow> diagnose(const Profile& profile, const Shape& shape) {
  std::vector<ProfileRow> rows;
  for (const Percentage& p : PERCENTAGES) rows.push_back(row_of(p, profile));
  const double tiles = double(shape.rows()) * shape.S / 64 * (shape.causal ? 0.5 : 1);  // a query row times 64 keys
  if (const auto instructions = profile.metric("smsp__inst_executed.sum"))
    rows.push_back({"instructions a row and 64 keys", format("%.0f", *instructions / tiles),
                    "Warp instructions for one query row against one tile of 64 keys; the writeup predicts them by "
                    "counting."});

  std::vector<std::pair<double, const Stall*>> stalls;
  double total = 0;
  for (const Stall& stall : STALLS)
    if (const auto time = profile.metric(stall_metric(stall))) stalls.emplace_back(*time, &stall), total += *time;
  std::ranges::stable_sort(stalls, std::greater<>(), &std::pair<double, const Stall*>::first);
  for (std::size_t i = 0; i < std::min<std::size_t>(4, stalls.size()) && total > 0; ++i)
    rows.push_back({std::string("stall ") + stalls[i].second->name, format("%.0f %%", 100 * stalls[i].first / total),
                    std::string("Share of the time of a resident warp: ") + stalls[i].second->why + "."});
  if (!(total > 0)) rows.push_back({"stalls", "-", NOT_GIVEN});
  if (const auto time = profile.metric("gpu__time_duration.sum"))
    rows.push_back({"time under the profiler", format("%.1f us", *time), "Caches flushed by ncu; not a benchmark."});
  return rows;
}

std::string profile_table(const Json& facts, const std::vector<ProfileRow>& rows) {
  std::string out = title_of(facts, {"stage", "kernel", "shape"});
  for (const ProfileRow& row : rows)
    out += format("%-34s %14s  %s\n", row.what.c_str(), row.value.c_str(), row.diagnosis.c_str());
  return out;
}

std::string profile_json(const Json& facts, const Profile& profile, const std::vector<ProfileRow>& rows) {
  Json all = {{"schema", "profile-1"}};
  all.update(facts);
  all["table"] = Json::array(), all["metrics"] = Json::object();
  for (const ProfileRow& row : rows)
    all["table"].push_back({{"what", row.what}, {"value", row.value}, {"diagnosis", row.diagnosis}});
  for (const auto& [name, value] : profile.metrics) all["metrics"][name] = value;
  for (const auto& [name, count] : profile.opcodes) all["opcodes"][name] = count;
  return laid_out(all, 2, 10);
}

std::string profile_metrics() {
  std::string names;
  for (const char* metric : METRICS) names += (names.empty() ? "" : ",") + std::string(metric);
  for (const Stall& stall : STALLS) names += "," + stall_metric(stall);
  return names;
}

// desk-records profile: Nsight Compute on one launch of one stage. The clocks are left alone.
int profile_command(const Args& args) {
  const std::string &lab = args[0], &word = args[1], stage = stage_of(lab);
  const auto shape = shape_of(word);
  if (!shape || (shape->D != 64 && shape->D != 128))
    throw BadInput("shape=" + word + ": not B,H,S,D[,causal] with D 64 or 128");
  if (capture({"ncu", "--version"}).status != 0)
    throw BadInput("make profile needs Nsight Compute (ncu), which is not on the PATH");
  const std::string json = args.size() > 2 && !args[2].empty()
                               ? args[2]
                               : "writeups/results/profile-" + stage + "-" + replaced(word, ",", "-") + ".json";
  Argv command = words_of("ncu --clock-control none --csv --kernel-name regex:attention --launch-count 1 --metrics " +
                          profile_metrics() + " --print-metric-instances details " + lab + " once");
  for (const int extent : {shape->B, shape->H, shape->S, shape->D}) command.push_back(std::to_string(extent));
  command.push_back(shape->causal ? "1" : "0");
  command.push_back("100");  // seconds that the launch may take, for ncu repeats it
  const Ran ran = capture(command);
  write_text("build/profile-" + stage + ".csv", ran.out + ran.err);
  if (ran.status != 0) throw BadInput("ncu failed: " + reason(ran.out + ran.err));
  if (ran.out.find("\"Metric Name\"") == std::string::npos)
    throw BadInput("ncu saw no kernel: " + reason(ran.out + ran.err));
  const Profile profile = read_profile(ran.out);
  const auto rows = diagnose(profile, *shape);
  const Json facts = {{"stage", stage},
                      {"kernel", profile.kernel},
                      {"shape", word},
                      {"date", utc_time()},
                      {"commit", commit()},
                      {"command", "make stage=" + stage + " profile shape=" + word},
                      {"gpu", gpu_field("name")},
                      {"driver", gpu_field("driver_version")},
                      {"ncu", ncu_version()}};
  std::fputs(profile_table(facts, rows).c_str(), stdout);
  write_text(json, profile_json(facts, profile, rows));
  std::printf("kept as %s\n", json.c_str());
  return 0;
}

}  // namespace lab::desk
