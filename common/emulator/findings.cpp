#include "common/emulator/findings.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "common/emulator/addr2line.hpp"
#include "common/joined.hpp"

namespace lab {

// In the order of Finding::Kind.
struct KindRow {
  const char* name;
  bool memory = true;  // its sides are reads and writes
};
constexpr KindRow KINDS[] = {{"too many arrivals", false},
                             {"inter-warp race"},
                             {"intra-warp race"},
                             {"inter-block race"},
                             {"uninitialised read"},
                             {"out of bounds"},
                             {"cp.async before its wait"},
                             {"TMA load before its wait"},
                             {"missing fence.proxy.async"},
                             {"in flight at the block's end"},
                             {"barrier misuse", false},
                             {"mbarrier misuse", false},
                             {"cluster misuse", false},
                             {"access before the peer is known to run"},
                             {"global memory before griddepcontrol.wait"},
                             {"early exit from a cluster"},
                             {"collective misuse", false},
                             {"wgmma registers read before the wait"},
                             {"wgmma registers changed before the wait"},
                             {"wgmma without its fence"},
                             {"misaligned address"},
                             {"deadlock", false},
                             {"time limit", false},
                             {"fault", false}};
static_assert(std::size(KINDS) == std::size_t(Finding::Kind::fault) + 1);
const char* name(Finding::Kind kind) { return KINDS[int(kind)].name; }

// In the order of Schedule.
constexpr const char* ORDERS[] = {"ascending", "descending", "round_robin", "random", "leaders"};
static_assert(std::size(ORDERS) == std::size_t(Schedule::leaders) + 1);
const char* name(Schedule schedule) { return ORDERS[int(schedule)]; }

bool Finding::is(Kind k) const {
  return kind == k || std::ranges::any_of(ways, [&](const std::string& way) { return way.starts_with(name(k)); });
}

Finding::Key Finding::key() const {
  const Place a{first.file, first.line}, b{second.file, second.line};
  if (kind == Kind::race_inter_warp || kind == Kind::race_intra_warp || kind == Kind::before_wait ||
      kind == Kind::before_phase)
    return {Kind::race_inter_warp, std::max(a, b), std::min(a, b), ""};
  if (!second.line) return {kind, b, a, kernel};                                    // a deadlock has no line of its own
  const bool global = where.starts_with("element ") || where.starts_with("byte ");  // of which buffer?
  return {kind, b, a, global ? hazard + where.substr(where.find(" of ")) : hazard};
}

std::string ways_text(const Finding& f) {
  const auto listed = [](const std::set<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
  };
  std::string text;
  if (f.ways.size() > 1) text = "\n    as " + listed(f.ways);
  if (f.kernels.size() > 1)
    text +=
        joined(text.empty() ? "\n    in " : "; in ", f.kernels.size(), " instances of the kernel: ", listed(f.kernels));
  return text;
}

const char* name(Copies copies) {
  return copies == Copies::at_wait ? "at_wait" : copies == Copies::at_issue ? "at_issue" : "random";
}

namespace cpu {
namespace {

std::mutex cache_lock;
std::unordered_map<std::uintptr_t, SourceLine> cache;

// addr2line prints absolute paths; a report wants them from the repository's root.
std::string from_root(const std::string& path) {
  for (const char* folder : {"/stages/", "/checks/", "/reference/", "/common/"})
    if (const auto at = path.rfind(folder); at != std::string::npos) return path.substr(at + 1);
  // An exercise lies in work/ or build/, and is run where it was built.
  std::error_code none;
  const std::string here = std::filesystem::current_path(none).string() + "/";
  if (here.size() > 1 && path.starts_with(here)) return path.substr(here.size());
  return path;
}

SourceLine parse(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || text[0] == '?') return {};
  return {from_root(text.substr(0, colon)), std::atoi(text.c_str() + colon + 1)};
}

// The copy of a class that has no copy constructor or assignment of its own is given the line of the class.
bool declares_class(const std::string& text) {
  return std::ranges::any_of(std::initializer_list<const char*>{"struct ", "class ", "union ", "template"},
                             [&](const char* word) { return text.starts_with(word); });
}

void look_up(const std::vector<std::uintptr_t>& pcs) {
  const auto frames = ask_addr2line(pcs);
  for (std::size_t i = 0; i < pcs.size(); ++i) {
    SourceLine& line = cache[pcs[i]];
    for (const std::string& text : frames[i]) {
      const SourceLine frame = parse(text.substr(0, text.find(" (discriminator")));
      if (frame.line == 0) continue;
      line = frame;
      if (!frame.file.starts_with("common/") && !frame.file.starts_with("/usr/") &&
          (&text == &frames[i].back() || !declares_class(source_text(frame.file, frame.line))))
        break;
    }
    // The lab's own code, or a library's that a kernel calls: no line of the kernel.
    if (line.file.starts_with("common/emulator/") || line.file.starts_with("/usr/")) line = {};
  }
}

}  // namespace

void source_lines_prefetch(const std::vector<std::uintptr_t>& pcs) {
  const std::lock_guard guard(cache_lock);
  std::vector<std::uintptr_t> missing;
  for (std::uintptr_t pc : pcs)
    if (pc && !cache.contains(pc)) missing.push_back(pc);
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (!missing.empty()) look_up(missing);
}

SourceLine source_line(std::uintptr_t pc) {
  source_lines_prefetch({pc});
  const std::lock_guard guard(cache_lock);
  const auto found = cache.find(pc);
  return found == cache.end() ? SourceLine{} : found->second;
}

std::string place_text(std::uintptr_t pc) {
  const SourceLine line = source_line(pc);
  return joined(line.file, ":", line.line);
}

void FindingLog::merge(const FindingLog& other) {
  for (const auto& [key, theirs] : other.entries_) {
    auto [mine, fresh] = entries_.try_emplace(key, theirs);
    if (fresh) continue;
    const std::uint64_t count = mine->second.count + theirs.count, same = mine->second.same + theirs.same;
    if (theirs.block < mine->second.block) mine->second = theirs;  // the same report for any number of workers
    mine->second.count = count, mine->second.same = same;
  }
}

std::string source_text(const std::string& path, int line) {
  std::ifstream file(path);
  std::string text;
  for (int i = 0; i < line; ++i)
    if (!std::getline(file, text)) return "";
  const bool in_patch = path.ends_with(".patch") && text.starts_with('+');
  const auto begin = text.find_first_not_of(" \t", in_patch);
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

namespace {

Finding::Access in_words(const RawAccess& raw) {
  Finding::Access access;
  access.valid = raw.pc != 0 || raw.warp >= 0;
  access.write = raw.write, access.warp = raw.warp, access.lane = raw.lane;
  access.rank = raw.rank;
  if (raw.pc) {
    const SourceLine line = source_line(raw.pc);
    access.file = line.file, access.line = line.line;
  }
  return access;
}

std::string side(const Finding::Access& access, bool memory) {
  const std::string source = access.line ? source_text(access.file, access.line) : "";
  return joined(memory ? access.write ? "write by " : "read by " : "",
                access.warp >= 0 ? joined("warp ", access.warp, " lane ", access.lane, " ") : "",
                access.rank >= 0 ? joined("of block ", access.rank, " of the cluster ") : "",
                access.line ? joined("at ", access.file, ":", access.line) : "", source.empty() ? "" : ": " + source);
}

std::string report(const Finding& f, const std::string& detail) {
  const bool memory = KINDS[int(f.kind)].memory;
  std::ostringstream text;
  text << name(f.kind);
  if (!f.hazard.empty()) text << " (" << f.hazard << (f.same_value ? ", same value)" : ")");
  if (!f.where.empty()) text << " on " << f.where;
  text << ", kernel " << f.kernel << ", block " << f.block << ", " << f.count << (f.count == 1 ? " time" : " times");
  if (!detail.empty()) text << ": " << detail;
  if (f.same_value) text << "; every write leaves the same value: benign on today's GPUs, but the order is undefined";
  if (f.first.valid) text << "\n    earlier: " << side(f.first, memory);
  if (f.second.valid) text << "\n    " << (f.first.valid ? "then:    " : "") << side(f.second, memory);
  return text.str();
}

// "sK" of "sK[3][4]".
std::string array_of(const std::string& where) { return where.substr(0, where.find('[')); }

}  // namespace

std::vector<Finding> FindingLog::resolve() const {
  std::vector<std::uintptr_t> pcs;
  for (const auto& [key, raw] : entries_) pcs.push_back(raw.first.pc), pcs.push_back(raw.second.pc);
  source_lines_prefetch(pcs);
  // Loops are unrolled, functions inlined and templates instantiated: many program counters, few lines.
  struct Entry {
    Finding finding;
    std::string detail;
    std::uint64_t same = 0;
  };
  std::map<Finding::Key, Entry> by_line;
  std::set<std::tuple<std::string, int, std::string>> racing;  // file, line, array
  for (const auto& [key, raw] : entries_) {
    Finding f;
    f.kind = raw.kind, f.hazard = raw.hazard, f.kernel = raw.kernel, f.block = raw.block, f.where = raw.where;
    f.first = in_words(raw.first), f.second = in_words(raw.second);
    if (f.kind == Finding::Kind::race_inter_warp || f.kind == Finding::Kind::race_intra_warp)
      for (const Finding::Access& access : {f.first, f.second})
        racing.insert({access.file, access.line, array_of(f.where)});
    Entry& entry = by_line[f.key()];
    Finding& so_far = entry.finding;
    f.count = so_far.count + raw.count, entry.same += raw.same;
    f.ways = std::move(so_far.ways), f.kernels = std::move(so_far.kernels);
    f.ways.insert(std::string(name(f.kind)) + (f.hazard.empty() ? "" : " (" + f.hazard + ")"));
    f.kernels.insert(f.kernel);
    const bool shown_better = so_far.count && std::pair(so_far.kind, so_far.block) <= std::pair(f.kind, f.block);
    if (shown_better)
      so_far.count = f.count, so_far.ways = std::move(f.ways), so_far.kernels = std::move(f.kernels);
    else
      so_far = std::move(f), entry.detail = raw.detail;
  }
  std::vector<Finding> findings;
  for (auto& [key, entry] : by_line) {
    Finding& f = entry.finding;
    // A read that races with the write that it wants may come before it: that is no second fault.
    if (f.kind == Finding::Kind::uninitialised && racing.contains({f.second.file, f.second.line, array_of(f.where)}))
      continue;
    f.same_value = entry.same == f.count;
    f.head = report(f, entry.detail), f.text = f.head + ways_text(f);
    findings.push_back(std::move(f));
  }
  return findings;
}

}  // namespace cpu
}  // namespace lab
