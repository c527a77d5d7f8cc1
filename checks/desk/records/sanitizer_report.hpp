// compute-sanitizer's logs, in a summary of the form that the CPU's racecheck prints, and as schema tools-1.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace lab::desk {

inline constexpr const char* SANITIZER_TOOLS[] = {"memcheck", "racecheck", "initcheck", "synccheck"};

struct SanitizerLog {
  std::string tool, shape;  // "racecheck", "1,1,128,64,0"
  std::string text;
};

struct ToolFinding {
  std::string tool, what;  // "race", "Invalid __shared__ write of size 16 bytes: misaligned", ...
  std::string where;       // "at stages/v1_scalar/kernel.cu:12", two places of a race, or ""
  long times = 0;
  std::vector<std::string> shapes, kernels;
};
struct ToolReport {
  std::string stage, bug;
  std::vector<ToolFinding> findings;                      // in the order of their first mention
  std::map<std::string, std::vector<std::string>> lines;  // tool -> "12" of kernel.cu, "NAME.patch:3" of a bug's patch
  std::size_t runs = 0, ended = 0;                        // `ended`: with the tool's own summary
  bool clean() const { return findings.empty() && ended == runs; }
};

// One build's logs. A line that no record belongs to is passed over.
ToolReport read_sanitizer_logs(const std::string& stage, const std::string& bug, const std::vector<SanitizerLog>& logs);

std::string sanitizer_text(const ToolReport& report);

// `machine`: lines "gpu NAME", "driver ...", "cuda ...", "sanitizer ...", "date ...".
std::string sanitizer_json(const std::string& machine, const std::vector<ToolReport>& reports);

}  // namespace lab::desk
