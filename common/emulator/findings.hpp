// The checkers' findings, before they are put into words: program counters, not lines. A kernel's loop can show one
// fault a million times, so a log keeps one entry for each pair of places.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/backend.hpp"

namespace lab::cpu {

// The error that stops a launch for most findings of a kind.
constexpr cudaError_t error_of(Finding::Kind kind) {
  using Kind = Finding::Kind;
  if (kind == Kind::out_of_bounds) return cudaErrorIllegalAddress;
  if (kind == Kind::misaligned) return cudaErrorMisalignedAddress;
  return kind == Kind::deadlock || kind == Kind::time_limit ? cudaErrorLaunchTimeout : cudaErrorLaunchFailure;
}

struct RawAccess {
  std::uintptr_t pc = 0;  // 0: there is no such side
  int warp = -1, lane = -1;
  bool write = false;
  int rank = -1;  // of its block in the cluster, if that is another than the report's
};

struct RawFinding {
  Finding::Kind kind{};
  const char* hazard = "";
  RawAccess first, second;
  std::string where;   // the place in memory, in words
  std::string detail;  // the sentence for the report, less the places
  std::string kernel;  // a copy: a report may be written when the program ends, and the name be gone
  std::uint32_t block = 0;
  std::uint64_t count = 0;
  std::uint64_t same = 0;    // of those, writes of the value that was there
  std::uint64_t access = 0;  // the last one counted
};

class FindingLog {
 public:
  // Counts one more occurrence. `describe` fills where and detail, and is called for the first one only. An access of
  // several bytes may be found at fault at each of them: calls with the same `access`, if not 0, count once.
  template <class Describe>
  RawFinding& add(Finding::Kind kind, const char* hazard, const RawAccess& first, const RawAccess& second,
                  const char* kernel, std::uint32_t block, Describe describe, std::uint64_t access = 0) {
    RawFinding& entry = entries_[{int(kind), second.pc ? hazard : kernel, first.pc, second.pc}];
    if (access && entry.access == access) return entry;
    entry.access = access;
    if (entry.count++ == 0) {
      entry.kind = kind, entry.hazard = hazard, entry.first = first, entry.second = second;
      entry.kernel = kernel, entry.block = block;
      describe(entry);
    }
    return entry;
  }
  void merge(const FindingLog& other);
  bool empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }
  // In words, sorted by kind, then line; accesses that share their lines are one finding.
  std::vector<Finding> resolve() const;

 private:
  using Key = std::tuple<int, std::string, std::uintptr_t, std::uintptr_t>;
  std::map<Key, RawFinding> entries_;
};

struct SourceLine {
  std::string file;  // relative to the repository
  int line = 0;
};
// The first frame at `pc`, inlined ones included, that lies outside common/: helpers are not the lesson.
SourceLine source_line(std::uintptr_t pc);
std::string place_text(std::uintptr_t pc);  // "FILE:LINE"
// Two program counters can be one call that the compiler has duplicated; two source lines are divergence.
inline bool different_lines(std::uintptr_t a, std::uintptr_t b) { return a != b && place_text(a) != place_text(b); }
// A line of a source file, less its indentation; of a patch also less its +. Empty if it cannot be read: a report may
// be asked for anywhere.
std::string source_text(const std::string& path, int line);
void source_lines_prefetch(const std::vector<std::uintptr_t>& pcs);  // one addr2line for all

}  // namespace lab::cpu
